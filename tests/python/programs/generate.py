"""Writes random well-typed programs as source text.

What a run gives is determined: in a parallel loop an array is only read, or only touched at the iteration's own element,
or only changed by one atomic operation whose order cannot show; shared variables are changed by one such operation.
Floats are compared bit for bit, so operations with a tolerance are stored at once and never used further.
"""

import random

from programs import rows
from programs.names import Name
from programs.scalars import F16, F32, F64, I32, U1, Type, arithmetic, bounds, promote
from programs.specs import Elements, Record, Ref, Shaped

COMMUTE = [["+=", "-="], ["&="], ["|="], ["^="], ["qd.atomic_min"], ["qd.atomic_max"], ["qd.atomic_mul"],
           ["qd.atomic_add", "qd.atomic_sub", "+="], ["qd.atomic_and"], ["qd.atomic_or"], ["qd.atomic_xor", "^="]]  # fmt: skip
AUGMENT = ["+=", "-=", "*=", "//=", "%=", "/=", "&=", "|=", "^=", "<<=", ">>="]
ROUNDED = {"Div", "FloorDiv", "Mod", "qd.raw_div", "qd.raw_mod", "qd.sqrt"}  # under fast_math, of reals
INTEGRAL_ONLY = {"&=", "|=", "^=", "<<=", ">>="}


