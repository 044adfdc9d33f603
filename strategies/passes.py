"""Passes with their arguments, and pipelines, as strategies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from hypothesis import strategies as st
from tvm import relax, tirx
from tvm.relax.dpl import is_op, wildcard

from strategies.choices import Choices, Draw
from strategies.fitness import NEVER, fitness
from strategies.module_facts import Facts, facts_of
from strategies.modules import described_modules
from strategies.pass_table import CONSTRUCTORS

FUSION_STAGE = (
    "DispatchSampling",
    "DispatchSortScan",
    "LegalizeOps",
    "AlterOpImpl",
    "AnnotateTIROpPattern",
    "FoldConstant",
    "FuseOps",
    "FuseTIR",
    "AttachAttrLayoutFreeBuffers",
    "SplitLayoutRewritePreproc",
    "SpecializePrimFuncBasedOnCallSite",
    "RewriteDataflowReshape",
)
"""Order in which passes of the fusion stage are legal; any of them may be left out."""

LOWERING_STAGE = (
    "ToNonDataflow",
    "RemovePurityChecking",
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "RewriteCUDAGraph",
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "ComputePrimValue",
    "VMShapeLower",
    "AttachGlobalSymbol",
)
"""Order in which lowering passes are legal, behind the fusion stage."""

AT_ANY_STAGE = frozenset(
    {
        "AllocateWorkspace",
        "CanonicalizeBindings",
        "DeadCodeElimination",
        "EliminateCommonSubexpr",
        "LambdaLift",
        "Normalize",
        "NormalizeGlobalVar",
        "RealizeVDevice",
    }
)
"""Passes that may run between and after the lowering passes as well."""

ON_LOWERED = AT_ANY_STAGE | (frozenset(LOWERING_STAGE) - {"CallTIRRewrite"})
"""Passes that are meant for modules that are lowered already; what makes lowered code is not."""

BUILDS = ("build:cpu", "build:default", "build:zero")

HIGH_LEVEL = tuple(
    name for name in CONSTRUCTORS if name not in {*FUSION_STAGE, *LOWERING_STAGE, *BUILDS, "AllocateWorkspace"}
)
"""Passes on the high-level graph: legal in any order before LegalizeOps."""


@dataclass(frozen=True, slots=True)
class DrawnPass:
    """A pass with its arguments.

    Attributes:
        name: Name in :data:`PASSES`.
        expression: Source text that constructs it, over the names ``np``, ``tvm``, ``relax``, ``tirx``, ``is_op`` and
            ``wildcard``.
    """

    name: str
    expression: str

    def build(self) -> Any:
        """Construct the ``tvm.ir.transform.Pass``."""
        return eval(self.expression, _names())  # the text comes from the table


@functools.cache
def _names() -> dict[str, Any]:
    return {"np": np, "tvm": tvm, "relax": relax, "tirx": tirx, "is_op": is_op, "wildcard": wildcard}


def _expression(name: str) -> Callable[[Draw, Any], str]:
    return lambda draw, module: CONSTRUCTORS[name](Choices(draw), facts_of(module))


PASSES: dict[str, Callable[[Draw, Any], str]] = {name: _expression(name) for name in CONSTRUCTORS}
"""Name of a pass -> draws the text that constructs it for a module (``None``: for any)."""


def passes(names: Sequence[str] | None = None) -> st.SearchStrategy[DrawnPass]:
    """A strategy of passes whose arguments suit any module; raises ``ValueError`` for an unknown name."""
    return _passes(_checked(names), None)


def passes_for(module: Any, names: Sequence[str] | None = None) -> st.SearchStrategy[DrawnPass]:
    """A strategy of passes whose arguments suit ``module``; raises ``ValueError`` for an unknown name."""
    return _passes(_checked(names), facts_of(module))


def pipelines(
    names: Sequence[str] | None = None, min_size: int = 2, max_size: int = 6, module: Any = None
) -> st.SearchStrategy[tuple[DrawnPass, ...]]:
    """A strategy of pipelines in a legal order: high-level passes freely, then fusion, then lowering ones in theirs.

    Args:
        names: Passes to draw from, ``None`` for all but the whole builds.
        min_size: Least number of passes.
        max_size: Greatest number of passes.
        module: A module that the arguments must suit.

    Raises:
        ValueError: for an unknown name, or sizes out of order.
    """
    if not 1 <= min_size <= max_size:
        raise ValueError(f"no pipelines of {min_size} to {max_size} passes")
    chosen = tuple(name for name in _checked(names) if name not in BUILDS)
    if not chosen:
        raise ValueError("a pipeline needs a pass that is not a whole build")
    return _pipelines(chosen, min_size, max_size, facts_of(module))


@st.composite
def _passes(draw: Draw, names: tuple[str, ...], facts: Facts | None) -> DrawnPass:
    choices = Choices(draw)
    return _one(choices, choices.pick(names), facts or Facts())


@st.composite
def _pipelines(draw: Draw, names: tuple[str, ...], min_size: int, max_size: int, facts: Facts) -> tuple[DrawnPass, ...]:
    return draw_pipeline(Choices(draw), names, min_size, max_size, facts)


def draw_pipeline(
    choices: Choices, names: Sequence[str], min_size: int, max_size: int, facts: Facts
) -> tuple[DrawnPass, ...]:
    """Draw a pipeline; see :func:`pipelines`."""
    size = choices.integer(min_size, max_size)
    if facts.lowered:
        names = [name for name in names if name in ON_LOWERED] or names
    high = [name for name in names if name in HIGH_LEVEL]
    late = [name for name in (*FUSION_STAGE, *LOWERING_STAGE) if name in names]
    others = max(0, min(choices.index(size + 1) if high else size, len(late)))
    drawn = [choices.pick(high or list(names)) for _ in range(size - others)]
    for _ in range(others):
        drawn.append(late.pop(choices.index(len(late))))
    order = {name: index for index, name in enumerate((*FUSION_STAGE, *LOWERING_STAGE))}
    drawn.sort(key=lambda name: order.get(name, -1))  # stable: high-level ones keep their drawn order
    return tuple(_one(choices, name, facts) for name in drawn)


@st.composite
def module_and_passes(
    draw: Draw,
    names: Sequence[str] | None = None,
    count: int = 8,
    modules: st.SearchStrategy[Any] | None = None,
) -> tuple[Any, tuple[DrawnPass, ...]]:
    """A strategy of a module and ``count`` different passes (fewer where there are fewer names) that suit it.

    Passes whose trigger the module has not (weights, symbolic dims, vdevices, kernels, composite calls) give way to
    others, so that a case spends itself on passes that can act; those that an idiom was planted for go first.
    """
    if modules is None:
        described = draw(described_modules())
        module, idioms = described.module, described.idioms
    else:
        module, idioms = draw(modules), ()
    return module, draw_passes(Choices(draw), _checked(names), count, facts_of(module, idioms))


def draw_passes(
    choices: Choices, names: Sequence[str], count: int, facts: Facts, effort: Mapping[str, int] | None = None
) -> tuple[DrawnPass, ...]:
    """Draw ``count`` different passes that suit a module; see :func:`module_and_passes`.

    Args:
        choices: Decides.
        names: Passes to draw from.
        count: How many.
        facts: Of the module.
        effort: Weights of passes, 1 where nothing is said; ``None``: all alike.
    """
    fits = {name: weight_of(name, facts) for name in names}
    left = [name for name in names if fits[name]] or list(names)
    chosen = []
    for _ in range(min(count, len(left))):
        weights = [max(1, fits[n]) * (1 if effort is None else effort.get(n, 1)) for n in left]
        chosen.append(_one(choices, left.pop(_weighted(choices, weights)), facts))
    return tuple(chosen)


def _weighted(choices: Choices, weights: Sequence[int]) -> int:
    """Draw an index, each as often as its weight says."""
    at = choices.index(sum(weights))
    index = 0
    while at >= weights[index]:
        at -= weights[index]
        index += 1
    return index


def can_act(name: str, facts: Facts) -> bool:
    """Whether a module has at least what a pass needs to change anything or to accept it."""
    return weight_of(name, facts) > NEVER


def weight_of(name: str, facts: Facts) -> int:
    """How often a pass should be tried on a module; see :func:`strategies.fitness.fitness`."""
    if facts.lowered and name not in ON_LOWERED:
        return NEVER
    return fitness(name, facts)


def _one(choices: Choices, name: str, facts: Facts) -> DrawnPass:
    return DrawnPass(name, CONSTRUCTORS[name](choices, facts))


def _checked(names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return tuple(CONSTRUCTORS)
    if unknown := [name for name in names if name not in CONSTRUCTORS]:
        raise ValueError(f"unknown passes: {', '.join(sorted(unknown))}")
    if not names:
        raise ValueError("no passes to draw from")
    return tuple(names)
