"""Dispatch from node class to handler, and the evaluation entry points that every other file uses.

    ev(w, node)    the value of an expression
    ref(w, node)   the same, but a place (variable, element) stays a place
    run(w, body)   statements of one block, until one of them leaves it

Handlers name their node parameter `node`: error positions are read from their frames (errors.py).
"""

from quadrants.lang.exception import QuadrantsSyntaxError


class Table(dict):
    """Handlers by node class; asking for another class raises the documented error when it is called."""

    def __missing__(self, kind):
        def unsupported(w, node):
            raise QuadrantsSyntaxError(f'Unsupported node "{kind.__name__}"')

        return unsupported


EXPR = Table()
REF = {}
STMT = Table()


def ev(w, node):
    return EXPR[type(node)](w, node)


def ref(w, node):
    kind = type(node)
    handler = REF.get(kind)
    return handler(w, node) if handler is not None else EXPR[kind](w, node)


def run(w, body):
    coverage = w.coverage
    for node in body:
        if coverage is not None:
            coverage.reach(w, node)
        STMT[type(node)](w, node)
        if w.dead:
            return


class NeedVariable(Exception):
    """A name that was bound to a value turns out to be assigned through a reference: it needs a variable from the
    start.
    """

    def __init__(self, source, name):
        super().__init__(name)
        self.source, self.name = source, name
