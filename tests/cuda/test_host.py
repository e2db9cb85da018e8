"""The Python side of the cuda backend over the fake driver: device memory is the host's, kernels run nothing. What is
asked of the driver is counted; errors are ordered."""

import ctypes
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import quadrants as qd
from quadrants import _native
from quadrants.lang import impl


class _Table(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
        ("calls", ctypes.CFUNCTYPE(ctypes.c_char_p)),
        ("reset", ctypes.CFUNCTYPE(None)),
        ("fail", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_int)),
    ]


@pytest.fixture(scope="session")
def table():
    library = ctypes.CDLL(os.environ["QD_CUDA_DRIVER"])
    library.fake_driver.restype = ctypes.POINTER(_Table)
    return library.fake_driver().contents


@pytest.fixture
def driver(table):
    """A runtime over the fake driver, which has forgotten the calls of the start."""
    qd.init(arch=qd.cuda, enable_fallback=False, offline_cache=False, src_ll_cache=False, log_level="warn")
    table.reset()
    yield table
    table.reset()
    qd.reset()


def calls(driver, name):
    return [line.split(" ") for line in driver.calls().decode().splitlines() if line.startswith(name)]


@qd.kernel
def add(a: qd.types.NDArray[qd.f32, 1]):
    for i in a:
        a[i] += 1.0


@qd.kernel
def read(a: qd.types.NDArray[qd.f32, 1], b: qd.types.NDArray[qd.f32, 1]):
    for i in b:
        b[i] = a[i]


@qd.kernel
def extents(a: qd.types.NDArray[qd.f32, 1], b: qd.types.NDArray[qd.i32, 1]):
    for i in b:
        b[i] = a.shape[0]


class Exporter:
    """What CuPy or Numba look like: an interface of version 3 over memory of an ndarray."""

    def __init__(self, array, stream, readonly=False, **more):
        data = (array.buffer.address, readonly)
        self.__cuda_array_interface__ = {
            "data": data,
            "shape": array.shape,
            "typestr": "<f4",
            "version": 3,
            "stream": stream,
            **more,
        }


Exporter.__cuda_array_interface__ = None  # of the class too: that is what is looked for


class Capsules:
    """What JAX looks like: DLPack alone."""

    def __init__(self, array, versioned=True):
        self.array, self.versioned, self.asked = array, versioned, []

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, **options):
        if options and not self.versioned:
            raise TypeError("max_version")
        self.asked.append(stream)
        return self.array.__dlpack__(stream=-1, **options)


def test_streams_are_the_drivers(driver):
    a = qd.ndarray(qd.f32, 8)
    with qd.create_stream() as one, qd.create_stream() as two:
        assert one.handle and two.handle and one.handle != two.handle
        event = qd.create_event()
        assert event.handle
        driver.reset()
        event.record(qd_stream=one)
        event.wait(qd_stream=two)
        event.synchronize()
        assert calls(driver, "cuEventRecord") == [["cuEventRecord", hex(event.handle), hex(one.handle)]]
        assert calls(driver, "cuStreamWaitEvent") == [["cuStreamWaitEvent", hex(two.handle), hex(event.handle)]]
        assert driver.count(b"cuEventSynchronize") == 1
        add(a, qd_stream=one)
        one.synchronize()
    with pytest.raises(qd.QuadrantsRuntimeError, match="this stream was destroyed"):
        add(a, qd_stream=one)


def test_arrays_of_the_device_are_not_copied_and_ordered_by_streams(driver):
    a = qd.ndarray(qd.f32, 1 << 20)
    add(Exporter(a, 77))
    driver.reset()
    add(Exporter(a, 77))
    ours = hex(_native.native_stream(impl.get_runtime().context))
    events = [
        line[0::2] if line[0] == "cuEventRecord" else line[0:2] for line in calls(driver, "cu") if "Event" in line[0]
    ]
    assert events == [
        ["cuEventRecord", "0x4d"],
        ["cuStreamWaitEvent", ours],
        ["cuEventRecord", ours],
        ["cuStreamWaitEvent", "0x4d"],
    ]
    assert driver.count(b"cuLaunchKernel") == 1 and not calls(driver, "cuMemcpy")
    driver.reset()
    add(Exporter(a, 1))  # the default stream is ordered with ours by the driver
    assert not calls(driver, "cuEvent") and not calls(driver, "cuStreamWait")


