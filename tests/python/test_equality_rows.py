"""The table of spec/caching.md 4, row by row: which tests hold each condition under which an older system kept a kernel whole."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

# Condition: tests as `file::name`, a name being a function, a GoogleTest `Suite, Name`, or a key of the file's own table.
ROWS = {
    "gradient kernels": [
        "core/equality_test.cpp::Equality, GradientSnapshot",
        "python/test_equality.py::test_gradient_snapshot",
    ],
    "a value one construct produces and another consumes": [
        "core/equality_test.cpp::Equality, RunningTotal",
        "core/equality_test.cpp::Equality, VariableAssignedUnderACondition",
        "python/test_equality.py::running total",
        "python/test_equality.py::vector carried",
        "python/test_equality.py::local array carried",
        "python/test_equality.py::long chain of pure values",
        "python/test_equality.py::bound summed up",
    ],
    "re-reading array data that an earlier construct overwrote": [
        "core/equality_test.cpp::Equality, SnapshotOfAnElementThatALoopOverwrites",
        "python/test_equality.py::stale snapshot",
        "python/test_equality.py::read between two writers",
        "python/test_equality.py::bound overwritten",
        "python/test_equality.py::test_clamped_read_of_overwritten_data",
    ],
    "possibly overlapping gradient buffers": [
        "core/equality_test.cpp::Equality, GradientSnapshot",
        "python/test_equality.py::test_gradient_snapshot",
    ],
    "a side effect, random draw or volatile read that would be repeated": [
        "python/test_equality.py::test_a_side_effect_happens_once",
        "python/test_equality.py::test_a_draw_happens_once_and_is_the_same_in_both_modes",
        "python/test_equality.py::volatile read",
    ],
    "two parameters bound to one buffer": [
        "python/test_equality.py::test_row",
        "python/test_equality.py::snapshot of another parameter",
    ],
    "a buffer whose identity is unknown": [
        "python/test_equality.py::test_overlapping_views",
        "python/test_equality.py::test_fields_and_arrays",
    ],
    "unstructured mesh loops": ["python/test_equality.py::unstructured mesh loops"],
    "concurrent regions": ["python/test_equality.py::concurrent regions"],
    "a diagnostic mode: line coverage": ["python/test_equality.py::line coverage"],
    "backend without task modules; offline_cache=False; per_offload_cache=False": [
        "core/compiler_test.cpp::Compiler, ReasonsForWholeKernels",
        "python/test_per_offload.py::test_reasons",
    ],
}


def _names(path: Path) -> set[str]:
    """What a test file defines: functions and keys of its tables, or GoogleTest cases."""
    text = path.read_text()
    if path.suffix == ".cpp":
        return {line.split("(", 1)[1].split(")", 1)[0] for line in text.splitlines() if line.startswith("TEST")}
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.Dict):
            names.update(key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
    return names


@pytest.mark.parametrize("row", ROWS)
def test_row_is_held(row: str) -> None:
    """Every test that a row names is there. Rows that wait for the language stand in test_equality.py's WAITING with a reason."""
    for test in ROWS[row]:
        file, name = test.split("::")
        assert name in _names(TESTS / file), f"{test} is gone: say which test holds {row!r} now"
