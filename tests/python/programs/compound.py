"""Structs, matrices, and functions of several results: their declarations and the statements of their own."""

from programs.memory import N
from programs.names import Function, Memory, Name
from programs.specs import Elements, Record, Ref, Shaped, written


# ------------------------------------------------------------------------------------------------- at the head of a program
def declare_record(g, name="", members=None):
    """A type of structs, with methods if it is written as a class; a field's type, of that name and members, has none."""
    of_field, name = bool(name), name or g.fresh("T")
    if members is None:
        members = {m: g.spec() for m in g.r.sample(["a", "b", "c", "d"], g.r.randint(1, 3))}
    record = Record(name, members)
    if g.chance(0.4):
        g.emit(f"{name} = qd.types.struct({', '.join(f'{m}={written(s)}' for m, s in members.items())})")
    else:
        g.emit("@qd.dataclass")
        g.emit(f"class {name}:")
        g.pad += 1
        for m, s in members.items():
            g.emit(f"{m}: {written(s)}")
        for k in range(0 if of_field else g.r.choice([0, 1, 1, 2])):
            record.methods[f"m{k}"] = _method(g, record, f"m{k}")
        g.pad -= 1
    g.records[name] = record


def _method(g, record, name):
    changes = g.chance(0.5)
    params = [g.type() for _ in range(g.r.randint(0, 2))]
    g.emit("@qd.func")
    given = "".join(f", a{k}: {written(t)}" for k, t in enumerate(params))
    g.emit(f"def {name}(self{given}):")
    begin(g)
    g.add("self", record, changes)
    for k, t in enumerate(params):
        g.add(f"a{k}", t, False)
    g.pad += 1
    g.statements(2)
    e, t = g.expr("n", 2)
    g.emit(f"return {e}")
    g.pad -= 1
    return Function(name, params, [t], changes)


def begin(g):
    """Nothing is visible but what a function is given."""
    g.names, g.reads, g.writes, g.own, g.shared, g.reductions = [], [], [], [], [], []
    g.structs, g.whole, g.constants, g.returns, g.in_kernel = [], [], [], None, False
    g.budget, g.top, g.loop, g.approximate = 5, True, None, None


def declare_function(g):
    """Inlined or called; of one result or several; numbers, vectors and structs by value, numbers and structs by reference."""
    real = g.chance(0.35)
    name = g.fresh("f")
    params = [_parameter(g, real) for _ in range(g.r.randint(1, 3))]
    results = [g.spec() for _ in range(g.r.choice([1, 1, 1, 1, 2, 3]))]
    typed = real or g.chance(0.4)
    returns = f" -> {arrow(results)}" if typed else ""
    g.emit("@qd.real_func" if real else "@qd.func")
    given = [f"a{k}: {_note(p, real)}" for k, p in enumerate(params)]
    g.emit(f"def {name}({', '.join(given)}){returns}:")
    begin(g)
    for k, p in enumerate(params):
        if type(p) is Elements:
            g.reads.append(Memory(f"a{k}", p.t, (N,), p.element))
        elif getattr(p, "bundle", False):
            show_bundle(g, f"a{k}", p)
        else:
            g.add(f"a{k}", p.spec if type(p) is Ref else p, type(p) is Ref or g.chance(0.4))
    g.pad += 1
    g.returns = results if real else None
    g.statements(4)
    if real and g.chance(0.5):
        g.nested_line(f"if {g.condition()}:", result(g, results))
    if typed:
        g.emit(result(g, results))
    else:
        results = _inferred(g, results)
    g.pad -= 1
    g.returns = None
    g.functions.append(Function(name, params, results))


def show_bundle(g, name, bundle):
    """What a dataclass argument brings: its arrays, which are returned, and its other members, which are read-only."""
    arrays = []
    for n, s in bundle.members.items():
        if type(s) is Elements:
            arrays.append(Memory(f"{name}.{n}", s.t, (N,), s.element))
        else:
            g.add(f"{name}.{n}", s, False)
    g.reads = g.reads + arrays
    return arrays


def _parameter(g, real):
    if g.chance(0.2):
        m = g.r.choice([m for m in g.arrays if len(m.shape) == 1 and not m.clamp])
        return Elements(m.t, 1, m.element)
    if g.bundle and g.chance(0.3):
        return g.bundle
    spec = g.spec()
    return Ref(spec) if g.chance(0.25) and not (real and type(spec) is Shaped) else spec


def _note(spec, real):
    return "qd.template()" if type(spec) is Elements or (type(spec) is Ref and not real) else written(spec)


def arrow(results):
    return written(results[0]) if len(results) == 1 else f"({', '.join(map(written, results))})"


