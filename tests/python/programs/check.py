"""Runs programs: the model, kernels on every backend and setting, and the comparison."""

import dataclasses
import itertools
import linecache
import random
import shutil
import tempfile
import warnings
from typing import NamedTuple

import numpy as np

from programs import memory
from programs.inputs import Inputs, arrays, in_runtime
from programs.scalars import Beyond, Scalar, same
from programs.whole import program

LOST = "can't use the device any more"  # words of the runtime


class Finding(NamedTuple):
    seed: int
    kind: str  # difference, refused, generator, crash
    where: str
    detail: str
    text: str = ""


# ------------------------------------------------------------------------------------------------------------ kernels
_count = itertools.count()


def load(text):
    import quadrants as qd

    file = f"<random-{next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"__name__": "program", "qd": qd, "np": np, "dataclasses": dataclasses}
    exec(compile(text, file, "exec"), space)  # noqa: S102 - text of this suite
    return space, file


def numbers(result):
    """The numbers of what a kernel returned, in order."""
    for way in ("to_dict", "to_list"):
        if hasattr(result, way):
            result = getattr(result, way)()
    parts = result.values() if isinstance(result, dict) else result
    if isinstance(parts, (int, float, np.generic)):
        return [parts]
    return [] if result is None else [n for part in parts for n in numbers(part)]


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
        self.signs = not options.get("fast_math")
        self.fields = memory.make(qd)

    def run(self, inputs, space):
        """The same as `Inputs.model` gives, in numbers. space: what `load` gave."""
        import quadrants as qd

        space.update(self.fields)
        given = [in_runtime(qd, s, v, space, inputs.wrap) for s, v in zip(inputs.specs, inputs.arguments)]
        for n, v in inputs.fields.items():
            memory.place(self.fields, n).from_numpy(v)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = space["k"](*given)
        left = {n: a for k, (s, v) in enumerate(zip(inputs.specs, given)) for n, a in arrays(s, v, f"argument {k}")}
        left |= {n: memory.place(self.fields, n) for n in inputs.fields}
        left = {n: (a if type(a) is np.ndarray else a.to_numpy()).reshape(-1) for n, a in left.items()}
        return left | {"results": numbers(results)}

    def close(self):
        import quadrants as qd

        qd.reset()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def settings(archs, r, levels=3):
    """Settings of one batch: so many levels of `cpu`, for others one by chance, and the rest of the options by chance;
    with fast_math once more for each backend. With `debug` kernels are cut into other tasks, which draw other numbers."""
    out, debug = [], r.random() < 0.3
    for arch in archs:
        for level in r.sample((0, 1, 2), levels if arch == "cpu" else 1):
            options = {"opt_level": level, "debug": debug}
            if arch != "reference" and r.random() < 0.5:
                options |= {"offline_cache": True, "per_offload_cache": r.random() < 0.7}
            if arch == "cpu":
                options["cpu_max_num_threads"] = r.choice([1, 1, 2])
            out.append((arch, options))
        out.append((arch, {"opt_level": r.randrange(3), "fast_math": True}))
    return out


def first_difference(expected, got, signs=True):
    """signs: whether those of zeros count."""
    for name, values in expected.items():
        other = got.get(name, [])
        if len(values) != len(other):
            return f"{name}: {len(values)} values expected, {len(other)} found"
        for k, (e, g) in enumerate(zip(values, other)):
            if not same(e, g, signs):
                return f"{name}[{k}]: expected {e!r}, found {g!r}"
    return None


class Case:
    """A program with its inputs and what it should leave behind. What is drawn the model doesn't know: the first run says."""

    def __init__(self, text, seed, seen=None):
        self.text, self.seed = text, seed
        self.inputs = Inputs(text, seed)
        self.expected = self.inputs.model(seen)
        self.loaded = load(text)
        self.known = not self.draws

    @property
    def draws(self):
        return self.inputs.parsed.draws

    def run(self, runtime):
        """None, or (kind, detail) of what is wrong in one runtime."""
        try:
            got = runtime.run(self.inputs, self.loaded[0])
        except Exception as e:  # noqa: BLE001 - whatever it is, a well-typed program must not raise it
            return "refused", f"{type(e).__name__}: {e}"
        if not self.known:
            self.known = True
            self.expected = {n: [Scalar(e.t, g) for e, g in zip(v, got[n])] for n, v in self.expected.items()}
        found = first_difference(self.expected, got, runtime.signs)
        return None if found is None else ("difference", found)

    def close(self):
        linecache.cache.pop(self.loaded[1], None)


def check(text, seed, runtime):
    """None, or (kind, detail) of what is wrong with one program in one runtime."""
    try:
        case = Case(text, seed)
    except Exception as e:  # noqa: BLE001 - the text need not be one of the generator's
        return "generator", str(e)
    wrong = case.run(runtime)
    case.close()
    return wrong


def batch(seeds, archs, report, progress=lambda seed: None, seen=None, levels=3):
    """Runs programs in every setting; `report(Finding)` for each that fails."""
    made = []
    for seed in seeds:
        progress(seed)
        text = program(seed)
        try:
            made.append(Case(text, seed, seen))
        except Beyond:
            pass
        except Exception as e:  # noqa: BLE001 - a fault of the generator or of the model
            report(Finding(seed, "generator", "model", f"{type(e).__name__}: {e}", text))
    made.sort(key=lambda case: not case.draws)  # a draw depends on the launches before it
    failed = set()
    for arch, options in settings(archs, random.Random(seeds[0]), levels):
        cases = [c for c in made if c.inputs.parsed.fast or not options.get("fast_math")]
        if cases:
            _in_setting(arch, options, cases, failed, report, progress)
    for case in made:
        case.close()
    return len(made)


def _in_setting(arch, options, cases, failed, report, progress):
    runtime = Runtime(arch, **options)
    for case in cases:
        progress(case.seed)
        if case.seed in failed and not case.draws:
            continue
        wrong = case.run(runtime)
        if wrong is None or case.seed in failed:
            continue
        failed.add(case.seed)
        report(Finding(case.seed, wrong[0], f"{arch} {options}", wrong[1], case.text))
        if LOST in wrong[1]:  # nothing more can be said of this process
            raise RuntimeError(LOST)
        if case.draws and wrong[0] == "refused":  # another number of launches from here on
            failed.update(c.seed for c in cases if c.draws)
    runtime.close()
