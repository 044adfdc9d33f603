"""Fragments: code of one's own that is planted in drawn modules."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxkit.passes.pass_ref import load_factory, load_named
from strategies.idioms import BlockKind, Idiom, Planned
from strategies.operators.drawing import typical
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value


class FragmentError(ValueError):
    """Planted code that cannot be planted; the message is one line."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Your own code, to be put into drawn modules.

    Attributes:
        make: Takes tensors (``relax.Var`` or constants) and returns the ``relax.Expr`` that it computes of them.
        shapes: Static shapes of the tensors.
        dtype: Their element type.
        constants: Places of the tensors that are always constants.
    """

    make: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = ((2, 3),)
    dtype: str = "float32"
    constants: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        __tracebackhide__ = True  # in pytest the user's line is shown
        if not all(
            isinstance(shape, (tuple, list)) and all(isinstance(dim, int) for dim in shape) for shape in self.shapes
        ):
            raise FragmentError(f"shapes is a tuple of shapes, such as ((2, 3, 4),), and not {self.shapes!r}")

    def draw(self, scope: Scope) -> Value:
        """Plant it; of several operands, every second time one is full of a number that the code may look for."""
        makers = [scope.constant if at in self.constants else scope.make for at in range(len(self.shapes))]
        operands = [make(list(shape), self.dtype) for make, shape in zip(makers, self.shapes, strict=True)]
        scalars = [at for at, shape in enumerate(self.shapes) if not shape]
        if len(operands) > 1 and scope.index(2):
            at = scope.pick(scalars or list(range(len(operands))))
            if not self.shapes[at] or not scope.forbids(Feature.CONSTANTS):
                operands[at] = typical(scope, self.dtype, self.shapes[at]) or operands[at]
        return scope.emit(self.made(scope.builder, [each.expr for each in operands]))

    def try_out(self) -> None:
        """Call the function once; raises ``FragmentError``."""
        __tracebackhide__ = True
        builder = relax.BlockBuilder()
        parameters, operands = self._operands()
        builder.begin_scope(parameters)
        builder._begin_binding_block()
        try:
            builder.emit(self.made(builder, operands))
        finally:
            block = builder._end_block()
            builder.end_scope()
        try:
            tvm.ir.load_json(tvm.ir.save_json(block))  # how modules get to the processes that judge and minimize them
        except Exception as error:
            said = f"TVM cannot read back the JSON of what the planted function `{self.name}` makes: {error}"
            hint = "if it makes a constant with a dim of 0, use an operator instead, such as relax.op.zeros"
            raise FragmentError(f"{said.splitlines()[0]}; {hint}") from None

    def alone(self) -> tvm.IRModule:
        """Return a module of nothing but this code."""
        builder = relax.BlockBuilder()
        parameters, operands = self._operands()
        with builder.function("main", parameters):
            builder.emit_func_output(builder.emit(self.made(builder, operands)))
        return builder.get()

    def _operands(self) -> tuple[list[Any], list[Any]]:
        """Return parameters, and all operands, in which constants are full of 2."""
        operands = [
            relax.const(np.full(shape, 2, self.dtype)) if at in self.constants
            else relax.Var(f"x{at}", relax.TensorType(shape, self.dtype))
            for at, shape in enumerate(self.shapes)
        ]  # fmt: skip
        return [each for each in operands if isinstance(each, relax.Var)], operands

    def made(self, builder: Any, operands: list[Any]) -> Any:
        """Return what the function makes of operands; raises ``FragmentError`` where it raises."""
        __tracebackhide__ = True
        try:
            return builder.normalize(self.make(*operands))
        except Exception as error:
            code = getattr(self.make, "__code__", None)
            file, first = getattr(code, "co_filename", ""), getattr(code, "co_firstlineno", 0)
            lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == file] or [first]
            place = f" ({Path(file).name}:{lines[-1]})" if file else ""
            given = ", ".join(f"{self.dtype} {tuple(shape)}" for shape in self.shapes)
            said = (str(error).strip().splitlines() or [""])[0]
            what = f"the planted function `{self.name}`{place} raised {type(error).__name__}: {said}"
            raise FragmentError(f"{what}; it was given {given}") from None

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.make, "__name__", "fragment"))

    @property
    def planned(self) -> Planned:
        """The fragment as an idiom that no pass of TVM is known to act on."""
        return Planned(Idiom(self.name, self.draw, (), place=BlockKind.ANYWHERE))


def fragment_at(target: str) -> Fragment:
    """Import the planted code of a campaign, a function of tensors or a :class:`Fragment`; raises ``ValueError``."""
    found = load_named(target)
    return found if isinstance(found, Fragment) else Fragment(load_factory(target))
