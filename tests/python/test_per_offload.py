"""Granularity of caching, in fresh processes: what an edit compiles, what the plugin was asked for, and why a kernel
was kept whole."""

import json
import textwrap

import pytest

LOOPS = 8


def kernel_text(edited: int | None = None, name: str = "work", comment: str = "", extra: str = "") -> str:
    """A kernel of LOOPS loops that all differ; `edited` has another constant; `extra` is a line between two loops."""
    lines = ["@qd.kernel", f"def {name}(a: qd.types.NDArray[qd.f32, 1]):"]
    for k in range(LOOPS):
        if k == LOOPS // 2 and comment:
            lines += ["", f"    # {comment}"]
        if k == LOOPS // 2 and extra:
            lines += [f"    {extra}"]
        constant = 99 if k == edited else k
        lines += ["    for i in range(a.shape[0]):", f"        a[i] = a[i] * {k + 2} + {constant}"]
    return "\n".join(lines) + "\n"


# What a process prints: the observations of the first kernel and the calls that its plugin got.
TELL = """
import json
def tell(kernel):
    seen = kernel._primal.per_offload_cache_observations
    counts = qd.lang.impl.get_runtime().context._counts()
    print("TELL " + json.dumps(dict(vars(seen), **counts)))
"""


@pytest.fixture
def process(run_script):
    """Runs a kernel text once in a fresh process and gives observations and call counts."""

    def start(text: str, options: str = "per_offload_cache=True", name: str = "program.py", call: str = "work", **more):
        program = (
            f"{TELL}\nqd.init(arch=ARCH, offline_cache_file_path=CACHE, log_level='error', {options})\n"
            + textwrap.dedent(text)
            + f"\n{call}(np.zeros(5, np.float32))\ntell({call})\n"
        )
        out = run_script(program, name=name, **more).stdout
        return json.loads(out[out.index("TELL ") + 5 :].splitlines()[0])

    return start


def compiled_and_cached(seen):
    assert seen["tasks_total"] == seen["tasks_recompiled"] + seen["tasks_cache_hit"]
    assert seen["tasks_compiled"] == seen["tasks_recompiled"], "the plugin was asked for what the kernel reports"
    assert seen["load_calls"] == 1 and seen["launch_calls"] == 1 and seen["tasks_launched"] == seen["tasks_total"]
    return seen["tasks_recompiled"], seen["tasks_cache_hit"]


def test_edit_of_one_loop(process):
    first = process(kernel_text())
    assert compiled_and_cached(first) == (LOOPS, 0) and first["compile_calls"] == LOOPS
    assert first["frontend_constructs_total"] == LOOPS and first["frontend_constructs_recompiled"] == LOOPS
    again = process(kernel_text())
    assert compiled_and_cached(again) == (0, LOOPS) and again["compile_calls"] == 0
    assert again["frontend_constructs_total"] == -1, "the plan came from the source tier: nothing was split"
    edited = process(kernel_text(edited=3))
    assert compiled_and_cached(edited) == (1, LOOPS - 1) and edited["compile_calls"] == 1
    assert edited["frontend_constructs_recompiled"] == 1 and edited["whole_kernel_reason"] == ""
    assert compiled_and_cached(process(kernel_text(edited=3))) == (0, LOOPS)


def test_constructs_without_the_source_tier(process):
    options = "per_offload_cache=True, src_ll_cache=False"
    process(kernel_text(), options)
    again = process(kernel_text(), options)
    assert again["frontend_constructs_total"] == LOOPS == again["frontend_constructs_cache_hit"]


def test_whole_kernel_is_one_unit(process):
    whole = "per_offload_cache=False"
    first = process(kernel_text(), whole)
    assert compiled_and_cached(first) == (LOOPS, 0) and first["compile_calls"] == 1
    assert first["frontend_constructs_total"] == -1 and first["whole_kernel_reason"] == "per_offload_cache=False"
    assert compiled_and_cached(process(kernel_text(), whole)) == (0, LOOPS)
    edited = process(kernel_text(edited=3), whole)
    assert compiled_and_cached(edited) == (LOOPS, 0) and edited["compile_calls"] == 1


HITS = {
    "renamed kernel": dict(text=kernel_text(name="other"), call="other"),
    "another file": dict(text=kernel_text(), name="moved.py"),
    "lines above": dict(text="\n\nUNUSED = 1\n" + kernel_text()),
    "new comment": dict(text=kernel_text(comment="why this loop is here")),
    "an unrelated field": dict(text="other = qd.field(qd.f32, 100)\nother[3] = 4.0\n" + kernel_text()),
    "another seed": dict(text=kernel_text(), options="per_offload_cache=True, random_seed=5"),
    "another number of threads": dict(
        text=kernel_text(), options="per_offload_cache=True, cpu_max_num_threads=1, num_compile_threads=1"
    ),
    "another order of kernels": dict(text=kernel_text(edited=2, name="early").replace("99", "9") + kernel_text()),
}


def test_what_is_no_edit(process):
    assert compiled_and_cached(process(kernel_text())) == (LOOPS, 0)
    for name, how in HITS.items():
        assert compiled_and_cached(process(**how)) == (0, LOOPS), name


MISSES = {
    "a constant": (kernel_text(edited=0), 1),
    "a serial statement between loops": (kernel_text(extra="a[0] = a[1]"), 1),
}


