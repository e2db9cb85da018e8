"""What an ordinary Python function reads from outside while it runs for a kernel: guards, as for what the kernel reads.

Nobody sees such a function read, so its bytecode is asked: names that are global or of an enclosing function, what is
read of them (`config.size`), and the same of the functions that it names. More may be guarded than was read, which costs
a compile too many. What it changes itself is its own affair. What it reaches in another way, through an object that it
made or the result of a call, isn't seen. Functions of the standard library and of installed packages are taken for
what they are: their insides change without changing what they do.
"""

import dis
import functools
import sys
import types

from quadrants.lang import traced
from quadrants.lang.exception import QuadrantsTypeError
from quadrants.lang.func import Func
from quadrants.lang.guards import ById, freeze

_OURS = ("quadrants", "numpy", "math", "builtins", "operator", "functools", "itertools", "typing", "enum", "torch")
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_LOCALS = ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")
_SILENT = ("PUSH_NULL", "CACHE", "NOP", "EXTENDED_ARG")
_missing = object()


def run(w, node, target, args, kwargs=None):
    """traced.call, whose reads become guards. The source tier keeps no kernel with such a call."""
    kwargs = kwargs or {}
    guard = _watch(w, target, args, kwargs)
    result = traced.call(w, node, target, args, kwargs)
    guard()
    return result


def quietly(w, target, args, kwargs):
    """target(*args, **kwargs) of a builtin function: what functions among the arguments read becomes guards."""
    given = (*args, *kwargs.values())
    guards = [_watch(w, one, (), {}) for one in given if isinstance(one, (types.FunctionType, types.MethodType))]
    result = target(*args, **kwargs)
    for guard in guards:
        guard()
    return result


def _watch(w, target, args, kwargs):
    """Looks up what `target` reads when it is called with `args`; the function that is returned guards what the call left
    as it was."""
    reads = _Reads()
    reads.called(target, args, kwargs)
    key = (id(target), *reads.given)
    if key in w.watched:
        return lambda: None
    w.watched.add(key)
    w.keep.append((target, args, kwargs))  # an id is used once

    def finish():
        for look, before, guard in reads.found.values():
            try:
                if _content(look()) == before:
                    guard(w.rec)
            except (AttributeError, KeyError, ValueError, QuadrantsTypeError, RecursionError):
                pass  # gone; too large to compare, or a cycle: that it is the same one is guarded

    return finish


def _content(x):
    try:
        return ById(x), freeze(x)
    except (QuadrantsTypeError, RecursionError):
        return ById(x), None


