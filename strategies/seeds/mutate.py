"""Mutations of seeds: small changes after which the module is still well formed.

A change that TVM's type inference or checker does not take is undone, and counted: a seed is never lost as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax

from relaxkit.text_enum import TextEnum
from strategies.scope.choices import Choices
from strategies.seeds import mutate_bindings as bindings
from strategies.seeds import mutate_functions as functions
from strategies.seeds.file import SeedStage
from strategies.seeds.replacements import Unchanged

MOST_MUTATIONS = 6


class Mutation(TextEnum):
    """The changes that can be made to a seed; the value is the name in reports."""

    ALIAS = "alias"
    REPLACE = "replace-operator"
    INSERT = "insert-operator"
    SWAP = "swap-operands"
    DUPLICATE = "duplicate-binding"
    DROP = "drop-binding"
    TUPLE = "through-tuple"
    CAST = "match-cast"
    COPY = "copy-function"
    WRAP = "wrap-into-function"
    RESIZE = "change-dim"


ALL = tuple(Mutation)
OF_LOWERED = (Mutation.ALIAS, Mutation.TUPLE, Mutation.COPY)
"""Of lowered code: an operator among calls of the VM would be no lowered code any more."""
KEEPING = frozenset({Mutation.ALIAS, Mutation.DUPLICATE, Mutation.TUPLE, Mutation.CAST, Mutation.COPY, Mutation.WRAP})
"""After these a module computes what it did."""


@dataclass(slots=True)
class Mutated:
    """A mutated seed: its mutations, in order, and how many were tried and did not come out well formed."""

    module: Any
    applied: tuple[Mutation, ...] = ()
    undone: int = 0

    def change(self, choices: Choices, kind: Mutation) -> None:
        """Mutate the module once more, where there is something to act on."""
        try:
            made = _ACTIONS[kind](choices, self.module)
            well_formed = relax.analysis.check_well_formed(made)
        except Unchanged:
            return
        except Exception:  # TVM refuses what came out: the change is undone, whatever it says
            well_formed = False
        if well_formed:
            self.module, self.applied = made, (*self.applied, kind)
        else:
            self.undone += 1


def mutate(choices: Choices, module: Any, stage: SeedStage) -> Mutated:
    """Draw mutations and apply them to a module, which itself stays as it is.

    Args:
        choices: Where decisions come from; zeros change nothing.
        module: A well-formed module.
        stage: Its stage.
    """
    kinds = OF_LOWERED if stage is SeedStage.LOWERED else ALL
    mutated = Mutated(module)
    for _ in range(1 + choices.index(MOST_MUTATIONS)):
        choices.span(lambda: mutated.change(choices, choices.pick(kinds)))
    return mutated


_ACTIONS: dict[Mutation, Callable[[Choices, Any], Any]] = {
    Mutation.ALIAS: bindings.at_binding(bindings.alias),
    Mutation.REPLACE: bindings.at_binding(bindings.replace),
    Mutation.INSERT: bindings.at_binding(bindings.insert),
    Mutation.SWAP: bindings.at_binding(bindings.swap),
    Mutation.DUPLICATE: bindings.at_binding(bindings.duplicate),
    Mutation.DROP: bindings.at_binding(bindings.drop),
    Mutation.TUPLE: bindings.at_binding(bindings.through_tuple),
    Mutation.CAST: bindings.at_binding(bindings.cast),
    Mutation.COPY: functions.copy,
    Mutation.WRAP: functions.wrap,
    Mutation.RESIZE: functions.resize,
}
