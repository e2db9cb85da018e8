"""Writes docs/init_options.md from the table of options in python/quadrants/lang/config.py.

    python docs/gen_options.py            writes the page
    python docs/gen_options.py --check    says whether it is as it would be written; exit code 1 when it isn't

The table is read as source: no build of the native module is needed, so lints can run this.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/init_options.md"
SOURCE = ROOT / "python/quadrants/lang/config.py"

# Defaults that depend on the machine, and accepted values, in words; keys are names in config.py.
DEFAULTS = {
    "list": "none",
    "_compile_threads": "the cores that the process may use, at most 16",
    "_cores": "the cores that the process may use",
    "default_cache_path": "`$XDG_CACHE_HOME` or `~/.cache`, then `quadrants/qdcache`",
}
ACCEPTED = {
    "FLAG": "`True` `False`",
    "INT": "integers",
    "COUNT": "integers from 0",
    "THREADS": "1 to 1024",
    "MOST_THREADS": "0 to 1024",
    "TEXT": "strings",
    "PATHS": "a list of paths, or one text with `:` between them",
    "FRACTION": "0 to 1",
    "AMOUNT": "numbers from 0",
    "FP": "`f32` `f64`",
    "IP": "`i32` `i64`",
    "PER_OFFLOAD": '`"auto"` `True` `False`',
    "LOG_LEVEL": "`trace` `debug` `info` `warn` `error` `critical` `off`",
    "POLICY": "`never` `version` `lru` `fifo`",
}
# What a change of an option does to what was cached. The front end's options are part of the code that it makes.
REACH = {
    "code": "compiles again: part of the key",
    "front": "compiles what it changes: the code differs",
    "core": "nothing",
    "host": "nothing",
    "none": "nothing",
}
NO_CODE = {
    *("num_compile_threads", "cpu_max_num_threads"),
    *("raise_on_templated_floats", "unrolling_limit", "print_full_traceback", "print_non_pure"),
}
SPECIAL = {
    "debug": "compiles again: part of the key",
    "offline_cache": "switches all disk tiers at once",
    "offline_cache_file_path": "another folder: what lies there counts",
    "per_offload_cache": "entries of the two granularities are different ones",
    "print_kernel_asm": "whole kernel, with this reason",
    "print_ir": "nothing; cached kernels show nothing",
}

HEAD = """# Options of qd.init

Generated from `python/quadrants/lang/config.py` by `docs/gen_options.py`.

Each is a keyword of `qd.init`, or `QD_<NAME>` in the environment (empty means unset; flags are integers, `0` is False; types `32` or `64`); a keyword wins,
with a warning. A bad value raises `TypeError` or `ValueError` that names option, value and what is accepted; an unknown keyword `KeyError` with the nearest
names. `qd.cfg` holds the options of the current runtime.

```python
import quadrants as qd

qd.init(arch=qd.cpu, default_fp=qd.f64, random_seed=7)
assert qd.cfg.default_fp is qd.f64
try:
    qd.init(arch=qd.cpu, opt_level=-1)
except ValueError as error:
    assert str(error) == "opt_level=-1: accepted are integers from 0"
```

Beside them, `qd.init` takes:

