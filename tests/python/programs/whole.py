"""Whole programs: types, functions, the kernel's parameters, its serial parts and parallel loops, its results."""

from programs import compound, memory, rows
from programs.generate import COMMUTE, Generator
from programs.memory import GROUPS, SHAPE2, N
from programs.names import Memory, index_type
from programs.scalars import F16, F32, F64, I32, U1
from programs.specs import FAST, TEMPLATE, Elements, Record, Shaped, written
from programs.statements import STATEMENTS

OVER = ["F_i32", "F_i32", "L_i32", "V_i32", "W_i16", "M_i32", "S_P", "S_Q"]  # of N elements


def program(seed: int, size: int = 12) -> str:
    """The source text of program number `seed`: of four one for fast_math, of eight one with draws."""
    g = Generator(seed, STATEMENTS, fast=seed % 4 == 1, draws=seed % 8 == 2)
    g.top, g.approximate = False, None
    if g.fast:
        g.emit(f'"""{FAST}"""')
    groups = g.r.sample(GROUPS, g.r.choice([0, 1, 1, 2]))
    fields = [f for group in groups for f in group.fields]
    for name in sorted({f.name.split(".")[0][2:] for f in fields if "." in f.name}):
        compound.declare_record(g, name, memory.specs(name))
    for _ in range(g.r.choice([0, 0, 0, 1, 2])):
        compound.declare_record(g)
    g.arrays = _arrays(g)
    g.bundle = _bundle(g) if g.chance(0.15) else None
    for _ in range(g.r.choice([0, 0, 0, 1, 1, 2])):
        compound.declare_function(g)
    _kernel(g, fields, size)
    return "\n".join(g.lines) + "\n"


def _arrays(g):
    """Array parameters: of numbers, of vectors and matrices, and with indices that are moved inside."""
    found = [Memory(n, g.type(), (N,)) for n in "abo"]
    if g.chance(0.3):
        found.append(Memory("m", g.type(), SHAPE2))
    if g.chance(0.2):
        found.append(Memory("e", g.type(), (N,), g.r.choice([(2,), (3,), (2, 2), (2, 2)])))
    if g.chance(0.15):
        found.append(Memory("h", g.type(), (N,), (), True))
    return found


def _bundle(g):
    """A dataclass of the standard library: its name, specs of its members."""
    members = {"x": Elements(g.type(), 1), "n": g.type()}
    if g.chance(0.5):
        members["y"] = Elements(g.type(), 1, (3,))
    if g.records and g.chance(0.4):
        members["s"] = g.r.choice(list(g.records.values()))
    g.emit("@dataclasses.dataclass(frozen=True)")
    g.emit("class D:")
    for m, s in members.items():
        g.emit(f"    {m}: {written(s)}")
    return Record("D", members, bundle=True)


def _kernel(g, fields, size):
    arrays = list(g.arrays)
    params = {m.name: Elements(m.t, len(m.shape), m.element, m.clamp) for m in arrays}
    if g.bundle:
        params["d"] = g.bundle
    arrays += [Memory(f.name, f.type, f.shape, f.element) for f in fields]
    z = (
        Memory("z", g.r.choice([F32, F64] if g.fast else [F16, F32, F32, F64]), (N,))
        if g.chance(0.6 if g.fast else 0.3) and not g.draws
        else None
    )
    if z:
        params |= {"z": Elements(z.t, 1), "p": Elements(z.t, 1)}
    values = {f"s{k}": g.spec() for k in range(g.r.randint(0, 3))}
    known = ["c0"] if g.chance(0.15) else []
    params |= {c: TEMPLATE for c in known}
    returned = [g.spec() for _ in range(g.r.choice([0, 1, 1, 2]))]
    arrow = f" -> {compound.arrow(returned)}" if returned else ""
    g.emit("@qd.kernel")
    g.emit(f"def k({', '.join(f'{n}: {written(s)}' for n, s in (params | values).items())}){arrow}:")
    g.pad = 1
    compound.begin(g)
    g.in_kernel, g.constants = True, known
    for n, s in values.items():
        g.add(n, s, False)
        for part in g.names:  # members and entries are copies
            part.mutable = part.mutable or part.text.startswith(n + ".")
    if g.bundle:
        arrays += compound.show_bundle(g, "d", g.bundle)
    for n, s in values.items():
        if type(s) is Shaped and g.chance(0.4):
            g.emit(f"{n}[{g.r.randrange(s.shape[0])}] = {g.expr('n', 1)[0]}")
    g.budget = size
    for _ in range(g.r.choice([1, 1, 2])):
        if g.chance(0.5):
            _serial(g, arrays, z)
            g.statements(g.r.randint(1, 3))
        _parallel(g, arrays, z)
    _serial(g, arrays, None)
    if returned:
        g.emit(compound.result(g, returned))


