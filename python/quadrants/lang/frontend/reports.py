"""Sites of the report buffer: `print`, `assert` and bounds checks. A record carries the site's number and its values,
each widened to 64 bits; text, function and line stay here on the host and are never part of the code.
"""

import itertools
import re
import string
import struct

import numpy as np

from quadrants._native import Value, Var
from quadrants.lang.exception import QuadrantsAssertionError, QuadrantsSyntaxError
from quadrants.lang.forms import plain
from quadrants.lang.frontend import errors
from quadrants.lang.frontend.print_formats import check, show
from quadrants.lang.values import MATRICES, RECORDS, SCALARS, dtype_of, element, load


class Site:
    """How one site's record is shown. `pieces`: strings, and (dtype, (n, m, ndim) or None, format spec) for values."""

    __slots__ = ("failure", "pieces", "where")

    def __init__(self, failure, pieces, where=()):
        self.failure, self.pieces, self.where = failure, pieces, where  # where: of errors.trail

    def render(self, words) -> str:
        out, k = [], 0
        for p in self.pieces:
            if isinstance(p, str):
                out.append(p)
                continue
            dtype, dims, spec = p
            if dims is None:
                out.append(show(dtype, _number(dtype, words[k]), spec))
                k += 1
            else:
                n, m, ndim = dims
                cells = [show(dtype, _number(dtype, v), spec) for v in words[k : k + n * m]]
                k += n * m
                if ndim == 1:
                    out.append(f"[{', '.join(cells)}]")
                else:
                    rows = (", ".join(cells[i * m : i * m + m]) for i in range(n))
                    out.append("[" + ", ".join(f"[{r}]" for r in rows) + "]")
        return "".join(out)


def _number(dtype, word):
    raw = struct.pack("<Q", word & 0xFFFFFFFFFFFFFFFF)
    if dtype.is_real:
        return struct.unpack("<d", raw)[0]
    return struct.unpack("<q" if dtype.is_signed else "<Q", raw)[0]


def widen(w, values):
    """Values as 64-bit words: reals as f64, integers by their sign."""
    b = w.b
    out = []
    for v in values:
        dt = dtype_of(w, v)
        out.append(b.cast(v, w.f64 if dt.is_real else w.i64 if dt.is_signed else w.u64))
    return out


def bounds(w, acc, index, node):
    """Emits the check of one access and returns the value "it is inside", or None when that is known."""
    b, ok = w.b, None
    for k, (v, size) in enumerate(zip(index, acc.shape)):
        low = acc.low[k] if acc.low else 0
        if type(v) is int and type(size) is int:
            if low <= v < low + size:
                continue
            inside = b.const(False)
        else:
            inside = b.lt(v, low + size if type(size) is int else size)
            if not (type(v) is int and v >= low):
                inside = b.logical_and(b.ge(v, low), inside)
        ok = inside if ok is None else b.logical_and(ok, inside)
    if ok is None:
        return None
    name = acc.name or acc.what.lower()
    pieces = [f"Accessing {acc.what.lower()} '{name}' of size ("]
    for k in range(acc.ndim):
        pieces += [", " if k else "", (w.i64, None, "")]
    pieces.append(") with indices (")
    for k, v in enumerate(index):
        pieces += [", " if k else "", (dtype_of(w, v), None, "")]
    pieces.append(")" + (f", first index {acc.low}" if acc.low else ""))
    fail(w, ok, pieces, [b.cast(s, w.i64) for s in acc.shape] + list(index), node)
    return ok


def fail(w, ok, pieces, values, node):
    """Reports a failure where `ok` does not hold."""
    b = w.b
    site = w.add_site(Site(True, pieces, errors.trail(w, node)))
    b.when(b.logical_not(ok))
    b.report(site, True, widen(w, values))
    b.end()


def pieces_of(w, value, spec=""):
    """(pieces, scalars) of anything that can be printed."""
    value = load(w, value)
    kind = type(value)
    if isinstance(value, Text):
        return value.pieces, value.values
    if kind is str:
        return [value], []
    if kind in SCALARS or kind is Var:
        dt = dtype_of(w, value)
        check(dt, spec)
        return [(dt, None, spec)], [value]
    if kind in MATRICES:
        data = [element(w, value, k) for k in range(value.n * value.m)]
        dt = dtype_of(w, data[0])
        check(dt, spec)
        return [(dt, (value.n, value.m, value.ndim), spec)], data
    if kind in RECORDS or kind is dict:
        pieces, scalars = ["{"], []
        for k, (name, e) in enumerate((value if kind is dict else value.members).items()):
            p, s = pieces_of(w, e, spec)
            pieces += [", "] * (k > 0) + [f"{name!r}: ", *p]
            scalars += s
        return [*pieces, "}"], scalars
    if kind in (list, tuple):
        pieces, scalars = ["["], []
        for k, v in enumerate(value):
            p, s = pieces_of(w, v)
            pieces += [", "] * (k > 0) + p
            scalars += s
        return [*pieces, "]"], scalars
    if not plain(value):
        w.rec.cannot(f"it prints an object of type {kind.__name__}, whose text may differ from process to process")
    return [str(getattr(value, "obj", None) or value)], []


