"""What the lowering passes claim, but for memory, kills and the shape heap, which have files of their own."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import tvm_ffi
from tvm import relax, tirx

from oracles.contract import Postcondition
from oracles.postconditions.common import (
    functions_by_name,
    operator_of,
    operators_left,
    parts_of_type,
    places,
    sequences,
)
from oracles.postconditions.kills import KILL_AFTER_LAST_USE
from oracles.postconditions.memory_plan import STATIC_PLAN, planned_elsewhere, storage_too_small
from oracles.postconditions.shape_heap import SHAPE_LOWER
from oracles.preconditions import has_attribute, relax_functions

DESTINATION_PASSING = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")
PURE_FORMS = ("relax.call_pure_packed", "relax.call_inplace_packed", "relax.invoke_pure_closure")
BUILTINS = (
    "relax.builtin.alloc_tensor",
    "relax.call_py_func",
    "relax.invoke_closure",
    "relax.make_closure",
    "relax.memory.alloc_storage",
    "relax.memory.alloc_tensor",
    "relax.memory.kill_storage",
    "relax.memory.kill_tensor",
    "relax.reshape",
    "relax.shape_of",
    "relax.tensor_to_shape",
    "relax.to_vdevice",
    "relax.vm.call_tir_dyn",
)
"""What ``LowerRuntimeBuiltin`` lowers: the list in src/relax/backend/vm/lower_runtime_builtin.cc."""


_WITH_DIMS = "relax.vm.call_tir_dyn"
"""How CallTIRRewrite has a kernel called that is given dims, until TVM 0.25."""


def operators_remain(ran: Any, *, names: tuple[str, ...]) -> str:
    """An operator that the pass lowers and that is still called."""
    if name := operators_left(ran.after, names):
        return f"{name} is left"
    return ""


def dataflow_left(ran: Any) -> str:
    """A dataflow block or a dataflow variable."""
    for name, function in relax_functions(ran.after):
        for sequence in sequences(function):
            for block in sequence.blocks:
                if isinstance(block, relax.DataflowBlock):
                    return f"a dataflow block is left\nfunction: {name}"
        for place in places(function):
            if isinstance(place.binding.var, relax.DataflowVar):
                return f"a dataflow variable is left\nfunction: {name}\nvariable: {place.binding.var.name}"
    return ""


def operator_sequence_changed(ran: Any) -> str:
    """Another number of bindings, or one that calls another operator."""
    after = dict(relax_functions(ran.after))
    for name, function in relax_functions(ran.before):
        if name in after:
            old, new = list(_bound(function)), list(_bound(after[name]))
            if old != new:
                return f"bindings are others\nfunction: {name}\nbefore: {old}\nafter: {new}"
    return ""


def _bound(function: Any) -> Iterator[str]:
    """What a function's bindings call; what a cast calls (FuseTIR leaves such casts) is bound by the next pass."""
    for place in places(function):
        yield operator_of(place.binding.value)
        if isinstance(place.binding, relax.MatchCast) and isinstance(place.binding.value, relax.Call):
            yield ""


def purity_checked(ran: Any) -> str:
    """A pure function without the attribute ``relax.force_pure``."""
    for name, function in relax_functions(ran.after):
        for inner in _functions_in(function):
            if inner.is_pure and not has_attribute(inner, "relax.force_pure"):
                return f"a pure function is not forced pure\nfunction: {name}"
    return ""


def _functions_in(function: Any) -> Iterator[Any]:
    yield function
    for place in places(function):
        if isinstance(place.binding.value, relax.Function):
            yield place.binding.value


def calls_not_kept(ran: Any) -> str:
    """A kernel or packed function that a Relax function calls another number of times than before."""
    after = dict(relax_functions(ran.after))
    for name, function in relax_functions(ran.before):
        if name not in after:
            continue
        old, new = _callees_of(function), _callees_of(after[name])
        if old != new:
            return f"kernels are called another number of times\nfunction: {name}\nbefore: {old}\nafter: {new}"
    return ""


def _callees_of(function: Any) -> Counter[str]:
    """How often the bindings of a function call each function, directly or in destination-passing style."""
    counted: Counter[str] = Counter()
    for place in places(function):
        value = place.binding.value
        if isinstance(value, relax.Call):
            callee = value.args[0] if operator_of(value) in (*DESTINATION_PASSING, _WITH_DIMS) else value.op
            if isinstance(callee, (relax.GlobalVar, relax.ExternFunc)):
                counted[str(getattr(callee, "name_hint", "") or getattr(callee, "global_symbol", ""))] += 1
    return counted


