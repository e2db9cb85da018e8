"""The examples run headless, in fresh processes, and do what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run(arch_name, tmp_path):
    """Runs an example with its cache in the test's folder and gives its output."""

    def start(name: str, *arguments: str) -> str:
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
        command = [sys.executable, str(EXAMPLES / name), "--arch", arch_name, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return start


def pixels(path: Path):
    """Height, width and rows of a PNG that the examples wrote."""
    import struct
    import zlib

    import numpy as np

    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    length = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + length]), np.uint8).reshape(height, -1)
    return height, width, rows[:, 1:].reshape(height, width, -1)


def test_fluid_twice(run, arch_name, tmp_path):
    frames = "3" if arch_name == "cpu" else "1"
    picture = tmp_path / "fluid.png"
    first = run("fluid.py", "--frames", frames, "--out", str(picture))
    assert f"{frames}/{frames} frames" in first and "the next run starts from the cache" in first
    height, width, image = pixels(picture)
    assert (height, width) == (512, 512)
    water = image[..., 2].astype(int) - image[..., 0] > 40
    assert water[400:500, 100:400].mean() > 0.75 and water[:60].mean() == 0
    before = picture.read_bytes()
    assert "Started from the cache" in run("fluid.py", "--frames", frames, "--out", str(picture))
    if arch_name == "reference":  # one thread: sums come in one order
        assert picture.read_bytes() == before


def test_edit_one_loop(run):
    table = run("edit_one_loop.py", "--loops", "16")
    rows = [line.split() for line in table.splitlines() if "run" in line or "edited" in line]
    assert "As expected: an edit of one loop compiles one task." in table and len(rows) >= 3


def test_image_filter(run, tmp_path):
    pytest.importorskip("PIL", reason="Pillow reads the photograph")
    import numpy as np
    from PIL import Image

    noisy = np.random.default_rng(1).integers(90, 110, (24, 40, 3)).astype(np.uint8)
    noisy[:, 20:] += 100  # an edge that must stay
    Image.fromarray(noisy).save(tmp_path / "in.png")
    assert "40 x 24 pixels" in run(
        "image_filter.py", "--image", str(tmp_path / "in.png"), "--out", str(tmp_path / "out.png")
    )
    height, width, image = pixels(tmp_path / "out.png")
    assert (height, width) == (24, 80) and (image[:, :40] == noisy).all()
    left, right = image[:, 42:58].astype(float), image[:, 62:78].astype(float)
    assert abs(left.mean() - 100) < 3 and abs(right.mean() - 200) < 3
