"""Claims of fusion, and of the passes that look at kernels before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.functions import functions_by_name, has_attribute, relax_functions
from relaxkit.ir.lowered import buffers_of
from relaxkit.ir.walk import operator_of, places
from relaxkit.passes.claims.common import argument, placed, variables_read
from relaxkit.passes.claims.grouping import KERNEL_CALLS, is_group, new_groups
from relaxkit.passes.contract import EvidenceClass, claimed, nothing_left

# include/tvm/relax/op_attr_types.h: OpPatternKind
REDUCE, COMPLEX, OPAQUE = 3, 4, 8


@nothing_left("every kernel has a pattern", "its documentation: 'Annotate Op Pattern Kind'")
def kernels_not_annotated(ran: Any) -> str:
    """Find a PrimFunc without a pattern, or with a number that is none."""
    for name, function in functions_by_name(ran.after).items():
        if not isinstance(function, tirx.PrimFunc):
            continue
        if not has_attribute(function, "op_pattern"):
            return f"a kernel has no op_pattern\nleaves {name} without op_pattern"
        if pattern_of(function) not in (0, 1, 2, 3, 4, 7, 8):
            return f"the op_pattern of a kernel is none\ngives {name} the op_pattern {function.attrs['op_pattern']}"
    return ""


def pattern_of(kernel: Any) -> int:
    """Return the ``op_pattern`` of a kernel; opaque where it has none."""
    return int(kernel.attrs["op_pattern"]) if has_attribute(kernel, "op_pattern") else OPAQUE


@nothing_left("reductions are no elementwise kernels", "OpPatternKind in op_attr_types.h")
def reductions_misjudged(ran: Any) -> str:
    """Find a kernel with a reduction that is annotated as one that maps elements one by one."""
    before = functions_by_name(ran.before)
    for name, kernel in functions_by_name(ran.after).items():
        if not isinstance(kernel, tirx.PrimFunc) or name not in before or has_attribute(before[name], "op_pattern"):
            continue
        if has_attribute(kernel, "op_pattern") and pattern_of(kernel) < REDUCE and _reduces(kernel.body):
            return (
                f"a kernel with a reduction is no reduction\ncalls {name} a kernel of op_pattern {pattern_of(kernel)}"
            )
    return ""


def _reduces(statement: Any) -> bool:
    """Say whether a block inside has an axis that is reduced over."""
    if any(int(axis.iter_type) == _REDUCED for axis in getattr(statement, "iter_vars", ())):
        return True
    parts = [getattr(statement, name, None) for name in ("body", "block", "then_case", "else_case")]
    return any(_reduces(part) for part in (*parts, *getattr(statement, "seq", ())) if part is not None)


_REDUCED = 2  # IterVar.CommReduce


@claimed("new functions are Primitive", "fuse_ops.cc: FunctionCreator::CreateFunction")
def groups_not_marked(ran: Any) -> str:
    """Find a new function that is not marked as a group."""
    before = functions_by_name(ran.before)
    for name, function in relax_functions(ran.after):
        if name not in before and not (has_attribute(function, "Primitive") and int(function.attrs["Primitive"])):
            return f"a new function is not Primitive\nmakes {name} without Primitive"
    return ""


@nothing_left("only what goes together is fused", "OpPatternKind, and graph_partitioner.cc")
def fused_what_may_not(ran: Any) -> str:
    """Find a group of what does not go together: an opaque kernel, two complex ones, or work behind a reduction."""
    kernels = functions_by_name(ran.before)
    for name, function in new_groups(ran):
        kinds: list[int] = []
        reduced: set[Any] = set()
        for place in places(function):
            value = place.value
            if isinstance(value, (relax.TupleGetItem, relax.Tuple, relax.Var)):
                continue
            if operator_of(value) not in KERNEL_CALLS:
                return f"something else than kernels is fused\nputs {operator_of(value) or type(value)} into {name}"
            kind = pattern_of(kernels[str(value.args[0].name_hint)])
            if any(read in reduced for read in variables_read(value)):
                return f"a kernel is fused behind a reduction\nfuses a kernel behind a reduction into {name}"
            if kind == REDUCE:
                reduced.add(place.var)
            kinds.append(kind)
        if OPAQUE in kinds:
            return f"an opaque kernel is fused\nfuses an opaque kernel into {name}\npatterns: {kinds}"
        if sum(kind in (REDUCE, COMPLEX) for kind in kinds) > 1:
            return f"two complex kernels are fused\nfuses two complex kernels into {name}\npatterns: {kinds}"
    return ""


@nothing_left("level 0 fuses nothing", "graph_partitioner.cc: 'if (opt_level_ == 0)'", evidence=EvidenceClass.OURS)
def fused_at_level_zero(ran: Any) -> str:
    """Find a new function though the level asks for no fusion."""
    if argument(ran, 0, "fuse_opt_level", -1) != 0:
        return ""
    known = functions_by_name(ran.before)
    fresh = [name for name in functions_by_name(ran.after) if name not in known]
    return f"kernels are fused at level 0\nmakes {', '.join(fresh)} at fuse_opt_level 0" if fresh else ""


@claimed("no primitive function is left", "its documentation: 'Fuse primitive relax function'")
def groups_left(ran: Any) -> str:
    """Find a group that is still a Relax function."""
    for name, function in relax_functions(ran.after):
        if has_attribute(function, "Primitive") and int(function.attrs["Primitive"]):
            return f"a primitive function is left\nleaves {name}, which is Primitive, a Relax function"
    return ""


@nothing_left("a group becomes one kernel", "its documentation: 'into a larger TIR function'")
def launches_not_kept(ran: Any) -> str:
    """Find a function with more kernel calls than it had, each call of a group counted as one."""
    before, after = functions_by_name(ran.before), functions_by_name(ran.after)
    for name, function in relax_functions(ran.before):
        if is_group(function) or not isinstance(after.get(name), relax.Function):
            continue
        old, new = _launches(function, before), _launches(after[name], after)
        if new > old:
            return f"more kernels are called\nmakes {name} launch {new} kernels instead of {old}"
    return ""


def _launches(function: Any, functions: dict[str, Any]) -> int:
    count = 0
    for place in places(function):
        value = place.value
        if operator_of(value) in KERNEL_CALLS:
            count += 1
        elif isinstance(value, relax.Call) and isinstance(value.op, relax.GlobalVar):
            count += is_group(functions.get(str(value.op.name_hint)))
    return count


def kernel_calls(module: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the calls of the module's kernels by ``call_tir``: the function they stand in, the call, and the kernel."""
    functions = functions_by_name(module)
    for name, place in placed(module):
        value = place.value
        if operator_of(value) == "relax.call_tir" and isinstance(value.args[0], relax.GlobalVar):
            kernel = functions.get(str(value.args[0].name_hint))
            if isinstance(kernel, tirx.PrimFunc):
                yield name, value, kernel


