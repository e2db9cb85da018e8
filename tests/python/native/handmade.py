"""Kernels built by hand, as the front end would build them."""

import struct

import numpy as np

from quadrants import _native as n


def build(context, *params, name="k", outputs=True, body=None):
    """An executable with the given parameters: a DataType is a scalar, a pair (DataType, rank) a buffer. Each word but an
    address is written to the result slot of its number; `body(builder, buffer parameters)` adds code before."""
    b = n.Builder(name, n.i32, n.f32, True, False)
    words, buffers = [], []
    for p in params:
        if isinstance(p, tuple):
            buffers.append(b.buffer_param(p[0], p[1], 0, "x"))
            words += [None] + [b.shape(buffers[-1], k, n.i64) for k in range(p[1])]
        else:
            words.append(b.scalar_param(p, "s"))
    if body is not None:
        body(b, buffers)
    for slot, word in enumerate(words if outputs else ()):
        if word is not None:
            b.output(slot, word)
    return context.compile(b)


def slots(raw):
    """Result bytes as unsigned 64-bit numbers."""
    return list(struct.unpack(f"<{len(raw) // 8}Q", raw))


class Owner:
    """Stands for what the front end keeps of a kernel."""


class Made:
    """A KernelObject that makes a specialisation per array kinds and template objects, and counts how often it was asked."""

    def __init__(self, context, *params, names=None, guard=None, result=slots, on_report=None, **options):
        self.count, self.guard = 0, guard
        self.params, self.executable = params, build(context, *params, **options)
        self.result, self.on_report = result, on_report
        names = names or tuple(f"p{k}" for k in range(len(params)))
        self.kernel = n.KernelObject(Owner(), self.specialise, len(params), names)

    def specialise(self, args, kwargs):
        assert not kwargs
        self.count += 1
        plan, words = [], []
        for k, (p, value) in enumerate(zip(self.params, args, strict=True)):
            if isinstance(p, tuple):
                found = n.array_kind(value)
                if found is None:
                    raise TypeError(f"argument {k} is no array")
                plan.append(("array", found[0], []))
                words += [("arg", k, part) for part in range(1 + p[1])]
            else:
                plan.append(("scalar", p))
                words.append(("arg", k, 0))
        guards = n.Guards()
        if self.guard:
            self.guard(guards)
        return self.kernel.add(self.executable, plan, words, guards, self.result, self.on_report)

    def __call__(self, *args, **kwargs):
        return self.kernel(*args, **kwargs)


def f32_bits(x):
    return struct.unpack("<I", struct.pack("<f", np.float32(x)))[0]