def _serial(g, arrays, z):
    """What stands outside of parallel loops may touch everything."""
    g.reads = g.writes = arrays
    g.own, g.shared, g.reductions = [], [], []
    g.structs = g.whole = _structs(g, arrays)
    g.approximate = (z, g.r.randrange(N)) if z else None
    g.top, g.loop = True, None


def _structs(g, arrays):
    """Fields of structs all of whose members are among these: (name, type, a member)."""
    found = {}
    for m in arrays:
        if m.of:
            found.setdefault(m.of, []).append(m)
    return [
        (name, g.records[name[2:]], members[0])
        for name, members in found.items()
        if len(members) == len(g.records[name[2:]].members)
    ]


def _parallel(g, arrays, z):
    """One parallel loop: who may touch what is dealt out first."""
    mark = len(g.names)
    outside = [n for n in g.names if n.n == 0 and n.mutable and not n.t.real and n.t is not U1 and "[" not in n.text]
    before, g.reductions = list(g.names), []
    if outside and g.chance(0.5):
        x = g.r.choice(outside)
        g.reductions = [(x.text, g.r.choice(COMMUTE))]
        g.names = [n for n in g.names if n is not x and not x.text.startswith(n.text + ".")]
    saved = [(n, n.mutable) for n in before]
    for n in g.names:
        n.mutable = False
    plane = g.chance(0.15)
    _deal(g, arrays, 2 if plane else 1)
    at = _plane(g) if plane else _head(g)
    z = None if plane else z
    g.at = lambda m: at
    g.approximate = (z, at) if z else None
    g.top, g.loop = False, "parallel"
    g.pad += 1
    for m in g.own:  # its own element may be read as well
        g.add(m.at(at, g.r), Shaped(m.element, m.t) if m.n else m.t, False)
    g.budget = max(g.budget, 4)
    g.statements(g.r.randint(2, 5))
    g.pad -= 1
    g.loop = None
    for n, was in saved:
        n.mutable = was
    g.names = before[:mark]


def _deal(g, arrays, axes):
    """What the iterations only read, what each has an element of, and what they change together."""
    g.reads, g.writes, g.own, g.shared = [], [], [], []
    roles = {}
    for m in arrays:
        key = m.of or m.name
        role = roles.setdefault(key, g.r.choice(["read", "read", "own", "own", "shared"]) if key != "o" else "own")
        if role == "shared" and not m.t.real and m.t is not U1:
            g.shared.append((m, g.r.choice(COMMUTE)))
        elif role == "own" and len(m.shape) == axes:
            g.own.append(m)
        else:
            g.reads.append(m)
    g.structs, g.whole = _structs(g, g.reads), _structs(g, g.own)


def _plane(g):
    """Opens a loop over the elements of two-dimensional memory; the text of their index."""
    over = g.r.choice(["G_i32", "J_i32", "H_i64"])
    if g.chance(0.4):
        i = g.fresh("i")
        g.emit(f"for {i} in qd.grouped({over}):")
        g.add(f"{i}[0]", I32, False)
        g.add(f"{i}[1]", I32, False)
        return i
    i, j = g.fresh("i"), g.fresh("i")
    what = g.r.choice([over, f"qd.ndrange{SHAPE2}", f"qd.ndrange({SHAPE2[0]}, {SHAPE2[1]}, axes=(1, 0))"])
    g.emit(f"for {i}, {j} in {what}:")
    g.add(i, I32, False)
    g.add(j, I32, False)
    return f"{i}, {j}"


def _head(g):
    """Opens the loop over N points; the text of the index that belongs to an iteration."""
    i, j = g.fresh("i"), g.fresh("i")
    form = g.r.choice(["range", "range", "shape", "ndrange", "grouped", "field", "array", "grouped field", "far"])
    far = [n for n in g.names if n.text in ("s0", "s1", "s2") and n.n == 0 and not n.t.real and n.t is not U1]
    if form == "far" and far:
        x = g.r.choice(far)
        g.emit(f"for {i} in range({x.text}, {x.text} + {N}):")
        g.add(i, index_type(x.t), False)
        return f"{i} - {x.text}"
    if form in ("range", "far"):
        g.emit(f"for {i} in range({N}):")
    elif form == "shape":
        g.emit(f"for {i} in range(a.shape[0]):")
    elif form == "field":
        g.emit(f"for {i} in {g.r.choice(OVER)}:")
    elif form == "array":
        g.emit(f"for {i} in b:")
    elif form == "ndrange":
        g.emit(f"for {i}, {j} in qd.ndrange(2, 4):")
        g.add(i, I32, False)
        g.add(j, I32, False)
        return f"{i} * 4 + {j}"
    else:
        g.emit(f"for {i} in qd.grouped({'F_i32' if form == 'grouped field' else f'qd.ndrange({N})'}):")
        g.add(f"{i}[0]", I32, False)
        return f"{i}[0]"
    g.add(i, I32, False)
    return i


__all__ = ["program", "rows"]