class _Reads:
    """Reads of a function and of those it names: what to look up, what was found, how to guard it."""

    def __init__(self):
        self.found, self.seen, self.given, self.home = {}, set(), (), None

    def called(self, target, args=(), kwargs=None):
        if isinstance(target, types.BuiltinFunctionType) and target.__module__ == "_operator":
            self.operator(target.__name__.strip("_"), args)
            return
        if isinstance(target, functools.partial):
            target, args, kwargs = target.func, (*target.args, *args), {**target.keywords, **(kwargs or {})}
        if isinstance(target, types.MethodType):
            target, args = target.__func__, (target.__self__, *args)
        if not isinstance(target, (types.FunctionType, type)):
            target = getattr(target, "__wrapped__", target) if _ours(type(target).__module__) else target  # of a cache
        if isinstance(target, type):
            target, args = vars(target).get("__init__"), ()
        if not isinstance(target, (types.FunctionType, Func)):
            target, args = getattr(type(target), "__call__", None), (target, *args)
        if not isinstance(target, types.FunctionType) or target in self.seen or self.library(target):
            return
        names, last = target.__code__.co_varnames[: target.__code__.co_argcount], target.__defaults__ or ()
        given = {**dict(zip(names[len(names) - len(last) :], last)), **dict(zip(names, args)), **(kwargs or {})}
        known = {name: a for name, a in given.items() if _has_attributes(a)}
        if not self.seen:
            self.given = tuple(map(id, known.values()))
        self.seen.add(target)
        self.code(target, target.__code__, known)

    def library(self, function):
        """Whether a function is not the program's own."""
        top = str(function.__module__).partition(".")[0]
        if self.home is None:
            self.home = top
        file = function.__code__.co_filename
        return _ours(top) or _standard(top) or top != self.home and ("site-packages" in file or "dist-packages" in file)

    def operator(self, name, args):
        """The methods by which the operands' classes may answer."""
        for one in args:
            for method in (f"__{name}__", f"__r{name}__"):
                if not _ours(type(one).__module__):
                    self.called(getattr(type(one), method, None), (one,))

    def code(self, function, code, known):
        """Reads of a code object and of those inside it (comprehensions, lambdas)."""
        chain, lines = _missing, list(dis.get_instructions(code))
        assigned = {one.argval for one in lines if one.opname.startswith("STORE_FAST")}
        for one in lines:
            if one.opname in _NAMES:
                chain = self.name(function, one.argval)
                if one.argval == "super" and known:
                    self.above(code, next(iter(known.values())))
            elif one.opname == "IMPORT_NAME":
                chain = sys.modules.get(one.argval, _missing)
            elif one.opname == "STORE_FAST" and isinstance(chain, types.ModuleType):
                known[one.argval], chain = chain, _missing
                assigned.discard(one.argval)
            elif one.opname in _LOCALS and one.argval in known and one.argval not in assigned:
                chain = known[one.argval]
            elif one.opname in _ATTRIBUTES and chain is not _missing:
                chain = self.attribute(chain, one.argval)
            elif one.opname not in _SILENT:
                chain = _missing
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                self.code(function, part, {})

    def above(self, code, owner):
        """Methods that `super()` may give."""
        for cls in type(owner).__mro__:
            for name in code.co_names:
                if isinstance(vars(cls).get(name), types.FunctionType):
                    self.called(vars(cls)[name], (owner,))

    def name(self, function, name):
        free = function.__code__.co_freevars
        if name in free:
            cell = function.__closure__[free.index(name)]
            return self.read((id(cell),), lambda: cell.cell_contents, lambda rec: rec.name(function, name))
        space = function.__globals__
        if name not in space:
            return _missing
        return self.read((id(space), name), lambda: space[name], lambda rec: rec.name(function, name))

    def attribute(self, owner, name):
        """owner.name, where reading it runs no code of the program's."""
        kind = type(owner)
        if not _has_attributes(owner):
            return _missing
        classes = owner.__mro__ if isinstance(owner, type) else kind.__mro__
        inside = next((vars(c)[name] for c in classes if name in vars(c)), _missing)
        if isinstance(inside, property):
            self.called(inside.fget, (owner,))
            return _missing
        if name not in getattr(owner, "__dict__", {}) and (inside is _missing or hasattr(type(inside), "__get__")):
            if isinstance(inside, types.FunctionType):
                self.called(inside, (owner,))
            return _missing
        return self.read((id(owner), name), lambda: getattr(owner, name), lambda rec: rec.attribute(owner, name))

    def read(self, key, look, guard):
        try:
            found = look()
        except (AttributeError, ValueError):  # an empty cell
            return _missing
        if key not in self.found:
            self.found[key] = look, _content(found), guard
            if isinstance(found, (types.FunctionType, types.MethodType, type)):
                self.called(found)
        return found


def _has_attributes(x) -> bool:
    """Whether attributes of an object are those of a program."""
    if isinstance(x, types.ModuleType):
        return not _ours(x.__name__) and not _standard(x.__name__)
    return isinstance(x, (type, types.FunctionType)) or not _ours(type(x).__module__)


def _standard(module) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _ours(module) -> bool:
    return str(module).partition(".")[0] in _OURS
