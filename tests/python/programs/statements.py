"""The statements that programs are made of, and how often each is written."""

from programs import rows
from programs.generate import AUGMENT, INTEGRAL_ONLY, N, Name
from programs.scalars import F16, I32, U1, promote


def _new(g):
    e, t = g.expr("n", 3)
    if g.chance(0.15):
        t = g.type()
        name = g.fresh()
        g.emit(f"{name}: qd.{t.name} = {e}")
        g.names.append(Name(name, t))
    else:
        g.declare("x", e, t)


def _new_vector(g):
    n = g.r.choice([2, 3, 4, 20]) if g.chance(0.2) else g.r.choice([2, 3, 4])
    if n > 4:
        parts = [g.expr("n", 0) for _ in range(n)]
        t = parts[0][1]
        for _, p in parts[1:]:
            t = promote(t, p)
        g.declare("w", f"qd.Vector([{', '.join(e for e, _ in parts)}])", t, n)
        return
    v, t = g.vector(n, 2)
    g.declare("v", v, t, n)


def _targets(g, n=0):
    return [x for x in g.names if x.mutable and (x.n > 0) == (n > 0)]


def _assign(g):
    options = _targets(g)
    if not options:
        return _new(g)
    x = g.r.choice(options)
    if g.chance(0.4):
        ops = [o for o in AUGMENT if not (x.t.real and o in INTEGRAL_ONLY)]
        op = g.r.choice(ops)
        e, _ = g.expr("i" if op in INTEGRAL_ONLY else "n", 2)
        g.emit(f"{x.text} {op} {e}")
    elif g.chance(0.15) and len(options) > 1:
        y = g.r.choice(options)
        g.emit(f"{x.text}, {y.text} = {g.expr('n', 1)[0]}, {g.expr('n', 1)[0]}")
    else:
        g.emit(f"{x.text} = {g.expr('n', 3)[0]}")


def _assign_vector(g):
    options = _targets(g, 1)
    if not options:
        return _new_vector(g)
    v = g.r.choice(options)
    if g.chance(0.6) or v.n > 4:
        at = str(g.r.randrange(v.n)) if g.chance(0.5) else f"{g.expr('i', 1)[0]} % {v.n}"
        op = g.r.choice(["=", "=", "+=", "*="])
        g.emit(f"{v.text}[{at}] {op} {g.expr('n', 2)[0]}")
    else:
        g.emit(f"{v.text} {g.r.choice(['=', '+=', '-='])} {g.vector(v.n, 1)[0]}")


def _store(g):
    options = [(m, True) for m in g.writes] + [(m, False) for m in g.own]
    if not options:
        return _assign(g)
    m, anywhere = g.r.choice(options)
    place = f"{m.name}[{g.index(m) if anywhere else g.at(m)}]"
    if m.n:
        g.emit(f"{place} = {g.vector(m.n, 2)[0]}")
        return
    if g.chance(0.3):
        op = g.r.choice(
            [o for o in AUGMENT if not (m.t.real and o in INTEGRAL_ONLY) and not (m.t is U1 and o in ("+=", "-="))]
        )
        g.emit(f"{place} {op} {g.expr('i' if op in INTEGRAL_ONLY else 'n', 2)[0]}")
    else:
        g.emit(f"{place} = {g.expr('n', 3)[0]}")


def _atomic(g):
    if g.shared and g.chance(0.6):
        m, ops = g.r.choice(g.shared)
        _apply(g, f"{m.name}[{g.index(m)}]", g.r.choice(ops))
    elif g.reductions:
        name, ops = g.r.choice(g.reductions)
        _apply(g, name, g.r.choice(ops))
    elif g.writes:  # alone: the old value may be used
        m = g.r.choice(g.writes)
        if m.n or m.t is U1:
            return
        place = f"{m.name}[{g.index(m)}]"
        if g.chance(0.15):
            g.declare("x", f"qd.volatile_load({place})", m.t)
            return
        if not m.t.real and g.chance(0.25):
            g.declare("x", f"qd.atomic_cas({place}, {g.of_type(m.t, 1)}, {g.of_type(m.t, 1)})", m.t)
            return
        names = (
            ["add", "sub", "mul", "exchange"]
            if m.t.real
            else ["add", "sub", "mul", "exchange", "min", "max", "and", "or", "xor"]
        )
        e, _ = g.expr("n" if m.t.real else "i", 1)
        g.declare("x", f"qd.atomic_{g.r.choice(names)}({place}, {e})", m.t)


