"""What readers and type checkers see of the public names: a docstring each, and a stub that is what the table says."""

import importlib
import importlib.util
import re
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
    assert {public for _, _, public in found if not public.startswith("_")} == {n for n in dir(qd) if not n.startswith("_")}
    for module, name, public in found:
        loaded = importlib.import_module(module)
        value = getattr(loaded, name) if hasattr(loaded, name) else importlib.import_module(f"{module}.{name}")
        assert value is getattr(qd, public), public
