"""`python -m quadrants cache`: what it says about a cache, what it removes, and taking kernels elsewhere."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from program_text import child_environment

PROGRAM = """
    import os
    qd.init(arch=getattr(qd, ARCH), enable_fallback=False, offline_cache_file_path=os.environ.get("ROOT", CACHE),
            offline_cache_read_only_paths=os.environ.get("SHIPPED", ""), log_level="warn", per_offload_cache=True)
    N = 3
    f = qd.field(qd.i32, shape=8)
    @qd.kernel
    def first():
        for i in f: f[i] = i + N
        for i in f: f[i] *= 2
    @qd.kernel
    def second() -> qd.i32:
        return f[1] + 1
    first()
    print(second(), qd.cache_report().total["compiled"], all(k._primal.src_ll_cache_observations.cache_loaded
                                                             for k in (first, second)))
    """


@pytest.fixture(autouse=True)
def one_backend(arch_name, pytestconfig):
    """The command knows nothing of backends: the first of the run is enough."""
    if arch_name != pytestconfig.getoption("--arch").split(",")[0]:
        pytest.skip("one backend is enough")


@pytest.fixture
def cache(tmp_path):
    """Runs the command on a folder: (exit status, parsed output)."""

    def run(*arguments, root="cache", check=True):
        command = [sys.executable, "-m", "quadrants", "cache", *arguments, "--json", "--root", str(tmp_path / root)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=child_environment()
        )
        assert not check or done.returncode == 0, done.stderr
        return done.returncode, json.loads(done.stdout.splitlines()[-1])

    return run


def last_line(done):
    return done.stdout.splitlines()[-1].split()


def entries(folder):
    return sorted(p for p in folder.rglob("*") if p.is_file() and len(p.name) == 64)


def test_info_list_verify_clean(run_script, cache, tmp_path):
    run_script(PROGRAM)
    found = entries(tmp_path / "cache")
    _, info = cache("info")
    assert info["entries"] == len(found) and info["bytes"] == sum(p.stat().st_size for p in found)
    assert {t["tier"] for t in info["tiers"]} >= {"artifact", "plan", "source"} and info["damaged"] == []
    assert info["hits"] == 0
    run_script(PROGRAM)
    _, warm = cache("info")
    assert warm["hits"] == sum(t["hits"] for t in warm["tiers"]) == sum(e["hits"] for e in cache("list")[1]["entries"])
    assert {t["tier"]: t["hits"] for t in warm["tiers"]}["plan"] == 2  # a kernel each
    _, listed = cache("list")
    kernels = {k for e in listed["entries"] if e["tier"] == "artifact" for k in e["kernels"]}
    assert kernels == {"first", "second"}

    found[0].write_bytes(found[0].read_bytes()[:-1])
    name = str(found[0].relative_to(tmp_path / "cache"))
    assert [e["path"] for e in cache("info")[1]["damaged"]] == [name]
    status, verified = cache("verify", check=False)
    assert status == 1
    assert [e["path"] for e in verified["damaged"]] == [str(found[0].relative_to(tmp_path / "cache"))]

    _, cleaned = cache("clean")
    assert cleaned["files"] == 1 and not found[0].exists()
    assert list(cleaned["tiers"]) == [name.split("/")[0]] and cleaned["tiers"][name.split("/")[0]]["damaged"] == 1
    assert cache("verify")[1]["damaged"] == []
    _, cleaned = cache("clean", "--all")
    assert cleaned["files"] == len(found) - 1 and entries(tmp_path / "cache") == []
    assert cache("info")[1]["entries"] == 0


def test_text_output(run_script, tmp_path):
    run_script(PROGRAM)
    for arguments, expected in (
        (["info"], "entries"), (["list"], "second"), (["verify"], "0 damaged"), (["path"], "cache"),
        (["clean", "--max-size", "1000000"], "0 entries removed"),
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "quadrants", "cache", *arguments, "--root", str(tmp_path / "cache")],
            capture_output=True, text=True, timeout=120, env=child_environment(),
        )  # fmt: skip
        assert done.returncode == 0 and expected in done.stdout, done.stderr


def test_export_and_import(run_script, cache, tmp_path):
    run_script(PROGRAM)
    _, packed = cache("export", str(tmp_path / "one.tar"), "first")
    everything = len(entries(tmp_path / "cache"))
    assert 0 < packed["entries"] < everything
    _, taken = cache("import", str(tmp_path / "one.tar"), root="other")
    assert taken == {"path": str(tmp_path / "other"), "entries": packed["entries"], "refused": []}
    done = run_script(PROGRAM, env={"ROOT": str(tmp_path / "other")})
    assert last_line(done) == ["9", "1", "False"]  # `second` alone was compiled

    data = bytearray((tmp_path / "one.tar").read_bytes())
    data[600] ^= 1
    (tmp_path / "one.tar").write_bytes(data)
    status, taken = cache("import", str(tmp_path / "one.tar"), root="third", check=False)
    assert status == 1 and len(taken["refused"]) == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("clean --max-size -5", "number of bytes"),
        ("clean --max-size 5k", "number of bytes, 0 or more, found '5k'"),
        ("clean --max-size 9223372036854775808", "number of bytes"),
        ("import no_tar", "cache import: the file is none that `export` wrote"),
        ("import missing.tar", "missing.tar"),
        ("export missing/x.tar", "missing/x.tar"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message, tmp_path):
    (tmp_path / "no_tar").write_text("something else")
    command = [sys.executable, "-m", "quadrants", "cache", *arguments.split(), "--root", str(tmp_path / "root")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=child_environment())
    assert done.returncode == 2 and message in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_read_only_paths(run_script, tmp_path):
    """A shipped cache makes a first run warm, and is not written to."""
    run_script(PROGRAM)
    os.rename(tmp_path / "cache", tmp_path / "shipped")
    before = [(p, p.stat().st_mtime_ns) for p in sorted((tmp_path / "shipped").rglob("*"))]
    done = run_script(PROGRAM, env={"SHIPPED": str(tmp_path / "shipped")})
    assert last_line(done) == ["9", "0", "True"]
    assert [(p, p.stat().st_mtime_ns) for p in sorted((tmp_path / "shipped").rglob("*"))] == before
    assert entries(tmp_path / "cache") == []


EDITS = {
    "a global": ("N = 3", "N = 4", "'N': 3 -> 4", 1),
    "the text": ("*= 2", "*= 3", "the text of the kernel", 1),
    "an option": (
        'log_level="warn"',
        'log_level="warn", default_ip=qd.i64',
        "options default_ip: 'i32' -> 'i64'",
        None,
    ),
    "a field": ("shape=8", "shape=9", "the name 'f'", None),
}


@pytest.mark.parametrize("what", EDITS)
def test_explain(run_script, tmp_path, arch_name, what):
    old, new, reason, changed = EDITS[what]
    run_script(PROGRAM)
    head = f"import quadrants as qd\nARCH = {arch_name!r}\nCACHE = {str(tmp_path / 'cache')!r}\n"
    text = head + textwrap.dedent(PROGRAM)
    script = tmp_path / "again.py"

    def explained():
        done = subprocess.run(
            [sys.executable, "-m", "quadrants", "cache", "explain", "--json", str(script)],
            capture_output=True, text=True, timeout=120, cwd=tmp_path, env=child_environment(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return {row["kernel"]: row for row in json.loads(done.stdout.splitlines()[-1])}

    script.write_text(text)
    assert explained() == {}
    script.write_text(text.replace(old, new))
    rows = explained()
    assert any(reason in line for line in rows["first"]["differs"]), rows
    if changed is not None:
        assert len(rows["first"]["changed_tasks"]) == changed
        assert "second" not in rows
