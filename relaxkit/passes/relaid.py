"""A pass that lays a kernel's buffers out as ``suggest_layout_transforms`` suggests; also copied into repro scripts."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.functions import has_attribute
from relaxkit.ir.walk import expressions_in, operator_of


def relaid(share: int, layout: str) -> Any:
    """Return a pass that lays out the results of some kernels in another way, and all else as TVM suggests for that.

    Args:
        share: Which eighth of the kernels, by their content: 0 to 7.
        layout: How the result is laid out: ``"reversed"``, ``"rotated"`` or ``"packed"`` (pairs of its last axis).
    """
    return tvm.transform.module_pass(
        lambda module, _: _relaid(module, share, layout), opt_level=0, name="suggest_layout_transforms"
    )


def _relaid(module: Any, share: int, layout: str) -> Any:
    calls = [each for each in expressions_in(module) if operator_of(each) == "relax.call_tir"]
    results = {each.args[0]: list(each.ty_args) for each in calls}
    named = module.clone()
    kernels, layouts = {}, {}
    for var, result in results.items():
        kernel = module[var]
        number = int(tvm_ffi.structural_hash(kernel)) % 8000
        if number % 8 == share and _fits(kernel, result):
            made, given = _suggested(kernel, layout)
            if made is not None:
                name = f"relaid.kernel{number}"
                named.update_func(var, kernel.with_attr("operator_name", name))
                kernels[name], layouts[name] = made, given
    return relax.transform.AlterOpImpl(kernels, layouts)(named) if kernels else module


def _suggested(kernel: Any, layout: str) -> tuple[Any, list[Any]]:
    """Return a kernel as TVM suggests it, and the layout of each of its buffers; ``None`` where it suggests nothing."""
    wanted = _index_map(layout, [int(dim) for dim in kernel.params[-1].shape])
    layouts = {}
    schedule = tvm.s_tir.Schedule(kernel)
    for block, transforms in relax.analysis.suggest_layout_transforms(kernel, [wanted]).items():
        for laid, index_map in transforms.items():
            if tirx.is_buffer_var(laid):
                schedule.transform_layout(schedule.get_sblock(block.name_hint), laid, index_map)
                layouts[str(laid.name)] = index_map
            else:
                schedule.transform_block_layout(block.name_hint, index_map)
    if str(kernel.params[-1].name) not in layouts:
        return None, []  # "In such a case, no transformations are proposed" (layout_transformation.cc)
    same = [tirx.IndexMap.from_func(lambda *i: i, len(each.shape), index_dtype="int64") for each in kernel.params]
    return schedule.mod["main"], [layouts.get(str(b.name), kept) for b, kept in zip(kernel.params, same, strict=True)]


def _fits(kernel: Any, result: list[Any]) -> bool:
    """Say whether a kernel has buffers alone, all of static shape, of which the last is its only result."""
    alone = len(result) == 1 and isinstance(result[0], relax.TensorType) and not has_attribute(kernel, "operator_name")
    return alone and all(map(_is_static, kernel.params))


def _is_static(parameter: Any) -> bool:
    return bool(tirx.is_buffer_var(parameter)) and all(isinstance(dim, tirx.IntImm) for dim in parameter.shape)


def _index_map(layout: str, dims: list[int]) -> Any:
    def laid(*axes: Any) -> list[Any]:
        if layout == "packed" and dims and dims[-1] % 2 == 0:
            return [*axes[:-1], axes[-1] // 2, axes[-1] % 2]
        return [*axes[1:], *axes[:1]] if layout == "rotated" else list(axes[::-1])

    return tirx.IndexMap.from_func(laid, len(dims), index_dtype="int64")
