"""Library functions that a walk may call although nobody records the call: their results follow from their arguments.

A list of what is known to be so, not of what isn't: `numpy.load`, `numpy.empty`, what asks about the runtime and whatever
a future version adds make the kernel parsed in every process, and a debug line says why.
"""

import numpy as np

_NUMPY = frozenset("""
    abs absolute add all allclose amax amin angle any append apply_along_axis arange argmax argmin argsort argwhere around
    array array_equal asarray ascontiguousarray astype atleast_1d atleast_2d atleast_3d average bincount block
    broadcast_shapes broadcast_to clip column_stack concatenate concat convolve copy corrcoef correlate cov cross cumprod
    cumsum deg2rad degrees delete diag diagflat diagonal diff digitize dot dstack einsum expand_dims eye fill_diagonal fix
    flatnonzero flip fliplr flipud full full_like geomspace gradient histogram hstack i0 identity imag in1d indices inner
    insert interp intersect1d isclose isin iscomplexobj isrealobj isscalar ix_ kron lexsort linspace logspace matmul max
    mean median meshgrid min moveaxis nan_to_num nanmax nanmean nanmin nanprod nanstd nansum ndim nonzero ones ones_like
    outer pad partition percentile permute_dims poly polyadd polyfit polyint polymul polyval prod promote_types ptp
    quantile rad2deg radians ravel real repeat reshape resize result_type roll rollaxis roots rot90 round searchsorted
    select setdiff1d shape sinc size sort split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace
    transpose trapezoid trapz tri tril tril_indices triu triu_indices union1d unique unravel_index vander var vdot vsplit
    vstack where zeros zeros_like iinfo finfo dtype
""".split())  # fmt: skip
_NUMPY_MODULES = ("numpy.linalg", "numpy.fft", "numpy.polynomial")
# Of ours: types and arithmetic. What asks about the runtime, the device or the environment lies elsewhere.
_OURS = (
    "quadrants.types", "quadrants.math", "quadrants.linalg", "quadrants.lang.decompositions", "quadrants.lang.elementwise",
    "quadrants.lang.frontend", "quadrants.lang.linalg_funcs", "quadrants.lang.matrix", "quadrants.lang.matrix_funcs",
    "quadrants.lang.ops", "quadrants.lang.scalars", "quadrants.lang.static", "quadrants.lang.struct",
    "quadrants.lang.swizzle", "quadrants.lang.values",
)  # fmt: skip


def _below(module, names):
    return any(module == name or module.startswith(name + ".") for name in names)


def library_function(target, module) -> bool:
    """Whether it is a function of `math`, NumPy or ours whose result follows from its arguments."""
    name = getattr(target, "__name__", "")
    if module == "math":
        return True
    if isinstance(target, type) and issubclass(target, np.generic):
        return not issubclass(target, (np.datetime64, np.timedelta64))
    if module.split(".", 1)[0] == "numpy":
        return module == "numpy" and name in _NUMPY or _below(module, _NUMPY_MODULES)
    return _below(module, _OURS)
