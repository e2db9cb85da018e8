"""The statements that programs are made of, and how often each is written."""

from programs import compound, rows
from programs.generate import AUGMENT, INTEGRAL_ONLY
from programs.memory import N
from programs.names import index_type
from programs.scalars import F16, F32, I32, U1
from programs.specs import Shaped


def _new(g):
    e, t = g.expr(g.need(F32), 3)
    if g.chance(0.15):
        t = g.type()
        name = g.fresh()
        g.emit(f"{name}: qd.{t.name} = {e}")
        g.add(name, t)
    else:
        g.declare("x", e, t)


def _new_vector(g):
    n = g.r.choice([2, 3, 4, 20]) if g.chance(0.2) else g.r.choice([2, 3, 4])
    if n > 4:
        parts, t = g.joined(n, 0)
        g.declare("w", f"qd.Vector([{', '.join(parts)}])", Shaped((n,), t))
        return
    v, t = g.vector(n, 2)
    g.declare("v", v, Shaped((n,), t))


def _targets(g, n=0):
    return [x for x in g.names if x.mutable and (x.n > 0 if n else x.n == 0)]


def _operator(g, t):
    """One of `+=` and the like that a target of type t takes, and the need of its operand."""
    given = [o for o in AUGMENT if not (t.real and o in INTEGRAL_ONLY) and not (g.fast and o == "/=")]
    op = g.r.choice([o for o in given if not (g.fast and t.real and o in ("//=", "%="))])
    return op, "i" if op in INTEGRAL_ONLY or (g.fast and op in ("//=", "%=")) else "n"


def _assign(g):
    options = _targets(g)
    if not options:
        return _new(g)
    x = g.r.choice(options)
    if g.chance(0.4):
        op, need = _operator(g, x.t)
        e, t = g.expr(need, 2)
        g.emit(f"{x.text} {op} {g.small(e, t, x.t)}")
    elif g.chance(0.15) and len(options) > 1:
        y = g.r.choice(options)
        g.emit(f"{x.text}, {y.text} = {g.expr('n', 1)[0]}, {g.expr('n', 1)[0]}")
    else:
        g.emit(f"{x.text} = {g.expr(g.need(x.t), 3)[0]}")


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
    place = m.at(g.index(m) if anywhere else g.at(m), g.r)
    if m.n and g.chance(0.5):
        g.emit(f"{place} {g.r.choice(['=', '=', '+=', '-='])} {g.value(Shaped(m.element, m.t), 2)}")
        return
    place = g.entry(m, place)
    if g.chance(0.3):
        op, need = _operator(g, m.t)
        if m.t is U1 and op in ("+=", "-="):
            op = "|="
            need = "i"
        e, t = g.expr(need, 2)
        g.emit(f"{place} {op} {g.small(e, t, m.t)}")
    else:
        g.emit(f"{place} = {g.expr(g.need(m.t), 3)[0]}")


def _atomic(g):
    if g.shared and g.chance(0.6):
        m, ops = g.r.choice(g.shared)
        _apply(g, g.entry(m, m.at(g.index(m), g.r)), g.r.choice(ops))
    elif g.reductions:
        name, ops = g.r.choice(g.reductions)
        _apply(g, name, g.r.choice(ops))
    elif g.writes:  # alone: the old value may be used
        m = g.r.choice(g.writes)
        if m.t is U1:
            return
        place = g.entry(m, m.at(g.index(m), g.r))
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
        e, t = g.expr("n" if m.t.real else "i", 1)
        g.declare("x", f"qd.atomic_{g.r.choice(names)}({place}, {g.small(e, t, m.t)})", m.t)


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
    known = [f"{c} {op} 1" for c in g.constants for op in (">", "==")]
    g.emit(f"if qd.static({g.r.choice(['True', 'False', '3 > 2', '1 == 2', *known])}):")
    g.pad += 1
    g.statements(1)
    g.pad -= 1
    del g.names[mark:]


