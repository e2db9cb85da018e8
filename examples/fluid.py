"""A drop of water falls into a pool: MLS-MPM in two dimensions, 8,000 particles on a 64 by 64 grid.

The state lives in fields; a step of the solver and the renderer are one kernel each. The last frame is written as a
PNG. Run it twice: the second run takes all code from the cache and says so.

    python examples/fluid.py [--frames 400] [--arch cpu] [--out fluid.png]
"""

import argparse
import sys
import time

import png

import quadrants as qd

PARTICLES, GRID, PIXELS = 8000, 64, 512
STEPS_PER_FRAME, DT = 10, 4.0e-4
DX = 1.0 / GRID
REST_DENSITY, STIFFNESS, GRAVITY = 1.0, 400.0, 9.8
VOLUME = (DX * 0.5) ** 2
MASS = VOLUME * REST_DENSITY
WALL = 3  # cells at each border where nothing moves outwards
POOL = 6000  # the rest of the particles is the drop


def make_fields() -> None:
    """Makes the state; fields need a runtime, so this follows `qd.init`."""
    global position, velocity, affine, stretch, grid_velocity, grid_mass, thickness, picture
    position = qd.Vector.field(2, qd.f32, shape=PARTICLES)
    velocity = qd.Vector.field(2, qd.f32, shape=PARTICLES)
    affine = qd.Matrix.field(2, 2, qd.f32, shape=PARTICLES)
    stretch = qd.field(qd.f32, shape=PARTICLES)  # volume now over volume at rest
    grid_velocity = qd.Vector.field(2, qd.f32, shape=(GRID, GRID))
    grid_mass = qd.field(qd.f32, shape=(GRID, GRID))
    thickness = qd.field(qd.f32, shape=(PIXELS, PIXELS))
    picture = qd.Vector.field(3, qd.u8, shape=(PIXELS, PIXELS))


@qd.kernel
def start():
    for p in position:
        u = qd.Vector([qd.random(), qd.random()])
        if p < POOL:
            position[p] = qd.Vector([0.06 + 0.88 * u.x, 0.06 + 0.24 * u.y])
        else:
            radius = 0.13 * qd.sqrt(u.x)
            angle = 6.2831853 * u.y
            position[p] = qd.Vector([0.5 + radius * qd.cos(angle), 0.7 + radius * qd.sin(angle)])
        velocity[p] = qd.Vector([0.0, -1.5 if p >= POOL else 0.0])
        affine[p] = qd.Matrix.zero(qd.f32, 2, 2)
        stretch[p] = 1.0


@qd.func
def weights(fx):
    """Quadratic B-spline weights of the three nodes along each axis, for a distance from the first of them."""
    return [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]


@qd.kernel
def step():
    for i, j in grid_mass:
        grid_velocity[i, j] = qd.Vector([0.0, 0.0])
        grid_mass[i, j] = 0.0
    for p in position:
        scaled = position[p] / DX
        base = qd.cast(scaled - 0.5, qd.i32)
        fx = scaled - qd.cast(base, qd.f32)
        w = weights(fx)
        stress = -DT * 4.0 * STIFFNESS * VOLUME * (stretch[p] - 1.0) / (DX * DX)
        momentum = qd.Matrix([[stress, 0.0], [0.0, stress]]) + MASS * affine[p]
        for a, b in qd.static(qd.ndrange(3, 3)):
            distance = (qd.Vector([a, b]) - fx) * DX
            weight = w[a].x * w[b].y
            node = base + qd.Vector([a, b])
            grid_velocity[node] += weight * (MASS * velocity[p] + momentum @ distance)
            grid_mass[node] += weight * MASS
    for i, j in grid_mass:
        if grid_mass[i, j] > 0.0:
            v = grid_velocity[i, j] / grid_mass[i, j]
            v.y -= DT * GRAVITY
            if i < WALL and v.x < 0.0 or i >= GRID - WALL and v.x > 0.0:
                v.x = 0.0
            if j < WALL and v.y < 0.0 or j >= GRID - WALL and v.y > 0.0:
                v.y = 0.0
            grid_velocity[i, j] = v
    for p in position:
        scaled = position[p] / DX
        base = qd.cast(scaled - 0.5, qd.i32)
        fx = scaled - qd.cast(base, qd.f32)
        w = weights(fx)
        v = qd.Vector([0.0, 0.0])
        c = qd.Matrix.zero(qd.f32, 2, 2)
        for a, b in qd.static(qd.ndrange(3, 3)):
            distance = (qd.Vector([a, b]) - fx) * DX
            weight = w[a].x * w[b].y
            node_velocity = grid_velocity[base + qd.Vector([a, b])]
            v += weight * node_velocity
            c += 4.0 * weight * node_velocity.outer_product(distance) / (DX * DX)
        velocity[p] = v
        affine[p] = c
        position[p] = qd.max(qd.min(position[p] + DT * v, 1.0 - 2.0 * DX), 2.0 * DX)
        stretch[p] *= 1.0 + DT * c.trace()


