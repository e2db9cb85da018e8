"""Generated files are checked in; this fails when one does not match its table."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    run = subprocess.run([sys.executable, str(ROOT / "plugins-api/gen.py"), "--check"], cwd=ROOT, capture_output=True, text=True)
    print((run.stdout + run.stderr).strip() or "generated: ok")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
