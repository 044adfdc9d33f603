"""Contracts of the high-level passes that rewrite products, layouts and batch norms by algebra."""

from __future__ import annotations

from relaxkit.passes.claims import algebra, rewrite
from relaxkit.passes.contract import (
    Contract,
    Functions,
    NumericPromise,
    Operators,
    stated,
)
from relaxkit.passes.contracts import laws
from relaxkit.passes.contracts.shared import REWRITER, of_own_mode
from relaxkit.passes.preconditions import no_calls_in_place

REASSOCIATION = NumericPromise.REASSOCIATION

_ONE_BY_ONE = "it works on each function of the module by itself"
_MAKES_KERNELS = "it makes kernels, and drops nothing"
_REWRITE_CALL = "its documentation names what it makes; rewrite_call drops what nothing reads any more"

ROWS: tuple[Contract, ...] = (
    Contract(
        "AdjustMatmulOrder",
        laws=(laws.PRODUCT_ASSOCIATES, *laws.PERMUTATIONS),
        inside=REWRITER,
        numeric=REASSOCIATION,
        operators=Operators(_REWRITE_CALL, fewer=("*",), more=("relax.matmul", "relax.permute_dims")),
        functions=Functions(_ONE_BY_ONE),
        postconditions=stated(algebra.dearer_order_left),
    ),
    Contract(
        "CombineParallelMatmul",
        inside=REWRITER,
        numeric=REASSOCIATION,
        operators=Operators(_REWRITE_CALL, fewer=("*",), more=("relax.concat", "relax.split")),
        functions=Functions(_ONE_BY_ONE),
        postconditions=stated(algebra.parallel_products_left, rewrite.refused_yet_changed),
    ),
    Contract(
        "ExpandMatmulOfSum",
        laws=(laws.PRODUCT_OF_SUM,),
        inside=REWRITER,
        numeric=REASSOCIATION,
        operators=Operators(_REWRITE_CALL, fewer=("*",), more=("relax.matmul", "relax.add", "relax.permute_dims")),
        functions=Functions(_ONE_BY_ONE),
        postconditions=stated(algebra.product_of_sum_left),
    ),
    Contract(
        "FoldBatchnormToConv2D",
        inside=REWRITER,
        limits=(of_own_mode(training=False),),
        numeric=REASSOCIATION,
        operators=Operators(
            _REWRITE_CALL,
            fewer=("*",),
            more=(
                "relax.nn.conv2d",
                "relax.add",
                "relax.sqrt",
                "relax.divide",
                "relax.subtract",
                "relax.multiply",
                "relax.reshape",
            ),
        ),
        functions=Functions(_ONE_BY_ONE),
        postconditions=stated(algebra.foldable_batch_norm_left),
    ),
    Contract(
        "FuseTransposeMatmul",
        operators=Operators(
            "relax/transform/fuse_transpose_matmul.py",
            fewer=("relax.permute_dims", "relax.matmul"),
            more=("relax.call_tir",),
            said="only calls of kernels come",
        ),
        functions=Functions(_MAKES_KERNELS, may_come=True),
        postconditions=stated(algebra.product_of_transposed_left),
    ),
    Contract(
        "OptimizeLayoutTransform",
        inside=REWRITER,
        preconditions=(no_calls_in_place,),
        operators=Operators(_REWRITE_CALL, fewer=("*",)),
        functions=Functions(_ONE_BY_ONE),
        postconditions=stated(algebra.undone_transform_left),
    ),
    Contract(
        "ReorderPermuteDimsAfterConcat",
        inside=REWRITER,
        operators=Operators(_REWRITE_CALL, fewer=("*",), more=("relax.concat", "relax.permute_dims")),
        functions=Functions(_ONE_BY_ONE),
        postconditions=stated(algebra.concat_of_permuted_left),
    ),
    Contract(
        "ReorderTakeAfterMatmul",
        laws=(laws.PRODUCT_OF_TAKEN,),
        inside=REWRITER,
        numeric=REASSOCIATION,
        operators=Operators(
            _REWRITE_CALL,
            fewer=("*",),
            more=("relax.matmul", "relax.take", "relax.permute_dims", "relax.reshape", "relax.einsum"),
        ),
        functions=Functions(_ONE_BY_ONE),
        postconditions=stated(algebra.product_of_take_left),
    ),
)
