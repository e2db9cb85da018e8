"""What broken programs are broken with: lines that no program may hold, and functions that none may call."""

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
# Functions that are wrong, or are called wrongly: what `g0` is, and the line of the kernel.
FUNCTIONS = """
@qd.func | def g0(x): return g0(x) | q = g0(1)
@qd.func | def g0(x): return undefined_name | q = g0(1)
@qd.func | def g0(x): return x.y | q = g0(a[0])
@qd.func | def g0(x): return x[0] | q = g0(a[0])
@qd.func | def g0(x: qd.types.vector(2, qd.i32)): return x | q = g0(1)
@qd.func | def g0(x: qd.types.vector(2, qd.i32)): return x | q = g0(qd.Vector([1, 2, 3]))
@qd.func | def g0(x: "text"): return x | q = g0(1)
@qd.func | def g0(x: 5): return x | q = g0(1)
@qd.func | def g0(x: qd.i32): return x | q = g0(qd.Vector([1, 2]))
@qd.func | def g0(x: qd.i32): return x | q = g0(a)
@qd.func | def g0(x: qd.i32): return x | q = g0("text")
@qd.func | def g0(x) -> qd.types.vector(2, qd.i32): return x | q = g0(1)
@qd.func | def g0(x) -> (qd.i32, qd.i32): return x | q = g0(1)
@qd.func | def g0(x) -> qd.i32: return x, x | q = g0(1)
@qd.func | def g0(x) -> qd.i32: pass | q = g0(1)
@qd.func | def g0(x): pass | q = g0(1) + 1
@qd.func | def g0(x): return x, x | q = g0(1) + 1
@qd.func | def g0(x): return x, x | q, r, s = g0(1)
@qd.func | def g0(x): return x, x | a[0] = g0(1)
@qd.func | def g0(*x): return x | q = g0(1)
@qd.func | def g0(**x): return x | q = g0(1)
@qd.func | def g0(x): yield x | q = g0(1)
@qd.func | def g0(x): return 1 if x > 0.5 else "text" | q = g0(a[0])
@qd.func | def g0(x: qd.template()): x += 1 | g0(1)
@qd.func | def g0(x: qd.template()): x = 1 | g0(a)
@qd.func | def g0(x, y=1): return x | q = g0(y=3)
@qd.func | def g0(x, y=1): return x | q = g0(1, x=3)
@qd.real_func | def g0(x): return x | q = g0(1)
@qd.real_func | def g0(x: qd.i32): return x | q = g0(1)
@qd.real_func | def g0(x: qd.i32) -> qd.i32: pass | q = g0(1)
@qd.real_func | def g0(x: 5) -> qd.i32: return x | q = g0(1)
@qd.real_func | def g0(x: qd.i32) -> 5: return x | q = g0(1)
@qd.real_func | def g0(x: qd.i32) -> qd.i32: return x, x | q = g0(1)
@qd.real_func | def g0(x: qd.i32) -> (qd.i32, qd.f32): return x | q = g0(1)
@qd.real_func | def g0(x: qd.i32) -> qd.types.vector(2, qd.i32): return x | q = g0(1)
@qd.real_func | def g0(x: qd.ref(qd.i32)): x += 1 | g0(1)
@qd.real_func | def g0(x: qd.ref(qd.i32)): x += 1 | g0(a[0])
@qd.real_func | def g0(x: qd.ref(qd.i32)): x += 1 | g0(qd.f32(1.0))
@qd.real_func | def g0(x: qd.i32) -> qd.i32: return x | q = g0(a)
@qd.real_func | def g0(x: qd.i32) -> qd.i32: return x | q = g0(qd.Vector([1, 2]))
@qd.real_func | def g0(x: qd.types.struct(x=qd.i32)) -> qd.i32: return x.y | q = g0(1)
@qd.real_func | def g0(x: qd.types.struct(x=qd.i32)) -> qd.i32: return x.x | q = g0(1)
@qd.kernel | def g0(x: qd.i32): pass | g0(1)
@qd.dataclass | class g0: x: qd.i32 | q = g0(1).y
@qd.dataclass | class g0: x: qd.i32 | q = g0(1, 2)
@qd.dataclass | class g0: x: qd.i32 | q = g0(qd.Vector([1, 2]))
@dataclasses.dataclass | class g0: x: qd.i32 | q = g0(1).y
@qd.pyfunc | def g0(x): return x.y | q = g0(a[0])
def | g0(x): return x.y | q = g0(a[0])
""".strip().splitlines()
