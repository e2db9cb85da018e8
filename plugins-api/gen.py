"""Writes the files that are made of the tables: reference pages and the layout snapshot of the ABI.

    python plugins-api/gen.py            write them
    python plugins-api/gen.py --check    fail when one differs from its table (tests/lint/generated.py)

The layout is computed here from the headers by the rules of C for 64-bit targets, and tests/abi compares it with what compilers
do. A row of the snapshot may never change, only be added: a changed row is a broken plugin.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QD = ROOT / "plugins-api/include/qd"
LAYOUT = "tests/abi/layout.inc"
HEADERS = ("qd_backend.h", "wire.h", "ext_counts.h", "ext_names.h", "ext_streams.h")


def fields_of_row(text: str) -> list[str]:
    """Splits the arguments of one macro call at its top-level commas."""
    out, depth, quoted, start = [], 0, False, 0
    for i, ch in enumerate(text):
        if ch == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (ch in "([{") - (ch in ")]}")
            if ch == "," and depth == 0:
                out.append(text[start:i].strip())
                start = i + 1
    return [*out, text[start:].strip()]


def unquote(text: str) -> str:
    return text[1:-1].replace('\\"', '"') if text.startswith('"') else text


def rows_of(name: str, macro: str) -> list[tuple[str, list[str]]]:
    """(heading, fields) of every row of a table; headings are its `// ---` comments."""
    heading, out = "", []
    for line in (QD / name).read_text().splitlines():
        if line.startswith("// ---"):
            heading = line[6:].strip()
        elif line.startswith(macro + "("):
            out.append((heading, fields_of_row(line[len(macro) + 1 : line.rindex(")")])))
    return out


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def ops_page() -> str:
    out = [
        "# Operations",
        "",
        "Generated from `plugins-api/include/qd/ops.def` by `plugins-api/gen.py`; edit the table, not this page. The letters of",
        "operands are: `v` value, `c` truth value, `h` variable, `y` local array, `p` buffer parameter, `s` scalar parameter, `l` literal,",
        "`k` 64-bit constant. In a meaning `x` and `y` are the operands, of type `T`; `U` is `T` without sign; `R` the result type.",
    ]
    seen = None
    for number, (heading, row) in enumerate(rows_of("ops.def", "OP")):
        name, sig, classes, result, effect, flags, meaning, doc = row
        if heading != seen:
            seen = heading
            out += ["", "## " + heading[0].upper() + heading[1:], ""]
            out += [
                "| no. | operation | operands | of type | result | effect | flags | meaning |",
                "|---|---|---|---|---|---|---|---|",
            ]
        flags = "" if flags == "0" else flags.replace("|", ", ")
        text = unquote(doc) + ("" if meaning == "NOVALUE" else f"; `{meaning}`")
        operation = f"| {number} | `{name.rstrip('_')}` | `{unquote(sig)}` | {classes} | {result} | {effect} | {flags} "
        out.append(f"{operation}| {cell(text)} |".replace("`` |", "|"))
    return "\n".join(out) + "\n"


def options_page() -> str:
    out = [
        "# Compile options",
        "",
        "Generated from `plugins-api/include/qd/options.def` by `plugins-api/gen.py`. The column *changes* says which cache keys an option",
        "is part of: Code the key of generated code, Finish that of finished code only, None no key.",
        "",
        "| option | type | default | changes | what it does |",
        "|---|---|---|---|---|",
    ]
    for _, (name, kind, default, changes, doc) in rows_of("options.def", "OPTION"):
        out.append(f"| `{name}` | {kind} | {default} | {changes} | {cell(unquote(doc))} |")
    return "\n".join(out) + "\n"


SIZES = {f"{sign}int{8 * size}_t": size for size in (1, 2, 4, 8) for sign in ("u", "")} | {"char": 1, "QdbStatus": 4}


class Layout:
    """Offsets and sizes of the structs of our headers by the rules of C."""

    def __init__(self) -> None:
        self.types = {name: (size, size) for name, size in SIZES.items()}  # size, alignment
        self.rows: list[str] = []

    def members(self, body: str) -> list[tuple[str, str, int]]:
        """(type, name, array length) of each member; every pointer is type `*`."""
        out = []
        for part in filter(None, (p.strip() for p in body.split(";"))):
            function = re.match(r".*?\(QDB_CALL \*(\w+)\)", part, re.DOTALL)
            if function:
                out.append(("*", function[1], 1))
                continue
            kind, names = re.match(r"(?:const )?(\w+)\s*(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
            for name in names.split(","):
                array = re.search(r"\[(\d+)\]", name)
                bare = re.sub(r"\[\d+\]|\*|\s", "", name)
                out.append(("*" if "*" in name else kind, bare, int(array[1]) if array else 1))
        return out

    def add(self, text: str) -> None:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
        for name, body, end in re.findall(r"typedef struct (\w+) \{(.*?)\}\s*(\w+);", text, re.DOTALL):
            assert name == end, f"typedef struct {name} ... {end}"
            offset, alignment = 0, 1
            for kind, member, count in self.members(body):
                size, align = (8, 8) if kind == "*" else self.types[kind]
                if offset % align:
                    raise SystemExit(f"gen.py: {name}.{member} is at offset {offset}: the ABI has no implicit padding")
                self.rows.append(f"QD_MEMBER({name}, {member}, {offset}, {size * count})")
                offset, alignment = offset + size * count, max(alignment, align)
            if offset % alignment:
                raise SystemExit(f"gen.py: {name} ends at {offset}: the ABI has no implicit padding")
            self.types[name] = (offset, alignment)
            self.rows.append(f"QD_SIZE({name}, {offset}, {alignment})")


# Structs that grow at the end: their size may rise, everything else may not change.
GROWS = (
    "QdbHost QdbBackend QdbCaps QdbDeviceInfo QdbInstanceDesc QdbCompileReq QdbArtifactOut QdbMemInfo QdTestCounts QdExtNames QdExtStreams"
).split()


def layout_snapshot() -> str:
    layout = Layout()
    for header in HEADERS:
        layout.add((QD / header).read_text())
    old = (ROOT / LAYOUT).read_text().splitlines() if (ROOT / LAYOUT).exists() else []
    for row in old:
        grows = row.startswith("QD_SIZE") and row[8:].split(",")[0] in GROWS
        if row.startswith("QD_") and row not in layout.rows and not grows:
            raise SystemExit(
                f"gen.py: {row} of {LAYOUT} no longer holds: that breaks every plugin. Append instead, or raise QDB_ABI_MAJOR."
            )
    head = "/* Generated by plugins-api/gen.py: offset and size of every member of the ABI. Rows may be added, never changed. */\n"
    return head + "\n".join(layout.rows) + "\n"


def main() -> int:
    made = {"docs/ops.md": ops_page(), "docs/compile_options.md": options_page(), LAYOUT: layout_snapshot()}
    stale = []
    for name, text in made.items():
        path = ROOT / name
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv[1:]:
            stale.append(f"{name} differs from its table: run plugins-api/gen.py")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print("wrote", name)
    print("\n".join(stale), end="\n" if stale else "")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