def _while(g):
    w = g.fresh("k")
    g.emit(f"{w} = 0")
    limit = g.r.randint(1, 6)
    endless = g.chance(0.3)
    cond = f"{w} < {limit}"
    if g.chance(0.3):
        cond = f"{cond} and {g.condition(1)}"
    g.emit("while True:" if endless else f"while {cond}:")
    g.pad += 1
    g.emit(f"{w} += {g.r.randint(1, 3)}")
    if endless:
        g.nested_line(f"if not ({cond}):", "break")
    mark = len(g.names)
    g.add(w, I32, False)
    saved, g.loop = g.loop, "serial"
    g.statements(2)
    g.loop = saved
    g.pad -= 1
    del g.names[mark:]


def _for(g):
    """A loop inside others, or one that is told to be serial."""
    if g.top:
        g.emit("qd.loop_config(serialize=True)")
    i = g.fresh("j")
    form = g.r.randrange(5)
    mark = len(g.names)
    far = [n for n in g.names if n.n == 0 and not n.t.real and n.t is not U1] if form == 4 else []
    if form == 0:
        head = f"for {i} in range({g.r.randint(0, 5)}):"
    elif form == 1:
        head = f"for {i} in range({g.r.randint(-2, 1)}, {g.expr('i', 1)[0]} % 5):"
    elif form == 2:
        j = g.fresh("j")
        a, b = g.r.randint(1, 3), f"({g.r.randint(-1, 1)}, {g.r.randint(0, 3)})"
        if g.chance(0.3):
            a = f"(qd.i32({g.expr('i', 1)[0]}) % 3, 3)"
        head = f"for {i}, {j} in qd.ndrange({a}, {b}{g.r.choice(['', '', ', axes=(1, 0)'])}):"
        g.add(j, I32, False)
    elif far:
        x = g.r.choice(far)
        by = g.r.randint(1, 4)
        head = f"for {i} in range({x.text}{g.r.choice(['', f' - {by}'])}, {x.text} + {by}):"
        g.add(i, index_type(x.t), False)
    else:
        head = f"for {i} in range({g.r.randint(1, 4)}):"
    if form != 1 and not far:
        g.add(i, I32, False)
    top, g.top = g.top, False
    g.nested(head, 3, "serial")
    g.top = top
    del g.names[mark:]


def _static_for(g):
    """Unrolled: its indices are constants, and may be left by static conditions alone."""
    i, j = g.fresh("c"), g.fresh("c")
    form = g.r.choice(["range", "range", "ndrange", "list", "enumerate"])
    over = {
        "range": f"range({g.r.randint(1, 3)})",
        "ndrange": f"qd.ndrange({g.r.randint(1, 2)}, (1, {g.r.randint(2, 3)}))",
        "list": "[3, 1, 2]",
        "enumerate": "enumerate([5, 0])",
    }[form]
    names = [i, j] if form in ("ndrange", "enumerate") else [i]
    g.emit(f"for {', '.join(names)} in qd.static({over}):")
    g.pad += 1
    if g.chance(0.3):
        g.nested_line(f"if qd.static({i} {g.r.choice(['==', '>'])} 1):", g.r.choice(["break", "continue"]))
    x, mark = g.fresh(), len(g.names)
    g.emit(f"{x} = qd.i32({g.r.choice(names)})")
    g.add(x, I32)
    g.constants += names
    saved, g.loop = g.loop, ""
    g.statements(2)
    g.loop = saved
    g.pad -= 1
    del g.names[mark:], g.constants[-len(names) :]


def _leave(g):
    if g.returns and g.loop == "serial" and g.chance(0.4):
        g.nested_line(f"if {g.condition()}:", compound.result(g))
    elif g.loop == "serial":
        g.nested_line(f"if {g.condition()}:", g.r.choice(["break", "continue"]))
    elif g.loop == "parallel":
        g.nested_line(f"if {g.condition()}:", "continue")
    elif g.returns and g.loop != "":
        g.nested_line(f"if {g.condition()}:", compound.result(g))
    else:
        _assign(g)


def _walrus(g):
    e, t = g.expr("n", 2)
    name = g.fresh()
    g.emit(f"if ({name} := {e}) > {g.expr('n', 1)[0]}:")
    mark = len(g.names)
    g.add(name, t, False)
    g.pad += 1
    g.statements(1)
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
    if g.draws:  # no two draws are equal
        return _assign(g)
    e = g.of_type(I32, 1)
    g.emit(f"assert ({e} == {e}) or {g.condition(1)}")
    return None


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
    *compound.STATEMENTS,
]
