"""Errors of the front end: class, text, the line in the user's file and the caret under the expression."""

import subprocess
import sys

import numpy as np
import pytest
from program_text import child_environment, load

import quadrants as qd
from quadrants.lang.exception import QuadrantsIndexError

E, S, T, N, X = (
    qd.QuadrantsCompilationError, qd.QuadrantsSyntaxError, qd.QuadrantsTypeError, qd.QuadrantsNameError, QuadrantsIndexError,
)  # fmt: skip

# Body of a kernel k(a: NDArray[i32, 2], n: i32, x: f32); the error; a part of its text; the text that the carets mark.
ROWS = [
    ("return_me = foo", N, 'Name "foo" is not defined', "foo"),
    ("b = a[1]", X, "Array with dim 2 accessed with indices of dim 1", "a[1]"),
    ("b = a[x, 1]", T, "indices must be integers", "a[x, 1]"),
    ("b = a[-1, 0]", S, "Negative indices are not supported", "a[-1, 0]"),
    ("n = 3", S, 'Kernel argument "n" is immutable in the kernel', None),
    ("n += 3", S, 'Kernel argument "n" is immutable in the kernel', None),
    ("b: qd.f32 = 1.0\nb: qd.i32 = 2", S, "annotated with another type", None),
    ("b, c = 1, 2, 3", S, "The number of targets is not equal to value length", None),
    ("b = 3000000000", T, "Integer literal 3000000000 exceeded the range of default_ip: i32", "b = 3000000000"),
    ("a[0, 0] = 100000 * 100000", T, "Integer literal 10000000000 exceeded", "a[0, 0] = 100000 * 100000"),
    ("b = x * 3000000000", T, "Integer literal 3000000000 exceeded the range of default_ip: i32", "x * 3000000000"),
    ("b = x & 1", T, "unsupported operand type(s) for '&': 'f32' and 'i32'", "x & 1"),
    ("b = n < 'text'", T, "unsupported operand type(s) for '<': 'i32' and 'str'", "n < 'text'"),
    ("b = a < 1", T, "unsupported operand type(s) for '<': 'array' and 'i32'", "a < 1"),
    (
        "b = qd.bit_cast(a, qd.f32)",
        T,
        "qd.bit_cast takes a scalar, vector or matrix, got array",
        "qd.bit_cast(a, qd.f32)",
    ),
    ("b = 2 == a", T, "unsupported operand type(s) for '==': 'i32' and 'array'", "2 == a"),
    ("b = [] == n", T, "unsupported operand type(s) for '==': 'list' and 'i32'", "[] == n"),
    ("b = ~x", T, "takes integral inputs only, however 'f32' is provided", "~x"),
    ("b = not x", T, "takes integral inputs only, however 'f32' is provided", "not x"),
    ("b = max(x=1, y=2)", T, "TypeError when calling `max`: got an unexpected keyword argument 'x'", None),
    ("qd.loop_config(speed=2)", T, "`loop_config`: got an unexpected keyword argument 'speed'", None),
    ("b = qd.Vector([1, n, 3])[2:1]", X, "the slice takes no entry of '[Tensor (3) i32]'", "qd.Vector([1, n, 3])[2:1]"),
    ("b = qd.atomic_add(a[0, 0])", T, "`atomic_add`: it takes 2 arguments, found 1", None),
    ("b = qd.select(n, 1)", T, "`select`: missing 1 required positional argument", None),
    ("b = qd.sqrt(1, 2)", T, "`sqrt`: it does not take 2 positional arguments", None),
    ("b = qd.sin(n)", T, "'sin' takes real inputs only", "qd.sin(n)"),
    ("b = n ** -1", T, "Negative exponent in pow(int, int) is not allowed", "n ** -1"),
    ("b = 2**31", T, "Integer literal 2147483648 exceeded the range of default_ip: i32", None),
    ("b = n + 2**31", T, "Integer literal 2147483648 exceeded the range of default_ip: i32", "n + 2**31"),
    ("b = 10**10**10", T, "too large", "10**10**10"),
    ("b = qd.u8(2**8)", T, "Integer literal 256 exceeded", None),
    ("assert x", T, "`assert` conditions must be an integer; found f32", None),
    ("if x:\n    pass", T, "`if` conditions must be an integer; found f32", None),
    ("while x:\n    pass", T, "`while` conditions must be an integer; found f32", None),
    ("v = qd.Vector([1, 2])\nif v == v:\n    pass", ValueError, "ambiguous", None),
    (
        "v = qd.Vector([1, 2])\nif v == v:\n    pass",
        T,
        "`if` conditions must be an integer; found [Tensor (2) u1]",
        None,
    ),
    ("for i in qd.static(range(n)):\n    pass", T, "Input to qd.static must be compile-time constants", "range(n)"),
    ("for i in qd.static(qd.static(range(3))):\n    pass", S, "'qd.static' cannot be nested", None),
    ("v = qd.Vector([1, 2])\nb = 1 if v == v else 0", S, 'Please use "qd.select" instead', None),
    ("v = qd.Vector([1, 2]) + qd.Vector([1, 2, 3])", T, "Cannot broadcast tensor to tensor", None),
    (
        "v = qd.Vector([1, 2])\nv = qd.Vector([1, 2, 3])",
        T,
        "cannot assign '[Tensor (3) i32]' to '[Tensor (2) i32]'",
        None,
    ),
    ("v = qd.Vector([1, 2])\nb = v.z", S, "vec2 only has attributes=('x', 'y'), got=('z',)", "v.z"),
    ("v = qd.Vector([1, 2])\nb = v[2]", X, "out of range", "v[2]"),
    ("v = qd.Vector([1, 2])\nb = v[0, 0]", X, "Expected 1 indices, got 2.", "v[0, 0]"),
    ("v = qd.Vector([1, 2])\nb = v.transpose()", E, "outer_product", "v.transpose()"),
    ("for i in range(1, 5, 2):\n    pass", S, "Range should have 1 or 2 arguments, found 3", "range(1, 5, 2)"),
    (
        "for i in qd.ndrange(x):\n    pass",
        T,
        "Every argument of ndrange should be an integer scalar or a tuple/list of (int, int), found 'f32'",
        "qd.ndrange(x)",
    ),
    ("qd.static_assert()", T, "when calling `static_assert`: it takes 1 or 2 arguments, found 0", "qd.static_assert()"),
    ("b = qd.static()", T, "when calling `static`: it takes at least 1 argument, found 0", "qd.static()"),
    ("for i in qd.grouped(n, n):\n    pass", T, "`grouped`: it takes 1 argument, found 2", None),
    ("for i in qd.ndrange('a'):\n    pass", S, "should be a scalar or a tuple/list like (begin, end)", None),
    ("for i, j in qd.ndrange(2, 3, axes=(0,)):\n    pass", S, "has 1 entries", None),
    ("for i, j in qd.ndrange(2, 3, axes=(0, 0)):\n    pass", S, "is not a permutation of range(2)", None),
    ("for i, j in qd.ndrange(2, 3, axes=1):\n    pass", T, "expected a tuple of the axes", None),
    ("for i in qd.ndrange(2, 2):\n    pass", S, "not equal to the dimension of the ndrange", None),
    ("for i in a:\n    pass", X, "Number of struct-for indices does not match", None),
    ("for i in n:\n    pass", TypeError, "Cannot loop over the object", None),
    ("for i in range(3):\n    break", S, "Cannot break in the outermost loop", "break"),
    ("for i in range(3):\n    if i > 1:\n        break", S, "Cannot break in the outermost loop", "break"),
    ("for i in F0:\n    n", X, "does not match loop variable dimensionality (1 != 0)", None),
    ("qd.loop_config(block_dim=n)", S, "must be a constant integer from 1 to 1024, found i32", None),
    ("for i in range(3):\n    pass\nelse:\n    pass", S, "'else' clause for 'for' not supported", None),
    ("while n > 0:\n    pass\nelse:\n    pass", S, "'else' clause for 'while' not supported", None),
    ("i = 0\nfor i in range(3):\n    pass", S, "Variable 'i' is already declared in the outer scope", None),
    (
        "for i in qd.static(range(3)):\n    if n > i:\n        break",
        S,
        "You are trying to `break` a static `for` loop",
        "break",
    ),
    (
        "for i in qd.static(range(n)):\n    pass",
        ValueError,
        "Input to qd.static must be compile-time constants",
        "range(n)",
    ),
    ("b = qd.static(n + 1)", ValueError, "Input to qd.static must be compile-time constants", None),
    ("qd.static_assert(1 > 2, 'no good')", AssertionError, "no good", None),
    ("qd.static_assert(n > 2)", T, "Static assert with non-static condition", None),
    ("b = n in (1, 2)", S, '"In" is only supported inside `qd.static`', "n in (1, 2)"),
    ("b = a is None", S, 'Operator "is" in Quadrants scope is not supported', "a is None"),
    ("b = n @ 2", T, "unsupported operand type for '@': 'i32'", "n @ 2"),
    ("def f():\n    pass", S, "Function definition is not allowed", None),
    ("b = lambda y: y", S, 'Unsupported node "Lambda"', "lambda y: y"),
    ("b = {1, 2}", S, 'Unsupported node "Set"', "{1, 2}"),
    ("try:\n    pass\nexcept ValueError:\n    pass", S, 'Unsupported node "Try"', None),
    ("import os", S, 'Unsupported node "Import"', "import os"),
    ("global y", S, 'Unsupported node "Global"', "global y"),
    ("del n", S, 'Unsupported node "Delete"', "del n"),
    ("raise ValueError()", S, 'Unsupported node "Raise"', "raise ValueError()"),
    ("with qd.checkpoint(1):\n    pass", S, "qd.checkpoint is not supported yet", None),
    ("b = qd.f32(1)", T, "Integer literals must be annotated with a integer type", "qd.f32(1)"),
    ("b = qd.i32(1.5)", T, "Floating-point literals must be annotated with a floating-point type", "qd.i32(1.5)"),
    ("b = qd.i32(1, 2)", S, "A primitive type can only decorate a single expression.", "qd.i32(1, 2)"),
    ("import_me = math.sin(x)", T, "Did you mean to use `qd.sin` instead of `math.sin`?", "math.sin(x)"),
    ("b = np.abs(x)", T, "Did you mean to use `qd.abs` instead of `numpy.absolute`?", "np.abs(x)"),
    ("b = math.isnan(x)", T, "Did you mean to use `qd.math.isnan` instead of `math.isnan`?", "math.isnan(x)"),
    ("b = math.erf(x)", T, "`math.erf` cannot be applied to values of the running kernel.", "math.erf(x)"),
    ("other()", S, "Kernels cannot call other kernels", "other()"),
    ("b = helper(1)", S, "Missing argument 'y'.", "helper(1)"),
    ("b = helper(1, 2, 3)", S, "Too many arguments. Expected (x, y)", "helper(1, 2, 3)"),
    ("b = helper(1, x=2)", S, "Multiple values for argument 'x'.", "helper(1, x=2)"),
    ("b = helper(1, y=2, c=3)", S, "Unexpected argument 'c'.", "helper(1, y=2, c=3)"),
    ("b = qd.svd(n)", T, "qd.svd takes a square matrix, got 'i32'", "qd.svd(n)"),
    ("b = qd.activate(n)", S, "qd.activate is not supported yet", "qd.activate(n)"),
    ("b = 5(n)", T, "not callable", "5(n)"),
    ("a = 1", S, 'Kernel argument "a" is immutable', None),
    ("N = N + 1", S, "cannot be assigned", None),
]
HEAD = """import math
N = [1]
F0 = qd.field(qd.i32, ())
@qd.kernel
def other():
    pass
@qd.func
def helper(x, y):
    return x + y
@qd.kernel
def k(a: qd.types.NDArray[qd.i32, 2], n: qd.i32, x: qd.f32):
"""


