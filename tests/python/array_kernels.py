"""Kernels over arrays of any rank that tests of other libraries' arrays share."""

import quadrants as qd


@qd.kernel
def add(a: qd.types.ndarray(), n: qd.f32):
    for at in qd.grouped(a):
        a[at] += n


@qd.kernel
def total(a: qd.types.ndarray()) -> qd.f32:
    s = 0.0
    for at in qd.grouped(a):
        s += a[at]
    return s