class Text:
    """A string with kernel values in it: an f-string, `.format` or `%`."""

    __slots__ = ("pieces", "values")

    def __init__(self, pieces, values):
        self.pieces, self.values = pieces, values

    def __str__(self):  # for static_print: values of the kernel are shown by their types
        return "".join(p if type(p) is str else str(p[0]) for p in self.pieces)


def _known(value) -> bool:
    kind = type(value)
    if kind in (list, tuple):
        return all(map(_known, value))
    return kind in (bool, int, float, str, type(None)) or isinstance(value, np.generic)


def inserted(w, value, spec=""):
    """`pieces_of` for a place in a formatted string: what is known without a kernel has Python's text."""
    return ([str(value)], []) if not spec and _known(value) else pieces_of(w, value, spec)


def formatted(w, template: str, args, kwargs) -> Text:
    """`template.format(*args, **kwargs)`."""
    pieces, values, used = [], [], set()
    fields = _fields(template)
    for literal, field, spec in fields:
        if literal:
            pieces.append(literal)
        if field is None:
            continue
        used.add(field)
        if type(field) is str and field not in kwargs:
            raise QuadrantsSyntaxError(f"Keyword '{field}' not found.")
        if type(field) is int and field >= len(args):
            continue  # counted below
        p, s = inserted(w, args[field] if type(field) is int else kwargs[field], spec or "")
        pieces += p
        values += s
    positional = 1 + max((f for f in used if type(f) is int), default=-1)
    if positional != len(args):
        raise QuadrantsSyntaxError(f"Expected {positional} positional argument(s), but received {len(args)} instead.")
    for name in kwargs:
        if name not in used:
            raise QuadrantsSyntaxError(f"Keyword '{name}' not used.")
    return Text(pieces, values)


def _fields(template):
    """[(text before, position or name or None, specification)] of a template of `str.format`."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as e:
        raise QuadrantsSyntaxError(f"{e}: '{template}'") from None
    names = [field for _, field, _, _ in parts if field is not None]
    if "" in names and any(n.isdigit() for n in names):
        raise QuadrantsSyntaxError(f"fields with and without a number cannot be mixed: '{template}'")
    auto = itertools.count()
    out = []
    for literal, field, spec, _ in parts:
        out.append((literal, next(auto) if field == "" else int(field) if field and field.isdigit() else field, spec))
    return out


def percent(w, template: str, args) -> Text:
    """`template % args`."""
    args = list(args) if type(args) in (tuple, list) else [args]
    pieces, values = [], []
    for part in re.split(r"(%[-+ #0]*\d*(?:\.\d+)?[hlL]*[diouxXeEfFgGcrs%])", template):
        if part == "%%":
            pieces.append("%")
        elif len(part) > 1 and part[0] == "%":
            if not args:
                raise QuadrantsSyntaxError("not enough arguments for format string")
            p, s = inserted(w, args.pop(0), part[1:].rstrip("rs"))
            pieces += p
            values += s
        elif part:
            pieces.append(part)
    if args:
        raise QuadrantsSyntaxError("not all arguments converted during string formatting")
    return Text(pieces, values)


def emit_print(w, args, sep, end):
    """A print site: the record is shown on the host after the launch."""
    pieces, values = [], []
    for k, a in enumerate(args):
        if k:
            pieces.append(sep)
        p, s = pieces_of(w, a)
        pieces += p
        values += s
    pieces.append(end)
    w.b.report(w.add_site(Site(False, pieces)), False, widen(w, values))


def deliver(sites, kernel_name, reports):
    """Prints what was printed and raises the first failure. `reports`: (site, task, iteration, values) in order."""
    failure = None
    for site, _task, _iteration, values in reports:
        s = sites[site]
        if s.failure:
            failure = failure or (s, values)
        else:
            print(s.render(values) + errors.shown(s.where), end="", flush=True)
    if failure is not None:
        s, values = failure
        raise QuadrantsAssertionError(f"(kernel={kernel_name}) {s.render(values)}\n{errors.shown(s.where)}")


__all__ = ["Site", "Text", "Value", "bounds", "deliver", "emit_print", "fail", "formatted", "percent", "pieces_of"]
