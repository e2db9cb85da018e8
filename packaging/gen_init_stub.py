"""Writes python/quadrants/__init__.pyi from the table of public names, so that type checkers see what `import quadrants` gives.

`python packaging/gen_init_stub.py` rewrites it; a test compares. The table is read from the text: nothing is imported.
"""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "quadrants"
HEAD = '"""Public names for type checkers. Written by packaging/gen_init_stub.py; not edited by hand."""\n# ruff: noqa: I001 - sorted as text\n\n'


def tables(text: str) -> tuple[dict[str, str], str]:
    """`_NAMES` and `_TYPES` of the package's __init__."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
    types = ast.literal_eval(found["_TYPES"])
    names = {}
    for key, value in zip(found["_NAMES"].keys, found["_NAMES"].values):
        names[ast.literal_eval(key)] = types if isinstance(value, ast.Name) else ast.literal_eval(value)
    return names, types


def stub(text: str) -> str:
    """Text of the stub for the text of __init__.py."""
    names, types = tables(text)
    long = {"f": "float", "i": "int", "u": "uint"}
    lines, aliases = ["from typing import Any\n"], []
    for module in sorted(names):
        for name in sorted(names[module].split()):
            source = f"quadrants.{module}" if module else "quadrants"
            lines.append(f"from {source} import {name} as {name}\n")
            if names[module] is types:
                aliases.append(f"{long[name[0]] + name[1:]} = {name}\n")
    lines.append("from quadrants._version import __version__ as __version__\n")
    lines.append("from quadrants._version import __version_str__ as __version_str__\n")
    imports = "".join(sorted(set(lines), key=lambda line: (line != lines[0], line)))
    return HEAD + imports + "\ncfg: Any\n" + "".join(aliases)


if __name__ == "__main__":
    (PACKAGE / "__init__.pyi").write_text(stub((PACKAGE / "__init__.py").read_text()))
