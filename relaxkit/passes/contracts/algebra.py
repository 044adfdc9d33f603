"""Contracts of the high-level passes that rewrite products, layouts and batch norms by algebra."""

from __future__ import annotations

from relaxkit.passes.claims import algebra, rewrite
from relaxkit.passes.contract import (
    Contract,
    Functions,
    NumericCheck,
    NumericLimit,
    NumericPromise,
    Operators,
    Postcondition,
    less_done,
)
from relaxkit.passes.contracts.shared import OWN_MODE, REWRITER
from relaxkit.passes.limits import of_other_mode
from relaxkit.passes.preconditions import no_calls_in_place

REASSOCIATION = NumericPromise.REASSOCIATION

_ONE_BY_ONE = "it works on each function of the module by itself"
_MAKES_KERNELS = "it makes kernels, and drops nothing"
_REWRITE_CALL = "its documentation names what it makes; rewrite_call drops what nothing reads any more"

ROWS: tuple[Contract, ...] = (
    Contract(
        "AdjustMatmulOrder",
        inside=REWRITER,
        numeric=REASSOCIATION,
        operators=Operators(_REWRITE_CALL, fewer=("*",), more=("relax.matmul", "relax.permute_dims")),
        functions=Functions(_ONE_BY_ONE),
        postconditions=(
            less_done(
                "no product of three is in the dearer order",
                algebra.dearer_order_left,
                "its documentation: reorder x*(A*B) to (x*A)*B where that reduces operations",
            ),
        ),
    ),
    Contract(
        "CombineParallelMatmul",
        inside=REWRITER,
        numeric=REASSOCIATION,
        operators=Operators(_REWRITE_CALL, fewer=("*",), more=("relax.concat", "relax.split")),
        functions=Functions(_ONE_BY_ONE),
        postconditions=(
            less_done(
                "no two products of one tensor are left",
                algebra.parallel_products_left,
                "its documentation: combine multiple matmul operators sharing the same LHS matrix into one",
            ),
            Postcondition("what the check refuses stays", rewrite.refused_yet_changed, "its documentation of check"),
        ),
    ),
    Contract(
        "ExpandMatmulOfSum",
        inside=REWRITER,
        numeric=REASSOCIATION,
        operators=Operators(_REWRITE_CALL, fewer=("*",), more=("relax.matmul", "relax.add", "relax.permute_dims")),
        functions=Functions(_ONE_BY_ONE),
        postconditions=(
            less_done(
                "no product of a sum is left",
                algebra.product_of_sum_left,
                "its documentation: expand matmul(x, A+B) to matmul(x,A) + matmul(x,B)",
            ),
        ),
    ),
    Contract(
        "FoldBatchnormToConv2D",
        inside=REWRITER,
        limits=(
            NumericLimit(
                NumericCheck.RESULTS, "batch_norm is of the other mode", OWN_MODE, of_other_mode(training=False)
            ),
        ),
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
        postconditions=(
            less_done(
                "no batch_norm that folds is left",
                algebra.foldable_batch_norm_left,
                "its documentation: fuse batch_norm into its previous conv2d",
            ),
        ),
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
        postconditions=(
            less_done(
                "no product with a transposed matrix is left",
                algebra.product_of_transposed_left,
                "its documentation: fuse transpose and matmul",
            ),
        ),
    ),
    Contract(
        "OptimizeLayoutTransform",
        inside=REWRITER,
        preconditions=(no_calls_in_place,),
        operators=Operators(_REWRITE_CALL, fewer=("*",)),
        functions=Functions(_ONE_BY_ONE),
        postconditions=(
            less_done(
                "no transformation that is undone is left",
                algebra.undone_transform_left,
                "its documentation: remove redundant transform layout operators",
            ),
        ),
    ),
    Contract(
        "ReorderPermuteDimsAfterConcat",
        inside=REWRITER,
        operators=Operators(_REWRITE_CALL, fewer=("*",), more=("relax.concat", "relax.permute_dims")),
        functions=Functions(_ONE_BY_ONE),
        postconditions=(
            less_done(
                "no concatenation of permuted tensors is left",
                algebra.concat_of_permuted_left,
                "its documentation: reorder concat(permute_dims(A), permute_dims(B)) into permute_dims(concat(A,B))",
            ),
        ),
    ),
    Contract(
        "ReorderTakeAfterMatmul",
        inside=REWRITER,
        numeric=REASSOCIATION,
        operators=Operators(
            _REWRITE_CALL,
            fewer=("*",),
            more=("relax.matmul", "relax.take", "relax.permute_dims", "relax.reshape", "relax.einsum"),
        ),
        functions=Functions(_ONE_BY_ONE),
        postconditions=(
            less_done(
                "no product with taken columns is left",
                algebra.product_of_take_left,
                "its documentation: reorder matmul(x, take(weights, indices)) to take(matmul(x,weights),indices)",
            ),
        ),
    ),
)