def test_what_an_exporter_says_is_checked(driver):
    a = qd.ndarray(qd.f32, 8)
    with pytest.raises(ValueError, match="read-only"):
        add(Exporter(a, None, readonly=True))
    with pytest.raises(ValueError, match="[Nn]on contiguous"):
        add(Exporter(a, None, shape=(4,), strides=(8,)))
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="no element type"):
        add(Exporter(a, None, typestr=">f4"))


@pytest.mark.parametrize("versioned", [True, False])
def test_capsules_of_the_device(driver, versioned):
    a, b = qd.ndarray(qd.f32, 8), qd.ndarray(qd.f32, 8)
    exporter = Capsules(a, versioned)
    read(exporter, b)
    assert exporter.asked == [_native.native_stream(impl.get_runtime().context)]
    assert driver.count(b"cuLaunchKernel") == 1
    if versioned:
        add(exporter)
    else:
        with pytest.raises(ValueError, match="read-only"):
            add(exporter)


def test_other_devices_are_refused(driver):
    class Far(Capsules):
        def __dlpack_device__(self):
            return (2, 1)

    with pytest.raises(qd.QuadrantsRuntimeTypeError, match=r"lies on another device \(DLPack device \(2, 1\)\)"):
        add(Far(qd.ndarray(qd.f32, 8)))


def test_fields_and_ndarrays_export_their_memory(driver):
    a = qd.ndarray(qd.f32, (2, 3))
    v = qd.Vector.field(3, qd.i32, 4, layout=qd.Layout.SOA)
    for x in (a, v):
        assert x.__dlpack_device__() == (2, 0)
        assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0), stream=1))
        taken = _native.device_array_of(x.__dlpack__(stream=-1), 2, 0)
        kind = _native.array_kind(taken)[1]
        assert kind["source"] == "device" and kind["readonly"] and kind["contiguous"] == (x is a)
        assert kind["shape"] == ((2, 3) if x is a else (4, 3)) and kind["dtype"] is x.dtype
    driver.reset()
    a.__dlpack__(stream=77)
    assert [line[0] for line in calls(driver, "cu") if "Event" in line[0]] == ["cuEventRecord", "cuStreamWaitEvent"]
    capsule = a.to_dlpack()
    _native.device_array_of(capsule, 2, 0)
    with pytest.raises(ValueError, match="nobody has taken"):
        _native.device_array_of(capsule, 2, 0)
    with pytest.raises(BufferError, match=r"memory of DLPack device \(2, 0\), its exporter said \(2, 1\)"):
        _native.device_array_of(a.to_dlpack(), 2, 1)
    with pytest.raises(ValueError, match="single scalar"):
        qd.field(qd.f32, ()).to_dlpack()
    with pytest.raises(BufferError, match="copy it afterwards"):
        a.__dlpack__(copy=True)


def test_exported_memory_outlives_a_reset(driver):
    a = qd.ndarray(qd.f32, 4)
    held = a.to_dlpack()
    driver.reset()
    qd.reset()
    assert driver.count(b"cuMemFreeAsync") == 0
    del held
    assert driver.count(b"cuMemFreeAsync") == 1


def test_numpy_arrays_are_copied_as_they_are_used(driver):
    a, b, n = np.zeros(1 << 10, np.float32), np.zeros(1 << 10, np.float32), np.zeros(4, np.int32)
    for _ in range(2):
        driver.reset()
        read(a, b)
    assert (driver.count(b"cuMemcpyHtoDAsync"), driver.count(b"cuMemcpyDtoHAsync")) == (2, 1)
    for _ in range(2):
        driver.reset()
        extents(a, n)
    assert (driver.count(b"cuMemcpyHtoDAsync"), driver.count(b"cuMemcpyDtoHAsync")) == (1, 1)


@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA])
def test_elements_are_live(driver, layout):
    v = qd.Vector.field(3, qd.f32, 1000, layout=layout)
    v[7] = [1, 2, 3]
    seven = v[7]
    seven.y = 5
    assert v.to_numpy()[7].tolist() == [1, 5, 3]
    v[7] = [7, 8, 9]
    assert seven.to_list() == [7, 8, 9] and (seven + 1).to_list() == [8, 9, 10]
    m = qd.Matrix.ndarray(2, 2, qd.i32, 5)
    m[3][1, 0] = 4
    assert m.to_numpy()[3].tolist() == [[0, 0], [4, 0]]
    assert driver.count(b"cuMemcpyDtoHAsync") and isinstance(seven, qd.Vector)


