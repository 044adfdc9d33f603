"""The table of relax operators: how to draw each, and why some are not drawn.

A family a file; a row (``row``) stands on the function that draws the operator, with what else is known of it.
``drawing`` has dtypes by name and operands that broadcast, ``adapt`` operands made to fit by another operator,
``intervals`` rules that bound calls that were not drawn. To add an operator: ``docs/adding-an-operator.md``.
"""

from __future__ import annotations

from relaxkit.compat.known import lacks_operator
from strategies.operators import (
    binary,
    create,
    index,
    linalg,
    misc,
    quantization,
    reduce,
    scan_sort,
    shape,
    unary,
    vision,
)
from strategies.operators.nn import activation as nn_activation
from strategies.operators.nn import attention as nn_attention
from strategies.operators.nn import conv as nn_conv
from strategies.operators.nn import loss as nn_loss
from strategies.operators.nn import norm as nn_norm
from strategies.operators.nn import pool as nn_pool
from strategies.operators.row import OperatorFamily, OperatorRow
from strategies.operators.vision import image

__all__ = ["LACKING", "OPERATORS", "OperatorFamily", "OperatorRow", "exclusions"]

_THEMES = (
    unary, binary, reduce, scan_sort, create, shape, index, linalg, nn_conv, nn_pool, nn_activation, nn_norm,
    nn_attention, nn_loss, image, vision, quantization, misc,
)  # fmt: skip
_ROWS: tuple[OperatorRow, ...] = tuple(row for theme in _THEMES for row in theme.ROWS)
LACKING: dict[str, str] = {row.name: reason for row in _ROWS if (reason := lacks_operator(row.name))}
"""Operators with a row that the installed TVM does not have, each with the reason; none with the newest release."""
OPERATORS: tuple[OperatorRow, ...] = tuple(row for row in _ROWS if row.name not in LACKING)
"""Every relax operator that modules are drawn from, one row each."""

_STORAGE = "generated elsewhere: lowered modules allocate storage and release it (strategies.constructs.lowered)"
_LOWERED = "only the last lowering passes produce it, and no front end writes it"
_DISCO = "needs a Disco session (several devices): the runtime rejects it outside a worker thread"
_DISTRIBUTED = "for distributed modules on a device mesh, which CPU builds do not support"
_MESHES = "generated elsewhere: needs the module's device mesh (strategies.idioms.distributed)"
_KERNELS = "generated elsewhere: needs a kernel (strategies.kernels.choose)"
_DEVICES = "generated elsewhere: needs the module's vdevice table (strategies.constructs.devices)"
_CLOSURES = "generated elsewhere: needs a function that captures values (strategies.constructs.closures)"
_IMPURE = "generated elsewhere: only functions declared impure may call it (strategies.constructs.impure)"

exclusions: dict[str, str] = {
    "relax.assert_op": _IMPURE,
    "relax.print": _IMPURE,
    "relax.builtin.alloc_tensor": _STORAGE,
    "relax.builtin.stop_lift_params": "generated elsewhere: needs values computed from weights "
    "(strategies.constructs.weights)",
    "relax.call_builtin_with_ctx": "calls a built-in function of the virtual machine by name; only LambdaLift and the "
    "lowering passes write such calls",
    "relax.call_py_func": "calls a method of a Python BasePyModule, which a serialized module does not contain",
    "relax.call_tir": _KERNELS,
    "relax.call_tir_inplace": _KERNELS,
    "relax.call_tir_with_grad": "generated elsewhere, in modules that are not executed: no pass lowers it, and its "
    "gradient is a Python function given by name (strategies.kernels.choose)",
    "relax.ccl.allgather": _DISCO,
    "relax.ccl.allreduce": "generated elsewhere, in modules that are not executed (strategies.idioms.distributed)",
    "relax.ccl.broadcast_from_worker0": _DISCO,
    "relax.ccl.scatter_from_worker0": _DISCO,
    "relax.dist.annotate_sharding": _MESHES,
    "relax.dist.call_tir_local_view": _DISTRIBUTED,
    "relax.dist.redistribute": _MESHES,
    "relax.dist.redistribute_replica_to_shard": _DISTRIBUTED,
    "relax.hint_on_device": _DEVICES,
    "relax.to_vdevice": _DEVICES,
    "relax.invoke_closure": _CLOSURES,
    "relax.invoke_pure_closure": _CLOSURES,
    "relax.make_closure": _CLOSURES,
    "relax.memory.alloc_storage": _STORAGE,
    "relax.memory.alloc_tensor": _STORAGE,
    "relax.memory.kill_storage": _STORAGE,
    "relax.memory.kill_tensor": _STORAGE,
    "relax.nn.attention_var_len": "TVM has no legalization for it (RuntimeError: not supported yet)",
    "relax.null_value": "stands for a missing optional argument in a call; on its own, it has no type",
    "relax.vm.alloc_storage": _LOWERED,
    "relax.vm.alloc_tensor": _LOWERED,
    "relax.vm.call_tir_dyn": _LOWERED,
    "relax.vm.kill_object": _STORAGE,
}
"""Name in TVM's registry to the reason why no row draws it."""
