"""A PNG writer in a few lines, so that the examples need no image library to show what they computed."""

import struct
import zlib
from pathlib import Path

import numpy as np


def write_png(path: str | Path, pixels: np.ndarray) -> None:
    """Writes 8-bit pixels of shape (height, width) or (height, width, 3), row 0 on top."""
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (3,)):
        raise ValueError(f"expected uint8 pixels of shape (h, w) or (h, w, 3), got {pixels.dtype} {pixels.shape}")
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + pixels[0].size), np.uint8)  # each row starts with its filter type, 0: none
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + chunk(b"IEND", b"")
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + body)