@qd.kernel
def render():
    for i, j in thickness:
        thickness[i, j] = 0.0
    for p in position:
        centre = position[p] * PIXELS
        corner = qd.cast(centre, qd.i32) - 6
        for a, b in qd.ndrange(13, 13):
            at = corner + qd.Vector([a, b])
            far = (qd.cast(at, qd.f32) + 0.5 - centre).norm_sqr() / 36.0
            if far < 1.0 and at.min() >= 0 and at.max() < PIXELS:
                thickness[at] += (1.0 - far) ** 2
    for i, j in picture:  # row i from the top, column j
        x = j
        y = PIXELS - 1 - i
        sky = y / PIXELS
        colour = qd.Vector([0.96 - 0.10 * sky, 0.95 - 0.06 * sky, 0.92 - 0.01 * sky])
        depth = thickness[x, y]
        if depth > 0.6:
            left = thickness[qd.max(x - 1, 0), y]
            right = thickness[qd.min(x + 1, PIXELS - 1), y]
            below = thickness[x, qd.max(y - 1, 0)]
            above = thickness[x, qd.min(y + 1, PIXELS - 1)]
            normal = qd.Vector([left - right, below - above, 2.5]).normalized()
            light = qd.max(normal.dot(qd.Vector([-0.36, 0.72, 0.6])), 0.0)
            body = qd.exp(-0.35 * depth)
            water = qd.Vector([0.05, 0.25, 0.55]) * (1.0 - body) + qd.Vector([0.30, 0.62, 0.85]) * body
            colour = water * (0.55 + 0.5 * light) + 0.5 * light**24
        colour = qd.max(qd.min(colour, 1.0), 0.0) * 255.0
        picture[i, j] = qd.cast(colour + 0.5, qd.u8)


def progress(done: int, total: int, since: float) -> None:
    """Draws the bar on standard error, where it does not mix with results; ten lines of it where that is no terminal."""
    if not sys.stderr.isatty() and done * 10 // total == (done - 1) * 10 // total:
        return
    filled = 40 * done // total
    rate = done / max(time.perf_counter() - since, 1e-9)
    end = "\n" if done == total or not sys.stderr.isatty() else ""
    print(
        f"\r[{'#' * filled}{'.' * (40 - filled)}] {done}/{total} frames, {rate:.0f}/s ",
        end=end,
        file=sys.stderr,
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=400)
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--out", default="fluid.png")
    options = parser.parse_args()
    qd.init(arch=options.arch, random_seed=7)
    make_fields()
    start()
    since = time.perf_counter()
    for frame in range(options.frames):
        for _ in range(STEPS_PER_FRAME):
            step()
        render()
        progress(frame + 1, options.frames, since)
    png.write_png(options.out, picture.to_numpy())
    report = qd.cache_report()
    print(report)
    if report.warm:
        print(f"Started from the cache: all {report.total['tasks']} tasks were there, nothing was compiled.")
    else:
        print(
            f"Compiled {report.total['compiled']} of {report.total['tasks']} tasks; the next run starts from the cache."
        )
    print(f"Wrote {options.out}")


if __name__ == "__main__":
    main()
