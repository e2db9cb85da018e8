"""One specialisation: parameters from arguments, the walk, the layout of results.

A walk that learns that a name needs a variable (`NeedVariable`) starts again; each restart adds a name, so it ends.
"""

import enum
import gc

import numpy as np

from quadrants import _native
from quadrants._native import DataType
from quadrants.lang import impl
from quadrants.lang.exception import (
    QuadrantsCompilationError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
    not_supported_yet,
)
from quadrants.lang.field import Field
from quadrants.lang.frontend import (  # noqa: F401 - some fill tables only
    access,
    atomics,
    bundles,
    calls,
    decompositions,
    errors,
    exprs,
    graphs,
    library,
    loops,
    members,
    nodes,
    objects,
    precision,
    reports,
    stmts,
    structs,
    updates,
    views,
)
from quadrants.lang.frontend import walker as walker_module
from quadrants.lang.frontend.arguments import (
    check_number,
    column_major,
    expected_element,
    is_template,
    is_tensor,
    is_view,
    owners,
)
from quadrants.lang.frontend.results import decoder, resolve_types, whole
from quadrants.lang.frontend.table import NeedVariable, run
from quadrants.lang.frontend.walker import Walker
from quadrants.lang.tensor import Tensor, layout_of
from quadrants.lang.util import cook_dtype
from quadrants.lang.values import Mat, Rec, make, variable
from quadrants.types.annotations import NdarrayType, sparse_matrix_builder
from quadrants.types.compound import MatrixType
from quadrants.types.structs import StructType

walker_module._host_classes()


class Walk:
    """Result of a walk: what KernelObject.add takes."""

    __slots__ = ("args", "builder", "guards", "recorder", "result", "returns", "sites", "words")
    builder: _native.Builder
    returns: str  # "nothing", "declared", or "alone": one value where a tuple of one is declared


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
    forced = {}
    while True:
        w = Walker(kernel.name, runtime, forced)
        try:
            found = _walk(w, kernel, values)
        except NeedVariable as need:
            forced.setdefault(need.source, set()).add(need.name)
            continue
        except Exception as error:
            _warn(w)
            raise _reported(w, error, runtime) from (error if _foreign(error) else None)
        _warn(w)
        return found


def _warn(w):
    """Gives the warnings of a walk that has ended."""
    for one in w.rec.warned.values():
        errors.give(*one)


def _foreign(error):
    return not isinstance(error, QuadrantsCompilationError)


def _reported(w, error, runtime):
    if not w.frames or (_foreign(error) and runtime.options.get("print_full_traceback")):
        return error
    return errors.located(error, w.frames)


def _no_return(node, name):
    raise QuadrantsSyntaxError(f'Kernel has a return type but does not have a return statement: "{name}"')


def _walk(w, kernel, values):
    tree = kernel.source.tree
    out = Walk()
    w.pure = kernel.fastcache
    w.rec.begin(kernel.func, owners(kernel.signature.types, values))
    names = kernel.signature.names
    plan = [None] * len(names)  # members of arguments come after them
    bound = []
    for k, (name, annotation, value) in enumerate(zip(names, kernel.signature.types, values)):
        bound.append((name, parameter(w, kernel, plan, k, name, annotation, value)))
    saved = w.enter(kernel.func, kernel.source, None)
    w.readonly = frozenset(names)
    w.enums = {name: v for name, v in zip(names, values) if isinstance(v, enum.Enum)}
    for name, v in bound:
        if type(v) in (Mat, Rec) and (name in kernel.source.stores or name in w.forced):
            v = variable(w, v)  # a copy, whose elements the kernel may assign
        w.declare(name, v)
    returns = kernel.signature.returns
    declared = w.return_type = None if returns is None else whole(resolve_types(returns))
    run(w, tree.body)
    if w.return_type is not None and not w.returned:
        _no_return(tree, kernel.name)
    what = "declared" if w.return_type is declared else "alone"
    out.returns = what if w.returned and declared is not None else "nothing"
    out.result = decoder(out.returns, declared)
    w.leave(saved)
    _check_readonly(w, kernel, values)
    if w.lossy:
        precision.deliver(w)
    if w.coverage is not None:
        w.coverage.finish(w, impl.get_runtime().require_context())
    out.builder, out.args, out.words, out.guards, out.sites = w.b, plan, w.words, w.rec.guards, w.sites
    out.recorder = w.rec
    return out


