"""Parts that a further name cannot give an older release: scalars, walks over kernels, mutators by variable.

Since 0.26 a ``tirx`` expression is a Relax expression, and its type is ``PrimType``. In 0.25 it is wrapped in
``relax.PrimValue`` where Relax takes it, its type there is ``PrimStructInfo``, and ``PrimType`` is only what a ``tirx``
variable is declared with.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import importlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

# Reading and setting names of TVM by dotted path.


def found(path: str) -> Any | None:
    """Return what a dotted path means, ``None`` when the installed TVM has no such thing."""
    home, _, rest = path.partition(".")
    value: Any = importlib.import_module(home)
    while rest:
        head, _, rest = rest.partition(".")
        value = getattr(value, head, None)
        if value is None:
            return None
    return value


def publish(path: str, value: Any) -> None:
    """Set what a dotted path means, also where ``tvm.relax`` shows the names of ``tvm.relax.op`` as its own."""
    parent_path, _, name = path.rpartition(".")
    before = found(path)
    for home in dict.fromkeys((parent_path, "tvm.relax", "tvm.relax.op")):
        holder = found(home)
        if home == parent_path or (before is not None and getattr(holder, name, None) is before):
            setattr(holder, name, value)


def type_key(node: Any) -> str:
    """Return the name of a class of TVM in its JSON: ``ir.GenericConst``."""
    return str(node.__tvm_ffi_type_info__.type_key)


def apart() -> bool:
    """Say whether scalars of the installed TVM must be wrapped to be Relax expressions."""
    return hasattr(importlib.import_module("tvm.relax"), "PrimStructInfo")


def adopt_scalars() -> None:
    """Where scalars stand apart, have Relax's constructors wrap them and types of scalars be known as such."""
    if not apart():
        return
    tvm = importlib.import_module("tvm")
    relax = importlib.import_module("tvm.relax")
    genuine, wrapped = tvm.ir.PrimType, relax.PrimStructInfo

    class PrimTypes(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, (genuine, wrapped))

        def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
            return wrapped(*arguments, **keywords)

    # TVM makes one in one place, for a variable of tirx, which _declare sees to.
    tvm.ir.PrimType = PrimTypes("PrimType", (), {"__doc__": wrapped.__doc__})
    tvm.ir.PrimExpr.ty = property(lambda self: wrapped(str(self.dtype)), doc="The type of a scalar, as Relax has it.")
    _declare(tvm.tirx.Var, genuine, wrapped)
    # It calls itself there, by way of ``__eq__``, until the stack ends.
    relax.StructInfo.same_as = tvm.runtime.Object.same_as
    wrap = functools.partial(_wrap, wrapper=relax.PrimValue, scalar=tvm.ir.PrimExpr)
    for owner in (relax.Call, relax.Tuple, relax.If, relax.VarBinding, relax.MatchCast, relax.SeqExpr):
        owner.__init__ = wrap(owner.__init__)
    for name in ("emit", "emit_output", "match_cast", "normalize"):
        setattr(relax.BlockBuilder, name, wrap(getattr(relax.BlockBuilder, name)))
    for operator in ("print", *_BINARY):
        publish(f"tvm.relax.op.{operator}", wrap(getattr(relax.op, operator)))
    publish("tvm.relax.op.one_hot", _numbered(wrap(relax.op.one_hot), tvm.tirx))


_BINARY = (
    "add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "floor_divide", "floor_mod",
    "greater", "greater_equal", "left_shift", "less", "less_equal", "log_add_exp", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "mod", "multiply", "not_equal", "power", "right_shift", "subtract",
)  # fmt: skip
"""Operators of two operands, one of which may be a scalar."""


def _wrap(inner: Any, wrapper: Any, scalar: Any) -> Any:
    """Return the function, with every scalar among its arguments, or in a list that is one, wrapped."""

    def one(value: Any) -> Any:
        return wrapper(value) if isinstance(value, scalar) else value

    def each(value: Any) -> Any:
        return [one(item) for item in value] if isinstance(value, (list, tuple)) else one(value)

    @functools.wraps(inner)
    def wrapping(*arguments: Any, **keywords: Any) -> Any:
        return inner(*map(each, arguments), **{name: each(value) for name, value in keywords.items()})

    return wrapping


def _numbered(inner: Any, nodes: Any) -> Any:
    """``one_hot`` with Python's numbers as on and off, which are int64 and float64 as ``relax.prim_value`` has them."""

    def scalar(value: Any) -> Any:
        if isinstance(value, bool):
            return nodes.IntImm("bool", int(value))
        if isinstance(value, int):
            return nodes.IntImm("int64", value)
        return nodes.FloatImm("float64", value) if isinstance(value, float) else value

    @functools.wraps(inner)
    def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int = -1) -> Any:
        return inner(indices, scalar(on_value), scalar(off_value), depth, axis)

    return one_hot


