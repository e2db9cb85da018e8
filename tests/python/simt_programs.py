"""What the tests of `qd.simt` share."""

import numpy as np

import quadrants as qd

N = 256


def run(operation, values, dtype=qd.i32, out=None, n=N):
    """operation(value) of every thread of blocks of 64."""
    x, z = qd.field(dtype, n), qd.field(out or dtype, n)
    x.from_numpy(np.asarray(values))

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i in range(n):
            z[i] = operation(x[i])

    k()
    return z.to_numpy()
