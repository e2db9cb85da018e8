"""Values inside a kernel while it is being compiled.

A scalar is a native Value, or a Python number when it is known now. Vectors and matrices of up to 16 scalars, and
constants of any size, are `Mat`, a flat list of scalars; larger ones are `Big`, a local array with loops over its
elements, so that code grows with what the user wrote and not with N. `MatVar` and `Big` are also places to assign to;
`Elem` is an element of a field or array.

Functions here take the walker `w` first: it holds the builder and the options.
"""

from quadrants._native import Value, Var
from quadrants.lang.exception import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.util import hook, shown_as

SMALL = 16
NUMBERS = frozenset((int, float, bool))
SCALARS = frozenset((int, float, bool, Value))


@shown_as("vector or matrix")
class Mat:
    """Immutable vector (ndim 1, m == 1) or matrix (ndim 2) of scalars in row-major order."""

    __slots__ = ("data", "m", "n", "ndim")

    def __init__(self, n, m, ndim, data):
        self.n, self.m, self.ndim, self.data = n, m, ndim, data


@shown_as("vector or matrix")
class MatVar(Mat):
    """A mutable one: `data` holds Vars."""

    __slots__ = ()


@shown_as("vector or matrix")
class Big:
    """More than 16 scalars: a local array. `owned` says that no name and no container refers to it, so that one may take
    it over.
    """

    __slots__ = ("arr", "dtype", "m", "n", "ndim", "owned")

    def __init__(self, n, m, ndim, arr, dtype, owned=True):
        self.n, self.m, self.ndim, self.arr, self.dtype, self.owned = n, m, ndim, arr, dtype, owned


@shown_as("element")
class Elem:
    """Element of a field or array, or some of its components: a place. `comps` are offsets in scalars from `index`;
    `ok` (checked builds only) is the value that says whether the access is inside."""

    __slots__ = ("acc", "comps", "index", "m", "n", "ndim", "ok")

    def __init__(self, acc, index, n, m, ndim, comps, ok):
        self.acc, self.index, self.n, self.m, self.ndim, self.comps, self.ok = acc, index, n, m, ndim, comps, ok


@shown_as("element")
class Slot:
    """One scalar of a local vector at a run-time index, or of a Big at any index: a place."""

    __slots__ = ("base", "index", "ok")
    ndim = 0

    def __init__(self, base, index, ok=None):
        self.base, self.index, self.ok = base, index, ok


@shown_as("vector or matrix")
class Places(Mat):
    """Several places as one vector or matrix, for slices and swizzles of what is not a plain list of Vars."""

    __slots__ = ()


@shown_as("struct")
class Rec:
    """A struct: members by name, in the order of its type; `methods` are functions by name."""

    __slots__ = ("members", "methods")
    ndim = 0

    def __init__(self, members, methods):
        self.members, self.methods = members, methods


@shown_as("struct")
class RecVar(Rec):
    """A mutable one: members are places."""

    __slots__ = ()


MATRICES = frozenset((Mat, MatVar, Big))
RECORDS = frozenset((Rec, RecVar))
COMPOUND = MATRICES | RECORDS
PLACES = frozenset((Var, MatVar, Big, Elem, Slot, Places, RecVar))


def dtype_of(w, x):
    """Type that a scalar has in the kernel."""
    kind = type(x)
    if kind is float:
        return w.default_fp
    if kind is bool:
        return w.u1
    if kind is int:
        return w.default_ip
    return x.dtype


def describe(w, x) -> str:
    """Type of a value as messages show it: `f32`, `[Tensor (3) i32]`, or the Python type."""
    if type(x) in SCALARS or type(x) is Var:
        return str(dtype_of(w, x))
    if isinstance(x, (Mat, Big)) or (type(x) is Elem and x.ndim):
        dims = (x.n,) if x.ndim == 1 else (x.n, x.m)
        return f"[Tensor ({', '.join(map(str, dims))}) {element_dtype(w, x)}]"
    if type(x) is Elem:
        return str(x.acc.dtype)
    if type(x) is Slot:
        return str(element_dtype(w, x.base))
    if type(x) in RECORDS:
        return "[Struct {" + ", ".join(f"{name}: {describe(w, e)}" for name, e in x.members.items()) + "}]"
    what = hook(x, "what")  # memory and ranges
    if what is None:
        what = hook(x, "class_name")  # objects of dataclasses
        return what if isinstance(what, str) else type(x).__name__
    return what.lower() if isinstance(what, str) else type(x).__name__


