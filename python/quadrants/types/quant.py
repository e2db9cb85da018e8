"""Quantised storage types: the names are there, the types are not yet."""

from types import SimpleNamespace

from quadrants.lang.later import later_function

quant = SimpleNamespace(**{name: later_function(f"types.quant.{name}") for name in ("int", "fixed", "float")})
