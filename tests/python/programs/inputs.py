"""What programs are given: arguments and fields made of the text and a seed, for the model and for runtimes."""

import random
import warnings

import numpy as np

from programs import memory
from programs.memory import SHAPE2, N
from programs.model import Model
from programs.scalars import I32, U1, Scalar, Type, bounds
from programs.specs import TEMPLATE, Elements, Parsed, Record, Shaped
from programs.values import Array, Struct, StructArray, Vec, flat

SIZES = {1: (N,), 2: SHAPE2}
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.75, 100.0, 1e-3, 1e4, 3.0, float("inf"), float("-inf"), float("nan"), 1e-7, 7.25]  # fmt: skip


def number(r, t, fast=False):
    if t is U1:
        return r.random() < 0.5
    if t.real:
        if fast:
            return float(r.randint(-9, 12))
        return r.choice(REAL) if r.random() < 0.4 else r.uniform(-20, 20) if r.random() < 0.8 else r.uniform(-1e5, 1e5)
    low, high = bounds(t)
    kind = r.random()
    return (
        r.choice([low, high, 0, 1, high - 1])
        if kind < 0.25
        else r.randint(max(low, -6), 9)
        if kind < 0.8
        else r.randint(low, high)
    )


def array_of(r, t, shape, fast=False):
    with np.errstate(all="ignore"):
        return np.array([number(r, t, fast) for _ in range(int(np.prod(shape)))], t.np).reshape(shape)


def value(r, spec, fast):
    """A value of a spec on the host: a number, a NumPy array, or a dict of members."""
    if spec == TEMPLATE:
        return r.randint(0, 4)
    if type(spec) is Type:
        v = number(r, spec, fast)
        with np.errstate(all="ignore"):
            return float(spec.np(v)) if spec.real else v
    if type(spec) is Elements:
        return array_of(r, spec.t, (*SIZES[spec.ndim], *spec.element), fast)
    if type(spec) is Shaped:
        return array_of(r, spec.t, spec.shape, fast)
    return {n: value(r, s, fast) for n, s in spec.members.items()}


def in_model(spec, v):
    if spec == TEMPLATE:
        return Scalar(I32, v)
    if type(spec) is Type:
        return Scalar(spec, spec.np(v) if spec.real else v)
    if type(spec) is Elements:
        return Array(spec.t, v, spec.element, spec.clamp)
    if type(spec) is Shaped:
        return Vec(spec.shape, Array(spec.t, v).data)
    return Struct(spec, {n: in_model(s, v[n]) for n, s in spec.members.items()})


def in_runtime(qd, spec, v, space, wrap):
    """The argument itself. wrap: arrays of numbers as arrays of the runtime too, not of NumPy."""
    if type(spec) is Type or spec == TEMPLATE:
        return v
    if type(spec) is Shaped:
        return (qd.Vector if v.ndim == 1 else qd.Matrix)(v.tolist())
    if type(spec) is Record:
        made = {n: in_runtime(qd, s, v[n], space, wrap) for n, s in spec.members.items()}
        return space[spec.name](**made)
    if not spec.element and not wrap:
        return np.copy(v)
    t, shape = getattr(qd, spec.t.name), SIZES[spec.ndim]
    if not spec.element:
        out = qd.ndarray(t, shape)
    else:
        out = (qd.Vector if len(spec.element) == 1 else qd.Matrix).ndarray(*spec.element, t, shape)
    out.from_numpy(v)
    return out


def arrays(spec, v, name):
    """(name, array) of each array in an argument, of the model's or a runtime's."""
    if type(spec) is Elements:
        yield name, v
    elif type(spec) is Record and spec.bundle:
        for n, s in spec.members.items():
            yield from arrays(s, v.members[n] if type(v) is Struct else getattr(v, n), f"{name}.{n}")


class Inputs:
    """Arguments and fields of a program, made of its text and a seed."""

    def __init__(self, text, seed):
        r = random.Random(seed)
        self.parsed = Parsed(text)
        fast = self.parsed.fast
        self.specs = list(self.parsed.parameters().values())
        self.arguments = [value(r, s, fast) for s in self.specs]
        self.fields = {f.name: array_of(r, f.type, (*f.shape, *f.element), fast) for f in memory.used(text)}
        self.wrap = r.random() < 0.3

    def model(self, seen=None):
        """What the program should leave behind: {name of memory: scalars}, and the results."""
        given = [in_model(s, v) for s, v in zip(self.specs, self.arguments)]
        fields = {n: Array(memory.FIELDS[n].type, v, memory.FIELDS[n].element) for n, v in self.fields.items()}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = Model(self.parsed, self.with_structs(fields), seen).run(given)
        if seen is not None:
            seen |= self.kinds()
        left = {n: a.data for k, (s, v) in enumerate(zip(self.specs, given)) for n, a in arrays(s, v, f"argument {k}")}
        left |= {n: a.data for n, a in fields.items()}
        return left | {"results": flat(results)}

    def kinds(self):
        """What coverage counts of the memory and the kind of a program."""
        arrays = [s for s in self.specs if type(s) is Elements]
        out = {f"field {n.split('.')[0]}" for n in self.fields}
        out |= {f"array of {('numbers', 'vectors', 'matrices')[len(s.element)]}" for s in arrays}
        out |= {"clamped array" for s in arrays if s.clamp}
        out |= {"argument of " + ("a bundle" if s.bundle else "a struct") for s in self.specs if type(s) is Record}
        out |= {"argument that is a constant" for s in self.specs if s == TEMPLATE}
        out |= {"argument of a vector" for s in self.specs if type(s) is Shaped}
        return out | ({"for fast_math"} if self.parsed.fast else set())

    def with_structs(self, fields):
        """The same with fields of structs put together."""
        out = {n: a for n, a in fields.items() if "." not in n}
        for name in {n.split(".")[0] for n in fields if "." in n}:
            members = {n.split(".")[1]: a for n, a in fields.items() if n.startswith(name + ".")}
            out[name] = StructArray(self.record_of(members), members)
        return out

    def record_of(self, members):
        specs = {n: Shaped(a.element, a.t) if a.element else a.t for n, a in members.items()}
        return next((r for r in self.parsed.records.values() if r.members == specs), Record("", specs))
