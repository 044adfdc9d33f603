"""Kernels that ``AlterOpImpl`` may replace, and what by: the same computation on buffers of another layout.

A kernel says by its attribute ``operator_name`` what it computes, on which dtype and shape, so that the arguments of
the pass can be drawn from the attributes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.functions import attributes, relax_items
from relaxkit.ir.walk import expressions
from strategies.scope.choices import Choices

REPLACEMENTS: dict[str, tuple[str, ...]] = {
    "te_add": ("A(*i) + B(*i)",),
    "te_add_one": ("A(*i) + tvm.tirx.const(1, A.dtype)",),
    "topi_multiply": ("A(*i) * B(*i)",),
    "topi_maximum": ("tvm.tirx.max(A(*i), B(*i))",),
    "scale_and_shift": ("A(*i) * tvm.tirx.const(2, A.dtype)", "A(*i) + tvm.tirx.const(1, A.dtype)"),
}
"""Name of a kernel whose operands have one static shape -> source text of an element of each output, over ``i``, ``A``
and ``B``."""


def operator_name(kernel: str, dtype: str, dims: Sequence[int | str]) -> str:
    """Return the value of ``operator_name``: all that a replacement must know.

    Written with dots, as TVM's own tests write it ("relax.add"): the pass makes a function's name of it, in which it
    replaces dots and nothing else.
    """
    return ".".join([kernel, dtype, *map(str, dims)])


def draw_alteration(choices: Choices, name: str) -> tuple[str, str]:
    """Draw the source text of a replacement for a kernel, and of the layout that it wants for each of its buffers."""
    kernel, dtype, *sizes = name.split(".")
    dims = [int(size) for size in sizes]
    index = [f"i{axis}" for axis in range(len(dims))]
    ways = [(index, dims)]
    if dims and dims[-1] % 2:  # elements that the buffer has not
        ways.append(([*index[:-1], f"{index[-1]} % {dims[-1] + 3}"], [*dims[:-1], dims[-1] + 3]))
    if len(dims) > 1:
        ways.append((index[::-1], dims[::-1]))
    for axis, size in enumerate(dims):
        if size >= 2 and size % 2 == 0:
            packed = [*index[:axis], f"i{axis} // 2", *index[axis + 1 :], f"i{axis} % 2"]
            ways.append((packed, [*dims[:axis], size // 2, *dims[axis + 1 :], 2]))
    final, shape = ways[-1 - choices.index(len(ways))]
    layout = f"lambda {', '.join(index)}: ({', '.join(final)},)" if index else "lambda: ()"
    outputs = REPLACEMENTS[kernel]
    letters = "AB" if "B(" in outputs[0] else "A"
    buffers = ", ".join(f'tvm.te.placeholder({tuple(shape)}, "{dtype}", name="{letter}")' for letter in letters)
    made = [f'tvm.te.compute(A.shape, lambda *i: {element}, name="C{at or ""}")' for at, element in enumerate(outputs)]
    body = ", ".join(made)
    names = ", ".join(letters)
    text = f'(lambda {names}: tvm.te.create_prim_func([{names}, {body}], index_dtype_override="int64"))({buffers})'
    return (
        f'{text}.without_attr("global_symbol").with_attr("tirx.noalias", True)',
        f"[{', '.join([layout] * (len(letters) + len(outputs)))}]",
    )


# What mutations share: the functions of a module to choose from, and modules with other functions in their place.

_SET_ASIDE = frozenset({"Primitive", "Composite", "Codegen"})
"""Functions whose body others rely on as it is."""


class Unchanged(Exception):
    """A mutation that finds nothing to act on."""


def functions_of(module: Any, *, anything: bool = False) -> list[tuple[Any, Any]]:
    """Return the Relax functions by name; without ``anything``, those whose body nobody relies on as it is."""
    return [pair for pair in relax_items(module) if anything or not _SET_ASIDE & set(attributes(pair[1]))]


def pick_function(choices: Choices, module: Any, *, anything: bool = False) -> tuple[Any, Any]:
    """Draw one of :func:`functions_of`, as variable and function; raises ``Unchanged`` when there is none."""
    functions = functions_of(module, anything=anything)
    if not functions:
        raise Unchanged
    return choices.pick(functions)


def count_bindings(function: Any) -> int:
    """Say how many bindings a copy of a function meets that are no casts."""
    sequences = (expr for expr in expressions(function.body) if isinstance(expr, relax.SeqExpr))
    bindings = (binding for sequence in sequences for block in sequence.blocks for binding in block.bindings)
    return sum(not isinstance(binding, relax.MatchCast) for binding in bindings)


def fresh_name(module: Any, name: str) -> str:
    """Return ``name``, or that with the first number that makes it new."""
    taken = {var.name_hint for var in module.functions}
    number = 0
    while (made := f"{name}{number or ''}") in taken:
        number += 1
    return made


def replaced(module: Any, functions: dict[Any, Any]) -> Any:
    """Return the module with other functions in the place of some."""
    whole = {**dict(module.functions.items()), **functions}
    return tvm.IRModule(whole, attrs=module.attrs, global_infos=module.global_infos)
