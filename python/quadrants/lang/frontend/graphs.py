"""`with` statements of kernels, and `qd.graph.do_while` where it cannot stand: sections run one after the other, inline."""

import ast

from quadrants import graph
from quadrants.lang import graph_names
from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.frontend import errors
from quadrants.lang.frontend.calls import SPECIAL
from quadrants.lang.frontend.stmts import is_static
from quadrants.lang.frontend.table import STMT, ref, run
from quadrants.lang.util import hook

_ONLY = (
    "'with' in Quadrants kernels only supports qd.stream_parallel(), qd.checkpoint(), qd.graph.parallel_context(), or "
    "qd.graph.parallel()"
)


def _is_graph(w) -> bool:
    from quadrants.lang.graph_kernel import PieceSource

    return isinstance(w.frames[0][0], PieceSource)


def _target(w, node):
    """What the call of a `with` names."""
    if (
        len(node.items) != 1
        or node.items[0].optional_vars is not None
        or type(node.items[0].context_expr) is not ast.Call
    ):
        raise QuadrantsSyntaxError(_ONLY)
    found = ref(w, node.items[0].context_expr.func)
    try:
        known = graph_names.DEPRECATED.get(found)
    except TypeError:
        raise QuadrantsSyntaxError(_ONLY) from None
    if known is None:
        return found
    old, new = known
    text = f"qd.{old}() is deprecated and will be removed in a future release; use qd.{new}() instead."
    errors.warn(w, text, node, "DeprecationWarning")
    return getattr(graph, new.rpartition(".")[2])


def with_(w, node):
    target = _target(w, node)
    if target is graph.parallel_context:
        _parallel_context(w, node)
    elif target is graph.parallel:
        raise QuadrantsSyntaxError(
            "qd.graph.parallel() can only be used directly inside a qd.graph.parallel_context() region"
        )
    elif target is graph_names.stream_parallel:
        _stream_parallel(w, node)
    elif hook(target, "_quadrants_later") == "checkpoint":
        raise QuadrantsSyntaxError("qd.checkpoint is not supported yet")
    else:
        raise QuadrantsSyntaxError(_ONLY)


def _parallel_context(w, node):
    if not _is_graph(w):
        raise QuadrantsSyntaxError("qd.graph.parallel_context() requires @qd.kernel(graph=True)")
    _check_sections(w, node.body)
    _sections(w, node.body)


def _check_sections(w, body):
    for k, statement in enumerate(body):
        kind = type(statement)
        if kind is ast.With and _target(w, statement) is graph.parallel:
            continue
        if kind is ast.If and is_static(w, statement.test) or kind is ast.For and is_static(w, statement.iter):
            _check_sections(w, [*statement.body, *statement.orelse])
            continue
        raise QuadrantsSyntaxError(
            "A qd.graph.parallel_context() region may contain only 'with qd.graph.parallel():' blocks (optionally inside "
            "'if qd.static(...)' or 'for ... in qd.static(...)'). Move other work outside the region. "
            f"[offending stmt {k}: {kind.__name__}]"
        )


def _sections(w, body):
    """Runs checked sections: `parallel` means nothing inside them, so it is looked through."""

    def plain(statements):
        out = []
        for s in statements:
            if type(s) is ast.With:
                out.extend(s.body)
            else:
                fields = {"body": plain(s.body), "orelse": plain(s.orelse)}
                twin = ast.copy_location(type(s)(**{**dict(ast.iter_fields(s)), **fields}), s)
                for name in ("has_break", "has_continue"):
                    if hasattr(s, name):
                        setattr(twin, name, getattr(s, name))
                out.append(twin)
        return out

    run(w, plain(body))


def _stream_parallel(w, node):
    if not w.is_kernel:
        raise QuadrantsSyntaxError("qd.stream_parallel() can only be used inside @qd.kernel, not @qd.func")
    if _is_graph(w):
        raise QuadrantsSyntaxError(
            "qd.stream_parallel() is not compatible with graph=True kernels. Streams and graphs cannot be combined; remove "
            "graph=True or the qd.stream_parallel() block."
        )
    top = w.source.tree.body
    for k, s in enumerate(top):
        if type(s) is ast.With and _target(w, s) is graph_names.stream_parallel:
            continue
        if type(s) is ast.Expr and type(s.value) is ast.Constant:
            continue
        raise QuadrantsSyntaxError(
            "When using qd.stream_parallel(), all top-level statements in the kernel must be 'with qd.stream_parallel():' "
            f"blocks. Move non-parallel code to a separate kernel. [stmt {k}: {type(s).__name__}, body_len={len(top)}]"
        )
    w.sections += 1
    w.section = w.sections
    run(w, node.body)
    w.section = 0


def do_while_(w, node):
    if not _is_graph(w):
        raise QuadrantsSyntaxError("qd.graph.do_while() requires @qd.kernel(graph=True)")
    raise QuadrantsSyntaxError(
        "qd.graph.do_while() must be at the kernel top level or directly nested inside another qd.graph.do_while(); it "
        "cannot appear inside a for-loop, an `if`, another `while` or a function."
    )


STMT[ast.With] = with_
SPECIAL[graph.do_while] = SPECIAL[graph_names.graph_do_while] = do_while_