def _declare(owner: Any, genuine: Any, wrapped: Any) -> None:
    inner = owner.__init__

    @functools.wraps(inner)
    def declaring(self: Any, name: str, dtype: Any, span: Any = None) -> None:
        inner(self, name, genuine(dtype.dtype) if isinstance(dtype, wrapped) else dtype, span)

    owner.__init__ = declaring


# ``tvm_ffi.structural_walk`` over kernels, for TVM 0.25, whose ffi has none.


def adopt_walks() -> None:
    """Where it is missing, give ``tvm_ffi`` a ``structural_walk`` that knows the statements of a kernel."""
    ffi: Any = importlib.import_module("tvm_ffi")
    if not hasattr(ffi, "structural_walk"):
        tirx, relax = importlib.import_module("tvm.tirx"), importlib.import_module("tvm.relax")
        # One class is both since 0.26, which callers name by either of its names.
        ffi.structural_walk = functools.partial(_walk, tirx.stmt_functor, {relax.Call: tirx.Call})


def _walk(functor: Any, renamed: dict[Any, Any], root: Any, callbacks: Sequence[Any], order: str = "post") -> None:
    """Call the first callback of which the type fits for each node of a statement.

    Args:
        functor: ``tvm.tirx.stmt_functor``.
        renamed: Types of callbacks that mean another type in a kernel.
        root: The statement.
        callbacks: Pairs of a type, or a tuple of types, and what to call with the node; or one such pair.
        order: ``pre`` or ``post``: a node before what is in it, or behind it.
    """
    pairs = [callbacks] if callable(callbacks[-1]) else list(callbacks)
    entries: list[tuple[Any, Any]] = []
    for kinds, callback in pairs:
        types = kinds if isinstance(kinds, tuple) else (kinds,)
        entries.append((tuple(renamed.get(kind, kind) for kind in types), callback))

    def visit(node: Any) -> bool:
        for types, callback in entries:
            if isinstance(node, types):
                callback(node)
                break
        return True  # go on into its parts

    if order == "pre":
        functor.pre_order_visit(root, visit)
    else:
        functor.post_order_visit(root, visit)


# Mutators of TVM 0.25 know a variable that is replaced by its identity, and newer ones by the variable itself.

_NAMES = ("set_var_remap", "get_var_remap")


def adopt_remaps() -> None:
    """Where ``PyExprMutator`` asks for the identity of a variable, let it take the variable as well."""
    mutator = importlib.import_module("tvm.relax").PyExprMutator
    for name in _NAMES:
        inner = getattr(mutator, name)
        if "vid" in inspect.signature(inner).parameters:
            setattr(mutator, name, _by_variable(inner))


def _by_variable(inner: Any) -> Any:
    @functools.wraps(inner)
    def remap(self: Any, old_var: Any, *new_var: Any) -> Any:
        return inner(self, getattr(old_var, "vid", old_var), *new_var)

    return remap


def iterate_quickly() -> None:
    """Take the items of ``tvm_ffi.Array`` one by one without normalizing each index, which is half of the time.

    Ask ``isinstance`` of TVM's classes without looking for classes that are registered as theirs: there are none.

    For processes of campaigns: a twentieth of their time.
    """
    ffi: Any = importlib.import_module("tvm_ffi")
    classes: Any = type(ffi.Object)
    if issubclass(classes, abc.ABCMeta):
        classes.__instancecheck__ = type.__instancecheck__
    functions: Any = importlib.import_module("tvm_ffi._ffi_api")
    if not (hasattr(functions, "ArraySize") and hasattr(functions, "ArrayGetItem")):
        return

    def items(self: Any) -> Iterator[Any]:
        return (functions.ArrayGetItem(self, index) for index in range(functions.ArraySize(self)))

    ffi.Array.__iter__ = items


@contextlib.contextmanager
def without_stacks() -> Iterator[None]:
    """Hide the stack of Python's calls.

    ``R.function`` and ``T.prim_func`` ask for it, with the source line of each frame, whenever they are evaluated: half
    of the time of a parse. They look at it where they decorate a Python function, which no text that is parsed does.
    """
    stack = inspect.stack
    inspect.stack = lambda context=1: []
    try:
        yield
    finally:
        inspect.stack = stack


def parse_quickly() -> None:
    """Have every text be parsed so, in processes of campaigns."""
    script: Any = importlib.import_module("tvm.script")
    script.from_source = without_stacks()(script.from_source)
