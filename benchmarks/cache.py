"""What the caches cost and save: start-up with a warm cache, publishing, a large cache, bytes on disk, many small files.

Everything alternates and runs in fresh processes; only ratios count. `--peer NAME=PYTHON`: the released package in its own
interpreter, asked for its source tier.

    PYTHONPATH=build/release/python .venv/bin/python benchmarks/cache.py [--rounds 3] [--peer old=PYTHON] [--only large,publish,...]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import compile_time

SMALL = "import {module} as m\n\n@m.kernel\ndef step(x: m.types.ndarray(dtype=m.f32, ndim=1)):\n    for i in x:\n        x[i] += 1.0\n"


def child(args: argparse.Namespace) -> None:
    """One process: import, init, first call; prints a JSON line of milliseconds."""
    import importlib.util

    import numpy as np  # noqa: F401 - a program has it before

    spent: dict[str, float] = {}

    def timed(label, action):
        start = time.perf_counter()
        result = action()
        spent[label] = (time.perf_counter() - start) * 1e3
        return result

    m = timed("import", lambda: __import__("quadrants"))
    options = json.loads(args.options)
    timed("init", lambda: m.init(arch=m.cpu, offline_cache_file_path=args.cache, **options))
    spec = importlib.util.spec_from_file_location("generated", args.child)
    generated = importlib.util.module_from_spec(spec)
    sys.modules["generated"] = generated
    spec.loader.exec_module(generated)
    arrays = [m.ndarray(m.f32, shape=k) for k in (4096, 4096, 4096, 1)]
    call = (lambda: generated.step(arrays[0])) if args.small else (lambda: generated.step(*arrays, 4096))
    timed("first", lambda: (call(), m.sync()))
    spent["start"] = spent["import"] + spent["init"] + spent["first"]
    print("JSON" + json.dumps(spent))


class Bench:
    """Runs children of one benchmark, and keeps their figures by (system, situation)."""

    def __init__(self, rounds: int) -> None:
        self.rounds, self.found = rounds, {}

    def run(self, system, situation, python, source, cache, small=False, preload=None, **options):
        """One process; its milliseconds are added."""
        command = [python, __file__, "--child", str(source), "--cache", str(cache), "--options", json.dumps(options)]
        home = str(Path(cache).parent)
        env = dict(
            os.environ, HOME=home, XDG_CACHE_HOME=home + "/xdg", PYTHONDONTWRITEBYTECODE="1", QD_ENABLE_TORCH="0"
        )
        if python != sys.executable:
            env.pop("PYTHONPATH", None)
        env.update(preload or {})
        done = subprocess.run(command + ["--small"] * small, capture_output=True, text=True, env=env)
        lines = [line for line in done.stdout.splitlines() if line.startswith("JSON")]
        if not lines:
            raise SystemExit(f"{python} failed:\n{done.stdout}{done.stderr}")
        spent = json.loads(lines[0][4:])
        for column, value in spent.items():
            self.found.setdefault((system, situation, column), []).append(value)
        return spent

    def median(self, system, situation, column="first") -> float:
        """Median of what was measured."""
        return statistics.median(self.found[system, situation, column])

    def least(self, system, situation, column="first") -> float:
        """The least of what was measured: on a busy machine the one figure that repeats."""
        return min(self.found[system, situation, column])


def source_for(python: str, tasks: int, folder: str) -> Path:
    """The generated kernel; a peer is asked for its source tier in its decorator."""
    path = Path(folder) / "generated.py"
    text = compile_time.kernel_source("quadrants", tasks, 20, None) if tasks else SMALL.format(module="quadrants")
    path.write_text(text if python == sys.executable else text.replace("@m.kernel", "@m.kernel(fastcache=True)"))
    return path


def bytes_below(folder) -> int:
    """Bytes of all files."""
    return sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())


def start(bench: Bench, systems: dict[str, str]) -> None:
    """First call of a warm kernel of 64 loops, and everything from the import on for a small one."""
    for _ in range(bench.rounds):
        for name, python in systems.items():
            for tasks in (64, 0):
                with tempfile.TemporaryDirectory() as folder:
                    source = source_for(python, tasks, folder)
                    for situation in ("cold", "warm", "warm", "warm"):
                        bench.run(name, f"{tasks} {situation}", python, source, folder + "/cache", small=not tasks)
    for name in systems:
        for tasks in (64, 0):
            for situation in ("cold", "warm"):
                key = f"{tasks} {situation}"
                row = "  ".join(f"{c} {bench.median(name, key, c):8.1f}" for c in ("import", "init", "first", "start"))
                print(f"{name:8}{tasks or 'small':>6} loops {situation:5}{row}")
    for name in systems:
        if name != "ours":
            print(
                f"first call, 64 loops, warm, ours / {name}: {bench.median('ours', '64 warm') / bench.median(name, '64 warm'):.3f}"
            )
            print(
                f"import + init + first call, small, warm, ours / {name}: "
                f"{bench.median('ours', '0 warm', 'start') / bench.median(name, '0 warm', 'start'):.3f}"
            )


def disk(bench: Bench, systems: dict[str, str]) -> None:
    """Bytes on disk of the kernel of 242 loops."""
    sizes = {}
    for name, python in systems.items():
        with tempfile.TemporaryDirectory() as folder:
            bench.run(name, "242 cold", python, source_for(python, 242, folder), folder + "/cache")
            sizes[name] = bytes_below(folder + "/cache")
            if python == sys.executable:
                bench.run(
                    name,
                    "242 cold per offload",
                    python,
                    source_for(python, 242, folder),
                    folder + "/tasks",
                    per_offload_cache=True,
                )
                sizes[name + " per offload"] = bytes_below(folder + "/tasks")
    for name, size in sizes.items():
        print(f"242 loops on disk, {name}: {size / 1024:.0f} KiB, {size / sizes['ours']:.2f} of ours")


def publish(bench: Bench, systems: dict[str, str]) -> None:
    """The share of publishing in a cold start of 64 loops: spans of the trace, over the time from the first to the last."""
    for per_offload in (False, True):
        shares = []
        for _ in range(bench.rounds):
            with tempfile.TemporaryDirectory() as folder:
                trace = folder + "/trace.json"
                source = source_for(sys.executable, 64, folder)
                spent = bench.run("ours", "publish", sys.executable, source, folder + "/cache", trace=trace,
                                  num_compile_threads=1, per_offload_cache=per_offload)  # fmt: skip
                events = json.loads(Path(trace).read_text())["traceEvents"]
                shares.append(sum(e["dur"] for e in events if e["cat"] == "publish") / 1e3 / spent["first"])
        where = "per offload" if per_offload else "whole kernel"
        print(
            f"publishing, 64 loops cold, one thread, {where}: {100 * statistics.median(shares):.2f} % of the first call"
        )


def large(bench: Bench, systems: dict[str, str]) -> None:
    """A warm start beside 100,000 other entries."""
    from quadrants import _native

    with tempfile.TemporaryDirectory() as folder:
        source = source_for(sys.executable, 0, folder)
        roots = {10: folder + "/a/cache", 100_000: folder + "/b/cache"}
        for count, root in roots.items():
            Path(root).mkdir(parents=True, mode=0o700)
            bench.run("ours", "fill", sys.executable, source, root, small=True, offline_cache_cleaning_policy="never")
            entries = [p for p in Path(root).rglob("*") if len(p.name) == 64]
            seed = entries[0].read_bytes()
            for number in range(count):
                name = _native.digest(b"%d" % number).hex()
                shard = Path(root) / "plan" / name[:2]
                shard.mkdir(parents=True, exist_ok=True, mode=0o700)
                (shard / name).write_bytes(seed)
        for _ in range(5 * bench.rounds):
            for count, root in roots.items():
                bench.run(
                    "ours",
                    f"beside {count}",
                    sys.executable,
                    source,
                    root,
                    small=True,
                    offline_cache_cleaning_policy="never",
                )
        for column in ("init", "first"):
            few, many = (bench.median("ours", f"beside {count}", column) for count in roots)
            print(f"{column}, warm, beside 100,000 entries / beside 10: {many:.2f} / {few:.2f} ms = {many / few:.3f}")


def files(bench: Bench, systems: dict[str, str]) -> None:
    """Warm start of 242 loops: one file a kernel against one a task, also with a delay in each call on a file below the cache."""
    with tempfile.TemporaryDirectory() as folder:
        slow = Path(folder) / "slow.so"
        subprocess.run(
            ["cc", "-O1", "-shared", "-fPIC", "-o", str(slow), str(Path(__file__).parent / "slow_files.c"), "-ldl"],
            check=True,
        )
        source = source_for(sys.executable, 242, folder)
        for per_offload in (False, True):
            bench.run(
                "ours", "cold", sys.executable, source, folder + f"/cache{per_offload}", per_offload_cache=per_offload
            )
        for _ in range(bench.rounds):
            for delay in (0, 1000, 5000):
                for per_offload in (False, True):
                    for threads in (1, 16):
                        env = (
                            {"LD_PRELOAD": str(slow), "SLOW_US": str(delay), "SLOW_BELOW": folder + "/cache"}
                            if delay
                            else None
                        )
                        bench.run("ours", f"{delay} {per_offload} {threads}", sys.executable, source, folder + f"/cache{per_offload}",
                                  preload=env, per_offload_cache=per_offload, num_compile_threads=threads)  # fmt: skip
        for delay in (0, 1000, 5000):
            row = "   ".join(
                f"{'a task' if per_offload else 'a kernel'}, {threads} threads: {bench.median('ours', f'{delay} {per_offload} {threads}'):8.1f}"
                for per_offload in (False, True)
                for threads in (1, 16)
            )
            print(f"warm first call of 242 loops, {delay / 1000:.0f} ms a call; one file {row}")


PARTS = {"start": start, "disk": disk, "publish": publish, "large": large, "files": files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="append", default=[], help="name=PYTHON")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--child")
    parser.add_argument("--cache")
    parser.add_argument("--options", default="{}")
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    if args.child:
        return child(args)
    systems = {"ours": sys.executable, **dict(peer.split("=", 1) for peer in args.peer)}
    for part in args.only.split(","):
        print(f"--- {part}: {' '.join((PARTS[part].__doc__ or '').split())}")
        PARTS[part](Bench(args.rounds), systems)


if __name__ == "__main__":
    main()
