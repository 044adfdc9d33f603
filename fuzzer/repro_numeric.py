"""The numeric oracle's part of a repro script: inputs, adapters and tolerances as literals."""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm

from oracles.comparison import is_floating
from oracles.contract import NumericPromise
from oracles.differentiation import KIND, arguments_for, gradients_of, noise_of
from oracles.examination import Candidate
from oracles.execution import ExecMode
from oracles.given import given_of
from oracles.numeric import candidate_of
from oracles.original import Entry, Original
from oracles.subject import Subject
from oracles.tolerance import unit_of
from oracles.variations import Variation

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.verdict import Evidence, Verdict

NUMERIC_PIECES = (
    "oracles/execution/mode.py",
    "oracles/execution/values.py",
    "oracles/execution/closures.py",
    "oracles/execution/lowering.py",
    "oracles/execution/assemble.py",
    "oracles/execution/effects.py",
    "oracles/execution/run.py",
    "oracles/execution/poison.py",
    "oracles/comparison.py",
    "oracles/abi/frame.py",
    "oracles/abi/lift.py",
    "oracles/abi/parameters.py",
    "oracles/abi/bundle.py",
    "oracles/abi/lazy.py",
    "oracles/abi/lazy_transform.py",
    "oracles/abi/gradient.py",
    "oracles/abi/compose.py",
    "oracles/gradient.py",
    "fuzzer/repro_pieces/numeric_repeats.py",
    "fuzzer/repro_pieces/numeric.py",
    "fuzzer/repro_pieces/gradient.py",
)
_INLINE_ELEMENTS = 256
_COMPILED = ", compiled mode"
_REPEATED = ("output-overwritten", "later-call-differs")
_ENDS = (",", " returns", " prints")  # what evidence says behind the title of an entry


@dataclass(frozen=True, slots=True)
class NumericParts:
    """Text of the numeric check.

    Attributes:
        call: The expression that checks.
        preamble: ``INPUTS``, ``ADAPTERS`` and ``TOLERANCES``.
    """

    call: str
    preamble: str


def numeric_parts(case: Case, verdict: Verdict, module: Any, fragments: list[str]) -> NumericParts:
    """The literals and the call for one failing verdict; builds and runs the original to get them."""
    evidence = verdict.evidence
    assert evidence is not None
    subject = Subject(module, case.passes, input_seed=case.input_seed)
    facts = subject.facts
    if facts is None:
        raise ValueError("the module cannot be prepared")
    given = given_of([(step.ref.name, step.ref.expression) for step in subject.plan.steps])
    before, whole = facts.reload or facts.module, subject.given_facts
    source = whole.reload or whole.module, whole.snapshot
    original = Original(before, facts.snapshot, case.input_seed, given, lambda _text: None, lambda: source)
    candidate = candidate_of(subject, original, len(subject.plan.steps) - 1)
    if evidence.kind == KIND:
        return _gradient_parts(original, candidate, evidence)
    compiled = _COMPILED in evidence.message or verdict.culprit == "VMTIRCodeGen"
    mode = ExecMode.COMPILED if compiled else ExecMode.BYTECODE
    building = evidence.kind == "does-not-build"
    entries = [] if building else _entries(original, candidate, evidence)
    inputs = [_input(entry) for entry in entries]
    tolerances = _tolerances(original, candidate, entries)
    words = fragments if evidence.kind in ("does-not-build", "run-error") else []
    preamble = (
        "# Public functions to call: name, name with its inputs, num_input, arguments.\n"
        f"INPUTS = [{''.join(inputs)}{chr(10) if inputs else ''}]\n\n"
        "# How callers must change for what the passes do to the calling convention.\n"
        f"ADAPTERS = ({''.join(f'{adapter!r}, ' for adapter in candidate.adapters)})\n\n"
        "# Absolute tolerance of each element, by name with inputs and path of the output; nothing means exact.\n"
        f"TOLERANCES = {{{''.join(tolerances)}{chr(10) if tolerances else ''}}}\n"
    )
    call = (
        f"check_numeric(module, passes, INPUTS, ADAPTERS, {evidence.kind!r}, {words!r}, {mode.value!r}, "
        f"{candidate.lowered}, TOLERANCES)"
    )
    return NumericParts(call, preamble)