# ----------------------------------------------------------------------------------------------- column-major arrays
def call_with_copies(kernel, values):
    """Makes the call with row-major copies, and copies back what isn't read-only; the result."""
    copies = [np.ascontiguousarray(v) if column_major(t, v) else v for t, v in zip(kernel.signature.types, values)]
    result = kernel.callable(*copies)
    for v, c in zip(values, copies):
        if c is not v and v.flags.writeable:
            v[...] = c
    return result


# --------------------------------------------------------------------------------------------------------- parameters
def parameter(w, kernel, plan, k, name, annotation, value):
    """The kernel's value of argument (or member of an argument) number `k`, whose plan it fills in."""
    if isinstance(value, Tensor):
        return _unwrapped(w, kernel, plan, k, name, annotation, value)
    if is_tensor(annotation):
        return _tensor(w, kernel, plan, k, name, value)
    if annotation is None:
        return _owner(w, plan, k, value)
    if is_template(annotation):
        return _template(w, kernel, plan, k, name, value)
    if annotation is NdarrayType or isinstance(annotation, NdarrayType):
        if value is None and annotation is not NdarrayType and annotation.optional:
            return _template(w, kernel, plan, k, name, value)
        return _array(w, kernel, plan, k, name, annotation, value)
    if isinstance(annotation, DataType) or annotation in (int, float, bool):
        dtype = cook_dtype(annotation)
        check_number(kernel, w.positions.get(k, k), name, dtype, value)
        plan[k] = ("scalar", dtype)
        w.words.append(("arg", k, 0))
        return w.b.scalar_param(dtype, name)
    if isinstance(annotation, MatrixType):
        return _vector(w, plan, k, name, annotation)
    if isinstance(annotation, StructType):
        return structs.parameter(w, plan, k, name, annotation, value, kernel)
    if is_view(annotation):
        return views.parameter(w, kernel, plan, k, name, annotation, value)
    if bundles.is_bundle(annotation):
        return bundles.of_argument(w, kernel, plan, k, name, annotation, value)
    if annotation is sparse_matrix_builder or isinstance(annotation, sparse_matrix_builder):
        raise not_supported_yet(f'qd.types.sparse_matrix_builder (argument "{name}" of kernel "{kernel.name}")')
    raise QuadrantsSyntaxError(
        f"Invalid type annotation (argument {w.positions.get(k, k)}) of Quadrants kernel: {annotation!r}, of "
        f'"{name}" of "{kernel.name}". Expected a scalar type, a '
        "vector or matrix type, qd.types.ndarray or qd.template; other kinds are not supported yet."
    )


def _unwrapped(w, kernel, plan, k, name, annotation, value):
    """A tensor: what it wraps is a member of it in the launch plan."""
    plan[k] = ("instance", type(value))
    inner = len(plan)
    plan.append(None)
    w.positions[inner] = w.positions.get(k, k)
    found = parameter(w, kernel, plan, inner, name, annotation, value._impl)
    plan[inner] = ("member", k, "_impl", plan[inner])
    return found


def _tensor(w, kernel, plan, k, name, value):
    """A parameter annotated `qd.Tensor`: what it is depends on the value."""
    if value is None or isinstance(value, Field):
        return _template(w, kernel, plan, k, name, value)
    return _array(w, kernel, plan, k, name, NdarrayType, value)


def _owner(w, plan, k, value):
    if not getattr(value if isinstance(value, type) else type(value), "_data_oriented", False):
        raise QuadrantsSyntaxError(f"Please decorate class {type(value).__name__} with @qd.data_oriented")
    plan[k] = ("template", value)
    members.root(w, plan, k, value)
    return value


