"""`qd.math`: helpers in the manner of shading languages, written in the language itself.

The elements of `vec2` to `mat4` are `default_fp`, those of `ivec*` `default_ip`, those of `uvec*` the unsigned integers as wide
as `default_ip`: what the last `init` chose.
"""

from math import e, inf, nan, pi

from quadrants.lang.ops import acos, asin, atan2, ceil, cos, exp, floor, log, max, min, pow, round, sin, sqrt, tan, tanh
from quadrants.math.bits import clz, ffs, fns, popcnt
from quadrants.math.complex import cconj, cdiv, cexp, cinv, clog, cmul, cpow, csqrt
from quadrants.math.functions import (
    clamp,
    cross,
    degrees,
    determinant,
    distance,
    dot,
    fract,
    inverse,
    isinf,
    isnan,
    length,
    log2,
    mix,
    mod,
    normalize,
    radians,
    reflect,
    refract,
    sign,
    smoothstep,
    step,
)
from quadrants.math.transforms import (
    eye,
    rot_by_axis,
    rot_yaw_pitch_roll,
    rotation2d,
    rotation3d,
    scale,
    translate,
    vdir,
)
from quadrants.types.compound import DefaultUnsigned as _DefaultUnsigned
from quadrants.types.compound import matrix as _matrix
from quadrants.types.compound import vector as _vector

vec2, vec3, vec4 = (_vector(n, float) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (_vector(n, int) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (_vector(n, _DefaultUnsigned) for n in (2, 3, 4))
mat2, mat3, mat4 = (_matrix(n, n, float) for n in (2, 3, 4))

__all__ = [
    "acos", "asin", "atan2", "cconj", "cdiv", "ceil", "cexp", "cinv", "clamp", "clog", "clz", "cmul", "cos", "cpow",
    "cross", "csqrt", "degrees", "determinant", "distance", "dot", "e", "exp", "eye", "ffs", "floor", "fns", "fract",
    "inf", "inverse", "isinf", "isnan", "ivec2", "ivec3", "ivec4", "length", "log", "log2", "mat2", "mat3", "mat4",
    "max", "min", "mix", "mod", "nan", "normalize", "pi", "popcnt", "pow", "radians", "reflect", "refract",
    "rot_by_axis", "rot_yaw_pitch_roll", "rotation2d", "rotation3d", "round", "scale", "sign", "sin", "smoothstep",
    "sqrt", "step", "tan", "tanh", "translate", "uvec2", "uvec3", "uvec4", "vdir", "vec2", "vec3", "vec4",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