@pytest.mark.parametrize("body, error, message, marked", ROWS)
def test_error(init, body, error, message, marked):
    init(print_full_traceback=False)
    if body.startswith("N = N"):
        error, message = E, ""
    k = load(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))["k"]
    with pytest.raises(E) as caught:
        k(np.zeros((2, 2), np.int32), 2, 1.5)
    text = str(caught.value)
    assert isinstance(caught.value, error), (type(caught.value), text)
    assert message in text
    assert "in k:" in text and 'File "<program-' in text
    if marked is not None:
        lines = text.splitlines()
        carets = next(k for k, line in enumerate(lines) if line.strip() and not line.strip("^ "))
        start = lines[carets].index("^")
        assert lines[carets - 1][start : start + lines[carets].count("^")] == marked


def test_line_and_chain_of_calls(arch):
    """The position is that of the file, and the calls that led there come first."""
    program = load(
        """

        @qd.func
        def inner(v):
            return v.w

        @qd.func
        def outer(v):
            return inner(v) + 1

        @qd.kernel
        def k() -> qd.i32:
            v = qd.Vector([1, 2])
            return outer(v)
        """
    )
    with pytest.raises(qd.QuadrantsSyntaxError) as caught:
        program["k"]()
    text = str(caught.value)
    at = [text.index(f"line {line}, in {name}:") for line, name in ((14, "k"), (9, "outer"), (5, "inner"))]
    assert at == sorted(at)


