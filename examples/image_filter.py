"""Filters a photograph: an edge-preserving blur, then sharpened lightness. Pixels come in and go out as NumPy arrays,
which kernels use where they lie, without a copy.

The photograph is one that matplotlib ships (`pip install matplotlib`, which brings Pillow to read it).

    python examples/image_filter.py [--arch cpu] [--out filtered.png] [--image FILE]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import png

import quadrants as qd

RADIUS = 4
NEAR, ALIKE = 3.0, 24.0  # how far in pixels, and how different in colour, a neighbour still counts


@qd.kernel
def bilateral(source: qd.types.NDArray[qd.u8, 3], target: qd.types.NDArray[qd.u8, 3]):
    for y, x in qd.ndrange(source.shape[0], source.shape[1]):
        here = qd.Vector([source[y, x, 0], source[y, x, 1], source[y, x, 2]], qd.f32)
        total = qd.Vector([0.0, 0.0, 0.0])
        weights = 0.0
        for dy, dx in qd.ndrange((-RADIUS, RADIUS + 1), (-RADIUS, RADIUS + 1)):
            v = qd.max(qd.min(y + dy, source.shape[0] - 1), 0)
            u = qd.max(qd.min(x + dx, source.shape[1] - 1), 0)
            there = qd.Vector([source[v, u, 0], source[v, u, 1], source[v, u, 2]], qd.f32)
            distance = (dy * dy + dx * dx) / (2.0 * NEAR * NEAR)
            difference = (there - here).norm_sqr() / (2.0 * ALIKE * ALIKE)
            weight = qd.exp(-distance - difference)
            total += weight * there
            weights += weight
        smooth = total / weights
        sharp = qd.max(qd.min(smooth + 0.6 * (here - smooth).sum() / 3.0, 255.0), 0.0)
        for k in qd.static(range(3)):
            target[y, x, k] = qd.cast(sharp[k] + 0.5, qd.u8)


def photograph(path: str | None) -> np.ndarray:
    """Pixels of a file, or of matplotlib's sample photograph: uint8, (height, width, 3)."""
    from PIL import Image

    if path is None:
        import matplotlib

        path = str(Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg")
    return np.array(Image.open(path).convert("RGB"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--out", default="filtered.png")
    parser.add_argument("--image", default=None)
    options = parser.parse_args()
    qd.init(arch=options.arch)
    source = photograph(options.image)
    target = np.zeros_like(source)
    bilateral(source, target)
    since = time.perf_counter()
    bilateral(source, target)
    qd.sync()
    print(f"{source.shape[1]} x {source.shape[0]} pixels in {(time.perf_counter() - since) * 1e3:.1f} ms")
    png.write_png(options.out, np.concatenate([source, target], axis=1))
    print(f"Wrote {options.out}: the photograph and what became of it")


if __name__ == "__main__":
    main()
