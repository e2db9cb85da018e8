"""`qd.simt`: operations of the threads of a GPU, and of the reference backend. Elsewhere each is a ValueError that names
the arch, in kernels (where it comes as a QuadrantsCompilationError with the line) and outside. What they mean in kernels
stands in `lang/frontend/threads.py` and `thread_blocks.py`."""

from collections.abc import Callable as _Callable
from types import SimpleNamespace as _Namespace
from typing import Any as _Any

from quadrants.lang.exception import QuadrantsSyntaxError as _SyntaxError

_SIZES = {"group_size": 32, "log2_group_size": 5}
_BLOCK = """sync sync_all_nonzero sync_any_nonzero sync_count_nonzero mem_fence mem_sync thread_idx global_thread_idx
    SharedArray reduce reduce_all reduce_add reduce_min reduce_max reduce_all_add reduce_all_min reduce_all_max
    inclusive_scan exclusive_scan inclusive_add inclusive_min inclusive_max exclusive_add exclusive_min exclusive_max
    radix_rank_match_atomic_or"""
_SUBGROUP = """sync mem_fence elect invocation_id group_size log2_group_size shuffle shuffle_xor shuffle_up shuffle_down
    broadcast broadcast_first ballot ballot_first_n all_true any_true all_equal lanemask_lt lanemask_le lanemask_eq
    lanemask_gt lanemask_ge bitonic_sort_kv barrier memory_barrier ballot_full_subgroup"""
for _kind in ("reduce", "reduce_all", "segmented_reduce"):
    _SUBGROUP += "".join(f" {_kind}_{op}" for op in ("add", "min", "max"))
for _kind in ("inclusive", "exclusive"):
    _SUBGROUP += "".join(f" {_kind}_{op}" for op in ("add", "mul", "min", "max", "and", "or", "xor"))
_SUBGROUP += "".join(
    f" {name}_tiled" for name in _SUBGROUP.split() if name.startswith(("shuffle", "broadcast", "reduce", "segmented",
        "inclusive", "exclusive", "all_", "any_", "ballot_first_n", "bitonic"))
)  # fmt: skip
_WARP = """all_nonzero any_nonzero unique ballot shfl_sync_i32 shfl_sync_f32 shfl_up_i32 shfl_up_f32 shfl_down_i32
    shfl_down_f32 shfl_xor_i32 match_any match_all active_mask sync"""


def refusal(what: str) -> Exception | None:
    """Why `qd.simt.<what>` cannot be used on this arch, or nothing."""
    from quadrants._lib.core import CPU_ARCHS, Arch
    from quadrants.lang.impl import get_runtime

    arch = get_runtime().arch
    if arch in CPU_ARCHS or arch in (None, Arch.null):
        return ValueError(f"qd.{what} is not supported for arch {arch}")
    return None


def _operation(path: str, name: str) -> _Callable[..., _Any]:
    def function(*args: _Any, **kwargs: _Any) -> _Any:
        wrong = refusal(f"{path}.{name}")
        if wrong is None and name in _SIZES:
            return _SIZES[name]
        raise wrong or _SyntaxError(f"qd.simt.{path}.{name} can be called inside kernels only")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`qd.simt.{path}.{name}`, for GPUs: a ValueError on a CPU."
    return function


def _group(path: str, names: str) -> _Namespace:
    return _Namespace(**{name: _operation(path, name) for name in names.split()})


block = _group("block", _BLOCK)
subgroup = _group("subgroup", _SUBGROUP)
warp = _group("warp", _WARP)
grid = _group("grid", "mem_fence memfence")


KINDS: list[_Callable[..., _Any]] = []  # filled by lang/frontend/tiles.py


class TileKind:
    """A square matrix in the registers of a subgroup: lane k has row k. Made inside kernels; see docs/language/simt.md."""

    def __init__(self, size: int) -> None:
        self._size = size

    @property
    def SIZE(self) -> int:  # noqa: N802 - the documented name
        """Rows and columns."""
        return self._size

    def __str__(self) -> str:
        return f"Tile{self.SIZE}x{self.SIZE}"

    __repr__ = __str__

    def refusal(self) -> Exception | None:
        """Why there are no tiles on this arch, or nothing."""
        if refusal("") is None:
            return None
        from quadrants.lang.impl import get_runtime

        arch = get_runtime().arch
        return _SyntaxError(f"{self} requires a GPU backend (cuda, amdgpu, vulkan, metal), the current arch is {arch}")

    def _outside(self, name: str) -> Exception:
        return self.refusal() or _SyntaxError(f"qd.simt.{self}.{name} can be called inside kernels only")

    def zeros(self, *, dtype: _Any = None) -> _Any:
        """A tile of zeros, of default_fp unless a type is given. QuadrantsSyntaxError on a CPU and outside kernels."""
        raise self._outside("zeros")

    def eye(self, *, dtype: _Any = None) -> _Any:
        """The identity, of default_fp unless a type is given. QuadrantsSyntaxError on a CPU and outside kernels."""
        raise self._outside("eye")

    def kernel_form(self) -> list[_Any]:
        """What the source tier knows it by."""
        return ["tile", self._size]

    def kernel_attribute(self, w: _Any, attr: str) -> _Any:
        """What `qd.simt.Tile16x16.<attr>` is inside kernels."""
        return KINDS[0](self, w, attr)

    def __dir__(self) -> list[str]:
        return "SIZE eye zeros".split()


Tile16x16, Tile32x32 = TileKind(16), TileKind(32)


def outer(a: _Any, b: _Any) -> _Any:
    """`t -= qd.outer(a, b)` of a tile t and columns a, b. QuadrantsSyntaxError outside kernels."""
    raise _SyntaxError("qd.outer can be called inside kernels only: t -= qd.outer(a, b), with a tile t")


import quadrants.lang.frontend.thread_blocks as _blocks  # noqa: E402,F401 - gives the names their meaning in kernels
import quadrants.lang.frontend.tiles as _tiles  # noqa: E402,F401


def __dir__() -> list[str]:
    return "Tile16x16 Tile32x32 block grid subgroup warp".split()
