"""Walks through a function: its bindings in program order, and questions about expressions."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import relax_functions


@dataclass(frozen=True, slots=True)
class Place:
    """A binding, and where it stands.

    Attributes:
        scope: The sequences around it, outermost first: the function's body, then branches and local functions.
        local: Number of local functions around it.
        branches: Number of branches of ``If`` around it.
    """

    binding: relax.Binding
    block: relax.BindingBlock
    scope: tuple[relax.SeqExpr, ...]
    local: int = 0
    branches: int = 0

    @property
    def var(self) -> relax.Var:
        """Return what is bound."""
        return self.binding.var

    @property
    def value(self) -> Any:
        """Return what it is bound to."""
        return self.binding.value

    @property
    def dataflow(self) -> bool:
        """Say whether it stands in a dataflow block."""
        return isinstance(self.block, relax.DataflowBlock)


@functools.lru_cache(maxsize=32)  # the claims of one contract walk through the same functions
def places(function: relax.Function) -> tuple[Place, ...]:
    """Return all bindings of a Relax function in program order, those of branches and local functions included.

    What is bound inside a value comes before the binding of that value.
    """
    return tuple(_places_in(function.body, (), 0, 0))


def _places_in(sequence: relax.Expr, scope: tuple[relax.SeqExpr, ...], local: int, branches: int) -> Iterator[Place]:
    if not isinstance(sequence, relax.SeqExpr):
        return
    inside = (*scope, sequence)
    for block in sequence.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.If):
                yield from _places_in(value.true_branch, inside, local, branches + 1)
                yield from _places_in(value.false_branch, inside, local, branches + 1)
            elif isinstance(value, relax.Function):
                yield from _places_in(value.body, inside, local + 1, branches)
            yield Place(binding, block, inside, local, branches)


def sequences(function: relax.Function) -> Iterator[relax.SeqExpr]:
    """Yield all ``SeqExpr`` of a Relax function: its body, and the bodies of branches and local functions."""
    yield function.body
    for place in places(function):
        yield from inner_sequences(place.value)


def inner_sequences(value: relax.Expr) -> list[relax.SeqExpr]:
    """Return the branches of an ``If``, the body of a local function; empty for any other value."""
    if isinstance(value, relax.If):
        return [value.true_branch, value.false_branch]
    return [value.body] if isinstance(value, relax.Function) else []


def expressions(root: relax.Expr) -> list[relax.Expr]:
    """Return every expression in a function, or in another expression, each behind its parts.

    What ``post_order_visit`` visits: branches and local functions included, types and their dims left out. A list,
    because an exception in a callback would come back through C++ as another one.
    """
    found: list[relax.Expr] = []
    relax.analysis.post_order_visit(root, found.append)
    return found


def expressions_in(module: tvm.IRModule) -> Iterator[relax.Expr]:
    """Yield every expression in the Relax functions of a module, function by function."""
    for _, function in relax_functions(module):
        yield from expressions(function.body)


def operator_calls(root: relax.Expr) -> Iterator[tuple[str, relax.Call]]:
    """Yield the calls of operators among :func:`expressions`, each with the operator's name."""
    for expr in expressions(root):
        if name := operator_of(expr):
            yield name, expr


def nodes(root: Any, *kinds: type | tuple[type, ...]) -> list[list[Any]]:
    """Return the nodes of a kernel's statement that are of each kind, in pre-order; a node counts for the first."""
    found: list[list[Any]] = [[] for _ in kinds]
    pairs = [(kind, each.append) for kind, each in zip(kinds, found, strict=True)]
    tvm_ffi.structural_walk(root, pairs, order="pre")
    return found


def operands_of(value: relax.Expr) -> list[relax.Expr]:
    """Return what an expression is made of: arguments, fields, the tuple of a field, the condition of an ``If``."""
    if isinstance(value, relax.Call):
        return list(value.args)
    if isinstance(value, relax.Tuple):
        return list(value.fields)
    if isinstance(value, relax.TupleGetItem):
        return [value.tuple_value]
    return [value.cond] if isinstance(value, relax.If) else []


def functions_inside(function: relax.Function) -> Iterator[relax.Function]:
    """Yield a Relax function and the functions that it binds, those in branches and in one another included."""
    yield function
    for place in places(function):
        if isinstance(place.value, relax.Function):
            yield place.value


def callee_name(callee: relax.Expr) -> str:
    """Return the name of a function of the module, or the symbol of a packed one; empty for every other expression."""
    return str(getattr(callee, "name_hint", "") or getattr(callee, "global_symbol", ""))


def operator_of(value: relax.Expr) -> str:
    """Return the name of the operator that an expression calls (``relax.add``); empty for everything else."""
    return str(value.op.name) if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op) else ""


def operators_of(module: tvm.IRModule) -> frozenset[str]:
    """Return the names of the operators that the Relax functions of a module call; kernels are not looked into."""
    return frozenset(name for _, function in relax_functions(module) for name, _ in operator_calls(function))


def operators_called(module: tvm.IRModule, besides: Collection[str] = ()) -> Counter[str]:
    """Count the calls of each operator by bindings of a module's Relax functions, those in ``besides`` left out."""
    counted: Counter[str] = Counter()
    for name, function in relax_functions(module):
        if name not in besides:
            counted.update(operator_of(place.value) for place in places(function))
    del counted[""]
    return counted


def name_of(var: relax.Var) -> str:
    """Return the name of a Relax variable, in every release."""
    return str(var.name if hasattr(var, "name") else var.name_hint)


def is_constant(value: relax.Expr) -> bool:
    """Say whether an expression is a constant tensor, whose class has another name in older releases."""
    return type(value).__name__ in ("GenericConst", "Constant")


def operator_has(name: str, attribute: str) -> bool:
    """Say whether an operator is registered with an attribute, ``FLegalize`` for instance."""
    return tvm.ir.Op.get(name).get_attr(attribute) is not None


def joinable_blocks(module: tvm.IRModule) -> int:
    """Return 1 when two blocks of one kind stand side by side in a function, else 0.

    Such a module is well formed and not normalised: the first pass that normalises joins the blocks, when its own work,
    block by block, is done; only the next run sees the whole.
    """
    for _, function in relax_functions(module):
        kinds = [isinstance(block, relax.DataflowBlock) for block in getattr(function.body, "blocks", ())]
        if any(left is right for left, right in itertools.pairwise(kinds)):
            return 1
    return 0


def alias_depth(module: tvm.IRModule) -> int:
    """Return the length of the longest chain of variables that are each bound to the one before."""
    behind: dict[relax.Var, relax.Var] = {}
    for expr in expressions_in(module):
        for block in expr.blocks if isinstance(expr, relax.SeqExpr) else ():
            for binding in block.bindings:
                if isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Var):
                    behind[binding.var] = binding.value
    longest = 0
    for var in behind:
        length = 0
        while var in behind:
            var, length = behind[var], length + 1
        longest = max(longest, length)
    return longest
