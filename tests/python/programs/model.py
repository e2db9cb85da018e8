"""Runs the source text of a program in plain Python: its syntax tree with the meanings of `rows.py`.

It knows nothing of the front end: types of variables, conversions and order follow docs/language.md. What it has not
learnt is `Invalid`. `seen` collects the statements, operators and functions that were walked.
"""

import ast

import numpy as np

from programs import rows
from programs.scalars import F32, I32, I64, TYPES, U1, Invalid, Scalar, convert, promote, wrapped
from programs.values import CALLS, METHODS, Array, Vec, apply, listed, total

STEPS = 20000  # of statements
ATOMIC = ("Add", "Sub", "BitAnd", "BitOr", "BitXor")


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Return(Exception):
    def __init__(self, value):
        self.value = value


def name_of(node):
    return ast.unparse(node)


class Model:
    """One run of one program: `Model(text, memory).call("k", arguments)`."""

    def __init__(self, text, memory, seen=None):
        self.functions = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
        self.memory = memory  # fields by name
        self.seen = seen if seen is not None else set()
        self.steps = 0
        self.depth = 0

    # ---------------------------------------------------------------------------------------------------- functions
    def call(self, name, args):
        f = self.functions[name]
        self.depth += 1
        if self.depth > 20:
            raise Invalid("recursion")
        scope = {}
        for p, a in zip(f.args.args, args):
            t = self.type_of(p.annotation) if p.annotation is not None else None
            scope[p.arg] = a if t is None or type(a) is Array else self.to_type(a, t)
        if len(args) != len(f.args.args):
            raise Invalid("arity")
        decorator = name_of(f.decorator_list[0])
        self.seen.add(decorator)
        result = None
        try:
            self.block(f.body, scope)
        except _Return as r:
            result = r.value
        self.depth -= 1
        if f.returns is not None and result is not None:
            if isinstance(f.returns, ast.Tuple):
                return [self.to_type(v, self.type_of(t)) for v, t in zip(result, f.returns.elts)]
            return self.to_type(result, self.type_of(f.returns))
        return result

    def type_of(self, node):
        text = name_of(node)
        if text.startswith("qd.types.vector("):
            return text
        return TYPES.get(text.removeprefix("qd.")) or {"int": I32, "float": F32, "bool": U1}.get(text)

    def to_type(self, v, t):
        if isinstance(t, str):
            t = TYPES[t.split("qd.")[-1].rstrip(")")]
        return Vec(v.shape, [convert(t, e) for e in v.data]) if type(v) is Vec else v if v.ulp else convert(t, v)

    # --------------------------------------------------------------------------------------------------- statements
    def block(self, body, scope):
        for node in body:
            self.steps += 1
            if self.steps > STEPS:
                raise Invalid("too many steps")
            handler = getattr(self, "do_" + type(node).__name__, None)
            if handler is None:
                raise Invalid(type(node).__name__)
            self.seen.add(type(node).__name__)
            handler(node, scope)

    def do_Pass(self, node, scope):
        pass

    def do_Expr(self, node, scope):
        self.ev(node.value, scope)

    def do_Assert(self, node, scope):
        if not self.truth(self.ev(node.test, scope)):
            raise Invalid("an assertion fails")

    def do_Assign(self, node, scope):
        v = self.ev(node.value, scope)
        for target in node.targets:
            self.store(target, v, scope)

    def do_AnnAssign(self, node, scope):
        scope.pop(node.target.id, None)
        self.store(node.target, convert(self.type_of(node.annotation), self.ev(node.value, scope)), scope)

    def do_AugAssign(self, node, scope):
        self.seen.add("AugAssign " + type(node.op).__name__)
        old, v = self.ev(node.target, scope), self.ev(node.value, scope)
        key = type(node.op).__name__
        if (
            key in ATOMIC
            and isinstance(node.target, ast.Subscript)
            and type(self.ev(node.target.value, scope)) is Array
        ):
            v = convert(old.t, v) if type(old) is Scalar else v  # as atomics do
        self.store(node.target, apply(key, [old, v]), scope)

    def store(self, target, v, scope):
        if isinstance(target, ast.Tuple):
            values = v.data if type(v) is Vec else v
            if len(values) != len(target.elts):
                raise Invalid("unpacking")
            self.seen.add("Assign to a tuple")
            for t, e in zip(target.elts, values):
                self.store(t, e, scope)
        elif isinstance(target, ast.Name):
            old = scope.get(target.id)
            if type(old) is Scalar and type(v) is Scalar:
                v = convert(old.t, v)
            elif type(old) is Vec and type(v) is Vec:
                v = Vec(old.shape, [convert(o.t, e) for o, e in zip(old.data, v.data)])
            elif old is not None:
                raise Invalid("another kind of value")
            scope[target.id] = Vec(v.shape, list(v.data)) if type(v) is Vec else v
        elif isinstance(target, ast.Subscript):
            self.store_element(target, v, scope)
        else:
            raise Invalid("target")

    def store_element(self, target, v, scope):
        base = self.ev(target.value, scope)
        index = self.index(target.slice, scope)
        if type(base) is Array:
            at = base.at(index)
            self.seen.add("Assign to an element")
            given = v.data if type(v) is Vec else [v]
            for k, e in enumerate(given):
                base.data[at + k] = Scalar(base.t, e.v, e.ulp) if e.ulp and e.t is base.t else convert(base.t, e)
        elif type(base) is Vec:
            at = self.component(base, index)
            base.data[at] = convert(base.data[at].t, v)
            self.seen.add("Assign to a component")
        else:
            raise Invalid("element")

    def component(self, base, index):
        if len(index) != len(base.shape):
            raise Invalid("indices")
        flat = 0
        for k, size in zip(index, base.shape):
            if not 0 <= k < size:
                raise Invalid("component out of bounds")
            flat = flat * size + k
        return flat

    def do_If(self, node, scope):
        static = self.is_static(node.test)
        self.seen.add(
            "If static"
            if static
            else "If elif"
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
            else "If"
        )
        self.block(node.body if self.truth(self.ev(node.test, scope)) else node.orelse, scope)

    def do_While(self, node, scope):
        while self.truth(self.ev(node.test, scope)):
            try:
                self.block(node.body, scope)
            except _Break:
                break
            except _Continue:
                pass
            self.steps += 1
            if self.steps > STEPS:
                raise Invalid("too many steps")

    def do_Break(self, node, scope):
        raise _Break

    def do_Continue(self, node, scope):
        raise _Continue

    def do_Return(self, node, scope):
        v = node.value
        raise _Return(
            [self.ev(e, scope) for e in v.elts] if isinstance(v, ast.Tuple) else self.ev(v, scope) if v else None
        )

    def do_For(self, node, scope):
        kind, items = self.items(node.iter, scope)
        self.seen.add("For " + kind)
        for item in items:
            for name in [t.id for t in getattr(node.target, "elts", [node.target])]:
                scope.pop(name, None)
            self.store(node.target, item, scope)
            try:
                self.block(node.body, scope)
            except _Break:
                break
            except _Continue:
                pass

    def items(self, it, scope):
        """What a loop goes over: its kind and the values of the target."""
        if isinstance(it, ast.Call):
            f = name_of(it.func)
            if f == "qd.static":
                return "static " + self.items(it.args[0], scope)[0], self.items(it.args[0], scope)[1]
            if f == "range":
                bounds = [self.ev(a, scope) for a in it.args]
                lo, hi = ([Scalar(I32, 0)] if len(bounds) == 1 else []) + bounds
                t = self.index_type(lo.t, hi.t)
                return "range", [Scalar(t, k) for k in range(int(lo.v), int(hi.v))]
            if f in ("qd.ndrange", "qd.grouped"):
                if f == "qd.grouped":
                    return "grouped", [Vec((len(e),), e) for e in map(listed, self.items(it.args[0], scope)[1])]
                return "ndrange", self.box([self.pair(a, scope) for a in it.args])
        x = self.ev(it, scope)
        if type(x) is not Array:
            raise Invalid("loop")
        found = self.box([(0, n) for n in x.shape])
        return "over memory", [e[0] for e in found] if len(x.shape) == 1 else found

    def index_type(self, lo, hi):
        wide = [I64 if t.kind == "u" and t.bits == 32 else t for t in (lo, hi)]
        return I64 if any(t.bits == 64 for t in wide) else I32

    def pair(self, node, scope):
        parts = node.elts if isinstance(node, ast.Tuple) else [ast.Constant(0), node]
        return tuple(int(self.ev(p, scope).v) for p in parts)

    def box(self, bounds):
        out = [[]]
        for lo, hi in bounds:
            out = [[*e, Scalar(I32, k)] for e in out for k in range(lo, hi)]
        return out

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
        x = self.ev(node.value, scope)
        index = self.index(node.slice, scope)
        if type(x) is Array:
            at = x.at(index)
            self.seen.add("Read of an element")
            if not x.element:
                return x.data[at]
            return Vec(x.element, x.data[at : at + int(np.prod(x.element))])
        if type(x) is Vec:
            return x.data[self.component(x, index)]
        raise Invalid("subscript")

    def index(self, node, scope):
        parts = [self.ev(p, scope) for p in (node.elts if isinstance(node, ast.Tuple) else [node])]
        if len(parts) == 1 and type(parts[0]) is Vec:
            parts = parts[0].data
        if any(type(p) is not Scalar or p.t.real for p in parts):
            raise Invalid("index")
        return [int(p.v) for p in parts]

    def ev_Attribute(self, node, scope):
        if node.attr in ("mantissa", "exponent"):
            self.seen.add(node.attr)
            return apply(node.attr, [self.ev(node.value.args[0], scope)])
        if name_of(node).startswith("qd.") and not isinstance(node.value, ast.Call):
            raise Invalid(name_of(node))
        x = self.ev(node.value, scope)
        if type(x) is Array and node.attr == "shape":
            self.seen.add("shape")
            return Vec((len(x.shape),), [Scalar(I32, n) for n in x.shape])
        if type(x) is Vec and set(node.attr) <= set("xyzw"):
            self.seen.add("swizzle")
            picked = [x.data["xyzw".index(c)] for c in node.attr]
            return picked[0] if len(picked) == 1 else Vec((len(picked),), picked)
        raise Invalid(node.attr)

    # -------------------------------------------------------------------------------------------------------- calls
    def ev_Call(self, node, scope):
        f = name_of(node.func)
        method = isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and not f.startswith("qd.m")
        self.seen.add("." + node.func.attr if method else f)
        special = CALLS.get(f)
        if special is not None:
            return special(self, node, scope)
        if f.startswith("qd.atomic_") or f == "qd.volatile_load":
            return self.atomic(f, node, scope)
        if f in self.functions:
            self.seen.discard(f)
            return self.call(f, [self.ev(a, scope) for a in node.args])
        if f in rows.BY_KEY:
            return apply(f, [self.ev(a, scope) for a in node.args])
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            return METHODS[node.func.attr](self.ev(node.func.value, scope), *[self.ev(a, scope) for a in node.args])
        t = self.type_of(node.func)
        if t is None:
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
        place, *given = node.args
        old = self.ev(place, scope)
        if f == "qd.volatile_load":
            return old
        values = [convert(old.t, self.ev(a, scope)) for a in given]
        if f == "qd.atomic_cas":
            new = values[1] if old.v == values[0].v else old
        else:
            new = Scalar(old.t, rows.ATOMICS[f](old.v, values[0].v))
            new = Scalar(
                old.t, old.t.np(new.v) if old.t.real else bool(new.v) if old.t is U1 else wrapped(old.t, int(new.v))
            )
        self.store(place, new, scope)
        return old


__all__ = ["Array", "Invalid", "Model", "Vec"]
