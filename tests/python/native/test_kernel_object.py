"""The callable of a kernel: packing of arguments, choice of a specialisation, errors, lifetimes, threads."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

from handmade import Made, Owner, build, f32_bits, slots
from quadrants import _native as n
from quadrants.lang.exception import QuadrantsRuntimeError, QuadrantsRuntimeTypeError


def test_repeated_calls_ask_once(context):
    k = Made(context, (n.f32, 1), n.i32, n.f32)
    for size in (3, 7):
        x = np.zeros(size, np.float32)
        assert k(x, size + 1, 1.5)[1:] == [size, size + 1, f32_bits(1.5)]
    assert k.count == 1


@pytest.mark.parametrize(
    "dtype, value, bits",
    [("i32", -1, 2**32 - 1), ("i32", True, 1), ("i32", np.int64(5), 5), ("i32", np.uint64(2**63), 0), ("i32", 2**31, 2**31),
     ("i32", 2**40 + 5, 5), ("u8", 300, 44), ("u8", -1, 255), ("i64", -1, 2**64 - 1), ("u64", 2**64 - 1, 2**64 - 1),
     ("u1", 5, 1), ("u1", 0, 0), ("u1", np.bool_(True), 1), ("i16", np.array(3), 3),
     ("f32", 1, f32_bits(1)), ("f32", True, f32_bits(1)), ("f32", np.int8(3), f32_bits(3)), ("f32", np.float64(2), f32_bits(2)),
     ("f32", 1e300, f32_bits(np.inf)), ("f64", 0.5, 0x3FE0000000000000), ("f16", 1.0, 0x3C00), ("f32", np.float16(0.5), f32_bits(0.5))],
)  # fmt: skip
def test_numbers(context, dtype, value, bits):
    k = Made(context, getattr(n, dtype))
    mask = 2 ** (8 * getattr(n, dtype).size) - 1
    assert k(value)[0] & mask == bits


@pytest.mark.parametrize(
    "dtype, value", [("i32", 1.5), ("i32", np.float32(3)), ("i32", "a"), ("i32", None), ("f32", "x"), ("f32", None), ("u1", 1.5),
                     ("i32", 2**70), ("f32", [1.0]), ("i32", np.zeros(3, np.int32)), ("f32", 1j)]
)  # fmt: skip
def test_refused_numbers(context, dtype, value):
    k = Made(context, n.i32, getattr(n, dtype), names=("first", "second"))
    k.kernel.__name__ = "scale"
    with pytest.raises(QuadrantsRuntimeTypeError) as e:
        k(1, value)
    assert str(e.value) == (
        f"Argument (1,) (type={type(value)}) cannot be converted into required type {dtype} (parameter 'second' of kernel 'scale')"
    )


def test_keywords_go_to_their_places(context):
    k = Made(context, n.i32, n.f32, names=("count", "scale"))
    expected = k(3, 1.5)
    assert k(3, scale=1.5) == k(scale=1.5, count=3) == k(count=3, scale=1.5) == expected
    assert k.count == 1


def test_wrong_arguments_reach_python(context):
    seen = []

    def specialise(args, kwargs):
        seen.append((args, kwargs))
        raise SyntaxError("as documented")

    k = n.KernelObject(Owner(), specialise, 2, ("a", "b"))
    for args, kwargs in [
        ((), {}),
        ((1,), {}),
        ((1, 2, 3), {}),
        ((1, 2), {"c": 3}),
        ((1, 2), {"a": 3}),
        ((1,), {"a": 2}),
    ]:
        with pytest.raises(SyntaxError, match="as documented"):
            k(*args, **kwargs)
        assert seen[-1] == (args, kwargs)


def test_specialise_may_place_arguments(context):
    made = Made(context, n.i32, n.i32)

    def specialise(args, kwargs):
        values = [*args, kwargs.get("b", 40)]
        return made.specialise(tuple(values), {}), values

    k = n.KernelObject(Owner(), specialise, 2, ("a", "b"))
    made.kernel = k
    assert k(2) == [2, 40] and k(2, b=5) == [2, 5]


def test_array_kinds_make_specialisations(context):
    k = Made(context, (n.f32, 2), n.i32)
    a, b = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float64)
    assert k(a, 1)[1:] == [2, 3, 1] and k.count == 1
    k(b, 1)
    assert k.count == 2
    a.flags.writeable = False
    k(a, 1)
    assert k.count == 3
    k(b, 1)
    k(a, 1)
    assert k.count == 3


def test_subclasses_and_odd_dtypes(context):
    class Sub(np.ndarray):
        pass

    x = np.arange(6, dtype=np.float32)
    assert n.array_kind(x.view(Sub)) == n.array_kind(x)
    assert n.array_kind(x.astype(">f4"))[1]["dtype"] is None
    assert n.array_kind(np.zeros(3, np.complex64))[1]["dtype"] is None
    assert n.array_kind(np.zeros(3, np.longlong))[1]["dtype"] is n.i64
    assert n.array_kind(np.zeros(3, bool))[1]["dtype"] is n.u1
    assert not n.array_kind(x[::2])[1]["contiguous"] and not n.array_kind(x.reshape(2, 3).T)[1]["contiguous"]
    assert n.array_kind(np.zeros((2,) * 13)) is None
    assert n.array_kind([1, 2]) is None and n.array_kind(memoryview(b"12")) is None
    unaligned = np.zeros(9, np.uint8)[1:].view(np.float32)
    assert not n.array_kind(unaligned)[1]["contiguous"]


def test_array_kind_describes(context):
    kind, d = n.array_kind(np.zeros((2, 3), np.int16))
    assert isinstance(kind, int)
    assert d == dict(source="numpy", dtype=n.i16, ndim=2, shape=(2, 3), element_shape=(), needs_grad=False, narrow=True, readonly=False,
                     contiguous=True)  # fmt: skip
    wide = np.broadcast_to(np.zeros(1, np.int8), (2**31,))
    assert n.array_kind(wide)[1]["narrow"] is False


def test_ndarrays(context):
    class Array(n.NdarrayBase):
        pass

    def make(dtype, shape, element=(), grad=False):
        return Array(context.alloc(int(np.prod(shape + element)) * dtype.size), dtype, shape, element, grad)

    a, b = make(n.f32, (4, 5)), make(n.f32, (6, 7))
    assert n.array_kind(a)[0] == n.array_kind(b)[0] == a._kind and a.shape == (4, 5)
    others = [
        make(n.f64, (4, 5)),
        make(n.f32, (4,)),
        make(n.f32, (4, 5), (3,)),
        make(n.f32, (4, 5), (), True),
        make(n.f32, (4, 5), (3, 2)),
    ]
    assert len({n.array_kind(x)[0] for x in [a, *others]}) == 6
    assert n.array_kind(others[2])[1]["element_shape"] == (3,) and n.array_kind(others[4])[1]["element_shape"] == (3, 2)
    k = Made(context, (n.f32, 2))
    assert k(a)[1:] == [4, 5] and k(b)[1:] == [6, 7] and k.count == 1
    a.note = 1
    assert a.__dict__ == {"note": 1} and weakref.ref(a)() is a
    a._release()
    assert n.array_kind(a) is None and a._buffer is None
    with pytest.raises(TypeError, match="argument 0 is no array"):
        k(a)
    with pytest.raises(ValueError, match="too small"):
        Array(context.alloc(4), n.f32, (4, 5), (), False)


def test_vector_arguments(context):
    executable = build(context, *[n.f32] * 6)

    def specialise(args, kwargs):
        return k.add(
            executable, [("scalars", [n.f32] * 6)], [("arg", 0, part) for part in range(6)], n.Guards(), slots, None
        )

    k = n.KernelObject(Owner(), specialise, 1, ("m",))
    expected = [f32_bits(x) for x in range(6)]
    for value in (
        [0, 1, 2, 3, 4, 5],
        ((0, 1, 2), (3, 4, 5)),
        np.arange(6.0).reshape(2, 3),
        [[0, 1.0], [np.float32(2), 3], [4, 5]],
    ):
        assert k(value) == expected
    for value in ([1, 2, 3], "abcdef", 5, [[1, 2], [3, "x"], [5, 6]], [1] * 7):
        with pytest.raises(QuadrantsRuntimeTypeError, match="required type a vector or matrix of 6 numbers"):
            k(value)


def test_templates_by_identity_and_value(context):
    executable, made = build(context), []

    def specialise(args, kwargs):
        made.append(args[0])
        return k.add(executable, [("template", args[0])], [], n.Guards(), None, None)

    k = n.KernelObject(Owner(), specialise, 1, ("t",))
    a, b = Owner(), Owner()
    for value in (a, b, a, 1, 1, 1.0, True, "x", "x", 0.0, -0.0, a, 1, float("nan"), float("nan")):
        k(value)
    assert [repr(x) for x in made[2:]] == ["1", "1.0", "True", "'x'", "0.0", "-0.0", "nan"] and made[:2] == [a, b]


def test_templates_are_not_kept_alive(context):
    executable = build(context)

    def specialise(args, kwargs):
        return k.add(executable, [("template", args[0])], [], n.Guards(), None, None)

    k = n.KernelObject(Owner(), specialise, 1, ("t",))
    a = Owner()
    alive = weakref.ref(a)
    k(a)
    del a
    gc.collect()
    assert alive() is None


def test_methods(context):
    executable, seen = build(context, n.i32), []

    def specialise(args, kwargs):
        seen.append(args)
        return k.add(executable, [("template", args[0]), ("scalar", n.i32)], [("arg", 1, 0)], n.Guards(), slots, None)

    k = n.KernelObject(Owner(), specialise, 2, ("self", "x"))

    class C:
        method = k

    c, d = C(), C()
    assert c.method(5) == [5] and c.method(x=6) == [6] and (bound := c.method) and bound(7) == [7]
    assert seen == [(c, 5)]
    assert d.method(8) == [8] and len(seen) == 2
    assert C.method is k


def test_attributes(context):
    primal = Owner()
    k = n.KernelObject(primal, lambda a, b: 0, 0, ())
    k.__name__, k.__doc__, k.__wrapped__, k.extra = "f", "about f", primal, 1
    assert (k.__name__, k.__doc__, k.__wrapped__, k.extra, k._primal) == ("f", "about f", primal, 1, primal)
    assert weakref.ref(k)() is k and "f" in repr(k)


def test_calls_leave_no_references(context):
    k = Made(context, (n.f32, 1), n.i32, result=None)
    x = np.zeros(3, np.float32)
    k(x, 1)
    number = 10**6
    before = sys.getrefcount(x), sys.getrefcount(number), sys.getrefcount(k.kernel), sys.getrefcount(None)
    for _ in range(1000):
        k(x, number)
    after = sys.getrefcount(x), sys.getrefcount(number), sys.getrefcount(k.kernel), sys.getrefcount(None)
    assert before[:3] == after[:3] and abs(before[3] - after[3]) < 100


def test_cycles_are_collected(context):
    made = Made(context, n.i32)
    made(1)
    made.kernel.cycle = made
    alive = weakref.ref(made.kernel)
    del made
    gc.collect()
    assert alive() is None


def test_clear_then_call_again(context):
    k = Made(context, n.i32)
    k(1)
    k.kernel.clear()
    assert k(2) == [2] and k.count == 2


def test_bad_plans_are_refused(context):
    executable = build(context, n.i32)
    k = n.KernelObject(Owner(), lambda a, b: 0, 1, ("x",))
    good = [("scalar", n.i32)]
    for args, words, message in [
        (good, [], "takes 5 words"), (good, [("arg", 1, 0)], "no such word"), (good, [("arg", 0, 1)], "no such word"),
        ([("number", n.i32)], [("arg", 0, 0)], "no argument plan 'number'"), ([], [("buffer", context.alloc(8))], "plan for 1 parameters"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            k.add(executable, args, words, n.Guards(), None, None)
    with pytest.raises(QuadrantsRuntimeError, match="no specialisation number 0"):
        k(1)
    with pytest.raises(ValueError, match="one name for each parameter"):
        n.KernelObject(Owner(), None, 2, ("x",))


def test_bound_buffers(context):
    buffer = context.alloc(64)
    buffer.copy_in(0, np.arange(8, dtype=np.int64))

    def double(b, buffers):
        (i,) = b.parallel([0], [8])
        b.store(buffers[0], i, b.mul(b.load(buffers[0], i), 2))
        b.end()

    executable = build(context, (n.i64, 0), body=double, outputs=False)
    k = n.KernelObject(
        Owner(), lambda a, kw: k.add(executable, [], [("buffer", buffer)], n.Guards(), None, None), 0, ()
    )
    k()
    out = np.zeros(8, np.int64)
    buffer.copy_out(0, out)
    assert out.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_reports_come_before_the_result(context):
    order = []

    def body(b, buffers):
        b.report(7, False, [b.const(5)])

    def on_report(executable):
        order.append(executable.take_reports())

    k = Made(context, n.i32, body=body, on_report=on_report, result=lambda raw: order.append("result"))
    k(1)
    (records, failed, dropped), last = order
    assert (
        [(site, values) for site, _task, _iteration, values in records] == [(7, [5])]
        and not failed
        and dropped == 0
        and last == "result"
    )


def test_threads(context):
    k = Made(context, (n.f32, 1), n.i32)
    failures = []

    def work(seed):
        x = np.zeros(seed + 1, np.float32)
        for i in range(300):
            if k(x, i)[1:] != [seed + 1, i]:
                failures.append(seed)
            if i % 100 == 50:
                k.kernel.clear()

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    # The result buffer is one for all threads, so only the run without a crash and the end state are certain.
    assert k(np.zeros(2, np.float32), 9)[1:] == [2, 9]
