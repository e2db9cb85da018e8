"""`qd.math`: helpers in the manner of shading languages, written in the language itself.

`vec2` to `mat4` have f32 elements, `ivec*` i32 and `uvec*` u32, whatever `init` chose as default types.
"""

from math import e, inf, nan, pi

from quadrants._native import f32 as _f32
from quadrants._native import i32 as _i32
from quadrants._native import u32 as _u32
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
from quadrants.types.compound import matrix as _matrix
from quadrants.types.compound import vector as _vector

vec2, vec3, vec4 = (_vector(n, _f32) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (_vector(n, _i32) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (_vector(n, _u32) for n in (2, 3, 4))
mat2, mat3, mat4 = (_matrix(n, n, _f32) for n in (2, 3, 4))

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
