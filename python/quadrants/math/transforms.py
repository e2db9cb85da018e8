"""Matrices of rotations, scalings and translations, for row vectors as the older system has them: `v @ M`."""

from quadrants.lang.func import func
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.ops import cos, sin
from quadrants.types.annotations import template


@func
def vdir(ang):
    """The unit vector at an angle in radians."""
    return Vector([cos(ang), sin(ang)])


@func
def eye(n: template()):
    """The identity of n rows."""
    return Matrix.identity(float, n)


@func
def rotation2d(ang):
    """2x2 rotation by an angle in radians."""
    return Matrix([[cos(ang), -sin(ang)], [sin(ang), cos(ang)]])


@func
def translate(dx, dy, dz):
    """4x4 translation."""
    return Matrix([[1.0, 0.0, 0.0, dx], [0.0, 1.0, 0.0, dy], [0.0, 0.0, 1.0, dz], [0.0, 0.0, 0.0, 1.0]])


@func
def scale(sx, sy, sz):
    """4x4 scaling."""
    return Matrix([[sx, 0.0, 0.0, 0.0], [0.0, sy, 0.0, 0.0], [0.0, 0.0, sz, 0.0], [0.0, 0.0, 0.0, 1.0]])


@func
def rot_by_axis(axis, ang):
    """4x4 rotation by an angle in radians about an axis of any length."""
    u = axis / axis.norm()
    c = cos(ang)
    s = sin(ang)
    t = 1.0 - c
    return Matrix(
        [
            [t * u[0] * u[0] + c, t * u[0] * u[1] + s * u[2], t * u[0] * u[2] - s * u[1], 0.0],
            [t * u[0] * u[1] - s * u[2], t * u[1] * u[1] + c, t * u[1] * u[2] + s * u[0], 0.0],
            [t * u[0] * u[2] + s * u[1], t * u[1] * u[2] - s * u[0], t * u[2] * u[2] + c, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@func
def rot_yaw_pitch_roll(yaw, pitch, roll):
    """4x4 rotation by angles in radians: about z by roll, x by pitch, y by yaw."""
    about_z = rot_by_axis(Vector([0.0, 0.0, 1.0]), roll)
    about_x = rot_by_axis(Vector([1.0, 0.0, 0.0]), pitch)
    about_y = rot_by_axis(Vector([0.0, 1.0, 0.0]), yaw)
    return about_z @ about_x @ about_y


@func
def rotation3d(ang_x, ang_y, ang_z):
    """4x4 rotation by three angles in radians, in the order that the older system takes them."""
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)