def _template(w, kernel, plan, k, name, value):
    if isinstance(value, _native.NdarrayBase):
        raise QuadrantsRuntimeTypeError(
            f"Ndarray shouldn't be passed in via `qd.template()`, please annotate your kernel using "
            f'`qd.types.ndarray(...)` instead: argument "{name}" of kernel "{kernel.name}"'
        )
    plan[k] = ("template", value)
    members.root(w, plan, k, value)
    w.rec._content(value)
    return w.wrap(value, f'template argument "{name}"')


def _vector(w, plan, k, name, t):
    if t.n is None or t.dtype is None:
        raise QuadrantsSyntaxError(f'The type {t} of argument "{name}" needs a size and an element type')
    n, m = t.n, t.m or 1
    plan[k] = ("scalars", [t.dtype] * (n * m))
    data = []
    for part in range(n * m):
        w.words.append(("arg", k, part))
        data.append(w.b.scalar_param(t.dtype, f"{name}[{part}]"))
    return make(w, n, m, t.ndim, data) if n * m > 16 else Mat(n, m, t.ndim, data)


def _type_name(value):
    return type(value).__name__


class ElementTypeError(ValueError, TypeError):
    """An ndarray has another type of element than its annotation: a wrong value of an argument, and a wrong type."""


def _array(w, kernel, plan, k, name, annotation, value):
    annotation = NdarrayType() if annotation is NdarrayType else annotation
    found = _native.array_kind(value)
    where = f'argument "{name}" of kernel "{kernel.name}"'
    if found is None:
        if isinstance(value, _native.NdarrayBase):
            raise QuadrantsRuntimeTypeError(f"{where} belongs to a runtime that was reset; make it again after qd.init")
        raise QuadrantsRuntimeTypeError(
            f"Invalid type for argument {name}, got {value!r:.80} ({_type_name(value)}); expected an ndarray or "
            f"a NumPy array: {where}"
        )
    kind, d = found
    if not d["contiguous"] and getattr(getattr(value, "flags", None), "c_contiguous", False):
        raise ValueError(f"Misaligned numpy arrays are not supported, please pass a copy: {where}")
    if not d["contiguous"]:
        raise ValueError(
            f"Non contiguous numpy arrays are not supported, please call np.ascontiguousarray(arr) before passing "
            f"it into quadrants kernel: {where} has shape {d['shape']}"
        )
    if d["dtype"] is None:
        raise QuadrantsRuntimeTypeError(f"{where}: no element type of ours is {getattr(value, 'dtype', None)}")
    dtype, element = expected_element(annotation)
    if dtype is not None and dtype is not d["dtype"]:
        text = f"required array has dtype={dtype}, but the argument has dtype={d['dtype']}: {where}"
        if d["source"] == "nd":
            raise ElementTypeError(f"Expect element type {dtype} for argument {name}, but get {d['dtype']} - {text}")
        raise ValueError(f"Invalid value for argument {name} - {text}")
    element, ndim = _element_shape(annotation, element, d, name, where)
    if annotation.ndim is not None and ndim != annotation.ndim:
        raise ValueError(
            f"Invalid value for argument {name} - required array has ndim={annotation.ndim}, but the argument has "
            f"{ndim} dimensions: {where}"
        )
    if annotation.needs_grad and not d["needs_grad"] and d["source"] == "nd":
        raise ValueError(f"Invalid value for argument {name} - required array has needs_grad=True: {where}")
    acc = access.of_argument(w, name, d["dtype"], ndim, element, not d["narrow"], annotation.boundary == "clamp")
    acc.argument = k if d["needs_grad"] else None
    if layout_of(kind) is not None:
        access.permute(acc, layout_of(kind))
    plan[k] = ("array", kind)
    w.words.extend(("arg", k, part) for part in range(1 + ndim))
    if d["readonly"]:
        w.locked.append((acc, where))
    return acc


def _element_shape(annotation, wanted, d, name, where):
    """Element shape and number of axes; axes of a NumPy array beyond those of the element are the array's own."""
    have = tuple(d["element_shape"])
    if d["source"] == "nd":
        if wanted is not None and tuple(wanted) != have:
            raise ElementTypeError(
                f"Expect another element type for argument {name} - required element shape {tuple(wanted)}, but the argument has "
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