def element_dtype(w, x):
    if type(x) is Big:
        return x.dtype
    if type(x) is Elem:
        return x.acc.dtype
    if isinstance(x, Mat):
        dt = dtype_of(w, x.data[0])
        for e in x.data[1:]:
            other = dtype_of(w, e)
            if other is not dt:
                dt = w.promote(dt, other)
        return dt
    return dtype_of(w, x)


# ------------------------------------------------------------------------------------------------- making and reading
def make(w, n, m, ndim, data, dtype=None):
    """A vector or matrix of the given scalars, all brought to one type."""
    if dtype is None:
        kinds = {type(e) for e in data}
        if len(kinds) == 1 and Value not in kinds:
            pass  # Python numbers of one kind stay known
        elif Value not in kinds and kinds <= {int, float}:
            data = [float(e) for e in data]
        elif len({dtype_of(w, e) for e in data}) > 1:
            dtype = element_dtype(w, Mat(n, m, ndim, data))
    if dtype is not None:
        data = [e if type(e) is Value and e.dtype is dtype else w.b.cast(e, dtype) for e in data]
    if len(data) <= SMALL:
        return Mat(n, m, ndim, data)
    dt = dtype or dtype_of(w, data[0])
    arr = w.b.array(dt, len(data))
    for k, e in enumerate(data):
        if type(e) is Value or e != 0:
            w.b.array_set(arr, k, e)
    return Big(n, m, ndim, arr, dt)


def as_big(w, x):
    """A vector or matrix as a local array."""
    if type(x) is Big:
        return x
    dt = element_dtype(w, x)
    out = Big(x.n, x.m, x.ndim, w.b.array(dt, len(x.data)), dt)
    for k, e in enumerate(x.data):
        w.b.array_set(out.arr, k, e)
    return out


def known_matrix(n, m, ndim, data):
    """A vector or matrix of Python numbers, brought to one kind; of any size."""
    kinds = {type(e) for e in data}
    if len(kinds) > 1:
        kind = float if float in kinds else int
        data = [kind(e) for e in data]
    return Mat(n, m, ndim, data)


def filled(w, n, m, ndim, value):
    """All elements the same scalar."""
    if n * m <= SMALL:
        return Mat(n, m, ndim, [value] * (n * m))
    dt = dtype_of(w, value)
    out = Big(n, m, ndim, w.b.array(dt, n * m), dt)
    if type(value) is Value or value != 0:
        each(w, n * m, lambda i: w.b.array_set(out.arr, i, value))
    return out


def each(w, count, body):
    """body(i) for a run-time i in [0, count), as a loop."""
    i = w.b.loop(0, count)
    w.labels += 1
    body(i)
    w.b.end()
    w.labels -= 1


def load(w, x):
    """The value of a place; any other value as it is."""
    kind = type(x)
    if kind is Value or kind is Mat:
        return x
    if kind is Var:
        return w.b.get(x)
    if kind is MatVar:
        get = w.b.get
        return Mat(x.n, x.m, x.ndim, [get(v) for v in x.data])
    if kind is Elem:
        return _load_elem(w, x)
    if kind is Slot:
        return _load_slot(w, x)
    if kind is Places:
        return make(w, x.n, x.m, x.ndim, [load(w, p) for p in x.data])
    if kind is RecVar:
        return Rec({name: load(w, x.members[name]) for name in x.members}, x.methods)
    return x


def _add(w, index, offset):
    if offset == 0:
        return index
    return index + offset if type(index) is int else w.b.add(index, offset)


def guarded(w, ok, dtype, read):
    """read() where `ok` holds, else zero."""
    if ok is None:
        return read()
    b = w.b
    out = b.var(dtype, 0)
    b.when(ok)
    b.set(out, read())
    b.end()
    return b.get(out)


def _load_elem(w, x):
    b, acc = w.b, x.acc
    if x.ndim == 0:
        return guarded(w, x.ok, acc.dtype, lambda: b.load(acc.param, _add(w, x.index, x.comps[0])))
    if len(x.comps) <= SMALL:
        param = acc.param
        if x.ok is None:
            return Mat(x.n, x.m, x.ndim, [b.load(param, _add(w, x.index, c)) for c in x.comps])
        return Mat(x.n, x.m, x.ndim, [load(w, component(w, x, k)) for k in range(len(x.comps))])
    out = Big(x.n, x.m, x.ndim, b.array(acc.dtype, len(x.comps)), acc.dtype)
    _elem_loop(w, x, lambda k, at: b.array_set(out.arr, k, b.load(acc.param, at)))
    return out


