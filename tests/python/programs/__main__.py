"""A campaign: many programs, several processes; a crash costs one program.

python -m programs --programs 100000 --seed 0 --jobs 2 --archs reference,cpu --out findings.jsonl
"""

import argparse
import collections
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import check, coverage

HANG = 30  # seconds for one program in one setting


def options():
    p = argparse.ArgumentParser(prog="programs", description=__doc__)
    p.add_argument("--programs", type=int, default=1000)
    p.add_argument("--broken", type=int, default=0, help="broken programs, beside the others")
    p.add_argument("--seed", type=int, default=0, help="number of the first program")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--archs", default="reference,cpu")
    p.add_argument(
        "--levels", type=int, default=3, help="optimisation levels of cpu that a batch is run at, drawn anew for each"
    )
    p.add_argument("--batch", type=int, default=50, help="programs a start of the runtime")
    p.add_argument("--seconds", type=float, default=1e9, help="no batch starts after that")
    p.add_argument("--out", default="", help="file for findings, a JSON object a line")
    p.add_argument("--worker", default="", help=argparse.SUPPRESS)
    p.add_argument("--skip", default="", help=argparse.SUPPRESS)
    return p.parse_args()


# ------------------------------------------------------------------------------------------------------------- worker
def worker(o):
    """Runs batches first, first + jobs, …; what it has to say goes to the real stdout, a JSON object a line."""
    first, path = o.worker.split(":", 1)
    skip = {int(s) for s in o.skip.split(",") if s}
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # reports of overflows in debug mode
    at = os.open(path, os.O_RDWR)
    started = time.monotonic()

    def say(**what):
        print(json.dumps(what), file=out, flush=True)

    def progress(seed):
        os.pwrite(at, b"%20d" % seed, 0)
        faulthandler.dump_traceback_later(HANG, exit=True)  # a program that never ends counts as a crash

    seen = set()
    progress(o.seed)
    total = o.programs + o.broken
    for k in range(int(first), -(-total // o.batch), o.jobs):
        if time.monotonic() - started > o.seconds:
            break
        seeds = [o.seed + s for s in range(k * o.batch, min((k + 1) * o.batch, total)) if o.seed + s not in skip]
        good, bad = [s for s in seeds if s < o.seed + o.programs], [s for s in seeds if s >= o.seed + o.programs]
        count = wrong = 0
        if good:
            count = check.batch(good, o.archs.split(","), lambda f: say(finding=f._asdict()), progress, seen, o.levels)
        if bad:
            from programs import broken

            wrong = broken.batch(bad, lambda f: say(finding=f._asdict()), progress)
        say(batch=k, programs=count, broken=wrong, seen=sorted(seen))


# ------------------------------------------------------------------------------------------------------------- parent
def run_worker(o, number, folder, totals):
    """Starts a worker; after a crash the next one goes on behind the program that did it."""
    path = folder / f"at{number}"
    path.write_text(" " * 20)
    command = [sys.executable, "-m", "programs", *sys.argv[1:], "--worker", f"{totals.next[number]}:{path}"]
    command += ["--skip", ",".join(map(str, totals.crashed[number]))]
    return path, subprocess.Popen(
        command,
        stdout=open(folder / f"out{number}.{len(totals.crashed[number])}", "w"),
        stderr=open(folder / f"err{number}", "w"),
    )


class Totals:
    def __init__(self, jobs):
        self.next = list(range(jobs))
        self.crashed = [[] for _ in range(jobs)]
        self.findings, self.seen = [], set()
        self.programs = self.broken = 0

    def read(self, path, number, jobs):
        for line in path.read_text().splitlines():
            said = json.loads(line)
            if "finding" in said:
                self.findings.append(said["finding"])
            else:
                self.programs += said["programs"]
                self.broken += said["broken"]
                self.seen |= set(said["seen"])
                self.next[number] = said["batch"] + jobs


def campaign(o):
    totals, started = Totals(o.jobs), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = {n: run_worker(o, n, folder, totals) for n in range(o.jobs)}
        while running:
            for number, (path, process) in list(running.items()):
                code = process.wait()
                totals.read(folder / f"out{number}.{len(totals.crashed[number])}", number, o.jobs)
                del running[number]
                if code:
                    at = path.read_text().strip()
                    detail = f"exit {code}: {(folder / f'err{number}').read_text()[-1500:]}"
                    totals.findings.append(check.Finding(int(at or -1), "crash", "", detail)._asdict())
                    if at and len(totals.crashed[number]) < 20:
                        totals.crashed[number].append(int(at))
                        running[number] = run_worker(o, number, folder, totals)
    if o.out:
        Path(o.out).write_text("".join(json.dumps(f) + "\n" for f in totals.findings))
    kinds = collections.Counter(f["kind"] for f in totals.findings)
    print(
        f"{totals.programs} programs and {totals.broken} broken ones in {time.monotonic() - started:.0f} s; findings: {dict(kinds) or 'none'}"
    )
    missing = coverage.missing_features(totals.seen)
    print(f"statements, operators and functions not reached: {missing or 'none'}")
    for f in totals.findings[:10]:
        print(f"  {f['seed']} {f['kind']} {f['where']}: {f['detail'][-300:]}")
    return 1 if totals.findings else 0


if __name__ == "__main__":
    given = options()
    if given.worker:
        worker(given)
    else:
        sys.exit(campaign(given))
