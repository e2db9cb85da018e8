"""Runs every lint of this folder and ruff; prints one verdict each; fails when one fails."""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHECKS = ("layering", "sizes", "append_only", "generated", "sources")


def main() -> int:
    failed = [name for name in CHECKS if subprocess.run([sys.executable, str(HERE / f"{name}.py")], cwd=ROOT).returncode]
    ruff = subprocess.run([sys.executable, "-m", "ruff", "check", "-q", "python", "tests", "examples", "benchmarks", "plugins-api"], cwd=ROOT)
    if ruff.returncode:
        failed.append("ruff")
    print(f"lint: {len(failed)} of {len(CHECKS) + 1} checks failed" + (": " + ", ".join(failed) if failed else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
