"""Files stay under 500 lines. Prints lines per folder, so that growth is seen at each change."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 500
CODE = {".cpp", ".hpp", ".h", ".c", ".py", ".def", ".cmake", ".inc"}
# Tables whose rows are data; a reason for each.
EXEMPT = {"python/quadrants/_native.pyi": "a contract read as one page"}


def main() -> int:
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    totals: Counter[str] = Counter()
    faults = []
    for name in filter(None, names):
        path = ROOT / name
        if path.suffix not in CODE or not path.is_file():
            continue
        lines = path.read_text(errors="replace").count("\n")
        parts = Path(name).parts
        nested = parts[0] in ("core", "backends", "python", "tests") and len(parts) > 2
        totals["/".join(parts[: 1 + nested])] += lines
        if lines > LIMIT and name not in EXEMPT:
            faults.append(f"{name}: {lines} lines, at most {LIMIT}; look for the missing table")
    for folder, lines in sorted(totals.items()):
        print(f"{lines:7d}  {folder}")
    print("\n".join(faults) or "sizes: ok")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