def test_graphs_by_switch(table, monkeypatch):
    @qd.kernel
    def two(a: qd.types.NDArray[qd.f32, 1]):
        for i in a:
            a[i] += 1.0
        for i in a:
            a[i] *= 2.0

    for value, graphs in (("", 2), ("0", 0)):
        monkeypatch.setenv("QD_GRAPH", value)
        qd.init(arch=qd.cuda, enable_fallback=False, offline_cache=False, log_level="warn")
        a = qd.ndarray(qd.f32, 8)
        table.reset()
        for _ in range(4):
            two(a)
        assert table.count(b"cuGraphLaunch") == graphs and table.count(b"cuLaunchKernel") == 8 - 2 * graphs
    qd.reset()


def test_ptx_of_the_user(table, tmp_path, monkeypatch):
    def run():
        qd.init(
            arch=qd.cuda, enable_fallback=False, offline_cache=False, src_ll_cache=False, debug_dump_path=str(tmp_path)
        )
        add(qd.ndarray(qd.f32, 8))
        qd.reset()

    monkeypatch.setenv("QD_DUMP_IR", "1")
    run()
    names = sorted(p.name for p in tmp_path.iterdir() if not p.name.endswith(".kir"))
    assert names == ["add_0.ptx", "add_0_before_ptx.ll"]
    monkeypatch.delenv("QD_DUMP_IR")
    mine = (tmp_path / "add_0.ptx").read_text() + "// mine\n"
    (tmp_path / "add_0.ptx").write_text(mine)
    monkeypatch.setenv("QUADRANTS_LOAD_PTX", "1")
    library = ctypes.CDLL(os.environ["QD_CUDA_DRIVER"])
    library.fake_last_ptx.restype = ctypes.c_char_p
    run()
    assert library.fake_last_ptx().decode() == mine
    assert calls(table, "cuLaunchKernel")[-1][-1] == "early"
    (tmp_path / "add_0.ptx").write_text(mine.replace("griddepcontrol.wait;", ""))  # nobody waits in it
    run()
    assert calls(table, "cuLaunchKernel")[-1][-1] != "early"
    with pytest.raises(ValueError, match="Caching must be disabled when using QUADRANTS_LOAD_PTX"):
        qd.init(arch=qd.cuda, offline_cache_file_path=str(tmp_path))


def test_assembly_of_each_task(table, tmp_path):
    options = dict(offline_cache=False, src_ll_cache=False, debug_dump_path=str(tmp_path))
    qd.init(arch=qd.cuda, enable_fallback=False, print_kernel_asm=True, log_level="warn", **options)
    add(qd.ndarray(qd.f32, 8))
    qd.reset()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["add_0.opt.ll", "add_0.ptx"]
    assert ".target sm_90" in (tmp_path / "add_0.ptx").read_text()


def test_a_missing_ptx_warns(run_text, tmp_path):
    done = run_text("add(qd.ndarray(qd.f32, 8))", QUADRANTS_LOAD_PTX="1", QD_DEBUG_DUMP_PATH=str(tmp_path))
    assert re.search(r"add_0\.ptx is not there to be loaded \(QUADRANTS_LOAD_PTX\)", done.stderr + done.stdout)
    assert done.returncode == 0


def test_a_failed_launch_names_kernel_and_task(driver):
    a = qd.ndarray(qd.f32, 8)
    driver.fail(b"cuLaunchKernel", 0, 701)
    with pytest.raises(qd.QuadrantsRuntimeError, match=r'smaller block_dim(.|\n)*kernel "add", task "add_0"'):
        add(a)
    driver.reset()
    add(a)


def test_a_fault_found_later_names_the_kernels(driver):
    a, b = qd.ndarray(qd.f32, 8), qd.ndarray(qd.f32, 8)
    add(a)
    read(a, b)
    driver.fail(b"cuStreamSynchronize", 0, 700)
    with pytest.raises(
        qd.QuadrantsRuntimeError, match=r"debug=True(.|\n)*newest first: read, add(.|\n)*start it again"
    ):
        qd.sync()
    driver.reset()


def test_debug_waits_for_each_task(table):
    qd.init(arch=qd.cuda, enable_fallback=False, offline_cache=False, debug=True, log_level="warn")
    a = qd.ndarray(qd.f32, 8)
    add(a)
    table.reset()
    table.fail(b"cuStreamSynchronize", 1, 700)  # the first is the report buffer's
    with pytest.raises(qd.QuadrantsRuntimeError, match='kernel "add", task "add_0"'):
        add(a)
    table.reset()
    qd.reset()


