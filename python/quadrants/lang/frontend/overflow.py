"""`debug=True`: integer addition, subtraction, multiplication and shifts print a line when they overflow. No exception.

The checked operations stand in for the builder's in the walker's tables, so other builds pay nothing for them.
"""

import ast

from quadrants.lang.frontend import errors
from quadrants.lang.frontend.reports import Site

_WORDS = {"add": "Addition", "sub": "Subtraction", "mul": "Multiplication", "shl": "Shift left"}


def install(w):
    """Replaces the operations of a walker by checked ones."""
    for kind, name in ((ast.Add, "add"), (ast.Sub, "sub"), (ast.Mult, "mul"), (ast.LShift, "shl")):
        w.op[name] = w.bin[kind] = _checked(w, name, w.op[name])


def _checked(w, name, plain):
    def operation(x, y):
        r = plain(x, y)
        dt = r.dtype
        if dt.is_integral and w.b.constant_of(r) is None:
            bad = _CHECKS[name](w, w.b.cast(x, dt), y if name == "shl" else w.b.cast(y, dt), r, dt)
            _say(w, name, bad)
        return r

    return operation


def _say(w, name, bad):
    node = errors.current_node()
    b = w.b
    b.when(bad)
    b.report(w.add_site(Site(False, [f"{_WORDS[name]} overflow detected in "], errors.trail(w, node))), False, [])
    b.end()


def _add(w, x, y, r, dt):
    b = w.b
    if not dt.is_signed:
        return b.lt(r, x)
    return b.lt(b.bit_and(b.bit_xor(x, r), b.bit_xor(y, r)), 0)


def _sub(w, x, y, r, dt):
    b = w.b
    if not dt.is_signed:
        return b.lt(x, y)
    return b.lt(b.bit_and(b.bit_xor(x, y), b.bit_xor(x, r)), 0)


def _mul(w, x, y, r, dt):
    b = w.b
    if dt.size <= 4:
        wide = w.i64 if dt.is_signed else w.u64
        return b.ne(b.mul(b.cast(x, wide), b.cast(y, wide)), b.cast(r, wide))
    undone = b.logical_and(b.ne(x, 0), b.ne(b.raw_div(r, x), y))
    if not dt.is_signed:
        return undone
    return b.logical_or(undone, b.logical_and(b.eq(x, -1), b.eq(y, b.const(dt.min, dt))))


def _shl(w, x, y, r, dt):
    return w.b.ne(w.b.sar(r, y), x)


_CHECKS = {"add": _add, "sub": _sub, "mul": _mul, "shl": _shl}