def _elem_loop(w, x, body):
    """body(component, index) for every component of a large element; a loop when the components are evenly spread."""
    b = w.b
    step = x.comps[1] - x.comps[0]
    if x.ok is not None:
        b.when(x.ok)
    if all(c == x.comps[0] + k * step for k, c in enumerate(x.comps)):
        each(w, len(x.comps), lambda k: body(k, b.linear([x.index, k], [1, step], x.comps[0], x.acc.wide)))
    else:
        for k, c in enumerate(x.comps):
            body(k, _add(w, x.index, c))
    if x.ok is not None:
        b.end()


def _load_slot(w, x):
    b, base = w.b, x.base
    if type(base) is Mat and len(base.data) > SMALL:
        base = as_big(w, base)
    if type(base) is Big:
        return guarded(w, x.ok, base.dtype, lambda: b.array_get(base.arr, x.index))
    data = load(w, base).data
    out = data[-1]
    for k in range(len(data) - 2, -1, -1):
        out = b.select(b.eq(x.index, k), data[k], out)
    return out


def _both(w, p, q):
    return q if p is None else p if q is None else w.b.logical_and(p, q)


def slot(w, x, k, ok=None):
    """The component of a vector or matrix at run-time index k. That of an element of memory is an element, too: other
    iterations may be updating it."""
    if type(x) is not Elem:
        return Slot(x, k, ok)
    return Elem(x.acc, _component_index(w, x, k), 1, 1, 0, (0,), _both(w, x.ok, ok))


def _component_index(w, x, k):
    b, comps = w.b, x.comps
    step = comps[1] - comps[0] if len(comps) > 1 else 0
    if all(c == comps[0] + i * step for i, c in enumerate(comps)):
        return b.linear([x.index, k], [1, step], comps[0], x.acc.wide)
    offset = comps[-1]
    for i in range(len(comps) - 2, -1, -1):
        offset = b.select(b.eq(k, i), comps[i], offset)
    return b.add(x.index, offset)


# ---------------------------------------------------------------------------------------------------------- assigning
def same_shape(x, y):
    return x.n == y.n and x.m == y.m and x.ndim == y.ndim


def store(w, place, value):
    """Assigns a value (not a place) to a place, casting to its type."""
    b, kind = w.b, type(place)
    if kind is Var:
        if type(value) not in SCALARS:
            raise QuadrantsTypeError(f"cannot assign '{describe(w, value)}' to '{place.dtype}'")
        b.set(place, value)
    elif kind is RecVar:
        _store_record(w, place, value)
    elif place.ndim == 0:
        if type(value) not in SCALARS:
            raise QuadrantsTypeError(f"cannot assign '{describe(w, value)}' to a scalar element")
        _store_scalar(w, place, value)
    else:
        _store_matrix(w, place, fit(w, place, value))


def _store_record(w, place, value):
    if type(value) is dict:
        value = Rec(value, {})
    if type(value) not in RECORDS or list(value.members) != list(place.members):
        raise QuadrantsTypeError(f"cannot assign '{describe(w, value)}' to '{describe(w, place)}'")
    for name, e in value.members.items():
        store(w, place.members[name], load(w, e))


def fit(w, place, value):
    if type(value) in SCALARS:
        return filled(w, place.n, place.m, place.ndim, value)
    if type(value) in (list, tuple):
        value = from_nested(w, value)
    if type(value) not in MATRICES or not same_shape(place, value):
        raise QuadrantsTypeError(f"cannot assign '{describe(w, value)}' to '{describe(w, place)}'")
    return value


def _store_scalar(w, place, value):
    b = w.b
    if type(place) is Elem:
        place.acc.written = True
        if place.ok is not None:
            b.when(place.ok)
        b.store(place.acc.param, _add(w, place.index, place.comps[0]), value)
        if place.ok is not None:
            b.end()
        return
    base = place.base
    if place.ok is not None:
        b.when(place.ok)
    if type(base) is Big:
        b.array_set(base.arr, place.index, value)
    elif id(base) in w.shared:
        value = load(w, value)
        one_of(w, place, lambda v: b.set(v, value))
    else:
        for k, v in enumerate(base.data):
            store(w, v, b.select(b.eq(place.index, k), value, load(w, v)))
    if place.ok is not None:
        b.end()


def one_of(w, place, assign):
    """`assign(variable)` for the one component that a run-time index names. The others are not written, as a choice
    between old and new would do: other iterations of the loop may be writing them.
    """
    b = w.b
    for k, v in enumerate(place.base.data):
        b.when(b.eq(place.index, k))
        assign(v)
        b.end()


