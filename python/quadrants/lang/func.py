"""`@qd.func`, `@qd.pyfunc`, `@qd.real_func`: device functions, inlined where a kernel calls them."""

import functools

from quadrants.lang.exception import QuadrantsSyntaxError, not_supported_yet
from quadrants.lang.frontend.signature import Signature
from quadrants.lang.frontend.source import Source


class Func:
    """A device function. Calling it outside kernels is an error, unless it is a pyfunc."""

    def __init__(self, fn, pyfunc=False, requires_top_level=False):
        self.fn = fn
        self.pyfunc, self.requires_top_level = pyfunc, requires_top_level
        self.source = Source(fn)
        self.signature = Signature(fn, is_kernel=False)
        functools.update_wrapper(self, fn)

    def __call__(self, *args, **kwargs):
        if self.pyfunc:
            return self.fn(*args, **kwargs)
        raise QuadrantsSyntaxError(
            f'Quadrants functions cannot be called from Python-scope: "{self.__name__}". Call it from a kernel.'
        )

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
    """Functions that are called instead of inlined: not supported yet."""
    raise not_supported_yet(f'qd.real_func ("{fn.__name__}")')
