"""Parameters of a kernel or function: names, annotations (resolved when first needed: they may be text), defaults."""

import inspect

from quadrants._native import DataType
from quadrants.lang.exception import QuadrantsSyntaxError
from quadrants.types.annotations import settled


def tuple_of(annotation):
    """Parts of `(T1, T2)`, `tuple[T1, T2]` or `typing.Tuple[T1, T2]`; None for anything else."""
    if isinstance(annotation, (tuple, list)):
        return tuple(annotation)
    if getattr(annotation, "__origin__", None) is tuple and hasattr(annotation, "__args__"):
        if Ellipsis in annotation.__args__:
            raise QuadrantsSyntaxError("Ellipsis is not supported in return type annotations")
        return tuple(annotation.__args__)
    return None


class Signature:
    """What a `def` line says. `annotations` holds what was written, None where nothing was."""

    def __init__(self, fn, is_kernel):
        code = fn.__code__
        self.fn = fn
        what = "kernels" if is_kernel else "functions"
        if code.co_flags & inspect.CO_VARARGS:
            raise QuadrantsSyntaxError(f"Quadrants {what} do not support variable positional parameters (i.e., *args)")
        if code.co_flags & inspect.CO_VARKEYWORDS:
            raise QuadrantsSyntaxError(f"Quadrants {what} do not support variable keyword parameters (i.e., **kwargs)")
        if code.co_kwonlyargcount:
            raise QuadrantsSyntaxError(f"Quadrants {what} do not support keyword parameters")
        if code.co_posonlyargcount:
            raise QuadrantsSyntaxError(f"Quadrants {what} do not support positional-only parameters")
        if is_kernel and fn.__defaults__:
            raise QuadrantsSyntaxError("Quadrants kernels do not support default values for arguments")
        self.names = code.co_varnames[: code.co_argcount]
        self.defaults = dict(zip(self.names[len(self.names) - len(fn.__defaults__ or ()) :], fn.__defaults__ or ()))
        self._raw = fn.__annotations__
        self._types = None
        self._returns = self
        for k, name in enumerate(self.names):
            if name in self._raw:
                self._check(k, name, is_kernel)
        tuple_of(self._raw.get("return"))

    def _check(self, k, name, is_kernel):
        """QuadrantsSyntaxError for what no parameter can be. Text that cannot be resolved yet is looked at when it is needed."""
        annotation = self._raw[name]
        if isinstance(annotation, str):
            try:
                annotation = self._resolve(annotation)
            except QuadrantsSyntaxError:
                return
        annotation = settled(annotation)
        if isinstance(annotation, DataType) or any(annotation is t for t in (int, float, bool)):
            return
        from quadrants.lang.frontend.arguments import can_annotate

        if not can_annotate(annotation, is_kernel):
            optional = getattr(annotation, "__args__", None) and type(None) in annotation.__args__
            raise QuadrantsSyntaxError(
                f"Invalid type annotation (argument {k}) of Quadrants {'kernel' if is_kernel else 'function'}: {annotation!r}. "
                f'"{name}" of "{self.fn.__name__}" can be a scalar, vector, matrix or struct type, qd.types.ndarray, qd.template, '
                "qd.Tensor, qd.BufferView or a dataclass"
                + ("; None is possible for qd.Tensor, qd.template and qd.types.ndarray" if optional else "")
                + "."
            )

    @property
    def types(self):
        """Annotations in order, text resolved; None for a parameter without one."""
        if self._types is None:
            self._types = [self._resolve(self._raw.get(n)) for n in self.names]
        return self._types

    @property
    def returns(self):
        """The return annotation, resolved: None, a type, or a tuple of types."""
        if self._returns is self:
            found = self._resolve(self._raw.get("return"))
            parts = tuple_of(found)
            self._returns = found if parts is None else parts
        return self._returns

    def _resolve(self, annotation):
        if not isinstance(annotation, str):
            return settled(annotation)
        space = dict(self.fn.__globals__)
        for name, cell in zip(self.fn.__code__.co_freevars, self.fn.__closure__ or ()):
            try:
                space[name] = cell.cell_contents
            except ValueError:
                pass
        try:
            return settled(eval(annotation, space))
        except Exception as e:
            raise QuadrantsSyntaxError(
                f'The annotation "{annotation}" of "{self.fn.__name__}" cannot be resolved: {e}. With "from __future__ '
                'import annotations" the names in it must be global or used in the function.'
            ) from None

    def bind(self, args, kwargs, is_method=False):
        """Arguments in the order of parameters; QuadrantsSyntaxError with the documented texts."""
        names = self.names
        if len(args) > len(names):
            raise QuadrantsSyntaxError(f"Too many arguments. Expected ({', '.join(names)}), got {len(args)} of them.")
        bound = dict(zip(names, args))
        for key, v in kwargs.items():
            if key not in names:
                raise QuadrantsSyntaxError(f"Unexpected argument '{key}'.")
            if key in bound:
                raise QuadrantsSyntaxError(f"Multiple values for argument '{key}'.")
            bound[key] = v
        out = []
        for n in names:
            if n in bound:
                out.append(bound[n])
            elif n in self.defaults:
                out.append(self.defaults[n])
            else:
                raise QuadrantsSyntaxError(f"Missing argument '{n}'.")
        return out
