"""`qd.math` against NumPy, Python's complex numbers and values observed of the older system. Run in f64."""

import cmath
import math

import numpy as np
import pytest

import quadrants as qd

m = qd.math


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64)


def call(body, inputs, width=1):
    """`body(x)` of a kernel for an input vector x; gives `width` numbers."""
    source = qd.Vector(inputs, qd.f64)
    result = qd.field(qd.f64, shape=width)

    @qd.kernel
    def run(x: qd.types.vector(len(inputs), qd.f64)):
        r = body(x)
        for k in qd.static(range(width)):
            if qd.static(width == 1):
                result[k] = r
            else:
                result[k] = r[k]

    run(source)
    return result[0] if width == 1 else result.to_numpy()


@qd.func
def clamp(x):
    return m.clamp(x[0], x[1], x[2])


@qd.func
def mix(x):
    return m.mix(x[0], x[1], x[2])


@qd.func
def step(x):
    return m.step(x[0], x[1])


@qd.func
def smoothstep(x):
    return m.smoothstep(x[0], x[1], x[2])


@qd.func
def sign(x):
    return m.sign(x[0])


@qd.func
def mod(x):
    return m.mod(x[0], x[1])


@qd.func
def fract(x):
    return m.fract(x[0])


@qd.func
def log2(x):
    return m.log2(x[0])


@qd.func
def degrees(x):
    return m.degrees(x[0])


@qd.func
def radians(x):
    return m.radians(x[0])


@qd.func
def length(x):
    return m.length(x)


SCALARS = [
    (clamp, [5.0, 1.0, 3.0], 3.0),
    (clamp, [-5.0, 1.0, 3.0], 1.0),
    (mix, [1.0, 3.0, 0.25], 1.5),
    (step, [1.0, 1.0], 1.0),
    (step, [1.0, 0.5], 0.0),
    (smoothstep, [0.0, 2.0, 0.5], 0.15625),
    (smoothstep, [0.0, 2.0, 9.0], 1.0),
    (sign, [-2.0], -1.0),
    (sign, [0.0], 0.0),
    (sign, [3.0], 1.0),
    (mod, [-2.5, 2.0], 1.5),
    (fract, [-0.25], 0.75),
    (log2, [10.0], math.log2(10.0)),
    (degrees, [1.0], math.degrees(1.0)),
    (radians, [90.0], math.pi / 2),
    (length, [3.0, 4.0], 5.0),
]


@pytest.mark.parametrize("f, x, expected", SCALARS, ids=[f"{f.__name__}-{x}" for f, x, _ in SCALARS])
def test_scalars(f, x, expected):
    assert call(f, x) == pytest.approx(expected, rel=1e-12)


@qd.func
def cmul(x):
    return m.cmul(x.xy, x.zw)


@qd.func
def cdiv(x):
    return m.cdiv(x.xy, x.zw)


@qd.func
def cpow(x):
    return m.cpow(x.xy, 3)


@qd.func
def cconj(x):
    return m.cconj(x.xy)


@qd.func
def cinv(x):
    return m.cinv(x.xy)


@qd.func
def csqrt(x):
    return m.csqrt(x.xy)


@qd.func
def cexp(x):
    return m.cexp(x.xy)


@qd.func
def clog(x):
    return m.clog(x.xy)


