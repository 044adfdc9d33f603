"""Running one call alone, and judging its result by the documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oracles.core.verdict import NOT_AS_DOCUMENTED, Details, Evidence, Phase
from oracles.measure.comparison import SINGLE, Mismatch, compare, is_floating, is_near
from oracles.measure.input_variations import Variation
from oracles.semantics.expected import Expectation
from oracles.semantics.nearness import Unsure, expectation
from oracles.semantics.single import NAME, SingleCall, lowered_by
from relaxkit.interpreter import Interpreter
from relaxkit.interpreter.operands import limits
from relaxkit.passes.contract import EvidenceClass
from relaxkit.runtime import Program, Value, private_constants, session
from relaxkit.runtime.poison import PATTERNS, poisoned
from relaxkit.runtime.values import arrays_in

# What TVM's own documentation says of a call.

LONGEST = 200
_SENTENCES = re.compile(r"(?<=\w\w\.) +(?=[A-Z])")


def documentation(call: SingleCall) -> str:
    """Return what TVM says of the arguments that are given otherwise than by default, else of the operator.

    Empty where it says nothing.
    """
    text = inspect.getdoc(call.function) or ""
    told = {name: re.search(rf"^{name} *:.*\n((?: +.*\n)+)", f"{text}\n", re.MULTILINE) for name in call.given}
    said = [f"{name}: {_beginning(found[1], LONGEST)}" for name, found in told.items() if found is not None]
    return " ".join(said) or _beginning(text.partition("\n\n")[0], 0)


def _beginning(text: str, most: int) -> str:
    """Return the first sentences of a text, at least one and else of so many characters."""
    first, *more = _SENTENCES.split(" ".join(text.split()))
    for sentence in more:
        if len(first) + len(sentence) >= most:
            break
        first += f" {sentence}"
    return first


VALUE = "wrong value"
UNINITIALIZED = "reads uninitialized memory"
FLOAT8 = "relax.astype of float8"
"""Who is to blame where zeros or subnormals of float8 are read or written: whatever computes in float8 casts."""
_WRONG = {"wrong-value": VALUE, "wrong-shape": "wrong shape", "wrong-dtype": "wrong dtype"}


@dataclass(frozen=True, slots=True)
class WrongCall:
    """A call that TVM lowers to something else than is documented.

    Attributes:
        guilty: The operator.
        what: What is wrong with its result, in two or three words.
        culprit: The pass that lowers it.
        flags: Attributes, true or false, that are given otherwise than by default, and without which nothing is wrong:
            one cause each, for many operators are wrong in several ways.
    """

    call: SingleCall
    guilty: str
    what: str
    culprit: str
    expectation: Expectation
    mismatch: Mismatch
    flags: tuple[str, ...] = ()

    @property
    def evidence(self) -> Evidence:
        """For the verdict: names the operator and what is wrong, and nothing of the program around it."""
        said = documentation(self.call)
        return Evidence(
            NOT_AS_DOCUMENTED,
            f"{self.guilty}: {self.what}",
            expected=self.mismatch.due(self.call.operator, "gives") + (f' ("{said}")' if said else ""),
            observed=self.mismatch.observed,
            details=Details(
                stage=Phase.SINGLE_CALL,
                entry=self.call.operator,
                operator=self.guilty,
                subject=", ".join(self.flags),
                variation=_kind_of(self.call.arguments).value,
                numbers=self.mismatch.numbers,
                rests_on=EvidenceClass.OURS if self.mismatch.slight or self._cancels else None,
            ),
        )

    @property
    def _cancels(self) -> bool:
        """Say whether what differs are digits that the greatest operand does not have as a float32."""
        _, expected, _, seen = self.mismatch.numbers
        floats = [array for array in arrays_in(self.call.arguments) if is_floating(array.dtype)]
        greatest = max((float(np.nanmax(np.abs(each), initial=0)) for each in floats), default=0.0)
        return is_near(expected, seen) and abs(float(seen) - float(expected.partition(" ")[0])) <= SINGLE * greatest


def fault_of(call: SingleCall) -> WrongCall | None:
    """Find what is wrong with what TVM computes for one call; ``None`` where nothing is, or nothing can be said."""
    found = _fault_of(call)
    if found is None or found.what != VALUE:
        return found
    return replace(found, flags=tuple(flag for flag in call.flags if not _is_wrong(call, flag)))


def _is_wrong(call: SingleCall, flag: str) -> bool:
    """Say whether a call is wrong with the other value of a flag, too, or that cannot be."""
    try:
        return _fault_of(call.with_other(flag)) is not None
    except Exception:
        return True


def _fault_of(call: SingleCall) -> WrongCall | None:
    try:
        program = session().build(private_constants(call.module))
    except Exception:  # what does not build gives no wrong result
        return None
    found = _judged(call, program)
    first, *others = call.arguments or (None,)
    floating = isinstance(first, np.ndarray) and is_floating(first.dtype)
    if found is None or found.what != VALUE or not _loses_digits(found) or not floating:
        return found
    # Few roundings convince nobody. Where it is cancellation that loses digits, greater operands lose more of them.
    plainer = _judged(replace(call, arguments=(first + first.dtype.type(1000), *others)), program)
    return found if plainer is None or plainer.what != VALUE or _loses_digits(plainer) else plainer


def _loses_digits(found: WrongCall) -> bool:
    """Say whether the result is a float that agrees in its first digits with what is expected."""
    _, expected, _, seen = found.mismatch.numbers
    return is_near(expected, seen)


def _judged(call: SingleCall, program: Program) -> WrongCall | None:
    try:
        plain = Interpreter(call.module).call(NAME, call.arguments)
        observed = run_poisoned(program, NAME, call.arguments)
    except Exception:  # what raises gives no wrong result
        return None
    if compare(plain, observed) is None:
        return None
    try:
        expected = expectation(call.module, NAME, call.arguments)
    except Unsure:
        return None
    mismatch = expected.mismatch(observed)
    if mismatch is None or mismatch.kind not in _WRONG:
        return None
    what, guilty = _WRONG[mismatch.kind], call.operator
    if what == VALUE and _is_left(mismatch.path, observed, program, call):
        what = UNINITIALIZED
    elif any(map(_has_small_float8, (call.arguments, plain))):
        guilty = FLOAT8
    return WrongCall(call, guilty, what, lowered_by(call.operator), expected, mismatch)


def _is_left(path: tuple[int, ...], observed: Value, program: Program, call: SingleCall) -> bool:
    """Say whether an array of the result, or a part of it, is what was in memory before, by each of the patterns.

    What reads outside of its operands gives anything, and now and then another thing; that is a wrong value.
    """
    again = run_poisoned(program, NAME, call.arguments, PATTERNS[1])
    left = [_bytes_of(result, path) == pattern for result, pattern in zip((observed, again), PATTERNS, strict=True)]
    return all(each.ndim == 2 for each in left) and bool((left[0].all(-1) & left[1].all(-1)).any())


def _bytes_of(value: Value, path: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the bytes of each element of the array at a path."""
    for index in path:
        assert isinstance(value, tuple)
        value = value[index]
    array = np.ascontiguousarray(value)
    return array.reshape(-1, 1).view(np.uint8).reshape(array.size, -1)