def test_what_is_an_edit(process):
    process(kernel_text())
    for name, (text, misses) in MISSES.items():
        assert process(text)["tasks_compiled"] == misses, name


# what a kernel captures: line before it, expression in its only loop, and the changed line
CAPTURES = {
    "number": ("N = 3", "N", "N = 4"),
    "flag": ("FLAG = True", "1 if qd.static(FLAG) else 2", "FLAG = False"),
    "string": ("MODE = 'a'", "1 if qd.static(MODE == 'a') else 2", "MODE = 'b'"),
    "function": (
        "@qd.func\ndef f(x):\n    return x + 1\n",
        "f(1)",
        "@qd.func\ndef f(x):\n    return x + 2\n",
    ),
    "attribute": ("class C:\n    n = 3\n", "C.n", "class C:\n    n = 4\n"),
    "number in a function": (
        "N = 3\n@qd.func\ndef f(x):\n    return x + N\n",
        "f(1)",
        "N = 5\n@qd.func\ndef f(x):\n    return x + N\n",
    ),
}


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("name", CAPTURES)
def test_changed_captures_between_processes(run_script, name, split):
    before, expression, after = CAPTURES[name]
    results = []
    for lines in (before, before, after):
        out = run_script(
            f"{TELL}\nqd.init(arch=ARCH, offline_cache_file_path=CACHE, log_level='error', per_offload_cache={split})\n{lines}\n"
            + textwrap.dedent(f"""
                @qd.kernel
                def work(a: qd.types.NDArray[qd.f32, 1]):
                    for i in range(a.shape[0]):
                        a[i] = {expression}
                a = np.zeros(2, np.float32)
                work(a)
                print("VALUE", a[1])
                tell(work)
                """)
        ).stdout
        seen = json.loads(out[out.index("TELL ") + 5 :].splitlines()[0])
        results.append((out.split("VALUE ")[1].split()[0], seen["tasks_compiled"]))
    assert results[0][0] == results[1][0] != results[2][0], results
    assert [compiled for _, compiled in results] == [1, 0, 1], results


REASONS = {
    "per_offload_cache=False": "per_offload_cache=False",
    "per_offload_cache=True, offline_cache=False": "offline_cache=False",
    "per_offload_cache=True, print_kernel_asm=True": "compiler debug dump",
    "per_offload_cache='auto'": None,  # the backend's own preference
    "per_offload_cache=True": "",
}


@pytest.mark.parametrize("options", REASONS)
def test_reasons(process, tmp_path, arch_name, options):
    seen = process(kernel_text(), f"{options}, debug_dump_path={str(tmp_path / 'ir')!r}")
    preference = "" if arch_name in ("cuda", "amdgpu") else "backend prefers whole-kernel caching"
    reason = preference if REASONS[options] is None else REASONS[options]
    assert seen["whole_kernel_reason"] == reason
    assert seen["frontend_constructs_total"] == (-1 if reason else LOOPS)
    assert seen["compile_calls"] == (1 if reason else LOOPS)


def test_the_reason_is_logged_once_a_compile(run_script):
    done = run_script(
        "qd.init(arch=ARCH, offline_cache_file_path=CACHE, per_offload_cache=False, log_level='debug')\n"
        + kernel_text()
        + "for _ in range(3):\n    work(np.zeros(5, np.float32))\n"
    )
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "whole kernel" in line]
    assert len(lines) == 1 and "work" in lines[0] and "per_offload_cache=False" in lines[0]


def test_equal_tasks_compile_once(process):
    text = "@qd.kernel\ndef work(a: qd.types.NDArray[qd.f32, 1]):\n"
    text += "    for i in range(a.shape[0]):\n        a[i] += 1\n" * 5
    seen = process(text)
    assert seen["tasks_compiled"] == 1 and seen["tasks_total"] == 5 and seen["tasks_launched"] == 5


def test_observations_before_and_after(init):
    import numpy as np
    from program_text import load

    init(per_offload_cache=True)
    k = load(kernel_text())["work"]
    seen = k._primal.per_offload_cache_observations
    figures = [getattr(seen, name) for name in vars(seen) if name != "whole_kernel_reason"]
    assert figures == [-1] * 6 and seen.whole_kernel_reason == ""
    k(np.zeros(3, np.float32))
    assert seen.tasks_total == LOOPS == seen.tasks_recompiled
    k(np.zeros(9, np.float32))  # nothing is compiled: the observations stay those of the last compile
    assert seen.tasks_recompiled == LOOPS


def test_no_disk_with_offline_cache_off(process, tmp_path):
    for _ in range(2):
        assert process(kernel_text(), "offline_cache=False")["tasks_compiled"] == LOOPS
    assert not (tmp_path / "cache").exists() and not (tmp_path / ".cache").exists()


def test_in_process_sharing_without_disk(init):
    import numpy as np
    from program_text import load

    import quadrants as qd

    init(offline_cache=False)
    k, again = load(kernel_text())["work"], load(kernel_text(name="other"))["other"]
    k(np.zeros(3, np.float32))
    again(np.zeros(3, np.float32))
    counts = qd.lang.impl.get_runtime().context._counts()
    assert counts["tasks_compiled"] == LOOPS, "equal kernels compile once while the runtime lives"
    assert again._primal.per_offload_cache_observations.tasks_cache_hit == LOOPS
