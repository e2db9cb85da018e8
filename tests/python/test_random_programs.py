"""Random programs with a fixed seed, on the backends of `--arch`: a few thousand against the model, and broken ones.

A campaign of more: `python -m programs --help` in this folder. What one finds becomes a row of FOUND.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from program_text import child_environment
from programs import broken, check, coverage
from programs.scalars import Invalid
from programs.whole import program

SEED = 20261130
CHUNK = {"reference": 120, "cpu": 25}  # programs a test
BROKEN = 120

# Smallest programs of differences that campaigns found: what it was, and the text. Inputs are made of the seed 1.
FOUND = {
    "`and` whose right side reads memory was of the type of its left side": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i8, 1], o: qd.types.NDArray[qd.i32, 1]):
            for i in range(8):
                o[i] = not i and a[i]
        """,
    "`or` likewise": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i64, 1], b: qd.types.NDArray[qd.i8, 1], o: qd.types.NDArray[qd.i64, 1]):
            for i in range(8):
                o[i] = b[i] or a[i]
        """,
    "a constant divisor MIN was taken for a power of two": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i8, 1], b: qd.types.NDArray[qd.i32, 1], o: qd.types.NDArray[qd.i32, 1]):
            for i in range(8):
                o[i] = (a[i] // qd.i8(-128)) * 1000 + a[i] % qd.i8(-128)
                b[i] = b[i] % -2147483648
        """,
    "atomics of variables computed in the type of both operands, those of elements in the element's": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i64, 1], b: qd.types.NDArray[qd.u32, 1]) -> (qd.i8, qd.i32):
            x: qd.i8 = 0
            y = 1
            for i in range(8):
                qd.atomic_min(x, a[i])
                qd.atomic_max(y, b[i])
            return x, y
        """,
    "LLVM inverts a comparison that is the condition and a side of one choice": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.u1, 1], b: qd.types.NDArray[qd.f32, 1], o: qd.types.NDArray[qd.i32, 1], s: qd.i64):
            for i in range(8):
                if a[i]:
                    o[i] = s > i or qd.math.isnan(b[4]) or i
        """,
    "CUDA: the absolute value of the lowest i16": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i16, 1], o: qd.types.NDArray[qd.i32, 1]):
            for i in range(8):
                a[i] = (a[i] & 1) - 32768
                o[i] = abs(a[i]) % 100
        """,
    "vectors of u64 were made of floats on the host": """
        @qd.kernel
        def k(v: qd.types.vector(3, qd.u64), s: qd.i32) -> (qd.types.vector(2, qd.u64), qd.types.vector(3, qd.u64)):
            return qd.Vector([-3, s]), v - 5
        """,
    "a struct as the first member by position": """
        T1 = qd.types.struct(b=qd.i32)
        T2 = qd.types.struct(d=T1, b=qd.i32)
        @qd.kernel
        def k(s: qd.i32) -> T2:
            return T2(T1(s))
        """,
    "CUDA: the absolute value of the lowest i32 and i64": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i32, 1], b: qd.types.NDArray[qd.i64, 1], o: qd.types.NDArray[qd.i64, 1]):
            for i in range(8):
                a[i] = (a[i] & 1) - 2147483647 - 1
                b[i] = abs(a[i]) % (100 + i)
                o[i] = (o[i] & 1) + (qd.i64(1) << 63)
                o[i] = abs(o[i]) % 100
        """,
    "CUDA: the low byte of the bits of a chosen f64": """
        @qd.kernel
        def k(o: qd.types.NDArray[qd.u8, 1], s: qd.f64):
            o[1] = qd.bit_cast(qd.select(s == s, s, 0), qd.u64)
        """,
    "CUDA: the largest of three i32, one of them negated": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i32, 1], b: qd.types.NDArray[qd.i32, 1], o: qd.types.NDArray[qd.i32, 1]):
            for i in range(8):
                o[i], b[i] = max(a[i] % 5, -i, i // 3), min(b[i] % 5, -i, -(i // 3))
        """,
    "CUDA: a comparison of the larger of two i8": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.u1, 1], b: qd.types.NDArray[qd.u1, 1]):
            for i in range(8):
                a[i] = not qd.max(not 1, qd.cast(i - 3, qd.i8))
                b[i] = qd.min(qd.cast(i, qd.u8), qd.cast(4, qd.u8)) == 4
        """,
    "CUDA: a choice with -0.0": """
        @qd.kernel
        def k(o: qd.types.NDArray[qd.f32, 1], p: qd.types.NDArray[qd.f64, 1]):
            for i in range(8):
                o[i] = -qd.math.sign(i << 100)
                p[i] = -qd.math.sign(qd.f64(i - 3))
        """,
    "CUDA: a truth value that is returned as a real number": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.f32, 1], s: qd.i64) -> (qd.f32, qd.f32, qd.f32, qd.f32):
            return (qd.u64(a[7]) <= 0.5 < s, not (qd.u64(a[7]) <= 0.5) and 0.5 < s, qd.u64(a[7]) <= 0.5 and not (0.5 < s),
                    not (qd.u64(a[7]) <= 0.5) and not (0.5 < s))
        """,
    "the update of a shared variable by a wider value was not atomic": """
        @qd.kernel
        def k(a: qd.types.NDArray[qd.i64, 1]) -> (qd.u8, qd.i32, qd.i32):
            x: qd.u8 = 1
            y = 10
            for i in range(8):
                x |= i
                y -= 1.7
            z = 10
            z -= 1.7
            return x, y, z
        """,
}


def settings(arch):
    if arch == "reference":
        return [{}]
    if arch != "cpu":
        return [{"opt_level": 0}, {}]
    return [
        {"opt_level": 0, "debug": True},
        {"opt_level": 1},
        {"opt_level": 2, "offline_cache": True, "per_offload_cache": True},
    ]


@pytest.mark.parametrize("name", FOUND)
def test_found(arch_name, name):
    import textwrap

    text = textwrap.dedent(FOUND[name])
    for options in settings(arch_name):
        runtime = check.Runtime(arch_name, **options)
        wrong = check.check(text, 1, runtime)
        runtime.close()
        assert wrong is None, options


@pytest.mark.parametrize("chunk", range(8))
def test_programs(arch_name, chunk, capfd):
    """Equal to the model in every setting."""
    count = CHUNK.get(arch_name, 30)
    findings = []
    made = check.batch(list(range(SEED + chunk * count, SEED + (chunk + 1) * count)), [arch_name], findings.append)
    assert made > count * 0.7  # some of those for fast_math are left out
    assert not findings, "\n".join(f"{f.seed} {f.kind} in {f.where}: {f.detail}\n{f.text}" for f in findings[:3])


@pytest.mark.parametrize("chunk", range(2))
def test_broken_programs(chunk, capfd, recwarn):
    """Refused with a documented exception at the right line."""
    findings = []
    broken.batch(list(range(SEED + chunk * BROKEN, SEED + (chunk + 1) * BROKEN)), findings.append)
    assert not findings, "\n".join(f"{f.seed} {f.where}: {f.detail}\n{f.text}" for f in findings[:3])


def test_what_is_reached():
    """At least 95 % of the rows of the table, of the statements and of the model's calls, by some hundred programs."""
    seen, wanted = set(), len(set(coverage.features()))
    for seed in range(SEED, SEED + 600):
        text = program(seed)
        try:
            check.Inputs(text, seed).model(seen)
        except Invalid:
            pass
        missing = coverage.missing_features(seen)
        if len(missing) <= 0.05 * wanted:
            return
    raise AssertionError(missing)