def outputs_not_allocated(ran: Any) -> str:
    """Outputs of calls in destination-passing style for which no tensor of their shape and dtype is allocated."""
    after = dict(relax_functions(ran.after))
    for name, function in relax_functions(ran.before):
        if name not in after:
            continue
        wanted = sorted(_output_types(function))
        given = sorted(_allocated_types(after[name]))
        if wanted != given:
            return f"other tensors are allocated than outputs\nfunction: {name}\noutputs: {wanted}\nallocated: {given}"
    return ""


def _output_types(function: Any) -> Iterator[str]:
    for place in places(function):
        value, name = place.binding.value, operator_of(place.binding.value)
        if name == "relax.builtin.alloc_tensor":
            yield f"{value.args[0]} {value.args[1].value}"
        elif name in DESTINATION_PASSING:
            tensors = [part for part in parts_of_type(value.ty_args[0]) if isinstance(part, relax.TensorType)]
            reused = [int(index) for index in value.attrs.inplace_indices] if name.endswith("inplace") else []
            for index, tensor in enumerate(tensors):
                if index >= len(reused) or reused[index] < 0:
                    yield f"{tensor.shape} {tensor.dtype}"


def _allocated_types(function: Any) -> Iterator[str]:
    for place in places(function):
        value = place.binding.value
        if operator_of(value) == "relax.builtin.alloc_tensor":
            yield f"{value.args[0]} {value.args[1].value}"


def reshapes_left(ran: Any) -> str:
    """A kernel that only reshapes its one tensor, called inside a dataflow block for a value of that block."""
    kernels = functions_by_name(ran.after)
    for name, function in relax_functions(ran.after):
        for place in places(function):
            value = place.binding.value
            if not isinstance(place.binding.var, relax.DataflowVar) or operator_of(value) != "relax.call_tir":
                continue
            if place.local or len(value.args[1].fields) != 1 or not isinstance(value.ty, relax.TensorType):
                continue
            kernel = kernels.get(str(value.args[0].name_hint))
            if isinstance(kernel, tirx.PrimFunc) and _reshapes(value.args[1].fields[0].ty, value.ty, kernel):
                return f"a kernel that reshapes is left\nfunction: {name}\nkernel: {value.args[0].name_hint}"
    return ""


def _reshapes(old: Any, new: Any, kernel: Any) -> bool:
    """Whether both types are static, of one dtype and as many elements, and the kernel was made of ``relax.reshape``.

    TVM's own analysis decides on the kernel, as it is documented that the pass does.
    """
    counts = []
    for ty in (old, new):
        if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
            return False
        if not all(isinstance(dim, tirx.IntImm) for dim in ty.shape.values):
            return False
        counts.append(functools.reduce(lambda product, dim: product * int(dim.value), ty.shape.values, 1))
    same = counts[0] == counts[1] and str(old.dtype) == str(new.dtype)
    return same and bool(relax.analysis.has_reshape_pattern(kernel))


def _anywhere(ty: Any) -> Any:
    """A tensor's type without its device: ``relax.reshape`` takes its operand's, where a kernel's call says none."""
    if not isinstance(ty, relax.TensorType) or ty.vdevice is None:
        return ty
    if ty.shape is not None:
        return relax.TensorType(ty.shape, ty.dtype)
    return relax.TensorType(dtype=ty.dtype, ndim=ty.ndim)


def reshapes_changed(ran: Any) -> str:
    """A value whose type is another one, or which is reshaped from a tensor of another dtype."""
    after = dict(relax_functions(ran.after))
    for name, function in relax_functions(ran.before):
        olds = [place.binding.var.ty for place in places(function)]
        news = [place.binding.var.ty for place in places(after[name])] if name in after else olds
        if len(olds) != len(news):
            return f"another number of bindings\nfunction: {name}\n{len(olds)} before, {len(news)} after"
        for old, new in zip(olds, news, strict=True):
            if not tvm_ffi.structural_equal(_anywhere(old), _anywhere(new), map_free_vars=True):
                return f"a value has another type\nfunction: {name}\nbefore: {old}\nafter: {new}"
    return ""


def arithmetic_left(ran: Any) -> str:
    """Arithmetic on numbers in an operand, outside of shapes and types."""
    for name, function in relax_functions(ran.after):
        for place in places(function):
            value = place.binding.value
            roots = [value.cond] if isinstance(value, relax.If) else [value]
            for operand in (part for root in roots for part in _values_in(root)):
                if type(operand) in _COMPUTED:
                    return f"arithmetic is left\nfunction: {name}\nvalue: {operand}"
    return ""


