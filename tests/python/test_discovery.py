"""Where plugins are found: beside the core, entry points of packages, QD_BACKEND_PATH; and what is said of the others."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program_text import child_environment

from quadrants.lang import misc

PLUGINS = Path(misc.plugin_dir())


@pytest.fixture
def empty(tmp_path):
    """A plugin folder with nothing but the probe."""
    folder = tmp_path / "empty"
    folder.mkdir()
    shutil.copy(PLUGINS / "qd_probe", folder)
    return folder


def package(tmp_path: Path, source: Path, arch: str) -> Path:
    """A site folder with an installed package that offers a plugin, and that must not be imported."""
    site = tmp_path / "site"
    (site / "its_backend").mkdir(parents=True)
    (site / "its_backend" / "__init__.py").write_text("raise SystemExit('imported')\n")
    shutil.copy(source, site / "its_backend" / f"libqd_{arch}.so")
    info = site / "its_backend-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: its-backend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[quadrants.backends]\n{arch} = its_backend\n")
    return site


TELL = """
import json, sys
sys.path[:0] = {paths!r}
import quadrants as qd
from quadrants import _native
from quadrants.lang import config, misc
row = [r for r in _native.survey_plugins(config.context_config(config.defaults(), ["null"], misc.plugin_dir()))]
try:
    qd.init(arch="null", enable_fallback=False, offline_cache=False, log_level="off")
    opened = qd.cfg.arch.name
except RuntimeError as error:
    opened = str(error)
print("RESULT " + json.dumps(dict(opened=opened, rows=row, scanned="importlib.metadata" in sys.modules)))
"""


def tell(tmp_path: Path, plugin_dir: Path, paths=(), **environment: str) -> dict:
    script = tmp_path / "tell.py"
    script.write_text(TELL.format(paths=[str(path) for path in paths]))
    full = child_environment(QD_LIB_DIR=str(plugin_dir), **environment)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, env=full)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.split("RESULT ")[1].splitlines()[0])


def test_beside_the_core_nothing_else_is_asked(tmp_path):
    site = package(tmp_path, PLUGINS / "libqd_null.so", "null")
    seen = tell(tmp_path, PLUGINS, [site])
    assert seen["opened"] == "null" and not seen["scanned"]
    assert [row["source"] for row in seen["rows"] if row["arch"] == "null" and row["usable"]] == ["beside the core"]


def test_entry_point_of_a_package(tmp_path, empty):
    site = package(tmp_path, PLUGINS / "libqd_null.so", "null")
    seen = tell(tmp_path, empty, [site])
    assert seen["opened"] == "null"
    (row,) = [row for row in seen["rows"] if row["usable"]]
    assert row["source"] == "entry point" and row["path"] == str(site / "its_backend" / "libqd_null.so")


def test_entry_point_without_its_file(tmp_path, empty):
    site = package(tmp_path, PLUGINS / "libqd_null.so", "null")
    (site / "its_backend" / "libqd_null.so").unlink()
    assert "its_backend/libqd_null.so" in tell(tmp_path, empty, [site])["opened"]


def test_path_variable(tmp_path, empty):
    seen = tell(tmp_path, empty, QD_BACKEND_PATH=str(PLUGINS / "libqd_null.so"))
    assert seen["opened"] == "null"
    assert "absolute" in tell(tmp_path, empty, QD_BACKEND_PATH="libqd_null.so")["opened"]


def test_nothing_anywhere(tmp_path, empty):
    said = tell(tmp_path, empty)["opened"]
    assert "is not supported" in said and "QD_BACKEND_PATH" in said, "the remedy is named"


def test_the_table_of_backends(tmp_path):
    command = [sys.executable, "-m", "quadrants", "backends"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=child_environment())
    assert done.returncode == 0 and "reference" in done.stdout and "beside the core" in done.stdout
    broken = tmp_path / "libqd_broken.so"
    broken.write_bytes(b"this is no library")
    full = child_environment(QD_BACKEND_PATH=str(broken))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=full)
    assert done.returncode == 0 and str(broken) in done.stdout and "remedy:" in done.stdout
