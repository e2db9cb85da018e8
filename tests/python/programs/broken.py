"""Broken programs: a bad line is put into a well-typed program, or a part of one is changed. The front end must answer
with a documented exception that points at the line; nothing crashes, and no error of our own internals comes through.
"""

import ast
import linecache
import random
import re

from programs.check import Finding, Runtime, load
from programs.inputs import Inputs
from programs.whole import program

# A bad line each; `a` is an array parameter of the kernel. Those after `kernel only` make no sense in functions.
ANYWHERE = """
q = not_defined + 1
q = qd.sin(qd.i32(1))
q = qd.floor(qd.u8(1))
q = qd.f32(1.0) & 1
q = 1 << qd.f64(0.5)
q = ~qd.f32(1.0)
q = not qd.f16(1.0)
q = lambda: 1
q = {1, 2}
q = (e for e in (1, 2))
q = {e for e in (1, 2)}
import os
del q
raise ValueError("no")
class C: pass
def inner(): pass
with open("x"): pass
for q in 5: pass
for q in range(1, 2, 3): pass
for q, r in range(3): pass
for q in qd.ndrange(2, 3): pass
for q in qd.ndrange(): pass
for q in range(qd.Vector([1, 2])): pass
for q in range("3"): pass
for q in range(3, k=2): pass
while qd.f32(1.0): pass
if qd.f32(1.0): pass
if qd.Vector([1, 2]): pass
q = 1 if qd.Vector([1, 2]) else 2
q = qd.cast(1)
q = qd.cast(1, 2, 3)
q = qd.cast("1", qd.i32)
q = qd.cast(qd.i32(1), 5)
q = qd.sin()
q = qd.sin(1.0, 2.0)
q = qd.atan2(1.0)
q = qd.min()
q = qd.select(1, 2)
q = qd.select(qd.f32(1.0), 1, 2)
q = qd.bit_cast(qd.i32(1), qd.i64)
q = qd.not_there(1)
q = qd.math.not_there(1)
q = qd.math.clamp(1, 2)
q = qd.i32()
q = qd.i32(1, 2)
q = qd.i32(0.5)
q = qd.i32(qd.Vector([1, 2]))
qd.atomic_add(1, 2)
qd.atomic_add(qd.i32(1))
qd.atomic_cas(qd.i32(1), 2, 3)
q = qd.Vector([1, 2]) + qd.Vector([1, 2, 3])
q = qd.Vector([1, 2])[5]
q = qd.Vector([1, 2])[-1]
q = qd.Vector([1, 2])[0, 0]
q = qd.Vector([1, 2])[0.5]
q = qd.Vector([1, 2]).dot(1)
q = qd.Vector([1, 2]).dot()
q = qd.Vector([1, 2]).not_there()
q = qd.Vector([1, 2]).w
q = qd.Vector([1, 2]).transpose()
q = qd.Vector([1, "2"])
q = qd.Vector()
q = qd.Vector(3)
q = qd.Matrix([[1, 2], [3]])
q = qd.Matrix([[1, 2, 3], [4, 5, 6]]).determinant()
q = qd.Matrix([[1, 2], [3, 4]]) @ qd.Vector([1, 2, 3])
q = qd.Matrix([[1, 2], [3, 4]]) @ 2
q, r = 1, 2, 3
q, r = 1
q, r = qd.Matrix([[1, 2], [3, 4]])
*q, r = 1, 2
q = 99999999999
q = -99999999999
q = qd.i32(2) ** -1
q = 1 in (1, 2)
q = qd.i32(1) is None
q = "a" + 1
q = "a" * qd.i32(2)
q = None + 1
q = None[0]
q = qd.i32(1)[0]
q = qd.i32(1).x
q = (1, 2)[5]
q = {"a": 1}["b"]
q = [1, 2].append(3).x
q: qd.i32
q: 5 = 3
q: "text" = 3
qd.loop_config(block_dim=0)
qd.loop_config(not_there=1)
qd.static_assert(False, "no")
qd.static_assert(qd.Vector([1, 2]))
qd.static()
q = qd.static(qd.i32(1) + undefined_name)
for q in qd.static(range(qd.random(qd.i32))): pass
for q in qd.static(5): pass
for q in qd.grouped(5): pass
for q in qd.grouped(): pass
print(1, file=2)
print(f"{qd.i32(1):.2q}")
print("{} {}".format(qd.i32(1)))
k()
qd.activate(0, 0)
len(5)
len()
int("x")
sum(5)
max()
zip(5)
any(5)
q = [e for e in 5]
q = [e for e in range(qd.random(qd.i32))]
q = {**5}
q = (*5,)
q = [1, 2][qd.f32(0.5)]
q = [1, "a"][qd.random(qd.i32)]
q = float
q = float + 1
q = qd + 1
q = qd.math + 1
q = ...
q = 1j
q = b"a"
q = 1 @ 2
q = qd.kernel
q = qd.field(qd.i32, 3)
q = qd.ndarray(qd.i32, 3)
q = qd.types.vector(3, qd.f32)(1, 2)
q = qd.types.struct(x=qd.i32)(y=1)
q = qd.types.struct(x=qd.i32)(x=1).y
q = qd.Vector.zero(qd.i32, qd.random(qd.i32))
q = qd.Vector.zero(5)
q = qd.frexp(1, 2)
q = qd.random(5)
q = qd.volatile_load(1)
nonlocal_name += 1
(qd.i32(1)) .x = 3
qd.i32(1)[0] = 3
""".strip().splitlines()
IN_KERNEL = """
a = 1
a += 1
a: qd.i32 = 1
q = a + 1
q = a[0, 0]
q = a[0.5]
q = a["x"]
q = a[None]
q = a[:]
q = a.not_there
q = a()
a.x = 1
a[0, 0] = 1
a[0.5] += 1
a[0] = qd.Vector([1, 2])
a[0] += qd.Vector([1, 2])
a[0] = "x"
a[0] = None
a[0] = a
a[0] = (1, 2)
qd.atomic_add(a, 1)
qd.atomic_add(a[0, 0], 1)
qd.atomic_add(a[0], qd.Vector([1, 2]))
qd.atomic_add(a[0], "x")
qd.atomic_min(a[0], 1, 2)
if a: pass
if a[0] < 1: return
for q in range(a): pass
for q, r in a: pass
q = qd.static(a[0])
if qd.static(a[0] > 1): pass
q = a if a[0] > 1 else b
q = a[0] if a[0] > 1 else "x"
q = qd.cast(a, qd.i32)
q = qd.sin(a)
q = qd.min(a, 1)
q = a < 1
q = not a
q = -a
q = a and 1
q = qd.Vector([a, 1])
q = a.shape[5]
q = a.shape[a[0]] + a.shape["x"]
q = a.shape.x
a.shape[0] = 3
assert a
q = a @ a
return a
return a, a, a, a
return "x"
return qd.Vector([1, 2, 3])
""".strip().splitlines()
STRUCTS = """
q = S(1, 2)
q = S(y=1)
q = S(qd.Vector([1, 2]))
q = S("a")
q = S(None)
q = S({"y": 1})
q = S(1) + 1
q = -S(1)
q = not S(1)
q = S(1)[0]
q = S(1)["y"]
q = S(1).y
q = S(1).x.y
q = S(1)()
q = S(1).x()
S(1).y = 2
S(1)["y"] += 2
q = qd.sin(S(1))
q = qd.min(S(1), 2)
q = S(1) == 1
q = S(1) < S(2)
if S(1): pass
while S(1): pass
q = 1 if S(1) else 2
q = S(1) and 1
q = S(1) if qd.u1(True) else 3
q = qd.select(qd.u1(True), S(1), 2)
q = qd.cast(S(1), qd.f32)
q = qd.f32(S(1))
q = qd.Vector([S(1), 2])
q = V(v=qd.Vector([1, 2, 3]))
q = V(v=qd.Matrix([[1, 2], [3, 4]]))
q = V(v=S(1))
for q in S(1): pass
for q in range(S(1)): pass
q, r = S(1)
q = qd.Struct(1)
q = qd.Struct(a=undefined_name)
qd.atomic_add(S(1), 1)
q = [1, 2][S(1)]
print(f"{S(1):.2q}")
assert S(1)
q = S + 1
q = S[0]
q = S.x
S.x = 1
q: S = 1.5
q: S = qd.Vector([1])
q = qd.types.struct(x=3)(1)
q = qd.types.vector(2, S)(1)
""".strip().splitlines()
STRUCTS_IN_KERNEL = """
a[S(1)] = 1
a[0] = S(1)
a[0] += S(1)
a = S(1)
return S(1)
q = S(a)
q = S(a[0]).y
""".strip().splitlines()
OF_FUNCTION = """
q = {0}()
q = {0}(1, 2, 3, 4, 5)
q = {0}(not_there=1)
q = {0}(*5)
q = {0}(**5)
q = {0} + 1
q = {0}[0]
q = {0}.x
{0}.x = 1
if {0}: pass
q, r, s, t, u = {0}()
a[0] = {0}
""".strip().splitlines()
OF_BUNDLE = """
d.x = 1
d.n = 1
d.n += 1
d.not_there = 1
q = d.not_there
q = d[0]
q = d + 1
q = d()
q = d.x()
q = d.x[0, 0]
q = d.x[0.5]
d.x[0] = "x"
d.x[0] = d
a[0] = d
if d: pass
for q in d: pass
return d
""".strip().splitlines()
OURS = re.compile(  # words that only a fault of our own brings into a message
    r"\b_?\w+\(\) (missing|takes|got)|QD_ASSERT|std::|nanobind|incompatible function|maximum recursion|'(Value|Var|Acc|Mat|MatVar|Elem|Slot|Rec|RecVar|ElemStruct|Bundle)'"
)


