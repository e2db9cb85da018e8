"""Calls: device functions (inlined), types, methods, the library's functions, and Python functions at compile time."""

import ast

from quadrants._native import DataType, Var
from quadrants.lang.elementwise import cast
from quadrants.lang.exception import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.frontend import bundles, matrices, realfuncs, reports, structs, views
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.arguments import is_template, is_tensor, is_view
from quadrants.lang.frontend.exprs import enum_member
from quadrants.lang.frontend.outside import call_python
from quadrants.lang.frontend.results import resolve_types
from quadrants.lang.frontend.stmts import cast_result
from quadrants.lang.frontend.table import EXPR, NeedVariable, ev, ref, run
from quadrants.lang.func import BoundFunc, Func
from quadrants.lang.util import hook
from quadrants.lang.values import (
    COMPOUND,
    MATRICES,
    PLACES,
    RECORDS,
    SCALARS,
    Big,
    Elem,
    Mat,
    Places,
    Rec,
    describe,
    load,
    variable,
)
from quadrants.types.annotations import NdarrayType
from quadrants.types.compound import MatrixType
from quadrants.types.structs import StructType

SPECIAL = {}  # function object -> handler(w, node): evaluates its own arguments
PLAIN = {}  # function object -> handler(w, *values, **values)
MAX_DEPTH = 100


def call(w, node):
    f = node.func
    if type(f) is ast.Attribute:
        base = ref(w, f.value)
        kind = type(base)
        if kind in MATRICES or kind is Elem and base.ndim or kind is Places:
            return _method(w, node, base, f.attr)
        if kind is str:
            args, kwargs = arguments(w, node)
            return (
                reports.formatted(w, base, args, kwargs)
                if f.attr == "format"
                else getattr(base, f.attr)(*args, **kwargs)
            )
        if isinstance(base, StructType) and f.attr == "field":
            raise QuadrantsSyntaxError("fields cannot be made inside kernels")
        if kind is type and issubclass(base, _matrix_class()):
            return _class_method(w, node, base, f.attr)
        target = _method_of_struct(w, base, f) if kind in RECORDS else _attribute(w, base, f)
    else:
        target = ref(w, f)
    return call_target(w, node, target)


def _attribute(w, base, f):
    from quadrants.lang.frontend.exprs import attribute_of

    return attribute_of(w, base, f.attr)


def _method_of_struct(w, base, f):
    """base.f of a struct; one whose method assigns members of `self` has to be a variable."""
    target = structs.attribute(w, base, f.attr)
    if type(target) is BoundFunc and type(base) is Rec:
        func = target.__func__
        if func.signature.names[:1] and func.signature.names[0] in _stores(func.source):
            _need_place(w, f.value, base)
            return BoundFunc(func, variable(w, base))
    return target


def _not_taken(target, error, count):
    """A function of ours was called with arguments that it doesn't have; `error` counts the walker among them."""
    name, text = target.__name__, str(error).partition("() ")[2]
    if not text.startswith(("missing", "got")):
        text = f"it does not take {count} positional arguments"
    return QuadrantsTypeError(f"TypeError when calling `{name}`: {text}.")


