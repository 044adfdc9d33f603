"""Claims of the lowering passes and the stock pipelines; memory, kills and the shape heap have files of their own."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.functions import functions_by_name, has_attribute, relax_functions
from relaxkit.ir.types import parts_of_type, static_dims
from relaxkit.ir.walk import callee_name, functions_inside, operands_of, operator_of, places, sequences
from relaxkit.passes.claims.common import measured_otherwise, operators_left_over, placed, relax_pairs
from relaxkit.passes.claims.kills import killed_too_early, killed_without_register
from relaxkit.passes.claims.rewrite import legalizable_left
from relaxkit.passes.claims.shape_heap import heap_misused, symbolic_shapes_left
from relaxkit.passes.contract import EvidenceClass, Postcondition, claimed, nothing_left, stated

STAGES = "python/tvm/relax/pipeline.py: the passes in it, each of which claims this"
DESTINATION_PASSING = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")
PURE_FORMS = ("relax.call_pure_packed", "relax.call_inplace_packed", "relax.invoke_pure_closure")
BUILTINS = (
    "relax.builtin.alloc_tensor", "relax.call_py_func", "relax.invoke_closure", "relax.make_closure",
    "relax.memory.alloc_storage", "relax.memory.alloc_tensor", "relax.memory.kill_storage", "relax.memory.kill_tensor",
    "relax.reshape", "relax.shape_of", "relax.tensor_to_shape", "relax.to_vdevice", "relax.vm.call_tir_dyn",
)  # fmt: skip
"""Operators that ``LowerRuntimeBuiltin`` lowers: the list in src/relax/backend/vm/lower_runtime_builtin.cc."""


_WITH_DIMS = "relax.vm.call_tir_dyn"
_ALLOC = "relax.builtin.alloc_tensor"
"""Operator by which CallTIRRewrite has a kernel called that is given dims, until TVM 0.25."""


@claimed("no dataflow is left", "its documentation: 'Transform all dataflow structure to non-dataflow'")
def dataflow_left(ran: Any) -> str:
    """Find a dataflow block or a dataflow variable."""
    for name, function in relax_functions(ran.after):
        for sequence in sequences(function):
            for block in sequence.blocks:
                if isinstance(block, relax.DataflowBlock):
                    return f"a dataflow block is left\nleaves a dataflow block in {name}"
        for place in places(function):
            if isinstance(place.var, relax.DataflowVar):
                return f"a dataflow variable is left\nleaves the DataflowVar {place.var.name} in {name}"
    return ""


@claimed("bindings stay", "src/relax/transform/to_non_dataflow.cc renews variables only", evidence=EvidenceClass.OURS)
def operator_sequence_changed(ran: Any) -> str:
    """Find another number of bindings, or one that calls another operator."""
    return measured_otherwise(ran, lambda function: list(_bound(function)), "bindings are others")


def _bound(function: Any) -> Iterator[str]:
    """Say what a function's bindings call; what a cast calls (FuseTIR leaves such casts) is bound by the next pass."""
    for place in places(function):
        yield operator_of(place.value)
        if isinstance(place.binding, relax.MatchCast) and isinstance(place.value, relax.Call):
            yield ""


@claimed("functions are forced pure", "its documentation: 'set relax.force_pure'")
def purity_checked(ran: Any) -> str:
    """Find a pure function without the attribute ``relax.force_pure``."""
    for name, function in relax_functions(ran.after):
        for inner in functions_inside(function):
            if inner.is_pure and not has_attribute(inner, "relax.force_pure"):
                return f"a pure function is not forced pure\nleaves {name} pure without relax.force_pure"
    return ""


@claimed("kernels are called as often", "the example in its documentation")
def calls_not_kept(ran: Any) -> str:
    """Find a kernel or packed function that a Relax function calls another number of times than before."""
    return measured_otherwise(ran, _callees_of, "kernels are called another number of times")


def _callees_of(function: Any) -> Counter[str]:
    """Say how often the bindings of a function call each function, directly or in destination-passing style."""
    counted: Counter[str] = Counter()
    for place in places(function):
        value = place.value
        if isinstance(value, relax.Call):
            callee = value.args[0] if operator_of(value) in (*DESTINATION_PASSING, _WITH_DIMS) else value.op
            if isinstance(callee, (relax.GlobalVar, relax.ExternFunc)):
                counted[callee_name(callee)] += 1
    return counted


