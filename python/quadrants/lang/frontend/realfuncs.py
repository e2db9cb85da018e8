"""Real functions: called instead of inlined, so they may be recursive and may return from inside run-time control flow.

A call passes scalars: vectors, matrices and structs are flattened, references are passed in and handed back. Arrays,
fields and templates are part of the function's identity: one function of the unit is made per combination of them.
"""

from quadrants._native import DataType
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import bundles, structs, views
from quadrants.lang.frontend.arguments import is_template, is_tensor, is_view
from quadrants.lang.frontend.results import resolve_types, whole
from quadrants.lang.frontend.stmts import cast_result
from quadrants.lang.frontend.table import ev, ref, run
from quadrants.lang.util import cook_dtype
from quadrants.lang.values import (
    MATRICES,
    PLACES,
    RECORDS,
    Mat,
    Rec,
    describe,
    dtype_of,
    element,
    load,
    make,
    store,
    variable,
)
from quadrants.types.annotations import NdarrayType
from quadrants.types.compound import MatrixType
from quadrants.types.primitive import RefType
from quadrants.types.structs import StructType


class Open:
    """The function being walked: where its results go."""

    __slots__ = ("returned", "returns", "slots", "threads")

    def __init__(self, returns, slots):
        self.returns, self.slots, self.returned = returns, slots, False
        self.threads = False  # it works with the threads of a block

    def leave(self, w, node):
        """`return`: anywhere, also inside loops and branches."""
        self.returned = True
        if node.value is None and self.returns is not None:
            raise QuadrantsSyntaxError("a real function with a return type needs a value behind `return`")
        if node.value is not None:
            v = ev(w, node.value)
            if self.returns is not None:
                for slot, s in zip(self.slots, flatten(w, cast_result(w, v, self.returns, exact=True)), strict=True):
                    w.b.set(slot, s)
            elif v is not None:
                raise QuadrantsSyntaxError(
                    "a real function that returns a value must be annotated with a return type, e.g. def f() -> qd.f32"
                )
        w.b.leave(w.labels - 1)
        w.dead = True


def flat_types(w, t) -> list:
    """Scalar types of a value of type t, in order."""
    if t is None:
        return []
    if type(t) is tuple:
        return [s for p in t for s in flat_types(w, p)]
    if isinstance(t, StructType):
        return [s for p in t.members.values() for s in flat_types(w, p)]
    if isinstance(t, MatrixType):
        return [t.dtype or w.default_fp] * (t.n * (t.m or 1))
    return [t]


def flatten(w, v) -> list:
    """Scalars of a value, in the same order."""
    if type(v) in (tuple, list):
        return [s for p in v for s in flatten(w, p)]
    if type(v) in RECORDS:
        return [s for _, e in v.members.items() for s in flatten(w, load(w, e))]
    if type(v) in MATRICES:
        return [element(w, v, k) for k in range(v.n * v.m)]
    return [v]


def gather(w, t, scalars):
    """The value of type t of an iterator's scalars."""
    if type(t) is tuple:
        return tuple(gather(w, p, scalars) for p in t)
    if isinstance(t, StructType):
        return Rec({name: gather(w, p, scalars) for name, p in t.members.items()}, t.methods)
    if isinstance(t, MatrixType):
        n, m = t.n, t.m or 1
        data = [next(scalars) for _ in range(n * m)]
        return make(w, n, m, t.ndim, data) if n * m > 16 else Mat(n, m, t.ndim, data)
    return next(scalars)


def _value_type(annotation):
    if isinstance(annotation, (MatrixType, StructType)):
        return annotation
    if isinstance(annotation, DataType) or annotation in (int, float, bool):
        return cook_dtype(annotation)
    return None


def _specialising(annotation):
    return (
        is_template(annotation)
        or is_tensor(annotation)
        or annotation is NdarrayType
        or isinstance(annotation, NdarrayType)
        or bundles.is_bundle(annotation)
        or is_view(annotation)
    )


class _Argument:
    """One argument of a call: how it is passed, and the place to write back to."""

    __slots__ = ("fixed", "name", "place", "type", "value")

    def __init__(self, name, kind=None, value=None, place=None, fixed=None):
        self.name, self.type, self.value, self.place, self.fixed = name, kind, value, place, fixed


