"""Kernels written as text in a table: loaded as a notebook cell would be, so that they have source."""

import itertools
import linecache
import os
import textwrap

import quadrants as qd

_count = itertools.count()


def child_environment(**more: str) -> dict[str, str]:
    """The environment for a child process that finds the package under test wherever it runs."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(qd.__file__)))
    return {**os.environ, "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1", **more}


def compiles(kernel) -> list:
    """Grows by an entry with each specialisation that is compiled of a kernel from here on."""
    made, compile_ = [], kernel._primal._compile

    def counted(*args):
        made.append(args)
        return compile_(*args)

    kernel._primal._compile = counted
    return made


def load(text: str, **names):
    """Namespace of a program; `qd`, `np` and `names` are defined in it."""
    import numpy as np

    text = textwrap.dedent(text)
    file = f"<program-{next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"__name__": "program", "qd": qd, "np": np, **names}
    exec(compile(text, file, "exec"), space)  # noqa: S102 - text of this suite
    return space


def kernel_of(expression: str, params: str, returns: str, before: str = "", **names):
    """A kernel `k(params) -> returns` that gives the value of an expression, after the lines of `before`."""
    body = textwrap.indent(textwrap.dedent(before), "    ") + f"    return {expression}\n"
    return load(f"@qd.kernel\ndef k({params}) -> {returns}:\n{body}", **names)["k"]
