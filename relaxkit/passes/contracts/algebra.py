"""Contracts of the high-level passes that rewrite products, layouts and batch norms by algebra."""

from __future__ import annotations

from functools import partial

from relaxkit.passes.claims import algebra, rewrite
from relaxkit.passes.contract import Contract, NumericPromise, Operators, stated
from relaxkit.passes.contracts import laws
from relaxkit.passes.contracts.shared import MAKES_KERNELS, ONE_BY_ONE, REWRITER, of_own_mode, to_kernels
from relaxkit.passes.preconditions import no_calls_in_place

REASSOCIATION = NumericPromise.REASSOCIATION

_REWRITE_CALL = "its documentation names what it makes; rewrite_call drops what nothing reads any more"

_Rewriter = partial(Contract, inside=REWRITER, functions=ONE_BY_ONE)


def _making(*more: str) -> Operators:
    return Operators(_REWRITE_CALL, ("*",), tuple(f"relax.{each}" for each in more))


ROWS: tuple[Contract, ...] = (
    _Rewriter(
        "AdjustMatmulOrder",
        laws=(laws.PRODUCT_ASSOCIATES, *laws.PERMUTATIONS),
        numeric=REASSOCIATION,
        operators=_making("matmul", "permute_dims"),
        postconditions=stated(algebra.dearer_order_left),
    ),
    _Rewriter(
        "CombineParallelMatmul",
        numeric=REASSOCIATION,
        operators=_making("concat", "split"),
        postconditions=stated(algebra.parallel_products_left, rewrite.refused_yet_changed),
    ),
    _Rewriter(
        "ExpandMatmulOfSum",
        laws=(laws.PRODUCT_OF_SUM,),
        numeric=REASSOCIATION,
        operators=_making("matmul", "add", "permute_dims"),
        postconditions=stated(algebra.product_of_sum_left),
    ),
    _Rewriter(
        "FoldBatchnormToConv2D",
        laws=(laws.NORMALIZED_CONVOLUTION,),
        limits=(of_own_mode(training=False),),
        numeric=REASSOCIATION,
        operators=_making("nn.conv2d", "add", "sqrt", "divide", "subtract", "multiply", "reshape"),
        postconditions=stated(algebra.foldable_batch_norm_left),
    ),
    Contract(
        "FuseTransposeMatmul",
        laws=(laws.TRANSPOSED,),
        operators=to_kernels("relax/transform/fuse_transpose_matmul.py", "relax.permute_dims", "relax.matmul"),
        functions=MAKES_KERNELS,
        postconditions=stated(algebra.product_of_transposed_left),
    ),
    _Rewriter(
        "OptimizeLayoutTransform",
        laws=(laws.TRANSFORMED_BY_PERMUTATION, *laws.PERMUTATIONS),
        preconditions=(no_calls_in_place,),
        operators=_making(),
        postconditions=stated(algebra.undone_transform_left),
    ),
    _Rewriter(
        "ReorderPermuteDimsAfterConcat",
        laws=(*laws.CONCATENATED, *laws.PERMUTATIONS),
        operators=_making("concat", "permute_dims"),
        postconditions=stated(algebra.concat_of_permuted_left),
    ),
    _Rewriter(
        "ReorderTakeAfterMatmul",
        laws=(laws.PRODUCT_OF_TAKEN,),
        numeric=REASSOCIATION,
        operators=_making("matmul", "take", "permute_dims", "reshape", "einsum"),
        postconditions=stated(algebra.product_of_take_left),
    ),
)
