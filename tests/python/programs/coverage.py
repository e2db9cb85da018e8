"""What random programs reached: rows of the table, statements of the front end, operations of the IR."""

import re

from programs import memory, rows
from programs.values import CALLS, METHODS

STATEMENTS = [
    "Assign", "Assign to a tuple", "Assign to an element", "Assign to a component", "AnnAssign", "AugAssign", "Assert", "Break",
    "Continue", "Expr", "For range", "For unsigned range", "For ndrange", "For grouped", "For over memory", "For static range", "If", "If elif",
    "If static", "Pass", "Return", "While", "NamedExpr", "And", "Or", "Compare chain", "IfExp", "Read of an element", "shape",
    "swizzle", "MatMult", "qd.kernel", "qd.func", "qd.real_func", "int", "float", "bool", "qd.volatile_load", "qd.atomic_cas",
    "For ndrange of other axes", "ListComp", "argument that is a constant", "memory given to a function", "For static ndrange", "For static list", "For static enumerate", "For over structs", "Assign to a member", "Assign to a swizzle",
    "AugAssign to a member", "AugAssign to a component", "AugAssign to an element", "member", "member by its name",
    "member of a field", "member of a bundle", "method of a struct", "value of a struct", "Read of a struct", "by reference",
    "Return of several", "array of numbers", "array of vectors", "array of matrices", "clamped array", "argument of a bundle",
    "argument of a struct", "argument of a vector", "for fast_math",
    *(f"AugAssign {op}" for op in ("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "BitAnd", "BitOr", "BitXor", "LShift", "RShift")),
]  # fmt: skip
# Of ops.def, what other ways of the language make: parts of other records, and what only some backends have.
NOT_HERE = {"operand", "trunc", "roundeven", "position", "clock"}


def features():
    keys = [*rows.BY_KEY, *CALLS, *(f"qd.{t.name}" for t in rows.SCALARS), *(f".{m}" for m in METHODS)]
    atomics = [a for a in rows.ATOMICS if a.startswith("qd.")]
    fields = [f"field {f.name.split('.')[0]}" for f in memory.FIELDS.values()]
    return [*STATEMENTS, *keys, *atomics, *fields]


def missing_features(seen):
    return sorted(f for f in set(features()) if f not in seen)


def operations():
    """Names of the operations of the IR that random programs should reach; not those of threads of a block."""
    text = (rows.ROOT / "plugins-api/include/qd/ops.def").read_text()
    found = [(name.rstrip("_"), row) for name, row in re.findall(r"^OP\((\w+),(.*)", text, re.M)]
    return [name for name, row in found if name not in NOT_HERE and "Threads" not in row.split('"', 2)[2].split('"')[0]]


def reached_operations(texts):
    """Operations that stand in IR texts."""
    words = set()
    for text in texts:
        words |= set(re.findall(r"[a-z_0-9]+", text))
    return {o for o in operations() if o in words}