@claimed("each output is allocated", "the example in its documentation")
def outputs_not_allocated(ran: Any) -> str:
    """Find outputs of calls in destination-passing style for which no tensor of their shape and dtype is allocated."""
    for name, old, new in relax_pairs(ran):
        allocating = (place.value.args for place in places(new) if operator_of(place.value) == _ALLOC)
        wanted, given = sorted(_output_types(old)), sorted(f"{args[0]} {args[1].value}" for args in allocating)
        if wanted != given:
            return f"other tensors are allocated than outputs\nallocates {given} for {wanted} in {name}"
    return ""


def _output_types(function: Any) -> Iterator[str]:
    for place in places(function):
        value, name = place.value, operator_of(place.value)
        if name == _ALLOC:
            yield f"{value.args[0]} {value.args[1].value}"
        elif name in DESTINATION_PASSING:
            tensors = [part for part in parts_of_type(value.ty_args[0]) if isinstance(part, relax.TensorType)]
            reused = [int(index) for index in value.attrs.inplace_indices] if name.endswith("inplace") else []
            for index, tensor in enumerate(tensors):
                if index >= len(reused) or reused[index] < 0:
                    yield f"{tensor.shape} {tensor.dtype}"


def reshapes_left(ran: Any, branches: bool) -> str:
    """Find a kernel that only reshapes its one tensor, called for a value of a dataflow block, in a branch or not."""
    kernels = functions_by_name(ran.after)
    for name, place in placed(ran.after):
        value = place.value
        if not isinstance(place.var, relax.DataflowVar) or operator_of(value) != "relax.call_tir":
            continue
        if (
            place.local
            or bool(place.branches) is not branches
            or len(value.args[1].fields) != 1
            or not isinstance(value.ty, relax.TensorType)
        ):
            continue
        kernel = kernels.get(str(value.args[0].name_hint))
        if isinstance(kernel, tirx.PrimFunc) and _reshapes(value.args[1].fields[0].ty, value.ty, kernel):
            return f"a kernel that reshapes is left\nleaves {value.args[0].name_hint}, which only reshapes, in {name}"
    return ""


def _reshapes(old: Any, new: Any, kernel: Any) -> bool:
    """Say whether both types are static, of one dtype and size, and the kernel was made of ``relax.reshape``.

    TVM's own analysis decides on the kernel, as it is documented that the pass does.
    """
    before, after = static_dims(old), static_dims(new)
    if before is None or after is None:
        return False
    same = math.prod(before) == math.prod(after) and str(old.dtype) == str(new.dtype)
    return same and bool(relax.analysis.has_reshape_pattern(kernel))


def _anywhere(ty: Any) -> Any:
    """Return a tensor's type without its device: ``relax.reshape`` takes its operand's, a kernel's call has none."""
    if not isinstance(ty, relax.TensorType) or ty.vdevice is None:
        return ty
    if ty.shape is not None:
        return relax.TensorType(ty.shape, ty.dtype)
    return relax.TensorType(dtype=ty.dtype, ndim=ty.ndim)


@claimed(
    "values keep their types",
    "rewrite_dataflow_reshape.cc replaces a call by one of its shape",
    evidence=EvidenceClass.OURS,
)
def reshapes_changed(ran: Any) -> str:
    """Find a value whose type is another one, or which is reshaped from a tensor of another dtype."""
    after = dict(relax_functions(ran.after))
    for name, function in relax_functions(ran.before):
        olds = [place.var.ty for place in places(function)]
        news = [place.var.ty for place in places(after[name])] if name in after else olds
        if len(olds) != len(news):
            return f"another number of bindings\nmakes {len(news)} bindings of {len(olds)} in {name}"
        for old, new in zip(olds, news, strict=True):
            if not tvm_ffi.structural_equal(_anywhere(old), _anywhere(new), map_free_vars=True):
                return f"a value has another type\nmakes a value of {name} {new} instead of {old}"
    return ""


@claimed("no arithmetic is left outside of shapes", "its documentation: 'Compute all R.prim_value instances'")
def arithmetic_left(ran: Any) -> str:
    """Find arithmetic on numbers in an operand, outside of shapes and types."""
    for name, place in placed(ran.after):
        for operand in _values_in(place.value):
            if type(operand) in _COMPUTED:
                return f"arithmetic is left\nleaves the arithmetic {operand} in {name}"
    return ""


