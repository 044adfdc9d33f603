"""The numeric oracle in a script: inputs, adapters and tolerances as literals.

The script judges exactly as the oracle does: it knows how callers must change, closures, effects, repeated calls,
memory, a tolerance for each element.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fuzzer.core.case import subject_of
from fuzzer.repro.checks.check import Check, FailingCase
from fuzzer.repro.literals import literal
from fuzzer.repro.module.format import wrapped
from oracles.calling.compose import num_input_of
from oracles.calling.frame import Adapter
from oracles.calling.gradient import Gradient
from oracles.core.verdict import Evidence
from oracles.gradient.oracle import KIND, arguments_for, gradients_of, noise_of
from oracles.measure.comparison import is_floating
from oracles.measure.input_variations import ASKED, Variation, drawn
from oracles.measure.inputs import Unmaterializable, materialize
from oracles.measure.original import Entry, Original
from oracles.measure.tolerance import unit_of
from oracles.numeric.compare_call import candidate_of
from oracles.numeric.compare_programs import Candidate
from relaxkit.ir.functions import public_functions, symbol_of
from relaxkit.passes.arguments import given_of
from relaxkit.passes.contract import NumericPromise
from relaxkit.runtime import ExecMode

NUMERIC_PIECES = (
    "relaxkit/runtime/values.py", "relaxkit/runtime/compile/lowering.py", "relaxkit/runtime/compile/linking.py",
    "relaxkit/runtime/run.py", "relaxkit/runtime/poison.py", "oracles/measure/comparison.py",
    "oracles/calling/frame.py", "oracles/calling/parameters.py", "oracles/calling/lazy.py",
    "oracles/calling/gradient.py", "oracles/calling/compose.py", "oracles/measure/finite_differences.py",
    "fuzzer/repro/pieces/numeric.py",
)  # fmt: skip
_REPEATED = ("output-overwritten", "later-call-differs")


def build_numeric(failure: FailingCase) -> Check:
    """Build and run the original to get the literals; of a program that ends its process the inputs are only drawn."""
    evidence = failure.evidence
    compiled = evidence.details.mode == ExecMode.COMPILED.value or failure.verdict.culprit == "VMTIRCodeGen"
    mode = ExecMode.COMPILED.value if compiled else ExecMode.BYTECODE.value
    original, candidate = programs_of(failure)
    if evidence.kind == KIND:
        return _gradient_check(original, candidate, evidence)
    entries: list[Entry] = []
    table: list[str] = []
    if failure.died:
        entries = drawn_entries(original)
    elif evidence.kind != "does-not-build":
        entries = entries_of(original, candidate, evidence)
        found = tolerances_of(original, candidate, entries)
        table = [f"({entry.title!r}, {path!r}): {literal(array)}" for entry, path, array in found if array.any()]
    words = failure.fragments if evidence.kind in ("does-not-build", "run-error") else []
    calls = (f"({entry.symbol!r}, {entry.title!r}, {entry.num_input!r}, {_arguments(entry)})" for entry in entries)
    preamble = (
        _function(
            "inputs", "Public functions to call: name, name with its inputs, num_input, arguments.",
            _block("[", calls, "]"),
        )
        + _function(
            "adapters", "How callers must change for what the passes do to the calling convention.",
            _block("(", map(repr, candidate.adapters), ")"),
        )
        + _function(
            "tolerances", "Absolute tolerances by name with inputs and path of the output.", _block("{", table, "}")
        )
    )  # fmt: skip
    how = f"{evidence.kind!r}, {words!r}, {mode!r}, {candidate.lowered}, tolerances()"
    return Check(f"check_numeric(module, passes, inputs(), adapters(), {how})", NUMERIC_PIECES, preamble)


def programs_of(failure: FailingCase) -> tuple[Original, Candidate]:
    """Return the program before the passes and the one behind them; raises ``ValueError`` where it has no stage."""
    case = failure.case
    subject = subject_of(case)
    facts, whole = subject.facts, subject.original_facts
    if facts is None:
        raise ValueError("the module cannot be prepared")
    source = whole.reload or whole.module, whole.snapshot
    fixed = given_of([(step.ref.name, step.ref.expression) for step in subject.plan.steps])
    original = Original(facts.reload or facts.module, facts.snapshot, case.input_seed, fixed, source=lambda: source)
    return original, candidate_of(subject, original, len(subject.plan.steps) - 1)


def _gradient_check(original: Original, candidate: Candidate, evidence: Evidence) -> Check:
    """Make the check of an adjoint that is wrong; raises ``ValueError`` where it is gone."""
    gradient, later, entry, arguments = accused_gradient(original, candidate, evidence)
    preamble = (
        _function("gradient", "What was differentiated.", repr(gradient))
        + _function("later", "How callers must change for the passes after it.", _block("(", map(repr, later), ")"))
        + _function("arguments", "Where it was differentiated.", _block("(", map(literal, arguments), ")"))
    )
    exact = candidate.promise is NumericPromise.BIT_EXACT
    noise = noise_of(original, gradient, arguments)
    how = f"gradient(), later(), {entry.num_input!r}, arguments(), {literal(noise)}, {exact}"
    return Check(f"check_gradient(module, passes, {how})", NUMERIC_PIECES, preamble)


def accused_gradient(
    original: Original, candidate: Candidate, evidence: Evidence
) -> tuple[Gradient, Sequence[Adapter], Entry, Sequence[Any]]:
    """Return the gradient whose adjoint is wrong, what changes calls behind it, the function's call, and its arguments.

    Raises:
        ValueError: It is gone.
    """
    entries = {entry.symbol: entry for entry in original.entries if not entry.problem}
    for gradient, later, changed in gradients_of(candidate.adapters):
        if not changed and gradient.function in entries and gradient.adjoint == evidence.details.entry:
            entry = entries[gradient.function]
            return gradient, later, entry, arguments_for(original, gradient, entry)
    raise ValueError("the adjoint is gone")


def drawn_entries(original: Original) -> list[Entry]:
    """Draw arguments for the public functions, nothing of which is run."""
    module, found = original.module, []
    for gv, function in module.functions_items():
        symbol = symbol_of(function)
        if symbol not in public_functions(module) or "Codegen" in function.attrs:
            continue
        for variation in (Variation.DEFAULT, *(item for item in drawn(original.seed) if item not in ASKED)):
            try:
                arguments = materialize(module, str(gv.name_hint), original.seed, original.given, variation)
            except Unmaterializable:
                continue
            found.append(Entry(symbol, num_input_of(function), tuple(arguments), variation=variation))
    return found


def entries_of(original: Original, candidate: Candidate, evidence: Evidence) -> list[Entry]:
    """List what the script calls: each function on the inputs that show the failure, and on those before them.

    A failure on other inputs than the first says so; of a death of the process nobody knows on which inputs it was.
    """
    first = [entry for entry in original.entries if not entry.problem]
    special = candidate.promise is NumericPromise.BIT_EXACT and not candidate.adapters
    every = {entry.symbol: [entry, *original.varied(entry, special)] for entry in first}
    called = [entry for entries in every.values() for entry in entries]
    wanted = evidence.details.entry, evidence.details.variation
    shown = next((entry for entry in called if (entry.symbol, entry.variation.value) == wanted), None)
    if shown is None:
        return called
    if evidence.kind in _REPEATED:
        return every[shown.symbol]
    return first if shown.variation is Variation.DEFAULT else [shown]


def tolerances_of(
    original: Original, candidate: Candidate, entries: list[Entry]
) -> list[tuple[Entry, tuple[int, ...], Any]]:
    """List how far each element of a result may be off, by entry and path; nothing for a bit-exact promise."""
    if candidate.promise is NumericPromise.BIT_EXACT:
        return []
    unit = unit_of(candidate.promise, original.float_dtypes)
    measured = [(entry, original.measured(entry, unit)) for entry in entries]
    return [
        (entry, path, found.tolerance(path, array, array))
        for entry, found in measured
        if found is not None
        for path, array in leaves_of(entry.output)
    ]


def leaves_of(value: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    """Return the arrays of floats in a result, each with its place in nested tuples."""
    if isinstance(value, np.ndarray):
        return [(path, value)] if is_floating(value.dtype) else []
    if isinstance(value, tuple):
        return [leaf for index, item in enumerate(value) for leaf in leaves_of(item, (*path, index))]
    return []


def _arguments(entry: Entry) -> str:
    """Write the arguments of a call as a tuple."""
    return f"({''.join(f'{literal(item)}, ' for item in entry.arguments).removesuffix(' ')})"


def _function(name: str, what: str, value: str) -> str:
    """Write a function without parameters: what it returns may need what stands further down in a script."""
    return wrapped(f'def {name}():\n    """{what}"""\n    return {value}\n') + "\n\n\n"


def _block(begin: str, items: Iterable[str], end: str) -> str:
    """Write a display with one item a line."""
    lines = "".join(f"\n        {item}," for item in items)
    return f"{begin}{lines}{chr(10) + ' ' * 4 if lines else ''}{end}"
