"""The numeric oracle's part of a repro script: inputs, adapters and tolerances as literals."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm

from fuzzer.repro_ends import is_death
from fuzzer.repro_format import wrapped
from fuzzer.repro_plain import PLAIN_PIECES, plain_parts
from oracles.abi.compose import num_input_of, public_functions
from oracles.comparison import is_floating
from oracles.contract import NumericPromise
from oracles.differentiation import KIND, arguments_for, gradients_of, noise_of
from oracles.examination import Candidate
from oracles.execution import ExecMode
from oracles.given import given_of
from oracles.inputs import Unmaterializable, materialize
from oracles.numeric import candidate_of
from oracles.original import Entry, Original
from oracles.subject import Subject
from oracles.tolerance import unit_of
from oracles.variations import ASKED, Variation, drawn

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
    "oracles/execution/refusal.py",
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
    *PLAIN_PIECES,
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
        preamble: Functions that it calls: ``inputs``, ``adapters`` and ``tolerances`` as far as it needs them.
    """

    call: str
    preamble: str


def numeric_parts(case: Case, verdict: Verdict, module: Any, fragments: list[str]) -> NumericParts:
    """The literals and the call for one failing verdict; builds and runs the original to get them.

    Of a program that ends its process nothing is built or run: its inputs are only drawn.
    """
    evidence = verdict.evidence
    assert evidence is not None
    if "numeric build original" in evidence.message:
        compiled = evidence.message.endswith(" compiled")
        return NumericParts(f"('OK', str(built(module, {'compiled' if compiled else 'bytecode'!r})))", "")
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
    compiled = _COMPILED in evidence.message or evidence.message.endswith(" compiled")
    compiled = compiled or verdict.culprit == "VMTIRCodeGen"
    mode = ExecMode.COMPILED if compiled else ExecMode.BYTECODE
    deadly, building = is_death(evidence), evidence.kind == "does-not-build"
    entries = [] if building else drawn_entries(original) if deadly else _entries(original, candidate, evidence)
    words = fragments if evidence.kind in ("does-not-build", "run-error") else []
    short = plain_parts(case, evidence, original, candidate, entries, words, mode.value)
    if short is not None:
        return NumericParts(*short)
    listed = _block("[", [_input(entry) for entry in entries], "]")
    adapters = _block("(", [repr(adapter) for adapter in candidate.adapters], ")")
    table = _block("{", [] if deadly else _tolerances(original, candidate, entries), "}")
    preamble = (
        _given("inputs", "Public functions to call: name, name with its inputs, num_input, arguments.", listed)
        + _given("adapters", "How callers must change for what the passes do to the calling convention.", adapters)
        + _given("tolerances", "Absolute tolerances by name with inputs and path of the output.", table)
    )
    call = (
        f"check_numeric(module, passes, inputs(), adapters(), {evidence.kind!r}, {words!r}, {mode.value!r}, "
        f"{candidate.lowered}, tolerances())"
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
            _given("gradient", "What was differentiated.", repr(gradient))
            + _given("later", "How callers must change for the passes behind it.", _block("(", map(repr, later), ")"))
            + _given("arguments", "Where it was differentiated.", _block("(", map(literal, arguments), ")"))
        )
        exact = candidate.promise is NumericPromise.BIT_EXACT
        noise = noise_of(original, gradient, arguments)
        call = (
            f"check_gradient(module, passes, gradient(), later(), {entry.num_input!r}, arguments(), {noise!r}, {exact})"
        )
        return NumericParts(call, preamble)
    raise ValueError("the adjoint is gone")


def drawn_entries(original: Original) -> list[Entry]:
    """The public functions with arguments for them, nothing of which is run."""
    module, found = original.module, []
    for gv, function in module.functions_items():
        symbol = str(function.attrs["global_symbol"]) if function.attrs and "global_symbol" in function.attrs else ""
        if symbol not in public_functions(module) or "Codegen" in function.attrs:
            continue
        for variation in (Variation.DEFAULT, *(item for item in drawn(original.seed) if item not in ASKED)):
            try:
                arguments = materialize(module, str(gv.name_hint), original.seed, original.given, variation)
            except Unmaterializable:
                continue
            found.append(Entry(symbol, num_input_of(function), tuple(arguments), variation=variation))
    return found


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


def _given(name: str, what: str, value: str) -> str:
    """Source of a function without parameters: what it returns may need what stands further down in a script."""
    return wrapped(f'def {name}():\n    """{what}"""\n    return {value}\n') + "\n\n\n"


def _block(begin: str, items: Iterable[str], end: str) -> str:
    """Source of a display with one item a line."""
    lines = "".join(f"\n        {item}," for item in items)
    return f"{begin}{lines}{chr(10) + ' ' * 4 if lines else ''}{end}"


def _input(entry: Entry) -> str:
    arguments = "".join(f"{literal(item)}, " for item in entry.arguments).removesuffix(" ")
    return f"({entry.symbol!r}, {entry.title!r}, {entry.num_input!r}, ({arguments}))"


def _tolerances(original: Original, candidate: Candidate, entries: list[Entry]) -> list[str]:
    """Rows of the tolerance table; empty for a bit-exact promise."""
    if candidate.promise is NumericPromise.BIT_EXACT:
        return []
    lines: list[str] = []
    for entry in entries:
        measured = original.measured(entry, unit_of(candidate.promise, original.float_dtypes))
        if measured is None:
            continue
        for path, array in leaves_of(entry.output):
            allowed = measured.tolerance(path, array, array)
            if allowed.any():
                lines.append(f"({entry.title!r}, {path!r}): {literal(allowed)}")
    return lines


def leaves_of(value: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    """The arrays of floats in a result, each with its place in nested tuples."""
    if isinstance(value, np.ndarray):
        return [(path, value)] if is_floating(value.dtype) else []
    if isinstance(value, tuple):
        return [leaf for index, item in enumerate(value) for leaf in leaves_of(item, (*path, index))]
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