class Generator:
    def __init__(self, seed, table, fast=False, draws=False):
        self.table = table  # of statements
        self.r = random.Random(seed)
        self.fast, self.draws = fast, draws
        self.lines, self.pad = [], 0
        self.names = []  # visible
        self.reads, self.writes, self.own, self.shared = [], [], [], []
        self.reductions = []  # (variable, operations) that a parallel body may apply
        self.functions = []
        self.records = {}  # types of structs by name
        self.structs, self.whole = [], []  # fields of structs whose elements may be read, and written, as a whole
        self.arrays, self.bundle, self.in_kernel = [], None, False  # array parameters of the kernel, its dataclass
        self.constants = []  # names that are known while compiling
        self.returns = None  # specs of what a real function returns
        self.count = self.indexing = 0
        self.loop = None  # innermost loop that break and continue may leave
        self.budget = 0
        table = [r for r in rows.OPERATORS + rows.FUNCTIONS if not (fast and r.rule == "real")]
        self.rows = [r for r in table for _ in range(r.weight * (1 + 2 * (fast and r.key in ("Add", "Sub", "Mult"))))]

    # ------------------------------------------------------------------------------------------------------- helpers
    def chance(self, p):
        return self.r.random() < p

    def fresh(self, prefix="x"):
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, text):
        self.lines.append("    " * self.pad + text)

    def type(self):
        return self.r.choice([F32, F32, F64, F64, I32, *rows.SCALARS] if self.fast else [I32, F32, *rows.SCALARS])

    def spec(self):
        """The spec of a member, parameter or result."""
        records = list(self.records.values())
        if records and self.chance(0.25):
            return self.r.choice(records)
        return Shaped((self.r.choice([2, 3, 4]),), self.type()) if self.chance(0.2) else self.type()

    def add(self, text, spec, mutable=True):
        name = Name(text, spec, mutable)
        self.names += [name, *name.parts()]

    def typed(self, text, t, have):
        """`text` of type `have` as an expression of type t."""
        if have is t:
            return text
        text = self.small(text, have, t)
        return self.r.choice([f"qd.cast({text}, qd.{t.name})", f"qd.{t.name}({text})"])

    def need(self, t):
        """Of what is stored as a t: for fast_math reals are computed as reals."""
        return "r" if self.fast and t.real and self.chance(0.8) else "n"

    def small(self, text, have, t):
        """Programs for fast_math: what becomes a real is a small whole number."""
        return f"({text} % 13)" if self.fast and t.real and not have.real and have is not U1 else text

    # --------------------------------------------------------------------------------------------------- expressions
    def literal(self, need):
        if self.constants and need != "r" and self.chance(0.4):
            return self.r.choice(self.constants), I32
        if self.fast and (need == "r" or (need == "n" and self.chance(0.4))):
            return self.r.choice(["1.0", "-2.0", "3.0", "5.0", "0.0"]), F32
        if need == "r" or (need == "n" and self.chance(0.4)):
            return self.r.choice(["0.5", "1.0", "-2.0", "0.1", "3.75", "100.0", "1e-3", "0.0"]), F32
        return self.r.choice(["0", "1", "2", "3", "7", "-1", "-5", "100", "255", "65536", "2147483647"]), I32

    def typed_literal(self, need):
        t = self.r.choice([t for t in rows.SCALARS if rows.takes(need, t) and t is not U1])
        if t.real:
            values = ["2.0", "-1.0", "3.0"] if self.fast else ["0.5", "-1.5", "3.0", "0.1", "1000.0"]
            return f"qd.{t.name}({self.r.choice(values)})", t
        low, high = bounds(t)
        value = self.r.choice([1, 2, 5, 100, max(low, -3), max(low, -(2**31)), min(high, 2**31 - 1)])
        return f"qd.{t.name}({value})", t

    def index(self, m):
        """An index inside the bounds of a memory, or any where it is moved there."""
        wild = [n.text for n in self.names if m.clamp and n.n == 0 and not n.t.real and n.t is not U1]
        if wild and self.chance(0.7):
            return self.r.choice(wild)
        if len(m.shape) == 1 and self.chance(0.5):
            return str(self.r.randrange(m.shape[0]))
        parts = []
        self.indexing += 1
        for size in m.shape:
            if self.indexing < 3 and self.chance(0.5):
                parts.append(f"{self.expr('i', 1)[0]} % {size}")
            else:
                parts.append(str(self.r.randrange(size)))
        self.indexing -= 1
        return ", ".join(parts)

    def leaf(self, need, literal=True):
        options = [n for n in self.names if n.n == 0 and rows.takes(need, n.t)]
        if options and self.chance(0.65):
            n = self.r.choice(options)
            return n.text, n.t
        vectors = [n for n in self.names if n.n > 0 and rows.takes(need, n.t)]
        if vectors and self.chance(0.3):
            v = self.r.choice(vectors)
            return f"{v.text}{self.component(v)}", v.t
        memory = [m for m in self.reads if rows.takes(need, m.t)]
        if memory and self.chance(0.6):
            m = self.r.choice(memory)
            return self.entry(m, m.at(self.index(m), self.r)), m.t
        if need == "b":
            return self.r.choice(["qd.u1(True)", "qd.u1(False)"]), U1
        return self.literal(need) if literal and self.chance(0.6) else self.typed_literal(need)

    def entry(self, m, element):
        """A number in an element of memory."""
        if m.n < 0:
            return f"{element}[{', '.join(str(self.r.randrange(k)) for k in m.element)}]"
        return f"{element}{self.component(m)}" if m.n else element

    def component(self, v):
        if self.chance(0.3) and self.indexing < 3:
            self.indexing += 1
            e = self.expr("i", 1)[0]
            self.indexing -= 1
            return f"[{e} % {v.n}]"
        k = self.r.randrange(v.n)
        if v.n <= 4 and self.chance(0.3):
            return "." + "xyzw"[k]
        return f"[{k}]"

    def expr(self, need, depth):
        """(text, type) of an expression that `need` takes; never a bare literal, so nothing is computed by Python."""
        if depth <= 0 or self.chance(0.12):
            return self.leaf(need, literal=False)
        special = self.r.random()
        if special < 0.3:
            made = self.r.choice(SPECIALS)(self, need, depth)
            if made is not None:
                return made
        for _ in range(8):
            row = self.r.choice(self.rows)
            given, types = self.operands(row, depth)
            t = rows.result_type(row.rule, types)
            if rows.takes(need, t) and not (self.fast and t.real and row.key in ROUNDED):
                given = [self.small(e, have, t) for e, have in zip(given, types)]
                return row.text.format(*given), t
        t = self.r.choice([t for t in rows.SCALARS if rows.takes(need, t)])
        e, have = self.expr("n", depth - 1)
        return self.typed(e, t, have), t

    def operands(self, row, depth):
        given, types = [], []
        literal = (
            self.r.randrange(len(row.needs))
            if len(row.needs) > 1 and "s" not in row.needs and self.chance(0.35)
            else -1
        )
        for k, need in enumerate(row.needs):
            if need == "s":
                e, t = str(self.r.randrange(7)), I32
            elif k == literal and need != "b":
                e, t = self.literal(need)
            else:
                e, t = self.expr(need, depth - 1)
            given.append(e)
            types.append(t)
        return given, types

    def of_type(self, t, depth):
        need = "b" if t is U1 else "r" if t.real else "i"
        e, have = self.expr(need, depth)
        return self.typed(e, t, have) if have is not t else e

    def condition(self, depth=2):
        return self.expr("b" if self.chance(0.8) else "i", depth)[0]

    def vector(self, n, depth):
        """(text, element type) of a vector of n entries."""
        options = [v for v in self.names if v.n == n]
        memory = [m for m in self.reads if m.n == n]
        if options and self.chance(0.5):
            v = self.r.choice(options)
            return v.text, v.t
        if memory and self.chance(0.4):
            m = self.r.choice(memory)
            return m.at(self.index(m), self.r), m.t
        if depth > 0 and self.chance(0.5):
            row = self.r.choice(
                [
                    r
                    for r in self.rows
                    if r.needs in ("nn", "n", "i", "ii", "r")
                    and not (self.fast and r.key in ROUNDED)
                    and not r.key.startswith("qd.math")
                    and "{0})." not in r.text
                ]
            )
            given, types = [], []
            whole = self.r.randrange(len(row.needs))
            for k, need in enumerate(row.needs):
                e, t = self.vector(n, depth - 1) if k == whole or self.chance(0.5) else self.expr(need, depth - 1)
                if not rows.takes(need, t):
                    t = I32 if need == "i" else F32
                    e = f"qd.cast({e}, qd.{t.name})"
                given.append(e)
                types.append(t)
            out = rows.result_type(row.rule, types)
            return row.text.format(*[self.small(e, have, out) for e, have in zip(given, types)]), out
        if self.chance(0.1):
            c = self.fresh("c")
            self.constants.append(c)
            e, t = self.expr("n", depth - 1)
            self.constants.pop()
            return f"qd.Vector([{e} for {c} in qd.static(range({n}))])", t
        parts, t = self.joined(n, depth - 1)
        return f"qd.Vector([{', '.join(parts)}])", t

    def matrix(self, depth):
        """(text, element type) of a 2 x 2 matrix."""
        options = [(x.text, x.t) for x in self.names if type(x.spec) is Shaped and x.n < 0]
        options += [(m.at(self.index(m), self.r), m.t) for m in self.reads if m.n < 0]
        if options and self.chance(0.6):
            return self.r.choice(options)
        if depth > 0 and self.chance(0.4):
            (x, t), (y, u) = self.matrix(depth - 1), self.matrix(depth - 1)
            t = arithmetic(promote(t, u))
            return f"({self.small(x, t, t)} {self.r.choice('@+-*')} {y})", t
        (a, b, c, d), t = self.joined(4, 0)
        return f"qd.Matrix([[{a}, {b}], [{c}, {d}]])", t

    def struct(self, record, depth):
        """An expression of a struct's type."""
        options = [n.text for n in self.names if n.spec is record]
        options += [f"{m}[{self.index(memory)}]" for m, r, memory in self.structs if r is record]
        makers = [f for f in self.functions if f.results[0] is record and len(f.results) == 1 and depth > 0]
        makers = [f for f in makers if not any(type(p) is Ref for p in f.params) and self.may_call(f)]
        options += [f"{f.name}({self.arguments(f, 0)})" for f in makers]
        if options and self.chance(0.6):
            return self.r.choice(options)
        given = list(record.members.items())[: self.r.randint(0, len(record.members))]
        named = self.chance(0.5)
        parts = [(f"{m}=" if named else "") + self.value(s, depth - 1) for m, s in given]
        return f"{record.name}({', '.join(parts)})"

    def memory_of(self, spec):
        """Memory that may be read here and is of that kind."""
        return [m for m in self.reads if (m.t, len(m.shape), m.element, m.clamp) == tuple(spec)]

    def may_call(self, f):
        """Whether there is something for each parameter of memory."""
        return all(
            self.memory_of(p) if type(p) is Elements else self.in_kernel if getattr(p, "bundle", False) else True
            for p in f.params
        )

    def arguments(self, f, depth):
        """Values for all parameters; now and then the last by its name."""
        given = [self.value(p, depth) for p in f.params]
        if self.chance(0.2):
            given[-1] = f"a{len(given) - 1}={given[-1]}"
        return ", ".join(given)

    def value(self, spec, depth):
        """An expression that a parameter or member of that spec takes."""
        if type(spec) is Record:
            return "d" if spec.bundle else self.struct(spec, depth)
        if type(spec) is Elements:
            return self.r.choice(self.memory_of(spec)).name
        if type(spec) is not Shaped:
            return self.expr("n", depth)[0]
        return self.vector(spec.shape[0], depth)[0] if len(spec.shape) == 1 else self.matrix(depth)[0]

    def joined(self, n, depth):
        """n expressions, and the type that they have together."""
        parts = [self.expr("n", depth) for _ in range(n)]
        t = parts[0][1]
        for _, p in parts[1:]:
            t = promote(t, p)
        return [self.small(e, have, t) for e, have in parts], t

    # ---------------------------------------------------------------------------------------------------- statements
    def declare(self, prefix, text, spec, mutable=True):
        name = self.fresh(prefix)
        self.emit(f"{name} = {text}")
        self.add(name, spec, mutable)

    def statements(self, count):
        mark = len(self.names)
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.r.choice(self.table)(self)
        if not self.lines[-1].strip() or self.lines[-1].rstrip().endswith(":"):
            self.emit("pass")
        return mark

    def nested_line(self, head, line):
        self.emit(head)
        self.pad += 1
        self.emit(line)
        self.pad -= 1

    def nested(self, head, count=2, loop=None):
        self.emit(head)
        self.pad += 1
        saved, self.loop = self.loop, loop if loop is not None else self.loop
        mark = self.statements(self.r.randint(1, count))
        self.loop = saved
        self.pad -= 1
        del self.names[mark:]


