"""The parent of a campaign: starts workers, follows what they say, keeps the totals on disk.

A crash, a hang or a lost device costs one program: the next worker goes on behind it. Totals are written every few
seconds and once more at the end, on SIGTERM and Ctrl-C too, so that nothing known is lost with the campaign.
"""

import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import check, coverage

PATIENCE = 90  # seconds that batches may go on for after --seconds
WRITE_EVERY = 2  # seconds
CRASHES = 50  # of one worker's share, then it is given up


class Worker:
    """One share of the batches: the process that runs it now, and how far it is."""

    def __init__(self, number, folder):
        self.number, self.folder = number, folder
        self.next, self.crashed = number, []
        self.process = self.output = None
        self.rest = ""

    def start(self, until):
        name = f"{self.number}.{len(self.crashed)}"
        self.at, self.errors, said = (self.folder / f"{kind}{name}" for kind in ("at", "err", "out"))
        self.at.write_text(" " * 20)
        command = [sys.executable, "-m", "programs", *sys.argv[1:], "--until", str(until)]
        command += ["--worker", f"{self.next}:{self.at}", "--skip", ",".join(map(str, self.crashed))]
        with open(said, "w") as out, open(self.errors, "w") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err)
        self.output, self.rest = open(said), ""

    def said(self):
        """The whole lines that came since the last time."""
        *lines, self.rest = (self.rest + self.output.read()).split("\n")
        return [json.loads(line) for line in lines]

    def crash(self):
        """What a crash is reported as; whether another process can go on behind it."""
        seed = int(self.at.read_text().strip() or -1)
        detail = f"exit {self.process.returncode}: {self.errors.read_text(errors='replace')[-1500:]}"
        again = seed >= 0 and len(self.crashed) < CRASHES
        self.crashed.append(seed)
        return check.Finding(seed, "crash", "", detail)._asdict(), again


class Campaign:
    def __init__(self, options):
        self.o = options
        self.findings = {}  # by program and place: a batch that crashed is run again
        self.seen = set()
        self.programs = self.broken = 0
        self.started, self.stopped = time.monotonic(), ""

    # -------------------------------------------------------------------------------------------------------- running
    def run(self):
        """The exit code: 1 when something was found."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda got, _: setattr(self, "stopped", signal.Signals(got).name))
        self.write()  # a place that can't be written is known at once
        until = self.started + self.o.seconds
        with tempfile.TemporaryDirectory() as name:
            workers = [Worker(n, Path(name)) for n in range(self.o.jobs)]
            for w in workers:
                w.start(until)
            self.follow(workers, until)
        self.write()
        self.print()
        return 1 if self.findings else 0

    def follow(self, running, until):
        written = time.monotonic()
        while running:
            time.sleep(0.1)
            if time.monotonic() > until + PATIENCE:
                self.stopped = self.stopped or f"batches that went on {PATIENCE} s after the end"
            if self.stopped:
                for w in running:
                    w.process.kill()
            running = [w for w in running if self.still_running(w, until)]
            if time.monotonic() > written + WRITE_EVERY:
                self.write()
                written = time.monotonic()

    def still_running(self, w, until):
        code = w.process.poll() if not self.stopped else w.process.wait()
        for line in w.said():
            self.take(w, line)
        if code is None:
            return True
        w.output.close()
        if not code or self.stopped:
            return False
        found, again = w.crash()
        self.add(found)
        if again:
            w.start(until)
        return again

    def take(self, w, line):
        if "finding" in line:
            self.add(line["finding"])
            return
        self.programs += line["programs"]
        self.broken += line["broken"]
        self.seen |= set(line["seen"])
        w.next = line["batch"] + self.o.jobs

    def add(self, finding):
        self.findings.setdefault((finding["seed"], finding["kind"], finding["where"]), finding)

    # ------------------------------------------------------------------------------------------------------ reporting
    def totals(self):
        return {
            "programs": self.programs,
            "broken": self.broken,
            "seconds": round(time.monotonic() - self.started),
            "findings": dict(collections.Counter(f["kind"] for f in self.findings.values())),
            "not_reached": coverage.missing_features(self.seen),
            "stopped_by": self.stopped,
            "command": sys.argv[1:],
        }

    def write(self):
        if not self.o.out:
            return
        fresh = Path(f"{self.o.out}.new")
        lines = [{"totals": self.totals()}, *self.findings.values()]
        fresh.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.replace(fresh, self.o.out)

    def print(self):
        t = self.totals()
        print(
            f"{t['programs']} programs and {t['broken']} broken ones in {t['seconds']} s; findings: {t['findings'] or 'none'}"
        )
        if self.stopped:
            print(f"stopped by {self.stopped}")
        print(f"statements, operators and functions not reached: {t['not_reached'] or 'none'}")
        for f in list(self.findings.values())[:10]:
            print(f"  {f['seed']} {f['kind']} {f['where']}: {f['detail'][-300:]}")
