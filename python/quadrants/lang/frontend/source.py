"""Source text of a function, taken when it is decorated and parsed when it is first compiled.

`inspect.getsource` tokenises the whole function (62 ms for one of 64 loops), so the block is found by a scan of
indents over the lines that linecache holds. Only the function's own text is parsed. Line numbers of nodes count from
the first line of that text; `Source.line` maps them back to the file.
"""

import ast
import linecache
import sys

from quadrants import _native
from quadrants.lang.exception import QuadrantsSyntaxError


def _of_command_line(fn):
    """The lines of `python -c TEXT` when `fn` was defined there."""
    words = getattr(sys, "orig_argv", [])
    if (
        fn.__code__.co_filename != "<string>"
        or fn.__globals__ is not vars(sys.modules["__main__"])
        or "-c" not in words
    ):
        return []
    lines = words[words.index("-c") + 1].splitlines(keepends=True)
    named = lines[fn.__code__.co_firstlineno - 1 : fn.__code__.co_firstlineno + 20]
    return lines if any(f"def {fn.__name__}" in line for line in named) else []


class Source:
    """Text and syntax tree of one function, with what a scan of its statements tells about its names."""

    __slots__ = ("_digest", "_tree", "file", "first", "indent", "lines", "missing", "name", "stores")

    def __init__(self, fn):
        code = fn.__code__
        self.file, self.first, self.name = code.co_filename, code.co_firstlineno, fn.__name__
        self._tree = self._digest = None
        self.stores = None
        self.missing = ""
        if self.file[:1] != "<":
            linecache.checkcache(self.file)  # a module that was edited and loaded again
        lines = linecache.getlines(self.file, fn.__globals__) or _of_command_line(fn)
        if len(lines) < self.first:
            self.lines, self.indent = [], 0
            self.missing = (
                f'The source code of "{self.name}" is not available ({self.file}, line {self.first}): Quadrants '
                "compiles the text of a function. Put it into a .py file or a notebook cell, or register the text in "
                "linecache under the name it was compiled with."
            )
            return
        self.indent = len(lines[self.first - 1]) - len(lines[self.first - 1].lstrip())
        self.lines = lines[self.first - 1 : _block_end(lines, self.first - 1, self.indent, code)]

    @property
    def tree(self) -> ast.FunctionDef:
        """The FunctionDef node; raises QuadrantsSyntaxError when there is no text or it isn't a `def`."""
        if self._tree is None:
            self._tree = self._parse()
            self.stores = {}
            _scan(self._tree.body, self.stores, None)
        return self._tree

    def _parse(self):
        if self.missing:
            raise QuadrantsSyntaxError(self.missing)
        text = "".join(self.lines)
        if self.indent:  # a `def` in a class or a function: an enclosing `if` keeps strings and columns untouched
            module = ast.parse("if 1:\n" + text)
            body = module.body[0].body
            ast.increment_lineno(body[0], -1)
        else:
            body = ast.parse(text).body
        node = body[0]
        if type(node) is not ast.FunctionDef:
            raise QuadrantsSyntaxError(
                f'"{self.name}" ({self.file}, line {self.first}) is a {type(node).__name__}: only functions '
                "written with `def` can be kernels or helpers."
            )
        return node

    def digest(self) -> str:
        """Digest of the text as it was when the function was decorated; where it stands does not count."""
        if self._digest is None:
            end = len(self.lines)
            while end and self.lines[end - 1].lstrip()[:1] in ("", "#"):  # what follows the function isn't part of it
                end -= 1
            self._digest = _native.digest("".join(self.lines[:end]).encode(errors="surrogatepass")).hex()
        return self._digest

    def line(self, node: ast.AST) -> int:
        """Line of a node in its file, from 1."""
        return self.first + node.lineno - 1


def _block_end(lines, start, indent, code):
    """One past the last line of the block that starts at `start`. The last line that code came from is inside for sure,
    so only what follows it is scanned."""
    last = start
    for _, _, line in code.co_lines():
        if line is not None and line > last:
            last = line
    if lines[start].lstrip().startswith("@"):  # a body without code, such as `global x`, has no line of its own
        last = max(last, 1 + next((k for k in range(start, len(lines)) if lines[k].lstrip().startswith("def ")), start))
    end = max(last, start + 1)  # `last` counts from 1, so it is one past the index
    depth = _open_brackets(lines[start:end])
    while end < len(lines):
        text = lines[end]
        stripped = text.strip()
        if depth <= 0 and stripped and not stripped.startswith("#") and len(text) - len(text.lstrip()) <= indent:
            break
        depth += _open_brackets([text])
        end += 1
    return end


def _open_brackets(lines):
    """Brackets left open at the end of `lines` (close enough: only the tail of a function is judged by it)."""
    depth = 0
    for text in lines[-40:]:
        text = text.split("#", 1)[0]
        depth += sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
    return depth


def _base_name(node):
    while type(node) in (ast.Subscript, ast.Attribute):
        node = node.value
    return node.id if type(node) is ast.Name else None


def _count(target, stores, weight):
    kind = type(target)
    if kind is ast.Name:
        stores[target.id] = stores.get(target.id, 0) + weight
    elif kind in (ast.Tuple, ast.List):
        for t in target.elts:
            _count(t, stores, weight)
    else:
        name = _base_name(target)
        if name is not None:
            stores[name] = stores.get(name, 0) + 2


def assigned(body) -> dict:
    """Names that the statements of one block assign, or assign elements or members of."""
    stores = {}
    _scan(body, stores, None)
    return stores


def _scan(body, stores, loop):
    """Counts the places that store each name (two or more: it needs a variable) and marks loops that hold a break or a
    continue of their own. Statements only: expressions are most of a function's nodes."""
    for node in body:
        kind = type(node)
        if kind is ast.Assign:
            for t in node.targets:
                _count(t, stores, 1)
        elif kind is ast.AugAssign:
            _count(node.target, stores, 2)
        elif kind is ast.AnnAssign:
            _count(node.target, stores, 1)
        elif kind is ast.For or kind is ast.While:
            node.has_continue = node.has_break = False
            _scan(node.body, stores, node)
        elif kind is ast.If:
            _scan(node.body, stores, loop)
            _scan(node.orelse, stores, loop)
        elif kind is ast.With:
            _scan(node.body, stores, loop)
        elif kind is ast.Continue:
            if loop is not None:
                loop.has_continue = True
        elif kind is ast.Break and loop is not None:
            loop.has_break = True