def result(g, results=None):
    """A `return` of what is declared: vectors of reals are no vectors of integers."""
    return "return " + ", ".join(_result(g, s) for s in results or g.returns)


def _result(g, spec):
    if type(spec) is not Shaped:
        return g.value(spec, 2)
    e, t = g.vector(spec.shape[0], 2)
    return f"qd.cast({e}, qd.{spec.t.name})" if t.real and not spec.t.real else e


def _inferred(g, results):
    """A `return` without declared types: what it gives."""
    texts, specs = [], []
    for s in results:
        if type(s) is Record:
            e, s = g.struct(s, 1), s
        elif type(s) is Shaped:
            e, t = g.vector(s.shape[0], 1)
            s = Shaped(s.shape, t)
        else:
            e, s = g.expr("n", 2)
        texts.append(e)
        specs.append(s)
    g.emit("return " + ", ".join(texts))
    return specs


# ------------------------------------------------------------------------------------------------------------- statements
def _new_struct(g):
    if not g.records:
        return
    record = g.r.choice(list(g.records.values()))
    if g.chance(0.15):
        name = g.fresh("t")
        g.emit(f"{name}: {record.name} = {g.struct(record, 2)}")
        g.add(name, record)
    else:
        g.declare("t", g.struct(record, 2), record)


def _assign_struct(g):
    options = [n for n in g.names if type(n.spec) is Record and n.mutable]
    if not options:
        return _new_struct(g)
    x = g.r.choice(options)
    form = g.r.random()
    if form < 0.3:
        g.emit(f"{x.text} = {g.struct(x.spec, 2)}")
    elif form < 0.6 and x.spec.methods:
        m = g.r.choice(list(x.spec.methods.values()))
        call = f"{x.text}.{m.name}({', '.join(g.value(p, 1) for p in m.params)})"
        g.declare("x", call, m.results[0])
    else:
        member, s = g.r.choice(list(x.spec.members.items()))
        at = f"['{member}']" if g.chance(0.2) else f".{member}"
        g.emit(f"{x.text}{at} = {g.value(s, 2)}")
    return None


def _store_struct(g):
    """A whole element of a field of structs."""
    if not g.whole:
        return _assign_struct(g)
    name, record, memory = g.r.choice(g.whole)
    at = g.index(memory) if memory in g.writes else g.at(memory)
    g.emit(f"{name}[{at}] = {g.struct(record, 2)}")
    return None


def _new_matrix(g):
    m, t = g.matrix(2)
    g.declare("m", m, Shaped((2, 2), t))


def _assign_matrix(g):
    options = [n for n in g.names if type(n.spec) is Shaped and n.n < 0 and n.mutable]
    if not options:
        return _new_matrix(g)
    x = g.r.choice(options)
    if g.chance(0.4):
        g.emit(f"{x.text}[{g.expr('i', 1)[0]} % 2, {g.r.randrange(2)}] = {g.expr('n', 1)[0]}")
    else:
        g.emit(f"{x.text} {g.r.choice(['=', '+=', '-=', '*='])} {g.matrix(1)[0]}")
    return None


def _same(a, b):
    return a is b if type(a) is Record else a == b


def _call_several(g):
    """What a function returns, unpacked; by reference it is given variables of their own."""
    options = [f for f in g.functions if len(f.results) > 1 or any(type(p) is Ref for p in f.params)]
    options = [f for f in options if g.may_call(f)]
    if not options:
        return _new_struct(g)
    f, given = g.r.choice(options), []
    for p in f.params:
        if type(p) is Ref:
            free = [
                n
                for n in g.names
                if n.mutable and _same(n.spec, p.spec) and n.text.isidentifier() and n.text not in given
            ]
            if not free or g.chance(0.3):
                name = g.fresh("x")
                g.emit(f"{name}: {written(p.spec)} = {g.value(p.spec, 1)}")
                g.add(name, p.spec)
                free = [g.names[-1 - len(Name(name, p.spec).parts())]]
            given.append(g.r.choice(free).text)
        else:
            given.append(g.value(p, 1))
    names = [g.fresh("y") for _ in f.results]
    g.emit(f"{', '.join(names)} = {f.name}({', '.join(given)})")
    for name, s in zip(names, f.results):
        g.add(name, s)
    return None


def _swizzle(g):
    options = [n for n in g.names if n.mutable and n.n in (3, 4)]
    if options:
        v = g.r.choice(options)
        g.emit(f"{v.text}.{g.r.choice(['xy', 'zx', 'yz'])} = {g.vector(2, 1)[0]}")


STATEMENTS = [
    _new_struct, _new_struct, _assign_struct, _assign_struct, _store_struct, _store_struct, _new_matrix, _assign_matrix,
    _call_several, _call_several, _swizzle,
]  # fmt: skip
