"""The version, in one place for Python: `__version__` is a tuple of numbers as programs expect."""

__version__ = (0, 1, 0)
__version_str__ = ".".join(map(str, __version__))
LANGUAGE_VERSION = (1, 3, 3)  # of the released system: programs written for it run
