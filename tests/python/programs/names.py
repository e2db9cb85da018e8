"""What the generator knows of the program so far: names with their specs, memory, functions."""

from typing import NamedTuple

from programs.scalars import I32, I64, Type
from programs.specs import Record, Shaped


def index_type(t):
    """Of a loop between two bounds of that type, or one and its sum with a literal."""
    return t if t.bits == 64 else I64 if t.name == "u32" else I32


def length(shape):
    """Entries of a vector, 0 for a number, -1 for what is neither."""
    return 0 if shape == () else shape[0] if len(shape) == 1 else -1


class Name:
    """Something that an expression may use: a number (n == 0), a vector of n entries, a matrix or struct (n == -1)."""

    def __init__(self, text, spec, mutable=True):
        self.text, self.spec, self.mutable = text, spec, mutable
        self.t = spec if type(spec) is Type else getattr(spec, "t", None)
        self.n = 0 if type(spec) is Type else length(spec.shape) if type(spec) is Shaped else -1

    def parts(self):
        """Names of the members of a struct and the entries of a matrix, theirs included."""
        if type(self.spec) is Record:
            own = [Name(f"{self.text}.{m}", s, self.mutable) for m, s in self.spec.members.items()]
        elif self.n < 0:
            rows, columns = self.spec.shape
            own = [Name(f"{self.text}[{i}, {j}]", self.t, self.mutable) for i in range(rows) for j in range(columns)]
        else:
            return []
        return [n for o in own for n in (o, *o.parts())]


class Memory:
    """An array or field; `of`: the field of structs that it is a member of."""

    def __init__(self, name, t, shape, element=(), clamp=False):
        self.name, self.t, self.shape, self.element, self.clamp = name, t, shape, element, clamp
        self.n = length(element)
        head, _, member = name.partition(".")
        self.of, self.member = (head, member) if head.startswith("S_") else ("", "")

    def at(self, index, r):
        """The text of an element: of a member in one of the two ways."""
        return f"{self.of}[{index}].{self.member}" if self.of and r.random() < 0.6 else f"{self.name}[{index}]"


class Function(NamedTuple):
    name: str
    params: list  # specs; `Ref` for those by reference
    results: list  # specs
    changes: bool = False  # the struct that it is a method of
