"""Where fields are placed: what must be placed before any field is used, components one by one, and what is said of it."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.usefixtures("arch")


@pytest.mark.parametrize("role", ["grad", "dual"])
def test_fields_are_placed_before_any_is_used(role):
    """An access to any field finds what is missing: fields, gradients that they need, and builders left open."""
    other, f = qd.field(qd.f32, 2), qd.field(qd.f32, **{f"needs_{role}": True})
    with pytest.raises(RuntimeError, match=r"(?s)field\(s\) are not placed.*test_placement.py:\d+"):
        other[0]
    qd.root.dense(qd.i, 4).place(f)
    with pytest.raises(RuntimeError, match=f"(?s)`needs_{role}=True`, however their {role} field.*lazy_{role}"):
        other.fill(1)
    getattr(qd.root, f"lazy_{role}")()
    getattr(f, role)[3] = 2.0
    assert getattr(f, role).to_numpy().tolist() == [0, 0, 0, 2] and other[0] == 0


def test_open_builders_are_named():
    builder, other = qd.FieldsBuilder(), qd.field(qd.f32, 2)
    with pytest.raises(qd.QuadrantsRuntimeError, match=r"Field builder .*test_placement.py:\d+ is not finalized"):
        other[0]
    builder.finalize()
    assert other[0] == 0


def test_components_are_placed():
    """Each component in a node of its own, with others beside it; the gradient the same way, or by lazy_grad."""
    v, w, m = qd.Vector.field(2, qd.f32), qd.field(qd.f32), qd.Matrix.field(2, 2, qd.f32, needs_grad=True)
    first = v.get_scalar_field(0)
    qd.root.dense(qd.i, 3).place(first, w, v.get_scalar_field(1))
    with pytest.raises(RuntimeError, match="has been placed already"):
        qd.root.dense(qd.i, 3).place(first)
    for row, column in np.ndindex(2, 2):
        parts = m.get_scalar_field(row, column), m.grad.get_scalar_field(row, column)
        qd.root.dense(qd.ij, (2, 3)).place(*parts, offset=(1, 0))

    @qd.kernel
    def run():
        for i in v:
            v[i] += qd.Vector([i, 10.0 * i])
        for i in first:
            first[i] += 100.0
        for I in qd.grouped(m):  # noqa: E741
            m[I][1, 0] = I[0]
            m.grad[I][0, 1] = I[1]

    w.fill(7.0)
    run()
    assert v.to_numpy().tolist() == [[100, 0], [101, 10], [102, 20]] and w.to_numpy().tolist() == [7, 7, 7]
    assert m[2, 1].to_list() == [[0, 0], [2, 0]] and m.grad[1, 2].to_list() == [[0, 2], [0, 0]]
    assert v.get_scalar_field(1)[2] == 20 and first is v.get_scalar_field(0)


def test_components_with_a_field_of_their_own():
    v = qd.Vector.field(2, qd.f32)
    part = v.get_scalar_field(1)
    qd.root.dense(qd.i, 3).place(v)
    part[2] = 4.0
    assert v[2].to_list() == [0, 4] and part.shape == (3,)


def test_components_that_do_not_fit():
    v = qd.Vector.field(2, qd.f32)
    node = qd.root.dense(qd.i, 3)
    node.place(v.get_scalar_field(0))
    with pytest.raises(RuntimeError, match="are not placed"):
        v[0]
    with pytest.raises(RuntimeError, match="has been placed already"):
        node.place(v)
    qd.root.dense(qd.i, 4).place(v.get_scalar_field(1))
    with pytest.raises(RuntimeError, match=r"different shapes \[\(3,\), \(4,\)\]"):
        v[0]


def test_a_tree_of_components_is_destroyed():
    builder, v = qd.FieldsBuilder(), qd.Vector.field(2, qd.f32)
    for k in range(2):
        builder.dense(qd.i, 3).place(v.get_scalar_field(k))
    tree = builder.finalize()
    assert v[0].to_list() == [0, 0]
    tree.destroy()
    for gone in (v, v.get_scalar_field(0)):
        with pytest.raises(qd.QuadrantsRuntimeError, match="its SNode tree was destroyed"):
            gone[0]


def test_text_of_fields_and_nodes():
    """print(f) shows the elements, print(node) the way to it."""
    f, v = qd.field(qd.i32), qd.Vector.field(2, qd.f32, 2)
    assert "incomplete" in str(f) and repr(f) == "<qd.field>"
    block = qd.root.dense(qd.ij, (1, 2))
    inner = block.dense(qd.ij, (1, 2))
    inner.place(f)
    f[0, 3] = 5
    v[1] = [1, 2]
    assert str(f) == str(f.to_numpy()) == "[[0 0 0 5]]" and str(v) == str(v.to_numpy())
    assert str(inner) == "qd.root => dense [1, 2] => dense [1, 4]" and str(qd.root) == "qd.root"


@pytest.mark.parametrize("axes", [0, "ij", [qd.i], None, []])
def test_axes_that_are_none(axes):
    with pytest.raises(TypeError, match="expected axes such as qd.ij"):
        qd.root.dense(axes, 2)


@pytest.mark.parametrize("number", [-1, 12])
def test_axes_that_are_not_there(number):
    with pytest.raises(qd.QuadrantsRuntimeError, match="from 0 to 11"):
        qd.axes(number)


@pytest.mark.parametrize("make", [qd.field, qd.ndarray])
def test_more_memory_than_a_machine_can_have(make):
    with pytest.raises(MemoryError, match=r"shape \(2147483647, 2147483647, 2147483647\) would take"):
        make(qd.i32, (2**31 - 1,) * 3)


def test_numpy_reals_in_integer_fields():
    """Truncated, as `fill` does; a Python float is refused, and so is what is no number."""
    f = qd.field(qd.i32, 1)
    f[0] = np.float32(-2.7)
    assert f[0] == -2
    for value in (2.0, np.float32(np.nan)):
        with pytest.raises(TypeError, match="expected an integer"):
            f[0] = value
