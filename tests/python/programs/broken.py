"""Broken programs: a bad line is put into a well-typed program, or a part of one is changed. The front end must answer
with a documented exception that points at the line; nothing crashes, and no error of our own internals comes through.
"""

import ast
import linecache
import random
import re

from programs.bad import ANYWHERE, FUNCTIONS, IN_KERNEL, OF_BUNDLE, OF_FUNCTION, STRUCTS, STRUCTS_IN_KERNEL
from programs.check import Finding, Runtime, load
from programs.inputs import Inputs
from programs.whole import program

OURS = re.compile(  # words that only a fault of our own brings into a message
    r"\b_?\w+\(\) (missing|takes|got)|QD_ASSERT|std::|nanobind|incompatible function|maximum recursion|'(Value|Var|Acc|Mat|MatVar|Elem|Slot|Rec|RecVar|ElemStruct|Bundle)'"
)


def bad_lines(text, in_kernel, r):
    """The lines of one kind; those of structs are written with a type of their own."""
    kind = r.random()
    functions = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name != "k"]
    if kind < 0.15 and functions and in_kernel:
        return [line.format(r.choice(functions)) for line in OF_FUNCTION]
    if kind < 0.5 and "d: D" in text and in_kernel:
        return OF_BUNDLE
    if kind < 0.6:
        record = "qd.types.struct(x=qd.i32)"
        lines = STRUCTS + STRUCTS_IN_KERNEL * in_kernel
        lines = [re.sub(r"\bV\(", "qd.types.struct(v=qd.types.vector(2, qd.i32))(", line) for line in lines]
        return [re.sub(r"\bS\b", record, line) for line in lines]
    return ANYWHERE + IN_KERNEL * in_kernel


def insert(text, r):
    """A program with one bad line, the line, and its number."""
    lines = text.splitlines()
    kernel = next(k for k, line in enumerate(lines) if line.startswith("def k("))
    bodies = [f.body for f in ast.walk(ast.parse(text)) if isinstance(f, ast.FunctionDef)]
    inside = {k for body in bodies for k in range(body[0].lineno - 1, body[-1].end_lineno)}
    places = [k for k in sorted(inside) if not lines[k].lstrip().startswith(("elif", "else"))]
    at = r.choice([k for k in places if k > kernel] if r.random() < 0.8 else places)
    bad = r.choice(bad_lines(text, at > kernel, r))
    pad = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    if lines[at - 1].lstrip().startswith("qd.loop_config"):
        at -= 1
    return "\n".join([*lines[:at], pad + bad, *lines[at:]]) + "\n", bad, at + 1


def with_function(text, r):
    """A program with a wrong function at its head that its kernel calls."""
    decorator, definition, line = r.choice(FUNCTIONS).split(" | ")
    head = f"def {definition}" if decorator == "def" else f"{decorator}\n{definition}"
    lines = text.splitlines()
    at = next(k for k, one in enumerate(lines) if one.startswith("def k("))
    docstring = text.startswith('"""')
    lines[at + 1 : at + 1] = ["    " + line]
    lines[docstring:docstring] = head.splitlines()
    return "\n".join(lines) + "\n", f"{decorator} {definition} … {line}"


class _Mutate(ast.NodeTransformer):
    def __init__(self, r, target):
        self.r, self.target, self.count = r, target, -1

    def visit(self, node):
        if isinstance(node, (ast.While, ast.AugAssign)) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) == "range"
        ):
            return node  # it has to end
        if isinstance(node, ast.expr):
            self.count += 1
            if self.count == self.target:
                return self.change(node)
        return self.generic_visit(node)

    def change(self, node):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        if isinstance(node, ast.Call) and self.r.random() < 0.5:
            node.args = node.args[:-1] if self.r.random() < 0.5 else [*node.args, ast.Constant(1)]
            return node
        return self.r.choice([
            ast.Constant("text"), ast.Constant(None), ast.Constant(1.5), ast.Constant(10**12), ast.Name("nowhere", ast.Load()),
            ast.Tuple([node, node], ast.Load()), ast.List([], ast.Load()), ast.Name("qd", ast.Load()), ast.Name("a", ast.Load()),
            ast.Attribute(node, "foo", ast.Load()), ast.Call(node, [], []), ast.Subscript(node, ast.Constant(0), ast.Load()),
            ast.Name("k", ast.Load()), ast.UnaryOp(ast.USub(), node), ast.Name("float", ast.Load()),
        ])  # fmt: skip


