"""Matrix and Vector outside kernels: operators, methods, swizzles and makers, against NumPy and plain Python."""

import copy
import operator
import pickle

import numpy as np
import pytest
from program_text import kernel_of

import quadrants as qd

A, B = qd.Vector([1, 2, 3]), qd.Vector([4.0, 5.0, 6.0])
M = qd.Matrix([[1, 2], [3, 4]])
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("f", OPERATORS + BITWISE + COMPARISONS, ids=lambda f: f.__name__)
def test_element_wise_operators(f):
    x, y = [7, 2, 5], [2, 3, 1]
    expected = [f(p, q) for p, q in zip(x, y)]
    assert f(qd.Vector(x), qd.Vector(y)).to_list() == expected
    assert f(qd.Vector(x), y).to_list() == expected
    assert f(qd.Vector(x), np.array(y)).to_list() == expected
    assert f(np.array(x), qd.Vector(y)).to_list() == expected
    assert f(qd.Vector(x), 2).to_list() == [f(p, 2) for p in x]
    assert f(2, qd.Vector(y)).to_list() == [f(2, q) for q in y]


def test_unary_operators():
    assert (-A).to_list() == [-1, -2, -3] and (~A).to_list() == [-2, -3, -4] and (+A).to_list() == [1, 2, 3]
    assert abs(-A).to_list() == [1, 2, 3]


def test_shapes_must_agree():
    for other in (M, qd.Vector([1, 2])):
        with pytest.raises(ValueError, match="could not be broadcast together"):
            A + other
    with pytest.raises(ValueError, match="ambiguous"):
        bool(A)


def test_products():
    assert A.dot(B) == A @ B == 32.0
    assert A.cross(B).to_list() == [-3, 6, -3] and qd.Vector([1, 2]).cross(qd.Vector([3, 4])) == -2
    assert A.outer_product(B).to_list() == [[4, 5, 6], [8, 10, 12], [12, 15, 18]]
    assert (M @ M).to_list() == [[7, 10], [15, 22]] and (M @ qd.Vector([1, 2])).to_list() == [5, 11]
    assert M.frobenius_inner(M) == 30
    with pytest.raises(TypeError, match="cannot combine shapes"):
        M @ A
    with pytest.raises(qd.QuadrantsCompilationError, match="2 or 3 entries"):
        qd.Vector([1, 2, 3, 4]).cross(qd.Vector([1, 2, 3, 4]))


def test_norms():
    v = qd.Vector([3.0, 4.0])
    assert (v.norm(), v.norm_sqr(), v.norm_inv()) == (5.0, 25.0, 0.2)
    assert v.norm(11.0) == 6.0 and v.normalized().to_list() == [0.6, 0.8]


def test_reductions():
    assert (A.sum(), A.max(), A.min(), A.all(), A.any()) == (6, 3, 1, True, True)
    assert (M.sum(), M.max(), M.min(), M.trace()) == (10, 4, 1, 5)
    assert qd.Vector([0, 1]).any() and not qd.Vector([0, 1]).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_determinant_and_inverse(n):
    array = np.random.default_rng(n).standard_normal((n, n))
    assert qd.Matrix(array).determinant() == pytest.approx(np.linalg.det(array))
    assert np.allclose(qd.Matrix(array).inverse().to_numpy() @ array, np.eye(n))


def test_square_matrices_only():
    assert M.determinant() == -2 and M.transpose().to_list() == [[1, 3], [2, 4]]
    for name in ("inverse", "determinant", "trace"):
        with pytest.raises(qd.QuadrantsCompilationError, match=r"expected a square matrix, got shape \(1, 3\)"):
            getattr(qd.Matrix([[1, 2, 3]]), name)()
    with pytest.raises(qd.QuadrantsCompilationError, match="outer_product"):
        A.transpose()


def test_entries():
    v, m = qd.Vector([1, 2, 3]), qd.Matrix([[1, 2], [3, 4]])
    v[1], m[0, 1] = 9, 8
    assert (v[1], v[-1], m[0, 1], len(v), list(v), list(m)) == (9, 3, 8, 3, [1, 9, 3], [[1, 8], [3, 4]])
    assert type(v[1]) is int and v[0:2].to_list() == [1, 9] and m[:, 1].to_list() == [8, 4]
    with pytest.raises(IndexError, match="Expected 2 indices, got 1"):
        m[0]
    with pytest.raises(IndexError):
        v[3]
    v.fill(4)
    assert v.to_list() == [4, 4, 4]


def test_swizzles():
    v = qd.Vector([1, 2, 3])
    assert v.zyx.to_list() == v.bgr.to_list() == v.pts.to_list() == [3, 2, 1][:3] or v.zyx.to_list() == [3, 2, 1]
    assert (v.x, v.g, v.p) == (1, 2, 3) and v.xxyy.to_list() == [1, 1, 2, 2]
    v.xz = [7, 8]
    v.y = 5
    assert v.to_list() == [7, 5, 8]
    with pytest.raises(qd.QuadrantsSyntaxError, match=r"vec3 only has attributes=\('x', 'y', 'z'\), got=\('x', 'w'\)"):
        v.xw  # noqa: B018
    with pytest.raises(qd.QuadrantsSyntaxError, match="occurs twice"):
        v.xx = [1, 2]
    with pytest.raises(AttributeError, match="'Vector' object has no attribute 'xr'"):
        v.xr  # noqa: B018


