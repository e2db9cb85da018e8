"""The command of a campaign, and its workers.

python -m programs --programs 100000 --seed 0 --jobs 2 --archs reference,cpu --out findings.jsonl
"""

import argparse
import faulthandler
import json
import os
import sys
import time

from programs import campaign, check

HANG = 60  # seconds for one program in one setting


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
    p.add_argument(
        "--out", default="", help="file that always holds what is known: totals, then findings, JSON, one a line"
    )
    p.add_argument("--worker", default="", help=argparse.SUPPRESS)
    p.add_argument("--skip", default="", help=argparse.SUPPRESS)
    p.add_argument("--until", type=float, default=0, help=argparse.SUPPRESS)
    return p.parse_args()


# ------------------------------------------------------------------------------------------------------------- worker
def worker(o):
    """Runs batches first, first + jobs, …; what it has to say goes to the real stdout, a JSON object a line."""
    first, path = o.worker.split(":", 1)
    skip = {int(s) for s in o.skip.split(",") if s}
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # reports of overflows in debug mode
    at = os.open(path, os.O_RDWR)

    def say(**what):
        print(json.dumps(what), file=out, flush=True)

    def progress(seed):
        os.pwrite(at, b"%20d" % seed, 0)
        faulthandler.dump_traceback_later(HANG, exit=True)  # a program that never ends counts as a crash

    seen = set()
    progress(o.seed)
    total = o.programs + o.broken
    for k in range(int(first), -(-total // o.batch), o.jobs):
        if time.monotonic() > o.until:
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


if __name__ == "__main__":
    given = options()
    if given.worker:
        worker(given)
    else:
        sys.exit(campaign.Campaign(given).run())
