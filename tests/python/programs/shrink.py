"""Makes a failing program small: statements are left out, blocks opened, expressions replaced by parts of themselves,
as long as the failure stays of its kind."""

import ast
import copy

_LITERALS = (ast.Constant, ast.Name)


def _bodies(tree):
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            if isinstance(getattr(node, field, None), list):
                yield node, field


def _without_statements(tree):
    for k, (node, field) in enumerate(list(_bodies(tree))):
        body = getattr(node, field)
        for i, statement in enumerate(body):
            made = copy.deepcopy(tree)
            at, f = list(_bodies(made))[k]
            getattr(at, f)[i : i + 1] = []
            if not getattr(at, f) and f == "body":
                getattr(at, f).append(ast.Pass())
            yield made
            if isinstance(statement, (ast.If, ast.For, ast.While)):
                made = copy.deepcopy(tree)
                at, f = list(_bodies(made))[k]
                getattr(at, f)[i : i + 1] = getattr(at, f)[i].body
                yield made


class _Replace(ast.NodeTransformer):
    """Puts a child, or a literal, in the place of expression number `at`."""

    def __init__(self, at, choice):
        self.at, self.choice, self.count, self.done = at, choice, -1, False

    def visit(self, node):
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            self.count += 1
            if self.count == self.at:
                options = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
                if not isinstance(node, _LITERALS):
                    options += [ast.Constant(1), ast.Constant(0)]
                if self.choice < len(options):
                    self.done = True
                    return options[self.choice]
                return node
        return self.generic_visit(node)


def _with_smaller_expressions(tree):
    at = 0
    while True:
        for choice in range(6):
            step = _Replace(at, choice)
            made = step.visit(copy.deepcopy(tree))
            if step.done:
                yield made
            elif step.count < at:
                return
            else:
                break
        at += 1


def shrink(text, fails, limit=600):
    """The smallest program found for which `fails(text)` holds."""
    tree, tries, shorter = ast.parse(text), 0, True
    while shorter and tries < limit:
        shorter = False
        for step in (_without_statements, _with_smaller_expressions):
            for made in step(tree):
                tries += 1
                try:
                    candidate = ast.unparse(ast.fix_missing_locations(made))
                except Exception:  # noqa: BLE001 - not every tree can be written
                    continue
                if len(candidate) < len(ast.unparse(tree)) and fails(candidate):
                    tree, shorter = ast.parse(candidate), True
                    break
                if tries >= limit:
                    break
            if shorter:
                break
    return ast.unparse(tree) + "\n"
