"""Errors with file, line, source line and caret, and the chain of inlined calls that led there.

Nothing is recorded while all goes well: handlers name the syntax node they work on `node`, so the innermost node of a
failure is read from the traceback's frames.
"""

import ast
import sys
import warnings

from quadrants import _logging
from quadrants.lang import exception as ex

_OURS = ex.QuadrantsCompilationError
_wrapped = {}


def innermost(tb) -> ast.AST | None:
    """The node that the innermost handler of a traceback was working on."""
    found = None
    while tb is not None:
        node = tb.tb_frame.f_locals.get("node") if "frontend" in tb.tb_frame.f_code.co_filename else None
        if isinstance(node, ast.AST) and hasattr(node, "lineno"):
            found = node
        tb = tb.tb_next
    return found


class Place:
    """Where a syntax node stands in its source, without the node."""

    __slots__ = ("col_offset", "end_col_offset", "end_lineno", "lineno")

    def __init__(self, lineno, col_offset, end_lineno, end_col_offset):
        self.lineno, self.col_offset = lineno, col_offset
        self.end_lineno, self.end_col_offset = end_lineno, end_col_offset


def trail(w, node) -> list:
    """(source, place) of a node behind those of the inlined calls that led there."""
    out = []
    for k, (source, _) in enumerate(w.frames):
        at = w.frames[k + 1][1] if k + 1 < len(w.frames) else node
        if at is not None:
            end = getattr(at, "end_lineno", None), getattr(at, "end_col_offset", None)
            out.append((source, Place(at.lineno, at.col_offset, *end)))
    return out


def shown(where) -> str:
    """The text of a trail: file, line, source line and caret of each."""
    return "".join(place(source, at) for source, at in where)


_KINDS = {kind.__name__: kind for kind in (SyntaxWarning, UserWarning, DeprecationWarning)}


def warn(w, text, node, kind="SyntaxWarning", source=None):
    """Notes a warning at a node: of a class by name, or a line of the "log". It is given when the walk has ended, once for a
    line of the source, and again by a kernel that comes from the cache."""
    source = source or w.source
    end = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
    at = Place(node.lineno, node.col_offset, *end)
    w.rec.warned.setdefault((kind, id(source), node.lineno, text), (source, at, kind, text))


def give(source, at, kind, text):
    """Gives a noted warning."""
    if kind == "log":
        _logging.warn(place(source, at) + text)
    else:
        warnings.warn_explicit(text, _KINDS[kind], source.file, source.line(at))


def current_node():
    """The syntax node that the handlers on the stack work on."""
    frame = sys._getframe(1)
    while frame is not None:
        found = frame.f_locals.get("node")
        if isinstance(found, ast.AST) and hasattr(found, "lineno"):
            return found
        frame = frame.f_back
    return None


def place(source, node) -> str:
    """`File "f.py", line 3, in k:`, the source line and a caret under the node's columns."""
    head = f'File "{source.file}", line {source.line(node)}, in {source.name}:\n'
    k = node.lineno - 1
    if not 0 <= k < len(source.lines):
        return head
    raw = source.lines[k].rstrip("\n")
    text = raw.encode()
    start = len(text[: node.col_offset].decode(errors="replace"))
    stop = len(raw)
    if getattr(node, "end_lineno", None) == node.lineno:
        stop = len(text[: node.end_col_offset].decode(errors="replace"))
    return f"{head}{raw}\n{' ' * start}{'^' * max(stop - start, 1)}\n"


def _whole(source):
    """The `def` of a function; None for one whose text is not there or does not parse."""
    try:
        return source.tree
    except (_OURS, SyntaxError):
        return None


def located(error: Exception, frames) -> Exception:
    """The same error with its position in front. `frames` is a list of (source, call node), outermost first; the call
    node is where the previous function calls this one."""
    node = innermost(error.__traceback__)
    text = ""
    for k, (source, _) in enumerate(frames):
        at = frames[k + 1][1] if k + 1 < len(frames) else node
        at = _whole(source) if at is None else at
        if at is not None:
            text += place(source, at)
    message = error.msg if isinstance(error, ex.QuadrantsSyntaxError) and getattr(error, "msg", None) else str(error)
    if isinstance(error, _OURS):
        return type(error)("\n" + text + message)
    if isinstance(error, KeyError):
        message = f"KeyError: {error}"
    return _wrapper(type(error))("\n" + text + (message or type(error).__name__))


def _wrapper(kind):
    """QuadrantsCompilationError that is also a `kind`, so that callers may catch either."""
    if kind not in _wrapped:
        try:
            text = {"__module__": _OURS.__module__, "__str__": Exception.__str__}  # a KeyError would show the repr
            _wrapped[kind] = type("QuadrantsCompilationError", (_OURS, kind), text)
            _wrapped[kind]("probe")
        except TypeError:
            _wrapped[kind] = _OURS
    return _wrapped[kind]
