"""Source lists are explicit; this fails when a C++ file is named by no CMakeLists.txt, so that none is forgotten."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    names = subprocess.run(
        ["git", "ls-files", "*.cpp", "*.c"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    lists = subprocess.run(
        ["git", "ls-files", "*CMakeLists.txt", "*.cmake"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    text = "\n".join((ROOT / name).read_text() for name in lists)
    lost = [name for name in names if Path(name).name not in text and Path(name).stem not in text]
    for name in lost:
        print(f"sources: {name} is named by no CMakeLists.txt")
    if not lost:
        print("sources: ok")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())
