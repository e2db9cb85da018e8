"""`@qd.kernel(graph=True)`: a kernel cut at its `qd.graph.do_while` loops; the host launches the pieces and reads conditions.

Each piece is a kernel of its own with the parameters of the whole. What crosses a cut is memory: arrays and fields. A
scalar that is assigned at the top level before a cut and used after it is computed again in each piece, which is allowed
only where that can't give another value.
"""

import ast
import warnings
from typing import Any

import numpy as np

from quadrants import _native
from quadrants.lang import graph_names, impl
from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.frontend import errors
from quadrants.lang.frontend.source import Source, _scan
from quadrants.lang.kernel import Kernel


class PieceSource(Source):
    """Some statements of a kernel, with the text and the lines of all of it."""

    __slots__ = ("number",)

    def __init__(self, whole: Source, body: list[ast.stmt], number: int) -> None:
        for name in ("file", "first", "indent", "lines", "missing", "name"):
            setattr(self, name, getattr(whole, name))
        self._digest, self.number, self.stores = None, number, {}
        node = whole.tree
        self._tree = ast.copy_location(
            ast.FunctionDef(node.name, node.args, body, node.decorator_list, node.returns, node.type_comment), node
        )
        _scan(body, self.stores, None)

    def digest(self) -> str:
        """The whole text's digest and which statements of it: pieces must not share an entry, and where the text is cut
        follows from names that may mean something else tomorrow."""
        body = [(getattr(s, "lineno", 0), getattr(s, "col_offset", 0), type(s).__name__) for s in self._tree.body]
        return _native.digest(f"{super().digest()} piece {self.number} {body}".encode()).hex()


class _Piece(Kernel):
    def __init__(self, whole: "GraphKernel", body: list[ast.stmt], number: int) -> None:
        super().__init__(whole.func, fastcache=whole.fastcache)
        self.source = PieceSource(whole.source, body, number)


class _Loop:
    """A `do_while`: the path to its condition, and what runs in it."""

    def __init__(self, path: list[str], steps: list[Any], node: ast.While) -> None:
        self.path, self.steps, self.node = path, steps, node


def _resolved(fn: Any, node: ast.expr) -> Any:
    """The object that a dotted name of a function's globals or cells means; None for anything else."""
    if isinstance(node, ast.Attribute):
        return getattr(_resolved(fn, node.value), node.attr, None)
    if not isinstance(node, ast.Name):
        return None
    code = fn.__code__
    if node.id in code.co_freevars:
        try:
            return fn.__closure__[code.co_freevars.index(node.id)].cell_contents
        except ValueError:
            return None
    return fn.__globals__.get(node.id)


def _repeatable(node: ast.AST) -> bool:
    """Whether an expression gives the same whenever it is computed: no element is read, nothing with an effect called."""
    if isinstance(node, ast.Subscript):
        base = node.value
        return isinstance(base, ast.Attribute) and base.attr == "shape" and _repeatable(base.value)
    allowed = (
        ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.operator,
        ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context, ast.Tuple,
    )  # fmt: skip
    return isinstance(node, allowed) and all(map(_repeatable, ast.iter_child_nodes(node)))


def _names(nodes: list[ast.stmt], context: type) -> set[str]:
    found = (n for statement in nodes for n in ast.walk(statement) if isinstance(n, ast.Name))
    return {n.id for n in found if isinstance(n.ctx, context)}