def test_wrapping_of_other_errors(init):
    def explode():
        raise KeyError("gone")

    k = load("@qd.kernel\ndef k():\n    x = qd.static(explode())\n", explode=explode)["k"]
    init(print_full_traceback=False)
    with pytest.raises(qd.QuadrantsCompilationError, match="gone"):
        k()
    init(print_full_traceback=True)
    with pytest.raises(KeyError) as caught:
        k()
    assert not isinstance(caught.value, qd.QuadrantsCompilationError)


DECORATION = [
    ("@qd.kernel\n@qd.kernel\ndef k():\n    pass", "KERNEL_ANNOTATION_ORDER"),
    ("@qd.func\n@qd.kernel\ndef k():\n    pass", "KERNEL_ANNOTATION_ORDER"),
    ("@qd.kernel\n@qd.func\ndef k():\n    pass", "KERNEL_ANNOTATION_ORDER"),
    ("class A:\n    @qd.kernel\n    @staticmethod\n    def k():\n        pass", "KERNEL_ANNOTATION_ORDER"),
    ("qd.kernel(print)", "takes a Python function"),
    ("@qd.kernel\ndef k(a):\n    pass", "Invalid type annotation"),
    (
        "@qd.kernel\ndef k(b: qd.i32, a: dict):\n    pass",
        r"Invalid type annotation \(argument 1\) of Quadrants kernel: <class 'dict'>. \"a\" of \"k\"",
    ),
    ("@qd.func\ndef f(a: 3):\n    pass", r"Invalid type annotation \(argument 0\) of Quadrants function: 3"),
    ("@qd.real_func\ndef f(a: None):\n    pass", "Invalid type annotation"),
    ("@qd.kernel\ndef k(a: 'list'):\n    pass", "Invalid type annotation"),
    ("@qd.kernel\ndef k(a: qd.Vector([1, 2])):\n    pass", "Invalid type annotation"),
    ("@qd.kernel\ndef k(a: qd.ref(qd.i32)):\n    pass", "Invalid type annotation"),
    ("@qd.kernel\ndef k(a: qd.i32.__class__):\n    pass", "Invalid type annotation"),
    ("import typing\n@qd.kernel\ndef k(a: typing.Optional[int]):\n    pass", "None is possible for"),
    ("@qd.kernel\ndef k() -> tuple[int, ...]:\n    pass", "Ellipsis is not supported"),
    ("@qd.kernel\ndef k(*a):\n    pass", "variable positional"),
    ("@qd.kernel\ndef k(**a):\n    pass", "variable keyword"),
    ("@qd.kernel\ndef k(a: qd.i32 = 1):\n    pass", "default values"),
    ("@qd.kernel\ndef k(*, a: qd.i32):\n    pass", "keyword parameters"),
    ("@qd.kernel\ndef k(a: qd.i32, /):\n    pass", "positional-only"),
    ("@qd.kernel(checkpoints=True)\ndef k():\n    pass", "graph=True"),
    ("@qd.kernel(graph=True, checkpoints=True)\ndef k():\n    pass", "checkpoints=True. is not supported yet"),
]


