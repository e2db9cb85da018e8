"""State of one walk: the builder, the names in scope, where in the control flow we stand, and what was captured.

Names of a function live in one dict; a block undoes its declarations when it ends, so a lookup is one probe however
deep the nesting. A name that is stored once is bound to its value and needs no variable.
"""

import ast
import enum
import types

import numpy as np

from quadrants import _native
from quadrants._lib.core import CPU_ARCHS
from quadrants._native import Builder, Value
from quadrants.lang.exception import QuadrantsNameError, QuadrantsTypeError
from quadrants.lang.frontend import access, errors, overflow, purity
from quadrants.lang.guards import Recorder
from quadrants.lang.holding import settle
from quadrants.lang.kernel_coverage import Probes
from quadrants.lang.static import ndrange
from quadrants.lang.values import Mat, known_matrix

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor", ast.LShift: "shl",
    ast.RShift: "sar",
}  # fmt: skip
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_NAMES = sorted({*_BINARY.values(), *_COMPARE.values()}) + [
    "raw_div", "raw_mod", "bit_shr", "min", "max", "atan2", "logical_and", "logical_or", "neg", "invert", "logical_not",
]  # fmt: skip
_MISSING = object()


class Walker:
    """One walk over one kernel for one specialisation. Not shared between threads."""

    def __init__(self, name: str, runtime, forced=None):
        self._take_options(runtime)
        self.u1, self.i32, self.i64, self.u64, self.f64 = (
            _native.u1, _native.i32, _native.i64, _native.u64, _native.f64,
        )  # fmt: skip
        self.promote = _native.promote
        b = self.b = Builder(name, self.default_ip, self.default_fp, self.fast_math, self.debug)
        self.get = b.get
        self.op = {n: getattr(b, n) for n in _NAMES}
        self.bin = {k: self.op[n] for k, n in _BINARY.items()}
        self.bin_name = _BINARY
        self.cmp = {k: self.op[n] for k, n in _COMPARE.items()}
        self.cmp_name = _COMPARE
        if self.debug:
            overflow.install(self)
        self.rec = Recorder()
        self.pure, self.impure = False, set()  # fastcache=True, and the names it warned of
        self.words, self.sites, self.locked = [], [], []
        self.bound = {}  # parameter by id of the buffer; `words` keeps the buffers alive
        self.watched = set()  # see watched.py
        self.positions = {}  # number of the parameter that a member of the plan belongs to
        self.accs, self.keep = {}, []
        self.team = None  # block size asked for by the parallel loop being walked, 0: none; see threads
        self.shared_bytes = 0
        self.section, self.sections = 0, 0  # of `with qd.stream_parallel()`: the one being walked, how many there were
        self.shared = frozenset()  # ids of kernel-scope vectors, while a parallel loop is walked
        # Names that need a variable, by Source: of this kernel for these arguments alone, so that what is made of a function
        # doesn't depend on who else used it before.
        self.all_forced = {} if forced is None else forced
        self.forced = frozenset()
        # of the function being walked
        self.fn = self.source = None
        self.vars, self.undo, self.captured = {}, [], {}
        self.captures = {}
        self.readonly = frozenset()
        self.frames = []
        self.base_runtime = 0
        self.result = None
        self.returned = False
        self.return_type = None
        self.is_kernel = True
        self.enums = {}  # arguments of the kernel that are enum members, by name
        self.real = None  # the real function being walked (realfuncs.Open)
        self.roots = {}  # by id: objects whose members may be passed at each call (members.Root)
        self.team_functions = set()  # numbers of those that work with the threads of a block
        self.functions = {}  # number of each real function by what it was made for
        # where we are
        self.static = 0  # depth of qd.static(...)
        self.runtime = 0  # enclosing loops and branches that exist at run time
        self.labels = 0  # regions that `leave` counts
        self.loops = []
        self.dead = False
        self.jump = None
        self.loop_config = None
        self.lossy = {}  # see precision.py
        self.coverage = None if runtime.coverage is None else Probes(runtime.coverage)

    def _take_options(self, runtime):
        self.options = options = runtime.options
        self.default_ip, self.default_fp = runtime.default_ip, runtime.default_fp
        self.ip_min, self.ip_max = int(self.default_ip.min), int(self.default_ip.max)
        self.debug = bool(options.get("debug"))
        self.checks = self.debug or bool(options.get("check_out_of_bound"))
        self.short_circuit = bool(options.get("short_circuit_operators", True))
        self.fast_math = bool(options.get("fast_math", True))
        self.block_dim = _default_block(runtime.arch, options)

    # ------------------------------------------------------------------------------------------------ functions, scopes
    def enter(self, fn, source, call):
        """Starts walking a function; returns what `leave` needs."""
        saved = (
            self.fn, self.source, self.vars, self.undo, self.captured, self.readonly, self.base_runtime, self.result,
            self.returned, self.return_type, self.is_kernel, self.loops, self.static, self.real, self.forced,
        )  # fmt: skip
        self.fn, self.source, self.forced = fn, source, self.forced_in(source)
        self.vars, self.undo = {}, []
        self.captured = self.captures.setdefault(id(fn), {})
        self.readonly = frozenset()
        self.base_runtime, self.result, self.returned, self.return_type = self.runtime, None, False, None
        self.loops, self.static, self.real = [], 0, None
        self.is_kernel = call is None
        self.frames.append((source, call))
        return saved

    def leave(self, saved):
        (
            self.fn, self.source, self.vars, self.undo, self.captured, self.readonly, self.base_runtime, self.result,
            self.returned, self.return_type, self.is_kernel, self.loops, self.static, self.real, self.forced,
        ) = saved  # fmt: skip
        self.frames.pop()

    def forced_in(self, source):
        """Names of a function that need a variable although they are assigned once."""
        return self.all_forced.get(source, ())

    def declare(self, name, value):
        settle(value)
        self.undo.append((name, self.vars.get(name, _MISSING)))
        self.vars[name] = value

    def close_scope(self, mark):
        """Forgets what was declared since `mark = len(w.undo)`."""
        undo, names = self.undo, self.vars
        while len(undo) > mark:
            name, old = undo.pop()
            if old is _MISSING:
                del names[name]
            else:
                names[name] = old

    # ------------------------------------------------------------------------------------------------- captured values
    def outer(self, name):
        """Value of a name that is not local to the function."""
        if self.pure:
            purity.check(self, name)
        found = self.captured.get(name, _MISSING)
        if found is _MISSING:
            try:
                found = self.wrap(self.rec.name(self.fn, name), f'global "{name}"')
            except QuadrantsNameError:
                if name in self.source.stores:
                    raise QuadrantsNameError(
                        f'Name "{name}" is not defined here: what is first assigned in the body of an `if`, `for` or '
                        "`while` ends with that body. Assign it before."
                    ) from None
                raise
            self.captured[name] = found
        return found

    def wrap(self, x, what="value"):
        """What a Python object is inside the kernel."""
        kind = type(x)
        if kind is int or kind is bool or kind is str or x is None:
            return x
        if kind is float:
            if self.options.get("raise_on_templated_floats"):
                raise ValueError(f"Floats as templates or captured values are forbidden, {what} is {x!r}")
            return x
        if kind in (list, tuple, dict, types.FunctionType, types.ModuleType, Mat, Value, access.Acc):
            return x
        if isinstance(x, Tensor):
            return self.wrap(x._impl, what)
        if isinstance(x, SNode):
            from quadrants.lang.frontend.nodes import Node

            return Node(x)
        if isinstance(x, StructField):
            return self.acc(x, lambda w, field: structs().AccStruct(field))
        if isinstance(x, Field):
            return self.acc(x, access.of_field)
        if isinstance(x, Ndarray):
            return self.acc(x, access.of_captured_array)
        if isinstance(x, np.generic) or (kind is np.ndarray and x.ndim == 0):
            return x.item()
        if isinstance(x, Matrix):
            return self.constant_matrix(x)
        if isinstance(x, Struct):
            return structs().constant(self, x)
        if kind is ndrange:
            from quadrants.lang.frontend.statics import range_of

            return range_of(x)
        if isinstance(x, enum.Enum):
            return x.value if isinstance(x, int) else x
        if isinstance(x, int) and not isinstance(x, type):
            return int(x)
        return x

    def acc(self, obj, make):
        found = self.accs.get(id(obj))
        if found is None:
            found = self.accs[id(obj)] = make(self, obj)
            self.keep.append(obj)
        return found

    def constant_matrix(self, x):
        """A Python-scope Matrix as constants."""
        shape = x.get_shape()
        flat = [e for row in x.to_list() for e in (row if isinstance(row, (list, tuple)) else [row])]
        return known_matrix(shape[0], shape[1] if len(shape) > 1 else 1, len(shape), flat)

    # ---------------------------------------------------------------------------------------- parameters and sites
    def bound_buffer(self, buffer, dtype, alias, name):
        """A buffer parameter that is bound when the kernel is specialised. Fields that share one share the parameter:
        the code generator takes the buffers of fields for disjoint."""
        found = self.bound.get(id(buffer))
        if found is None:
            self.words.append(("buffer", buffer))
            found = self.bound[id(buffer)] = self.b.buffer_param(dtype, 0, alias, name)
        return found

    def add_site(self, site):
        self.sites.append(site)
        return len(self.sites) - 1

    # ------------------------------------------------------------------------------------------------------- numbers
    def known(self, x):
        """The Python number of a scalar when it is known now, else None."""
        return self.b.constant_of(x) if type(x) is Value else x if type(x) in (int, float, bool) else None

    def known_int(self, x, what):
        """An int known now; QuadrantsTypeError naming `what` otherwise."""
        k = self.known(x)
        if type(k) is bool:
            return int(k)
        if type(k) is not int:
            raise QuadrantsTypeError(f"{what} must be an integer known at compile time")
        return k


def _default_block(arch, options):
    """Threads of a block in loops that don't say it, where `qd.init` did; 0: the backend decides."""
    asked, most = options.get("default_gpu_block_dim", 128), options.get("max_block_dim", 0)
    if arch in CPU_ARCHS or (asked == 128 and not most):
        return 0
    return min(asked, most or asked)


def located(w, error):
    """`error` with the position that the walk had reached."""
    return errors.located(error, w.frames)


def _host_classes():
    """Imported late: the host classes import the front end's tables."""
    global Field, Ndarray, Matrix, SNode, Struct, StructField, Tensor
    from quadrants.lang.field import Field
    from quadrants.lang.matrix import Matrix
    from quadrants.lang.ndarray import Ndarray
    from quadrants.lang.snode import SNode
    from quadrants.lang.struct import Struct, StructField
    from quadrants.lang.tensor import Tensor


def structs():
    from quadrants.lang.frontend import structs as module

    return module


Field = Ndarray = Matrix = SNode = Struct = StructField = Tensor = ()
