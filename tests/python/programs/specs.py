"""What the names of a program stand for: its annotations and the types at its head, as plain data.

A spec is a scalar `Type`, `Shaped` (vector or matrix), `Elements` (an array), `Record` (a struct, or a dataclass that
bundles arguments), `Ref` (by reference) or TEMPLATE. `written` is the way back to source text.
"""

import ast
from typing import NamedTuple

from programs.scalars import F32, I32, TYPES, U1, Invalid, Type

TEMPLATE = "template"
PLAIN = {"int": I32, "float": F32, "bool": U1}


class Shaped(NamedTuple):
    shape: tuple
    t: Type


class Elements(NamedTuple):
    t: Type
    ndim: int
    element: tuple = ()
    clamp: bool = False


class Ref(NamedTuple):
    spec: object


class Record:
    """Two are equal when their members are: as in the language."""

    def __init__(self, name, members, methods=None, bundle=False):
        self.name, self.members, self.methods, self.bundle = name, members, methods or {}, bundle

    def __eq__(self, other):
        return type(other) is Record and self.members == other.members

    def __hash__(self):
        return hash(tuple(self.members))


def spec_of(node, records=None):
    """The spec of an annotation; None for what is none."""
    text = ast.unparse(node)
    if text == "qd.template()":
        return TEMPLATE
    if records and text in records:
        return records[text]
    scalar = TYPES.get(text.removeprefix("qd.")) or PLAIN.get(text)
    if scalar is not None:
        return scalar
    if isinstance(node, ast.Subscript) and text.startswith("qd.types.NDArray["):
        t, ndim = node.slice.elts
        return Elements(spec_of(t), ndim.value)
    if not isinstance(node, ast.Call):
        return None
    f, given = ast.unparse(node.func), node.args
    if f in ("qd.types.vector", "qd.types.matrix"):
        return Shaped(tuple(a.value for a in given[:-1]), spec_of(given[-1]))
    if f == "qd.types.ndarray":
        named = {k.arg: k.value for k in node.keywords}
        e = spec_of(named["dtype"])
        t, element = (e.t, e.shape) if type(e) is Shaped else (e, ())
        return Elements(t, named["ndim"].value, element, "boundary" in named)
    return Ref(spec_of(given[0], records)) if f == "qd.ref" else None


def written(spec):
    if spec == TEMPLATE:
        return "qd.template()"
    if type(spec) is Type:
        return f"qd.{spec.name}"
    if type(spec) is Shaped:
        kind = "vector" if len(spec.shape) == 1 else "matrix"
        return f"qd.types.{kind}({', '.join(map(str, spec.shape))}, qd.{spec.t.name})"
    if type(spec) is Elements:
        if not spec.element and not spec.clamp:
            return f"qd.types.NDArray[qd.{spec.t.name}, {spec.ndim}]"
        dtype = written(Shaped(spec.element, spec.t) if spec.element else spec.t)
        bounds = ', boundary="clamp"' if spec.clamp else ""
        return f"qd.types.ndarray(dtype={dtype}, ndim={spec.ndim}{bounds})"
    return f"qd.ref({written(spec.spec)})" if type(spec) is Ref else spec.name


class Parsed:
    """The parts of a program's text: functions, records, what kind of program it is."""

    def __init__(self, text):
        tree = ast.parse(text)
        self.records, self.functions = {}, {}
        self.fast = ast.get_docstring(tree) == FAST
        self.draws = "qd.random(" in text
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                self.records[node.name] = self._class(node)
            elif isinstance(node, ast.Assign):  # NAME = qd.types.struct(a=…)
                members = {k.arg: spec_of(k.value, self.records) for k in node.value.keywords}
                self.records[node.targets[0].id] = Record(node.targets[0].id, members)

    def _class(self, node):
        members = {a.target.id: spec_of(a.annotation, self.records) for a in node.body if isinstance(a, ast.AnnAssign)}
        methods = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
        return Record(node.name, members, methods, ast.unparse(node.decorator_list[0]).startswith("dataclasses."))

    @property
    def kernel(self):
        if "k" not in self.functions:
            raise Invalid("no kernel")
        return self.functions["k"]

    def parameters(self):
        """Specs of the kernel's parameters, by name."""
        return {p.arg: spec_of(p.annotation, self.records) for p in self.kernel.args.args}


FAST = "Reals are small whole numbers, so that fast_math changes nothing."  # what such a program's text begins with