def call_target(w, node, target):
    try:
        special, handler = SPECIAL.get(target), PLAIN.get(target)
    except TypeError:  # not hashable
        special = handler = None
    if special is not None:
        return special(w, node)
    if handler is not None:
        if not node.keywords and len(node.args) == 1 and type(node.args[0]) is not ast.Starred:
            args, kwargs = (ev(w, node.args[0]),), {}
        else:
            args, kwargs = arguments(w, node)
        try:
            return handler(w, *args, **kwargs)
        except TypeError as error:
            if error.__traceback__.tb_next is not None:
                raise
            raise _not_taken(target, error, len(args)) from None
    kind = type(target)
    if kind is Func:
        return inline(w, node, target, None)
    if kind is BoundFunc:
        return inline(w, node, target.__func__, target.__self__)
    if kind is DataType:
        return call_dtype(w, node, target)
    if isinstance(target, StructType):
        args, kwargs = arguments(w, node)
        return structs.call_type(w, target, args, kwargs)
    if isinstance(target, MatrixType):
        args, _ = arguments(w, node)
        return matrices.call_type(w, target, args)
    if kind is type and issubclass(target, _matrix_class()):
        args, kwargs = arguments(w, node)
        return _made(target.__name__, matrices.new_matrix, w, args, kwargs)
    if kind is bundles.Method:
        args, kwargs = arguments(w, node)
        return call_python(w, node, target.function, [target.owner, *args], kwargs)
    if hook(target, "_primal") is not None:
        raise QuadrantsSyntaxError(
            "Kernels cannot call other kernels. I.e., nested kernels are not allowed. Please check "
            "if you have direct/indirect invocation of kernels within kernels."
        )
    here = getattr(kind, "kernel_call", None)
    if here is not None:
        args, kwargs = arguments(w, node)
        return here(target, w, *args, **kwargs)
    inside = getattr(type(target), "__call__", None)
    if type(inside) is Func:
        return inline(w, node, inside, target)
    later = hook(target, "_quadrants_later")
    if later is not None:
        raise QuadrantsSyntaxError(f"qd.{later} is not supported yet")
    if not callable(target):
        raise QuadrantsTypeError(f"'{describe(w, target)}' is not callable")
    args, kwargs = arguments(w, node)
    return call_python(w, node, target, args, kwargs)


def _matrix_class():
    from quadrants.lang.matrix import Matrix

    return Matrix


def arguments(w, node):
    """Evaluated positional and keyword arguments of a call."""
    args = []
    for a in node.args:
        if type(a) is ast.Starred:
            v = ev(w, a.value)
            args.extend(matrices.elements(w, v) if type(v) in MATRICES else (load(w, e) for e in v))
        else:
            args.append(ev(w, a))
    kwargs = {}
    for k in node.keywords:
        if k.arg is None:
            kwargs.update(ev(w, k.value))
        else:
            kwargs[k.arg] = ev(w, k.value)
    return args, kwargs


def _method(w, node, place, name):
    args, kwargs = arguments(w, node)
    if name == "fill":
        _need_place(w, node.func.value, place)
    return matrices.call_method(w, place, name, args, kwargs)


def _need_place(w, node, place):
    """A name bound to a value is about to be changed: it must be a variable."""
    if type(place) not in (Mat, Rec) and type(place) not in SCALARS:
        return
    while type(node) in (ast.Attribute, ast.Subscript):
        node = node.value
    if type(node) is ast.Name and type(w.vars.get(node.id, place)) in (Mat, Rec, *SCALARS):
        if node.id in w.readonly and type(w.vars.get(node.id)) in SCALARS:
            raise QuadrantsSyntaxError(
                f'Kernel argument "{node.id}" is immutable in the kernel. If you want to change its '
                "value, please create a new variable."
            )
        if node.id in w.vars and node.id not in w.forced:
            raise NeedVariable(w.source, node.id)


def _class_method(w, node, cls, name):
    handler = matrices.CONSTRUCTORS.get(name)
    if handler is None:
        if name in ("field", "ndarray", "tensor"):
            raise QuadrantsSyntaxError(f"{cls.__name__}.{name} cannot be called inside kernels")
        if name in matrices.METHODS:
            args, kwargs = arguments(w, node)
            return matrices.call_method(w, args[0], name, args[1:], kwargs)
        raise AttributeError(f"{cls.__name__} has no attribute '{name}' inside kernels")
    args, kwargs = arguments(w, node)
    return _made(f"{cls.__name__}.{name}", handler, w, args, kwargs)


def _made(name, handler, w, args, kwargs):
    """handler(w, …); the words of wrong arguments name what the user wrote."""
    try:
        return handler(w, *args, **kwargs)
    except TypeError as error:
        if error.__traceback__.tb_next is not None:
            raise
        text = str(error).partition("() ")[2].replace("'arr'", "a list").replace("'dt'", "'dtype'")
        raise QuadrantsTypeError(f"wrong arguments for `{name}`: {text or error}") from None


