"""One specialisation: parameters from arguments, the walk, the layout of results.

A walk that learns that a name needs a variable (`NeedVariable`) starts again; each restart adds a name, so it ends.
"""

import gc
import struct

import numpy as np

from quadrants import _native
from quadrants._native import DataType
from quadrants.lang import impl
from quadrants.lang.exception import (
    QuadrantsCompilationError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
)
from quadrants.lang.frontend import (  # noqa: F401 - some fill tables only
    access,
    calls,
    errors,
    exprs,
    library,
    loops,
    reports,
    stmts,
)
from quadrants.lang.frontend import walker as walker_module
from quadrants.lang.frontend.table import NeedVariable, run
from quadrants.lang.frontend.walker import Walker
from quadrants.lang.util import cook_dtype
from quadrants.lang.values import Mat, make
from quadrants.types.annotations import NdarrayType
from quadrants.types.compound import MatrixType

walker_module._host_classes()


class Walk:
    """Result of a walk: what KernelObject.add takes."""

    __slots__ = ("args", "builder", "guards", "recorder", "result", "sites", "words")


def walk(kernel, values, runtime) -> Walk:
    """Walks a kernel for the given argument values (in order of parameters). The collector pauses: a walk makes many
    small objects that all live until it ends, which would have it go over them again and again (a quarter of the
    time)."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _walk_until_settled(kernel, values, runtime)
    finally:
        if collecting:
            gc.enable()


def _walk_until_settled(kernel, values, runtime):
    while True:
        w = Walker(kernel.name, runtime)
        try:
            return _walk(w, kernel, values)
        except NeedVariable as need:
            need.source.forced.add(need.name)
        except Exception as error:
            raise _reported(w, error, runtime) from (error if _foreign(error) else None)


def _foreign(error):
    return not isinstance(error, QuadrantsCompilationError)


def _reported(w, error, runtime):
    if not w.frames or (_foreign(error) and runtime.options.get("print_full_traceback")):
        return error
    return errors.located(error, w.frames)


def _walk(w, kernel, values):
    tree = kernel.source.tree
    out = Walk()
    w.rec.begin(kernel.func, owners(kernel.signature.types, values))
    plan, names = [], kernel.signature.names
    bound = []
    for k, (name, annotation, value) in enumerate(zip(names, kernel.signature.types, values)):
        bound.append((name, _parameter(w, kernel, plan, k, name, annotation, value)))
    saved = w.enter(kernel.func, kernel.source, None)
    w.readonly = frozenset(names)
    for name, v in bound:
        w.declare(name, v)
    returns = kernel.signature.returns
    w.return_type = None if returns is None else calls.resolve_types(returns)
    run(w, tree.body)
    if w.return_type is not None and not w.returned:
        raise QuadrantsSyntaxError(f'Kernel "{kernel.name}" has a return type but does not have a return statement')
    out.result = decoder(w.return_type) if w.returned and w.return_type is not None else None
    w.leave(saved)
    _check_readonly(w, kernel, values)
    out.builder, out.args, out.words, out.guards, out.sites = w.b, plan, w.words, w.rec.guards, w.sites
    out.recorder = w.rec
    return out


def owners(annotations, values) -> list:
    """The compile-time arguments of a call: templates, and the object of a method."""
    return [v for t, v in zip(annotations, values) if t is None or calls.is_template(t)]


# ----------------------------------------------------------------------------------------------- column-major arrays
def _column_major(annotation, value):
    return (
        type(value) is np.ndarray
        and value.flags.f_contiguous
        and not value.flags.c_contiguous
        and (annotation is NdarrayType or isinstance(annotation, NdarrayType))
    )


def needs_copies(kernel, values) -> bool:
    """Whether an argument is a column-major NumPy array: the kernel then runs on row-major copies."""
    return any(map(_column_major, kernel.signature.types, values))


class _Copied:
    """Stands for all arguments of a call that ran on copies."""


_COPIED = _Copied()


def call_with_copies(kernel, values):
    """Runs the call on row-major copies, copies back what isn't read-only, and answers with a specialisation that does
    nothing but hand the result over."""
    copies = [np.ascontiguousarray(v) if _column_major(t, v) else v for t, v in zip(kernel.signature.types, values)]
    result = kernel.callable(*copies)
    for v, c in zip(values, copies):
        if c is not v and v.flags.writeable:
            v[...] = c
    kernel.handed.value = result
    return _hand_over(kernel, len(values)), [_COPIED] * len(values)


def _hand_over(kernel, count) -> int:
    """The specialisation that computes nothing and gives `kernel.handed.value`; made once per runtime."""
    runtime = impl.get_runtime()
    if kernel.hand_over[0] != runtime.epoch:
        builder = _native.Builder(kernel.name, runtime.default_ip, runtime.default_fp, True, False)
        builder.output(0, builder.const(0))
        index = kernel.callable.add(
            runtime.require_context().compile(builder),
            [("template", _COPIED)] * count,
            [],
            _native.Guards(),
            lambda raw: kernel.handed.__dict__.pop("value"),
            None,
        )
        kernel.hand_over = (runtime.epoch, index)
    return kernel.hand_over[1]


# --------------------------------------------------------------------------------------------------------- parameters
def _parameter(w, kernel, plan, k, name, annotation, value):
    if annotation is None:
        return _owner(plan, kernel, value)
    if calls.is_template(annotation):
        return _template(w, kernel, plan, name, value)
    if annotation is NdarrayType or isinstance(annotation, NdarrayType):
        return _array(w, kernel, plan, k, name, annotation, value)
    if isinstance(annotation, DataType) or annotation in (int, float, bool):
        dtype = cook_dtype(annotation)
        _check_number(kernel, k, name, dtype, value)
        plan.append(("scalar", dtype))
        w.words.append(("arg", k, 0))
        return w.b.scalar_param(dtype, name)
    if isinstance(annotation, MatrixType):
        return _vector(w, plan, k, name, annotation)
    raise QuadrantsSyntaxError(
        f"Invalid type annotation (argument {k}) of Quadrants kernel: {annotation!r}. Expected a scalar type, a "
        "vector or matrix type, qd.types.ndarray or qd.template; other kinds are not supported yet."
    )


def _check_number(kernel, k, name, dtype, value):
    """The documented refusal before anything is compiled. What else a number may be is decided when it is packed."""
    real = isinstance(value, (float, np.floating))
    if (real and not dtype.is_real) or isinstance(value, (str, bytes, list, tuple, dict, np.ndarray)) or value is None:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return
        raise QuadrantsRuntimeTypeError(
            f"Argument ({k},) (type={type(value)}) cannot be converted into required type {dtype} "
            f"(parameter '{name}' of kernel '{kernel.name}')"
        )


def _owner(plan, kernel, value):
    if not getattr(type(value), "_data_oriented", False):
        raise QuadrantsSyntaxError(f"Please decorate class {type(value).__name__} with @qd.data_oriented")
    plan.append(("template", value))
    return value


def _template(w, kernel, plan, name, value):
    if isinstance(value, _native.NdarrayBase):
        raise QuadrantsRuntimeTypeError(
            f"Ndarray shouldn't be passed in via `qd.template()`, please annotate your kernel using "
            f'`qd.types.ndarray(...)` instead: argument "{name}" of kernel "{kernel.name}"'
        )
    plan.append(("template", value))
    w.rec._content(value)
    return w.wrap(value, f'template argument "{name}"')


def _vector(w, plan, k, name, t):
    if t.n is None or t.dtype is None:
        raise QuadrantsSyntaxError(f'The type {t} of argument "{name}" needs a size and an element type')
    n, m = t.n, t.m or 1
    plan.append(("scalars", [t.dtype] * (n * m)))
    data = []
    for part in range(n * m):
        w.words.append(("arg", k, part))
        data.append(w.b.scalar_param(t.dtype, f"{name}[{part}]"))
    return make(w, n, m, t.ndim, data) if n * m > 16 else Mat(n, m, t.ndim, data)


def _type_name(value):
    return type(value).__name__


def _array(w, kernel, plan, k, name, annotation, value):
    annotation = NdarrayType() if annotation is NdarrayType else annotation
    found = _native.array_kind(value)
    where = f'argument "{name}" of kernel "{kernel.name}"'
    if found is None:
        raise QuadrantsRuntimeTypeError(
            f"Invalid type for argument {name}, got {value!r:.80} ({_type_name(value)}); expected an ndarray or "
            f"a NumPy array: {where}"
        )
    kind, d = found
    if not d["contiguous"]:
        raise ValueError(
            f"Non contiguous numpy arrays are not supported, please call np.ascontiguousarray(arr) before passing "
            f"it into quadrants kernel: {where} has shape {d['shape']}"
        )
    if d["dtype"] is None:
        raise QuadrantsRuntimeTypeError(f"{where}: no element type of ours is {getattr(value, 'dtype', None)}")
    dtype, element = _expected_element(annotation)
    if dtype is not None and dtype is not d["dtype"]:
        raise ValueError(
            f"Invalid value for argument {name} - required array has dtype={dtype}, but the argument has "
            f"dtype={d['dtype']}: {where}"
        )
    element, ndim = _element_shape(annotation, element, d, name, where)
    if annotation.ndim is not None and ndim != annotation.ndim:
        raise ValueError(
            f"Invalid value for argument {name} - required array has ndim={annotation.ndim}, but the argument has "
            f"{ndim} dimensions: {where}"
        )
    if annotation.needs_grad and not d["needs_grad"]:
        raise ValueError(f"Invalid value for argument {name} - required array has needs_grad=True: {where}")
    acc = access.of_argument(w, name, d["dtype"], ndim, element, not d["narrow"], annotation.boundary == "clamp")
    acc.argument = k if d["needs_grad"] else None
    plan.append(("array", kind))
    w.words.extend(("arg", k, part) for part in range(1 + ndim))
    if d["readonly"]:
        w.locked.append((acc, where))
    return acc


def _expected_element(annotation):
    """(scalar type or None, element shape or None) that an annotation asks for."""
    t = annotation.dtype
    if t is None:
        return None, annotation.element_shape
    if isinstance(t, MatrixType):
        return t.dtype, t.get_shape()
    return cook_dtype(t), annotation.element_shape if annotation.element_shape is not None else ()


def _element_shape(annotation, wanted, d, name, where):
    """Element shape and number of axes; axes of a NumPy array beyond those of the element are the array's own."""
    have = tuple(d["element_shape"])
    if d["source"] == "nd":
        if wanted is not None and tuple(wanted) != have:
            raise ValueError(
                f"Invalid value for argument {name} - required element shape {tuple(wanted)}, but the argument has "
                f"{have}: {where}"
            )
        return have, d["ndim"]
    wanted = tuple(wanted or ())
    shape = tuple(d["shape"])
    if annotation.element_dim and not wanted:
        wanted = shape[len(shape) - annotation.element_dim :]
    if wanted and shape[len(shape) - len(wanted) :] != wanted:
        raise ValueError(
            f"Invalid value for argument {name} - required element shape {wanted}, but the array has shape "
            f"{shape}: {where}"
        )
    return wanted, len(shape) - len(wanted)


def _check_readonly(w, kernel, values):
    for acc, where in w.locked:
        if acc.written:
            raise ValueError(f"the kernel writes to a read-only array: {where}. Pass a copy.")


# ------------------------------------------------------------------------------------------------------------ results
def _flat(t):
    if type(t) is tuple:
        return [s for p in t for s in _flat(p)]
    return [t] if isinstance(t, DataType) else [t.dtype or impl.get_runtime().default_fp] * (t.n * (t.m or 1))


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


def decoder(t):
    """A function from the result buffer's bytes to what the kernel returns."""
    readers = [_number(dt) for dt in _flat(t)]
    if isinstance(t, DataType):
        first = readers[0]
        return lambda raw: first(raw, 0)

    def build(p, numbers):
        if type(p) is tuple:
            return tuple(build(q, numbers) for q in p)
        if isinstance(p, DataType):
            return next(numbers)
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


__all__ = ["decoder", "np", "reporter", "walk"]
