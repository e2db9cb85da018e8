"""The expressions of the model: values of syntax trees with the meanings of `rows.py`, and the places that they name."""

import ast

import numpy as np

from programs import rows
from programs.places import component_of, member_of, of_element, of_name, of_value
from programs.scalars import F32, I32, U1, Invalid, Scalar, Type, convert, promote, wrapped
from programs.specs import spec_of
from programs.values import (
    CALLS,
    METHODS,
    Array,
    Struct,
    StructArray,
    Vec,
    apply,
    built,
    like,
    total,
)


def name_of(node):
    return ast.unparse(node)


def is_literal(node):
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


class Expressions:
    """What `Model` inherits: scope is {name: value}."""

    # -------------------------------------------------------------------------------------------------- expressions
    def ev(self, node, scope):
        handler = getattr(self, "ev_" + type(node).__name__, None)
        if handler is None:
            raise Invalid(type(node).__name__)
        return handler(node, scope)

    def truth(self, v):
        if type(v) is not Scalar or v.t.real:
            raise Invalid("condition")
        return bool(v.v)

    def is_static(self, node):
        return isinstance(node, ast.Call) and name_of(node.func) == "qd.static"

    def ev_Constant(self, node, scope):
        v = node.value
        if type(v) is bool:
            return Scalar(U1, v)
        if type(v) is int:
            if not -(2**31) <= v < 2**31:
                raise Invalid("literal")
            return Scalar(I32, v)
        if type(v) is float:
            return Scalar(F32, np.float32(v))
        raise Invalid("constant")

    def ev_Tuple(self, node, scope):
        return [self.ev(e, scope) for e in node.elts]

    ev_List = ev_Tuple

    def ev_ListComp(self, node, scope):
        self.seen.add("ListComp")
        (loop,), inner, out = node.generators, dict(scope), []
        for item in self.items(loop.iter, scope)[1]:
            inner.pop(loop.target.id, None)
            self.store(loop.target, item, inner)
            out.append(self.ev(node.elt, inner))
        return out

    def ev_Name(self, node, scope):
        found = scope.get(node.id)
        found = self.memory.get(node.id) if found is None else found
        if found is None:
            raise Invalid(f"name {node.id}")
        return found

    def ev_NamedExpr(self, node, scope):
        self.seen.add("NamedExpr")
        v = self.ev(node.value, scope)
        self.store(node.target, v, scope)
        return v

    def ev_BinOp(self, node, scope):
        key = type(node.op).__name__
        self.seen.add(key)
        x, y = self.ev(node.left, scope), self.ev(node.right, scope)
        return self.matmul(x, y) if key == "MatMult" else apply(key, [x, y])

    def matmul(self, x, y):
        n, k = x.shape
        m = y.shape[1] if len(y.shape) == 2 else 1
        if y.shape[0] != k:
            raise Invalid("shapes")
        data = []
        for i in range(n):
            for j in range(m):
                data.append(total([apply("Mult", [x.data[i * k + t], y.data[t * m + j]]) for t in range(k)]))
        return Vec((n, m) if len(y.shape) == 2 else (n,), data)

    def ev_UnaryOp(self, node, scope):
        key = type(node.op).__name__
        if key == "USub" and isinstance(node.operand, ast.Constant) and type(node.operand.value) is int:
            return Scalar(I32, -node.operand.value)
        self.seen.add(key)
        return apply(key, [self.ev(node.operand, scope)])

    def ev_Compare(self, node, scope):
        x, out = self.ev(node.left, scope), True
        for op, right in zip(node.ops, node.comparators):
            y = self.ev(right, scope)
            self.seen.add(type(op).__name__)
            holds, x = apply(type(op).__name__, [x, y]), y
            if type(holds) is Vec:
                return holds
            out = out and holds.v
        if len(node.ops) > 1:
            self.seen.add("Compare chain")
        return Scalar(U1, out)

    def ev_BoolOp(self, node, scope):
        """`and`, `or` as in Python; types are joined two by two from the left, as in `(a or b) or c`."""
        key = type(node.op).__name__
        self.seen.add(key)
        out = self.ev(node.values[0], scope)
        for operand in node.values[1:]:
            right = self.quiet(operand, scope)
            chosen = out if self.truth(out) is (key == "Or") else right
            out = convert(promote(out.t, right.t), chosen)
        return out

    def ev_IfExp(self, node, scope):
        self.seen.add("IfExp static" if self.is_static(node.test) else "IfExp")
        test = self.truth(self.ev(node.test, scope))
        if self.is_static(node.test):
            return self.ev(node.body if test else node.orelse, scope)
        sides = [self.quiet(node.body, scope), self.quiet(node.orelse, scope)]
        if any(type(s) is Vec for s in sides):
            raise Invalid("vectors in a conditional expression")
        return convert(promote(sides[0].t, sides[1].t), self.ev(node.body if test else node.orelse, scope))

    def quiet(self, node, scope):
        """The value of an operand that may not be evaluated, for its type: the generator puts no effect there."""
        return self.ev(node, scope)

    def ev_Subscript(self, node, scope):
        return self.place(node, scope).get()

    def index(self, node, scope):
        parts = [self.ev(p, scope) for p in (node.elts if isinstance(node, ast.Tuple) else [node])]
        if len(parts) == 1 and type(parts[0]) is Vec:
            parts = parts[0].data
        if any(type(p) is not Scalar or p.t.real for p in parts):
            raise Invalid("index")
        return [int(p.v) for p in parts]

    def ev_Attribute(self, node, scope):
        if name_of(node).startswith("qd.") and not isinstance(node.value, ast.Call):
            raise Invalid(name_of(node))
        return self.place(node, scope).get()

    # ------------------------------------------------------------------------------------------------------- places
    def place(self, node, scope):
        """What an expression names, and what it lies in."""
        if isinstance(node, ast.Name):
            return of_name(scope, node.id) if node.id in scope else of_value(self.ev(node, scope))
        if isinstance(node, ast.Subscript):
            return self.place_of_subscript(node, scope)
        if not isinstance(node, ast.Attribute):
            return of_value(self.ev(node, scope))
        if node.attr in ("mantissa", "exponent"):
            self.seen.add(node.attr)
            return of_value(apply(node.attr, [self.ev(node.value.args[0], scope)]))
        base = self.place(node.value, scope)
        whole = base.get()
        if node.attr == "shape" and type(whole) in (Array, StructArray):
            self.seen.add("shape")
            return of_value(Vec((len(whole.shape),), [Scalar(I32, n) for n in whole.shape]))
        if type(whole) is StructArray or (type(whole) is Struct and whole.record.bundle):
            self.seen.add("member of a bundle" if type(whole) is Struct else "member of a field")
            return of_value(whole.members[node.attr])
        self.seen.add("swizzle" if type(whole) is Vec else "member")
        return member_of(base, node.attr)

    def place_of_subscript(self, node, scope):
        base = self.place(node.value, scope)
        whole = base.get()
        if type(whole) is Struct and isinstance(node.slice, ast.Constant):
            self.seen.add("member by its name")
            return member_of(base, node.slice.value)
        index = self.index(node.slice, scope)
        if type(whole) in (Array, StructArray):
            self.seen.add("Read of a struct" if type(whole) is StructArray else "Read of an element")
            return of_element(whole, index)
        if type(whole) is Vec:
            return component_of(base, self.component(whole, index))
        raise Invalid("subscript")

    def component(self, base, index):
        if len(index) != len(base.shape):
            raise Invalid("indices")
        flat = 0
        for k, size in zip(index, base.shape):
            if not 0 <= k < size:
                raise Invalid("component out of bounds")
            flat = flat * size + k
        return flat

    # -------------------------------------------------------------------------------------------------------- calls
    def ev_Call(self, node, scope):
        f = name_of(node.func)
        special = CALLS.get(f)
        if special is not None:
            self.seen.add(f)
            return special(self, node, scope)
        if f in self.records:
            self.seen.add("value of a struct")
            named = {k.arg: self.ev(k.value, scope) for k in node.keywords}
            return built(self.records[f], [self.ev(a, scope) for a in node.args], named)
        if f.startswith("qd.atomic_") or f == "qd.volatile_load":
            self.seen.add(f)
            return self.atomic(f, node, scope)
        if f in self.functions:
            named = {k.arg: self.place(k.value, scope) for k in node.keywords}
            return self.call(self.functions[f], [self.place(a, scope) for a in node.args], named)
        if f in rows.BY_KEY:
            self.seen.add(f)
            return apply(f, [self.ev(a, scope) for a in node.args])
        if isinstance(node.func, ast.Attribute) and not f.startswith("qd."):
            return self.method(node, scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:  # of qd.Vector(…)
            return self.method(node, scope)
        self.seen.add(f)
        return self.conversion(f, node, scope)

    def method(self, node, scope):
        name, base = node.func.attr, self.place(node.func.value, scope)
        whole = base.get()
        if type(whole) is Struct and name in whole.record.methods:
            self.seen.add("method of a struct")
            given = [self.place(a, scope) for a in node.args]
            return self.call(whole.record.methods[name], [base, *given])
        self.seen.add("." + name)
        return METHODS[name](whole, *[self.ev(a, scope) for a in node.args])

    def conversion(self, f, node, scope):
        t = spec_of(node.func)
        if type(t) is not Type:
            raise Invalid(f)
        try:  # a literal is of that type from the start
            return (
                Scalar(t, t.np(v) if t.real else v)
                if type(v := ast.literal_eval(node.args[0])) is not bool
                else convert(t, Scalar(U1, v))
            )
        except ValueError:
            return convert(t, self.ev(node.args[0], scope))

    def atomic(self, f, node, scope):
        place = self.place(node.args[0], scope)
        given = node.args[1:]
        old = place.get()
        if f == "qd.volatile_load":
            return old
        values = [like(old, self.ev(a, scope)) for a in given]
        if type(old) is Vec:
            self.seen.add("atomic of a vector")
            place.put(Vec(old.shape, [self.exchanged(f, o, v) for o, v in zip(old.data, values[0].data)]))
        elif f == "qd.atomic_cas":
            place.put(values[1] if old.v == values[0].v else old)
        else:
            place.put(self.exchanged(f, old, values[0]))
        return old

    def exchanged(self, f, old, v):
        if old.t.real and f in REAL_ATOMICS:
            return apply(REAL_ATOMICS[f], [old, v])
        new = rows.ATOMICS[f](old.v, v.v)
        return Scalar(old.t, old.t.np(new) if old.t.real else bool(new) if old.t is U1 else wrapped(old.t, int(new)))


REAL_ATOMICS = {"qd.atomic_add": "Add", "qd.atomic_sub": "Sub", "qd.atomic_mul": "Mult"}