def _argument(w, func, name, annotation, a, is_owner):
    evaluated = not hasattr(a, "_fields")
    if is_owner or _specialising(annotation):
        fixed = a if is_owner else w.wrap(a) if evaluated else ref(w, a)
        if type(fixed) is views.View:  # its array is part of the function, where it begins and ends is passed
            at = (fixed.offset, fixed.size)
            return _Argument(name, tuple(dtype_of(w, x) for x in at), at, fixed=fixed.acc)
        return _Argument(name, fixed=fixed)
    if isinstance(annotation, RefType):
        kind, place = _value_type(annotation.tp), ref(w, a) if not evaluated else a
        if kind is None:
            raise QuadrantsSyntaxError(f'qd.ref of "{name}" names no scalar, vector, matrix or struct type')
        if type(place) not in PLACES:
            from quadrants.lang.frontend.calls import _need_place

            _need_place(w, a, place)
            raise QuadrantsTypeError(
                f'"{name}" of "{func.__name__}" is a reference: pass a variable or an element, not {describe(w, place)}'
            )
        return _Argument(name, kind, _given(w, func, name, kind, place), place)
    kind = _value_type(annotation)
    if kind is None:
        raise QuadrantsSyntaxError(
            f'Invalid type annotation (argument "{name}") of Quadrants real function "{func.__name__}": {annotation!r}. '
            "Quadrants real functions' parameters must be type annotated."
        )
    return _Argument(name, kind, _given(w, func, name, kind, w.wrap(a) if evaluated else ev(w, a)))


def _given(w, func, name, kind, value):
    """An argument by value in the type of its parameter."""
    try:
        return structs.to_member(w, value, kind)
    except QuadrantsTypeError:
        raise QuadrantsTypeError(f'"{name}" of "{func.__name__}" takes {kind}, got {describe(w, value)}') from None


def call(w, node, func, owner):
    """A call of a real function; the function is walked at the first call of its kind."""
    from quadrants.lang.frontend.calls import bound_nodes

    names, types_of = func.signature.names, func.signature.types
    args = [
        _argument(w, func, name, t, a, owner is not None and k == 0)
        for k, (name, t, a) in enumerate(zip(names, types_of, bound_nodes(w, node, func.signature, owner)))
    ]
    returns = func.signature.returns
    returns = None if returns is None else whole(resolve_types(returns))
    fixed = [a.fixed for a in args if a.type is None or a.fixed is not None]
    widths = tuple(t for a in args if a.fixed is not None and a.type for t in a.type)
    key = (id(func), *widths, *(x if type(x) in (int, float, bool, str, type(None)) else id(x) for x in fixed))
    index = w.functions.get(key)
    if index is None:
        w.keep.extend(fixed)
        index = _make(w, node, func, key, args, returns)
    if index in w.team_functions:
        from quadrants.lang.frontend.threads import need

        need(w, f"… in {func.__name__}")
    results = iter(w.b.call(index, [s for a in args if a.type is not None for s in flatten(w, a.value)]))
    value = None if returns is None else gather(w, returns, results)
    for a in args:
        if a.place is not None:
            store(w, a.place, gather(w, a.type, results))
    return value


def _no_return(node, name):
    """node: the function, at which the error points."""
    raise QuadrantsSyntaxError(f'Function has a return type but does not have a return statement: "{name}"')


def _make(w, node, func, key, args, returns):
    """Walks the body into a function of its own; its number."""
    passed = [s for a in args if a.type is not None for s in flat_types(w, a.type)]
    handed = [s for a in args if a.place is not None for s in flat_types(w, a.type)]
    tree = func.source.tree
    b = w.b
    index, values = b.open_function(passed, flat_types(w, returns) + handed)
    w.functions[key] = index
    outer = (w.runtime, w.labels, w.loop_config, w.real, w.jump, w.dead)
    saved = w.enter(func.fn, func.source, node)
    w.runtime, w.labels, w.loop_config, w.jump, w.dead = 1, 0, None, None, False
    w.base_runtime = 1
    w.real = Open(returns, [b.var(t, 0) for t in flat_types(w, returns)])
    given = iter(values)
    references = []
    for a in args:
        v = a.fixed if a.type is None else gather(w, a.type, given)
        if a.place is not None:
            v = variable(w, v)
            references.append(v)
        elif a.type is not None and a.fixed is not None:
            v = views.View(a.fixed, *v, a.name)
        elif a.type is not None and (a.name in func.source.stores or a.name in w.forced):
            v = variable(w, v)
        w.declare(a.name, v)
    b.block()
    w.labels = 1
    run(w, tree.body)
    b.end()
    if returns is not None and not w.real.returned:
        _no_return(tree, func.__name__)
    b.close_function([b.get(v) for v in w.real.slots] + [s for r in references for s in flatten(w, load(w, r))])
    if w.real.threads:
        w.team_functions.add(index)
    w.leave(saved)
    w.runtime, w.labels, w.loop_config, w.real, w.jump, w.dead = outer
    return index


__all__ = ["call"]