def _store_matrix(w, place, value):
    b, kind = w.b, type(place)
    if kind is MatVar:
        for v, e in zip(place.data, value.data):
            b.set(v, e)
    elif kind is Places:
        for k, p in enumerate(place.data):
            store(w, p, element(w, value, k))
    elif kind is Big and type(value) is Mat:
        for k, e in enumerate(value.data):
            b.array_set(place.arr, k, e)
    elif kind is Big:
        if value.arr is not place.arr:
            each(w, place.n * place.m, lambda i: b.array_set(place.arr, i, b.array_get(value.arr, i)))
    elif type(value) is Big:
        place.acc.written = True
        _elem_loop(w, place, lambda k, at: b.store(place.acc.param, at, b.array_get(value.arr, k)))
    else:
        place.acc.written = True
        if place.ok is not None:
            b.when(place.ok)
        param = place.acc.param
        for c, e in zip(place.comps, value.data):
            b.store(param, _add(w, place.index, c), e)
        if place.ok is not None:
            b.end()


def variable(w, value):
    """A new local variable that holds `value`."""
    b, kind = w.b, type(value)
    if kind in SCALARS:
        return b.var(dtype_of(w, value), value)
    if kind is Mat and len(value.data) > SMALL:
        value = as_big(w, value)
        kind = Big
    if kind is Mat:
        dt = element_dtype(w, value)
        return MatVar(value.n, value.m, value.ndim, [b.var(dt, e) for e in value.data])
    if kind is Big:
        if value.owned:
            value.owned = False
            return value
        copy = Big(value.n, value.m, value.ndim, b.array(value.dtype, value.n * value.m), value.dtype, False)
        _store_matrix(w, copy, value)
        return copy
    if kind in RECORDS:
        return RecVar({name: variable(w, load(w, e)) for name, e in value.members.items()}, value.methods)
    raise QuadrantsCompilationError(f"cannot make a variable of a {type(value).__name__}")


# ----------------------------------------------------------------------------------------------------------- elements
def element(w, x, k):
    """Scalar number k (row-major, known now) of a vector or matrix value."""
    if type(x) is Big:
        return w.b.array_get(x.arr, k)
    e = x.data[k]
    return e if type(x) is Mat else load(w, e)


def component(w, x, k):
    """The same as a place where there is one."""
    kind = type(x)
    if kind is Elem:
        return Elem(x.acc, x.index, 1, 1, 0, (x.comps[k],), x.ok)
    if kind is Big:
        return Slot(x, k)
    return x.data[k]


def subset(w, x, ks, n, m, ndim):
    """Components ks of a vector or matrix as a smaller one, as a place where x is one."""
    kind = type(x)
    if kind is Elem:
        return Elem(x.acc, x.index, n, m, ndim, tuple(x.comps[k] for k in ks), x.ok)
    if kind is Mat:
        return Mat(n, m, ndim, [x.data[k] for k in ks])
    if kind is MatVar:
        return MatVar(n, m, ndim, [x.data[k] for k in ks])
    return Places(n, m, ndim, [component(w, x, k) for k in ks])


def from_nested(w, rows, dtype=None):
    """Vector of a list of scalars, matrix of a list of lists or of vectors (its rows)."""
    rows = [load(w, r) for r in rows]
    if not rows:
        raise QuadrantsSyntaxError("a vector or matrix needs at least one element")
    if all(type(r) in SCALARS for r in rows):
        return make(w, len(rows), 1, 1, rows, dtype)
    lines = [r if type(r) in (list, tuple) else elements(w, r) for r in rows if type(r) not in SCALARS]
    if len(lines) != len(rows) or len({len(r) for r in lines}) != 1:
        raise QuadrantsTypeError("rows of a matrix must all be lists or vectors of one length")
    data = [load(w, e) for r in lines for e in r]
    if any(type(e) not in SCALARS for e in data):
        raise QuadrantsTypeError("elements of a vector or matrix must be scalars")
    return make(w, len(rows), len(lines[0]), 2, data, dtype)


def elements(w, x):
    """Scalars of a vector; rows of a matrix as vectors."""
    if type(x) not in MATRICES:
        raise QuadrantsTypeError(f"expected a vector or matrix, got '{describe(w, x)}'")
    if x.ndim == 1:
        return [element(w, x, k) for k in range(x.n)]
    return [make(w, x.m, 1, 1, [element(w, x, i * x.m + j) for j in range(x.m)]) for i in range(x.n)]
