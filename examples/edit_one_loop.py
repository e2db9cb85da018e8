"""What the project is for: a kernel of 64 loops, run in three processes. The first compiles 64 tasks, the second none;
then one loop is edited, and the third compiles one.

    python examples/edit_one_loop.py [--loops 64] [--arch cpu]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PHASES = ("frontend_ms", "passes_ms", "codegen_ms", "finish_ms", "load_ms")
LENGTH = 1000


def program(loops: int, edited: int | None) -> str:
    """Source of a module with one kernel; every loop differs, and loop `edited` is not as it was."""
    lines = ["import quadrants as qd", "", "", "@qd.kernel", "def work(a: qd.types.NDArray[qd.f32, 1]):"]
    for k in range(loops):
        factor = 2.5 if k == edited else 1.5
        lines += [f"    for i in range({LENGTH}):", f"        a[i] = qd.sin(a[i] * {factor}) + {k}.25"]
    return "\n".join(lines) + "\n"


def worker(folder: str, arch: str) -> None:
    """One process: imports the module, calls the kernel once, prints what happened as JSON."""
    import numpy as np

    import quadrants as qd

    sys.path.insert(0, folder)
    qd.init(arch=arch, per_offload_cache=True, offline_cache_file_path=os.path.join(folder, "cache"), log_level="error")
    import work

    values = np.zeros(LENGTH, np.float32)
    work.work(values)
    seen = work.work._primal.per_offload_cache_observations
    total = qd.cache_report().total
    # What the backend says that it compiled, not what the cache believes.
    compiled = qd.lang.impl.get_runtime().context._counts()["tasks_compiled"]
    row = {"compiled": compiled, "cached": seen.tasks_cache_hit, "first": float(values[0])}
    print("RESULT " + json.dumps(row | {phase: total[phase] for phase in PHASES}))


def run(folder: str, arch: str) -> dict[str, float]:
    """Starts a fresh process on the module as it is now and gives its observations."""
    command = [sys.executable, __file__, "--worker", folder, "--arch", arch]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # a module rewritten within a second must be read again
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    raise SystemExit(f"the process failed:\n{done.stdout}{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=64)
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--worker", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.arch)
        return
    loops = options.loops
    expected = {"first run": (loops, 0), "run again": (0, loops), "one loop edited": (1, loops - 1)}
    print(f"{'':16}  compiled  cached" + "".join(f"  {phase[:-3]:>9}" for phase in PHASES) + "  (ms)")
    with tempfile.TemporaryDirectory() as folder:
        for name, (compiled, cached) in expected.items():
            edited = loops // 2 if name == "one loop edited" else None
            Path(folder, "work.py").write_text(program(loops, edited))
            row = run(folder, options.arch)
            times = "".join(f"  {row[phase]:9.1f}" for phase in PHASES)
            print(f"{name:16}  {row['compiled']:8}  {row['cached']:6}{times}")
            if (row["compiled"], row["cached"]) != (compiled, cached):
                raise SystemExit(f"{name}: expected {compiled} compiled and {cached} cached, got {row}")
    print("As expected: an edit of one loop compiles one task.")


if __name__ == "__main__":
    main()