def bad_lines(text, in_kernel, r):
    """The lines of one kind; those of structs are written with a type of their own."""
    kind = r.random()
    functions = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name != "k"]
    if kind < 0.15 and functions and in_kernel:
        return [line.format(r.choice(functions)) for line in OF_FUNCTION]
    if kind < 0.5 and "d: D" in text and in_kernel:
        return OF_BUNDLE
    if kind < 0.6:
        record = "qd.types.struct(x=qd.i32)"
        lines = STRUCTS + STRUCTS_IN_KERNEL * in_kernel
        lines = [re.sub(r"\bV\(", "qd.types.struct(v=qd.types.vector(2, qd.i32))(", line) for line in lines]
        return [re.sub(r"\bS\b", record, line) for line in lines]
    return ANYWHERE + IN_KERNEL * in_kernel


def insert(text, r):
    """A program with one bad line, the line, and its number."""
    lines = text.splitlines()
    kernel = next(k for k, line in enumerate(lines) if line.startswith("def k("))
    bodies = [f.body for f in ast.walk(ast.parse(text)) if isinstance(f, ast.FunctionDef)]
    inside = {k for body in bodies for k in range(body[0].lineno - 1, body[-1].end_lineno)}
    places = [k for k in sorted(inside) if not lines[k].lstrip().startswith(("elif", "else"))]
    at = r.choice([k for k in places if k > kernel] if r.random() < 0.8 else places)
    bad = r.choice(bad_lines(text, at > kernel, r))
    pad = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    if lines[at - 1].lstrip().startswith("qd.loop_config"):
        at -= 1
    return "\n".join([*lines[:at], pad + bad, *lines[at:]]) + "\n", bad, at + 1


