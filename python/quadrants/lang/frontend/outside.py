"""Ordinary Python functions and functions of `math` and NumPy that a kernel calls while it is compiled."""

import types

import numpy as np

from quadrants._native import Value, Var
from quadrants.lang import static
from quadrants.lang.exception import QuadrantsTypeError
from quadrants.lang.forms import plain
from quadrants.lang.frontend import bundles, errors, repeatable, watched
from quadrants.lang.frontend.access import Acc
from quadrants.lang.values import MATRICES, PLACES

_OURS = frozenset((Acc, Value, Var, *MATRICES, *PLACES))  # what a walk makes: it follows from what was recorded
_QUIET = frozenset((
    len, range, enumerate, zip, map, filter, isinstance, issubclass, hasattr, getattr, type, tuple, list, dict, set,
    sorted,
    reversed, str, repr, id, hash, callable, round, divmod, ord, chr, hex, bin,
))  # fmt: skip


# What the source tier knows to give equal results for equal arguments (`id` and `hash` don't).
_REPEATABLE = (_QUIET - {id, hash, getattr, hasattr, type}) | {
    abs,
    min,
    max,
    sum,
    any,
    all,
    int,
    float,
    bool,
    pow,
    complex,
    slice,
}


def _repeatable(target, module, args, kwargs) -> bool:
    """Whether a call gives the same in another process where its arguments, and what was recorded, are the same."""
    try:
        known = target in _REPEATABLE
    except TypeError:
        known = False
    if not known:
        owner = getattr(target, "__self__", None)
        known = (
            isinstance(target, np.ufunc)
            or (owner is None or isinstance(owner, types.ModuleType))
            and repeatable.library_function(target, module)
            or (isinstance(target, types.BuiltinMethodType) and plain(owner) and owner is not None)
        )
    return known and all(type(a) in _OURS or plain(a) for a in (*args, *kwargs.values()))


def call_python(w, node, target, args, kwargs):
    """Runs an ordinary Python function now. Values of the kernel reach it as `traced.Traced`."""
    module = getattr(target, "__module__", None) or type(target).__module__
    if not (w.rec.unstable or _repeatable(target, module, args, kwargs)):
        w.rec.cannot(f'it calls "{getattr(target, "__qualname__", target)}" while it is compiled')
    if module.split(".")[0] in ("math", "numpy") or isinstance(target, np.ufunc):
        if any(type(a) is Value or type(a) in MATRICES for a in args):
            name = getattr(target, "__name__", str(target))
            raise QuadrantsTypeError(
                f"`{module.split('.')[0]}.{name}` cannot be applied to values of the running kernel."
                + _instead(f"{module.split('.')[0]}.{name}", name)
            )
        return w.wrap(target(*args, **kwargs))
    if module.split(".")[0] == "quadrants" or isinstance(target, types.BuiltinMethodType) or _quiet(target):
        plain_args = [_unwrap(target, a) for a in args]
        return w.wrap(watched.quietly(w, target, plain_args, {k: _unwrap(target, v) for k, v in kwargs.items()}))
    if not w.static:
        errors.warn(
            w,
            f'Calling non-quadrants function "{getattr(target, "__name__", target)}". Scope inside the function is not '
            "processed by the Quadrants AST transformer. The function may not work as expected. Proceed with caution!",
            node,
        )
    return w.wrap(watched.run(w, node, target, args, kwargs))


def _quiet(target):
    try:
        return target in _QUIET
    except TypeError:  # not hashable
        return False


_OF_THE_CLASS = frozenset((isinstance, type, callable, id))  # what they answer for an object holds for its class


def _unwrap(target, x):
    """What a builtin function gets for an argument."""
    if type(x) is bundles.Bundle:
        if target not in _OF_THE_CLASS:
            raise QuadrantsTypeError(
                f"{target.__name__}() of a {x.class_name}: a kernel takes such an object apart member by member; "
                "apply it to a member"
            )
        return x.obj
    return x.obj if type(x) is Acc and x.obj is not None else x


# Functions of `math` and NumPy whose name differs from ours.
_NAMED_OTHERWISE = {
    "fabs": "qd.abs", "absolute": "qd.abs", "maximum": "qd.max", "minimum": "qd.min", "fmax": "qd.max", "fmin": "qd.min",
    "arcsin": "qd.asin", "arccos": "qd.acos", "arctan2": "qd.atan2", "power": "qd.pow", "where": "qd.select",
    "true_divide": "/", "floor_divide": "//", "remainder": "%", "fmod": "qd.raw_mod", "trunc": "int(x)",
    "hypot": "qd.sqrt(x * x + y * y)", "linalg.norm": "x.norm()", "cross": "x.cross(y)",
    "dot": "x.dot(y)", "matmul": "x @ y", "sum": "x.sum()", "clip": "qd.math.clamp",
}  # fmt: skip


def _instead(full, name):
    """The hint of which function to use, where there is one."""
    import quadrants as qd

    ours = _NAMED_OTHERWISE.get(name)
    if ours is None:
        ours = next((f"{where}.{name}" for where, m in (("qd", qd), ("qd.math", qd.math)) if hasattr(m, name)), None)
    return "" if ours is None else f" Did you mean to use `{ours}` instead of `{full}`?"


def clock_freq_hz(w):
    """`qd.clock_freq_hz()`: a constant of the device."""
    w.rec.cannot("qd.clock_freq_hz is a property of the device")
    return w.b.const(static.clock_freq_hz(), w.i64)
