"""Streams, events, hints, GPU-only names and `perf_dispatch` on backends without queues."""

import numpy as np
import pytest

import quadrants as qd


@qd.kernel
def add(a: qd.types.NDArray[qd.f32, 1], n: qd.f32) -> qd.f32:
    for i in a:
        a[i] += n
    return n * 2.0


def test_a_stream_runs_the_same_kernel(arch):
    a = np.zeros(4, np.float32)
    with qd.create_stream() as stream:
        assert (stream.handle == 0) == (arch != "cuda")
        assert add(a, 1.5, qd_stream=stream) == 3.0
        assert add(n=2.0, a=a, qd_stream=stream) == 4.0
        event = qd.create_event()
        event.record(qd_stream=stream)
        event.wait()
        event.synchronize()
        stream.synchronize()
    assert add(a, 1.0, qd_stream=None) == 2.0
    stream.destroy()
    assert a.tolist() == [4.5] * 4


def test_streams_end_with_their_runtime(init):
    init()
    stream, event = qd.create_stream(), qd.create_event()
    with pytest.raises(TypeError, match="qd_stream must be a stream"):
        add(np.zeros(2, np.float32), 1.0, qd_stream=5)
    init()
    for use in (stream.synchronize, event.record, event.wait, event.synchronize):
        with pytest.raises(RuntimeError, match="owning Program has been destroyed"):
            use()
    with pytest.raises(RuntimeError, match="Stream's owning Program"):
        add(np.zeros(2, np.float32), 1.0, qd_stream=stream)
    stream.destroy()
    qd.reset()
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        qd.create_stream()


def test_hints_change_nothing(arch):
    x = qd.field(qd.i32, 8)

    @qd.kernel
    def k():
        qd.block_local(x)
        qd.cache_read_only(x)
        qd.no_activate(x.parent())
        for i in range(8):
            j = qd.assume_in_range(i, i, 0, 1)
            x[j] = qd.lang.misc.loop_unique(i, covers=[x]) + 1

    k()
    assert x.to_numpy().tolist() == list(range(1, 9))
    assert qd.assume_in_range(3, 2, 0, 2) == 3 and qd.lang.misc.loop_unique(7) == 7


GPU_ONLY = [("block", name, ()) for name in ("sync", "thread_idx", "global_thread_idx", "mem_fence")] + [
    ("block", "SharedArray", ((4,), qd.f32)), ("block", "reduce_add", (1, 64, qd.i32)), ("subgroup", "shuffle", (1, 2)),
    ("subgroup", "reduce_add_tiled", (1, 3)), ("warp", "ballot", (1,)), ("grid", "mem_fence", ()),
]  # fmt: skip


@pytest.mark.parametrize("group, name, args", GPU_ONLY, ids=[row[1] for row in GPU_ONLY])
def test_names_of_gpus(arch, arch_name, group, name, args):
    if arch_name != "cpu":
        pytest.skip("this backend has them: test_simt.py")
    f = getattr(getattr(qd.simt, group), name)
    text = f"qd.{group}.{name} is not supported for arch Arch."
    with pytest.raises(ValueError, match=text):
        f(*args)

    @qd.kernel
    def k():
        for i in range(4):
            f(*args)

    with pytest.raises(qd.QuadrantsCompilationError, match=text):
        k()


def dispatcher(**settings):
    @qd.perf_dispatch(get_geometry_hash=lambda a: a.shape, **settings)
    def work(a: qd.types.NDArray[qd.i32, 1]):
        """The prototype."""

    return work


def test_the_fastest_is_found(arch):
    import time

    called = []
    work = dispatcher()

    @work.register
    @qd.kernel
    def fast(a: qd.types.NDArray[qd.i32, 1]):
        for i in a:
            a[i] += 1

    @work.register
    def slow(a):
        called.append(len(a))
        time.sleep(0.02)
        fast(a)

    @work.register(is_compatible=lambda a: False)
    def never(a):
        raise AssertionError

    a = np.zeros(4, np.int32)
    for n in range(1, 11):
        work(a)
        assert a.tolist() == [n] * 4, "each call runs one implementation"
    assert called == [4, 4]  # a warm-up and a timed call
    work(a=np.zeros(5, np.int32))
    assert work.__name__ == "work" and fast is not None


def test_another_trial_after_some_calls(arch):
    order = []
    work = dispatcher(first_warmup=0, repeat_after_count=3)
    work.register(lambda a: order.append("x"))
    work.register(lambda a: order.append("y"))
    a = np.zeros(2, np.int32)
    for _ in range(7):
        work(a)
    assert order[:2] == ["x", "y"] and len(set(order[2:5])) == 1 and order[5:7] == ["x", "y"]


def test_dispatch_is_refused(arch, monkeypatch):
    work = dispatcher()
    with pytest.raises(qd.QuadrantsRuntimeError, match="No suitable functions were found"):
        work(np.zeros(1, np.int32))
    with pytest.raises(qd.QuadrantsSyntaxError, match="PERFDISPATCH_ANNOTATION_SEQUENCE_MISMATCH"):
        work.register(lambda b: None)
    with pytest.raises(qd.QuadrantsSyntaxError, match="KERNEL_ANNOTATION_ORDER"):

        @qd.kernel
        @work.register
        def wrong(a: qd.types.NDArray[qd.i32, 1]):
            pass

    monkeypatch.setenv("QD_PERFDISPATCH_FORCE", "work")
    with pytest.raises(ValueError, match="Malformed QD_PERFDISPATCH_FORCE entry 'work'"):
        dispatcher()


def test_a_forced_choice(arch, monkeypatch, capsys):
    monkeypatch.setenv("QD_PERFDISPATCH_FORCE", "other:x,work:second")
    monkeypatch.setenv("QD_PERFDISPATCH_PRINT_DEBUG", "1")
    work, order = dispatcher(), []

    @work.register
    def first(a):
        order.append("first")

    @work.register(is_compatible=lambda a: False)
    def second(a):
        order.append("second")

    for _ in range(3):
        work(np.zeros(1, np.int32))
    assert order == ["second"] * 3 and "registered 'first'" in capsys.readouterr().out