class _Mutate(ast.NodeTransformer):
    def __init__(self, r, target):
        self.r, self.target, self.count = r, target, -1

    def visit(self, node):
        if isinstance(node, (ast.While, ast.AugAssign)) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) == "range"
        ):
            return node  # it has to end
        if isinstance(node, ast.expr):
            self.count += 1
            if self.count == self.target:
                return self.change(node)
        return self.generic_visit(node)

    def change(self, node):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        if isinstance(node, ast.Call) and self.r.random() < 0.5:
            node.args = node.args[:-1] if self.r.random() < 0.5 else [*node.args, ast.Constant(1)]
            return node
        return self.r.choice([
            ast.Constant("text"), ast.Constant(None), ast.Constant(1.5), ast.Constant(10**12), ast.Name("nowhere", ast.Load()),
            ast.Tuple([node, node], ast.Load()), ast.List([], ast.Load()), ast.Name("qd", ast.Load()), ast.Name("a", ast.Load()),
            ast.Attribute(node, "foo", ast.Load()), ast.Call(node, [], []), ast.Subscript(node, ast.Constant(0), ast.Load()),
            ast.Name("k", ast.Load()), ast.UnaryOp(ast.USub(), node), ast.Name("float", ast.Load()),
        ])  # fmt: skip


def mutate(text, r):
    tree = ast.parse(text)
    functions = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    body = ast.Module([n for f in functions for n in f.body], [])
    count = sum(isinstance(n, ast.expr) for n in ast.walk(body))
    target = r.randrange(max(count, 1))
    step = _Mutate(r, target)
    for f in functions:
        f.body = [step.visit(s) for s in f.body]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def check(text, seed, runtime, line=None):
    """None, or what is wrong with the answer to a broken program. `line`: where it must point, if that is known."""
    import quadrants as qd

    try:
        compile(text, "program", "exec")
    except (SyntaxError, ValueError):
        return None  # Python refuses it
    space, file = load(text)
    try:
        runtime.run(Inputs(text, seed), space)
    except qd.QuadrantsAssertionError:
        return None  # it runs, and an index or an assertion is caught
    except (qd.QuadrantsCompilationError, qd.QuadrantsRuntimeTypeError) as e:
        return complaint(str(e), file, line)
    except Exception as e:  # noqa: BLE001 - the fault looked for
        return f"{type(e).__name__}: {e}"
    finally:
        linecache.cache.pop(file, None)
    return None if line is None else "it was accepted"