_COMPUTED = (
    tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max,
    tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.And, tirx.Or, tirx.Not, tirx.Cast, tirx.Select,
)  # fmt: skip


def _values_in(value: Any) -> Iterator[Any]:
    """A value and its operands, but nothing of shapes."""
    if isinstance(value, relax.ShapeExpr):
        return
    yield value
    if isinstance(value, relax.Call):
        for operand in value.args:
            yield from _values_in(operand)
    elif isinstance(value, relax.Tuple):
        for operand in value.fields:
            yield from _values_in(operand)


def symbols_not_attached(ran: Any) -> str:
    """A function without ``global_symbol``, or with another name there."""
    for name, function in functions_by_name(ran.after).items():
        if not isinstance(function, (relax.Function, tirx.PrimFunc)):
            continue
        if not has_attribute(function, "global_symbol"):
            return f"a function has no global_symbol\nfunction: {name}"
        if str(function.attrs["global_symbol"]) != name:
            return f"a global_symbol is another name\nfunction: {name}\nsymbol: {function.attrs['global_symbol']}"
    return ""


def anything_changed(ran: Any) -> str:
    """Whether the module is another one at all."""
    return "" if tvm_ffi.structural_equal(ran.before, ran.after) else "the module has changed"


LOWERING_CLAIMS: dict[str, tuple[Postcondition, ...]] = {
    "RewriteDataflowReshape": (
        Postcondition(
            "kernels that reshape became relax.reshape",
            reshapes_left,
            "its documentation, and rewrite_dataflow_reshape.cc",
        ),
        Postcondition(
            "values keep their types",
            reshapes_changed,
            "rewrite_dataflow_reshape.cc replaces a call by one of its shape",
        ),
    ),
    "ToNonDataflow": (
        Postcondition(
            "no dataflow is left",
            dataflow_left,
            "its documentation: 'Transform all dataflow structure to non-dataflow'",
        ),
        Postcondition(
            "bindings stay", operator_sequence_changed, "src/relax/transform/to_non_dataflow.cc renews variables only"
        ),
    ),
    "RemovePurityChecking": (
        Postcondition("functions are forced pure", purity_checked, "its documentation: 'set relax.force_pure'"),
        Postcondition(
            "no pure form of an impure call is left",
            functools.partial(operators_remain, names=PURE_FORMS),
            "its documentation: 'unwrap all pure override ops'",
        ),
    ),
    "CallTIRRewrite": (
        Postcondition(
            "no call in destination-passing style is left",
            functools.partial(operators_remain, names=DESTINATION_PASSING),
            "its documentation: 'Perform explicit tensor allocation for call_tir and call_dps_packed'",
        ),
        Postcondition("kernels are called as often", calls_not_kept, "the example in its documentation"),
        Postcondition("each output is allocated", outputs_not_allocated, "the example in its documentation"),
    ),
    "StaticPlanBlockMemory": STATIC_PLAN,
    "RewriteCUDAGraph": (
        Postcondition(
            "without CUDA graphs nothing changes",
            anything_changed,
            "rewrite_cuda_graph.cc: only with relax.backend.use_cuda_graph",
        ),
    ),
    "LowerAllocTensor": (
        Postcondition(
            "no builtin.alloc_tensor is left",
            functools.partial(operators_remain, names=("relax.builtin.alloc_tensor",)),
            "its documentation: 'Lower all instances of relax.builtin.alloc_tensor'",
        ),
        Postcondition("storages hold the tensors", storage_too_small, "what the runtime checks"),
        Postcondition(
            "each tensor is allocated as it was", planned_elsewhere, "lower_alloc_tensor.cc keeps the operands"
        ),
    ),
    "KillAfterLastUse": KILL_AFTER_LAST_USE,
    "LowerRuntimeBuiltin": (
        Postcondition(
            "no operator of the runtime is left",
            functools.partial(operators_remain, names=BUILTINS),
            "src/relax/backend/vm/lower_runtime_builtin.cc: 'This pass lowers most ops to VM specific builtins'",
        ),
    ),
    "ComputePrimValue": (
        Postcondition(
            "no arithmetic is left outside of shapes",
            arithmetic_left,
            "its documentation: 'Compute all R.prim_value instances'",
        ),
    ),
    "VMShapeLower": SHAPE_LOWER,
    "AttachGlobalSymbol": (
        Postcondition(
            "every function has its name as global_symbol",
            symbols_not_attached,
            "its documentation: 'Attach global_symbol to Relax functions and TIR Primfuncs for codegen'",
        ),
    ),
}
"""Postconditions by name of the pass."""