class GraphKernel(Kernel):
    """A kernel whose top-level `do_while` loops the host drives."""

    def __init__(self, fn: Any, fastcache: bool = False) -> None:
        super().__init__(fn, fastcache=fastcache)
        self._steps: list[Any] | None = None
        self._count = 0

    def _refused(self, node: ast.AST, text: str) -> QuadrantsSyntaxError:
        return QuadrantsSyntaxError("\n" + errors.place(self.source, node) + text)

    def _condition_path(self, node: ast.While) -> list[str] | None:
        """The dotted path of a do_while's condition, from a parameter on; None for another `while`."""
        test = node.test
        if not isinstance(test, ast.Call):
            return None
        from quadrants import graph

        target = _resolved(self.func, test.func)
        if target is graph_names.graph_do_while:
            old, new = graph_names.DEPRECATED[target]
            warnings.warn(
                f"qd.{old}() is deprecated and will be removed in a future release; use qd.{new}() instead.",
                DeprecationWarning, stacklevel=2,
            )  # fmt: skip
        elif target is not graph.do_while:
            return None
        path, at = [], test.args[0] if len(test.args) == 1 and not test.keywords else None
        while isinstance(at, ast.Attribute):
            path.append(at.attr)
            at = at.value
        if not isinstance(at, ast.Name) or at.id not in self.signature.names:
            shown = ", ".join(map(ast.unparse, test.args))
            raise self._unresolved(node, shown)
        return [at.id, *reversed(path)]

    def _unresolved(self, node: ast.AST, shown: str) -> QuadrantsSyntaxError:
        return self._refused(
            node,
            f"qd.graph.do_while(...) got '{shown}' which does not resolve to an ndarray kernel parameter of "
            f"'{self.name}'. The argument must reference an ndarray kernel parameter (e.g. `flag`) or a "
            "@qd.data_oriented member ndarray (e.g. `self.flag`); other expressions are not supported.",
        )

    def _split(self, body: list[ast.stmt], before: list[ast.stmt]) -> list[Any]:
        """Steps of a list of statements; `before` are the top-level assignments that earlier pieces made."""
        steps: list[Any] = []
        group: list[ast.stmt] = []

        def close() -> None:
            if any(not isinstance(s, (ast.Pass, ast.Expr)) or isinstance(s, ast.Expr)
                   and not isinstance(s.value, ast.Constant) for s in group):  # fmt: skip
                steps.append(_Piece(self, self._needed(group, before) + group, self._count))
                self._count += 1
            before.extend(s for s in group if isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign)))
            group.clear()

        for node in body:
            path = self._condition_path(node) if isinstance(node, ast.While) else None
            if path is None or not isinstance(node, ast.While):
                group.append(node)
                continue
            close()
            if node.orelse:
                raise self._refused(node, "'else' clause for 'while' not supported in Quadrants kernels")
            steps.append(_Loop(path, self._split(node.body, list(before)), node))
        close()
        return steps

    def _needed(self, group: list[ast.stmt], before: list[ast.stmt]) -> list[ast.stmt]:
        """The earlier assignments that a piece has to make again."""
        wanted = _names(group, ast.Load)
        out: list[ast.stmt] = []
        for node in reversed(before):
            targets = {n for n in _names([node], ast.Store) if n in wanted}
            if not targets:
                continue
            value = getattr(node, "value", None)
            if isinstance(node, ast.AugAssign) or value is None or not _repeatable(value):
                raise self._refused(
                    node,
                    f'"{min(targets)}" is assigned before a qd.graph.do_while and used in it or after it, and computing '
                    "it again could give another value: keep it in an array, or assign it where it is used",
                )
            out.insert(0, node)
            wanted |= _names([node], ast.Load)
        return out

    def _condition(self, loop: Any, values: list[Any]) -> Any:
        """The object that holds a loop's condition, checked."""
        found = values[self.signature.names.index(loop.path[0])]
        for name in loop.path[1:]:
            found = found.get(name) if isinstance(found, dict) else getattr(found, name, None)
        found = getattr(found, "_impl", found)
        if not isinstance(found, (np.ndarray, _native.NdarrayBase)):
            raise self._unresolved(loop.node, ".".join(loop.path))
        element = tuple(getattr(found, "element_shape", ()))
        if element:
            raise self._refused(
                loop.node,
                f"qd.graph.do_while({'.'.join(loop.path)}) takes an ndarray of numbers, such as qd.ndarray(qd.i32, shape=()), "
                f"found one of vectors or matrices of shape {element}",
            )
        return found

    def _run(self, steps: list[Any], values: list[Any]) -> Any:
        result = None
        for step in steps:
            if isinstance(step, _Loop):
                condition, coverage = self._condition(step, values), impl.get_runtime().coverage
                more, first = True, (0,) * len(condition.shape)  # of an array with axes the first element counts
                while more:
                    if coverage is not None:
                        coverage.mark(self.source, step.node, True)
                    self._run(step.steps, values)
                    more = bool(condition[first] != 0)
                if coverage is not None:
                    coverage.mark(self.source, step.node, False)
            else:
                result = step.callable(*values)
        return result

    def specialise(self, args: tuple, kwargs: dict) -> tuple[int | None, Any]:
        """Makes one call: all pieces in order."""
        if kwargs.pop("qd_stream", None) is not None:
            raise RuntimeError("qd_stream is not compatible with graph=True kernels: leave one of the two out.")
        runtime = impl.get_runtime()
        runtime.require_context()
        values = self.signature.bind(args, kwargs)
        if self._steps is None:
            self._count = 0
            steps = self._split(self.source.tree.body, [])
            if self.signature.returns is not None and len(steps) > 1:
                raise self._refused(self.source.tree, "a kernel with qd.graph.do_while cannot return a value")
            self._steps = steps
        runtime.kernels.add(self.callable)
        return None, self._run(self._steps, values)


__all__ = ["GraphKernel", "PieceSource"]
