"""The source tier: a kernel whose sources and captured values are what an earlier process saw is loaded without parsing.

Two small entries make a hit. Under the key of a kernel (its text, its argument kinds, this front end, the core) lie the
lists of what the front end read, by name. This process reads the same names, and the values it finds, together with the
list, are the key of the plan. A list can be shared by many sets of values, so two instances of a class, or two values of
a global, don't push each other out. Reading by the list is done by the very `Recorder` of a walk: it makes the guards.
"""

import json
import os
import sys
from typing import Any

import numpy as np

from quadrants import _native
from quadrants.lang import config
from quadrants.lang.forms import Forms, NoForm
from quadrants.lang.forms import signature as signature_form
from quadrants.lang.frontend import arguments, errors, reports, results
from quadrants.lang.frontend.arguments import argument_form
from quadrants.lang.func import Func
from quadrants.lang.guards import Recorder

VERSION = 1  # of what is stored here
LISTS = 32  # lists of names kept for a kernel: they differ where what is read depends on what was read
# Options that decide about the code that the front end makes.
OPTIONS = (*(option.name for option in config.OPTIONS if option.reach == "front"), "fast_math")

_front_end = ""


def front_end_digest() -> str:
    """Digest of all Python files of the package: an upgrade never takes an entry of its predecessor."""
    global _front_end
    if not _front_end:
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        parts = []
        for folder, folders, files in os.walk(root, followlinks=True):  # of a build tree, whose folders are links
            folders[:] = sorted(name for name in folders if name not in ("__pycache__", "plugins"))
            for name in sorted(files):
                if name.endswith((".py", ".pyc")):  # a package may be installed without its sources
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        parts.append(b"%s\0%s\0" % (os.path.relpath(path, root).encode(), file.read()))
        _front_end = _native.digest(b"".join(parts)).hex()
    return _front_end


