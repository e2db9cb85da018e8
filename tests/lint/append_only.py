"""Rows of the wire tables are never reordered or removed: their order is the encoding. The record of what was published is
tests/lint/rows.txt; this check fails when a recorded row moved, and `--update` appends new rows to the record."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
API = ROOT / "plugins-api/include/qd"
RECORD = ROOT / "tests/lint/rows.txt"
TABLES = {"ops.def": "OP", "types.def": "TYPE", "options.def": "OPTION", "status.def": "STATUS"}


def rows() -> list[str]:
    found = []
    for table, macro in TABLES.items():
        names = re.findall(rf"^{macro}\(\s*(\w+)", (API / table).read_text(), re.M)
        found += [f"{table} {number} {name}" for number, name in enumerate(names)]
    return found


def main() -> int:
    now = rows()
    recorded = RECORD.read_text().splitlines() if RECORD.exists() else []
    gone = [row for row in recorded if row not in now]
    new = [row for row in now if row not in recorded]
    if "--update" in sys.argv and not gone:
        RECORD.write_text("\n".join(now) + "\n")
        new = []
    for row in gone:
        print(f"append-only: `{row}` was published and is not there any more")
    for row in new:
        print(
            f"append-only: `{row}` is not recorded; run tests/lint/append_only.py --update and add a line to plugins-api/CHANGELOG.md"
        )
    if not gone and not new:
        print("append-only: ok")
    return bool(gone or new)


if __name__ == "__main__":
    sys.exit(main())