@pytest.mark.parametrize("z", [1.5 - 0.7j, -0.3 + 2.0j, -1.0 - 0.5j])
@pytest.mark.parametrize(
    "f, expected",
    [
        (cmul, lambda z: z * (0.3 + 2j)),
        (cdiv, lambda z: z / (0.3 + 2j)),
        (cpow, lambda z: z**3),
        (cconj, lambda z: z.conjugate()),
        (cinv, lambda z: 1 / z),
        (csqrt, cmath.sqrt),
        (cexp, cmath.exp),
        (clog, cmath.log),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_complex_numbers(f, expected, z):
    got = call(f, [z.real, z.imag, 0.3, 2.0], 2)
    assert got.tolist() == pytest.approx([expected(z).real, expected(z).imag], rel=1e-12)


@qd.func
def reflect(x):
    return m.reflect(x, qd.Vector([0.0, 1.0, 0.0]))


@qd.func
def refract(x):
    return m.refract(x, qd.Vector([0.0, 1.0, 0.0]), 0.5)


@qd.func
def refract_nothing(x):
    return m.refract(x, qd.Vector([0.0, 1.0, 0.0]), 2.0)


@qd.func
def cross(x):
    return m.cross(x, qd.Vector([0.0, 1.0, 0.0]))


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (reflect, [1.0, -2.0, 0.5], [1.0, 2.0, 0.5]),
        (refract, [1.0, -2.0, 0.5], [0.5, -1.3228756555322954, 0.25]),
        (refract_nothing, [0.8, -0.6, 0.0], [0.0, 0.0, 0.0]),
        (cross, [1.0, -2.0, 0.5], [-0.5, 0.0, 1.0]),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_vectors(f, x, expected):
    assert call(f, x, 3).tolist() == pytest.approx(expected, rel=1e-12, abs=1e-15)


ROTATION_3D = [  # of the older system, angles 0.3 0.5 0.7
    [0.7624848857, 0.4580127108, -0.4569914176],
    [-0.1996112851, 0.8383866436, 0.5072111697],
    [0.6154446636, -0.2955202067, 0.7306816499],
]
ABOUT_123 = [  # axis (1, 2, 3), angle 0.4
    [0.9266994944, 0.3235062902, -0.1912373583],
    [-0.3009522885, 0.9436149957, 0.1379074324],
    [0.2250683609, -0.0702454272, 0.9718074979],
]
YAW_PITCH_ROLL = [
    [0.8219543695, 0.5653542084, 0.0690335681],
    [-0.5070818728, 0.6712121662, 0.5406867876],
    [0.2593433801, -0.4794255386, 0.8383866436],
]


def test_transforms():
    out = qd.Matrix.field(4, 4, qd.f64, shape=6)

    @qd.kernel
    def run():
        out[0] = m.rotation3d(0.3, 0.5, 0.7)
        out[1] = m.rot_by_axis(qd.Vector([1.0, 2.0, 3.0]), 0.4)
        out[2] = m.rot_yaw_pitch_roll(0.3, 0.5, 0.7)
        out[3] = m.scale(1.0, 2.0, 3.0)
        out[4] = m.translate(1.0, 2.0, 3.0)
        out[5] = m.eye(4)

    run()
    got = out.to_numpy()
    for k, expected in enumerate((ROTATION_3D, ABOUT_123, YAW_PITCH_ROLL)):
        assert np.allclose(got[k, :3, :3], expected, atol=1e-7) and np.allclose(got[k, 3], [0, 0, 0, 1])
    assert (
        (got[3] == np.diag([1, 2, 3, 1])).all() and (got[4, :3, 3] == [1, 2, 3]).all() and (got[5] == np.eye(4)).all()
    )


def test_plane():
    out = qd.Matrix.field(2, 2, qd.f64, shape=2)

    @qd.kernel
    def run(a: qd.f64):
        out[0] = m.rotation2d(a)
        d = m.vdir(a)
        out[1] = qd.Matrix([[d.x, d.y], [m.distance(d, -d), m.normalize(3.0 * d).x]])

    run(0.3)
    c, s = math.cos(0.3), math.sin(0.3)
    assert np.allclose(out.to_numpy(), [[[c, -s], [s, c]], [[c, s], [2, c]]], rtol=1e-12)


@pytest.mark.parametrize("fast_math", [False, True])
def test_isnan_isinf(init, fast_math):
    init(fast_math=fast_math)
    values = np.array([np.nan, np.inf, -np.inf, 1.0, 0.0, 3e38], np.float32)
    nans, infs = np.zeros(6, np.int32), np.zeros(6, np.int32)

    @qd.kernel
    def run(x: qd.types.NDArray[qd.f32, 1], a: qd.types.NDArray[qd.i32, 1], b: qd.types.NDArray[qd.i32, 1]):
        for i in x:
            a[i] = qd.cast(m.isnan(x[i]), qd.i32)
            b[i] = qd.cast(m.isinf(x[i]), qd.i32)

    run(values, nans, infs)
    assert nans.tolist() == np.isnan(values).astype(int).tolist()
    assert infs.tolist() == np.isinf(values).astype(int).tolist()


@pytest.mark.parametrize("name", ["i32", "u32", "i64", "u64"])
def test_bits(name):
    dtype = getattr(qd, name)
    width = 8 * dtype.size
    values = [
        0,
        1,
        8,
        0x5555,
        (1 << (width - 1)) - 1,
        *([1 << (width - 1), (1 << width) - 1] if name[0] == "u" else [-1]),
    ]
    array = np.array(values, qd.lang.util.to_numpy_type(dtype))
    out = np.zeros((3, len(values)), np.int32)

    @qd.kernel
    def run(x: qd.types.NDArray[dtype, 1], r: qd.types.NDArray[qd.i32, 2]):
        for i in x:
            r[0, i] = m.popcnt(x[i])
            r[1, i] = m.clz(x[i])
            r[2, i] = m.ffs(x[i])

    run(array, out)
    bits = [v & ((1 << width) - 1) for v in values]
    assert out[0].tolist() == [bin(v).count("1") for v in bits]
    assert out[1].tolist() == [width - v.bit_length() for v in bits]
    assert out[2].tolist() == [(v & -v).bit_length() for v in bits]


def fns(mask, base, offset):
    order = [base] if offset == 0 else range(base, 32) if offset > 0 else range(base, -1, -1)
    hits = [bit for bit in order if mask >> bit & 1]
    wanted = max(abs(offset), 1) - 1
    return hits[wanted] if wanted < len(hits) else 0xFFFFFFFF


def test_fns():
    cases = [
        (mask, base, offset) for mask in (0, 0b101101, 0xFFFFFFFF) for base in (0, 2, 5, 31) for offset in range(-3, 4)
    ]
    arguments = np.array(cases, np.int64)
    out = np.zeros(len(cases), np.uint32)

    @qd.kernel
    def run(x: qd.types.NDArray[qd.i64, 2], r: qd.types.NDArray[qd.u32, 1]):
        for i in r:
            r[i] = m.fns(qd.cast(x[i, 0], qd.u32), qd.cast(x[i, 1], qd.u32), qd.cast(x[i, 2], qd.i32))

    run(arguments, out)
    assert out.tolist() == [fns(*case) for case in cases]


def test_shared_names():
    """Names that `qd.math` shares with the top level are the same objects, and the constants are Python's."""
    for name in "acos asin atan2 ceil cos exp floor log max min pow round sin sqrt tan tanh".split():
        assert getattr(m, name) is getattr(qd, name), name
    assert (m.e, m.pi, m.inf) == (math.e, math.pi, math.inf) and m.nan != m.nan


@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, -2.0, 0.5]])
@pytest.mark.parametrize("angle", [0.0, 0.7, -2.0, math.pi])
def test_rotations_keep_lengths_and_their_axis(axis, angle):
    """`rot_by_axis` against Rodrigues' formula: rows turn by the angle, the axis stays."""
    out = qd.Matrix.field(4, 4, qd.f64, shape=())

    @qd.kernel
    def run(a: qd.types.vector(3, qd.f64), angle: qd.f64):
        out[None] = m.rot_by_axis(a, angle)

    run(qd.Vector(axis, qd.f64), angle)
    got = out.to_numpy()[:3, :3]
    u = np.array(axis) / np.linalg.norm(axis)
    k = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    turned = np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k
    assert np.allclose(got.T, turned, atol=1e-14) and np.allclose(u @ got, u, atol=1e-14)
    assert np.linalg.det(got) == pytest.approx(1.0)


