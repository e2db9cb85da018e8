"""Members of arguments in a launch plan: attributes of objects, items of dicts, classes and identities that are checked."""

import dataclasses

import numpy as np
import pytest

from handmade import Owner, build, slots
from quadrants import _native as n
from quadrants.lang.exception import QuadrantsRuntimeTypeError


class Thing:
    def __init__(self, **members):
        self.__dict__.update(members)


def kernel(context, plan, words, *params):
    """A kernel of one parameter `t`, specialised once with this plan."""
    executable, calls = build(context, *params), []

    def specialise(args, kwargs):
        calls.append(args)
        return k.add(executable, plan(args[0]), words, n.Guards(), slots, None)

    k = n.KernelObject(Owner(), specialise, 1, ("t",))
    return k, calls


def test_scalars_of_an_object(context):
    plan = [("instance", Thing), ("member", 0, "a", ("scalar", n.i32)), ("member", 0, "in_", ("instance", Thing)),
            ("member", 2, "b", ("scalars", [n.i32, n.i32]))]  # fmt: skip
    words = [("arg", 1, 0), ("arg", 3, 1), ("arg", 3, 0)]
    k, calls = kernel(context, lambda t: plan, words, n.i32, n.i32, n.i32)
    t = Thing(a=4, in_=Thing(b=[5, 6]))
    assert k(t) == [4, 6, 5]
    t.a = 7
    t.in_ = Thing(b=(8, 9))
    assert k(t) == [7, 9, 8] and len(calls) == 1
    assert k(Thing(a=1, in_=Thing(b=np.array([2, 3])))) == [1, 3, 2] and len(calls) == 1


def test_items_of_a_dict_and_its_size(context):
    plan = [("instance", Thing), ("member", 0, "d", ("mapping", 2)), ("member", 1, "x", ("scalar", n.i32))]
    k, calls = kernel(context, lambda t: plan, [("arg", 2, 0)], n.i32)
    assert k(Thing(d={"x": 3, "y": 1})) == [3]
    for members in ({"x": 3}, {"x": 3, "y": 4, "z": 5}, {"y": 1, "z": 2}, [1, 2]):
        with pytest.raises(QuadrantsRuntimeTypeError, match="Argument \\(0,\\).*parameter 't"):
            k(Thing(d=members))


@pytest.mark.parametrize(
    "wrong", [3, Thing(a=1), Thing(a=1, b="x"), Thing(a=2, b=3), type("Thing", (Thing,), {})(a=1, b=2)]
)
def test_what_does_not_fit_asks_for_another_specialisation(context, wrong):
    plan = [("instance", Thing), ("member", 0, "a", ("template", 1)), ("member", 0, "b", ("scalar", n.i32))]
    k, calls = kernel(context, lambda t: plan, [("arg", 2, 0)], n.i32)
    assert k(Thing(a=1, b=2)) == [2]
    with pytest.raises(QuadrantsRuntimeTypeError):
        k(wrong)
    assert len(calls) == 2


def test_same_object(context):
    plan = [("instance", Thing), ("member", 0, "me", ("same", 0)), ("member", 0, "b", ("scalar", n.i32))]
    k, calls = kernel(context, lambda t: plan, [("arg", 2, 0)], n.i32)
    t, u = Thing(b=2), Thing(b=3)
    t.me, u.me = t, u
    assert k(t) == [2] and k(u) == [3] and len(calls) == 1
    u.me = t
    with pytest.raises(QuadrantsRuntimeTypeError):
        k(u)


def test_arrays_of_an_object(context):
    a, b = np.arange(3, dtype=np.int32), np.arange(5, dtype=np.int32)
    plan = [("instance", Thing), ("member", 0, "x", ("array", n.array_kind(a)[0]))]
    k, calls = kernel(context, lambda t: plan, [("arg", 1, 0), ("arg", 1, 1)], (n.i32, 1))
    assert k(Thing(x=a))[1] == 3 and k(Thing(x=b))[1] == 5 and len(calls) == 1
    with pytest.raises(QuadrantsRuntimeTypeError):
        k(Thing(x=np.zeros(3, np.float32)))


def test_many_members(context):
    names = [f"m{i}" for i in range(100)]
    plan = [("instance", Thing), *(("member", 0, name, ("scalar", n.i32)) for name in names)]
    words = [("arg", 1 + i, 0) for i in range(100)]
    k, _ = kernel(context, lambda t: plan, words, *[n.i32] * 100)
    assert k(Thing(**{name: i for i, name in enumerate(names)})) == list(range(100))


