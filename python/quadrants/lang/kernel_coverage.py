"""Line and branch coverage of kernels, in the format of coverage.py: `QD_KERNEL_COVERAGE=1`.

A kernel that is compiled while this is on stores a 1 into a buffer of its own at each statement (and, when branches are
asked for, behind each decision). The buffers are read when the runtime ends; at exit a process writes what it ran to
`_qd_kcov.<pid>` in the folder where it started. The pytest plugin merges those files into the session's data.
"""

import ast
import os
from collections.abc import Iterable
from typing import Any

from quadrants import _logging, _native
from quadrants.lang import config
from quadrants.lang.exception import QuadrantsRuntimeError

FILE = "_qd_kcov."
MAX_PROBES = 100_000
Hit = tuple[str, int, int]  # file, line and line for a statement; file, line and where it went for a branch

_found: set[Hit] = set()
_folder = ""
_handed_over = False  # somebody else writes what was found


class Recorder:
    """The kernels of one runtime that report. `arcs`: branches too."""

    def __init__(self) -> None:
        self.arcs = config.switched_on("_QD_KCOV_ARC")
        self.left = _limit()
        self.kernels: list[tuple[Any, list[Hit]]] = []
        self.said = False

    def is_full(self) -> bool:
        """Whether no probe is left; the first time it warns."""
        if self.left <= 0 and not self.said:
            self.said = True
            _logging.warn(
                "Kernel coverage: all probes of QD_COVERAGE_MAX_PROBES are used, what is compiled now reports nothing."
            )
        return self.left <= 0

    def collect(self) -> None:
        """Takes over what the kernels of this runtime have reached so far."""
        for buffer, hits in self.kernels:
            memory = bytearray(buffer.size)
            buffer.copy_out(0, memory)
            _found.update(hit for hit, reached in zip(hits, memory) if reached)

    def mark(self, source: Any, node: Any, taken: bool) -> None:
        """Notes what the host decided: another turn of a `do_while`, or its end."""
        line = source.line(node)
        _found.add((source.file, line, line))
        if self.arcs:
            following: dict[int, int] = {}
            _successors(source.tree.body, 0, following)
            _found.add((source.file, line, _target(source, node, taken, following)))


def _limit() -> int:
    text = os.environ.get("QD_COVERAGE_MAX_PROBES", "") or str(MAX_PROBES)
    if not text.isdecimal():
        raise ValueError(f"QD_COVERAGE_MAX_PROBES={text!r}: accepted are integers from 0")
    return int(text)


def start() -> Recorder | None:
    """A recorder for a runtime that begins, when QD_KERNEL_COVERAGE asks for one. QuadrantsRuntimeError without
    coverage.py."""
    global _folder
    if not config.switched_on("QD_KERNEL_COVERAGE"):
        return None
    try:
        import coverage  # noqa: F401 - only to say it now, and not at exit
    except ImportError:
        raise QuadrantsRuntimeError(
            "QD_KERNEL_COVERAGE=1 needs the package coverage, which is not installed: `pip install coverage`, or unset "
            "the variable"
        ) from None
    _folder = _folder or os.getcwd()
    return Recorder()


class Probes:
    """The probes of one walk."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.ids: dict[Hit, int] = {}
        self.param: Any = None
        self.word = 0
        self.broke: list[Any] = []  # per open loop: the variable that says it was left by `break`
        self.next: dict[int, int] = {}  # by id of a node: the line where control goes when it is done
        self.seen: dict[int, Any] = {}

    def _hit(self, w: Any, line: int, to: int) -> None:
        what = (w.source.file, line, to)
        number = self.ids.get(what)
        if number is None:
            if self.recorder.is_full():
                return
            self.recorder.left -= 1
            number = self.ids[what] = len(self.ids)
        if self.param is None:
            self.word = len(w.words)
            w.words.append(None)  # finish() puts the buffer there, when its size is known
            self.param = w.b.buffer_param(_native.u8, 0, 1, "coverage")  # as of a field: nothing else overlaps it
        w.b.store(self.param, number, w.b.const(1, _native.u8))

    def reach(self, w: Any, node: ast.stmt) -> None:
        """A statement begins. Docstrings are none."""
        if type(node) is not ast.Expr or type(node.value) is not ast.Constant:
            line = w.source.line(node)
            self._hit(w, line, line)

    def branch(self, w: Any, node: Any, taken: bool) -> None:
        """Control goes into the body of an `if` or a loop, or past it."""
        if not self.recorder.arcs:
            return
        if id(w.source) not in self.seen:
            self.seen[id(w.source)] = w.source  # keeps the ids of its nodes
            _successors(w.source.tree.body, 0, self.next)
        self._hit(w, w.source.line(node), _target(w.source, node, taken, self.next))

    def open_loop(self, w: Any, node: Any) -> None:
        """Before a loop."""
        with_flag = self.recorder.arcs and node.has_break
        self.broke.append(w.b.var(_native.u1, False) if with_flag else None)

    def leave_loop(self, w: Any) -> None:
        """At a `break`."""
        if self.broke[-1] is not None:
            w.b.set(self.broke[-1], True)

    def close_loop(self, w: Any, node: Any) -> None:
        """After a loop: it ended by itself unless a `break` left it."""
        flag = self.broke.pop()
        if flag is None:
            self.branch(w, node, False)
            return
        w.b.when(w.b.logical_not(w.b.get(flag)))
        self.branch(w, node, False)
        w.b.end()

    def finish(self, w: Any, context: Any) -> None:
        """The walk is done: the kernel gets its buffer."""
        if self.param is None:
            return
        buffer = context.alloc(len(self.ids))
        w.words[self.word] = ("buffer", buffer)
        self.recorder.kernels.append((buffer, list(self.ids)))


def _target(source: Any, node: Any, taken: bool, following: dict[int, int]) -> int:
    """The line where control goes from a decision; the end of the function is its first line, negated."""
    to = _first(node.body) if taken else _first(node.orelse) or following.get(id(node), 0)
    return source.first + to - 1 if to else -source.first


def _first(body: list[ast.stmt]) -> int:
    return body[0].lineno if body else 0


def _successors(body: list[ast.stmt], after: int, out: dict[int, int]) -> None:
    """Where control goes when a statement of `body` is done, by id of the node; `after`: behind the last."""
    for k, node in enumerate(body):
        out[id(node)] = following = body[k + 1].lineno if k + 1 < len(body) else after
        if isinstance(node, (ast.For, ast.While)):
            _successors(node.body, node.lineno, out)
        elif isinstance(node, (ast.If, ast.With)):
            _successors(node.body, following, out)
            _successors(getattr(node, "orelse", []), following, out)


def hand_over() -> set[Hit]:
    """All hits of this process so far; from now on its exit writes none."""
    global _handed_over
    _handed_over = True
    return set(_found)


def add_to(data: Any, hits: Iterable[Hit], arcs: bool) -> None:
    """Adds hits to a CoverageData."""
    files: dict[str, set[Any]] = {}
    for file, line, to in hits:
        if arcs or line == to:
            files.setdefault(os.path.abspath(file), set()).add((line, to) if arcs else line)
    if arcs:
        data.add_arcs(files)
    else:
        data.add_lines(files)


def write() -> None:
    """Writes what this process has collected to its file; nothing when there is nothing."""
    if not _found or _handed_over:
        return
    from coverage import CoverageData

    data = CoverageData(basename=os.path.join(_folder, FILE + str(os.getpid())))
    add_to(data, _found, config.switched_on("_QD_KCOV_ARC"))
    data.write()
