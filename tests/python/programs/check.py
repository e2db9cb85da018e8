"""Runs programs: inputs by a seed, the model, kernels on every backend and setting, and the comparison."""

import ast
import itertools
import linecache
import random
import shutil
import tempfile
import warnings
from typing import NamedTuple

import numpy as np

from programs.generate import FIELDS, VECTOR_FIELDS, N
from programs.model import Array, Model
from programs.scalars import TYPES, U1, Invalid, Scalar, bounds, same
from programs.whole import program

LOST = "can't use the device any more"  # words of the runtime
SIZES = {1: (N,), 2: (3, 4)}
REAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -3.75,
    100.0,
    1e-3,
    1e4,
    3.0,
    float("inf"),
    float("-inf"),
    float("nan"),
    1e-7,
    7.25,
]


class Finding(NamedTuple):
    seed: int
    kind: str  # difference, refused, generator, crash
    where: str
    detail: str
    text: str = ""


# ------------------------------------------------------------------------------------------------------------- inputs
def number(r, t):
    if t is U1:
        return r.random() < 0.5
    if t.real:
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


def array_of(r, t, shape):
    with np.errstate(all="ignore"):
        return np.array([number(r, t) for _ in range(int(np.prod(shape)))], t.np).reshape(shape)


class Inputs:
    """Arguments and fields of a program, made of its text and a seed."""

    def __init__(self, text, seed):
        r = random.Random(seed)
        kernel = next(f for f in ast.parse(text).body if f.name == "k")
        self.arguments = []
        for p in kernel.args.args:
            note = ast.unparse(p.annotation)
            if note.startswith("qd.types.NDArray["):
                t, ndim = note[len("qd.types.NDArray[") : -1].split(", ")
                self.arguments.append(array_of(r, TYPES[t[3:]], SIZES[int(ndim)]))
            else:
                t = TYPES[note[3:]]
                v = number(r, t)
                with np.errstate(all="ignore"):
                    self.arguments.append(float(t.np(v)) if t.real else v)
        self.types = [ast.unparse(p.annotation) for p in kernel.args.args]
        self.fields = {n: array_of(r, TYPES[t], s) for n, (t, s) in FIELDS.items() if n in text}
        self.fields |= {n: array_of(r, TYPES[t], (N, k)) for n, (t, k) in VECTOR_FIELDS.items() if n in text}

    def model(self, text, seen=None):
        """What the program should leave behind: {name of memory: scalars}, and the results."""
        given = []
        for a, note in zip(self.arguments, self.types):
            name = note.split("qd.")[-1].split(",")[0].rstrip("]")
            given.append(
                Array(TYPES[name], a)
                if type(a) is np.ndarray
                else Scalar(TYPES[name], TYPES[name].np(a) if TYPES[name].real else a)
            )
        memory = {
            n: Array(TYPES[(FIELDS.get(n) or VECTOR_FIELDS[n])[0]], v, v.shape[1:] if n in VECTOR_FIELDS else ())
            for n, v in self.fields.items()
        }
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = Model(text, memory, seen).call("k", given)
        left = {f"argument {k}": a.data for k, a in enumerate(given) if type(a) is Array}
        left |= {n: a.data for n, a in memory.items()}
        left["results"] = [] if result is None else result if isinstance(result, list) else [result]
        return left


# ------------------------------------------------------------------------------------------------------------ kernels
_count = itertools.count()


def load(text):
    import quadrants as qd

    file = f"<random-{next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"__name__": "program", "qd": qd, "np": np}
    exec(compile(text, file, "exec"), space)  # noqa: S102 - text of this suite
    return space, file


