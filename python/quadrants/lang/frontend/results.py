"""What a launch gives back: the return value from the result buffer, and what was printed or failed."""

import struct

from quadrants import _native
from quadrants._native import DataType
from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.frontend import reports
from quadrants.lang.frontend.signature import tuple_of
from quadrants.lang.util import cook_dtype
from quadrants.types.compound import MatrixType
from quadrants.types.structs import StructType


def resolve_types(t):
    """Return annotations with `int`, `float`, `bool` as scalar types."""
    if type(t) is tuple:
        return tuple(resolve_types(p) for p in t)
    if isinstance(t, (DataType, MatrixType, StructType)) or t is None:
        return t
    if t in (int, float, bool):
        return cook_dtype(t)
    parts = tuple_of(t)
    if parts is not None:
        return resolve_types(parts)
    raise QuadrantsSyntaxError(f"Invalid return type annotation: {t!r}")


def whole(t):
    """A resolved return type, if a value of it has a known number of bytes; else QuadrantsSyntaxError."""
    for part in t if type(t) is tuple else t.members.values() if isinstance(t, StructType) else ():
        whole(part)
    if isinstance(t, MatrixType) and None in (t.n, t.m, t.dtype):
        raise QuadrantsSyntaxError(
            f"Invalid return type annotation: {t!r}. What a kernel returns needs a size and an element type."
        )
    return t


def _flat(t):
    if type(t) is tuple:
        return [s for p in t for s in _flat(p)]
    if isinstance(t, StructType):
        return [s for p in t.members.values() for s in _flat(p)]
    return [t] if isinstance(t, DataType) else [t.dtype] * (t.n * (t.m or 1))


_FORMAT = {"f16": "<e", "f32": "<f", "f64": "<d"}


def _number(dtype):
    """Reader of one 8-byte slot."""
    code = _FORMAT.get(dtype.name)
    if code is None:
        size = dtype.size
        if dtype.name == "u1":
            return lambda raw, at: bool(raw[at] & 1)
        signed = dtype.is_signed
        return lambda raw, at: int.from_bytes(raw[at : at + size], "little", signed=signed)
    unpack = struct.Struct(code).unpack_from
    return lambda raw, at: unpack(raw, at)[0]


def decoder(returns, declared):
    """A function from the result buffer's bytes to what a kernel returns whose walk found that it `returns` (`Walk`);
    None for nothing."""
    return None if returns == "nothing" else _decoder(declared[0] if returns == "alone" else declared)


def _decoder(t):
    readers = [_number(dt) for dt in _flat(t)]
    if isinstance(t, DataType):
        first = readers[0]
        return lambda raw: first(raw, 0)

    def build(p, numbers):
        if type(p) is tuple:
            return tuple(build(q, numbers) for q in p)
        if isinstance(p, DataType):
            return next(numbers)
        if isinstance(p, StructType):
            from quadrants.lang.struct import make_struct

            return make_struct({name: build(q, numbers) for name, q in p.members.items()}, p.methods)
        from quadrants.lang.matrix import Matrix, Vector

        n, m = p.n, p.m or 1
        flat = [next(numbers) for _ in range(n * m)]
        dtype = p.dtype
        if p.ndim == 1:
            return Vector(flat, dtype)
        return Matrix([flat[i * m : i * m + m] for i in range(n)], dtype)

    def decode(raw):
        return build(t, iter([read(raw, 8 * k) for k, read in enumerate(readers)]))

    return decode


def reporter(name, sites):
    """Delivers what a launch reported: prints, then the first failure as an exception."""

    def on_report(executable):
        records, _failed, dropped = executable.take_reports()
        if dropped:
            _native.log("warn", f'kernel "{name}": {dropped} printed or reported lines did not fit the report buffer')
        reports.deliver(sites, name, records)

    return on_report
