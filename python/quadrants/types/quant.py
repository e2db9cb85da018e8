"""Quantised storage types: the names are there, the types are not yet."""

from types import SimpleNamespace

from quadrants.lang.later import made_later

quant = SimpleNamespace(
    **made_later(
        "types.quant",
        """
    int(bits, signed=True, compute=None)
    fixed(bits, signed=True, max_value=1.0, compute=None, scale=None)
    float(exp, frac, signed=True, compute=None)
""",
    )
)