def run_poisoned(program: Program, symbol: str, arguments: Sequence[Any], pattern: int = PATTERNS[0]) -> Value:
    """Call a function in memory full of a pattern: what is read before it is written is the same each time."""
    program.take_output()
    with poisoned(program, pattern):
        return program.call(symbol, arguments)


def _kind_of(arguments: Any) -> Variation:
    """Return the inputs that operands are like: ordinary ones, or without elements, NaN, infinite, the greatest."""
    arrays = arrays_in(arguments)
    if any(each.size == 0 for each in arrays):
        return Variation.NO_ELEMENTS
    floats = [each.astype("float64") for each in arrays if is_floating(each.dtype)]
    if any(bool(np.any(np.isnan(each))) for each in floats):
        return Variation.NAN
    if any(bool(np.any(np.isinf(each))) for each in floats):
        return Variation.INFINITIES
    wide = [each for each in arrays if is_floating(each.dtype) and each.itemsize > 1]  # those of float8 are ordinary
    greatest = any(bool(np.any(np.abs(each) == limits(each.dtype).max)) for each in wide)
    return Variation.EXTREMES if greatest else Variation.DEFAULT


def _has_small_float8(value: Any) -> bool:
    """Say whether an array of float8 holds a zero or a subnormal number."""
    small = [each for each in arrays_in(value) if each.dtype.name.startswith("float8")]
    return any(bool(np.any(np.abs(each.astype("float64")) < float(limits(each.dtype).tiny))) for each in small)
