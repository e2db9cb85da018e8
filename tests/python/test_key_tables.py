"""Keys of the source tier, from its tables: every kind of value, every option, every part of the key has a probe here, and
a new row without one fails."""

import enum
import types

import numpy as np
import pytest
from program_text import load

import quadrants as qd
from quadrants.lang import config, forms, source_tier
from quadrants.lang.forms import Forms, NoForm


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


class Shade(enum.IntEnum):
    RED = 1


class Plain:
    pass


class Other:
    pass


@qd.data_oriented
class Methods:
    @qd.func
    def g(self):
        return 3

    @qd.func
    def h(self):
        return 4


def _function(text):
    return load(f"@qd.func\ndef g(x):\n    return {text}\n")["g"]


def _dataclass(n):
    return load(f"import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int\nd = D({n})\n")["d"]


def _tuple(n):
    return load(f"import collections\nP = collections.namedtuple('P', 'a')\nd = P({n})\n")["d"]


def _clamped():
    t = qd.types.ndarray(qd.f32)
    t.boundary = "clamp"
    return t


def _vector():
    return qd.types.vector(3, qd.f32)


# By the function of forms.py that makes the form: values whose forms must all differ. Each is made twice; the two must agree.
PROBES = {
    "_sequence": lambda: ([1, 2], [2, 1], (1, 2), [True, 2], [1.0, 2]),
    "_dict": lambda: ({"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}, {"b": 1, "a": 1}),
    "_array": lambda: (np.zeros(2), np.ones(2), np.zeros(2, np.float32), np.zeros((2, 1))),
    "_scalar": lambda: (np.float32(1), np.float64(1), np.float32(2)),
    "_enum": lambda: (Color.RED, Color.BLUE, Shade.RED),
    "_module": lambda: (np, types),
    "_class": lambda: (Plain, Other),
    "_python_function": lambda: (_function, _dataclass),
    "_builtin": lambda: (len, abs, np.sin),
    "_func": lambda: (_function("x + 1"), _function("x + 2"), qd.pyfunc(_function("x + 1").fn)),
    "_bound": lambda: (Methods().g, Methods().h),
    "_field": lambda: (
        qd.field(qd.f32, shape=3), qd.field(qd.f32, shape=4), qd.field(qd.f64, shape=3), qd.field(qd.f32, shape=(3, 1)),
        qd.field(qd.f32, shape=3, offset=1), qd.Vector.field(2, qd.f32, shape=3), qd.field(qd.f32, shape=3, needs_grad=True),
    ),
    "_struct_field": lambda: (
        qd.Struct.field({"a": qd.f32}, shape=3), qd.Struct.field({"b": qd.f32}, shape=3), qd.Struct.field({"a": qd.f32}, shape=4),
    ),
    "_struct_type": lambda: (qd.types.struct(a=qd.f32), qd.types.struct(b=qd.f32), qd.types.struct(a=qd.i32)),
    "_ndarray": lambda: (qd.ndarray(qd.f32, 3), qd.ndarray(qd.f32, 4), qd.ndarray(qd.i32, 3), qd.Vector.ndarray(2, qd.f32, 3)),
    "_tensor": lambda: (qd.tensor(qd.f32, 3, backend=qd.Backend.NDARRAY), qd.tensor(qd.f32, 3, backend=qd.Backend.FIELD),
                        qd.tensor(qd.f32, (3, 2), backend=qd.Backend.NDARRAY),
                        qd.tensor(qd.f32, (3, 2), backend=qd.Backend.NDARRAY, layout=(1, 0))),
    "_struct": lambda: (qd.Struct(a=1), qd.Struct(a=2), qd.Struct(b=1)),
    "_matrix": lambda: (qd.Vector([1, 2]), qd.Vector([1, 3]), qd.Vector([1.0, 2.0]), qd.Matrix([[1, 2]])),
    "_ndrange": lambda: (qd.ndrange(3, 4), qd.ndrange(4, 3), qd.ndrange((1, 3), 4)),
    "_range": lambda: (range(3), range(1, 3), range(0, 3, 2)),
    "_matrix_type": lambda: (_vector(), qd.types.vector(4, qd.f32), qd.types.vector(3, qd.i32), qd.types.matrix(3, 1, qd.f32)),
    "_ndarray_type": lambda: (qd.types.ndarray(), qd.types.ndarray(qd.f32), qd.types.ndarray(qd.f32, 2), _clamped()),
    "_template": lambda: (qd.template(), qd.template(ndim=2)),
    "_view_type": lambda: (qd.types.BufferViewType(), qd.types.BufferViewType(qd.f32), qd.types.BufferViewType(boundary="clamp")),
    "_ref_type": lambda: (qd.ref(qd.f32), qd.ref(qd.i32)),
    "_namespace": lambda: (types.SimpleNamespace(a=1), types.SimpleNamespace(a=2), types.SimpleNamespace(b=1)),
    "_named_tuple": lambda: (_tuple(3), _tuple(4)),
    "_dataclass": lambda: (_dataclass(3), _dataclass(4)),
    "_instance": lambda: (Plain(), Other(), Methods()),
}  # fmt: skip


def _makers():
    """Functions of forms.py that make a form from (forms, x)."""
    helpers = {"signature", "_struct_methods", "_none"}
    return {
        name
        for name, f in vars(forms).items()
        if isinstance(f, types.FunctionType) and f.__module__ == forms.__name__ and f.__code__.co_varnames[:2] == ("forms", "x")
        and name not in helpers
    }  # fmt: skip


def test_every_kind_of_value_has_a_probe():
    assert _makers() == set(PROBES)


@pytest.mark.parametrize("name", PROBES)
def test_forms_differ_where_values_do(arch, name):
    one, again = PROBES[name](), PROBES[name]()
    found = [repr(Forms().of(x)) for x in one]
    assert len(set(found)) == len(found), found
    assert found == [repr(Forms().of(x)) for x in again]
    for x in one:
        maker = forms._kinds.get(type(x)) or forms._maker_for(type(x))
        assert maker.__name__ == name


def test_numbers_and_text():
    for values in (
        (1, 1.0, True, "1", b"1", None),
        (0.0, -0.0, float("nan"), float("inf")),
        (2**60, 2**60 + 1),
        (qd.f32, qd.f64),
    ):
        found = [repr(Forms().of(x)) for x in values]
        assert len(set(found)) == len(found)


def test_two_names_for_one_object_are_not_two_objects():
    a, b = Plain(), Plain()
    assert Forms().of([a, a]) != Forms().of([a, b])
    assert Forms().of([a, b]) == Forms().of([b, a])


@pytest.mark.parametrize(
    "value",
    [object(), np.zeros(2, object), iter([]), lambda: 3, np.dtype("f4"), complex(1)],
    ids=lambda x: type(x).__name__,
)
def test_what_has_no_form(value):
    if isinstance(value, types.FunctionType):
        assert Forms().of(value)[0] == "python function"
        return
    with pytest.raises(NoForm):
        Forms().of(value)


def test_every_part_of_the_key_counts(arch):
    """Each part of a kernel's key changes the key; the parts are these and no others."""
    k = load("@qd.kernel\ndef k() -> qd.i32:\n    return 3\n")["k"]._primal
    runtime = qd.lang.impl.get_runtime()
    key = source_tier.Key(k, [], runtime)
    assert set(key.parts) == {
        "format", "Python", "core", "front end", "arch", "kernel", "source", "decorator", "annotations", "options", "arguments",
    }  # fmt: skip
    assert source_tier.Key(k, [], runtime).digest == key.digest
    for part in key.parts:
        changed = dict(key.parts, **{part: "another"})
        assert qd._native.digest(source_tier._text(changed)) != key.digest


OTHER_VALUE = {bool: lambda v: not v, int: lambda v: v + 1, float: lambda v: v + 0.5, str: lambda v: v + "x"}


@pytest.mark.parametrize("name", [option.name for option in config.OPTIONS])
def test_options_count_where_the_front_end_asks_for_them(arch, name):
    """Every row of the table of options: in the key if and only if the front end may ask for it."""
    k = load("@qd.kernel\ndef k() -> qd.i32:\n    return 3\n")["k"]._primal
    runtime = qd.lang.impl.get_runtime()
    saved = runtime.options
    original = source_tier.Key(k, [], runtime).digest
    value = saved[name]
    if isinstance(value, qd._native.DataType):
        other = qd.f64 if value is qd.f32 else qd.i64
    else:
        other = OTHER_VALUE.get(type(value), lambda v: "other")(value)
    try:
        runtime.options = {**saved, name: other}
        changed = source_tier.Key(k, [], runtime).digest != original
    finally:
        runtime.options = saved
    assert changed == (name in source_tier.OPTIONS)
