"""The front end alone: CPU time of the calling thread from a kernel's first call to its IR; ours against peers, alternating.

Programs: one kernel of many loops (as in compile_time.py) and, with --programs FILE, each `test_*(fresh)` function of that file, where
`fresh(**options)` initialises (a file of acceptance programs). Each process runs each program several times, so that it is warm, and the
smallest time counts; tiers on disk are off. Prints the ratio of each program and the median.
"""

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compile_time import environment, kernel_source


class Clock:
    """Adds up the CPU time spent inside the wrapped functions, the outermost call of nested ones."""

    def __init__(self) -> None:
        self.spent, self.depth = 0.0, 0

    def wrap(self, owner: object, name: str) -> None:
        inner = getattr(owner, name)

        def timed(*args, **kwargs):
            began = time.thread_time()
            self.depth += 1
            try:
                return inner(*args, **kwargs)
            finally:
                self.depth -= 1
                if not self.depth:
                    self.spent += time.thread_time() - began

        setattr(owner, name, timed)


def wrap_front_end(clock: Clock, module) -> None:
    """Ours: the walk that gives the IR. A system of the older API: the method that makes a kernel's IR from its Python text."""
    try:
        from quadrants.lang.frontend import driver
    except ImportError:

        @module.kernel
        def probe():
            pass

        return clock.wrap(type(probe._primal), "materialize")
    clock.wrap(driver, "walk")


def load(path: str, name: str):
    spec = importlib.util.spec_from_file_location(name, path)
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def programs_of(args: argparse.Namespace, module) -> dict:
    """Name to function of no argument."""
    options = {"arch": module.cpu, "offline_cache": False, "log_level": "error"}

    def loops():
        module.init(**options)
        step = load(args.loops, "generated").step
        arrays = [module.ndarray(module.f32, shape=64) for _ in range(4)]
        step(*arrays, 64)

    found = {"loops": loops}
    if args.programs:

        def fresh(**more):
            module.init(**(options | more))

        for name, function in vars(load(args.programs, "programs")).items():
            if name.startswith("test_") and function.__code__.co_varnames[: function.__code__.co_argcount] == (
                "fresh",
            ):
                found[name] = lambda function=function: function(fresh)
    return found


def child(args: argparse.Namespace) -> None:
    """One process: prints a JSON line of program to milliseconds."""
    module = __import__("quadrants")
    clock, best = Clock(), {}
    wrap_front_end(clock, module)
    for name, program in programs_of(args, module).items():
        for _ in range(args.repeats):
            clock.spent = 0.0
            try:
                program()
            except Exception as why:  # what a peer can't do says nothing about its speed
                print(f"{name} left out: {type(why).__name__}", file=sys.stderr)
                best.pop(name, None)
                break
            best[name] = min(best.get(name, float("inf")), clock.spent * 1e3)
            module.reset()
    print("JSON" + json.dumps(best))


def run(python: str, source: Path, args: argparse.Namespace) -> dict:
    command = [python, __file__, "--child", "--loops", str(source), "--repeats", str(args.repeats)]
    command += ["--programs", args.programs] if args.programs else []
    done = subprocess.run(command, capture_output=True, text=True, env=environment(python))
    lines = [line for line in done.stdout.splitlines() if line.startswith("JSON")]
    if not lines:
        raise SystemExit(f"{python} failed:\n{done.stdout}{done.stderr}")
    return json.loads(lines[0][4:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--programs", default="", help="a file of test_*(fresh) functions")
    parser.add_argument("--peer", action="append", default=[], help="name=PYTHON")
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--loops")
    args = parser.parse_args()
    if args.child:
        return child(args)
    systems = {"ours": sys.executable} | dict(peer.split("=", 1) for peer in args.peer)
    best: dict[str, dict] = {name: {} for name in systems}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "generated.py"
        source.write_text(kernel_source("quadrants", args.tasks, 20, None))
        for _ in range(args.rounds):
            for name, python in systems.items():
                for program, spent in run(python, source, args).items():
                    best[name][program] = min(best[name].get(program, float("inf")), spent)
    print(
        f"front end, ms of CPU time, smallest of {args.rounds} x {args.repeats}"
        + " " * 8
        + "".join(f"{name:>10}" for name in systems)
    )
    both = [program for program in best["ours"] if all(program in found for found in best.values())]
    for program in both:
        row = "".join(f"{best[name][program]:10.2f}" for name in systems)
        print(
            f"{program:56}{row}"
            + "".join(
                f"   {best['ours'][program] / best[name][program]:.3f} of {name}" for name in systems if name != "ours"
            )
        )
    for name in systems:
        if name != "ours":
            print(f"median ratio to {name}: {statistics.median(best['ours'][p] / best[name][p] for p in both):.3f}")


if __name__ == "__main__":
    main()