@claimed("kernels are replaced", "its documentation: 'Replace all PrimFunc's'")
def kernels_not_replaced(ran: Any) -> str:
    """Find a call of a kernel whose operator has a replacement, and that is not the replacement."""
    replacements = argument(ran, 0, "op_impl_map", {})
    for name, call, kernel in kernel_calls(ran.after):
        operator = _operator_name(kernel)
        if operator in replacements:
            wanted = replacements[operator].with_attr("operator_name", operator)
            if not tvm_ffi.structural_equal(kernel.without_attr("global_symbol"), wanted.without_attr("global_symbol")):
                return f"a kernel is not replaced\nleaves {call.args[0].name_hint} of {name} as it was"
    return ""


@claimed(
    "operands come in the layout of the replacement",
    "its documentation: 'Layout transformations are inserted in the call sites'",
)
def layouts_not_transformed(ran: Any) -> str:
    """Find an operand of a replacement that is not brought into the layout that the replacement wants."""
    replacements, layouts = argument(ran, 0, "op_impl_map", {}), argument(ran, 1, "op_buffer_transforms", {})
    made = {place.var: place.value for _, place in placed(ran.after)}
    for name, call, kernel in kernel_calls(ran.after):
        operator = _operator_name(kernel)
        if operator not in replacements or not layouts.get(operator):
            continue
        for operand, layout in zip(call.args[1].fields, layouts[operator], strict=False):
            scalar = isinstance(operand, tvm.ir.GenericConst) and operand.ty.ndim == 0
            if layout is not None and not scalar and operator_of(made.get(operand)) != "relax.layout_transform":
                return f"an operand is not transformed\nleaves {operand} of {name} in its old layout"
    return ""


def _operator_name(kernel: Any) -> str:
    return str(kernel.attrs["operator_name"]) if has_attribute(kernel, "operator_name") else ""


@nothing_left(
    "layout_free_buffers are the weights and constants",
    "its documentation: 'the layout free buffers are the model weights and relax constants'",
)
def free_buffers_wrong(ran: Any) -> str:
    """Find a kernel called with weights or constants at other places than its ``layout_free_buffers`` says."""
    functions = functions_by_name(ran.after)
    for name, call, kernel in kernel_calls(ran.after):
        if not has_attribute(kernel, "layout_free_buffers"):
            return f"a kernel has no layout_free_buffers\nleaves {call.args[0].name_hint} without layout_free_buffers"
        function = functions[name]
        weights: set[Any] = set()
        if has_attribute(function, "num_input"):
            weights = set(list(function.params)[int(function.attrs["num_input"]) :])
        wanted = [
            index
            for index, operand in enumerate(call.args[1].fields)
            if isinstance(operand, tvm.ir.GenericConst) or (isinstance(operand, relax.Var) and operand in weights)
        ]
        found = [int(index) for index in kernel.attrs["layout_free_buffers"]]
        if wanted != found:
            return (
                "layout_free_buffers are not the weights and constants\n"
                f"gives {call.args[0].name_hint}, called in {name}, layout_free_buffers {found} instead of {wanted}"
            )
    return ""


@claimed("no kernel rewrites layouts itself", "its documentation")
def preparation_left(ran: Any) -> str:
    """Find a called kernel that still prepares the layout of a weight itself."""
    for name, call, kernel in kernel_calls(ran.after):
        if "meta_schedule.layout_rewrite_preproc" in str(kernel):
            return f"a kernel still rewrites a layout\nleaves {call.args[0].name_hint} of {name} to rewrite a layout"
    return ""


@claimed("kernels have the dims of their calls", "its documentation")
def shapes_not_specialized(ran: Any) -> str:
    """Find a kernel whose parameters have other static dims than the tensors that it is called with."""
    for name, call, kernel in kernel_calls(ran.after):
        if is_group(functions_by_name(ran.after)[name]):
            continue
        types = [operand.ty for operand in call.args[1].fields]
        result = call.ty_args[0]
        types += list(result.fields) if isinstance(result, relax.TupleType) else [result]
        for ty, buffer in zip(types, buffers_of(kernel), strict=False):
            shape = getattr(getattr(ty, "shape", None), "values", None)
            if shape is None or buffer is None:
                continue
            wanted, found = [str(dim) for dim in shape], [str(dim) for dim in buffer.shape]
            if wanted != found and all(isinstance(dim, tirx.IntImm) for dim in shape):
                return (
                    "a kernel has other dims than its call\n"
                    f"calls {call.args[0].name_hint} of dims ({', '.join(found)}) with ({', '.join(wanted)}) in {name}"
                )
    return ""
