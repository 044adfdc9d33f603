"""What the text of a pass calls besides TVM's own functions; also copied into repro scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx


def configured(inner: Any, options: Mapping[str, Any]) -> Any:
    """Return a pass that runs another one with options added to the configuration of the ``PassContext``.

    Level, required and disabled passes and other options are those of the context in which it runs. Instruments of that
    context see it as one pass of the inner pass's name, and nothing of what runs inside: a second context with the same
    instruments would enter and leave them once more, and ``PassTimingInstrument`` forgets its stack when it is left.

    Args:
        options: Names and values, as ``PassContext.list_configs`` lists them.
    """

    def run(module: Any, context: Any) -> Any:
        with tvm.transform.PassContext(
            opt_level=int(context.opt_level),
            required_pass=list(context.required_pass),
            disabled_pass=list(context.disabled_pass),
            config={**dict(context.config or {}), **options},
        ):
            return inner(module)

    info = inner.info
    return tvm.transform.module_pass(
        run, opt_level=int(info.opt_level), name=str(info.name), required=[str(name) for name in info.required]
    )


# Kernels laid out as ``suggest_layout_transforms`` suggests.


def relaid(module: Any, layout: str) -> Any:
    """Lay out the results of a module's kernels in another way, and all else as TVM suggests for that.

    Args:
        module: A module of kernels and their calls.
        layout: How a result is laid out: ``"reversed"``, ``"rotated"`` or ``"packed"`` (pairs of its last axis).
    """
    named, kernels, layouts = module.clone(), {}, {}
    for var in laid_out(module):
        kernel = module[var]
        schedule = tvm.s_tir.Schedule(kernel)
        given: dict[int, Any] = {}
        suggested = relax.analysis.suggest_layout_transforms(kernel, [index_map(kernel, layout)])
        for block, transforms in suggested.items():
            for laid, transform in transforms.items():
                if tirx.is_buffer_var(laid):
                    schedule.transform_layout(schedule.get_sblock(block.name_hint), laid, transform)
                    # By places, for several may have one name.
                    given |= {place: transform for place, each in enumerate(kernel.params) if each.same_as(laid)}
                else:
                    schedule.transform_block_layout(block.name_hint, transform)
        # "In such a case, no transformations are proposed" (layout_transformation.cc)
        if len(kernel.params) - 1 in given:
            # By their names and not by where in memory they lie, other kernels that this one calls are told apart.
            name = f"relaid.{tvm_ffi.structural_hash(kernel, map_free_vars=True)}"
            named.update_func(var, kernel.with_attr("operator_name", name))
            kernels[name] = schedule.mod["main"]
            layouts[name] = [given.get(place) or index_map(each, "same") for place, each in enumerate(kernel.params)]
    return relax.transform.AlterOpImpl(kernels, layouts)(named)


def laid_out(module: Any) -> list[Any]:
    """List the kernels that have buffers alone, all of static shape, of which the last is their only result."""
    found: dict[Any, None] = {}

    def visit(call: Any) -> None:
        if isinstance(call, relax.Call) and call.op == tvm.ir.Op.get("relax.call_tir"):
            kernel = module[call.args[0]]
            one = isinstance(call.ty_args[0], relax.TensorType) and all(map(tirx.is_buffer_var, kernel.params))
            dims = [dim for each in kernel.params for dim in each.shape] if one else [None]
            if all(isinstance(dim, tirx.IntImm) for dim in dims) and "operator_name" not in (kernel.attrs or ()):
                found[call.args[0]] = None

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return list(found)


def index_map(buffer: Any, layout: str) -> Any:
    """Return the map from the indices of a buffer, or of a kernel's result, to those of a layout."""
    dims = getattr(buffer, "params", [buffer])[-1].shape

    def laid(*axes: Any) -> list[Any]:
        if layout == "packed" and dims and dims[-1] % 2 == 0:
            return [*axes[:-1], axes[-1] // 2, axes[-1] % 2]
        return {"reversed": [*axes[::-1]], "rotated": [*axes[1:], *axes[:1]]}.get(layout, [*axes])

    return tirx.IndexMap.from_func(laid, len(dims), index_dtype="int64")


def suggestions(module: Any, layout: str) -> Iterator[tuple[Any, str]]:
    """Yield the calls that suggest layouts for the kernels of a module, as text, each with a module ``Before``."""
    for var in laid_out(module):
        wanted = index_map(module[var], layout)
        given, laid = (", ".join(map(str, each)) for each in (wanted.initial_indices, wanted.final_indices))
        laid = re.sub(r"T\.int64\((\d+)\)", r"\1", laid)
        function = f"{f'lambda {given}'.rstrip()}: [{laid}], {len(wanted.initial_indices)}"
        made = f'tirx.IndexMap.from_func({function}, index_dtype="int64")'
        line = f'relax.analysis.suggest_layout_transforms(Before["{var.name_hint}"], [{made}])'
        yield tvm.IRModule({var.name_hint: module[var]}), line.replace("axes_", "i")


# Schedules from a database, applied to kernels.


def tuned(module: Any, factor: int, tuner: str = "") -> Any:
    """Apply ``MetaScheduleApplyDatabase`` with a record for each kernel, as tuning would leave one.

    Args:
        module: A module of kernels and their calls.
        factor: By how much the outermost loop of each block of a kernel is split.
        tuner: What runs before: MetaScheduleTuneIRMod (``"relax"``) or MetaScheduleTuneTIR (``"tir"``), with a tuner
            that measures nothing.
    """
    # These need a moment to import.
    from tvm.s_tir.meta_schedule import database, relax_integration

    target = tvm.target.Target({"kind": "llvm", "num-cores": 1})
    records = database.MemoryDatabase()
    for task in relax_integration.extract_tasks(module, target):
        (workload,) = task.dispatched
        schedule = tvm.s_tir.Schedule(workload)
        root = getattr(workload["main"].body, "block", None)  # a kernel of one loop nest has none
        rooted = root is not None and str(root.name_hint) == "root"
        for block in schedule.get_child_blocks(schedule.get_sblock("root")) if rooted else ():
            if loops := schedule.get_loops(block):
                schedule.split(loops[0], factors=[None, factor])
        stored = records.commit_workload(workload)
        records.commit_tuning_record(database.TuningRecord(schedule.trace, stored, [1.0], target))
    with target, records:
        if tuner:
            _measure_nothing(f"tvm.s_tir.meta_schedule.tune_{tuner}")
            if tuner == "relax":
                module = relax.transform.MetaScheduleTuneIRMod({}, "", 1, 1)(module)
            else:
                module = relax.transform.MetaScheduleTuneTIR("", 1)(module)
        return relax.transform.MetaScheduleApplyDatabase(enable_warning=bool(tuner))(module)


def apply_empty_database(module: Any) -> Any:
    """Apply ``MetaScheduleApplyDatabase`` without any record: what it does of itself needs none."""
    from tvm.s_tir import meta_schedule

    with tvm.target.Target({"kind": "llvm", "num-cores": 1}), meta_schedule.database.MemoryDatabase():
        return relax.transform.MetaScheduleApplyDatabase()(module)


def _measure_nothing(name: str) -> None:
    """Replace a tuner of this process: once and for good, as TVM keeps the first one that it finds."""
    replaced = f"{name}_replaced"
    if tvm.get_global_func(replaced, allow_missing=True) is None:
        for each in (name, replaced):
            tvm.register_global_func(each, lambda *_: None, override=True)
