"""Element-wise operations and reductions of vectors and matrices: unrolled up to 16 scalars, loops above."""

from quadrants.lang.exception import QuadrantsTypeError
from quadrants.lang.scalars import scalar1, scalar2
from quadrants.lang.values import (
    MATRICES,
    NUMBERS,
    SCALARS,
    SMALL,
    Big,
    Mat,
    describe,
    dtype_of,
    each,
    element,
    from_nested,
    known_matrix,
    make,
    same_shape,
)


def cast(w, x, dtype):
    """Element-wise conversion."""
    if type(x) in SCALARS:
        return w.b.cast(x, dtype)
    return map1(w, lambda e: w.b.cast(e, dtype), x)


def _sample(w, x):
    return w.b.const(1, x.dtype) if type(x) is Big else x


def _big_map(w, f, xs, like):
    b = w.b
    dt = dtype_of(w, f(*[_sample(w, x) for x in xs]))
    out = Big(like.n, like.m, like.ndim, b.array(dt, like.n * like.m), dt)
    each(
        w,
        like.n * like.m,
        lambda i: b.array_set(out.arr, i, f(*[b.array_get(x.arr, i) if type(x) is Big else x for x in xs])),
    )
    return out


def map1(w, f, x):
    """f on each element."""
    if type(x) is Big:
        return _big_map(w, f, (x,), x)
    return _of_scalars(w, x, [f(e) for e in x.data])


def _of_scalars(w, like, data):
    """Results for each element, as a value of the shape of `like`; known ones may be many."""
    if len(data) <= SMALL:
        return Mat(like.n, like.m, like.ndim, data)
    if all(type(e) in NUMBERS for e in data):
        return known_matrix(like.n, like.m, like.ndim, data)
    return make(w, like.n, like.m, like.ndim, data)


def _as_vector(w, x):
    """A list of scalars, or of lists of them, counts as a vector or matrix."""
    return from_nested(w, x) if type(x) in (list, tuple) and x else x


def map_all(w, f, xs, what):
    """f over operands of one shape; scalars are repeated. `what` names the operation in messages."""
    like, xs = None, [_as_vector(w, x) for x in xs]
    for x in xs:
        if type(x) in SCALARS:
            continue
        if type(x) not in MATRICES:
            raise QuadrantsTypeError(f"unsupported operand type for '{what}': '{describe(w, x)}'")
        if like is None:
            like = x
        elif not same_shape(like, x):
            raise QuadrantsTypeError(
                f"Cannot broadcast tensor to tensor: unsupported operand type(s) for '{what}': "
                f"'{describe(w, like)}' and '{describe(w, x)}'"
            )
    if like is None:
        return f(*xs)
    if all(type(x) is Big for x in xs if type(x) in MATRICES):
        return _big_map(w, f, xs, like)
    count = like.n * like.m  # an array with constants goes element by element, so that each constant meets its number
    columns = [
        x.data if type(x) is Mat else [x] * count if type(x) in SCALARS else [element(w, x, k) for k in range(count)]
        for x in xs
    ]
    return _of_scalars(w, like, [f(*es) for es in zip(*columns)])


SYMBOL = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "bit_and": "&",
    "bit_or": "|", "bit_xor": "^", "shl": "<<", "sar": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=",
}  # fmt: skip


def binary(w, name, x, y):
    """Any binary operation on scalars, vectors and matrices."""
    if type(x) in SCALARS and type(y) in SCALARS:
        return scalar2(w, name, x, y)
    return map_all(w, lambda p, q: scalar2(w, name, p, q), (x, y), SYMBOL.get(name, name))


def unary(w, name, x):
    if type(x) in SCALARS:
        return scalar1(w, name, x)
    x = _as_vector(w, x)
    if type(x) not in MATRICES:
        raise QuadrantsTypeError(f"unsupported operand type for '{name}': '{describe(w, x)}'")
    return map1(w, lambda e: scalar1(w, name, e), x)


def reduce(w, x, name, f=None):
    """Folds the elements of a vector or matrix with a binary operation, after f on each."""
    b = w.b
    if type(x) is Big:
        first = b.array_get(x.arr, 0)
        first = f(first) if f else first
        total = b.var(dtype_of(w, scalar2(w, name, first, first)), first)
        i = b.loop(1, x.n * x.m)
        w.labels += 1
        e = b.array_get(x.arr, i)
        b.set(total, scalar2(w, name, b.get(total), f(e) if f else e))
        b.end()
        w.labels -= 1
        return b.get(total)
    out = None
    for e in x.data:
        e = f(e) if f else e
        out = e if out is None else scalar2(w, name, out, e)
    return out