def _gradient_parts(original: Original, candidate: Candidate, evidence: Evidence) -> NumericParts:
    """The literals and the call where an adjoint is wrong."""
    entries = {entry.symbol: entry for entry in original.entries if not entry.problem}
    for gradient, later, changed in gradients_of(candidate.adapters):
        if changed or gradient.function not in entries or not evidence.expected.startswith(f"{gradient.adjoint}:"):
            continue
        entry = entries[gradient.function]
        arguments = arguments_for(original, gradient, entry)
        preamble = (
            "# What was differentiated, and how callers must change for the passes behind Gradient.\n"
            f"GRADIENT = {gradient!r}\nLATER = ({''.join(f'{adapter!r}, ' for adapter in later)})\n\n"
            f"# Where.\nARGUMENTS = ({''.join(f'{chr(10)}    {literal(item)},' for item in arguments)}\n)\n"
        )
        exact = candidate.promise is NumericPromise.BIT_EXACT
        noise = noise_of(original, gradient, arguments)
        call = f"check_gradient(module, passes, GRADIENT, LATER, {entry.num_input!r}, ARGUMENTS, {noise!r}, {exact})"
        return NumericParts(call, preamble)
    raise ValueError("the adjoint is gone")


def _entries(original: Original, candidate: Candidate, evidence: Evidence) -> list[Entry]:
    """What the script calls: each function on the inputs that show the failure, and on those before them.

    A failure on other inputs than the first says so; of a death of the process nobody knows on which inputs it was.
    """
    first = [entry for entry in original.entries if not entry.problem]
    special = candidate.promise is NumericPromise.BIT_EXACT and not candidate.adapters
    every = {entry.symbol: [entry, *original.varied(entry, special)] for entry in first}
    called = [entry for entries in every.values() for entry in entries]
    begun = tuple(evidence.expected.startswith(tuple(f"{entry.title}{end}" for end in _ENDS)) for entry in called)
    if not any(begun):
        return called
    shown = max((entry for entry, fits in zip(called, begun, strict=True) if fits), key=lambda entry: len(entry.title))
    if evidence.kind in _REPEATED:
        return every[shown.symbol]
    return first if shown.variation is Variation.DEFAULT else [shown]


def _input(entry: Entry) -> str:
    arguments = "".join(f"\n        {literal(item)}," for item in entry.arguments)
    return f"\n    ({entry.symbol!r}, {entry.title!r}, {entry.num_input!r}, ({arguments}\n    )),"


def _tolerances(original: Original, candidate: Candidate, entries: list[Entry]) -> list[str]:
    """Lines of the tolerance table; empty for a bit-exact promise."""
    if candidate.promise is NumericPromise.BIT_EXACT:
        return []
    lines: list[str] = []
    for entry in entries:
        measured = original.measured(entry, unit_of(candidate.promise, original.float_dtypes))
        if measured is None:
            continue
        for path, array in _leaves(entry.output, ()):
            allowed = measured.tolerance(path, array, array)
            if allowed.any():
                lines.append(f"\n    ({entry.title!r}, {path!r}): {literal(allowed)},")
    return lines


def _leaves(value: Any, path: tuple[int, ...]) -> list[tuple[tuple[int, ...], Any]]:
    if isinstance(value, np.ndarray):
        return [(path, value)] if is_floating(value.dtype) else []
    if isinstance(value, tuple):
        return [leaf for index, item in enumerate(value) for leaf in _leaves(item, (*path, index))]
    return []


def literal(value: Any) -> str:
    """Python source of an argument: array, number, shape, or a tuple of those."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, tvm.runtime.ShapeTuple):
        return f"tvm.runtime.ShapeTuple({[int(item) for item in value]})"
    if isinstance(value, tuple | list):
        return f"({''.join(literal(item) + ', ' for item in value)})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _array(value: np.ndarray[Any, Any]) -> str:
    dtype = value.dtype.name
    finite = not is_floating(value.dtype) or bool(np.all(np.isfinite(value.astype("float64"))))
    if value.size <= _INLINE_ELEMENTS and finite:
        return f"np.array({value.ravel().tolist()!r}, {dtype!r}).reshape({value.shape!r})"
    packed = base64.b85encode(zlib.compress(np.ascontiguousarray(value).tobytes())).decode()
    return f"unpacked({packed!r}, {dtype!r}, {value.shape!r})"
