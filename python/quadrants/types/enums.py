"""Enumerations of types, under the path that programs import them from."""

from quadrants._lib.core import DeviceCapability, Format, Layout

__all__ = ["DeviceCapability", "Format", "Layout"]
