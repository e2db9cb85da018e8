"""Cost of a call and throughput in steady state; ours and any peers, alternating, in fresh processes. Each row is checked first.

Prints medians in microseconds a call and the ratio of ours to each peer.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from compile_time import environment

SIZES = {"cpu": (1 << 22, 1 << 11, 1 << 10), "cuda": (1 << 26, 1 << 14, 1 << 12)}  # elements, bodies, side of the plane


def kernels(m, arch):
    """The rows as {name: (call, repetitions, check)}; `m` is the language's module."""
    large, n_bodies, side = SIZES[arch]
    vector, array = m.types.ndarray(dtype=m.types.vector(3, m.f32), ndim=1), m.types.ndarray(dtype=m.f32, ndim=1)
    plane = m.types.ndarray(dtype=m.f32, ndim=2)

    @m.kernel
    def empty(x: array):
        for i in range(1):
            x[i] = 1.0

    @m.kernel
    def arguments(x: array, y: array, z: array, w: array, p: m.i32, q: m.f32, r: m.i32, s: m.f32):
        for i in range(1):
            x[i] = y[i] + z[i] + w[i] + p + q + r + s

    @m.kernel
    def tasks(x: array):
        for k in m.static(range(16)):
            for i in range(k + 1):
                x[i] += k + 1.0

    @m.kernel
    def saxpy(x: array, y: array, a: m.f32):
        for i in range(x.shape[0]):
            y[i] = a * x[i] + y[i]

    @m.kernel
    def total(x: array, s: array):
        for i in range(x.shape[0]):
            s[0] += x[i]

    @m.kernel
    def functions(x: array, y: array):
        for i in range(x.shape[0]):
            y[i] = m.sin(x[i]) * m.exp(-x[i]) + m.sqrt(x[i] + 1.0)

    @m.kernel
    def stencil(u: plane, v: plane):
        for i, j in m.ndrange((1, u.shape[0] - 1), (1, u.shape[1] - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    @m.kernel
    def bodies(p: vector, f: vector):
        for i in range(p.shape[0]):
            acc, at = m.Vector([0.0, 0.0, 0.0]), p[i]
            for j in range(p.shape[0]):
                d = p[j] - at
                inverse = 1.0 / m.sqrt(d.dot(d) + 1e-2)
                acc += d * (inverse * inverse * inverse)
            f[i] = acc

    rng = np.random.default_rng(0)
    hx, hy, hu = (
        rng.random(large, dtype=np.float32),
        rng.random(large, dtype=np.float32),
        rng.random((side, side), dtype=np.float32),
    )
    hp = rng.random((n_bodies, 3), dtype=np.float32)

    def put(values):
        made = m.ndarray(m.f32, values.shape)
        made.from_numpy(values)
        return made

    x, y, s, small = put(hx), put(hy), put(np.zeros(1, np.float32)), [put(np.ones(64, np.float32)) for _ in range(4)]
    u, v = put(hu), put(hu)
    p, f = m.Vector.ndarray(3, m.f32, n_bodies), m.Vector.ndarray(3, m.f32, n_bodies)
    p.from_numpy(hp)
    d = hp[None] - hp[:8, None]
    force = (d / ((d * d).sum(-1) + 1e-2)[..., None] ** 1.5).sum(1)
    inner = 0.25 * (hu[:-2, 1:-1] + hu[2:, 1:-1] + hu[1:-1, :-2] + hu[1:-1, 2:])
    return {
        "empty": (lambda: empty(small[0]), 2000, None),
        "8 arguments": (lambda: arguments(*small, 1, 2.0, 3, 4.0), 2000, None),
        "16 tasks": (lambda: tasks(small[0]), 500, None),
        "functions": (lambda: functions(x, y), 10, lambda: (y.to_numpy(), np.sin(hx) * np.exp(-hx) + np.sqrt(hx + 1))),
        "saxpy": (lambda: saxpy(x, y, 0.0), 20, None),
        "sum": (lambda: total(x, s), 10, lambda: (s.to_numpy() / large, [hx.astype(np.float64).mean()])),
        "stencil": (lambda: stencil(u, v), 20, lambda: (v.to_numpy()[1:-1, 1:-1], inner)),
        "to_numpy": (lambda: x.to_numpy(), 5, lambda: (x.to_numpy(), hx)),
        "from_numpy": (lambda: x.from_numpy(hx), 5, None),
        "n-body": (lambda: bodies(p, f), 2, lambda: (f.to_numpy()[:8], force)),
    }


def child(module: str, cache: str, arch: str) -> None:
    """One process: checks each row, then times it; prints a JSON line of microseconds."""
    m = __import__(module)
    m.init(arch=getattr(m, arch), offline_cache_file_path=cache)
    spent = {}
    for name, (call, repetitions, check) in kernels(m, arch).items():
        call()
        if check:
            got, want = check()
            np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3, err_msg=name)
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(repetitions):
                call()
            m.sync()
            best = min(best, (time.perf_counter() - start) / repetitions)
        spent[name] = best * 1e6
    print("JSON" + json.dumps(spent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", choices=SIZES, default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="append", default=[], help="name=PYTHON")
    parser.add_argument("--module", default="quadrants")
    parser.add_argument("--child")
    args = parser.parse_args()
    if args.child:
        return child(args.module, args.child, args.arch)
    systems = {"ours": sys.executable} | dict(peer.split("=", 1) for peer in args.peer)
    results: dict[str, dict[str, list[float]]] = {name: {} for name in systems}
    for _ in range(args.rounds):
        for name, python in systems.items():
            with tempfile.TemporaryDirectory() as folder:
                command = [python, __file__, "--child", folder + "/cache", "--module", args.module, "--arch", args.arch]
                done = subprocess.run(
                    command, capture_output=True, text=True, env=environment(python) | {"HOME": folder}
                )
            found = [line for line in done.stdout.splitlines() if line.startswith("JSON")]
            if not found:
                raise SystemExit(f"{name} failed:\n{done.stdout}{done.stderr}")
            for row, value in json.loads(found[0][4:]).items():
                results[name].setdefault(row, []).append(value)
    print(f"medians of {args.rounds}, microseconds a call" + " " * 8 + "ours / peer")
    print(f"{'':14}" + "".join(f"{name:>12}" for name in systems))
    for row in results["ours"]:
        median = {name: statistics.median(results[name][row]) for name in systems}
        ratios = "".join(f"{median['ours'] / median[name]:10.3f}" for name in systems if name != "ours")
        print(f"{row:14}" + "".join(f"{median[name]:12.2f}" for name in systems) + ratios)


if __name__ == "__main__":
    main()
