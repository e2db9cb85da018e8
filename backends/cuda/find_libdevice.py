"""Prints where a PyPI package (nvidia-cuda-nvcc, also triton or numba-cuda) keeps libdevice.10.bc; nothing when none does."""

import sysconfig
from pathlib import Path

for folder in dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib")):
    for pattern in ("nvidia/*/nvvm/libdevice/libdevice.10.bc", "triton/backends/nvidia/lib/libdevice.10.bc"):
        for found in sorted(Path(folder).glob(pattern)):
            print(found)
            raise SystemExit
