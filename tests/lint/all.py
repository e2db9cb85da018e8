"""Runs every lint of this folder, ruff and mypy; prints one verdict each; fails when one fails."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OURS = ("layering", "sizes", "append_only", "generated", "sources")
TOOLS = {  # what they read is said in pyproject.toml; mypy takes some seconds
    "ruff": ("ruff", "check", "-q"),
    "ruff format": ("ruff", "format", "-q", "--check"),
    "mypy": ("mypy", "--no-error-summary"),
}
CHECKS = {name: (str(HERE / f"{name}.py"),) for name in OURS} | {name: ("-m", *call) for name, call in TOOLS.items()}


def main() -> int:
    failed = [
        name for name, call in CHECKS.items() if subprocess.run([sys.executable, *call], cwd=HERE.parents[1]).returncode
    ]
    print(f"lint: {len(failed)} of {len(CHECKS)} checks failed" + (": " + ", ".join(failed) if failed else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
