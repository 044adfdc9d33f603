"""The variation of a module that the locality oracle tries: one per subject, decided by the seed of its case."""

from __future__ import annotations

import enum
import functools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tvm

from oracles.core.module_facts import apply
from oracles.core.subject import Subject
from oracles.metamorphic import unrelated as locality_unrelated
from oracles.metamorphic.locality_compare import reached
from oracles.metamorphic.unrelated import NAME, unmistakable, unrelated_twin
from relaxkit.ir.edits import functions_of, joined, renamed, reordered, without
from relaxkit.ir.equality import graph_of, module_of
from relaxkit.ir.functions import has_attribute, is_public
from relaxkit.passes.arguments import names_in
from relaxkit.passes.contract import Locality, Stage, Trait
from relaxkit.passes.contracts import any_has
from relaxkit.passes.pass_ref import Substitute
from relaxkit.passes.plan import preparing

BUILDERS: dict[str, Callable[[], tvm.IRModule]] = {
    name: builder
    for name, builder in vars(locality_unrelated).items()
    if name.startswith(f"{NAME}_") and builder is not unrelated_twin
}
"""Builders of unrelated functions by name."""


class Change(enum.Enum):
    """The kinds of changes."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    REORDERED = "reordered"

    @property
    def words(self) -> str:
        """Words for a signature: what shows in the same defects shares them."""
        if self is Change.RENAMED:
            return "under other private names"
        return "in another order of functions" if self is Change.REORDERED else "beside other functions"

    @property
    def undone(self) -> str:
        """Words for a module that is not changed so."""
        undone = {
            Change.ADDED: "without the unrelated functions",
            Change.REMOVED: "beside the functions that were removed",
        }
        return undone.get(self, "under the names and in the order that the functions had")


@dataclass(frozen=True, slots=True)
class ModuleVariation:
    """A change of a module that must not matter elsewhere.

    Attributes:
        call: The change as an expression over ``module`` and ``unrelated``, for a repro script.
        fixed: Names that are not the pass's to choose: those of public functions.
        roots: Names of the functions that must come out as they do without the change.
        builder: The expression that makes the functions that are put in, for a repro script; empty when none are.
        unrelated: The module of the functions that are put in, brought to the stage of the module; or ``None``.
    """

    change: Change
    call: str
    module: tvm.IRModule
    fixed: frozenset[str]
    roots: tuple[str, ...]
    builder: str = ""
    unrelated: tvm.IRModule | None = None

    @property
    def made(self) -> bool:
        """``True`` when functions that the pass makes must be made again, under the same names."""
        return self.change in (Change.ADDED, Change.REORDERED)


def draw(subject: Subject, reach: Locality) -> ModuleVariation | None:
    """Draw the variation of the subject's prepared module that its seed decides; ``None`` when none is possible.

    It depends on the seed alone where it can, so that a smaller module of the minimizer is varied in the same way.
    Only the prepared module is varied: preparing passes are judged where it is their turn, and a fault of theirs must
    not be blamed on this one.  What is put in was prepared by itself.
    """
    chance = random.Random(f"locality:{subject.input_seed}")
    kinds = chance.choice(
        (
            (_added, _renamed, _reordered, _removed),
            (_added, _reordered, _renamed, _removed),
            (_reordered, _added, _renamed, _removed),
            (_renamed, _added, _reordered, _removed),
            (_removed, _added, _renamed, _reordered),
        )
    )
    drawn = (kind(subject, chance, reach) for kind in kinds)
    return next((variation for variation in drawn if variation is not None), None)


def _added(subject: Subject, chance: random.Random, reach: Locality) -> ModuleVariation | None:
    first, twin = chance.random() < 0.5, chance.random() < 0.3
    module, fixed = subject.module, _public(subject.module)
    if not fixed or any(name.startswith(NAME) for name in functions_of(module)):
        return None
    twin &= not module.global_infos  # TVM finds a device, or a mesh, by its address, and a copy has its own
    builder, unrelated = _twin(subject, chance) if twin else _built(subject, chance)
    if unrelated is None:
        return None
    call = "unrelated"
    private = sorted(set(functions_of(unrelated)) - _public(unrelated))
    if private and (taken := _taken(subject, chance)):
        changes = {chance.choice(private): taken}
        unrelated, call = renamed(unrelated, changes), f"renamed(unrelated, {changes!r})"
    varied, call = joined(module, unrelated, first), f"joined(module, {call}, {first})"
    return ModuleVariation(Change.ADDED, call, varied, fixed, tuple(sorted(fixed)), builder, unrelated)


def _built(subject: Subject, chance: random.Random) -> tuple[str, tvm.IRModule | None]:
    """Draw one of the builders; return the expression of its module at the stage of the subject's, and that module."""
    passes = ", ".join(ref.expression for ref in subject.plan.prepare)  # of which the subject's module may need none
    for name in chance.sample(sorted(BUILDERS), len(BUILDERS)):
        unrelated = prepared(name, tuple(ref.name for ref in subject.plan.prepare))
        if unrelated is not None:
            return f"unmistakable(run_passes([{passes}], {name}()))", unrelated
    return "", None