class Runtime:
    """`qd.init` with one setting, and the fields that programs use."""

    def __init__(self, arch, **options):
        import quadrants as qd

        self.folder = None
        if options.get("offline_cache"):
            self.folder = options["offline_cache_file_path"] = tempfile.mkdtemp(prefix="programs-")
        defaults = {"fast_math": False, "offline_cache": False, "src_ll_cache": False, "log_level": "error", "num_compile_threads": 1,
                    "cpu_max_num_threads": 1}  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            qd.init(arch=arch, enable_fallback=False, **{**defaults, **options})
        self.fields = {n: qd.field(getattr(qd, t), s) for n, (t, s) in FIELDS.items()}
        self.fields |= {n: qd.Vector.field(k, getattr(qd, t), N) for n, (t, k) in VECTOR_FIELDS.items()}

    def run(self, text, inputs, loaded=None):
        """The same as `Inputs.model` gives, in numbers."""
        space, file = loaded or load(text)
        space.update(self.fields)
        given = [np.copy(a) if type(a) is np.ndarray else a for a in inputs.arguments]
        for n, v in inputs.fields.items():
            self.fields[n].from_numpy(v)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = space["k"](*given)
        if loaded is None:
            linecache.cache.pop(file, None)
        left = {f"argument {k}": a.reshape(-1) for k, a in enumerate(given) if type(a) is np.ndarray}
        left |= {n: self.fields[n].to_numpy().reshape(-1) for n in inputs.fields}
        left["results"] = [] if result is None else list(result) if isinstance(result, tuple) else [result]
        return left

    def close(self):
        import quadrants as qd

        qd.reset()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def settings(archs, r, levels=3):
    """Settings of one batch: so many levels of `cpu`, for others one by chance, and the rest of the options by chance."""
    out = []
    for arch in archs:
        for level in r.sample((0, 1, 2), levels if arch == "cpu" else 1):
            options = {"opt_level": level, "debug": r.random() < 0.3}
            if arch != "reference" and r.random() < 0.5:
                options |= {"offline_cache": True, "per_offload_cache": r.random() < 0.7}
            if arch == "cpu":
                options["cpu_max_num_threads"] = r.choice([1, 1, 2])
            out.append((arch, options))
    return out


def first_difference(expected, got):
    for name, values in expected.items():
        other = got.get(name, [])
        if len(values) != len(other):
            return f"{name}: {len(values)} values expected, {len(other)} found"
        for k, (e, g) in enumerate(zip(values, other)):
            if not same(e, g):
                return f"{name}[{k}]: expected {e!r}, found {g!r}"
    return None


def check(text, seed, runtime, expected=None, inputs=None, loaded=None):
    """None, or (kind, detail) of what is wrong with one program in one runtime."""
    inputs = inputs or Inputs(text, seed)
    try:
        expected = expected or inputs.model(text)
    except Invalid as e:
        return "generator", str(e)
    try:
        got = runtime.run(text, inputs, loaded)
    except Exception as e:  # noqa: BLE001 - whatever it is, a well-typed program must not raise it
        return "refused", f"{type(e).__name__}: {e}"
    found = first_difference(expected, got)
    return None if found is None else ("difference", found)


def batch(seeds, archs, report, progress=lambda seed: None, seen=None, levels=3):
    """Runs programs in every setting; `report(Finding)` for each that fails."""
    made = []
    for seed in seeds:
        progress(seed)
        text = program(seed)
        inputs = Inputs(text, seed)
        try:
            made.append((seed, text, inputs, inputs.model(text, seen), load(text)))
        except Exception as e:  # noqa: BLE001 - a fault of the generator or of the model
            if "steps" not in str(e):
                report(Finding(seed, "generator", "model", f"{type(e).__name__}: {e}", text))
    failed = set()
    for arch, options in settings(archs, random.Random(seeds[0]), levels):
        runtime = Runtime(arch, **options)
        for seed, text, inputs, expected, loaded in made:
            progress(seed)
            wrong = None if seed in failed else check(text, seed, runtime, expected, inputs, loaded)
            if wrong is not None:
                failed.add(seed)
                report(Finding(seed, wrong[0], f"{arch} {options}", wrong[1], text))
                if LOST in wrong[1]:  # nothing more can be said of this process
                    raise RuntimeError(LOST)
        runtime.close()
    for *_, (_, file) in made:
        linecache.cache.pop(file, None)
    return len(made)