@pytest.mark.parametrize("plan", [
    [("member", 0, "a", ("scalar", n.i32))],
    [("instance", Thing), ("member", 1, "a", ("scalar", n.i32))],
    [("instance", Thing), ("member", 0, "a", ("scalar", n.i32)), ("scalar", n.i32)],
    [("instance", Thing), ("member", 0, "a", ("same", 1))],
])  # fmt: skip
def test_bad_plans(context, plan):
    with pytest.raises(ValueError, match="owners before members"):
        kernel(context, lambda t: plan, [("arg", len(plan) - 1, 0)], n.i32)[0](Thing(a=1))


def test_parameters_are_values_in_every_region(context):
    b = n.Builder("k", n.i32, n.f32, True, False)
    first = b.scalar_param(n.i32, "first")
    b.when(b.ne(first, 0))
    late = b.scalar_param(n.i32, "late")
    b.output(0, late)
    b.end()
    b.output(1, b.add(late, 1))
    executable = context.compile(b)

    def specialise(args, kwargs):
        plan = [("scalar", n.i32), ("scalar", n.i32)]
        return k.add(executable, plan, [("arg", 0, 0), ("arg", 1, 0)], n.Guards(), slots, None)

    k = n.KernelObject(Owner(), specialise, 2, ("a", "b"))
    assert k(1, 41) == [41, 42]


class Slots:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


class Computed:
    def __init__(self, a):
        self.b = a

    def __getattr__(self, name):
        if name == "a":
            return self.b
        raise AttributeError(name)


class Property:
    def __init__(self, a):
        self.b = a

    @property
    def a(self):
        return self.b


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: int = 0


def by_dict(t, v):
    t.__dict__ = {"a": v, "b": v}


CHANGES = {
    "attribute": (Thing, lambda t, v: setattr(t, "a", v)),
    "dict": (Thing, lambda t, v: t.__dict__.update(a=v)),
    "another dict": (Thing, by_dict),
    "slots": (Slots, lambda t, v: setattr(t, "a", v)),
    "__getattr__": (Computed, lambda t, v: setattr(t, "b", v)),
    "property": (Property, lambda t, v: setattr(t, "b", v)),
    "frozen": (Frozen, lambda t, v: object.__setattr__(t, "a", v)),
    "removed and added": (Thing, lambda t, v: (delattr(t, "a"), setattr(t, "a", v))),
}


@pytest.mark.parametrize("cls, change", CHANGES.values(), ids=CHANGES)
def test_a_changed_member_is_seen(context, cls, change):
    """Members of an unchanged object are not looked up again: each way to change one must be noticed."""
    plan = [("instance", cls), ("member", 0, "a", ("scalar", n.i32))]
    k, calls = kernel(context, lambda t: plan, [("arg", 1, 0)], n.i32)
    t = cls(a=1)
    for v in (1, 1, 5, 5, 9, 9, 1):
        change(t, v)
        assert k(t) == [v] and k(t) == [v]
    assert len(calls) == 1


def test_a_property_that_comes_later(context):
    class Late(Thing):
        pass

    plan = [("instance", Late), ("member", 0, "a", ("scalar", n.i32))]
    k, _ = kernel(context, lambda t: plan, [("arg", 1, 0)], n.i32)
    t = Late(a=1)
    assert [k(t), k(t)] == [[1], [1]]
    Late.a = property(lambda self: 7)
    assert k(t) == [7]


def test_many_objects_in_turn(context):
    """New objects at old addresses, and more of them than the kernel takes notes of."""
    plan = [("instance", Thing), ("member", 0, "a", ("scalar", n.i32)), ("member", 0, "in_", ("instance", Thing)),
            ("member", 2, "a", ("scalar", n.i32))]  # fmt: skip
    k, calls = kernel(context, lambda t: plan, [("arg", 1, 0), ("arg", 3, 0)], n.i32, n.i32)
    for v in range(300):
        assert k(Thing(a=v, in_=Thing(a=v + 1))) == [v, v + 1]
    kept = [Thing(a=v, in_=Thing(a=10 * v)) for v in range(4)]
    for v in range(300):
        assert k(kept[v % 4]) == [v % 4, 10 * (v % 4)]
    kept[2].in_.a = 50
    assert k(kept[2]) == [2, 50] and len(calls) == 1
    import gc
    import weakref

    alive = weakref.ref(kept[1])
    k(kept.pop(1))
    gc.collect()
    assert alive() is None  # noted, not kept