def test_which_operations_are_reached(tmp_path, monkeypatch, capfd):
    """At least 95 % of the operations of the IR, save those that only other ways of the language make."""
    monkeypatch.setenv("QD_DUMP_IR", "1")
    runtime = check.Runtime("reference", debug=True, debug_dump_path=str(tmp_path))
    missing = wanted = set(coverage.operations())
    for seed in range(SEED, SEED + 400):
        check.check(program(seed), seed, runtime)
        dump = tmp_path / "k.kir"
        if dump.exists():
            missing = missing - coverage.reached_operations([dump.read_text()])
        if len(missing) <= 0.05 * len(wanted):
            break
    runtime.close()
    assert len(missing) <= 0.05 * len(wanted), sorted(missing)


def test_shrinking():
    """A program that fails is made small, and stays one that fails."""
    from programs.shrink import shrink

    text = next(t for t in map(program, range(SEED, SEED + 100)) if "qd.floor" in t)
    small = shrink(text, lambda t: "qd.floor" in t and "def k" in t)
    assert "qd.floor" in small and len(small) < len(text) / 2


def campaign(*options):
    here = os.path.dirname(__file__)
    environment = child_environment()
    environment["PYTHONPATH"] += os.pathsep + here
    command = [sys.executable, "-m", "programs", "--archs", "reference", *options]
    return subprocess.Popen(
        command, env=environment, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_a_campaign():
    """The command: workers, totals, exit code."""
    process = campaign("--programs", "40", "--broken", "10", "--batch", "10", "--jobs", "2")
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    good, bad = map(int, re.match(r"(\d+) programs and (\d+) broken ones", said).groups())
    assert 30 < good <= 40 and bad == 10, said  # some leave the region that is compared: which, depends on NumPy


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="children in /proc")
def test_a_campaign_that_is_stopped(tmp_path):
    """A worker that dies is a finding, another goes on behind it, and a campaign that is ended leaves its totals."""
    out = tmp_path / "out"
    process = campaign("--programs", "1000000", "--batch", "5", "--out", str(out))

    def totals():
        assert process.poll() is None, process.stdout.read()
        return (
            json.loads(out.read_text().splitlines()[0])["totals"] if out.exists() else {"programs": 0, "findings": {}}
        )

    def wait_for(what):
        end = time.monotonic() + 60
        while not what(totals()):
            assert time.monotonic() < end, totals()
            time.sleep(0.1)

    wait_for(lambda t: t["programs"])
    (worker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(worker), signal.SIGKILL)
    wait_for(lambda t: t["findings"])
    before = totals()["programs"]
    wait_for(lambda t: t["programs"] > before)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    first, finding = map(json.loads, out.read_text().splitlines())
    assert process.returncode == 1 and "stopped by SIGTERM" in said, said
    assert first["totals"]["stopped_by"] == "SIGTERM" and first["totals"]["findings"] == {"crash": 1}
    assert finding["kind"] == "crash" and "exit -9" in finding["detail"]
