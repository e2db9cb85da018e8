"""References to scalars, for the parameters of real functions."""

from typing import Any


class RefType:
    """`qd.ref(tp)`: a parameter of a real function that is passed by reference."""

    def __init__(self, tp: Any) -> None:
        self.tp = tp

    def __repr__(self) -> str:
        return f"ref({self.tp})"


def ref(tp: Any) -> RefType:
    """A by-reference parameter of type `tp`."""
    return RefType(tp)