def call_dtype(w, node, dtype):
    """`qd.f32(x)`: on a literal the literal's type, else a cast."""
    if len(node.args) != 1 or node.keywords or type(node.args[0]) is ast.Starred:
        raise QuadrantsSyntaxError("A primitive type can only decorate a single expression.")
    a = node.args[0]
    literal = a.operand if type(a) is ast.UnaryOp and type(a.op) is ast.USub else a
    if type(literal) is ast.Constant and type(literal.value) in (int, float):
        if type(literal.value) is float and not dtype.is_real:
            raise QuadrantsTypeError(
                f"Floating-point literals must be annotated with a floating-point type. "
                f"For type casting, use `qd.cast`: {dtype}"
            )
        if type(literal.value) is int and not dtype.is_integral:
            raise QuadrantsTypeError(
                f"Integer literals must be annotated with a integer type. For type casting, use `qd.cast`: {dtype}"
            )
        return w.b.const(literal.value if literal is a else -literal.value, dtype)
    v = ev(w, a)
    if type(v) not in SCALARS:
        raise QuadrantsSyntaxError("A primitive type cannot decorate an expression with a compound type.")
    if type(v) is int and dtype.is_integral:
        return w.b.const(v, dtype)  # a literal expression such as 2**40, or a captured number
    return w.b.cast(v, dtype)


# ------------------------------------------------------------------------------------------------------------ inlining
def inline(w, node, func, owner):
    """Walks the body of a device function in place of a call."""
    if func.real:
        return realfuncs.call(w, node, func, owner)
    if func.requires_top_level and w.runtime:
        raise QuadrantsSyntaxError(
            f'"{func.__name__}" must be called at the top level of a kernel, not inside a loop, `if` or `while`.'
        )
    if len(w.frames) > MAX_DEPTH:
        if any(source is func.source for source, _ in w.frames):
            raise QuadrantsSyntaxError(
                f'"{func.__name__}" calls itself, directly or through others: inlined functions cannot be recursive.'
            )
        raise QuadrantsSyntaxError(
            f'the call of "{func.__name__}" is nested deeper than {MAX_DEPTH} inlined functions.'
        )
    values, enums = _bind(w, node, func, owner)
    tree = func.source.tree
    returns = func.signature.returns
    saved = w.enter(func.fn, func.source, node)
    w.return_type = _conversion(returns)
    w.enums, outer_enums = enums, w.enums
    for name, v in values:
        w.declare(name, v)
    run(w, tree.body)
    result, returned = w.result, w.returned
    w.leave(saved)
    w.enums = outer_enums
    w.dead = False
    if returns is not None and not returned:
        raise QuadrantsSyntaxError(
            f'Function has a return type but does not have a return statement: "{func.__name__}"'
        )
    return result


def _conversion(returns):
    """The type that an inlined function's result is brought to. An annotation that names none, such as `qd.Vector`,
    is a remark for the reader."""
    try:
        return None if returns is None else resolve_types(returns)
    except QuadrantsSyntaxError:
        return None


def call_with_values(w, target, args):
    """Calls something inside the kernel with values instead of syntax nodes."""
    node = ast.Call(func=ast.Constant(None), args=[ast.Starred(ast.Constant(tuple(args)))], keywords=[])
    return call_target(w, ast.copy_location(node, w.source.tree), target)


def bound_nodes(w, node, sig, owner):
    """The arguments of a call in the order of parameters: syntax nodes, or values where they had to be evaluated."""
    nodes = []
    if owner is not None:
        nodes.append(owner)
    for a in node.args:
        if type(a) is ast.Starred:
            v = ev(w, a.value)
            nodes.extend(matrices.elements(w, v) if type(v) in MATRICES else (load(w, e) for e in v))
        else:
            nodes.append(a)
    keywords = {}
    for k in node.keywords:
        if k.arg is None:
            keywords.update(ev(w, k.value))
        else:
            keywords[k.arg] = k.value
    return sig.bind(nodes, keywords)