def test_makers():
    assert qd.Matrix.zero(qd.f32, 2, 3).to_list() == [[0, 0, 0]] * 2 and qd.Vector.zero(qd.i32, 2).to_list() == [0, 0]
    assert qd.Matrix.one(qd.i32, 2, 2).to_list() == [[1, 1]] * 2 and qd.Matrix.identity(qd.f32, 2).to_list() == [
        [1, 0],
        [0, 1],
    ]
    assert qd.Vector.unit(3, 1).to_list() == [0, 1, 0] and qd.Matrix.diag(2, 3).to_list() == [[3, 0], [0, 3]]
    assert qd.Matrix.rows([A, B]).to_list() == [[1, 2, 3], [4, 5, 6]]
    assert qd.Matrix.cols([A, [4, 5, 6]]).to_list() == [[1, 4], [2, 5], [3, 6]]
    assert qd.Matrix.zero is qd.Vector.zero
    with pytest.raises(ValueError, match="expected 0 <= i < n"):
        qd.Vector.unit(3, 3)


def test_element_types():
    assert qd.Vector([1.5, 2], qd.i32).to_list() == [1, 2] and qd.Vector([1, 2], qd.f32).dtype is qd.f32
    assert A.dtype is None and qd.Vector([257], qd.u8).to_list() == [1]
    assert A.cast(qd.f64).dtype is qd.f64 and qd.Vector([0, 2]).cast(bool).to_list() == [0, 1]


def test_what_is_not_a_matrix():
    for wrong in (3, "abc", {"x": 1}):
        with pytest.raises(TypeError, match="can only be initialized with an array-like object"):
            qd.Vector(wrong)
    with pytest.warns(UserWarning, match="13x13 > 144 entries"):
        qd.Matrix(np.zeros((13, 13)))


def test_classes_and_text():
    assert isinstance(A, qd.Vector) and isinstance(A, qd.Matrix) and not isinstance(M, qd.Vector)
    assert str(A) == repr(A) == "[1 2 3]" and str(M) == "[[1 2]\n [3 4]]"
    assert (A.n, A.m, M.n, M.m, M.get_shape()) == (3, 1, 2, 2, (2, 2))
    assert (np.asarray(M) == [[1, 2], [3, 4]]).all()


def test_copies_are_separate():
    v = qd.Vector([1, 2], qd.f32)
    for twin in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        twin[0] = 9
        assert v[0] == 1 and twin.dtype is qd.f32


def test_compound_types_make_values():
    vec3, mat2 = qd.types.vector(3, qd.f32), qd.types.matrix(2, 2, qd.i32)
    assert vec3(1, 2, 3).to_list() == vec3([1, 2], 3).to_list() == [1, 2, 3] and vec3(2).to_list() == [2, 2, 2]
    assert mat2(1, 2, 3, 4).to_list() == mat2([[1, 2], [3, 4]]).to_list() == mat2([1, 2], [3, 4]).to_list()
    assert qd.math.ivec2(1.9, 2).to_list() == [1, 2]
    with pytest.raises(ValueError, match="takes 1 or 3 entries, got 2"):
        vec3(1, 2)


def test_comparisons_give_truth_values():
    equal = qd.Vector([1, 2]) == qd.Vector([1, 3])
    assert str(equal.to_list()) == "[True, False]" and equal.to_numpy().dtype == bool
    assert equal.any() and not equal.all() and equal.sum() == 1


def test_integers_beyond_63_bits_are_not_rounded():
    for values in ([2**64 - 3, 3], [[2**64 - 3, 2**63], [1, 2]]):
        assert qd.Matrix(values).to_list() == qd.Matrix(values, qd.u64).to_list() == values
    assert qd.Vector([1.5, 2**63]).to_list() == [1.5, 2.0**63]


def test_reals_become_integers_as_in_kernels():
    values = [3e9, -3e9, 300.7, float("nan"), -1.9]
    assert qd.Vector(values, qd.i32).to_list() == [2**31 - 1, -(2**31), 300, 0, -1]
    assert qd.Vector(values, qd.u8).to_list() == [255, 0, 255, 0, 0]
    assert qd.Vector([2e19, -1.0, 2.0**63], qd.u64).to_list() == [2**64 - 1, 0, 2**63]
    assert qd.Vector([2.0**63, -(2.0**63), 2.0**62], qd.i64).to_list() == [2**63 - 1, -(2**63), 2**62]


def test_equality_as_a_whole():
    """`assert a == b` is about all entries; other truth values stay ambiguous."""
    a = qd.Vector([1, 2])
    assert a == qd.Vector([1, 2]) and not a == qd.Vector([1, 3]) and a != qd.Vector([1, 3]) and not a != [1, 2]
    for ambiguous in (a, a < 3, (a == a) | (a > 1)):
        with pytest.raises(ValueError, match="ambiguous"):
            bool(ambiguous)


def test_entries_of_short_reals_compare_with_the_number_they_were_made_of():
    v = qd.math.vec2(0.1, 0.2)
    assert v.x == 0.1 and v[1] == 0.2 and list(v) == [0.1, 0.2] and v.to_list() != [0.1, 0.2]


def test_assigning_to_entries_casts():
    v = qd.Vector([1, 2, 3])
    v[0], v.y = 5.7, -2.7
    assert v.to_list() == [5, -2, 3]
    with pytest.raises(qd.QuadrantsRuntimeError, match="does not match the swizzle pattern=xyz"):
        v.xyz = [1, 2]


def test_functions_outside_their_domain():
    assert np.isnan(qd.sqrt(-1.0)) and qd.log(0.0) == -np.inf and qd.exp(1000) == np.inf and qd.rsqrt(0) == np.inf
    assert np.isnan(qd.asin(qd.Vector([0.0, 2.0])).to_numpy()).tolist() == [False, True]


def test_types_need_a_value(arch):
    with pytest.raises(qd.QuadrantsSyntaxError, match="need to be created with an initial value"):
        qd.math.vec3()
    with pytest.raises(qd.QuadrantsSyntaxError, match="need to be created with an initial value"):
        kernel_of("qd.math.vec3()", "", "qd.math.vec3")()
