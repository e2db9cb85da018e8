"""Values of a kernel in the hands of an ordinary Python function that the kernel calls while it is compiled.

Such a function runs as Python does; what it computes with the kernel's values becomes part of the kernel, because
`Traced` has Python's operators and the functions of the language know it.
"""

import ast
import functools
import threading

import numpy as np

from quadrants.lang.exception import QuadrantsTypeError

_state = threading.local()


def walker():
    """The walk whose kernel called the Python function that runs now in this thread; None outside of such calls."""
    return getattr(_state, "walker", None)


def call(w, node, target, args, kwargs):
    """target(*args, **kwargs) with the kernel's values as Traced; the result as the kernel sees it."""
    saved = walker(), getattr(_state, "node", None)
    _state.walker, _state.node = w, node
    try:
        return plain(target(*[_shown(w, a) for a in args], **{k: _shown(w, v) for k, v in kwargs.items()}))
    finally:
        _state.walker, _state.node = saved


def _shown(w, v):
    from quadrants._native import Value
    from quadrants.lang.frontend.access import Acc
    from quadrants.lang.frontend.bundles import Bundle
    from quadrants.lang.values import COMPOUND

    if type(v) is Value or type(v) in COMPOUND or type(v) is Bundle:
        return Traced(w, v)
    if type(v) is Acc:
        return v.obj if v.obj is not None else Traced(w, v)
    if type(v) in (list, tuple):
        return type(v)(_shown(w, e) for e in v)
    if type(v) is dict:
        return {k: _shown(w, e) for k, e in v.items()}
    return v


def plain(v):
    """What a Traced, or a container of them, stands for."""
    if type(v) is Traced:
        return v._value
    if type(v) in (list, tuple):
        return type(v)(plain(e) for e in v)
    if type(v) is dict:
        return {k: plain(e) for k, e in v.items()}
    if type(v) is np.ndarray and v.dtype == object:  # NumPy's operators go through the elements
        return plain(v.tolist())
    return v


def holds(v) -> bool:
    """Whether a Traced is in an argument, which may be a nested list."""
    return type(v) is Traced or (type(v) in (list, tuple) and any(map(holds, v)))


def in_kernel(target, args, kwargs):
    """A function or type of the language, called from such a Python function: emitted into the kernel."""
    from quadrants.lang.frontend.calls import call_target

    w = walker()
    node = ast.Call(
        func=ast.Constant(None),
        args=[ast.Starred(ast.Constant(tuple(plain(list(args)))))],
        keywords=[ast.keyword(None, ast.Constant(plain(kwargs)))] if kwargs else [],
    )
    return _shown(w, call_target(w, ast.copy_location(node, _state.node or w.source.tree), target))


def aware(f):
    """The function `f` of the language, that emits an operation when an argument is Traced."""

    @functools.wraps(f)
    def function(*args, **kwargs):
        if walker() is not None and any(map(holds, args)):
            return in_kernel(function, args, kwargs)
        return f(*args, **kwargs)

    return function


def _binary(name, swapped=False):
    def method(self, other):
        from quadrants.lang.elementwise import binary
        from quadrants.lang.values import COMPOUND, SCALARS

        x, y = self._value, plain(other)
        if type(y) not in SCALARS and type(y) not in COMPOUND and not isinstance(y, (list, tuple)):
            return NotImplemented  # an object with operators of its own
        return _shown(self._walker, binary(self._walker, name, *((y, x) if swapped else (x, y))))

    return method


def _matmul(swapped):
    def method(self, other):
        from quadrants.lang.frontend.matrices import matmul

        x, y = self._value, plain(other)
        if type(y).__module__.partition(".")[0] not in ("builtins", "quadrants", "numpy"):
            return NotImplemented  # an object with operators of its own
        return _shown(self._walker, matmul(self._walker, *((y, x) if swapped else (x, y))))

    return method


def _compare(op):
    def method(self, other):
        from quadrants.lang.frontend.exprs import compare_one

        return _shown(self._walker, compare_one(self._walker, op, self._value, plain(other)))

    return method


def _unary(name):
    def method(self):
        from quadrants.lang.elementwise import unary

        return _shown(self._walker, unary(self._walker, name, self._value))

    return method


def _refused(what):
    def method(self):
        raise QuadrantsTypeError(
            f"{what} of a value that is known only when the kernel runs: the Python function that asks for it runs "
            "while the kernel is compiled. Decorate the function with @qd.func."
        )

    return method


class Traced:
    """A scalar, vector, matrix, struct, array or dataclass argument of a kernel, with Python's operators."""

    __slots__ = ("_value", "_walker")

    def __init__(self, w, value):
        object.__setattr__(self, "_walker", w)
        object.__setattr__(self, "_value", value)

    def __setattr__(self, name, value):
        raise QuadrantsTypeError(
            f"'{name}' is assigned by a Python function that runs while the kernel is compiled. Decorate the function with "
            "@qd.func."
        )

    def __setitem__(self, index, value):
        self.__setattr__("an element", value)

    def __getitem__(self, index):
        from quadrants.lang.frontend import access, matrices
        from quadrants.lang.frontend.access import Acc
        from quadrants.lang.values import load

        w, x, index = self._walker, self._value, plain(index)
        if type(x) is Acc:
            return _shown(w, load(w, access.at(w, x, index if type(index) is tuple else (index,), _state.node)))
        return _shown(w, load(w, matrices.subscript_at(w, x, index, _state.node)))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from quadrants.lang.frontend import matrices
        from quadrants.lang.frontend.exprs import attribute_of
        from quadrants.lang.values import MATRICES, load

        w, x = self._walker, self._value
        if type(x) in MATRICES and name in matrices.METHODS:
            return lambda *args, **kw: _shown(w, matrices.call_method(w, x, name, plain(list(args)), plain(kw)))
        return _shown(w, load(w, attribute_of(w, x, name)))

    def __len__(self):
        from quadrants.lang.values import MATRICES

        if type(self._value) not in MATRICES:
            raise QuadrantsTypeError("a scalar of a kernel has no length")
        return self._value.n

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __pos__(self):
        return self

    __hash__ = object.__hash__
    __neg__, __invert__, __abs__ = _unary("neg"), _unary("invert"), _unary("abs")
    __bool__, __int__, __float__ = _refused("the truth"), _refused("the int"), _refused("the float")
    __index__ = _refused("the int")
    __matmul__, __rmatmul__ = _matmul(False), _matmul(True)


Traced.__name__ = Traced.__qualname__ = "value of the kernel"  # as Python's own messages name it
for _op, _name in (
    ("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "truediv"), ("floordiv", "floordiv"), ("mod", "mod"),
    ("pow", "pow"), ("and", "bit_and"), ("or", "bit_or"), ("xor", "bit_xor"), ("lshift", "shl"), ("rshift", "sar"),
):  # fmt: skip
    setattr(Traced, f"__{_op}__", _binary(_name))
    setattr(Traced, f"__r{_op}__", _binary(_name, swapped=True))
for _op, _node in (
    ("lt", ast.Lt), ("le", ast.LtE), ("gt", ast.Gt), ("ge", ast.GtE), ("eq", ast.Eq), ("ne", ast.NotEq),
):  # fmt: skip
    setattr(Traced, f"__{_op}__", _compare(_node))