def _bind(w, node, func, owner):
    """(name, value) of each parameter, and the members of enumerations among them by name."""
    types_of = func.signature.types
    out, enums = [], {}
    for k, (name, a) in enumerate(zip(func.signature.names, bound_nodes(w, node, func.signature, owner))):
        if k == 0 and owner is not None:
            out.append((name, owner))
        else:
            out.append((name, _argument(w, func, name, types_of[k], a)))
            if type(out[-1][1]) is int and type(a) in (ast.Name, ast.Attribute):
                member = enum_member(w, a, out[-1][1])
                if type(member) is not int:
                    enums[name] = member
    return out, enums


def _argument(w, func, name, annotation, a):
    """Value of one argument. `a` is a syntax node, or an already evaluated value (defaults, starred)."""
    is_node = isinstance(a, ast.AST)
    source = func.source
    changed = name in _stores(source) or name in w.forced_in(source)
    if is_template(annotation):
        v = ref(w, a) if is_node else w.wrap(a)
        if changed and type(v) not in PLACES and (type(v) in SCALARS or type(v) in COMPOUND):
            if is_node:
                _need_place(w, a, v)
            v = variable(w, v)
        return v
    if is_tensor(annotation):
        return ref(w, a) if is_node else w.wrap(a)
    if is_view(annotation):
        v = ref(w, a) if is_node else w.wrap(a)
        if type(v) is not views.View:
            raise QuadrantsSyntaxError(
                f'Argument {name} of "{func.__name__}" expects a BufferView, got {describe(w, v)}'
            )
        return v
    if annotation is NdarrayType or isinstance(annotation, NdarrayType):
        v = ref(w, a) if is_node else w.wrap(a)
        if v is None and annotation is not NdarrayType and annotation.optional:
            return v
        if type(v) is not Acc:
            raise QuadrantsSyntaxError(
                f'Argument {name} of "{func.__name__}" is expected to be an array, but got {describe(w, v)}'
            )
        return v
    if is_node:
        v = ref(w, a)
        v = v if type(v) is Acc else load(w, v)
    else:
        v = w.wrap(a)
    if annotation is not None:
        v = _as_annotated(w, func, name, annotation, v)
    if (type(v) in SCALARS or type(v) in COMPOUND) and (changed or (type(v) is Big and not v.owned)):
        return variable(w, v)
    return variable(w, v) if type(v) is Big else v  # it has a name now, so a second name for it is a copy


def _stores(source):
    if source.stores is None:
        source.tree  # noqa: B018 - parsing fills `stores`
    return source.stores


def _as_annotated(w, func, name, annotation, v):
    if isinstance(annotation, MatrixType):
        try:
            return matrices.to_type(w, v, annotation)
        except QuadrantsTypeError:
            raise QuadrantsSyntaxError(
                f'Argument {name} of "{func.__name__}" is expected to be a {annotation}, but got {describe(w, v)}'
            ) from None
    if isinstance(annotation, StructType):
        return structs.to_struct(w, v, annotation)
    if bundles.is_bundle(annotation):
        if not isinstance(v.obj if type(v) is bundles.Bundle else v, annotation):
            raise QuadrantsTypeError(
                f'"{name}" of "{func.__name__}" takes a {annotation.__name__}, got {describe(w, v)}'
            )
        return v
    if isinstance(annotation, DataType) or annotation in (int, float, bool):
        if type(v) not in SCALARS and type(v) not in MATRICES:
            raise QuadrantsTypeError(f'"{name}" of "{func.__name__}" takes {annotation}, got {describe(w, v)}')
        return cast(w, v, matrices.cook_dtype(annotation))
    raise QuadrantsSyntaxError(
        f'Invalid type annotation (argument "{name}") of Quadrants function: {annotation!r} is not supported yet'
    )


EXPR[ast.Call] = call

__all__ = ["PLAIN", "SPECIAL", "Var", "cast_result", "inline"]
