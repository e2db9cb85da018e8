"""tests/cache_faults.toml: every fault of the older caches is met by a test that exists, or the row says why it can't be."""

import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")
ROOT = Path(__file__).resolve().parents[2]
FAULTS = tomllib.loads((ROOT / "tests/cache_faults.toml").read_text())["fault"]


def test_all_are_there_once():
    assert [fault["number"] for fault in FAULTS] == list(range(1, 59))
    assert all(fault["what"] and (fault.get("test") or fault.get("why")) for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["number"]))
def test_the_tests_named_exist(fault):
    for name in fault.get("test", ()):
        file, _, test = name.partition("::")
        text = (ROOT / file).read_text()
        suite, dot, case = test.partition(".")
        wanted = rf"^TEST(_P|_F)?\({suite}, {case}\)" if dot else rf"^def {test}\("
        assert re.search(wanted, text, re.MULTILINE), name
