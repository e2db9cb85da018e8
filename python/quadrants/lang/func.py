"""`@qd.func`, `@qd.pyfunc`, `@qd.real_func`: device functions, inlined where a kernel calls them."""

import functools

from quadrants.lang import traced
from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.frontend.signature import Signature
from quadrants.lang.frontend.source import Source


class Func:
    """A device function. Calling it outside kernels is an error, unless it is a pyfunc."""

    def __init__(self, fn, pyfunc=False, requires_top_level=False, real=False):
        from quadrants.lang.kernel import check_decorated

        check_decorated(fn, "func")
        self.fn = fn
        self.pyfunc, self.requires_top_level, self.real = pyfunc, requires_top_level, real
        self.source = Source(fn)
        self.signature = Signature(fn, is_kernel=False)
        functools.update_wrapper(self, fn)

    def __call__(self, *args, **kwargs):
        if traced.walker() is not None:
            return traced.in_kernel(self, args, kwargs)
        if self.pyfunc:
            return self.fn(*args, **kwargs)
        raise QuadrantsSyntaxError(
            f'Quadrants functions cannot be called from Python-scope: "{self.__name__}". Call it from a kernel.'
        )

    def __reduce__(self):
        return self.__qualname__  # pickled and copied like the function: by name

    def __get__(self, owner, kind=None):
        return self if owner is None else BoundFunc(self, owner)


class BoundFunc:
    """A device function with its `self`."""

    __slots__ = ("__func__", "__self__")

    def __init__(self, func, owner):
        self.__func__, self.__self__ = func, owner

    def __call__(self, *args, **kwargs):
        return self.__func__(self.__self__, *args, **kwargs)


def func(fn=None, *, is_real_function=False, requires_top_level=False):
    """Decorates a function that kernels and other functions call; it is inlined at each call."""

    def decorate(f):
        if is_real_function:
            return real_func(f)
        return Func(f, requires_top_level=requires_top_level)

    return decorate if fn is None else decorate(fn)


def pyfunc(fn):
    """A device function that also runs as plain Python outside kernels."""
    return Func(fn, pyfunc=True)


def real_func(fn):
    """A device function that is called instead of inlined: it may be recursive, return from inside run-time control
    flow, and take references (`qd.ref(T)`). Its parameters must be annotated, and its result if it has one:
    QuadrantsSyntaxError."""
    made = Func(fn, real=True)
    outer = fn.__qualname__.rpartition(".")[0]
    in_class = bool(outer) and not outer.endswith("<locals>")
    for k, name in enumerate(made.signature.names):
        if name not in fn.__annotations__ and not (k == 0 and in_class):
            raise QuadrantsSyntaxError(
                f'Quadrants real functions\' parameters must be type annotated: "{name}" of "{fn.__name__}"'
            )
    return made