# ------------------------------------------------------------------------------------------------ expressions of their own
def _ifexp(g, need, depth):
    kind = "b" if need == "b" else "r" if need == "r" else "i"
    (x, tx), (y, ty) = g.expr(kind, depth - 1), g.expr(kind, depth - 1)
    return f"({x} if {g.condition(1)} else {y})", promote(tx, ty)


def _select(g, need, depth):
    kind = "b" if need == "b" else "r" if need == "r" else "i"
    (x, tx), (y, ty) = g.expr(kind, depth - 1), g.expr(kind, depth - 1)
    return f"qd.select({g.condition(1)}, {x}, {y})", promote(tx, ty)


def _boolop(g, need, depth):
    if need == "r":
        return None
    kind = "b" if need == "b" or g.chance(0.7) else "i"
    parts = [g.expr(kind, depth - 1) for _ in range(g.r.choice([2, 2, 3]))]
    t = parts[0][1]
    for _, p in parts[1:]:
        t = promote(t, p)
    return "(" + g.r.choice([" and ", " or "]).join(e for e, _ in parts) + ")", t


def _chain(g, need, depth):
    if need == "r":
        return None
    x, y, z = (g.expr("n", depth - 1)[0] for _ in range(3))
    return f"({x} {g.r.choice(['<', '<=', '!='])} {y} {g.r.choice(['<', '>=', '=='])} {z})", U1


