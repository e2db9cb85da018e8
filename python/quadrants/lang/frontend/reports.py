"""Sites of the report buffer: `print`, `assert` and bounds checks. A record carries the site's number and its values,
each widened to 64 bits; text, function and line stay here on the host and are never part of the code.
"""

import struct

from quadrants._native import Value, Var
from quadrants.lang.exception import QuadrantsAssertionError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.forms import plain
from quadrants.lang.frontend import errors
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
                out.append(_show(dtype, words[k], spec))
                k += 1
            else:
                n, m, ndim = dims
                cells = [_show(dtype, v, spec) for v in words[k : k + n * m]]
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


def _show(dtype, word, spec):
    v = _number(dtype, word)
    if spec:
        return format(v, spec)
    if dtype.is_real:
        return f"{v:.12f}" if dtype.size == 8 else f"{v:f}"
    return str(v)


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
        _check_spec(dt, spec)
        return [(dt, None, spec)], [value]
    if kind in MATRICES:
        data = [element(w, value, k) for k in range(value.n * value.m)]
        dt = dtype_of(w, data[0])
        _check_spec(dt, spec)
        return [(dt, (value.n, value.m, value.ndim), spec)], data
    if kind in RECORDS:
        pieces, scalars = ["{"], []
        for k, (name, e) in enumerate(value.members.items()):
            p, s = pieces_of(w, e, spec)
            pieces += [", "] * (k > 0) + [f"'{name}': "] + p
            scalars += s
        return [*pieces, "}"], scalars
    if kind in (list, tuple):
        pieces, scalars = ["[" if kind is list else "("], []
        for k, v in enumerate(value):
            p, s = pieces_of(w, v)
            pieces += [", "] * (k > 0) + p
            scalars += s
        return pieces + ["]" if kind is list else ")"], scalars
    if not plain(value):
        w.rec.cannot(f"it prints an object of type {kind.__name__}, whose text may differ from process to process")
    return [str(getattr(value, "obj", None) or value)], []


def _check_spec(dtype, spec):
    if not spec:
        return
    if spec[-1] in "dxXobcu" and dtype.is_real or spec[-1] in "feEgGF" and not dtype.is_real:
        raise QuadrantsTypeError(f"'{spec}' doesn't match '{dtype}'.")
    try:
        format(1.0 if dtype.is_real else 1, spec)
    except ValueError as e:
        raise QuadrantsTypeError(f"'{spec}' is no format specification for '{dtype}': {e}.") from None


class Text:
    """A string with kernel values in it: an f-string, `.format` or `%`."""

    __slots__ = ("pieces", "values")

    def __init__(self, pieces, values):
        self.pieces, self.values = pieces, values


def formatted(w, template: str, args, kwargs) -> Text:
    """`template.format(*args, **kwargs)`."""
    import string

    pieces, values, auto = [], [], 0
    for literal, field, spec, _ in string.Formatter().parse(template):
        if literal:
            pieces.append(literal)
        if field is None:
            continue
        if field == "":
            field, auto = str(auto), auto + 1
        if field.isdigit():
            if int(field) >= len(args):
                raise QuadrantsSyntaxError(f"Replacement index {field} out of range for positional args tuple")
            v = args[int(field)]
        elif field in kwargs:
            v = kwargs[field]
        else:
            raise QuadrantsSyntaxError(f"format field {{{field}}} names no argument")
        p, s = pieces_of(w, v, spec or "")
        pieces += p
        values += s
    return Text(pieces, values)


def percent(w, template: str, args) -> Text:
    """`template % args`."""
    import re

    args = list(args) if type(args) in (tuple, list) else [args]
    pieces, values = [], []
    for part in re.split(r"(%[-+ #0]*\d*(?:\.\d+)?[hlL]*[diouxXeEfFgGcrs%])", template):
        if part == "%%":
            pieces.append("%")
        elif len(part) > 1 and part[0] == "%":
            if not args:
                raise QuadrantsSyntaxError("not enough arguments for format string")
            spec = part[1:].rstrip("rs").replace("l", "").replace("i", "d").replace("u", "d")
            p, s = pieces_of(w, args.pop(0), spec)
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