def complaint(message, file, line):
    places = re.findall(rf'File "{re.escape(file)}", line (\d+), in', message)
    if not places:
        return f"no line: {message}"
    if "^" not in message:
        return f"no caret: {message}"
    if line is not None and int(places[-1]) != line:
        return f"line {line} expected: {message}"
    tail = message.rsplit("^\n", 1)[-1]
    return f"words of our own internals: {message}" if OURS.search(tail) else None


ACCEPTED = frozenset([  # bound at compile time, never used; or run there as any function of Python
    "q = float", "q = qd.kernel", "q = ...", "q = 1j", 'q = b"a"', "q = qd.field(qd.i32, 3)", "q = qd.ndarray(qd.i32, 3)",
])  # fmt: skip


def batch(seeds, report, progress=lambda seed: None):
    runtime = Runtime("reference", debug=True)  # a changed index is caught
    for seed in seeds:
        progress(seed)
        r, text = random.Random(seed), program(seed, 5)
        bad, line = "", None
        if r.random() < 0.6:
            text, bad, line = insert(text, r)
        else:
            text = mutate(text, r)
        wrong = check(text, seed, runtime, line)
        if wrong is not None and not (wrong == "it was accepted" and (bad in ACCEPTED or _dead(text, line))):
            report(Finding(seed, "broken", bad or "changed", wrong, text))
    runtime.close()
    return len(seeds)


def _dead(text, line):
    """Whether a line may never be walked: below a static condition, behind a jump, in a function that is not called."""
    lines = text.splitlines()
    return any(
        word in x for x in lines[: line - 1] for word in ("qd.static(", "break", "continue", "return")
    ) or not any(x.startswith("def k(") for x in lines[:line])