_COMPUTED = (
    tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max,
    tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.And, tirx.Or, tirx.Not, tirx.Cast, tirx.Select,
)  # fmt: skip


def _values_in(value: Any) -> Iterator[Any]:
    """Yield a value and its operands, but nothing of shapes."""
    if not isinstance(value, relax.ShapeExpr):
        yield value
        for operand in operands_of(value):
            yield from _values_in(operand)


@claimed(
    "every function has its name as global_symbol",
    "its documentation: 'Attach global_symbol to Relax functions and TIR Primfuncs for codegen'",
)
def symbols_not_attached(ran: Any) -> str:
    """Find a function without ``global_symbol``, or with another name there."""
    for name, function in functions_by_name(ran.after).items():
        if not isinstance(function, (relax.Function, tirx.PrimFunc)):
            continue
        if not has_attribute(function, "global_symbol"):
            return f"a function has no global_symbol\nleaves {name} without global_symbol"
        if str(function.attrs["global_symbol"]) != name:
            return f"a global_symbol is another name\ngives {name} the global_symbol {function.attrs['global_symbol']}"
    return ""


@nothing_left(
    "without CUDA graphs nothing changes",
    "rewrite_cuda_graph.cc: only with relax.backend.use_cuda_graph",
    evidence=EvidenceClass.OURS,
)
def anything_changed(ran: Any) -> str:
    """Say whether the module has changed at all."""
    return "" if tvm_ffi.structural_equal(ran.before, ran.after) else "the module has changed\nchanges the module"


@claimed("no operator that legalizes is left", STAGES)
def legalizable_left_by_pipeline(ran: Any) -> str:
    """Say what ``LegalizeOps``, built without arguments, would not have left.

    An operator of which some call has operands of unknown shape before the pipeline is not judged: the shape may become
    known when ``LegalizeOps`` is through.
    """
    vague = {
        operator_of(place.value)
        for _, place in placed(ran.before)
        if any(_is_vague(part) for part in _types_of_call(place.value))
    }
    return legalizable_left(SimpleNamespace(before=ran.before, after=ran.after, arguments={"skip_ops": vague}))


def _types_of_call(value: Any) -> Iterator[Any]:
    for part in (value, *getattr(value, "args", ())):
        yield from parts_of_type(part.ty)


def _is_vague(ty: Any) -> bool:
    if isinstance(ty, relax.ShapeType):
        return ty.values is None
    return isinstance(ty, relax.TensorType) and not isinstance(ty.shape, relax.ShapeExpr)


LOWERED_CLAIMS = stated(
    dataflow_left,
    legalizable_left_by_pipeline,
    Postcondition(
        "no lowering step is missing",
        functools.partial(operators_left_over, names=(*DESTINATION_PASSING, *PURE_FORMS, *BUILTINS)),
        STAGES,
    ),
    killed_too_early,
    killed_without_register,
    arithmetic_left,
    symbolic_shapes_left,
    heap_misused,
    symbols_not_attached,
    source=STAGES,
)


@claimed(
    "the code of the virtual machine is read back",
    'documentation of VMExecutable.as_python: "Print the instructions as python program"; of ExecBuilder: "A builder '
    'to emit instructions and build executable for the virtual machine"',
)
def code_read_back_otherwise(ran: Any) -> str:
    """Say whether a builder that is given the instructions of a lowered module one by one makes other ones of them.

    The text names the register of the machine ``vm``, the builder's module ``rx``, and no constant's value.
    """
    builder = relax.ExecBuilder()
    try:
        relax.vm_build._vmcodegen(builder, ran.after, "bytecode")
    except tvm.error.InternalError:  # not lowered to the end: other claims say so, and so does the build
        return ""
    code = builder.get().as_python()
    again = relax.ExecBuilder()
    for function in re.findall(r'ib\.function\("([^"]+)"', code):
        again.declare_function(function, relax.exec_builder.VMFuncKind.VM_FUNC)
    for number in sorted(set(map(int, re.findall(r"\.c\((\d+)\)", code)))):
        again.convert_constant(f"constant {number}")
    said = code.replace("ib = rx.Builder()\n", "").replace("ib.r(vm)", "ib.vm_state()")
    exec(said, {"ib": again})  # the text is TVM's own, of the module that was generated here
    if (back := again.get().as_python()) != code:
        return f"other instructions are read back\nreads back other instructions\nfirst: {code}\nthen: {back}"
    return ""
