"""`qd.init(trace=file)` and QD_TRACE: where a start-up goes, as a file for the Chrome viewer."""

import json

import numpy as np
from program_text import load

import quadrants as qd

TEXT = "@qd.kernel\ndef k(x: qd.types.ndarray()):\n    for i in x: x[i] += 1\n    for i in x: x[i] *= 2\n"


def events(path):
    return json.loads(path.read_text())["traceEvents"]


def test_phases_tiers_and_launches(init, tmp_path):
    for name, tier, generated in (("cold", "missed", True), ("warm", "loaded", False)):
        file = tmp_path / f"{name}.json"
        init(trace=str(file), per_offload_cache=True)
        k, x = load(TEXT)["k"], np.zeros(4, np.int32)
        for _ in range(3):
            k(x)
        assert not file.exists()
        qd.reset()
        found = events(file)
        assert all(e["ph"] == "X" and e["dur"] >= 0 and e["tid"] and e["pid"] for e in found)
        by_category = {}
        for e in found:
            by_category.setdefault(e["cat"], []).append(e)
        assert len(by_category["launch"]) == 3
        assert [e["args"]["result"] for e in by_category["source tier"]] == [tier]
        assert ("front end" in by_category) == generated == ("code generation" in by_category)
        assert len(by_category.get("publish", ())) == (3 if generated else 0) + (
            2 if generated and "finish" in by_category else 0
        )
        results = {e["args"]["result"] for e in by_category["artifact tier"]}
        assert len(by_category["artifact tier"]) == 2
        assert results == {"compiled" if generated else "disk"}
        first, last = min(e["ts"] for e in found), max(e["ts"] + e["dur"] for e in found)
        assert 0 < last - first < 60e6


def test_environment_and_exit(run_script, tmp_path):
    """Written at exit too, and a program without a trace writes none."""
    text = """
        qd.init(arch=getattr(qd, ARCH), enable_fallback=False, offline_cache=False, log_level="warn")
        @qd.kernel
        def k() -> qd.i32: return 3
        assert k() == 3
        """
    run_script(text)
    assert not list(tmp_path.glob("*.json"))
    run_script(text, env={"QD_TRACE": str(tmp_path / "trace.json")})
    assert {"launch", "front end"} <= {e["cat"] for e in events(tmp_path / "trace.json")}


def test_a_place_that_cannot_be_written(init, tmp_path, capfd):
    init(trace=str(tmp_path / "no" / "trace.json"))
    assert load("@qd.kernel\ndef k() -> qd.i32:\n    return 3\n")["k"]() == 3
    qd.reset()
    assert "trace can't be written" in capfd.readouterr().err