def _cast(g, need, depth):
    t = g.r.choice([t for t in rows.SCALARS if rows.takes(need, t)])
    e, have = g.expr("n", depth - 1)
    if t in (I32, F32, U1) and g.chance(0.3):
        return f"{ {I32: 'int', F32: 'float', U1: 'bool'}[t] }({e})", t
    return g.typed(e, t, have) if have is not t else f"qd.cast({e}, qd.{t.name})", t


def _bit_cast(g, need, depth):
    if need == "b":
        return None
    t = g.r.choice([t for t in rows.SCALARS if rows.takes(need, t) and t is not U1])
    sources = [n for n in g.names if n.n == 0 and n.t.bits == t.bits and n.t is not U1 and not (g.fast and n.t.real)]
    if g.fast and t.real:
        return None
    if not sources:
        return None
    x = g.r.choice(sources)
    text = x.text if not x.t.real or t.real else f"qd.select({x.text} == {x.text}, {x.text}, 0)"
    if x.t.real and not t.real and x.t is F16:  # select with 0 keeps the type of reals
        text = f"qd.select({x.text} == {x.text}, {x.text}, 0)"
    return f"qd.bit_cast({text}, qd.{t.name})", t


def _call(g, need, depth):
    options = [
        f for f in g.functions if type(f.results[0]) is Type and len(f.results) == 1 and rows.takes(need, f.results[0])
    ]
    options = [f for f in options if not any(type(p) is Ref for p in f.params) and g.may_call(f)]
    if not options:
        return None
    f = g.r.choice(options)
    return f"{f.name}({g.arguments(f, depth - 1)})", f.results[0]


