"""Generated files are checked in; this fails when one does not match its table."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATORS = ("plugins-api/gen.py", "docs/gen_options.py")


def main() -> int:
    runs = [
        subprocess.run([sys.executable, str(ROOT / g), "--check"], cwd=ROOT, capture_output=True, text=True)
        for g in GENERATORS
    ]
    print("".join(run.stdout + run.stderr for run in runs).strip() or "generated: ok")
    return max(run.returncode for run in runs)


if __name__ == "__main__":
    sys.exit(main())