@pytest.mark.parametrize("program, message", DECORATION)
def test_refused_at_decoration(program, message):
    with pytest.raises(qd.QuadrantsSyntaxError, match=message):
        load(program)


@pytest.mark.parametrize("decorator", [qd.kernel, qd.func, qd.pyfunc])
def test_decorated_object_is_no_function(decorator):
    with pytest.raises(TypeError, match="5 is not a callable object"):
        decorator(5)


FUNC_ARGUMENTS = [
    ("x: qd.math.vec2", "f(qd.Vector([1, 2, 3]))", "Argument x of .* is expected to be a"),
    ("x: qd.math.vec2", "f(1)", "Argument x of .* is expected to be a"),
    ("x: qd.types.ndarray()", "f(1)", "Argument x of .* is expected to be an array, but got i32"),
    ("x: qd.BufferView", "f(1)", "Argument x of .* expects a BufferView, got i32"),
]


@pytest.mark.parametrize("params, call, message", FUNC_ARGUMENTS)
def test_refused_arguments_of_functions(arch, params, call, message):
    program = f"@qd.func\ndef f({params}):\n    pass\n@qd.kernel\ndef k():\n    {call}\n"
    with pytest.raises(qd.QuadrantsSyntaxError, match=message):
        load(program)["k"]()