def _apply(g, place, op):
    e = g.expr("i", 2)[0]
    g.emit(f"{op}({place}, {e})" if op.startswith("qd.") else f"{place} {op} {e}")


def _if(g):
    g.nested(f"if {g.condition()}:")
    if g.chance(0.3):
        g.nested(f"elif {g.condition()}:")
    if g.chance(0.4):
        g.nested("else:")


def _static_if(g):
    mark = len(g.names)
    g.emit(f"if qd.static({g.r.choice(['True', 'False', '3 > 2', '1 == 2'])}):")
    g.pad += 1
    g.statements(1)
    g.pad -= 1
    del g.names[mark:]


def _while(g):
    w = g.fresh("k")
    g.emit(f"{w} = 0")
    cond = f"{w} < {g.r.randint(1, 6)}"
    if g.chance(0.3):
        cond = f"{cond} and {g.condition(1)}"
    g.emit(f"while {cond}:")
    g.pad += 1
    g.emit(f"{w} += {g.r.randint(1, 3)}")
    g.names.append(Name(w, I32, 0, False))
    saved, g.loop = g.loop, "serial"
    mark = g.statements(2)
    g.loop = saved
    g.pad -= 1
    del g.names[mark:]


def _for(g):
    """A loop inside others, or one that is told to be serial."""
    if g.top:
        g.emit("qd.loop_config(serialize=True)")
    i = g.fresh("j")
    form = g.r.randrange(4)
    mark = len(g.names)
    if form == 0:
        head = f"for {i} in range({g.r.randint(0, 5)}):"
    elif form == 1:
        head = f"for {i} in range({g.r.randint(-2, 1)}, {g.expr('i', 1)[0]} % 5):"
    elif form == 2:
        j = g.fresh("j")
        head = f"for {i}, {j} in qd.ndrange({g.r.randint(1, 3)}, ({g.r.randint(-1, 1)}, {g.r.randint(0, 3)})):"
        g.names.append(Name(j, I32, 0, False))
    else:
        head = f"for {i} in range({g.r.randint(1, 4)}):"
    if form != 1:
        g.names.append(Name(i, I32, 0, False))
    top, g.top = g.top, False
    g.nested(head, 3, "serial")
    g.top = top
    del g.names[mark:]


def _static_for(g):
    i = g.fresh("c")
    g.emit(f"for {i} in qd.static(range({g.r.randint(1, 3)})):")
    g.pad += 1
    x = g.fresh()
    g.emit(f"{x} = qd.i32({i})")
    mark = len(g.names)
    g.names.append(Name(x, I32))
    saved, g.loop = g.loop, ""
    g.statements(2)
    g.loop = saved
    g.pad -= 1
    del g.names[mark:]


def _leave(g):
    if g.loop == "serial":
        g.nested_line(f"if {g.condition()}:", g.r.choice(["break", "continue"]))
    elif g.loop == "parallel":
        g.nested_line(f"if {g.condition()}:", "continue")
    else:
        _assign(g)


def _walrus(g):
    e, t = g.expr("n", 2)
    name = g.fresh()
    g.emit(f"if ({name} := {e}) > {g.expr('n', 1)[0]}:")
    g.names.append(Name(name, t, 0, False))
    g.pad += 1
    mark = g.statements(1)
    g.pad -= 1
    del g.names[mark:]


def _approximate(g):
    if not g.approximate:
        return _assign(g)
    m, at = g.approximate
    row = g.r.choice(rows.APPROXIMATE)
    given = [g.of_type(m.t, 2) for _ in row.needs]
    if row.key == "qd.pow":
        given[1] = f"p[{g.expr('i', 1)[0]} % {N}]"  # a whole constant would be a chain of products
    if row.key == "qd.atan2" and m.t is F16:
        return None
    g.emit(f"{m.name}[{at}] = {row.text.format(*given)}")
    return None


def _assert(g):
    e = g.of_type(I32, 1)
    g.emit(f"assert ({e} == {e}) or {g.condition(1)}")


STATEMENTS = (
    [_new] * 5 + [_assign] * 6 + [_store] * 7 + [_atomic] * 3 + [_if] * 4 + [_new_vector] * 2 + [_assign_vector] * 2
)
STATEMENTS += [
    _while,
    _for,
    _for,
    _static_for,
    _static_if,
    _leave,
    _leave,
    _walrus,
    _approximate,
    _approximate,
    _assert,
]
