"""What readers and type checkers see of the public names: a docstring each, and a stub that is what the table says."""

import ast
import importlib
import importlib.util
import inspect
import re
import textwrap
from pathlib import Path

import pytest

import quadrants as qd

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["", "ad", "algorithms", "graph", "interop", "linalg", "math", "profiler", "sparse", "tools", "types"]
CLASSES = ["Field", "ScalarField", "MatrixField", "StructField", "Ndarray", "Matrix", "SNode", "FieldsBuilder", "Struct",
           "Tensor", "Stream", "Event"]  # fmt: skip
SWIZZLE = re.compile("[xyzw]{1,4}|[rgba]{1,4}|[stpq]{1,4}")


@pytest.mark.parametrize("module", MODULES)
def test_functions_and_classes_say_what_they_do(module):
    owner = getattr(qd, module) if module else qd
    silent = []
    for name in dir(owner):
        value = getattr(owner, name)
        if name.startswith("_") or isinstance(value, qd._native.DataType) or not callable(value):
            continue
        text = value.__dict__.get("__doc__") if isinstance(value, type) else value.__doc__
        if not text or len(text) < 5:
            silent.append(name)
    assert not silent


@pytest.mark.parametrize("name", CLASSES)
def test_members_say_what_they_do(name):
    cls = getattr(qd, name)
    members = [m for m in dir(cls) if not m.startswith("_") and not SWIZZLE.fullmatch(m)]
    assert [m for m in members if not getattr(getattr(cls, m), "__doc__", None)] == []


def generator():
    spec = importlib.util.spec_from_file_location("gen_init_stub", ROOT / "packaging" / "gen_init_stub.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stub_is_what_the_table_says():
    package = ROOT / "python" / "quadrants"
    text = (package / "__init__.pyi").read_text()
    assert text == generator().stub((package / "__init__.py").read_text()), "run python packaging/gen_init_stub.py"
    assert (package / "py.typed").exists()
    found = re.findall(r"^from (\S+) import (\w+) as (\w+)$", text, re.M)
    found += [("quadrants", name, public) for public, name in re.findall(r"^(\w+) = (\w+)$", text, re.M)]
    assert {public for _, _, public in found if not public.startswith("_")} == {
        n for n in dir(qd) if not n.startswith("_")
    }
    for module, name, public in found:
        loaded = importlib.import_module(module)
        value = getattr(loaded, name) if hasattr(loaded, name) else importlib.import_module(f"{module}.{name}")
        assert value is getattr(qd, public), public


def functions(owner, prefix):
    """(path, function) of public functions and methods that are written in Python here."""
    for name in dir(owner):
        if name.startswith("_") or SWIZZLE.fullmatch(name):
            continue
        value = inspect.getattr_static(owner, name, None) if isinstance(owner, type) else getattr(owner, name)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        if inspect.isfunction(value) and not hasattr(value, "_quadrants_later"):
            yield f"{prefix}{name}", value


def public_functions():
    for module in MODULES:
        owner = getattr(qd, module) if module else qd
        yield from functions(owner, f"{module}." if module else "")
    for name in CLASSES:
        yield from functions(getattr(qd, name), f"{name}.")


def raised(function) -> set[str]:
    """Classes that a function raises itself: `raise Some(...)`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name) and call.func.id[0].isupper()}


def test_errors_are_named():
    """What a public function raises stands in its docstring, so that callers know what to catch."""
    silent = []
    for path, function in public_functions():
        try:
            missing = {name for name in raised(function) if name not in (function.__doc__ or "")}
        except (OSError, TypeError):  # made at run time: it has no source
            continue
        if missing - {"AttributeError", "NotImplementedError"}:
            silent.append((path, sorted(missing)))
    assert silent == []


# Units, shapes and ranges that a reader must not have to guess.
WORDS = {
    "radians": "sin cos tan asin acos atan2 math.degrees math.radians math.rotation2d math.rotation3d math.rot_by_axis "
    "math.rot_yaw_pitch_roll math.vdir",
    "milliseconds": "profiler.query_kernel_profiler_info profiler.print_scoped_profiler_info",
    "[Ss]econds": "profiler.get_kernel_profiler_total_time",
    "bytes": "get_addr profiler.print_memory_profiler_info",
    "2x2": "eig svd polar_decompose solve math.rotation2d",
    "4x4": "math.rotation3d math.translate math.scale math.rot_by_axis math.rot_yaw_pitch_roll math.determinant",
    "`shape`": "field ndarray",
    "ascending": "sym_eig",
    "descending": "svd",
    "old value": "atomic_add atomic_cas atomic_exchange",
    "init": "sync create_stream create_event dump_compile_config is_extension_enabled field ndarray tensor",
}


@pytest.mark.parametrize("word, name", [(word, name) for word, names in WORDS.items() for name in names.split()])
def test_units_and_shapes_are_said(word, name):
    value = qd
    for part in name.split("."):
        value = getattr(value, part)
    assert re.search(word, value.__doc__), value.__doc__