def _method(g, need, depth):
    """A method of a struct that changes nothing."""
    options = [
        (n, m)
        for n in g.names
        if type(n.spec) is Record
        for m in n.spec.methods.values()
        if rows.takes(need, m.results[0])
    ]
    options = [(n, m) for n, m in options if not m.changes]
    if not options:
        return None
    n, m = g.r.choice(options)
    return f"{n.text}.{m.name}({', '.join(g.value(p, depth - 1) for p in m.params)})", m.results[0]


def _draw(g, need, depth):
    if not g.draws:
        return None
    t = g.r.choice([t for t in rows.SCALARS if rows.takes(need, t)])
    return f"qd.random(qd.{t.name})", t


def _of_vector(g, need, depth):
    if depth < 2:
        return None
    n = g.r.choice([2, 3, 3, 4])
    v, t = g.vector(n, depth - 2)
    if need == "b":
        return (f"({v} {g.r.choice(['<', '==', '!='])} {g.expr('n', 0)[0]}).{g.r.choice(['any', 'all'])}()", U1)
    if not rows.takes(need, t):
        return None
    how = g.r.choice(["sum", "dot", "item", "norm_sqr", "extreme", "cross", "outer"])
    if how == "item":
        return f"({v})[{g.expr('i', 1)[0]} % {n}]", t
    if how == "cross" and n == 3:
        w, u = g.vector(3, 0)
        t = promote(t, u)
        return (f"{v}.cross({w})[{g.r.randrange(3)}]", arithmetic(t)) if rows.takes(need, t) else None
    if how == "outer":
        w, u = g.vector(2, 0)
        t = promote(t, u)
        return (
            (f"{v}.outer_product({w})[{g.r.randrange(n)}, {g.r.randrange(2)}]", arithmetic(t))
            if rows.takes(need, t)
            else None
        )
    if how == "dot":
        w, u = g.vector(n, depth - 2)
        return (f"{v}.dot({w})", arithmetic(promote(t, u))) if rows.takes(need, promote(t, u)) else None
    if how == "extreme" and not t.real:
        return f"{v}.{g.r.choice(['min', 'max'])}()", t
    return (f"{v}.sum()", t if t is not U1 else I32) if how != "norm_sqr" else (f"{v}.norm_sqr()", arithmetic(t))


def _of_matrix(g, need, depth):
    if depth < 2 or need == "b":
        return None
    m, t = g.matrix(depth - 2)
    if not rows.takes(need, t):
        return None
    how = g.r.choice(["trace()", "determinant()", "transpose()[0, 1]", "@"])
    if how == "transpose()[0, 1]":
        return f"{m}.{how}", t
    if how == "@":
        v, u = g.vector(2, 0)
        t = promote(t, u)
        return (f"({m} @ {v})[{g.r.randrange(2)}]", arithmetic(t)) if rows.takes(need, t) else None
    return f"{m}.{how}", arithmetic(t)


def _extent(g, need, depth):
    memory = [m for m in g.reads if need == "i"]
    return (f"qd.i32({g.r.choice(memory).name}.shape[0])", I32) if memory else None


SPECIALS = [
    _ifexp,
    _select,
    _boolop,
    _chain,
    _cast,
    _cast,
    _bit_cast,
    _call,
    _call,
    _method,
    _draw,
    _draw,
    _of_vector,
    _of_vector,
    _of_matrix,
    _extent,
]
