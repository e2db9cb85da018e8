"""Vectors and matrices inside kernels: construction, indexing, products, methods, class constructors."""

from quadrants._native import DataType, Value
from quadrants.lang.elementwise import binary, cast, map1, map_all, reduce, unary
from quadrants.lang.exception import (
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.lang.frontend import reports
from quadrants.lang.frontend.table import ev
from quadrants.lang.scalars import scalar1, scalar2
from quadrants.lang.util import cook_dtype
from quadrants.lang.values import (
    MATRICES,
    SCALARS,
    SMALL,
    Big,
    Elem,
    Mat,
    as_big,
    component,
    describe,
    dtype_of,
    each,
    element,
    element_dtype,
    elements,
    filled,
    from_nested,
    load,
    make,
    slot,
    store,
    subset,
)


# ---------------------------------------------------------------------------------------------------------- indexing
def _axis(w, x, index, size):
    """One index of a vector or matrix: a list of known numbers, or a run-time Value."""
    if type(index) is slice:
        chosen = list(range(*index.indices(size)))
        if not chosen:
            raise QuadrantsIndexError(
                f"the slice takes no entry of '{describe(w, x)}': vectors and matrices have at least one"
            )
        return chosen
    if type(index) is Value:
        if not index.dtype.is_integral:
            raise QuadrantsTypeError(f"indices must be integers, however '{index.dtype}' is provided as an index.")
        k = w.known(index)
        if k is None:
            return index
        index = k
    if type(index) in (bool, int):
        if not 0 <= index < size:
            if index < 0:
                raise QuadrantsSyntaxError("Negative indices are not supported in Quadrants kernels.")
            raise QuadrantsIndexError(f"index {index} is out of range for '{describe(w, x)}'")
        return index
    raise QuadrantsTypeError(f"indices must be integers, however '{describe(w, index)}' is provided as an index.")


def subscript(w, x, node):
    """x[i], x[i, j], x[a:b, j] of a vector, matrix or an element of that kind: a place where x is one."""
    return subscript_at(w, x, ev(w, node.slice), node)


def subscript_at(w, x, index, node):
    """The same at an evaluated index."""
    index = index if type(index) is tuple else (index,)
    if any(type(i) in MATRICES for i in index):
        index = tuple(e for i in index for e in (elements(w, i) if type(i) in MATRICES else [i]))
    if type(x) is Elem and x.ndim == 0:
        raise QuadrantsTypeError(f"a scalar of type {x.acc.dtype} cannot be indexed")
    if len(index) != x.ndim:
        if len(index) == 1 and x.ndim == 2:
            index = (index[0], slice(None))
        else:
            raise QuadrantsIndexError(f"Expected {x.ndim} indices, got {len(index)}.")
    axes = [_axis(w, x, i, s) for i, s in zip(index, (x.n, x.m))]
    if all(type(a) is int for a in axes):
        return component(w, x, axes[0] if x.ndim == 1 else axes[0] * x.m + axes[1])
    if any(type(a) is Value for a in axes):
        return _dynamic(w, x, axes, node)
    if x.ndim == 1:
        return subset(w, x, axes[0], len(axes[0]), 1, 1)
    rows, cols = ([a] if type(a) is int else a for a in axes)
    ks = [i * x.m + j for i in rows for j in cols]
    if type(axes[0]) is int or type(axes[1]) is int:
        return subset(w, x, ks, len(ks), 1, 1)
    return subset(w, x, ks, len(rows), len(cols), 2)


def _dynamic(w, x, axes, node):
    b = w.b
    if any(type(a) is list for a in axes):
        if x.ndim == 2 and type(axes[1]) is list:
            parts = [_slot(w, x, b.add(b.mul(axes[0], x.m), j), axes[0], x.n, node) for j in axes[1]]
        else:
            parts = [_slot(w, x, b.add(axes[1], i * x.m), axes[1], x.m, node) for i in axes[0]]
        from quadrants.lang.values import Places

        return Places(len(parts), 1, 1, parts)
    if x.ndim == 1:
        return _slot(w, x, axes[0], axes[0], x.n, node)
    ok = _inside(w, x, axes, node) if w.checks else None
    flat = b.add(b.mul(axes[0], x.m), axes[1])
    return slot(w, x, flat, ok)


def _slot(w, x, flat, index, size, node):
    return slot(w, x, flat, _inside(w, x, [index], node, (size,)) if w.checks else None)


def _inside(w, x, axes, node, sizes=None):
    b, ok = w.b, None
    sizes = sizes or (x.n, x.m)
    for a, size in zip(axes, sizes):
        if type(a) is Value:
            inside = b.logical_and(b.ge(a, 0), b.lt(a, size))
            ok = inside if ok is None else b.logical_and(ok, inside)
    pieces = [f"Accessing '{describe(w, x)}' with indices ("]
    for k, a in enumerate(axes):
        pieces += [", " if k else "", (dtype_of(w, a), None, "")]
    reports.fail(w, ok, pieces + [")"], axes, node)
    return ok


# ---------------------------------------------------------------------------------------------------------- products
def _rows(w, x):
    if type(x) in (list, tuple):
        x = from_nested(w, x)
    if type(x) not in MATRICES:
        raise QuadrantsTypeError(f"unsupported operand type for '@': '{describe(w, x)}'")
    return x


def matmul(w, x, y):
    x, y = _rows(w, x), _rows(w, y)
    if x.ndim == 1 and y.ndim == 2 and x.n == y.n:  # a row vector
        row = matmul(w, _reshape(x, 1, x.n, 2), y)
        return _reshape(row, row.m, 1, 1)
    if x.ndim == 1 and y.ndim == 1 and x.n == y.n:
        return dot(w, x, y)
    if x.ndim == 1 or x.m != y.n:
        raise QuadrantsTypeError(f"unsupported operand type(s) for '@': '{describe(w, x)}' and '{describe(w, y)}'")
    n, k, m = x.n, x.m, y.m
    if type(x) is Big or type(y) is Big or n * m > SMALL:
        return _matmul_big(w, x, y, n, k, m, y.ndim)
    data = []
    for i in range(n):
        for j in range(m):
            total = None
            for t in range(k):
                p = scalar2(w, "mul", x.data[i * k + t], y.data[t * m + j])
                total = p if total is None else scalar2(w, "add", total, p)
            data.append(total)
    return Mat(n, m, y.ndim, data)


def _matmul_big(w, x, y, n, k, m, ndim):
    b = w.b
    x, y = as_big(w, x), as_big(w, y)
    dt = w.promote(x.dtype, y.dtype)
    dt = dt if dt is not w.u1 else w.i32
    out = Big(n, m, ndim, b.array(dt, n * m), dt)

    def cell(i, j):
        total = b.var(dt, 0)

        def term(t):
            p = b.array_get(x.arr, b.add(b.mul(i, k), t))
            q = b.array_get(y.arr, b.add(b.mul(t, m), j))
            b.set(total, b.add(b.get(total), b.mul(p, q)))

        each(w, k, term)
        b.array_set(out.arr, b.add(b.mul(i, m), j), b.get(total))

    each(w, n, lambda i: each(w, m, lambda j: cell(i, j)))
    if n * m <= SMALL:  # values of this size are Mats
        return Mat(n, m, ndim, [b.array_get(out.arr, k) for k in range(n * m)])
    return out


def transpose(w, x):
    if x.ndim == 1:
        raise QuadrantsCompilationError(
            "`transpose()` on a vector is not supported: it has no second axis. Use `outer_product()` for v @ v.T, or "
            "make it a matrix with `Matrix.cols([v])`."
        )
    if type(x) is Big:
        b = w.b
        out = Big(x.m, x.n, 2, b.array(x.dtype, x.n * x.m), x.dtype)
        each(
            w,
            x.n,
            lambda i: each(
                w,
                x.m,
                lambda j: b.array_set(out.arr, b.add(b.mul(j, x.n), i), b.array_get(x.arr, b.add(b.mul(i, x.m), j))),
            ),
        )
        return out
    return Mat(x.m, x.n, 2, [x.data[i * x.m + j] for j in range(x.m) for i in range(x.n)])


# ----------------------------------------------------------------------------------------------------------- methods
def dot(w, x, y):
    y = from_nested(w, y) if type(y) in (list, tuple) else y
    if x.ndim != 1 or type(y) not in MATRICES or y.ndim != 1 or x.n != y.n:
        raise QuadrantsTypeError(f"`dot` takes two vectors of one size, got '{describe(w, x)}' and '{describe(w, y)}'")
    return reduce(w, binary(w, "mul", x, y), "add")


def cross(w, x, y):
    y = from_nested(w, y) if type(y) in (list, tuple) else y
    if x.ndim != 1 or type(y) not in MATRICES or y.ndim != 1 or x.n != y.n or x.n not in (2, 3):
        raise QuadrantsTypeError(
            "Cross product is only supported between pairs of 2D/3D vectors, got "
            f"'{describe(w, x)}' and '{describe(w, y)}'"
        )
    p, q = x.data, y.data

    def minor(i, j):
        return scalar2(w, "sub", scalar2(w, "mul", p[i], q[j]), scalar2(w, "mul", p[j], q[i]))

    if x.n == 2:
        return minor(0, 1)
    return make(w, 3, 1, 1, [minor(1, 2), minor(2, 0), minor(0, 1)])


def outer_product(w, x, y):
    y = from_nested(w, y) if type(y) in (list, tuple) else y
    if x.ndim != 1 or type(y) not in MATRICES or y.ndim != 1:
        raise QuadrantsTypeError(f"`outer_product` takes two vectors, got '{describe(w, x)}' and '{describe(w, y)}'")
    if x.n * y.n > SMALL:
        return matmul(w, _reshape(x, x.n, 1, 2), _reshape(y, 1, y.n, 2))
    return make(w, x.n, y.n, 2, [scalar2(w, "mul", p, q) for p in x.data for q in y.data])


def _reshape(x, n, m, ndim):
    return Big(n, m, ndim, x.arr, x.dtype, False) if type(x) is Big else Mat(n, m, ndim, x.data)


def norm_sqr(w, x):
    return reduce(w, x, "add", lambda e: scalar2(w, "mul", e, e))


def norm(w, x, eps=0):
    s = norm_sqr(w, x)
    return scalar1(w, "sqrt", s if eps == 0 and type(eps) in (int, float) else scalar2(w, "add", s, eps))


def norm_inv(w, x, eps=0):
    s = norm_sqr(w, x)
    return scalar1(w, "rsqrt", s if eps == 0 and type(eps) in (int, float) else scalar2(w, "add", s, eps))


def normalized(w, x, eps=0):
    inverse = scalar2(w, "truediv", 1.0, scalar2(w, "add", norm(w, x), eps))
    return binary(w, "mul", x, inverse)


def trace(w, x):
    if x.ndim != 2 or x.n != x.m:
        raise QuadrantsTypeError(f"`trace` takes a square matrix, got '{describe(w, x)}'")
    total = None
    for i in range(x.n):
        e = element(w, x, i * x.m + i)
        total = e if total is None else scalar2(w, "add", total, e)
    return total


def _square(w, x, what, limit):
    if x.ndim != 2 or x.n != x.m:
        raise QuadrantsTypeError(f"`{what}` takes a square matrix, got '{describe(w, x)}'")
    if x.n > limit:
        raise QuadrantsCompilationError(f"`{what}` takes matrices of sizes up to {limit}, got {x.n}x{x.n}")


def _minor(w, x, rows, cols):
    """Determinant of the part of x in the given rows and columns."""
    if len(rows) == 1:
        return x.data[rows[0] * x.m + cols[0]]
    total = None
    for k, c in enumerate(cols):
        p = scalar2(w, "mul", x.data[rows[0] * x.m + c], _minor(w, x, rows[1:], cols[:k] + cols[k + 1 :]))
        total = p if total is None else scalar2(w, "sub" if k % 2 else "add", total, p)
    return total


def determinant(w, x):
    _square(w, x, "determinant", 4)
    return _minor(w, x, list(range(x.n)), list(range(x.n)))


def _real(w, x):
    dt = element_dtype(w, x)
    return x if dt.is_real else cast(w, x, w.default_fp)


def inverse(w, x):
    _square(w, x, "inverse", 12)
    x = _real(w, x)
    n = x.n
    if n > 4:
        from quadrants.lang import matrix_funcs

        return matrix_funcs.inverse_large(w, x)
    if n == 1:
        return Mat(1, 1, 2, [scalar2(w, "truediv", 1.0, x.data[0])])
    scale = scalar2(w, "truediv", 1.0, determinant(w, x))
    every = list(range(n))
    data = []
    for i in range(n):
        for j in range(n):  # adjugate: the cofactor of (j, i)
            c = _minor(w, x, [r for r in every if r != j], [r for r in every if r != i])
            data.append(scalar2(w, "mul", scale, scalar1(w, "neg", c) if (i + j) % 2 else c))
    return make(w, n, n, 2, data)


def frobenius_inner(w, x, y):
    return reduce(w, binary(w, "mul", x, y), "add")


def _truths(w, x, name):
    zero = 0.0 if element_dtype(w, x).is_real else 0
    return reduce(w, x, "logical_and" if name == "all" else "logical_or", lambda e: scalar2(w, "ne", e, zero))


def fill(w, place, value):
    if type(value) not in SCALARS:
        raise QuadrantsTypeError(f"`fill` takes a scalar, got '{describe(w, value)}'")
    if type(place) is Mat:
        return filled(w, place.n, place.m, place.ndim, value)
    store(w, place, cast(w, filled(w, place.n, place.m, place.ndim, value), element_dtype_of(w, place)))
    return None


def element_dtype_of(w, place):
    return place.acc.dtype if type(place) is Elem else element_dtype(w, place)


METHODS = {
    "dot": dot, "cross": cross, "outer_product": outer_product, "norm": norm, "norm_inv": norm_inv,
    "norm_sqr": norm_sqr, "normalized": normalized, "trace": trace, "determinant": determinant, "inverse": inverse,
    "transpose": transpose, "frobenius_inner": frobenius_inner, "sum": lambda w, x: reduce(w, x, "add"),
    "max": lambda w, x: reduce(w, x, "max"), "min": lambda w, x: reduce(w, x, "min"),
    "any": lambda w, x: _truths(w, x, "any"), "all": lambda w, x: _truths(w, x, "all"),
    "cast": lambda w, x, dtype: cast(w, x, cook_dtype(dtype)),
    "get_shape": lambda w, x: (x.n,) if x.ndim == 1 else (x.n, x.m), "to_list": lambda w, x: to_list(w, x),
}  # fmt: skip


def to_list(w, x):
    if x.ndim == 1:
        return elements(w, x)
    return [elements(w, r) for r in elements(w, x)]


def call_method(w, place, name, args, kwargs):
    """place.name(*args, **kwargs)."""
    if name == "fill":
        return fill(w, place, *args, **kwargs)
    f = METHODS.get(name)
    if f is None:
        raise AttributeError(f"'{describe(w, place)}' has no method '{name}'")
    try:
        return f(w, load(w, place), *args, **kwargs)
    except TypeError as e:
        if "positional argument" in str(e) or "keyword argument" in str(e):
            raise QuadrantsSyntaxError(f"wrong arguments for `{name}`: {str(e).partition('() ')[2] or e}") from None
        raise


# ------------------------------------------------------------------------------------------------------ construction
def _dtype(dt):
    return None if dt is None else cook_dtype(dt)


def new_matrix(w, arr, dt=None, n=None):
    """`Matrix(...)` and `Vector(...)`."""
    dt = _dtype(dt)
    if type(arr) in MATRICES:
        return cast(w, arr, dt) if dt is not None else arr
    if hasattr(arr, "tolist"):
        arr = arr.tolist()
    if type(arr) in (int,) and n is None:
        raise QuadrantsTypeError("a vector or matrix is made of a list, such as qd.Vector([0.0, 0.0])")
    if type(arr) not in (list, tuple):
        raise QuadrantsTypeError(f"a vector or matrix is made of a list, got '{describe(w, arr)}'")
    return from_nested(w, arr, dt)


def _constant_size(w, k, what):
    return w.known_int(k, f"the size of {what}")


def _zero(w, dt, n, m=None, value=0):
    n = _constant_size(w, n, "a matrix")
    ndim = 1 if m is None else 2
    m = 1 if m is None else _constant_size(w, m, "a matrix")
    return filled(w, n, m, ndim, w.b.const(value, cook_dtype(dt)))


def _unit(w, n, i, dt=None):
    dt = _dtype(dt) or w.default_ip
    n, i = _constant_size(w, n, "a vector"), w.known_int(i, "the axis")
    return make(w, n, 1, 1, [w.b.const(int(k == i), dt) for k in range(n)])


def _diagonal(w, n, value, zero):
    return make(w, n, n, 2, [value if i == j else zero for i in range(n) for j in range(n)])


def _identity(w, dt, n):
    dt = cook_dtype(dt)
    return _diagonal(w, _constant_size(w, n, "a matrix"), w.b.const(1, dt), w.b.const(0, dt))


def _diag(w, dim, val):
    return _diagonal(w, _constant_size(w, dim, "a matrix"), val, w.b.cast(0, dtype_of(w, val)))


def _of_rows(w, rows):
    return from_nested(w, list(rows))


def _of_cols(w, cols):
    return transpose(w, from_nested(w, [load(w, c) for c in cols]))


def _one(w, dt, n, m=None):
    return _zero(w, dt, n, m, 1)


CONSTRUCTORS = {
    "zero": _zero, "one": _one, "unit": _unit, "identity": _identity, "diag": _diag, "rows": _of_rows, "cols": _of_cols,
}  # fmt: skip


def to_type(w, value, matrix_type):
    """A value as one of a vector or matrix type: its shape is checked, its elements are cast."""
    if type(value) in (list, tuple):
        value = from_nested(w, value)
    value = load(w, value)
    if type(value) not in MATRICES:
        raise QuadrantsTypeError(f"expected a value of type {matrix_type}, got '{describe(w, value)}'")
    if value.n != matrix_type.n or value.m != (matrix_type.m or 1) or value.ndim != matrix_type.ndim:
        raise QuadrantsTypeError(f"expected a value of type {matrix_type}, got '{describe(w, value)}'")
    return value if matrix_type.dtype is None else cast(w, value, matrix_type.dtype)


def call_type(w, matrix_type, args):
    """`vec3(1, 2, 3)`, `vec3(0)`, `vec4(v3, 1)`, `mat2(…)`."""
    flat = []
    if not args:
        raise QuadrantsSyntaxError(f"Custom type instances need to be created with an initial value: {matrix_type}(0)")

    def take(v):
        v = load(w, v)
        if type(v) in MATRICES:
            flat.extend(element(w, v, k) for k in range(v.n * v.m))
        elif type(v) in (list, tuple):
            for e in v:
                take(e)
        elif type(v) in SCALARS:
            flat.append(v)
        else:
            raise QuadrantsTypeError(f"elements of {matrix_type} must be scalars, got '{describe(w, v)}'")

    for a in args:
        take(a)
    n, m = matrix_type.n, matrix_type.m or 1
    if len(flat) == 1:
        return cast(w, filled(w, n, m, matrix_type.ndim, flat[0]), matrix_type.dtype or dtype_of(w, flat[0]))
    if len(flat) != n * m:
        raise QuadrantsTypeError(f"{matrix_type} takes 1 or {n * m} scalars, got {len(flat)}")
    return make(w, n, m, matrix_type.ndim, flat, matrix_type.dtype)


__all__ = ["DataType", "map1", "map_all", "unary"]
