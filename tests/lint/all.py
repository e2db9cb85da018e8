"""Runs every lint of this folder, ruff and mypy; prints one verdict each; fails when one fails."""
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
    if subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary"], cwd=ROOT).returncode:  # some seconds; [tool.mypy] says what
        failed.append("mypy")
    print(f"lint: {len(failed)} of {len(CHECKS) + 2} checks failed" + (": " + ", ".join(failed) if failed else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
