"""Relax operators without a row in the table, each with the reason."""

from __future__ import annotations

_LOWERED = "made by lowering passes only; no front end writes it"
_DISCO = "needs a Disco session (several devices): the runtime refuses outside of a worker thread"
_DISTRIBUTED = "for distributed modules over a device mesh, which no CPU build has"
_KERNELS = "no row, but drawn: kernels come with it (strategies.kernels)"
_DEVICES = "no row, but drawn: needs the module's vdevice table (strategies.devices)"
_CLOSURES = "made by LambdaLift from the local functions that strategies.local_functions draws; no front end writes it"
_IMPURE = "impure: drawn functions are pure, or most passes would leave them alone"

exclusions: dict[str, str] = {
    "relax.assert_op": _IMPURE,
    "relax.print": _IMPURE,
    "relax.builtin.alloc_tensor": _LOWERED,
    "relax.builtin.stop_lift_params": "no row, but drawn: of values computed from weights (strategies.weights)",
    "relax.call_builtin_with_ctx": _IMPURE,
    "relax.call_py_func": "calls a method of a Python BasePyModule, which a serialised module does not carry",
    "relax.call_tir": _KERNELS,
    "relax.call_tir_inplace": _KERNELS,
    "relax.call_tir_with_grad": "nothing lowers it (CodeGenVM refuses), and its gradient is Python code by name",
    "relax.ccl.allgather": _DISCO,
    "relax.ccl.allreduce": _DISCO,
    "relax.ccl.broadcast_from_worker0": _DISCO,
    "relax.ccl.scatter_from_worker0": _DISCO,
    "relax.dist.annotate_sharding": _DISTRIBUTED,
    "relax.dist.call_tir_local_view": _DISTRIBUTED,
    "relax.dist.redistribute": _DISTRIBUTED,
    "relax.dist.redistribute_replica_to_shard": _DISTRIBUTED,
    "relax.hint_on_device": _DEVICES,
    "relax.to_vdevice": _DEVICES,
    "relax.invoke_closure": _IMPURE,
    "relax.invoke_pure_closure": _CLOSURES,
    "relax.make_closure": _CLOSURES,
    "relax.memory.alloc_storage": _LOWERED,
    "relax.memory.alloc_tensor": _LOWERED,
    "relax.memory.kill_storage": _LOWERED,
    "relax.memory.kill_tensor": _LOWERED,
    "relax.nn.attention_var_len": "no legalization is written (RuntimeError: not supported yet)",
    "relax.null_value": "stands for an absent optional argument inside calls; as a value of its own it has no type",
    "relax.vm.alloc_storage": _LOWERED,
    "relax.vm.alloc_tensor": _LOWERED,
    "relax.vm.call_tir_dyn": _LOWERED,
    "relax.vm.kill_object": _LOWERED,
}
"""Name in TVM's registry to the reason why no row draws it."""
