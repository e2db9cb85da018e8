"""`python -m quadrants cache ...`: the folder of compiled code for people: what is there, what is damaged, why something
was compiled again, cleaning, and taking entries from one machine to another."""

import argparse
import fnmatch
import io
import json
import os
import re
import runpy
import sys
import tarfile
import time
from typing import Any

from quadrants import _native
from quadrants.lang import config

_PLACE = re.compile(r"[a-z0-9_]{1,31}/([0-9a-f]{2})/\1[0-9a-f]{62}")
_UNITS = ("B", "KiB", "MiB", "GiB")


def _size(count: float) -> str:
    unit = 0
    while count >= 1024 and unit + 1 < len(_UNITS):
        count, unit = count / 1024, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def _age(used: int, now: float) -> str:
    seconds = max(now - used, 0)
    for length, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {name}"
    return f"{seconds:.0f} s"


def _table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())


def default_root() -> str:
    """The root that a program with no options of its own would use."""
    return config.resolve({}, lambda message: None)["offline_cache_file_path"]


def meta_of(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """What the source tier noted beside a plan, and the plan."""
    size = int.from_bytes(payload[:4], "little")
    return json.loads(payload[4 : 4 + size]), payload[4 + size :]


class _Plans:
    """The plans of a cache with what is known of them; each is read once."""

    def __init__(self, root: str, entries: list[dict[str, Any]]) -> None:
        self.found = []
        for entry in entries:
            if entry["tier"] != "plan" or entry["problem"]:
                continue
            payload = _native.cache_read(root, entry["path"])
            if payload is not None:
                meta, plan = meta_of(payload)
                self.found.append((entry, meta, plan))

    def names(self) -> dict[str, str]:
        """Kernel by digest of its tasks, and by that of all tasks together."""
        return {digest: meta["kernel"] for _, meta, plan in self.found for _, digest in _native.plan_tasks(plan)}


def _kernels_of(entry: dict[str, Any], names: dict[str, str]) -> list[str]:
    found = {names[d] for name, d in entry["components"].items() if name.startswith("task") and d in names}
    return sorted(found)


def info(root: str, as_json: bool) -> int:
    """Per tier and backend: entries, bytes, hits, oldest and latest use; damaged entries by name."""
    now = time.time()
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    damaged = []
    for e in _native.cache_list(root):
        if e["problem"]:
            damaged.append({"path": e["path"], "problem": e["problem"]})
        g = groups.setdefault(
            (e["tier"], e["arch"] or "?"),
            {"entries": 0, "bytes": 0, "payload_bytes": 0, "hits": 0, "oldest": now, "latest": 0},
        )
        g["entries"] += 1
        g["bytes"] += e["file_bytes"]
        g["payload_bytes"] += e["payload_bytes"]
        g["hits"] += e["hits"]
        g["oldest"], g["latest"] = min(g["oldest"], e["used"]), max(g["latest"], e["used"])
    rows = [{"tier": tier, "arch": arch, **g} for (tier, arch), g in sorted(groups.items())]
    total = {name: sum(r[name] for r in rows) for name in ("entries", "bytes", "hits")}
    if as_json:
        print(json.dumps({"path": root, "tiers": rows, "damaged": damaged, **total}))
        return 0
    print(f"{root}: {total['entries']} entries, {_size(total['bytes'])}, {total['hits']} hits, {len(damaged)} damaged")
    if rows:
        shown = [
            (r["tier"], r["arch"], str(r["entries"]), _size(r["bytes"]), str(r["hits"]), _age(r["oldest"], now),
             _age(r["latest"], now))
            for r in rows
        ]  # fmt: skip
        _table([("tier", "backend", "entries", "on disk", "hits", "oldest use", "latest use"), *shown])
    for e in damaged:
        print(f"{e['path']}: {e['problem']}")
    return 0


def list_(root: str, as_json: bool) -> int:
    """Every entry with its kernel where that is known, the least recently used first."""
    entries = _native.cache_list(root)
    plans = _Plans(root, entries)
    names = plans.names()
    by_path = {entry["path"]: meta["kernel"] for entry, meta, _ in plans.found}
    entries.sort(key=lambda e: (e["used"], e["path"]))
    for e in entries:
        e["kernels"] = [by_path[e["path"]]] if e["path"] in by_path else _kernels_of(e, names)
    if as_json:
        print(json.dumps({"path": root, "entries": entries}))
        return 0
    now = time.time()
    rows = [
        (e["path"][: len(e["tier"]) + 16], e["arch"], _size(e["file_bytes"]), str(e["hits"]), _age(e["used"], now),
         e["problem"] or ", ".join(e["kernels"]))
        for e in entries
    ]  # fmt: skip
    _table([("entry", "backend", "on disk", "hits", "last use", "kernel"), *rows])
    return 0


def verify(root: str, as_json: bool) -> int:
    """Reads and checks every entry; 1 when one is damaged. Damaged entries are harmless: they count as absent."""
    entries = _native.cache_list(root, whole=True)
    bad = [e for e in entries if e["problem"]]
    if as_json:
        print(json.dumps({"path": root, "entries": len(entries), "damaged": bad}))
    else:
        for e in bad:
            print(f"{e['path']}: {e['problem']}")
        print(f"{len(entries)} entries checked, {len(bad)} damaged")
    return 1 if bad else 0


def clean(root: str, as_json: bool, everything: bool, max_size: int | None) -> int:
    """Removes damaged entries, and by the policy what is over the bound."""
    values = config.resolve({}, lambda message: None)
    bound = 0 if everything else values["offline_cache_max_size_of_files"] if max_size is None else max_size
    if bound == 0 and not everything and max_size is None:
        bound = 2**63 - 1  # the option's 0: no bound
    policy = values["offline_cache_cleaning_policy"]
    factor = 0.0 if max_size is not None else values["offline_cache_cleaning_factor"]
    before = _native.cache_list(root)
    files, freed = _native.cache_clean(root, "lru" if policy == "never" else policy, bound, factor)
    left = {e["path"] for e in _native.cache_list(root)}
    gone = [e for e in before if e["path"] not in left]
    tiers = {
        tier: {
            "files": len(of),
            "bytes": sum(e["file_bytes"] for e in of),
            "damaged": sum(bool(e["problem"]) for e in of),
        }
        for tier in sorted({e["tier"] for e in gone})
        for of in [[e for e in gone if e["tier"] == tier]]
    }
    if as_json:
        print(json.dumps({"path": root, "files": files, "bytes": freed, "tiers": tiers}))
        return 0
    print(f"{files} entries removed, {_size(freed)} freed")
    for tier, t in tiers.items():
        damaged = f", {t['damaged']} of them damaged" if t["damaged"] else ""
        print(f"  {tier}: {t['files']} entries, {_size(t['bytes'])}{damaged}")
    return 0


# ------------------------------------------------------------------------------------------------- export and import
def _wanted(root: str, patterns: list[str]) -> list[dict[str, Any]]:
    """Entries of the kernels that match a pattern, through all tiers; all entries without a pattern."""
    entries = [e for e in _native.cache_list(root) if not e["problem"]]
    if not patterns:
        return entries
    plans = _Plans(root, entries)
    paths: set[str] = set()
    tasks: set[Any] = set()
    keys: set[Any] = set()
    for entry, meta, plan in plans.found:
        if any(fnmatch.fnmatch(meta["kernel"], p) for p in patterns):
            paths.add(entry["path"])
            keys.add(entry["key"])
            tasks.update(digest for _, digest in _native.plan_tasks(plan))
    artifacts = set()
    for e in entries:
        if e["tier"] == "artifact" and tasks.intersection(e["components"].values()):
            paths.add(e["path"])
            artifacts.add(e["payload_digest"])
    for e in entries:
        if e["tier"] == "finished" and e["components"].get("artifact") in artifacts:
            paths.add(e["path"])
        if e["tier"] == "source":
            stored = _native.cache_read(root, e["path"])
            if stored is not None and keys.intersection(last for _, last in json.loads(stored)):
                paths.add(e["path"])
    return [e for e in entries if e["path"] in paths]


def export(root: str, as_json: bool, file: str, patterns: list[str]) -> int:
    """Packs entries into a tar file. The same entries give the same bytes."""
    chosen = _wanted(root, patterns)
    packed = 0
    with tarfile.open(file, "w") as tar:
        for e in sorted(chosen, key=lambda e: e["path"]):
            try:
                with open(os.path.join(root, e["path"]), "rb") as one:
                    data = one.read()
            except OSError:  # cleaned meanwhile
                continue
            member = tarfile.TarInfo(e["path"])
            member.size, member.mode = len(data), 0o600
            tar.addfile(member, io.BytesIO(data))
            packed += 1
    if as_json:
        print(json.dumps({"path": root, "file": file, "entries": packed}))
    else:
        print(f"{packed} entries packed into {file}, {_size(os.path.getsize(file))}")
    return 0 if packed or not patterns else 1


def import_(root: str, as_json: bool, file: str) -> int:
    """Unpacks a tar file of `export`. Each entry is checked before it is published; its place follows from its content."""
    taken, refused = 0, []
    with tarfile.open(file, "r") as tar:
        for member in tar:
            data = tar.extractfile(member) if member.isfile() and _PLACE.fullmatch(member.name) else None
            why = "it is no entry" if data is None else _native.cache_import(root, data.read())
            if why:
                refused.append((member.name, why))
            else:
                taken += 1
    if as_json:
        print(json.dumps({"path": root, "entries": taken, "refused": refused}))
    else:
        for name, why in refused:
            print(f"{name}: refused, {why}", file=sys.stderr)
        print(f"{taken} entries published in {root}, {len(refused)} refused")
    return 1 if refused else 0


# ------------------------------------------------------------------------------------------------------------ explain
def _differences(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    """What of a kernel's inputs changed, by name."""
    out = []
    for name, value in new["parts"].items():
        was = old["parts"].get(name)
        if was == value:
            continue
        if isinstance(value, dict) and isinstance(was, dict):
            out += [f"{name} {k}: {was.get(k)!r} -> {v!r}" for k, v in value.items() if was.get(k) != v]
        elif name in ("source", "core", "front end"):
            out.append({"source": "the text of the kernel", "core": "the core was rebuilt or upgraded"}.get(
                name, "the package's Python files were changed or upgraded"
            ))  # fmt: skip
        else:
            out.append(f"{name}: {was!r} -> {value!r}")
    was_read = {json.dumps(step): seen for step, seen in zip(old["steps"], old["seen"])}
    for step, seen in zip(new["steps"], new["seen"]):
        was = was_read.get(json.dumps(step))
        if was != seen and json.dumps(step) in was_read:
            out.append(f"{_where(step)}: {_what(was)} -> {_what(seen)}")
    return out


def _where(step: Any) -> str:
    if step is None:
        return "a compile-time argument"
    return f"the name {step[2]!r}" if step[0] == "n" else f"the attribute {step[2]!r}"


def _what(form: Any) -> str:
    if isinstance(form, list) and form:
        if form[0] == "float":
            return str(float.fromhex(form[1]))
        if form[0] == "function":
            return f"function {form[1]} (text {form[2][:8]})"
        return json.dumps(form)[:100]
    return json.dumps(form)


def explanations(root: str, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For every kernel that a program compiled since `before` was listed: the inputs that differ from the nearest
    kernel of that name that the cache had, and the tasks whose code is new."""
    old_paths = {e["path"] for e in before}
    now = _native.cache_list(root)
    old = _Plans(root, [e for e in now if e["path"] in old_paths])
    new = _Plans(root, [e for e in now if e["path"] not in old_paths])
    fresh = [e for e in now if e["path"] not in old_paths and e["tier"] == "artifact"]
    out = []
    for _, meta, plan in new.found:
        same = [
            (_differences(meta, was), was_plan) for _, was, was_plan in old.found if was["kernel"] == meta["kernel"]
        ]
        tasks = _native.plan_tasks(plan)
        row: dict[str, Any] = {"kernel": meta["kernel"], "tasks": len(tasks) - 1, "found": bool(same)}
        if same:
            row["differs"], nearest = min(same, key=lambda one: len(one[0]))
            known = {digest for _, digest in _native.plan_tasks(nearest)}
            row["changed_tasks"] = [name for name, digest in tasks[:-1] if digest not in known]
        else:
            row["differs"], row["changed_tasks"] = [], [name for name, _ in tasks[:-1]]
        digests = {digest for _, digest in tasks}
        row["compiled"] = sum(bool(digests.intersection(e["components"].values())) for e in fresh)
        row["rebuilt_for"] = sorted({name for e in fresh if digests.intersection(e["components"].values())
                                     for name in _other_components(e, now, old_paths)})  # fmt: skip
        out.append(row)
    return out


def _other_components(entry, entries, old_paths):
    """Names of the components in which an artifact differs from one of the same tasks that was there before."""
    tasks = {n: d for n, d in entry["components"].items() if n.startswith("task")}
    for e in entries:
        if e["path"] in old_paths and e["tier"] == "artifact" and tasks == {
            n: d for n, d in e["components"].items() if n.startswith("task")
        }:  # fmt: skip
            return [n for n, d in entry["components"].items() if e["components"].get(n) != d]
    return []


def explain(as_json: bool, program: str, arguments: list[str]) -> int:
    """Runs a program and says of each kernel that was compiled or parsed again why."""
    from quadrants.lang import impl

    listed: dict[str, list[dict[str, Any]]] = {}
    runtime = impl.get_runtime()
    start = type(runtime).start

    def starting(self: Any, context: Any, arch: Any, values: dict[str, Any]) -> None:
        root = values["offline_cache_file_path"]
        if values["offline_cache"] and root not in listed:
            listed[root] = _native.cache_list(root)
        start(self, context, arch, values)

    type(runtime).start = starting  # type: ignore[method-assign]
    saved, sys.argv = sys.argv, [program, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        type(runtime).start = start  # type: ignore[method-assign]
        sys.argv = saved
        sys.path.pop(0)
    rows = [row for root, before in listed.items() for row in explanations(root, before)]
    if as_json:
        print(json.dumps(rows))
        return 0
    if not rows:
        print("nothing was compiled again")
    for row in rows:
        changed = f"{len(row['changed_tasks'])} of {row['tasks']} tasks have other code"
        if not row["found"]:
            print(f"{row['kernel']}: the cache had no kernel of this name; {row['tasks']} tasks")
            continue
        print(
            f"{row['kernel']}: {changed}" + (f": {', '.join(row['changed_tasks'][:8])}" if row["changed_tasks"] else "")
        )
        for line in row["differs"] or ["what was read by name is the same: its list of names was lost or is another"]:
            print(f"  {line}")
        if row["rebuilt_for"]:
            print(f"  the code was there for another {', '.join(row['rebuilt_for'])}")
    return 0


def _bytes(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"expected a number of bytes, 0 or more, found {text!r}")
    return int(text)


def main(arguments: list[str]) -> int:
    """Runs `cache COMMAND`; exits with 2 for wrong usage, and for files that can't be read or written."""
    if arguments[:1] == ["explain"]:  # errors of the program are the program's
        return _run(arguments)
    try:
        return _run(arguments)
    except tarfile.TarError as why:
        message = f"the file is none that `export` wrote: {str(why).splitlines()[0]}"
    except OSError as why:
        message = str(why)
    print(f"python -m quadrants cache {arguments[0]}: {message}", file=sys.stderr)
    return 2


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m quadrants cache")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="machine-readable output")
    common.add_argument("--root", help="another folder than that of a program without options")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("info", "entries and bytes per tier and backend"),
        ("list", "every entry, with its kernel"),
        ("verify", "reads and checks every entry"),
        ("path", "the folder"),
    ):
        commands.add_parser(name, help=text, parents=[common])
    one = commands.add_parser("clean", help="removes damaged entries and what is over the bound", parents=[common])
    one.add_argument("--all", action="store_true", help="removes everything")
    one.add_argument("--max-size", type=_bytes, help="bytes that may stay; default: the option's bound")
    one = commands.add_parser(
        "explain", help="runs a program and says what was compiled again, and why", parents=[common]
    )
    one.add_argument("program")
    one.add_argument("arguments", nargs=argparse.REMAINDER)
    one = commands.add_parser("export", help="packs the entries of kernels into a tar file", parents=[common])
    one.add_argument("file")
    one.add_argument("kernels", nargs="*", help="names or patterns; none: everything")
    one = commands.add_parser("import", help="publishes the entries of a tar file", parents=[common])
    one.add_argument("file")
    a = parser.parse_args(arguments)
    root = a.root or default_root()
    if a.command == "explain":
        return explain(a.json, a.program, a.arguments)
    if a.command == "path":
        print(json.dumps({"path": root}) if a.json else root)
        return 0
    if a.command == "clean":
        return clean(root, a.json, a.all, a.max_size)
    if a.command == "export":
        return export(root, a.json, a.file, a.kernels)
    if a.command == "import":
        return import_(root, a.json, a.file)
    return {"info": info, "list": list_, "verify": verify}[a.command](root, a.json)
