"""Captured values: what counts as changed, for globals, cells and attributes."""

import enum
import gc
import sys
import types
import weakref

import pytest

from quadrants import _native as n


def function():
    pass


def other():
    pass


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


def label(x):
    """A name that is the same in every process, which the repr of a function is not."""
    return getattr(x, "__name__", None) or repr(x)


SAME = [(5, 5), (10**20, 10**20), (1.5, 1.5), ("ab", "ab"), (function, function), (None, None), (True, True), (Colour.RED, Colour.RED),
        (float("nan"), float("nan"))]  # fmt: skip
DIFFERENT = [(5, 6), (5, 5.0), (1, True), (1.5, 2.5), (0.0, -0.0), ("ab", "ac"), (function, other), (None, 0), (True, False), ([1], [1]),
             ((1,), (1,)), (Colour.RED, Colour.BLUE), (Colour.RED, 1), (b"a", b"b")]  # fmt: skip


def fresh(x):
    """An equal object of its own where that is possible, so that identity is not what is compared."""
    return type(x)(repr(x)) if type(x) in (int, float) else "".join(list(x)) if type(x) is str else x


def clone(x):
    return list(x) if type(x) is list else tuple(list(x)) if type(x) is tuple else fresh(x)


@pytest.mark.parametrize("was, now", SAME, ids=label)
def test_rebinding_to_an_equal_number_or_the_same_object_holds(was, now):
    space = {"x": was}
    g = n.Guards()
    g.add_global(space, "x", was)
    space["x"] = fresh(now)
    assert g.holds()


@pytest.mark.parametrize("was, now", DIFFERENT, ids=label)
def test_rebinding_to_another_value_is_seen_and_may_be_undone(was, now):
    space = {"x": was}
    g = n.Guards()
    g.add_global(space, "x", was)
    assert g.holds()
    space["x"] = clone(now)
    assert not g.holds() and not g.holds()
    space["x"] = was
    assert g.holds()


def test_unrelated_changes_hold():
    space = {"x": 1, "counter": 0}
    g = n.Guards()
    g.add_global(space, "x", 1)
    for i in range(10):
        space["counter"] = i
        space[f"new{i}"] = i
        assert g.holds()


def test_deleting_a_name_is_seen():
    space = {"x": 1}
    g = n.Guards()
    g.add_global(space, "x", 1)
    del space["x"]
    assert not g.holds()


def test_a_change_between_capture_and_guard_is_seen():
    space = {"x": 2}
    g = n.Guards()
    g.add_global(space, "x", 1)
    assert not g.holds()


def test_a_name_that_shadows_a_builtin_is_seen():
    space = {}
    g = n.Guards()
    g.add_builtin_absent(space, "abs")
    assert g.holds()
    space["abs"] = abs
    assert not g.holds()
    del space["abs"]
    assert g.holds()


def test_module_namespaces_and_two_of_them():
    a, b = types.ModuleType("a"), types.ModuleType("b")
    a.x, b.y = 1, 2
    g = n.Guards()
    g.add_global(a.__dict__, "x", 1)
    g.add_global(b.__dict__, "y", 2)
    assert g.holds()
    b.y = 3
    assert not g.holds()
    b.y = 2
    a.x = 0
    assert not g.holds()


def test_cells():
    def outer(x):
        def inner():
            return x

        def change(value):
            nonlocal x
            x = value

        def delete():
            nonlocal x
            del x

        return inner.__closure__[0], change, delete

    cell, change, delete = outer(5)
    g = n.Guards()
    g.add_cell(cell, 5)
    change(int("5"))
    assert g.holds()
    change(6)
    assert not g.holds()
    change(5)
    assert g.holds()
    delete()
    assert not g.holds()
    with pytest.raises(TypeError, match="expected a cell"):
        g.add_cell(5, 5)


class Node:
    pass


def test_attribute_paths():
    root = Node()
    root.a = Node()
    root.a.b = 1.5
    g = n.Guards()
    g.add_attribute(root, "a.b", 1.5)
    assert g.holds()
    root.a.b = 2.5
    assert not g.holds()
    root.a = Node()
    assert not g.holds()  # the attribute is gone
    root.a.b = 1.5
    assert g.holds()


def test_properties_that_raise_do_not_hold_and_leave_no_error():
    class Broken:
        @property
        def x(self):
            raise ValueError("no")

    owner = Broken()
    g = n.Guards()
    g.add_attribute(owner, "x", 1)
    assert not g.holds()


def test_owners_are_not_kept_alive_and_a_dead_one_does_not_hold():
    owner = Node()
    owner.x = 1
    g = n.Guards()
    g.add_attribute(owner, "x", 1)
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None and not g.holds()


def test_many_attributes_are_all_checked():
    owners = [Node() for _ in range(100)]
    g = n.Guards()
    for k, o in enumerate(owners):
        o.x = k
        g.add_attribute(o, "x", k)
    assert g.holds()
    owners[99].x = -1
    assert not g.holds()


def test_guards_give_their_references_back():
    value, space = object(), {}
    space["x"] = value
    before = sys.getrefcount(value), sys.getrefcount(space)
    for _ in range(50):
        g = n.Guards()
        g.add_global(space, "x", value)
        assert g.holds()
    del g
    assert (sys.getrefcount(value), sys.getrefcount(space)) == before


def test_cycles_through_guards_are_collected():
    owner = Node()
    space = {"owner": owner}
    g = n.Guards()
    g.add_global(space, "owner", owner)
    space["guards"] = g
    alive = weakref.ref(owner)
    del owner, space, g
    gc.collect()
    assert alive() is None
