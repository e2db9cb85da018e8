"""The arrows between layers (docs/architecture.md) are checked from the #includes: a list of allowed pairs, nothing else."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("plugins-api", "cache", "core", "backends", "python", "tests", "benchmarks")
ALLOWED = {
    "plugins-api": {"plugins-api"},
    "cache": {"cache"},
    "core": {"core", "cache", "plugins-api"},
    "backends": {"backends", "plugins-api"},
    "python": {"python", "core", "plugins-api"},
    "tests": set(LAYERS),
    "benchmarks": set(LAYERS),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
LLVM = re.compile(r"llvm", re.I)


def layer_of(include: str, source: Path) -> str | None:
    """Layer that an #include names: by its first folder, or the public headers, or the source's own folder."""
    if include.startswith("qd/"):
        return "plugins-api"
    first = include.split("/")[0]
    if first in LAYERS:
        return first
    if (source.parent / include).exists():
        return source.relative_to(ROOT).parts[0]
    return None


def backend_of(path: str) -> str:
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def main() -> int:
    faults = []
    for layer in LAYERS:
        for source in sorted((ROOT / layer).rglob("*")):
            if source.suffix not in {".cpp", ".hpp", ".h", ".def", ".inc"}:
                continue
            text = source.read_text(errors="replace")
            where = source.relative_to(ROOT)
            for include in INCLUDE.findall(text):
                target = layer_of(include, source)
                if target is None:
                    faults.append(f'{where}: #include "{include}" names no layer and no file beside it')
                elif target not in ALLOWED[layer]:
                    faults.append(f'{where}: {layer} may not include {target} ("{include}")')
                elif layer == "backends" and target == "backends" and include.startswith("backends/"):
                    mine, other = where.parts[1], backend_of(include)
                    if other not in (mine, "common"):
                        faults.append(f'{where}: backend {mine} may not include backend {other} ("{include}")')
            if layer in ("core", "cache", "python") and re.search(r'#\s*include\s*[<"]llvm', text):
                faults.append(f"{where}: only LLVM backends may include LLVM")
    print("\n".join(faults) or "layering: ok")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
