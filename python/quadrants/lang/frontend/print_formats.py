"""How `print` shows one number: the conversion specifications of C, which the language promises, and those of Python that C
does not have (`{x:>8}`, `{x:,}`, `{x:%}`)."""

import functools
import re

from quadrants.lang.exception import QuadrantsTypeError

_SPECIFICATION = re.compile(
    r"(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d*)?(?:hh|h|ll|l|j|z|t|L)?(?P<letter>[A-Za-z])?"
)
_SIGNED, _UNSIGNED, _REAL = "di", "uoxX", "fFeEgGaA"
_PYTHON_ONLY = "b"  # conversions that Python has and C has not


def show(dtype, value, spec: str) -> str:
    """The text of a number of type `dtype`; an empty `spec` stands for the default of the type."""
    form, hexadecimal = _conversion(dtype, spec)
    if form is None:
        return format(value, spec)
    if hexadecimal is not None:
        return form % _hexadecimal(value, *hexadecimal)
    text = form % value
    return text.replace("0o", "0") if spec and spec[-1] == "o" else text


def check(dtype, spec: str) -> None:
    """QuadrantsTypeError when `spec` cannot show a number of type `dtype`."""
    form, _ = _conversion(dtype, spec)
    if form is None:
        try:
            format(1.0 if dtype.is_real else 1, spec)
        except ValueError as e:
            raise QuadrantsTypeError(f"'{spec}' is no format specification for '{dtype}': {e}.") from None


@functools.lru_cache(maxsize=256)
def _conversion(dtype, spec):
    """(template of `%`, what `_hexadecimal` needs or None); the template is None for a specification of Python only."""
    parts = _SPECIFICATION.fullmatch(spec)
    letter = parts and parts["letter"]
    if not parts or (letter and letter in _PYTHON_ONLY):
        return None, None
    letters = _REAL if dtype.is_real else _SIGNED if dtype.is_signed else _UNSIGNED
    if letter and letter not in letters:
        if letter not in _SIGNED + _UNSIGNED + _REAL:
            raise QuadrantsTypeError(f"conversion '{letter}' is not supported.")
        raise QuadrantsTypeError(f"'{spec}' doesn't match '{dtype}'.")
    flags, letter = parts["flags"], letter or letters[0]
    if letters == _UNSIGNED:
        flags = flags.replace("+", "").replace(" ", "")  # C has them for signed conversions only
    precision = parts["precision"] or (".12" if dtype.is_real and dtype.size == 8 else "")
    if letter in "aA":
        sign = "+" if "+" in flags else " " if " " in flags else ""
        return f"%{'-' * ('-' in flags)}{parts['width']}s", (
            letter,
            sign,
            int(precision[1:] or 0) if precision else None,
        )
    return f"%{flags}{parts['width']}{precision}{letter}", None


def _hexadecimal(value, letter, sign, digits):
    """`%a`: Python's `float.hex` with trailing zeros cut, or rounded to `digits` digits."""
    head, point, tail = float(value).hex().partition(".")
    if point:
        fraction, _, exponent = tail.partition("p")
        if digits is None or digits >= len(fraction):
            fraction = fraction.rstrip("0").ljust(digits or 0, "0")
        else:
            whole = round(int(head[-1] + fraction, 16) / 16 ** (len(fraction) - digits))
            text = f"{whole:0{digits + 1}x}"
            head, fraction = head[:-1] + text[: len(text) - digits], text[len(text) - digits :]
        head = f"{head}{'.' if fraction else ''}{fraction}p{exponent}"
    text = head if head.startswith("-") else sign + head
    return text.upper() if letter == "A" else text
