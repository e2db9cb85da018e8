"""Runs the source text of a program in plain Python: its syntax tree with the meanings of `rows.py`.

It knows nothing of the front end: types of variables, conversions and order follow docs/language.md. What it has not
learnt is `Invalid`. `seen` collects the statements, operators and functions that were walked.
"""

import ast

from programs import fast
from programs.expressions import Expressions, is_literal, name_of
from programs.places import fixed, of_name
from programs.scalars import I32, I64, TYPES, Beyond, Invalid, Scalar
from programs.specs import TEMPLATE, Elements, Record, Ref, spec_of
from programs.values import Array, Struct, StructArray, Vec, apply, converted, copied, like, listed

STEPS = 20000  # of statements
U64 = TYPES["u64"]
ATOMIC = ("Add", "Sub", "BitAnd", "BitOr", "BitXor")


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Return(Exception):
    def __init__(self, value):
        self.value = value


class Model(Expressions):
    """One run of one program: `Model(parsed, memory).run(arguments)`."""

    def __init__(self, parsed, memory, seen=None):
        self.parsed, self.functions, self.records = parsed, parsed.functions, parsed.records
        self.memory = memory  # fields by name
        self.seen = seen if seen is not None else set()
        self.steps = 0
        self.depth = 0

    def run(self, arguments):
        """What the kernel returns, as a list of values."""
        fast.on = self.parsed.fast
        try:
            result = self.call(self.parsed.kernel, [of_name({"": a}, "") for a in arguments])
        finally:
            fast.on = False
        return listed(result) if result is not None else []

    # ---------------------------------------------------------------------------------------------------- functions
    def call(self, f, places, named=None):
        """Calls a function on places, of which those given by reference are changed."""
        self.depth += 1
        if self.depth > 20:
            raise Invalid("recursion")
        names = [p.arg for p in f.args.args]
        given = dict(zip(names, places)) | (named or {})
        if len(places) > len(names) or set(given) != set(names):
            raise Invalid("arguments")
        scope, by_reference = {}, []
        for p in f.args.args:
            scope[p.arg] = self.argument(p, given[p.arg], by_reference)
        self.seen.add(name_of(f.decorator_list[0]))
        result = None
        try:
            self.block(f.body, scope)
        except _Return as r:
            result = r.value
        self.depth -= 1
        for name in by_reference:
            if given[name].put is not fixed:
                given[name].put(scope[name])
        return self.returned(f, result)

    def argument(self, parameter, place, by_reference):
        value, note = place.get(), parameter.annotation
        spec = spec_of(note, self.records) if note is not None else TEMPLATE if parameter.arg == "self" else None
        if type(value) in (Array, StructArray) or (type(spec) is Record and spec.bundle):
            if self.depth > 1:
                self.seen.add("memory given to a function")
            return value
        if spec == TEMPLATE or type(spec) is Ref:
            self.seen.add("by reference")
            by_reference.append(parameter.arg)
            return copied(value)
        if note is not None and (spec is None or type(spec) is Elements):
            raise Invalid(name_of(note))
        return copied(value) if spec is None else converted(spec, value)

    def returned(self, f, result):
        if isinstance(result, list):
            self.seen.add("Return of several")
        if f.returns is None or result is None:
            return result
        if isinstance(f.returns, ast.Tuple):
            specs = [spec_of(t, self.records) for t in f.returns.elts]
            return [converted(t, v) for t, v in zip(specs, result)]
        return converted(spec_of(f.returns, self.records), result)

    # --------------------------------------------------------------------------------------------------- statements
    def block(self, body, scope):
        for node in body:
            self.step()
            handler = getattr(self, "do_" + type(node).__name__, None)
            if handler is None:
                raise Invalid(type(node).__name__)
            self.seen.add(type(node).__name__)
            handler(node, scope)

    def step(self):
        self.steps += 1
        if self.steps > STEPS:
            raise Beyond("too many steps")

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
        self.store(node.target, converted(spec_of(node.annotation, self.records), self.ev(node.value, scope)), scope)

    def do_AugAssign(self, node, scope):
        key = type(node.op).__name__
        self.seen.add("AugAssign " + key)
        place = self.place(node.target, scope)
        old, v = place.get(), self.ev(node.value, scope)
        if key in ATOMIC:  # what iterations share and what is theirs alone are updated alike
            v = like(old, v)
        if place.kind:
            self.seen.add(place.kind.replace("Assign to", "AugAssign to"))
        place.put(apply(key, [old, v]))

    def store(self, target, v, scope):
        if isinstance(target, ast.Tuple):
            values = v.data if type(v) is Vec else list(v.members.values()) if type(v) is Struct else v
            if len(values) != len(target.elts):
                raise Invalid("unpacking")
            self.seen.add("Assign to a tuple")
            for t, e in zip(target.elts, values):
                self.store(t, e, scope)
            return
        place = of_name(scope, target.id) if isinstance(target, ast.Name) else self.place(target, scope)
        if place.kind:
            self.seen.add(place.kind)
        place.put(v)

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

    def iteration(self, body, scope):
        """One time through a loop's body; False when the loop is left."""
        self.step()
        try:
            self.block(body, scope)
        except _Break:
            return False
        except _Continue:
            pass
        return True

    def do_While(self, node, scope):
        while self.truth(self.ev(node.test, scope)) and self.iteration(node.body, scope):
            pass

    def do_For(self, node, scope):
        kind, items = self.items(node.iter, scope)
        self.seen.add("For " + kind)
        for item in items:
            for name in [t.id for t in getattr(node.target, "elts", [node.target])]:
                scope.pop(name, None)
            self.store(node.target, item, scope)
            if not self.iteration(node.body, scope):
                break

    def do_Break(self, node, scope):
        raise _Break

    def do_Continue(self, node, scope):
        raise _Continue

    def do_Return(self, node, scope):
        v = node.value
        raise _Return(
            [self.ev(e, scope) for e in v.elts] if isinstance(v, ast.Tuple) else self.ev(v, scope) if v else None
        )

    # -------------------------------------------------------------------------------------------------- what loops visit
    def items(self, it, scope):
        """What a loop goes over: its kind and the values of the target."""
        f = name_of(it.func) if isinstance(it, ast.Call) else ""
        if f == "qd.static":
            kind, items = self.items(it.args[0], scope)
            return "static " + kind, items
        if f == "range":
            return self.range(it.args, scope)
        if f == "qd.ndrange":
            bounds = [self.pair(a, scope) for a in it.args]
            if not it.keywords:
                return "ndrange", self.box(bounds)
            axes = [a.value for a in it.keywords[0].value.elts]  # from the outermost
            return "ndrange of other axes", [
                [e[axes.index(k)] for k in range(len(e))] for e in self.box([bounds[a] for a in axes])
            ]
        if f == "qd.grouped":
            return "grouped", [Vec((len(e),), e) for e in map(listed, self.items(it.args[0], scope)[1])]
        if f == "enumerate":
            return "enumerate", [[Scalar(I32, k), v] for k, v in enumerate(self.items(it.args[0], scope)[1])]
        x = self.ev(it, scope)
        if isinstance(x, list):
            return "list", x
        if type(x) not in (Array, StructArray):
            raise Invalid("loop")
        return "over structs" if type(x) is StructArray else "over memory", self.over(x)

    def range(self, nodes, scope):
        """Two unsigned bounds of 64 bits, or one and a literal, give an index of their type; with a signed one the end
        of the signed type is the end."""
        pairs = [(n, self.ev(n, scope)) for n in ([ast.Constant(0)] if len(nodes) == 1 else []) + nodes]
        (lo, hi), types = [int(v.v) for _, v in pairs], [v.t for _, v in pairs]
        if U64 not in types:
            wide = any(t.bits == 64 or (t.kind == "u" and t.bits == 32) for t in types)
            return "range", [Scalar(I64 if wide else I32, k) for k in range(lo, hi)]
        if all(v.t.kind != "i" or (is_literal(n) and v.v >= 0) for n, v in pairs):
            return "unsigned range", [Scalar(U64, k) for k in range(lo, hi)]
        last = 2**63 - 1
        return "range", [Scalar(I64, k) for k in range(min(lo, last), min(hi, last))]

    def over(self, x):
        found = self.box([(0, n) for n in x.shape])
        return [e[0] for e in found] if len(x.shape) == 1 else found

    def pair(self, node, scope):
        parts = node.elts if isinstance(node, ast.Tuple) else [ast.Constant(0), node]
        return tuple(int(self.ev(p, scope).v) for p in parts)

    def box(self, bounds):
        out = [[]]
        for lo, hi in bounds:
            out = [[*e, Scalar(I32, k)] for e in out for k in range(lo, hi)]
        return out


__all__ = ["Invalid", "Model"]