def _text(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode(errors="surrogatepass")


def active(runtime: Any) -> bool:
    """Whether this runtime has a source tier. Dumps want to see kernels, so they switch it off."""
    options = runtime.options
    return bool(
        options["src_ll_cache"]
        and options["offline_cache"]
        and not options["print_ir"]
        and not config.switched_on("QD_DUMP_IR")
        and not config.switched_on("QD_LOAD_IR")
        and runtime.coverage is None  # a probe is known to the walk that made it
    )


class Key:
    """The key of a kernel for these arguments, with its parts by name."""

    def __init__(self, kernel: Any, values: Any, runtime: Any) -> None:
        options = {name: runtime.options[name] for name in OPTIONS}
        signature = kernel.signature
        self.parts: dict[str, Any] = {
            "format": VERSION,
            "Python": [sys.implementation.cache_tag, sys.hexversion, np.__version__],
            "core": _native.__build_id__,
            "front end": front_end_digest(),
            "arch": runtime.context.arch,
            "kernel": kernel.__qualname__,
            "source": kernel.source.digest(),
            "decorator": [kernel.fastcache],
            "annotations": signature_form(Forms(), signature),
            "options": {k: v.name if isinstance(v, _native.DataType) else v for k, v in options.items()},
            "arguments": [
                argument_form(kernel, k, name, t, v)
                for k, (name, t, v) in enumerate(zip(signature.names, signature.types, values))
            ],
        }
        self.digest = _native.digest(_text(self.parts))


# ------------------------------------------------------------------------------------------------------------- reading
class Found:
    """A kernel from the tier: what KernelObject.add takes."""

    __slots__ = ("args", "executable", "guards", "plan", "result", "sites", "words")
    args: list[Any]
    executable: Any
    guards: Any
    plan: bytes
    result: Any
    sites: list[Any]
    words: list[Any]


def read_again(kernel: Any, values: Any, steps: Any) -> Recorder | None:
    """Reads what an earlier walk read; None when something isn't there any more."""
    rec = Recorder()
    types = kernel.signature.types
    rec.begin(kernel.func, arguments.owners(types, values))
    for annotation, value in zip(types, values):
        if annotation is not None and arguments.by_value(annotation, value):
            rec._content(value)
    try:
        for kind, number, name in steps:
            owner = rec.forms.objects[number]
            if kind == "m":
                rec.member(kernel, owner, name)
            elif kind == "p":
                rec.passed(owner, name)
            elif kind == "n":
                rec.name(owner.fn if type(owner) is Func else owner, name)
            else:
                rec.attribute(owner, name)
    except Exception:  # a name that is gone, a property that fails: the walk will say it
        return None
    return None if rec.unstable or rec.steps != steps else rec


def plan_key(key: Key, rec: Recorder) -> bytes:
    """The key of the plan: the kernel's, what was read and what was found."""
    return _native.digest(key.digest + _text([rec.steps, rec.seen]))


def lists_of(context: Any, key: Key) -> list[Any]:
    """The lists of names kept for a kernel, the latest first: [steps, key of the latest plan]."""
    stored = context.recall("source", key.digest)
    return [] if stored is None else json.loads(stored)


def load(kernel: Any, values: Any, context: Any, key: Key, seen: Any) -> Found | None:
    """The kernel from the tier, or None. `seen` gets the observations."""
    for steps, _ in lists_of(context, key):
        rec = read_again(kernel, values, steps)
        if rec is None:
            continue
        stored = context.recall("plan", plan_key(key, rec))
        if stored is None:
            continue
        size = int.from_bytes(stored[:4], "little")
        meta = json.loads(stored[4 : 4 + size])
        seen.cache_validated = True
        out = Found()
        out.plan = stored[4 + size :]
        out.executable = context.compile_plan(out.plan, meta["result_bytes"])
        if out.executable is None:
            return None
        seen.cache_loaded = True
        _unpack(out, meta, kernel, values, rec)
        return out
    return None


def _unpack(out, meta, kernel, values, rec):
    def source(number):
        return kernel.source if number == 0 else rec.forms.objects[number].source

    def piece(p):
        return p if type(p) is str else (getattr(_native, p[0]), None if p[1] is None else tuple(p[1]), p[2])

    objects = rec.forms.objects
    out.guards = rec.guards
    held = list(values)  # arguments, and behind them their members as the plan numbers them
    out.args = []
    for k, stored in enumerate(meta["args"]):
        if k >= len(held):
            owner = held[stored[1]]
            held.append(owner[stored[2]] if type(owner) is dict else getattr(owner, stored[2]))
        out.args.append(_argument_plan(stored, held[k]))
    out.words = [("buffer", objects[word[1]].buffer) if word[0] == "buffer" else tuple(word) for word in meta["words"]]
    declared = kernel.signature.returns
    out.result = results.decoder(meta["returns"], None if declared is None else results.resolve_types(declared))
    out.sites = [
        reports.Site(failure, [piece(p) for p in pieces], [(source(n), errors.Place(*at)) for n, *at in where])
        for failure, pieces, where in meta["sites"]
    ]
    for number, at, kind, text in meta["warnings"]:
        errors.give(source(number), errors.Place(*at), kind, text)


def _argument_plan(stored, value):
    if stored[0] == "member":
        return (*stored[:3], _argument_plan(stored[3], value))
    tag, what = stored
    if tag == "template":
        return (tag, value)
    if tag == "instance":
        return (tag, type(value))
    if tag == "scalar":
        return (tag, getattr(_native, what))
    return (tag, [getattr(_native, t) for t in what] if tag == "scalars" else what)


# ------------------------------------------------------------------------------------------------------------- writing
def store(kernel: Any, context: Any, key: Key, walk: Any, executable: Any, seen: Any) -> None:
    """Keeps a kernel that was just walked; a debug line says why one can't be kept."""
    rec = walk.recorder
    try:
        if rec.unstable:
            raise NoForm(rec.unstable)
        meta = _packed(kernel, key, walk, executable)
    except NoForm as why:
        say_why(kernel, why)
        return
    head = _text(meta)
    plan = plan_key(key, rec)
    context.remember("plan", plan, len(head).to_bytes(4, "little") + head + executable.plan)
    kept = [one for one in lists_of(context, key) if one[0] != rec.steps]
    context.remember("source", key.digest, _text([[rec.steps, plan.hex()], *kept][:LISTS]))
    seen.cache_stored = True


def say_why(kernel: Any, why: Any) -> None:
    """The debug line for a kernel that the tier can't keep."""
    _native.log("debug", f'kernel "{kernel.name}" is parsed in every process: {why}')


def _packed(kernel, key, walk, executable):
    rec = walk.recorder
    objects = rec.forms.objects
    memory = {id(o.buffer): n for n, o in reversed(list(enumerate(objects))) if hasattr(type(o), "_live")}
    sources = {id(kernel.source): 0, **{id(o.source): n for n, o in enumerate(objects) if type(o) is Func}}

    def number(table, x, what):
        found = table.get(id(x))
        if found is None:
            raise NoForm(f"{what} that was reached through something unrecorded")
        return found

    def place(at):
        return at.lineno, at.col_offset, at.end_lineno, at.end_col_offset

    def site(s):
        where = [(number(sources, src, "a function"), *place(at)) for src, at in s.where]
        return [s.failure, [p if type(p) is str else [p[0].name, p[1], p[2]] for p in s.pieces], where]

    def word(one):
        if one[0] == "buffer":
            return ["buffer", number(memory, one[1], "memory")]
        if one[0] != "arg" or len(one) != 3:
            raise NoForm("a word of its arguments is of a kind that is not recorded")
        return list(one)

    return {
        "kernel": kernel.__qualname__,
        "parts": key.parts,
        "steps": [*[None] * (len(rec.seen) - len(rec.steps)), *rec.steps],
        "seen": rec.seen,
        "args": [_stored_argument(a) for a in walk.args],
        "words": [word(one) for one in walk.words],
        "returns": walk.returns,
        "sites": [site(s) for s in walk.sites],
        "warnings": [
            [number(sources, src, "a function"), place(at), kind, text] for src, at, kind, text in rec.warned.values()
        ],
        "result_bytes": executable.result_bytes,
    }


def _stored_argument(a):
    tag = a[0]
    if tag == "member" and len(a) == 4:
        return [*a[:3], _stored_argument(a[3])]
    if len(a) != 2 or tag not in ("template", "instance", "scalar", "scalars", "array", "mapping"):
        raise NoForm("an argument is of a kind that is not recorded")
    if tag == "template" or tag == "instance":
        return [tag, None]
    if tag == "scalar":
        return [tag, a[1].name]
    return [tag, [t.name for t in a[1]] if tag == "scalars" else a[1]]
