"""Arguments of Gradient: which function, by which of its parameters, towards which of its results."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.types import flat
from strategies.scope.choices import Choices

_FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True, slots=True)
class Loss:
    """A public function of the form that Gradient differentiates: one dataflow block, a float scalar among the results.

    Attributes:
        name: Its name in the module.
        parameters: Names of the parameters that are float tensors, or tuples of those.
        targets: Which fields of its result are float scalars.
        others: Whether it has other parameters, too.
        differentiable: Whether every operator on floats has a gradient.
    """

    name: str
    parameters: tuple[str, ...]
    targets: tuple[int, ...]
    others: bool = False
    differentiable: bool = True


@functools.cache
def differentiable_operators() -> frozenset[str]:
    """Return names of the operators that have a gradient in the installed TVM."""
    names = (str(name) for name in tvm.ir.Op.list_op_names())
    return frozenset(name for name in names if name.startswith("relax.") and _has_gradient(name))


def _has_gradient(name: str) -> bool:
    try:
        return tvm.ir.Op.get(name).get_attr("FPrimalGradient") is not None
    except (AttributeError, RuntimeError, ValueError):
        return False  # TVM raises for an attribute that no operator of that number has


def loss_of(name: str, function: Any) -> Loss | None:
    """Return what Gradient can do with a function; ``None`` when it is not meant for it."""
    blocks = function.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0], relax.DataflowBlock):
        return None
    if any(isinstance(binding, relax.MatchCast) for binding in blocks[0].bindings):
        return None
    result = function.body.body
    fields = list(result.fields) if isinstance(result, relax.Tuple) else [result]
    targets = tuple(
        index
        for index, field in enumerate(fields)
        if isinstance(field, relax.Var)
        and (isinstance(field.ty, relax.TensorType) and field.ty.ndim == 0 and str(field.ty.dtype) in _FLOATS)
    )
    if not targets:
        return None
    named = tuple(str(param.name) for param in function.params if _is_float(param.ty))
    fine = all(_differentiable(binding.value) for binding in blocks[0].bindings)
    return Loss(name, named, targets, len(named) < len(function.params), fine)


def _differentiable(value: Any) -> bool:
    if not isinstance(value, relax.Call) or not _is_float(value.ty):
        return not isinstance(value, relax.If)
    return isinstance(value.op, tvm.ir.Op) and str(value.op.name) in differentiable_operators()


def _is_float(ty: Any) -> bool:
    return all(
        isinstance(leaf, relax.TensorType) and leaf.shape is not None and str(leaf.dtype) in _FLOATS
        for leaf in flat(ty)
    )


def draw_gradient(choices: Choices, losses: tuple[Loss, ...], names: tuple[str, ...]) -> str:
    """Draw the text that builds Gradient.

    ``require_grads`` takes variables of the very module that the pass is applied to, so that the text looks them up by
    name in the module that it meets.
    """
    if not losses:
        return f'relax.transform.Gradient("{choices.pick(names)}")'
    loss = choices.pick(losses)
    target = choices.pick(loss.targets)
    if not loss.parameters or not choices.index(2):
        index = f", target_index={target}" if target else ""
        return f'relax.transform.Gradient("{loss.name}"{index})'
    chosen = choices.subset(loss.parameters)
    wanted = f"({''.join(f'{name!r}, ' for name in chosen)})"
    variables = f'[p for p in mod["{loss.name}"].params if p.name in {wanted}]'
    inner = f'relax.transform.Gradient("{loss.name}", {variables}, {target})'
    return f'tvm.transform.module_pass(lambda mod, ctx: {inner}(mod), opt_level=0, name="Gradient")'
