"""Statements: assignment in all its forms, if, return, assert, and those that are refused."""

import ast

from quadrants._native import DataType, Value, Var
from quadrants.lang.elementwise import cast
from quadrants.lang.exception import (
    QuadrantsCompilationError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.lang.frontend import bundles, errors, hooks, matrices, precision, reports, structs
from quadrants.lang.frontend.access import Acc
from quadrants.lang.frontend.conditions import truth
from quadrants.lang.frontend.table import STMT, NeedVariable, ev, ref, run
from quadrants.lang.holding import held
from quadrants.lang.static import static as static_function
from quadrants.lang.values import (
    MATRICES,
    PLACES,
    RECORDS,
    SCALARS,
    Big,
    Mat,
    Rec,
    describe,
    dtype_of,
    element_dtype,
    elements,
    from_nested,
    load,
    store,
    variable,
)
from quadrants.types.compound import MatrixType
from quadrants.types.structs import StructType


def is_static(w, node):
    """Whether an expression is a call of `qd.static`."""
    if type(node) is not ast.Call:
        return False
    f = node.func
    if type(f) is ast.Attribute:
        return f.attr == "static" and type(f.value) is ast.Name and ref(w, f) is static_function
    return type(f) is ast.Name and f.id not in w.vars and _is_static_name(w, f.id)


def _is_static_name(w, name):
    found = w.captured.get(name)
    if found is None:
        found = w.fn.__globals__.get(name)
    return found is static_function


# -------------------------------------------------------------------------------------------------------- assignment
def assign(w, node):
    value = node.value
    if is_static(w, value):
        _assign_static(w, node)
        return
    v = ev(w, value)
    for target in node.targets:
        assign_to(w, target, v)


def _assign_static(w, node):
    v = ev(w, node.value)
    for target in node.targets:
        if type(target) in (ast.Tuple, ast.List):
            items = list(v)
            if len(items) != len(target.elts):
                raise QuadrantsSyntaxError("The number of targets is not equal to value length")
            pairs = list(zip(target.elts, items))
        else:
            pairs = [(target, v)]
        for t, item in pairs:
            if type(t) is not ast.Name:
                raise QuadrantsSyntaxError("Static assign cannot be used on elements in arrays")
            if t.id in w.vars:
                raise QuadrantsSyntaxError(f'Recreating variables is not allowed: "{t.id}" is already defined here')
            w.declare(t.id, w.wrap(item))


def assign_to(w, target, v):
    """Assigns a value to any target. Errors point at the statement, whose handler names it `node`."""
    kind = type(target)
    if kind is ast.Name:
        current = w.vars.get(target.id)
        if current is not None and (type(current) is Var or type(current) in PLACES):
            precision.assigned(w, target, current, v)
        assign_name(w, target.id, v)
    elif kind is ast.Tuple or kind is ast.List:
        _unpack(w, target, v)
    elif kind is ast.Subscript or kind is ast.Attribute:
        place = ref(w, target)
        if type(place) not in PLACES:
            if hooks.assign(w, place, v):
                return
            raise not_assignable(w, target, place)
        precision.assigned(w, target, place, v)
        store(w, place, v)
    else:
        raise QuadrantsSyntaxError(f'Unsupported assignment target "{kind.__name__}"')


def not_assignable(w, target, place):
    """The error for a target that is no place; a plain name below it gets its variable and the walk starts again."""
    base = target
    while type(base) in (ast.Subscript, ast.Attribute):
        base = base.value
    if type(base) is ast.Name:
        bound = w.vars.get(base.id)
        if type(bound) is bundles.Bundle:
            return QuadrantsSyntaxError(immutable(ast.unparse(target)))
        if base.id in w.readonly and type(bound) not in (Mat, Rec):
            return QuadrantsSyntaxError(immutable(base.id))
        if type(bound) in (Mat, Rec, Value) and base.id not in w.forced:
            return NeedVariable(w.source, base.id)
    return QuadrantsSyntaxError(f"cannot assign to '{describe(w, place)}': it is no variable and no element")


def immutable(name):
    return (
        f'Kernel argument "{name}" is immutable in the kernel. If you want to change its value, please create a new '
        "variable."
    )


def _unpack(w, target, v):
    if type(v) in MATRICES:
        if v.ndim == 2 and v.m > 1:
            raise QuadrantsSyntaxError("Matrices with more than one column cannot be unpacked")
        v = elements(w, v) if v.ndim == 1 else [matrices.element(w, v, k) for k in range(v.n)]
    if type(v) in RECORDS:
        v = [load(w, e) for _, e in v.members.items()]
    if type(v) is Acc or not hasattr(v, "__len__"):
        raise QuadrantsSyntaxError(f"cannot unpack '{describe(w, v)}'")
    items = [load(w, e) for e in v]
    if any(type(t) is ast.Starred for t in target.elts):
        raise QuadrantsSyntaxError("Starred assignment targets are not supported")
    if len(items) != len(target.elts):
        raise QuadrantsSyntaxError("The number of targets is not equal to value length")
    for one, item in zip(target.elts, items):
        assign_to(w, one, item)


def assign_name(w, name, v):
    current = w.vars.get(name, w)
    if current is w:
        w.declare(name, _new_binding(w, name, v))
    elif (type(current) is Var or type(current) in PLACES) and name not in w.readonly:
        store(w, current, v)
    elif not hooks.assign(w, current, v):
        _rebind(w, name, current, v)


def _new_binding(w, name, v):
    kind = type(v)
    once = w.source.stores.get(name, 2) == 1 and name not in w.forced
    if kind in SCALARS:
        if not once:
            return w.b.var(dtype_of(w, v), v)
        return v if kind is Value else w.b.const(v)
    if kind is Mat or kind is Rec:
        return held(w, v) if once else variable(w, v)
    if kind is Big:
        return variable(w, v)
    if kind in (list, tuple) and w.source.stores.get(name, 1) > 1:
        return kind(_new_binding(w, name, e) for e in v)  # its elements are assigned
    return hooks.bind(w, v)


def _rebind(w, name, current, v):
    if name in w.readonly:
        raise QuadrantsSyntaxError(immutable(name))
    if type(current) in (Value, Mat, Rec) or type(current) in (int, float, bool):
        if name in w.forced:
            raise QuadrantsSyntaxError(f'"{name}" is known at compile time and cannot be assigned')
        raise NeedVariable(w.source, name)
    if type(current) in (list, tuple) and type(v) is type(current):
        w.vars[name] = v
        return
    raise QuadrantsSyntaxError(
        f'Recreating variables is not allowed: "{name}" is of type {describe(w, current)} and cannot be assigned'
    )


def bind_target(w, node, item, stores):
    """Binds a loop or comprehension target in the current scope; `stores`: names that the body assigns."""
    if type(node) is ast.Name:
        name = node.id
        if type(item) in SCALARS or type(item) is Mat or type(item) is Rec:
            if name in stores or name in w.forced:
                item = variable(w, item)
        w.declare(name, item)
        return
    if type(node) not in (ast.Tuple, ast.List):
        raise QuadrantsSyntaxError("a loop target must be a name or names")
    items = elements(w, item) if type(item) in MATRICES else list(item)
    if len(items) != len(node.elts):
        raise QuadrantsSyntaxError("The number of targets is not equal to value length")
    for t, v in zip(node.elts, items):
        bind_target(w, t, w.wrap(v), stores)


def ann_assign(w, node):
    if node.value is None:
        raise QuadrantsSyntaxError("an annotation needs a value: `x: T = v`")
    name = node.target.id if type(node.target) is ast.Name else None
    if name in w.readonly:
        raise QuadrantsSyntaxError(immutable(name))
    dtype = ev(w, node.annotation)
    v = ev(w, node.value)
    if isinstance(dtype, MatrixType):
        v = matrices.to_type(w, v, dtype)
    elif isinstance(dtype, StructType):
        v = structs.to_struct(w, v, dtype)
    else:
        v = cast(w, v, matrices.cook_dtype(dtype))
    if name is None:
        assign_to(w, node.target, v)
        return
    current = w.vars.get(name, w)
    if current is not w and describe(w, load(w, current)) != describe(w, v):
        raise QuadrantsSyntaxError(
            f'Static assign cannot have type overloading: "{name}" is annotated with another type than before'
        )
    assign_name(w, name, v)


# ------------------------------------------------------------------------------------------------------ control flow
def if_(w, node):
    test = ev(w, node.test)
    if is_static(w, node.test):
        if w.coverage is not None:
            w.coverage.branch(w, node, bool(test))
        run(w, node.body if test else node.orelse)
        return
    cond = truth(w, test, "if")
    b = w.b
    b.when(cond)
    w.runtime += 1
    _branch(w, node, True)
    if node.orelse or w.coverage is not None:
        b.other()
        _branch(w, node, False)
    w.runtime -= 1
    b.end()


def _branch(w, node, taken):
    mark = len(w.undo)
    if w.coverage is not None:
        w.coverage.branch(w, node, taken)
    run(w, node.body if taken else node.orelse)
    w.close_scope(mark)
    w.dead = False


def break_(w, node):
    frame = _frame(w, "break")
    if w.coverage is not None:
        w.coverage.leave_loop(w)
    if frame.is_static:
        w.jump = "break"
    elif frame.is_parallel:
        raise QuadrantsSyntaxError(
            "Cannot break in the outermost loop: its iterations run side by side. Use qd.loop_config(serialize=True)."
        )
    else:
        w.b.leave(w.labels - 1 - frame.break_label)
    w.dead = True


def continue_(w, node):
    frame = _frame(w, "continue")
    if frame.is_static:
        w.jump = "continue"
    else:
        w.b.leave(w.labels - 1 - frame.continue_label)
    w.dead = True


def _frame(w, word):
    frame = w.loops[-1]
    if frame.is_static and w.runtime != frame.runtime:
        raise QuadrantsSyntaxError(
            f"You are trying to `{word}` a static `for` loop, but the `{word}` statement is inside a non-static `if`, `for` "
            "or `while`. Use qd.static for the conditions in between, or a loop that is not static."
        )
    return frame


def return_(w, node):
    if w.real is not None:
        w.real.leave(w, node)
        return
    if w.runtime != w.base_runtime:
        raise QuadrantsSyntaxError("Return inside non-static if/for is not supported")
    nothing = node.value is None or (type(node.value) is ast.Constant and node.value.value is None)
    if not nothing:
        if w.is_kernel:
            _kernel_return(w, node)
        else:
            v = ev(w, node.value)
            w.result = cast_result(w, v, w.return_type) if w.return_type is not None else v
        w.returned = True
    w.dead = True


def cast_result(w, v, declared, exact=False):
    """A returned value in its declared type: a scalar, vector or matrix type, or a tuple of those. `exact`: as for kernels."""
    exact = exact or w.is_kernel
    if type(declared) is tuple:
        if len(declared) == 1 and type(v) not in (tuple, list):
            return cast_result(w, v, declared[0], exact)
        if type(v) not in (tuple, list) or len(v) != len(declared):
            raise QuadrantsCompilationError(
                f"the function returns {_count(w, v)}, its annotation names {len(declared)}"
            )
        return tuple(cast_result(w, p, d, exact) for p, d in zip(v, declared))
    if isinstance(declared, DataType):
        if type(v) not in SCALARS:
            if not exact:
                return v  # of an inlined function: the annotation speaks of scalars only
            raise _bad_return(w, v, declared)
        return w.b.cast(v, declared)
    if type(v) in MATRICES and w.is_kernel and declared.dtype is not None:
        if declared.dtype.is_integral and element_dtype(w, v).is_real:
            raise _bad_return(w, v, declared)
    try:
        if isinstance(declared, StructType):
            return structs.to_struct(w, v, declared)
        return matrices.to_type(w, v, declared)
    except QuadrantsTypeError:
        raise _bad_return(w, v, declared) from None


def _count(w, v):
    return f"{len(v)} values" if type(v) in (tuple, list) else f"one value ('{describe(w, v)}')"


def _bad_return(w, v, declared):
    return QuadrantsRuntimeTypeError(
        f"Return (type={describe(w, v)}) cannot be converted into required type {declared}"
    )


def _kernel_return(w, node):
    if w.return_type is None:
        raise QuadrantsSyntaxError(
            "A kernel with a return value must be annotated with a return type, e.g. def func() -> qd.f32"
        )
    v = ev(w, node.value)
    if type(w.return_type) is tuple and len(w.return_type) == 1 and type(v) not in (tuple, list):
        w.return_type = w.return_type[0]  # `-> (T,)` with `return x`
    slot = 0
    for e in _scalars(w, cast_result(w, v, w.return_type)):
        w.b.output(slot, e)
        slot += 1


def _scalars(w, v):
    if type(v) is tuple:
        for p in v:
            yield from _scalars(w, p)
    elif type(v) in RECORDS:
        for e in v.members.values():
            yield from _scalars(w, e)
    elif type(v) in MATRICES:
        for k in range(v.n * v.m):
            yield matrices.element(w, v, k)
    else:
        yield v


def assert_(w, node):
    if not w.debug:  # what is no condition is refused without `debug`, too
        w.b.when(w.b.const(False))
        w.runtime += 1
        truth(w, ev(w, node.test), "assert")
        w.runtime -= 1
        w.b.end()
        return
    cond = truth(w, ev(w, node.test), "assert")
    if node.msg is None:
        pieces, values = [f"Assertion failure: {ast.unparse(node.test)}"], []
    else:
        pieces, values = reports.pieces_of(w, ev(w, node.msg))
    if type(cond) is bool:
        cond = w.b.const(cond)
    b = w.b
    site = w.add_site(reports.Site(True, pieces, errors.trail(w, node)))
    b.when(b.logical_not(cond))
    b.report(site, True, reports.widen(w, values))
    if w.labels:
        b.leave(w.labels - 1)
    b.end()


def expr_statement(w, node):
    if type(node.value) is not ast.Constant:
        ev(w, node.value)


def refuse(message):
    def refused(w, node):
        raise QuadrantsSyntaxError(message)

    return refused


def with_(w, node):
    raise QuadrantsSyntaxError(f"`with {ast.unparse(node.items[0].context_expr)}` is not supported yet")


STMT.update({
    ast.Assign: assign, ast.AnnAssign: ann_assign, ast.If: if_, ast.Break: break_,
    ast.Continue: continue_, ast.Return: return_, ast.Assert: assert_, ast.Expr: expr_statement, ast.With: with_,
    ast.Pass: lambda w, node: None,
    ast.FunctionDef: refuse("Function definition is not allowed in 'qd.kernel'/'qd.func'."),
})  # fmt: skip

__all__ = ["from_nested"]