@pytest.fixture
def run_text(tmp_path):
    def run(text, **env):
        head = (
            "import ctypes, os, quadrants as qd\n"
            "library = ctypes.CDLL(os.environ['QD_CUDA_DRIVER'])\n"
            "qd.init(arch=qd.cuda, enable_fallback=False, offline_cache=False, src_ll_cache=False)\n"
            "@qd.kernel\ndef add(a: qd.types.NDArray[qd.f32, 1]):\n    for i in a:\n        a[i] += 1.0\n"
        )
        file = tmp_path / "program.py"
        file.write_text(head + text + "\n")
        full = {**os.environ, **env}
        return subprocess.run([sys.executable, str(file)], env=full, capture_output=True, text=True, timeout=60)

    return run


def test_a_lost_device_is_an_exception_and_a_clean_end(run_text):
    done = run_text(
        "a = qd.ndarray(qd.f32, 8)\nadd(a)\nlibrary.fake_lose(719)\n"
        "for use in (qd.sync, lambda: add(a), a.to_numpy, lambda: qd.ndarray(qd.f32, 8)):\n"
        "    try:\n        use()\n    except RuntimeError as error:\n        assert 'a kernel failed' in str(error), error\n"
        "    else:\n        raise SystemExit('no error')\n"
        "qd.reset()\nqd.init(arch=qd.cpu, offline_cache=False)\na = qd.ndarray(qd.f32, 8)\nadd(a)\nprint(a.to_numpy().sum())"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("8.0\n")


def test_memory_is_taken_beforehand(table):
    for options, taken in (
        ({}, []),
        ({"device_memory_GB": 2.0}, [2 << 30]),
        ({"device_memory_fraction": 0.5}, [(1 << 33) // 1000 * 500]),
    ):
        table.reset()
        qd.init(arch=qd.cuda, enable_fallback=False, offline_cache=False, log_level="warn", **options)
        found = [int(line[1]) for line in calls(table, "cuMemAllocAsync") if int(line[1]) > 1 << 28]
        assert found == taken
        qd.reset()
    table.fail(b"cuMemAllocAsync", 0, 2)
    with pytest.raises(RuntimeError, match="no memory left(.|\n)*2048 MiB taken beforehand"):
        qd.init(arch=qd.cuda, enable_fallback=False, offline_cache=False, device_memory_GB=2.0)
    table.reset()


COUNTED = """
library.fake_driver.restype = ctypes.c_void_p
fail = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_int)(ctypes.cast(library.fake_driver(), ctypes.POINTER(ctypes.c_void_p))[3])
for failing, code in %s:
    qd.reset()
    qd.init(arch=qd.cuda, enable_fallback=False, log_level="debug", offline_cache_file_path=os.environ["CACHE"])
    fail(failing, 0, code) if failing else None
    add(qd.ndarray(qd.f32, 8))
    counts = qd.lang.impl.get_runtime().context._counts()
    print([counts[k] for k in ("compile_calls", "finish_calls", "load_calls")], flush=True)
"""
GOOD = (b"", 0)


def counted(run_text, tmp_path, runs, version):
    """Calls of compile, finish and load by runtimes of one process, one after the other; what was written."""
    done = run_text(COUNTED % (runs,), CACHE=str(tmp_path / "cache"), QD_FAKE_VERSION=str(version))
    assert done.returncode == 0, done.stderr
    return [eval(line) for line in re.findall(r"^\[\d.*\]$", done.stdout, re.M)], done.stdout + done.stderr


def test_refused_code_is_finished_again_once_with_a_line(run_text, tmp_path):
    runs = [GOOD, GOOD, (b"cuModuleLoadData", 200), GOOD]
    counts, said = counted(run_text, tmp_path, runs, 13000)
    assert counts == [[1, 1, 1], [0, 0, 1], [0, 1, 2], [0, 0, 1]]
    assert said.count("refused and is finished again") == 1


def test_refused_text_is_compiled_again_once_with_a_line(run_text, tmp_path):
    counted(run_text, tmp_path, [GOOD], 13000)
    counts, said = counted(run_text, tmp_path, [(b"cuLinkAddData", 218), GOOD], 13010)
    assert counts == [[1, 2, 1], [0, 0, 1]]
    assert said.count("refused and is compiled again") == 1 and "assembler refuses this code" in said


def test_a_driver_update_keeps_the_text(run_text, tmp_path):
    counted(run_text, tmp_path, [GOOD], 13000)
    assert counted(run_text, tmp_path, [GOOD, GOOD], 13010)[0] == [[0, 1, 1], [0, 0, 1]]


@qd.kernel
def step(a: qd.types.NDArray[qd.f32, 1], b: qd.types.NDArray[qd.f32, 1]):
    for i in a:
        a[i] += 1.0
    qd.loop_config(name="copies")
    for i in b:
        b[i] = a[i]


def test_times_of_tasks_come_from_events(driver):
    """A kernel takes half a millisecond on the fake driver's clock. Nothing waits before a time is asked for."""
    qd.init(arch=qd.cuda, enable_fallback=False, offline_cache=False, src_ll_cache=False, kernel_profiler=True)
    a, b = qd.ndarray(qd.f32, 8), qd.ndarray(qd.f32, 8)
    driver.reset()
    for _ in range(3):
        step(a, b)
    assert len(calls(driver, "cuLaunchKernel")) == 6 and not calls(driver, "cuGraphLaunch")
    assert len(calls(driver, "cuEventRecord")) == 9 and not calls(driver, "cuEventSynchronize")
    tasks, kernels, trace = impl.get_runtime().require_context().profile()
    assert tasks == [("step_0_range_for", 3, 1.5, 0.5, 0.5), ("step_1_copies_range_for", 3, 1.5, 0.5, 0.5)]
    assert kernels == [("step", 3, 3.0, 1.0, 1.0)]
    assert trace == [(k % 2, 0.5 * k, 0.5) for k in range(6)]
    assert not calls(driver, "cuStreamSynchronize")
    seen = len(calls(driver, "cuEventCreate"))
    for _ in range(3):
        step(a, b)
    assert len(calls(driver, "cuEventCreate")) < seen + 6  # events are used again
    qd.profiler.clear_kernel_profiler_info()
    assert impl.get_runtime().require_context().profile() == ([], [], [])
    step(a, b)
    assert qd.profiler.query_kernel_profiler_info("step_1_copies_range_for").counter == 1


def test_long_profiles_wait_for_the_oldest_launches_only(driver):
    qd.init(arch=qd.cuda, enable_fallback=False, offline_cache=False, src_ll_cache=False, kernel_profiler=True)
    a, b = qd.ndarray(qd.f32, 8), qd.ndarray(qd.f32, 8)
    for _ in range(2500):
        step(a, b)
    assert 0 < len(calls(driver, "cuEventSynchronize")) < 2500
    seen = qd.profiler.query_kernel_profiler_info("step")
    assert (seen.counter, seen.min, seen.max) == (2500, 1.0, 1.0)
    driver.fail(b"cuEventElapsedTime", 0, 719)
    step(a, b)
    with pytest.raises(RuntimeError, match="cuEventElapsedTime"):
        qd.profiler.query_kernel_profiler_info("step")
    step(a, b)
    assert qd.profiler.query_kernel_profiler_info("step").counter == 2501


def test_no_events_without_the_profiler(driver):
    a, b = qd.ndarray(qd.f32, 8), qd.ndarray(qd.f32, 8)
    step(a, b)
    driver.reset()
    step(a, b)
    assert not calls(driver, "cuEventRecord")


@qd.kernel
def two_sections(a: qd.types.NDArray[qd.f32, 1], b: qd.types.NDArray[qd.f32, 1]):
    with qd.stream_parallel():
        for i in a:
            a[i] += 1.0
    with qd.stream_parallel():
        for i in b:
            b[i] *= 2.0


def test_sections_have_streams_and_then_are_branches(driver):
    a, b = qd.ndarray(qd.f32, 64), qd.ndarray(qd.f32, 64)
    two_sections(a, a)  # the same memory: in order
    driver.reset()
    two_sections(a, a)
    assert not calls(driver, "cuStreamCreate") and not calls(driver, "cuStreamWaitEvent")
    two_sections(a, b)
    assert len(calls(driver, "cuStreamCreate")) == 2 and len(calls(driver, "cuStreamWaitEvent")) == 4
    two_sections(a, b)
    driver.reset()
    for _ in range(8):
        two_sections(a, b)
    assert calls(driver, "cuGraphLaunch") and not calls(driver, "cuStreamCreate")


def test_clock_and_shared_memory_are_the_devices(driver):
    assert qd.clock_freq_hz() == 1_980_000_000
    assert impl.get_max_shared_memory_bytes(is_lowerbound_ok=True) == 227 << 10
