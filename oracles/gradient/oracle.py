"""The numeric oracle's part for Gradient: whether the adjoints that it has added are right.

``<f>_adjoint`` must return what ``f`` returns, bit for bit, and derivatives of the target that agree with differences
of the ORIGINAL ``f`` (:mod:`oracles.measure.finite_differences` argues how close).  Passes after Gradient may change
how the adjoint is called, and their adapters are used; what changes the arguments before it leaves no original to
differentiate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm

from oracles.calling.compose import call
from oracles.calling.frame import Adapter
from oracles.calling.gradient import Gradient
from oracles.core.evidence import evidence_of
from oracles.core.verdict import Details, Evidence, Phase, Undecided
from oracles.gradient.blame import guilty_operator
from oracles.measure.comparison import compare
from oracles.measure.finite_differences import WrongGradient, adjoint_fault, leaves_of, settled, target_value
from oracles.measure.input_variations import digest
from oracles.measure.original import Entry, Original, copied
from oracles.measure.tolerance import unit_of
from relaxkit.interpreter import Interpreter, Raised, Undefined, Unsupported
from relaxkit.ir.functions import function_name, public_functions
from relaxkit.ir.types import floats_of
from relaxkit.passes.contract import NumericPromise
from relaxkit.runtime import Program, from_tvm
from relaxkit.runtime.perturb import Perturber

NOISE_RUNS = 4
NOISE_FACTOR = 4.0
"""Of the observed spread: what :mod:`oracles.measure.tolerance` grants where there are no long sums."""
KIND = "wrong-gradient"


class Unmeasurable(Exception):
    """No derivative can be measured; the message is the reason."""


def gradients_of(adapters: Sequence[Adapter]) -> list[tuple[Gradient, tuple[Adapter, ...], bool]]:
    """Each Gradient among adapters, those after it, and whether one before it changes calls."""
    found = []
    for index, adapter in enumerate(adapters):
        if isinstance(adapter, Gradient):
            changed = any(not isinstance(each, Gradient) for each in adapters[:index])
            found.append((adapter, tuple(adapters[index + 1 :]), changed))
    return found


def examine_gradient(
    original: Original,
    program: Program,
    gradient: Gradient,
    later: tuple[Adapter, ...],
    entry: Entry,
    promise: NumericPromise,
) -> Evidence | None:
    """Find what is wrong with one adjoint, which is called through the adapters of later passes.

    Raises:
        Unmeasurable: Nothing can be said of it.
    """
    if promise not in (NumericPromise.BIT_EXACT, NumericPromise.REASSOCIATION):
        raise Unmeasurable(Undecided.GRADIENT_OF_APPROXIMATION)
    arguments = arguments_for(original, gradient, entry)
    if any(leaf.array.size == 0 for leaf in leaves_of(arguments, ())):
        # What is broadcast to no elements has the gradient 0, a sum over nothing, and collapse_sum_to does not write
        # it: a defect of its legalization (case legalize-collapse-sum-empty).
        raise Unmeasurable(Undecided.GRADIENT_OF_NOTHING)
    try:
        expected = original.program.call(gradient.function, arguments)
    except Exception as error:
        raise Unmeasurable("original raises at run time") from error
    try:
        tensors = program.arguments(arguments)
        result = call(program, later, gradient.adjoint, entry.num_input, tensors)
    except Exception as error:
        found = evidence_of(error)
        details = Details(stage=Phase.RUN, entry=gradient.adjoint, error=found.message)
        message = f"adjoint: {found.kind}: {found.message}"
        return Evidence("run-error", message, found.frames, "the adjoint returns", details=details)
    if (changed := compare(copied(arguments), tuple(from_tvm(tensor) for tensor in tensors))) is not None:
        return _wrong("adjoint overwrites its inputs", gradient, changed.expected, changed.observed)
    loss = loss_of(original.program, gradient)
    noise = noise_of(original, gradient, arguments)
    exact = promise is NumericPromise.BIT_EXACT
    wrong, decided = adjoint_fault(loss, gradient, arguments, expected, result, noise, exact)
    if wrong is not None:
        return _evidence(
            wrong, gradient, guilty_operator(public_functions(original.module)[gradient.function], original.seed)
        )
    if not decided:
        raise Unmeasurable(Undecided.NO_DERIVATIVE)
    return None


def right_in_operators(original: Original, module: tvm.IRModule, gradient: Gradient, entry: Entry) -> bool:
    """Say whether the adjoint of a module in operators is right by their documentation: lowered, it is wrong."""
    arguments = arguments_for(original, gradient, entry)
    try:
        expected = original.program.call(gradient.function, arguments)
        result = Interpreter(module).call(function_name(module, gradient.adjoint), arguments)
    except (Unsupported, Undefined, Raised):
        return False
    loss, noise = loss_of(original.program, gradient), noise_of(original, gradient, arguments)
    wrong, decided = adjoint_fault(loss, gradient, arguments, expected, result, noise, exact=False)
    return wrong is None and decided > 0


def arguments_for(original: Original, gradient: Gradient, entry: Entry) -> tuple[Any, ...]:
    """Where a function is differentiated."""
    return settled(entry.arguments, _generator(original.seed, gradient.function))


def loss_of(program: Program, gradient: Gradient) -> Callable[[Sequence[Any]], float]:
    """Return the target as a function of the arguments."""
    return lambda arguments: target_value(program.call(gradient.function, arguments), gradient.target)


def noise_of(original: Original, gradient: Gradient, arguments: Sequence[Any]) -> float:
    """Measure how far rounding may carry one value of the target."""
    # What other functions compute in is not asked: half of the gradients would drown in roundings of a float16.
    unit = unit_of(NumericPromise.BIT_EXACT, floats_of(original.module, gradient.function))
    observer = Perturber(_generator(original.seed, "noise"), unit.relative, unit.floor)
    loss = loss_of(original.program, gradient)
    middle = loss(arguments)
    original.program.instrument(observer)
    spread = []
    try:
        for _ in range(NOISE_RUNS):
            observer.begin()
            spread.append(abs(loss(arguments) - middle))
    except Exception as error:  # a moved run may leave the domain of an operator, or never end
        raise Unmeasurable(Undecided.PERTURBED_RAISES) from error
    finally:
        original.program.instrument(None)
    # What a kernel rounds inside is not moved: exp(2x) - 1 in a tanh of little is right to a rounding of 1, not of its
    # result, so that a target of little is a staircase.
    elements = sum(leaf.array.size for leaf in leaves_of(tuple(arguments), ()))
    floor = max(abs(middle), math.sqrt(elements))
    return NOISE_FACTOR * (float(np.max(spread)) + unit.relative * floor)


def _generator(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng(digest(f"gradient:{seed}:{name}"))


def _evidence(wrong: WrongGradient, gradient: Gradient, operator: str) -> Evidence:
    what = ": ".join(filter(None, (wrong.what, operator)))
    place = f" for parameter {wrong.path[0]}{wrong.where}" if wrong.path else ""
    return _wrong(what, gradient, wrong.expected, wrong.observed, operator, place, "[]" if wrong.where else "")


def _wrong(
    what: str, gradient: Gradient, expected: str, observed: str, operator: str = "", place: str = "", path: str = ""
) -> Evidence:
    numbers = (path, expected, observed, observed)
    details = Details(stage=Phase.RUN, entry=gradient.adjoint, operator=operator, numbers=numbers)
    return Evidence(KIND, what, (), f"{gradient.adjoint} returns {expected}{place}", observed, details)
