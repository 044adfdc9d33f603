"""Contracts of the high-level passes that rewrite products, layouts and batch norms by algebra."""

from __future__ import annotations

from functools import partial

from oracles.contract import Contract, NumericPromise, Postcondition
from oracles.postconditions import algebra, common, rewrite
from oracles.preconditions import no_calls_in_place

REASSOCIATION = NumericPromise.REASSOCIATION

_ONE_BY_ONE = "it works on each function of the module by itself"
_MAKES_KERNELS = "it makes kernels, and drops nothing"
_REWRITE_CALL = "its documentation names what it makes; rewrite_call drops what nothing reads any more"

ROWS: tuple[Contract, ...] = (
    Contract(
        "AdjustMatmulOrder",
        numeric=REASSOCIATION,
        postconditions=(
            Postcondition(
                "no product of three is in the dearer order",
                algebra.dearer_order_left,
                "its documentation: reorder x*(A*B) to (x*A)*B where that reduces operations",
            ),
            Postcondition(
                "no other operator comes",
                partial(
                    common.operators_changed,
                    fewer=("*",),
                    more=(
                        "relax.matmul",
                        "relax.permute_dims",
                    ),
                ),
                _REWRITE_CALL,
            ),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "CombineParallelMatmul",
        numeric=REASSOCIATION,
        postconditions=(
            Postcondition(
                "no two products of one tensor are left",
                algebra.parallel_products_left,
                "its documentation: combine multiple matmul operators sharing the same LHS matrix into one",
            ),
            Postcondition("what the check refuses stays", rewrite.refused_yet_changed, "its documentation of check"),
            Postcondition(
                "no other operator comes",
                partial(
                    common.operators_changed,
                    fewer=("*",),
                    more=(
                        "relax.concat",
                        "relax.split",
                    ),
                ),
                _REWRITE_CALL,
            ),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "ExpandMatmulOfSum",
        numeric=REASSOCIATION,
        postconditions=(
            Postcondition(
                "no product of a sum is left",
                algebra.product_of_sum_left,
                "its documentation: expand matmul(x, A+B) to matmul(x,A) + matmul(x,B)",
            ),
            Postcondition(
                "no other operator comes",
                partial(
                    common.operators_changed,
                    fewer=("*",),
                    more=(
                        "relax.matmul",
                        "relax.add",
                        "relax.permute_dims",
                    ),
                ),
                _REWRITE_CALL,
            ),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "FoldBatchnormToConv2D",
        numeric=REASSOCIATION,
        postconditions=(
            Postcondition(
                "no batch_norm that folds is left",
                algebra.foldable_batch_norm_left,
                "its documentation: fuse batch_norm into its previous conv2d",
            ),
            Postcondition(
                "no other operator comes",
                partial(
                    common.operators_changed,
                    fewer=("*",),
                    more=(
                        "relax.nn.conv2d",  # the one that has the scale, where something else reads the other
                        "relax.add",
                        "relax.sqrt",
                        "relax.divide",
                        "relax.subtract",
                        "relax.multiply",
                        "relax.reshape",
                    ),
                ),
                _REWRITE_CALL,
            ),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "FuseTransposeMatmul",
        postconditions=(
            Postcondition(
                "no product with a transposed matrix is left",
                algebra.product_of_transposed_left,
                "its documentation: fuse transpose and matmul",
            ),
            Postcondition(
                "only calls of kernels come",
                partial(
                    common.operators_changed,
                    fewer=(
                        "relax.permute_dims",
                        "relax.matmul",
                    ),
                    more=("relax.call_tir",),
                ),
                "relax/transform/fuse_transpose_matmul.py",
            ),
            Postcondition("no function goes", partial(common.functions_changed, may_come=True), _MAKES_KERNELS),
        ),
    ),
    Contract(
        "OptimizeLayoutTransform",
        preconditions=(no_calls_in_place,),
        postconditions=(
            Postcondition(
                "no transformation that is undone is left",
                algebra.undone_transform_left,
                "its documentation: remove redundant transform layout operators",
            ),
            Postcondition("no operator comes", partial(common.operators_changed, fewer=("*",)), _REWRITE_CALL),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "ReorderPermuteDimsAfterConcat",
        postconditions=(
            Postcondition(
                "no concatenation of permuted tensors is left",
                algebra.concat_of_permuted_left,
                "its documentation: reorder concat(permute_dims(A), permute_dims(B)) into permute_dims(concat(A,B))",
            ),
            Postcondition(
                "no other operator comes",
                partial(
                    common.operators_changed,
                    fewer=("*",),
                    more=(
                        "relax.concat",
                        "relax.permute_dims",
                    ),
                ),
                _REWRITE_CALL,
            ),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
    Contract(
        "ReorderTakeAfterMatmul",
        numeric=REASSOCIATION,
        postconditions=(
            Postcondition(
                "no product with taken columns is left",
                algebra.product_of_take_left,
                "its documentation: reorder matmul(x, take(weights, indices)) to take(matmul(x,weights),indices)",
            ),
            Postcondition(
                "no other operator comes",
                partial(
                    common.operators_changed,
                    fewer=("*",),
                    more=(
                        "relax.matmul",
                        "relax.take",
                        "relax.permute_dims",
                        "relax.reshape",
                        "relax.einsum",
                    ),
                ),
                _REWRITE_CALL,
            ),
            Postcondition("no function comes or goes", common.functions_changed, _ONE_BY_ONE),
        ),
    ),
)
