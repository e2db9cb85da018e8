"""From a function's syntax tree to calls of the native Builder.

`table` dispatches on node classes; `exprs`, `stmts`, `loops`, `calls`, `access`, `atomics`, `matrices`, `library`
and `reports` fill it.
"""