def _twin(subject: Subject, chance: random.Random) -> tuple[str, tvm.IRModule | None]:
    """Copy a public function, and sometimes legalize it; return the expression of that, and the module."""
    module = subject.module
    root = chance.choice(sorted(_public(module)))
    legalize = chance.random() < 0.5 and subject.contract.needs is Stage.HIGH_LEVEL
    if subject.facts is None or subject.facts.reload is None:
        return "", None
    try:
        return f"unrelated_twin(module, {root!r}, {legalize})", unrelated_twin(module, root, legalize)
    except Exception:  # LegalizeOps raises
        return f"unrelated_twin(module, {root!r}, False)", unrelated_twin(module, root, False)


def _removed(subject: Subject, chance: random.Random, reach: Locality) -> ModuleVariation | None:
    module = subject.module
    functions, fixed = functions_of(module), _public(module)
    below = {name: set(reached(functions, name)) for name in functions}
    called = {callee for name in functions for callee in below[name] if callee != name}
    free = sorted(set(functions) - called)
    chance.shuffle(free)
    for name in free:
        kept = set().union(*(below[other] for other in functions if other not in below[name]))
        gone = sorted(below[name] - kept)
        # A pass may look at callers: what the removed function called is then not unrelated to it.
        touched = below[name] if reach is not Locality.FUNCTION else set(gone)
        roots = tuple(sorted(root for root in fixed if not below[root] & touched))
        if roots and not _named(subject) & set(gone):
            call = f"without(module, {gone!r})"
            return ModuleVariation(Change.REMOVED, call, without(module, gone), fixed - set(gone), roots)
    return None


def _renamed(subject: Subject, chance: random.Random, reach: Locality) -> ModuleVariation | None:
    module = subject.module
    fixed, names = _public(module), list(functions_of(module))
    if any_has((step.contract for step in subject.plan.steps[:-1]), Trait.PUBLISHES):
        return None  # the passes behind it see public functions of other names, and those are nobody's to change
    private = [name for name in names if name not in fixed | _named(subject) | _linked(subject)]
    chosen = [name for name in private if chance.random() < 0.5] or private[:1]
    if not chosen or not fixed:
        return None
    prefix = chance.choice(("a_", "zz_"))  # to the other end of the alphabet; passes may look at how a name ends
    changes = {name: prefix + name for name in chosen}
    if taken := _taken(subject, chance):
        changes[chance.choice(chosen)] = taken
    if set(changes.values()) & set(names):
        return None
    call, varied = f"renamed(module, {changes!r})", renamed(module, changes)
    return ModuleVariation(Change.RENAMED, call, varied, fixed, tuple(sorted(fixed)))


def _reordered(subject: Subject, chance: random.Random, reach: Locality) -> ModuleVariation | None:
    module = subject.module
    names, fixed = list(functions_of(module)), _public(module)
    order = names[::-1] if chance.random() < 0.5 else chance.sample(names, len(names))
    if order == names:
        order = names[1:] + names[:1]
    if order == names or not fixed:
        return None
    call, varied = f"reordered(module, {order!r})", reordered(module, order)
    return ModuleVariation(Change.REORDERED, call, varied, fixed, tuple(sorted(fixed)))


def _taken(subject: Subject, chance: random.Random) -> str:
    """Draw, now and then, the name of a private function that the first pass makes, which must then find another."""
    if chance.random() < 0.5 or subject.chain[0].error is not None:
        return ""
    made = functions_of(subject.chain[0].module)
    new = sorted(set(made) - set(functions_of(subject.module)) - _public(subject.chain[0].module))
    return chance.choice(new) if new else ""


def _public(module: tvm.IRModule) -> frozenset[str]:
    """Return the names of the functions whose names belong to callers outside."""
    return frozenset(name for name, function in functions_of(module).items() if is_public(function))


def _named(subject: Subject) -> set[str]:
    """Return the names of functions that an argument of a pass asks for."""
    return {word for step in subject.plan.steps for word in names_in(step.ref.expression)}


def _linked(subject: Subject) -> set[str]:
    """Return the names of composites that are compiled outside: functions around them are named after them, and linked.

    So says RunCodegen among the passes, or a function of the module that was made so: a pass that makes the same one
    of the same composite takes it, under that very name.
    """
    functions = functions_of(subject.module)
    outside = any(has_attribute(function, "Codegen") for function in functions.values())
    if not outside and not any(step.ref.substitute is Substitute.CODEGEN for step in subject.plan.steps):
        return set()
    return {name for name, function in functions.items() if has_attribute(function, "Composite")}


def prepared(builder: str, names: tuple[str, ...]) -> tvm.IRModule | None:
    """Return the functions of a builder after preparing passes, as objects that nobody else has.

    ``None`` when a preparing pass fails or leaves nothing.
    """
    graph = _prepared_graph(builder, names)
    return None if graph is None else module_of(graph)


@functools.cache
def _prepared_graph(builder: str, names: tuple[str, ...]) -> Any:
    module = BUILDERS[builder]()
    for name in names:
        module = apply(preparing(name).build(), module).module
        if module is None:
            return None
    return graph_of(unmistakable(module)) if module.functions else None
