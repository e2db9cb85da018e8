"""The source tier: what `fastcache=True` promises, and the faults of the older tier (tests/cache_faults.toml)."""

import shutil
import sys
import textwrap

import pytest
from program_text import load
from test_source_tier import LOADED, STORED, observed

import quadrants as qd

FASTCACHE = {
    "number": ("n = 3", "n", "error"),
    "string": ("s = 'a'", "1.0 if qd.static(True) else s", None),
    "field": ("f = qd.field(qd.f32, shape=3)", "f[0]", "error"),
    "closure": (None, "n", "error"),
    "constant by name": ("N = 3", "N", "warning"),
    "in qd.static": ("n = 3", "qd.static(n + 1)", "warning"),
    "enum": ("import enum\nclass E(enum.IntEnum):\n    A = 3", "E.A", None),
    "module": ("import math", "math.pi", None),
    "function": ("@qd.func\ndef g():\n    return 3", "g()", None),
    "of a function": ("n = 3\n@qd.func\ndef g():\n    return n", "g()", "error"),
}


@pytest.mark.parametrize("name", FASTCACHE)
def test_fastcache_is_a_promise(arch, name, recwarn):
    before, expression, what = FASTCACHE[name]
    kernel = f"@qd.kernel(fastcache=True)\ndef k() -> qd.f32:\n    return {expression}\n"
    if before is None:
        inner = textwrap.indent(kernel, "    ")
        space = load(f"def make():\n    n = 3\n{inner}    return k\nk = make()\n")
    else:
        space = load(f"{before}\n{kernel}")
    if what == "error":
        with pytest.raises(qd.QuadrantsCompilationError, match=r"\[PURE.VIOLATION\]"):
            space["k"]()
        return
    space["k"]()
    assert any("[PURE.VIOLATION]" in str(w.message) for w in recwarn) == (what == "warning")
    assert observed(space["k"]) == STORED


def test_decorator_counts_and_the_line_below_does_not(arch, again):
    """Fault 33 of the older system: its hash left the decorator out and took the line after the function in."""
    text = "@qd.kernel{0}\ndef k() -> qd.i32:\n    return 3\n{1}x = 1\n"
    for decorator, below, expected in (
        ("", "", STORED),
        ("", "# a remark\n\n", LOADED),
        ("(fastcache=True)", "", STORED),
    ):
        k = load(text.format(decorator, below))["k"]
        assert k() == 3
        assert observed(k) == expected
        again()


def test_text_is_that_of_the_import(arch, again, tmp_path, monkeypatch):
    """A file that is edited after its import: the old text runs and is stored as the old text."""
    import importlib
    import linecache

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "edited_module.py"
    text = "import quadrants as qd\n@qd.kernel\ndef k() -> qd.i32:\n    return {0}\n"
    for number, expected in ((3, STORED), (4, STORED), (3, LOADED)):
        file.write_text(text.format(number))
        importlib.invalidate_caches()
        linecache.checkcache(str(file))
        sys.modules.pop("edited_module", None)
        k = importlib.import_module("edited_module").k
        file.write_text(text.format(99))
        assert k() == number
        assert observed(k) == expected
        again()
    sys.modules.pop("edited_module", None)


def test_a_plan_whose_code_is_gone_compiles_it_again(arch, again, tmp_path):
    text = "@qd.kernel\ndef k() -> qd.i32:\n    return 3\n"
    for tier, expected in (("artifact", LOADED), ("plan", STORED), ("source", STORED)):
        load(text)["k"]()
        qd.reset()
        shutil.rmtree(tmp_path / "cache" / tier)
        again()
        k = load(text)["k"]
        assert k() == 3
        assert observed(k) == expected
        assert qd.cache_report().total["compiled"] == (tier == "artifact")


def test_unusable_folders_never_reach_the_program(init, capfd, tmp_path):
    """Not a folder, no such place, longer than a path may be: one warning, right results, nothing raised at the end."""
    (tmp_path / "file").write_text("")
    for path in (
        tmp_path / "file",
        tmp_path / "file" / "below",
        "/proc/nowhere/cache",
        tmp_path / ("x" * 255 + ("/" + "y" * 200) * 30),
    ):
        init(offline_cache_file_path=str(path))
        k = load("@qd.kernel\ndef k() -> qd.i32:\n    return 3\n")["k"]
        assert k() == 3
        qd.reset()
        lines = [line for line in capfd.readouterr().err.splitlines() if "warn" in line]
        assert len(lines) == 1 and "memory only" in lines[0], lines


def test_settings_differ_from_init_to_init(init, tmp_path):
    """Paths and bounds of any size are those of the runtime, not of the process."""
    for name, size in (("a", 5 << 30), ("b", 0), ("c", 1 << 20)):
        init(offline_cache_file_path=str(tmp_path / name), offline_cache_max_size_of_files=size)
        load("@qd.kernel\ndef k() -> qd.i32:\n    return 3\n")["k"]()
        qd.reset()
        found = {e["tier"] for e in qd._native.cache_list(str(tmp_path / name))}
        assert found - {"finished"} == {"artifact", "plan", "source"}  # GPUs have a finished tier besides