def test_determinant_inverse_dot():
    a = np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, -1.0]])
    mats = qd.Matrix.field(3, 3, qd.f64, shape=2)
    numbers = qd.field(qd.f64, 2)
    mats[0] = a.tolist()

    @qd.kernel
    def run():
        mats[1] = m.inverse(mats[0])
        numbers[0] = m.determinant(mats[0])
        numbers[1] = m.dot(qd.Vector([1.0, 2.0, 3.0]), qd.Vector([4.0, 5.0, 6.0]))

    run()
    assert np.allclose(mats[1].to_numpy() if hasattr(mats[1], "to_numpy") else mats[1], np.linalg.inv(a), atol=1e-14)
    assert numbers[0] == pytest.approx(np.linalg.det(a)) and numbers[1] == 32.0


def test_types_follow_the_default_types(init):
    """The types of `qd.math` are made at import, and their elements are what `init` chose last."""
    Particle = qd.types.struct(position=m.vec3)
    for fp, ip, up in ((qd.f64, qd.i64, qd.u64), (qd.f32, qd.i32, qd.u32)):
        init(default_fp=fp, default_ip=ip)

        @qd.kernel
        def k(v: m.vec2) -> m.vec2:
            return v + m.vec2(0.1, 0.2)

        assert (m.vec2.dtype, m.mat3.dtype, m.ivec4.dtype, m.uvec2.dtype) == (fp, fp, ip, up)
        assert (m.mat3.n, m.mat3.m, m.vec3.n) == (3, 3, 3)
        assert m.vec3.field(shape=2).dtype == fp and Particle.field(shape=2).position.dtype == fp
        assert k([0.1, 0.2])[0] == (0.2 if fp == qd.f64 else np.float32(0.1) + np.float32(0.1))
