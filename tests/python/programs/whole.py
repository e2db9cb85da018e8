"""Whole programs: functions, the kernel's parameters, its serial parts and parallel loops, its results."""

from programs import rows
from programs.generate import COMMUTE, FIELDS, SHAPE2, VECTOR_FIELDS, Generator, Memory, N, Name
from programs.scalars import F16, F32, F64, I32, TYPES, U1
from programs.statements import STATEMENTS


def program(seed: int, size: int = 12) -> str:
    """The source text of program number `seed`."""
    g = Generator(seed, STATEMENTS)
    g.top, g.approximate = False, None
    for _ in range(g.r.choice([0, 0, 0, 1, 1, 2])):
        _function(g)
    _kernel(g, size)
    return "\n".join(g.lines) + "\n"


def _function(g):
    real = g.chance(0.3)
    name = g.fresh("f")
    params = [(f"a{k}", g.type()) for k in range(g.r.randint(1, 3))]
    result = g.type()
    g.emit("@qd.real_func" if real else "@qd.func")
    returns = f" -> qd.{result.name}" if real or g.chance(0.5) else ""
    g.emit(f"def {name}({', '.join(f'{p}: qd.{t.name}' for p, t in params)}){returns}:")
    g.names = [Name(p, t, 0, not real and returns == "") for p, t in params]
    for n in g.names:
        n.mutable = False
    g.reads, g.writes, g.own, g.shared, g.reductions = [], [], [], [], []
    g.pad += 1
    g.budget, g.top, g.loop, g.approximate = 5, True, None, None
    g.statements(4)
    if real and g.chance(0.6):
        g.emit(f"if {g.condition()}:")
        g.emit(f"    return {g.expr('n', 2)[0]}")
    e, t = g.expr("n", 2)
    g.emit(f"return {e}")
    g.pad -= 1
    g.functions.append((name, params, result if returns else t))


def _kernel(g, size):
    arrays = [Memory(n, g.type(), (N,)) for n in "ab"] + [Memory("o", g.type(), (N,))]
    if g.chance(0.3):
        arrays.append(Memory("m", g.type(), SHAPE2))
    arrays += [Memory(n, TYPES[t], s) for n, (t, s) in g.r.sample(sorted(FIELDS.items()), g.r.choice([0, 1, 1, 2]))]
    if g.chance(0.25):
        arrays += [Memory(n, TYPES[t], (N,), k) for n, (t, k) in [g.r.choice(sorted(VECTOR_FIELDS.items()))]]
    scalars = [(f"s{k}", g.type()) for k in range(g.r.randint(0, 3))]
    z = Memory("z", g.r.choice([F16, F32, F32, F64]), (N,)) if g.chance(0.3) else None
    params = [f"{m.name}: qd.types.NDArray[qd.{m.t.name}, {len(m.shape)}]" for m in arrays if m.name in "abom"]
    params += [f"{z.name}: qd.types.NDArray[qd.{z.t.name}, 1], p: qd.types.NDArray[qd.{z.t.name}, 1]"] if z else []
    params += [f"{s}: qd.{t.name}" for s, t in scalars]
    returned = [g.type() for _ in range(g.r.choice([0, 1, 1, 2]))]
    arrow = (
        ""
        if not returned
        else f" -> qd.{returned[0].name}"
        if len(returned) == 1
        else f" -> ({', '.join(f'qd.{t.name}' for t in returned)})"
    )
    g.emit("@qd.kernel")
    g.emit(f"def k({', '.join(params)}){arrow}:")
    g.pad = 1
    g.names = [Name(s, t, 0, False) for s, t in scalars]
    g.budget = size
    for _ in range(g.r.choice([1, 1, 2])):
        if g.chance(0.5):
            g.reads = g.writes = arrays
            g.own, g.shared, g.reductions = [], [], []
            g.approximate = (z, g.r.randrange(N)) if z else None
            g.top, g.loop = True, None
            g.statements(g.r.randint(1, 3))
        _parallel(g, arrays, z)
    g.reads, g.own, g.shared, g.reductions, g.writes = arrays, [], [], [], arrays
    g.top, g.loop = True, None
    if returned:
        g.emit("return " + ", ".join(g.expr("n", 2)[0] for _ in returned))


def _parallel(g, arrays, z):
    """One parallel loop: who may touch what is dealt out first."""
    mark = len(g.names)
    outside = [n for n in g.names if n.n == 0 and n.mutable and not n.t.real and n.t is not U1]
    g.reductions = []
    if outside and g.chance(0.5):
        x = g.r.choice(outside)
        g.reductions = [(x.text, g.r.choice(COMMUTE))]
        g.names = [n for n in g.names if n is not x]
    saved = [(n, n.mutable) for n in g.names]
    for n in g.names:
        n.mutable = False
    g.reads, g.writes, g.own, g.shared = [], [], [], []
    for m in arrays:
        role = g.r.choice(["read", "read", "own", "own", "shared"]) if m.name != "o" else "own"
        if role == "shared" and not m.t.real and not m.n and m.t is not U1:
            g.shared.append((m, g.r.choice(COMMUTE)))
        elif role == "own" and len(m.shape) == 1:
            g.own.append(m)
        else:
            g.reads.append(m)
    at = _head(g)
    g.at = lambda m: at
    g.approximate = (z, at) if z else None
    g.top, g.loop = False, "parallel"
    g.pad += 1
    for m in g.own:  # its own element may be read as well
        if not m.n:
            g.names.append(Name(f"{m.name}[{at}]", m.t, 0, False))
    g.budget = max(g.budget, 4)
    g.statements(g.r.randint(2, 5))
    g.pad -= 1
    g.loop = None
    for n, was in saved:
        n.mutable = was
    g.names = [n for n, _ in saved[:mark]] + (
        [Name(g.reductions[0][0], _type_of(outside, g.reductions[0][0]))] if g.reductions else []
    )


def _type_of(names, text):
    return next(n.t for n in names if n.text == text)


def _head(g):
    """Opens the loop over N points; the text of the index that belongs to an iteration."""
    i, j = g.fresh("i"), g.fresh("i")
    form = g.r.choice(["range", "range", "shape", "ndrange", "grouped", "field", "array", "grouped field"])
    if form == "range":
        g.emit(f"for {i} in range({N}):")
    elif form == "shape":
        g.emit(f"for {i} in range(a.shape[0]):")
    elif form == "field":
        g.emit(f"for {i} in F_i32:")
    elif form == "array":
        g.emit(f"for {i} in b:")
    elif form == "ndrange":
        g.emit(f"for {i}, {j} in qd.ndrange(2, 4):")
        g.names += [Name(i, I32, 0, False), Name(j, I32, 0, False)]
        return f"{i} * 4 + {j}"
    else:
        g.emit(f"for {i} in qd.grouped({'F_i32' if form == 'grouped field' else f'qd.ndrange({N})'}):")
        g.names.append(Name(f"{i}[0]", I32, 0, False))
        return f"{i}[0]"
    g.names.append(Name(i, I32, 0, False))
    return i


__all__ = ["program", "rows"]
