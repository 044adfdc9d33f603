"""Which check a repro script makes: one entry per oracle and kind of failure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import tvm

from fuzzer.repro_ends import is_death, stage_of
from fuzzer.repro_environment import ENVIRONMENT_PIECES, environment_call
from fuzzer.repro_fragments import error_words, fragments
from fuzzer.repro_locality import LOCALITY_PIECES, NOT_LOCAL, locality_call
from fuzzer.repro_postcondition import postcondition_parts
from oracles.contract import Idempotence
from oracles.contracts import contract_for
from oracles.preconditions import joinable_blocks
from oracles.roundtrip import JSON, NOTATIONS, TVMSCRIPT
from oracles.verdict import Evidence, OracleName

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.verdict import Verdict

PIECES = (
    "vocabulary/configured.py",
    *(
        f"fuzzer/repro_pieces/{name}.py"
        for name in (
            "frame",
            "death",
            "limits",
            "user_pass",
            "crash",
            "mutation",
            "determinism",
            "sequential",
            "idempotence",
            "well_formed",
            "postcondition",
        )
    ),
    "oracles/agreed_devices.py",
    "oracles/call_types.py",
)
ROUNDTRIP_PIECES = ("oracles/roundtrip_forms.py", "fuzzer/repro_pieces/roundtrip.py")
EXTERNAL_PIECES = tuple(
    f"oracles/execution/{name}.py"
    for name in (
        "mode",
        "values",
        "closures",
        "lowering",
        "assemble",
        "run",
        "external",
        "cuda_graph",
    )
)
"""What ``with_codegen``, in the expression of a ``RunCodegen``, needs."""
_REPEATS = 20  # true failures of determinism are random
_HANG_REPEATS = 2  # as many as the oracle's: many honest runs together must not look like a hang
# The slowest honest case seen took 3 s on a loaded machine.  The limit counts from where the passes begin to run.
_HANG_SECONDS = 10.0
_NUMERIC_HANG_SECONDS = 40.0  # plain relax.build, twice: compiles and links by the C++ compiler, some seconds each
_DEATH_SECONDS = 90.0
_MEGABYTES = 3072  # the memory limit of a campaign's worker


@dataclass(frozen=True, slots=True)
class Check:
    """The oracle's part of a script.

    Attributes:
        call: Expression over ``module`` and ``passes`` that gives the outcome and a line of text.
        pieces: Files with the definitions that it needs besides ``PIECES``.
        preamble: Definitions that stand in front of it.
        death: How the child process is expected to end; empty when nothing is risky.
        seconds: Time limit of the check in the child process; loading TVM and the module does not count.
        megabytes: Limit of the child process's address space; 0 for none.
    """

    call: str
    pieces: tuple[str, ...] = ()
    preamble: str = ""
    death: str = ""
    seconds: float = _DEATH_SECONDS
    megabytes: int = 0

    @property
    def limited(self) -> bool:
        """Whether the child process must be kept from taking all time or memory."""
        return self.death in ("hang", "memory")


def check_of(case: Case, verdict: Verdict, module: Any) -> Check:
    """The check that shows the failure of ``verdict`` on ``case``."""
    evidence = verdict.evidence
    assert evidence is not None
    if is_death(evidence):
        return _death(case, verdict, module, evidence)
    return _plain(case, verdict, module, evidence)


def _plain(case: Case, verdict: Verdict, module: Any, evidence: Evidence) -> Check:
    said = fragments(evidence.message)
    told = error_words(evidence, tvm.__version__)
    oracle = verdict.oracle
    if oracle is OracleName.CRASH:
        return Check(f"check_crash(module, passes, {evidence.kind!r}, {told})")
    if oracle is OracleName.MUTATION:
        return Check("check_mutation(module, passes)")
    if oracle is OracleName.DETERMINISM:
        error = "" if evidence.kind == "not-equal" else evidence.kind
        call = f"check_determinism(module, passes, {error!r}, {told if error else '[]'}, {_REPEATS})"
        return Check(call)
    if oracle is OracleName.SEQUENTIAL:
        return Check(f"check_sequential(module, passes, {evidence.kind != 'not-equal'})")
    if oracle is OracleName.IDEMPOTENCE:
        words = {"not-equal": "[]", "ill-formed": repr(said)}.get(evidence.kind, told)
        call = f"check_idempotence(module, passes, {evidence.kind!r}, {words}, {_runs(case, module)})"
        return Check(call)
    if oracle is OracleName.LOCALITY:
        return Check(locality_call(case, module, evidence.kind, told), LOCALITY_PIECES)
    if oracle is OracleName.WELL_FORMED:
        call = {
            "contradicted-type": "check_contradicted_type(module, passes)",
            "mistyped-call": "check_calls(module, passes)",
            "signature": "check_signatures(module, passes)",
        }.get(evidence.kind, f"check_well_formed(module, passes, {said!r})")
        return Check(call)
    if oracle is OracleName.POSTCONDITION:
        call, pieces = postcondition_parts(case, verdict, fragments(evidence.observed.partition("\n")[0]))
        return Check(call, pieces)
    if oracle is OracleName.ROUNDTRIP:
        return Check(roundtrip_call(verdict, evidence, said), ROUNDTRIP_PIECES)
    if oracle is OracleName.ENVIRONMENT:
        error = "" if evidence.kind == "not-equal" else evidence.kind
        words = error_words(evidence, tvm.__version__, evidence.message.partition(": ")[2])  # behind the circumstance
        return Check(environment_call(case, module, error, words), ENVIRONMENT_PIECES)
    return _numeric(case, verdict, module, said)


def roundtrip_call(verdict: Verdict, evidence: Evidence, said: list[str]) -> str:
    """The call of the roundtrip check: by which notation, and whether a pass is to blame."""
    by_pass = verdict.culprit not in NOTATIONS
    notation = verdict.culprit if not by_pass else JSON if evidence.expected.endswith(JSON) else TVMSCRIPT
    return f"check_roundtrip(module, passes, {notation!r}, {evidence.kind!r}, {said!r}, {by_pass})"


def _runs(case: Case, module: Any) -> int:
    contract = contract_for(case.passes[0])
    joined = joinable_blocks(module)
    if contract.idempotence is not Idempotence.FIXPOINT:
        return 1 + joined
    extra = contract.fixpoint_extra(module) if contract.fixpoint_extra is not None else 0
    return int(contract.fixpoint_runs) + int(extra) + joined


def _death(case: Case, verdict: Verdict, module: Any, evidence: Evidence) -> Check:
    """The same step as in the oracle at work, inside a child process."""
    stage = stage_of(evidence) or OracleName.CRASH
    hang = evidence.kind == "hang"
    seconds = _DEATH_SECONDS
    if hang:
        seconds = _NUMERIC_HANG_SECONDS if stage is OracleName.NUMERIC else _HANG_SECONDS
    repeats = _HANG_REPEATS if hang else _REPEATS
    megabytes = _MEGABYTES if evidence.kind == "memory" else 0
    calls = {
        OracleName.DETERMINISM: f"check_determinism(module, passes, '', [], {repeats})",
        OracleName.SEQUENTIAL: "check_sequential(module, passes, False)",
        OracleName.IDEMPOTENCE: f"check_idempotence(module, passes, 'not-equal', [], {_runs(case, module)})",
        OracleName.WELL_FORMED: "check_well_formed(module, passes, [])",
        OracleName.ENVIRONMENT: environment_call(case, module, "", "[]"),
        OracleName.ROUNDTRIP: "check_roundtrip(module, passes, 'TVMScript', '', [], False)",
    }
    if stage is OracleName.NUMERIC:
        check = _numeric(case, verdict, module, [])
    elif stage is OracleName.LOCALITY:
        check = Check(locality_call(case, module, NOT_LOCAL, "[]"), LOCALITY_PIECES)
    else:
        extra = {OracleName.ENVIRONMENT: ENVIRONMENT_PIECES, OracleName.ROUNDTRIP: ROUNDTRIP_PIECES}
        pieces = extra.get(stage, ())
        check = Check(calls.get(stage, "('OK', str(type(run_passes(passes, module))))"), pieces)
    return replace(check, death=evidence.kind, seconds=seconds, megabytes=megabytes)


def _numeric(case: Case, verdict: Verdict, module: Any, said: list[str]) -> Check:
    from fuzzer.repro_numeric import NUMERIC_PIECES, numeric_parts

    parts = numeric_parts(case, verdict, module, said)
    return Check(parts.call, NUMERIC_PIECES, parts.preamble)
