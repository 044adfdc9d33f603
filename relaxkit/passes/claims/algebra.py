"""Patterns that a pass of the algebraic rewriters leaves nowhere, each matched where nothing forbids the rewrite.

The matchers are written from the documentation of the passes, and stricter than theirs: shapes are static, nothing is
a weight of a function with ``num_input`` (which suppresses some rewrites), the pattern lies in one dataflow block of a
function's own body, and its inner values are read by the pattern alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tvm import relax

from relaxkit.ir.functions import has_attribute, relax_functions
from relaxkit.ir.types import static_dims
from relaxkit.ir.walk import is_constant, operator_of, places
from relaxkit.passes.claims.common import argument, used_variables
from relaxkit.passes.contract import nothing_left


@dataclass(frozen=True, slots=True)
class MatchBlock:
    """A dataflow block of a function's own body, for matching.

    Attributes:
        values: What the block binds, without ``match_cast``.
        uses: How often each variable is read in the whole function.
    """

    name: str
    values: dict[Any, Any]
    uses: Any

    def inner(self, value: Any, operator: str) -> Any:
        """Return the call of ``operator`` that ``value`` names, when the pattern alone reads it; else ``None``."""
        if not isinstance(value, relax.Var) or self.uses[value] != 1:
            return None
        found = self.values.get(value)
        return found if operator_of(found) == operator else None

    def calls(self, operator: str) -> Iterator[tuple[Any, Any]]:
        """Yield the variables of the block that are bound to calls of ``operator``, with the calls."""
        return ((var, value) for var, value in self.values.items() if operator_of(value) == operator)


def dataflow_blocks(module: Any) -> Iterator[MatchBlock]:
    """Yield the blocks to match in: those of functions that are neither primitive nor have weights."""
    for name, function in relax_functions(module):
        if has_attribute(function, "num_input") or has_attribute(function, "Primitive"):
            continue
        uses = used_variables(function)
        if any(isinstance(place.value, relax.Function) for place in places(function)):
            continue  # what a local function captures is read there as well
        for block in function.body.blocks:
            if isinstance(block, relax.DataflowBlock):
                bound = [item for item in block.bindings if isinstance(item, relax.VarBinding)]
                yield MatchBlock(name, {item.var: item.value for item in bound}, uses)


def _matmul_of(value: Any) -> tuple[Any, Any] | None:
    """Return the operands of a product without ``out_dtype``."""
    if operator_of(value) != "relax.matmul" or value.attrs.out_dtype not in (None, ""):
        return None
    return value.args[0], value.args[1]


def _products(ran: Any) -> Iterator[tuple[MatchBlock, tuple[Any, Any]]]:
    """Yield the products without ``out_dtype``: their block and operands."""
    for block in dataflow_blocks(ran.after):
        for _, value in block.calls("relax.matmul"):
            if (operands := _matmul_of(value)) is not None:
                yield block, operands


@nothing_left(
    "no product of three is in the dearer order",
    "its documentation: reorder x*(A*B) to (x*A)*B where that reduces operations",
)
def dearer_order_left(ran: Any) -> str:
    """Find a product of three matrices of which the other order takes fewer multiplications.

    Not where a factor of the three is a product itself: of several ways to take four matrices by threes the pass
    weighs up one (the patterns of adjust_matmul_order.cc are alternatives, and the first that matches is the one).
    """
    for block, operands in _products(ran):
        for side in (0, 1):
            pair = _matmul_of(block.inner(operands[side], "relax.matmul"))
            if pair is None:
                continue
            three = [*pair, operands[1]] if side == 0 else [operands[0], *pair]
            if any(block.inner(factor, "relax.matmul") is not None for factor in three):
                continue
            shapes = [static_dims(item.ty) for item in three]
            if any(shape is None or len(shape) != 2 for shape in shapes):
                continue
            (m, k), (_, n), (_, p) = (shape for shape in shapes if shape is not None)
            left, right = m * k * n + m * n * p, k * n * p + m * k * p
            if (left > right) if side == 0 else (right > left):
                return f"a product of three is in the dearer order\nleaves a dearer order of matmuls in {block.name}"
    return ""


@nothing_left("no product of a sum is left", "its documentation: expand matmul(x, A+B) to matmul(x,A) + matmul(x,B)")
def product_of_sum_left(ran: Any) -> str:
    """Find a product whose second factor is a sum of two tensors of one shape."""
    for block, operands in _products(ran):
        if (inner := block.inner(operands[1], "relax.add")) is None:
            continue
        shapes = [static_dims(item.ty) for item in (*inner.args, operands[1])]
        if all(shape is not None and len(shape) >= 2 and shape == shapes[0] for shape in shapes):
            return f"a product with a sum is left\nleaves a matmul with a sum in {block.name}"
    return ""


@nothing_left(
    "no product with taken columns is left",
    "its documentation: reorder matmul(x, take(weights, indices)) to take(matmul(x,weights),indices)",
)
def product_of_take_left(ran: Any) -> str:
    """Find a product whose second factor takes columns out of a table by a list of indices."""
    for block, operands in _products(ran):
        inner = block.inner(operands[1], "relax.take")
        if inner is None or inner.attrs.axis is None:
            continue
        factor, table, indices = (static_dims(item.ty) for item in (operands[0], *inner.args))
        if factor is None or table is None or indices is None or len(indices) != 1 or len(table) < 2:
            continue
        if len(factor) >= 2 and int(inner.attrs.axis) + 1 == len(table):
            return f"a product with taken columns is left\nleaves a matmul with taken columns in {block.name}"
    return ""


@nothing_left(
    "no concatenation of permuted tensors is left",
    "its documentation: reorder concat(permute_dims(A), permute_dims(B)) into permute_dims(concat(A,B))",
)
def concat_of_permuted_left(ran: Any) -> str:
    """Find a concatenation of two to eleven tensors that are all permuted in one way."""
    for block in dataflow_blocks(ran.after):
        for _, value in block.calls("relax.concat"):
            fields = value.args[0].fields if isinstance(value.args[0], relax.Tuple) else []
            inner = [block.inner(field, "relax.permute_dims") for field in fields]
            if not 2 <= len(inner) <= 11 or any(item is None for item in inner):
                continue
            axes = [item.attrs.axes for item in inner]
            if all(axis is not None and list(axis) == list(axes[0]) for axis in axes) and all(
                static_dims(item.ty) for item in fields
            ):
                return f"a concatenation of permuted tensors is left\nleaves a concat of them in {block.name}"
    return ""


@nothing_left(
    "no two products of one tensor are left",
    "its documentation: combine multiple matmul operators sharing the same LHS matrix into one",
)
def parallel_products_left(ran: Any) -> str:
    """Find two products of one tensor with parameters of the function, which no sum and no activation reads.

    Judged in functions with two products in all, so that the pass has one group to make of them.
    """
    if argument(ran, 0, "check") is not None:
        return ""  # the check says which may be combined
    for block in dataflow_blocks(ran.after):
        function = next(item for name, item in relax_functions(ran.after) if name == block.name)
        products = [place for place in places(function) if operator_of(place.value) == "relax.matmul"]
        found = [(var, value) for var, value in block.calls("relax.matmul") if _matmul_of(value) is not None]
        if len(products) != 2 or len(found) != 2:
            continue
        params = set(function.params)
        (_, first), (_, second) = found
        shapes = [static_dims(value.args[1].ty) for _, value in found]
        if not isinstance(first.args[0], relax.Var) or not first.args[0].same_as(second.args[0]):
            continue
        if first.args[1].same_as(second.args[1]) or any(value.args[1] not in params for _, value in found):
            continue
        if static_dims(first.args[0].ty) is None or shapes[0] is None or shapes[1] is None:
            continue
        readers = {operator_of(place.value) for place in places(function)}
        if readers & {"relax.add", "relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu"}:
            continue
        if len(shapes[0]) == len(shapes[1]) >= 2 and shapes[0][:-2] == shapes[1][:-2]:
            return f"two products of one tensor are left\nleaves two products of one tensor in {block.name}"
    return ""


@nothing_left("no product with a transposed matrix is left", "its documentation: fuse transpose and matmul")
def product_of_transposed_left(ran: Any) -> str:
    """Find a product whose second factor is a matrix transposed for it."""
    for block, operands in _products(ran):
        if (inner := block.inner(operands[1], "relax.permute_dims")) is None:
            continue
        shapes = [static_dims(item.ty) for item in (operands[0], inner.args[0])]
        if any(shape is None or len(shape) != 2 for shape in shapes) or not isinstance(operands[0], relax.Var):
            continue
        if isinstance(inner.args[0], relax.Var) and list(inner.attrs.axes or (1, 0)) == [1, 0]:
            return f"a product with a transposed matrix is left\nleaves a matmul with a permute_dims in {block.name}"
    return ""


@nothing_left(
    "no transformation that is undone is left", "its documentation: remove redundant transform layout operators"
)
def undone_transform_left(ran: Any) -> str:
    """Find a layout transformation of a layout transformation that gives the first shape again."""
    for block in dataflow_blocks(ran.after):
        for var, value in block.calls("relax.layout_transform"):
            inner = block.inner(value.args[0], "relax.layout_transform")
            if inner is None:
                continue
            shapes = [static_dims(item.ty) for item in (inner.args[0], var)]
            if shapes[0] is not None and shapes[0] == shapes[1]:
                return f"a transformation that is undone is left\nleaves layout_transforms in {block.name}"
    return ""


@nothing_left("no batch_norm that folds is left", "its documentation: fuse batch_norm into its previous conv2d")
def foldable_batch_norm_left(ran: Any) -> str:
    """Find the normalised result of a convolution with constant weights, by constants."""
    for block in dataflow_blocks(ran.after):
        for value in block.values.values():
            if not isinstance(value, relax.TupleGetItem) or int(value.index):
                continue
            norm = block.inner(value.tuple_value, "relax.nn.batch_norm")
            conv = None if norm is None else block.inner(norm.args[0], "relax.nn.conv2d")
            if conv is None or norm is None or conv.attrs.kernel_layout != "OIHW" or conv.attrs.data_layout != "NCHW":
                continue
            if all(is_constant(item) for item in (conv.args[1], *norm.args[1:])):
                return f"a batch_norm that folds into its convolution is left\nleaves a batch_norm in {block.name}"
    return ""