def mutate(text, r):
    tree = ast.parse(text)
    functions = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    body = ast.Module([n for f in functions for n in f.body], [])
    count = sum(isinstance(n, ast.expr) for n in ast.walk(body))
    target = r.randrange(max(count, 1))
    step = _Mutate(r, target)
    for f in functions:
        f.body = [step.visit(s) for s in f.body]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def check(text, seed, runtime, line=None):
    """None, or what is wrong with the answer to a broken program. `line`: where it must point, if that is known."""
    import quadrants as qd

    try:
        compile(text, "program", "exec")
    except (SyntaxError, ValueError):
        return None  # Python refuses it
    try:
        space, file = load(text)
    except qd.QuadrantsCompilationError as e:  # refused where it is declared, as Python does
        return f"words of our own internals: {e}" if OURS.search(str(e)) else None
    try:
        runtime.run(Inputs(text, seed), space)
    except qd.QuadrantsAssertionError:
        return None  # it runs, and an index or an assertion is caught
    except (qd.QuadrantsCompilationError, qd.QuadrantsRuntimeTypeError) as e:
        return complaint(str(e), file, line, text)
    except Exception as e:  # noqa: BLE001 - the fault looked for
        return f"{type(e).__name__}: {e}"
    finally:
        linecache.cache.pop(file, None)
    return None if line is None else "it was accepted"


def _misplaced(message, file, text):
    """What a place in the message shows that is not there: its text, or a function that does not hold the line."""
    lines = text.splitlines()
    bodies = [(f.name, f.lineno, f.end_lineno) for f in ast.walk(ast.parse(text)) if isinstance(f, ast.FunctionDef)]
    for number, name, shown in re.findall(rf'File "{re.escape(file)}", line (\d+), in (\w+):\n(.*)', message):
        at = int(number)
        if at > len(lines) or lines[at - 1].strip() != shown.strip():
            return f"line {at} is shown as {shown!r}"
        if not any(name == f and first <= at <= last for f, first, last in bodies):
            return f"line {at} is not in {name}"
    return None


def complaint(message, file, line, text):
    places = re.findall(rf'File "{re.escape(file)}", line (\d+), in', message)
    if not places:
        return f"no line: {message}"
    if "^" not in message:
        return f"no caret: {message}"
    misplaced = _misplaced(message, file, text)
    if misplaced:
        return f"{misplaced}: {message}"
    if line is not None and int(places[-1]) != line:
        return f"line {line} expected: {message}"
    tail = message.rsplit("^\n", 1)[-1]
    return f"words of our own internals: {message}" if OURS.search(tail) else None


ACCEPTED = frozenset([  # bound at compile time, never used; or run there as any function of Python
    "q = float", "q = qd.kernel", "q = ...", "q = 1j", 'q = b"a"', "q = qd.field(qd.i32, 3)", "q = qd.ndarray(qd.i32, 3)",
])  # fmt: skip


def batch(seeds, report, progress=lambda seed: None):
    runtime = Runtime("reference", debug=True)  # a changed index is caught
    for seed in seeds:
        progress(seed)
        r, text = random.Random(seed), program(seed, 5)
        bad, line = "", None
        way = r.random()
        if way < 0.15:
            text, bad = with_function(text, r)
        elif way < 0.65:
            text, bad, line = insert(text, r)
        else:
            text = mutate(text, r)
        wrong = check(text, seed, runtime, line)
        if wrong is not None and not (wrong == "it was accepted" and (bad in ACCEPTED or _dead(text, line))):
            report(Finding(seed, "broken", bad or "changed", wrong, text))
    runtime.close()
    return len(seeds)


def _dead(text, line):
    """Whether a line may never be walked: below a static condition, behind a jump, in a function that is not called."""
    lines = text.splitlines()
    return any(
        word in x for x in lines[: line - 1] for word in ("qd.static(", "break", "continue", "return")
    ) or not any(x.startswith("def k(") for x in lines[:line])
