"""PyTorch, really: tensors as arguments, conversions both ways, gradients, strides, element types, zero-copy rules."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from array_kernels import add, total
from program_text import child_environment

import quadrants as qd

torch = pytest.importorskip("torch")
DTYPES = {"f16": torch.float16, "f32": torch.float32, "f64": torch.float64, "i8": torch.int8, "i16": torch.int16,
          "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8, "u1": torch.bool}  # fmt: skip
SHARED = ["i32", "i64", "f32", "f64", "u1"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arguments_share_memory(arch, dtype):
    t = torch.zeros(3, 4, dtype=DTYPES[dtype])

    @qd.kernel
    def count(a: qd.types.NDArray[getattr(qd, dtype), 2]):
        for i, j in a:
            a[i, j] = (i + j) % 2

    for _ in range(2):
        count(t)
    assert t.tolist() == [[(i + j) % 2 for j in range(4)] for i in range(3)]
    assert total(t) == 6.0


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4, 5)], ids=str)
def test_shapes(arch, shape):
    t = torch.ones(shape)
    add(t, 2.0)
    assert (t == 3.0).all() and total(t) == t.sum() and t.shape == shape


def test_element_types_of_annotations(arch):
    with pytest.raises(ValueError, match="required array has dtype=i32, but the argument has dtype=f32"):
        qd.kernel(_typed)(torch.zeros(3))
    with pytest.raises(ValueError, match="required array has ndim=1, but the argument has 2 dimensions"):
        qd.kernel(_typed)(torch.zeros(3, 3, dtype=torch.int32))
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="no element type of ours is|cannot be shared"):
        total(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="bfloat16"):
        total(torch.zeros(3, dtype=torch.bfloat16))


def _typed(a: qd.types.NDArray[qd.i32, 1]):
    for i in a:
        a[i] = i


@pytest.mark.parametrize(
    "view", [lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[:, 1], lambda t: t[:1].expand(4, 4)], ids=range(4)
)
def test_strides_are_refused(arch, view):
    t = torch.arange(16.0).reshape(4, 4)
    with pytest.raises(ValueError, match=r"please call tensor\.contiguous\(\)"):
        total(view(t))
    assert total(view(t).contiguous()) == view(t).sum()


def test_contiguous_parts(arch):
    t = torch.arange(16.0).reshape(4, 4)
    add(t[1:3], 100.0)
    assert t[0].sum() == 6.0 and t[1].tolist() == [104.0, 105.0, 106.0, 107.0] and t[3].sum() == 54.0


def test_tensors_with_gradients(arch):
    t = torch.arange(4.0, requires_grad=True)
    assert total(t) == 6.0
    add(t, 1.0)
    assert t.tolist() == [1.0, 2.0, 3.0, 4.0] and t.requires_grad and t.is_leaf
    (t * t).sum().backward()
    assert t.grad.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_vectors_as_elements(arch):
    t = torch.arange(6.0).reshape(2, 3)

    @qd.kernel
    def lengths(a: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)) -> qd.f32:
        s = 0.0
        for i in a:
            s += a[i].norm_sqr()
        return s

    assert lengths(t) == (t * t).sum()


@qd.data_oriented
class Holder:
    @qd.kernel
    def scale(self, a: qd.types.ndarray(), k: qd.f32):
        for at in qd.grouped(a):
            a[at] *= k


def test_methods_keywords_and_tensor_annotations(arch):
    t = torch.ones(3)
    Holder().scale(k=3.0, a=t)

    @qd.kernel
    def fill(a: qd.Tensor, v: qd.f32):
        for i in a:
            a[i] += v

    fill(t, 4.0)
    assert t.tolist() == [7.0] * 3


def test_members_of_dataclasses(arch):
    @dataclasses.dataclass(frozen=True)
    class State:
        a: qd.types.ndarray()
        b: qd.types.NDArray[qd.f32, 1]

    @qd.kernel
    def move(s: State):
        for i in s.b:
            s.b[i] = s.a[i] + 1.0

    state = State(torch.arange(3.0), torch.zeros(3))
    for _ in range(2):
        move(state)
    assert state.b.tolist() == [1.0, 2.0, 3.0]


CONVERTED = {
    "field": lambda dt: qd.field(dt, (2, 3)), "ndarray": lambda dt: qd.ndarray(dt, (2, 3)),
    "vector field": lambda dt: qd.Vector.field(3, dt, 2), "soa": lambda dt: qd.Vector.field(3, dt, 2, layout=qd.Layout.SOA),
    "vector ndarray": lambda dt: qd.Vector.ndarray(3, dt, 2), "tensor": lambda dt: qd.tensor(dt, (2, 3)),
    "permuted": lambda dt: qd.tensor(dt, (2, 3), layout=(1, 0)),
}  # fmt: skip


@pytest.mark.parametrize("make", CONVERTED.values(), ids=CONVERTED)
@pytest.mark.parametrize("dtype", ["i32", "f64", "u8", "f16"])
def test_to_and_from_torch(arch, make, dtype):
    ours, t = make(getattr(qd, dtype)), torch.arange(6).reshape(2, 3).to(DTYPES[dtype])
    ours.from_torch(t)
    back = ours.to_torch()
    assert back.dtype == t.dtype and back.shape == t.shape and torch.equal(back, t)
    back += 1
    assert torch.equal(ours.to_torch(device="cpu"), t)  # a copy
    ours.from_torch(t.t().contiguous().t())  # any strides
    assert torch.equal(ours.to_torch(), t)
    assert torch.equal(torch.from_dlpack(ours.to_numpy()), t)


@pytest.mark.parametrize("make", CONVERTED.values(), ids=CONVERTED)
@pytest.mark.parametrize("dtype", SHARED)
def test_zero_copy(arch, make, dtype):
    ours = make(getattr(qd, dtype))
    for copy in (None, False):
        view = ours.to_torch(copy=copy)
        view[1, 2] = 1
        assert torch.equal(ours.to_torch(), view.cpu()) and ours.to_numpy()[1, 2] == 1
        view[1, 2] = 0
    assert tuple(view.shape) == (2, 3)
    capsule = torch.from_dlpack(ours.to_dlpack())
    capsule[0, 1] = 1
    assert view[0, 1] == 1


def test_dlpack_keeps_strides_of_layouts(arch):
    ours = qd.tensor(qd.f32, (2, 3), layout=(1, 0))
    view = torch.from_dlpack(ours.to_dlpack())
    assert view.shape == (2, 3) and view.stride() == (1, 2)


def test_where_there_is_no_view(arch):
    scalar = qd.field(qd.f32, ())
    with pytest.raises(ValueError, match="Zero-copy not available"):
        scalar.to_torch(copy=False)
    assert scalar.to_torch(copy=None).shape == () and scalar.to_torch().item() == 0.0


def test_struct_fields(arch):
    s = qd.Struct.field({"a": qd.f32, "v": qd.math.vec2}, shape=3)
    s.from_torch({"a": torch.arange(3.0), "v": torch.arange(6.0).reshape(3, 2)})
    out = s.to_torch()
    assert out["a"].tolist() == [0.0, 1.0, 2.0] and out["v"][2].tolist() == [4.0, 5.0]


def test_views_outlive_the_runtime(init):
    init()
    ours = qd.ndarray(qd.f32, 1000)
    ours.fill(3.0)
    view = ours.to_torch(copy=None)
    del ours
    qd.reset()
    assert view.sum() == 3000.0


def test_types():
    from quadrants.lang.util import to_pytorch_type, to_quadrants_type

    for name, dtype in DTYPES.items():
        assert to_pytorch_type(getattr(qd, name)) is dtype and to_quadrants_type(dtype) is getattr(qd, name)


def test_tensors_on_one_side_of_autograd(arch):
    """A kernel inside an autograd.Function, as the interop page shows."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            out = torch.empty_like(x)
            square(x, out)
            return out

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            out = torch.empty_like(x)
            square_back(x, gradient.contiguous(), out)
            return out

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


@qd.kernel
def square(x: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in x:
        out[i] = x[i] * x[i]


@qd.kernel
def square_back(x: qd.types.ndarray(), g: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in x:
        out[i] = 2.0 * x[i] * g[i]


def test_the_package_does_not_import_torch():
    code = "import sys, quadrants as qd; qd.init(arch=qd.cpu, offline_cache=False); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env=child_environment())


def test_numpy_shares_with_torch(arch):
    if arch == "cuda":
        pytest.skip("memory is not mapped for the host")
    ours = qd.ndarray(qd.f32, 4)
    view = ours.to_numpy(copy=None)
    t = torch.from_numpy(view)
    add(ours, 2.0)
    assert t.tolist() == [2.0] * 4 and np.shares_memory(view, t.numpy())
