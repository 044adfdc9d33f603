"""Which call of a program does TVM lower to something else than is documented?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import tvm

from oracles.core.verdict import Phase
from oracles.measure.comparison import compare, is_floating
from oracles.measure.definedness import hides
from oracles.measure.input_variations import ASKED, Variation, drawn
from oracles.measure.inputs import Unmaterializable, materialize
from oracles.measure.original import Original, Reporter, unreported
from oracles.semantics.nearness import expectation
from oracles.semantics.replay import WrongCall, fault_of, run_poisoned
from oracles.semantics.single import NotAlone, SingleCall, single_call
from relaxkit.interpreter import Interpreter, Raised, Request, Undefined, Unsupported
from relaxkit.interpreter.operands import limits
from relaxkit.ir.functions import name_in, public_functions
from relaxkit.runtime.values import arrays_in, flattened

MOST_CALLS = 32
"""Calls of one module that are run alone."""


def wrong_call(original: Original, stage: Reporter) -> WrongCall | None:
    """Find the first call of a module, on the inputs of its seed, whose result is not as documented."""
    return first_fault(_requests(original, stage), stage)


def first_fault(requests: Iterable[Request], stage: Reporter = unreported) -> WrongCall | None:
    """Return the first of some evaluated calls whose result is not as documented, each run alone; ``None`` for none."""
    seen: set[bytes] = set()
    for request in requests:
        try:
            call = single_call(request)
        except NotAlone:
            continue
        if (key := _key(call)) in seen:
            continue
        if len(seen) == MOST_CALLS:
            break
        seen.add(key)
        stage(Phase.SINGLE_CALL, call.operator)
        if (found := fault_of(call)) is not None:
            return found
    return None


def _requests(original: Original, stage: Reporter) -> Iterator[Request]:
    """Calls that may be wrong, in the order of the program."""
    module = original.module
    for symbol, function in sorted(public_functions(module).items()):
        if "Codegen" in function.attrs:  # computed by somebody else
            continue
        name = name_in(module, function)
        for variation in (Variation.DEFAULT, *drawn(original.seed)):
            yield from _suspects(original, symbol, name, variation, stage)


def _suspects(original: Original, symbol: str, name: str, variation: Variation, stage: Reporter) -> list[Request]:
    """Calls of a function on inputs of one kind; none where it gives what is documented."""
    module, program = original.module, original.program
    try:
        arguments = tuple(materialize(module, name, original.seed, original.given, variation))
    except Unmaterializable:
        return []
    stage(Phase.INTERPRET, symbol)
    made: list[Request] = []
    try:
        value = Interpreter(module, observer=lambda request, _: made.append(request)).call(name, arguments)
    except (Unsupported, Undefined, Raised):
        # What came before has a meaning all the same.
        return [each for each in made if variation not in ASKED or _is_hard(each)]
    if variation in ASKED and hides(module, original.text, variation):
        return [each for each in made if _is_hard(each)]
    stage(Phase.RUN_ORIGINAL, symbol)
    try:
        observed = run_poisoned(program, symbol, arguments)
        if compare(value, observed) is None or expectation(module, name, arguments).mismatch(observed) is None:
            return []
    except Exception:  # it raises, or nothing can be said of it as a whole
        return made
    return made


def _key(call: SingleCall) -> bytes:
    """Equal for equal calls on equal operands."""
    operands = [
        each.tobytes() if isinstance(each, np.ndarray) else str(each).encode() for each in flattened(call.arguments)
    ]
    return b"\0".join([str(tvm.ir.save_json(call.module)).encode(), *operands])


def _is_hard(request: Request) -> bool:
    """Say whether an operand is empty, or holds what is infinite, NaN or very great."""
    for array in arrays_in(list(request.args)):
        if array.size == 0:
            return True
        if is_floating(array.dtype):
            with np.errstate(invalid="ignore"):
                if np.any(~(np.abs(array.astype("float64")) < float(limits(array.dtype).max) / 4)):
                    return True
    return False
