"""Objects of classes with `template_primitives=False`: their numbers are arguments of each call, not constants.

An object that is an argument is a root; one that is reached from a root knows the way. The way becomes part of the
launch plan when a number at its end is first read.
"""

from quadrants import _native
from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.lang.guards import PASSED


class Root:
    """An object of a `data_oriented` class that an argument leads to."""

    __slots__ = ("index", "obj", "passed", "plan", "way")

    def __init__(self, plan, obj, index=None, way=None):
        self.plan, self.obj, self.index, self.way = plan, obj, index, way
        self.passed = {}

    def number(self):
        """The number of the object in the plan."""
        if self.index is None:
            owner, name = self.way
            at = owner.number()
            self.index = len(self.plan)
            self.plan.append(("member", at, name, ("template", self.obj)))
        return self.index

    def member(self, w, attr):
        """The value of a member that is passed at each call; None for one that isn't."""
        found = self.passed.get(attr)
        if found is not None:
            return found
        value = getattr(self.obj, "__dict__", {}).get(attr)
        kind = type(value)
        if kind in PASSED and not type(self.obj)._template_primitives:
            if w.static:
                raise QuadrantsSyntaxError(
                    f"'{attr}' is a primitive member of a @qd.data_oriented(template_primitives=False) object, so it is "
                    "a runtime kernel argument and cannot be used inside qd.static(). Either remove qd.static(), or "
                    f"decorate the class @qd.data_oriented (the default, template_primitives=True) to bake '{attr}' "
                    "as a compile-time constant."
                )
            found = self.passed[attr] = self._lifted(w, attr, kind)
            return found
        if getattr(kind, "_data_oriented", False) and id(value) not in w.roots:
            w.roots[id(value)] = Root(self.plan, value, way=(self, attr))
        return None

    def _lifted(self, w, attr, kind):
        w.rec.passed(self.obj, attr)
        dtype = w.default_ip if kind is int else w.default_fp if kind is float else _native.u1
        owner = self.number()
        if kind is not int:  # an int would pass for either
            self.plan.append(("member", owner, attr, ("instance", kind)))
        self.plan.append(("member", owner, attr, ("scalar", dtype)))
        w.words.append(("arg", len(self.plan) - 1, 0))
        return w.b.scalar_param(dtype, attr)


def root(w, plan, k, value) -> None:
    """Argument number `k` is an object: its members may be passed at each call."""
    if getattr(type(value), "_data_oriented", False):
        w.roots[id(value)] = Root(plan, value, k)
