"""Start-up of one kernel of many loops: cold, restarted, one loop edited; ours and any peers, alternating, in fresh processes.

Each round makes a fresh cache folder per system and starts one process per situation; the last three processes share a home directory
and have `offline_cache=False`, so that each should cost what the first did. Prints medians in milliseconds and, per peer, the ratio of
ours to it.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SITUATIONS = (
    ("cold", None),
    ("restarted", None),
    ("edited", "middle"),
    ("uncached 1", None),
    ("uncached 2", None),
    ("uncached 3", None),
)
COLUMNS = ("import", "init", "first", "second")
FORMS = (
    "v{d} = v{s} * {k} + v{u}",
    "v{d} = {m}.sin(v{s}) + v{u} * 0.5",
    "v{d} = {m}.exp(-v{s} * v{s}) + v{u}",
    "v{d} = {m}.sqrt({m}.abs(v{s}) + 1.0) - v{u}",
    "v{d} = v{s} / (1.0 + {m}.abs(v{u}))",
    "v{d} = {m}.max(v{s}, v{u}) + 0.25",
)


def kernel_source(module: str, tasks: int, statements: int, edited: int | None) -> str:
    """A kernel shaped like a solver step: neighbour loads, math, a branch, a short inner loop, a sum."""
    rng = random.Random(11)
    array = "m.types.ndarray(dtype=m.f32, ndim=1)"
    lines = [
        f"import {module} as m",
        "",
        "@m.kernel",
        f"def step(x: {array}, y: {array}, z: {array}, s: {array}, n: m.i32):",
    ]
    for task in range(tasks):
        scale = 0.5 + 0.25 * (task % 7) + (0.03125 if task == edited else 0.0)
        lines += [
            "    for i in range(n):",
            f"        v0 = x[i] * {scale}",
            "        v1 = y[(i + 1) % n]",
            "        v2 = y[(i + n - 1) % n]",
        ]
        for number in range(statements):
            d, s, u = (rng.randrange(3) for _ in range(3))
            lines.append("        " + rng.choice(FORMS).format(d=d, s=s, u=u, k=rng.randrange(1, 9) * 0.125, m="m"))
            if number % 8 == 7:
                lines += [f"        if v{d} > 0.5:", f"            v{d} = v{d} - 0.5"]
            if number % 10 == 9:
                lines += [
                    f"        for q{number} in range(4):",
                    f"            v{s} += x[(i + q{number} * {task + 1}) % n] * 0.125",
                ]
        lines += ["        z[i] = v0 + v1 + v2", "        s[0] += v0 * 0.001"]
    return "\n".join(lines) + "\n"


def environment(python: str) -> dict[str, str]:
    """Of a child process. A peer's interpreter must not see PYTHONPATH, where our own package lies under the same name."""
    inherited = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    if python != sys.executable:
        inherited.pop("PYTHONPATH", None)
    return inherited


def child(args: argparse.Namespace) -> None:
    """One process: import, init, two calls; prints a JSON line of milliseconds."""
    import importlib.util

    import numpy as np

    spent = {}

    def timed(label, action):
        start = time.perf_counter()
        result = action()
        spent[label] = (time.perf_counter() - start) * 1e3
        return result

    m = timed("import", lambda: __import__(args.module))
    options = json.loads(args.options)
    timed("init", lambda: m.init(arch=getattr(m, args.arch), offline_cache_file_path=args.cache, **options))
    spec = importlib.util.spec_from_file_location("generated", args.child)
    generated = importlib.util.module_from_spec(spec)
    sys.modules["generated"] = generated
    spec.loader.exec_module(generated)
    n = 4096
    arrays = [m.ndarray(m.f32, shape=k) for k in (n, n, n, 1)]
    for array in arrays[:2]:
        array.from_numpy(np.linspace(0, 1, n, dtype=np.float32))
    for label in ("first", "second"):
        timed(label, lambda: (generated.step(*arrays, n), m.sync()))
    print("JSON" + json.dumps(spent))


def measure(python: str, module: str, options: dict, args: argparse.Namespace, results: dict) -> None:
    """One round of all situations of one system."""
    with tempfile.TemporaryDirectory() as folder:
        env = environment(python) | {"HOME": folder, "XDG_CACHE_HOME": folder + "/xdg"}
        for situation, edit in SITUATIONS:
            source = Path(folder) / "generated.py"
            source.write_text(kernel_source(module, args.tasks, args.statements, args.tasks // 2 if edit else None))
            chosen = dict(options, offline_cache=False) if situation.startswith("uncached") else options
            command = [
                python,
                __file__,
                "--child",
                str(source),
                "--cache",
                folder + "/cache",
                "--module",
                module,
                "--arch",
                args.arch,
            ]
            command += ["--options", json.dumps(chosen)]
            done = subprocess.run(command, capture_output=True, text=True, env=env)
            found = [line for line in done.stdout.splitlines() if line.startswith("JSON")]
            if not found:
                raise SystemExit(f"{python} failed:\n{done.stdout}{done.stderr}")
            for column, value in json.loads(found[0][4:]).items():
                results.setdefault((situation, column), []).append(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--statements", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="append", default=[], help="name=PYTHON")
    parser.add_argument("--module", default="quadrants")
    parser.add_argument("--child")
    parser.add_argument("--cache")
    parser.add_argument("--options", default="{}")
    args = parser.parse_args()
    if args.child:
        return child(args)
    systems = {"ours": (sys.executable, {}), "ours per offload": (sys.executable, {"per_offload_cache": True})}
    systems |= {name: (python, {}) for name, python in (peer.split("=", 1) for peer in args.peer)}
    results: dict[str, dict] = {name: {} for name in systems}
    for _ in range(args.rounds):
        for name, (python, options) in systems.items():
            measure(python, args.module, options, args, results[name])
    print(f"one kernel of {args.tasks} loops, {args.statements} statements each; medians of {args.rounds}, ms")
    print(f"{'':28}" + "".join(f"{column:>10}" for column in COLUMNS))
    median = {name: {key: statistics.median(values) for key, values in rows.items()} for name, rows in results.items()}
    for name in systems:
        for situation, _ in SITUATIONS:
            print(
                f"{name + ', ' + situation:28}"
                + "".join(f"{median[name][situation, column]:10.1f}" for column in COLUMNS)
            )
    for name in systems:
        if not name.startswith("ours"):
            for own in ("ours", "ours per offload"):
                for situation, _ in SITUATIONS:
                    ratios = "".join(f"{median[own][situation, c] / median[name][situation, c]:10.3f}" for c in COLUMNS)
                    print(f"{own + ' / ' + name + ', ' + situation:28}" + ratios)


if __name__ == "__main__":
    main()