ARGUMENTS = [
    ("a: qd.i32", (1.5,), qd.QuadrantsRuntimeTypeError, "cannot be converted into required type i32"),
    ("a: qd.i32", ("1",), qd.QuadrantsRuntimeTypeError, "cannot be converted into required type i32"),
    ("a: qd.i32", (), qd.QuadrantsSyntaxError, "Missing argument 'a'."),
    ("a: qd.i32", (1, 2), qd.QuadrantsSyntaxError, "Too many arguments"),
    ("a: qd.types.ndarray()", (3,), qd.QuadrantsRuntimeTypeError, "Invalid type for argument a, got 3"),
    ("a: qd.types.NDArray[qd.f32, 1]", (np.zeros(3),), ValueError, "required array has dtype=f32"),
    ("a: qd.types.NDArray[qd.f64, 2]", (np.zeros(3),), ValueError, "required array has ndim=2"),
    ("a: qd.types.ndarray()", (np.zeros((4, 4))[:, 1],), ValueError, "contiguous"),
    ("a: qd.types.ndarray()", (np.zeros(13, np.uint8)[1:].view(np.float32),), ValueError, "Misaligned"),
    ("a: qd.types.ndarray()", (np.float32(3),), qd.QuadrantsRuntimeTypeError, "Invalid type for argument a"),
    ("a: 'nonsense'", (1,), qd.QuadrantsSyntaxError, "nonsense"),
]


@pytest.mark.parametrize("params, args, error, message", ARGUMENTS)
def test_refused_arguments(arch, params, args, error, message):
    k = load(f"@qd.kernel\ndef k({params}):\n    pass\n")["k"]
    with pytest.raises(error, match=message.replace("[", r"\[")):
        k(*args)


@pytest.mark.parametrize("error", [ValueError, TypeError])
@pytest.mark.parametrize(
    "annotation, message",
    [("qd.f32, 1", "Expect element type f32 for argument a, but get i32"), ("qd.math.vec2, 1", "element shape")],
)
def test_ndarray_of_another_element_type(arch, error, annotation, message):
    k = load(f"@qd.kernel\ndef k(a: qd.types.NDArray[{annotation}]):\n    pass\n")["k"]
    with pytest.raises(error, match=message):
        k(qd.ndarray(qd.i32, 3) if "f32" in annotation else qd.ndarray(qd.f32, 3))


def test_ndarray_as_template(arch):
    k = load("@qd.kernel\ndef k(a: qd.template()):\n    pass\n")["k"]
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="Ndarray shouldn't be passed in via"):
        k(qd.ndarray(qd.i32, shape=3))


def test_writes_to_read_only_arrays(arch):
    a = np.zeros(3, np.int32)
    a.flags.writeable = False
    k = load("@qd.kernel\ndef k(a: qd.types.ndarray()):\n    for i in a:\n        a[i] = 1\n")["k"]
    with pytest.raises(ValueError, match="read-only"):
        k(a)


def test_no_source():
    space = {"qd": qd}
    exec("@qd.kernel\ndef k():\n    pass\n", space)  # noqa: S102
    qd.init(arch="reference", offline_cache=False)
    with pytest.raises(qd.QuadrantsSyntaxError, match='source code of "k" is not available'):
        space["k"]()
    qd.reset()


def test_kernels_of_a_command_line():
    """`python -c TEXT` has no file, but its text stands in the process's arguments."""
    text = "import quadrants as qd\nqd.init(arch=qd.cpu, offline_cache=False)\n@qd.kernel\ndef k() -> qd.i32:\n    return 7\nprint(k())"
    child = subprocess.run(
        [sys.executable, "-c", text], env=child_environment(), capture_output=True, text=True, timeout=120, check=True
    )
    assert child.stdout.splitlines()[-1] == "7"


def test_too_large_capture(arch):
    k = load("@qd.kernel\ndef k():\n    x = T[0]\n", T=np.zeros(100000))["k"]
    with pytest.raises(qd.QuadrantsTypeError, match="pass it as an argument"):
        k()


@pytest.mark.parametrize(
    "first, start, message", [("f60(x)", 79, '"f[0-9]+" calls itself'), ("x", 119, "nested deeper than")]
)
def test_calls_nested_too_deep(arch, first, start, message):
    text = f"@qd.func\ndef f0(x):\n    return {first}\n"
    text += "".join(f"@qd.func\ndef f{i}(x):\n    return f{i - 1}(x)\n" for i in range(1, 120))
    with pytest.raises(qd.QuadrantsSyntaxError, match=message):
        load(f"{text}@qd.kernel\ndef k() -> qd.i32:\n    return f{start}(1)\n")["k"]()


def test_a_missing_return_points_at_the_kernel(arch):
    k = load("@qd.kernel\ndef k(n: qd.i32) -> qd.i32:\n    m = n\n")["k"]
    with pytest.raises(S, match=r"line 2, in k:\ndef k\(n: qd.i32\) -> qd.i32:\n\^+\nKernel has a return type"):
        k(1)
