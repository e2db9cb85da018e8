"""Errors with file, line, source line and caret, and the chain of inlined calls that led there.

Nothing is recorded while all goes well: handlers name the syntax node they work on `node`, so the innermost node of a
failure is read from the traceback's frames.
"""

import ast

from quadrants.lang import exception as ex

_OURS = ex.QuadrantsCompilationError
_wrapped = {}


def innermost(tb) -> ast.AST | None:
    """The node that the innermost handler of a traceback was working on."""
    found = None
    while tb is not None:
        node = tb.tb_frame.f_locals.get("node") if "frontend" in tb.tb_frame.f_code.co_filename else None
        if isinstance(node, ast.AST) and hasattr(node, "lineno"):
            found = node
        tb = tb.tb_next
    return found


def place(source, node) -> str:
    """`File "f.py", line 3, in k:`, the source line and a caret under the node's columns."""
    head = f'File "{source.file}", line {source.line(node)}, in {source.name}:\n'
    k = node.lineno - 1
    if not 0 <= k < len(source.lines):
        return head
    raw = source.lines[k].rstrip("\n")
    text = raw.encode()
    start = len(text[: node.col_offset].decode(errors="replace"))
    stop = len(raw)
    if getattr(node, "end_lineno", None) == node.lineno:
        stop = len(text[: node.end_col_offset].decode(errors="replace"))
    return f"{head}{raw}\n{' ' * start}{'^' * max(stop - start, 1)}\n"


def located(error: Exception, frames) -> Exception:
    """The same error with its position in front. `frames` is a list of (source, call node), outermost first; the call
    node is where the previous function calls this one."""
    node = innermost(error.__traceback__)
    text = ""
    for k, (source, _) in enumerate(frames):
        at = frames[k + 1][1] if k + 1 < len(frames) else node
        if at is not None:
            text += place(source, at)
    message = error.msg if isinstance(error, ex.QuadrantsSyntaxError) and getattr(error, "msg", None) else str(error)
    if isinstance(error, _OURS):
        return type(error)("\n" + text + message)
    if isinstance(error, KeyError):
        message = f"KeyError: {error}"
    return _wrapper(type(error))("\n" + text + (message or type(error).__name__))


def _wrapper(kind):
    """QuadrantsCompilationError that is also a `kind`, so that callers may catch either."""
    if kind not in _wrapped:
        try:
            _wrapped[kind] = type("QuadrantsCompilationError", (_OURS, kind), {"__module__": _OURS.__module__})
            _wrapped[kind]("probe")
        except TypeError:
            _wrapped[kind] = _OURS
    return _wrapped[kind]