| argument | default | meaning |
|---|---|---|
| `arch` | `qd.cpu` | an arch, the name of one (also a plugin's own), or a list of which the first usable is taken; `QD_ARCH` overrides it |
| `enable_fallback` | `True` | when none is usable: the CPU with a warning, or with `False` a `RuntimeError` with every refusal |
| `require_version` | `None` | `"major.minor[.patch]"`: the same major version, not older, as this package or as the released system whose language it has (1.3.3) |

## Environment

| variable | effect |
|---|---|
| `QD_<NAME>` | an option of the table below |
| `QD_ARCH` | overrides the argument `arch` |
| `QD_ENABLE_<ARCH>=0` | forbids an arch |
| `QD_LOG_LEVEL` | the option `log_level` |
| `QD_LIB_DIR` `QD_BACKEND_PATH` | where plugins are looked for: [plugins](plugins.md) |
| `QD_DUMP_IR` `QD_LOAD_IR` | dumps and replacements: [debugging](debugging.md). `QUADRANTS_LOAD_PTX` is checked like `QD_LOAD_IR` |
| `QD_SHOW_COMPILING=1` | an info line for each kernel that is compiled |
| `QD_KERNEL_COVERAGE` `QD_COVERAGE_MAX_PROBES` | [coverage of kernels](language/coverage.md) |
| `QD_PERFDISPATCH_FORCE` `QD_PERFDISPATCH_PRINT_DEBUG` | choice and log of `qd.perf_dispatch` |
| `QD_GRAPH` `QD_CUDA_FORCE_FLAT_CHECKPOINT_GRAPH` | no effect: pieces of a graph kernel give the same results however they are launched |
| `QD_ENABLE_TORCH` `QD_ENABLE_PYBUF` | no effect: PyTorch is used when a program has imported it, output goes through Python |
| `QD_DUMP_CFG` `QD_DUMP_SIMPLIFY` `QD_DUMP_AST` `QD_DEBUG_ADSTACK` | no effect: `QD_DUMP_IR` shows every stage there is |
| `QD_VISIBLE_DEVICE` `QD_TMP_DIR` `QD_ENABLE_HIP_MEMPOOL` | no effect: Vulkan and AMD backends only |
"""


def _default(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return DEFAULTS[node.id]
    if isinstance(node, ast.Attribute):
        return f"`{node.attr}`"
    value = eval(compile(ast.Expression(node), str(SOURCE), "eval"), {})  # noqa: S307 - a literal such as 100 << 20
    return "100 MiB" if value == 100 << 20 else f"`{value!r}`"


def rows() -> tuple[list[dict[str, str]], dict[str, list[str]]]:
    """Options in the table's order, and the names of ignored ones by reason."""
    tree = ast.parse(SOURCE.read_text())
    table = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "OPTIONS"
    )
    assert isinstance(table, ast.Tuple)
    found: list[dict[str, str]] = []
    ignored: dict[str, list[str]] = {}
    for element in table.elts:
        if isinstance(element, ast.Starred):
            call = element.value
            assert isinstance(call, ast.Call) and isinstance(call.args[0], ast.Constant)
            ignored.setdefault(call.args[0].value, []).extend(k.arg or "" for k in call.keywords)
            continue
        assert isinstance(element, ast.Call)
        name, default, kind, reach, doc = element.args
        assert isinstance(name, ast.Constant) and isinstance(kind, ast.Name)
        assert isinstance(reach, ast.Constant) and isinstance(doc, ast.Constant)
        found.append(
            {
                "name": name.value,
                "default": _default(default),
                "accepted": ACCEPTED[kind.id],
                "reach": reach.value.partition(":")[0],
                "doc": doc.value,
            }
        )
    return found, ignored


def effect(row: dict[str, str]) -> str:
    """What changing an option does to cached code."""
    if row["name"] in SPECIAL:
        return SPECIAL[row["name"]]
    return "nothing" if row["name"] in NO_CODE else REACH[row["reach"]]


def page() -> str:
    found, ignored = rows()
    lines = [HEAD, "## Options", "", "| option | default | accepted | meaning |", "|---|---|---|---|"]
    lines += [f"| `{row['name']}` | {row['default']} | {row['accepted']} | {row['doc']} |" for row in found]
    lines += [
        "",
        "## Flags and caches",
        "",
        "What a change of an option does to kernels that were cached before. Nothing on disk is used or touched with `offline_cache=False`, whatever the others say.",
        "",
        "| option | effect on cached kernels |",
        "|---|---|",
    ]
    lines += [f"| `{row['name']}` | {effect(row)} |" for row in found]
    lines += [
        "",
        "| `offline_cache` | `src_ll_cache` | `per_offload_cache` | reads and writes files | one entry holds |",
        "|---|---|---|---|---|",
        "| `True` | `True` | `True` | yes | a task |",
        "| `True` | `True` | `False` | yes | a kernel |",
        "| `True` | `False` | any | yes, but none of the source tier | as above |",
        "| `False` | any | any | no | a kernel, in memory |",
        "",
        '`per_offload_cache="auto"` is `True` or `False` as the backend prefers; see [caching](caching.md).',
        "",
        "## Accepted without effect",
        "",
        "Programs written for the released system pass these; they are checked and do nothing.",
        "",
        "| options | why |",
        "|---|---|",
    ]
    lines += [f"| {' '.join(f'`{name}`' for name in names)} | {reason} |" for reason, names in ignored.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print(f"{PAGE.relative_to(ROOT)} does not match config.py: run docs/gen_options.py")
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
