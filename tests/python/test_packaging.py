"""Rules that the built files keep: what plugins export and need, what a warm process maps, what the import loads."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program_text import child_environment

from quadrants.lang import misc

PLUGINS = Path(misc.plugin_dir())
OBJECTS = sorted(PLUGINS.glob("lib*.so"))
ALLOWED = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-\w]*)\.so\.\d+$")
EXPORTS = {  # a code generator has its own; a plugin qdb_negotiate
    "libqd_cpu_codegen.so": "qdx_cpu_codegen",
    "libqd_cuda_codegen.so": "qdx_cuda_codegen",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("readelf") or not shutil.which("nm"), reason="needs binutils"),
]


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def names(paths):
    return [path.name for path in paths]


def test_there_are_plugins():
    assert {"libqd_null.so", "libqd_reference.so"} <= set(names(OBJECTS))


@pytest.mark.parametrize("path", OBJECTS, ids=names(OBJECTS))
def test_one_exported_symbol(path):
    exported = [line.split()[-1] for line in output("nm", "-D", "--defined-only", str(path)).splitlines()]
    assert exported == [EXPORTS.get(path.name, "qdb_negotiate")]
    assert "UNIQUE" not in output("readelf", "--dyn-syms", "-W", str(path)), "unique symbols are shared by the process"


@pytest.mark.parametrize("path", OBJECTS, ids=names(OBJECTS))
def test_needs_only_the_system(path):
    dynamic = output("readelf", "-d", "-W", str(path))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed and all(ALLOWED.match(library) for library in needed), needed
    assert not any("LLVM" in library for library in needed)
    assert all(place == "$ORIGIN" for place in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic))
    assert "NODELETE" in dynamic and "NOW" in dynamic


def test_the_module_exports_its_entry_only():
    native = Path(sys.modules["quadrants._native"].__file__)
    exported = [line.split()[-2:] for line in output("nm", "-D", "--defined-only", str(native)).splitlines()]
    assert [name for kind, name in exported if kind == "T"] == ["PyInit__native"]
    dynamic = output("readelf", "-d", "-W", str(native))
    assert "LLVM" not in dynamic and not re.search(r"\(R(UN)?PATH\)", dynamic)


def run(program: str, folder: Path) -> dict:
    """Runs Python text in a fresh process; the JSON after RESULT."""
    script = folder / "program.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, env=child_environment(), cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.split("RESULT ")[1].splitlines()[0])


WARM = """
import json
import numpy as np
import quadrants as qd
qd.init(arch=qd.cpu, enable_fallback=False, offline_cache_file_path={cache!r}, log_level="error")
@qd.kernel
def work(a: qd.types.NDArray[qd.f32, 1]):
    for i in range(a.shape[0]):
        a[i] = qd.sin(a[i]) + 2
a = np.zeros(4, np.float32)
work(a)
maps = open("/proc/self/maps").read()
print("RESULT " + json.dumps(dict(codegen="libqd_cpu_codegen" in maps, llvm="LLVM" in maps, value=float(a[1]))))
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
@pytest.mark.skipif("libqd_cpu_codegen.so" not in names(OBJECTS), reason="built without LLVM")
def test_a_warm_process_never_opens_the_code_generator(tmp_path):
    program = WARM.format(cache=str(tmp_path / "cache"))
    assert run(program, tmp_path) == {"codegen": True, "llvm": False, "value": 2.0}
    assert run(program, tmp_path) == {"codegen": False, "llvm": False, "value": 2.0}


@pytest.mark.skipif("libqd_cpu_codegen.so" not in names(OBJECTS), reason="built without LLVM")
def test_a_warm_process_needs_no_code_generator(tmp_path):
    """A folder with the small object alone runs what is in the cache, and names what a miss lacks."""
    program = WARM.format(cache=str(tmp_path / "cache"))
    run(program, tmp_path)
    lean = tmp_path / "plugins"
    lean.mkdir()
    for name in ("libqd_cpu.so", "qd_probe"):
        shutil.copy(PLUGINS / name, lean)
    head = f"import os\nos.environ['QD_LIB_DIR'] = {str(lean)!r}\n"
    assert run(head + program, tmp_path)["value"] == 2.0
    miss = head + program.replace("+ 2", "+ 3").replace("work(a)\nmaps", MISS + "maps")
    said = run(miss.replace("value=float(a[1])", "said=said"), tmp_path)["said"]
    assert "libqd_cpu_codegen.so" in said, said


MISS = """
try:
    work(a)
    said = "it ran"
except RuntimeError as error:
    said = str(error)
"""

IMPORT = """
import json, sys
import numpy
before = set(sys.modules)
import quadrants
print("RESULT " + json.dumps(sorted(set(sys.modules) - before)))
"""


def test_the_import_loads_little(tmp_path):
    loaded = run(IMPORT, tmp_path)
    assert not {"torch", "pydantic", "rich", "colorama", "dill", "cffi", "setuptools"} & {
        name.split(".")[0] for name in loaded
    }
    assert len(loaded) <= 8, loaded


START = IMPORT.replace(
    "print(",
    "quadrants.init(arch=quadrants.cpu, offline_cache=False)\n"
    "@quadrants.kernel\ndef k() -> quadrants.i32:\n    return 3\nassert k() == 3\nprint(",
)


def test_a_first_kernel_loads_nothing_foreign(tmp_path):
    loaded = {name.split(".")[0] for name in run(START, tmp_path)} - set(sys.stdlib_module_names)
    assert loaded <= {"quadrants", "numpy"}, loaded
