"""What the verbs ``minimize`` and ``repro`` do, apart from reading their arguments and printing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.hangs import search_limits, search_seconds
from fuzzer.minimizer.judging import DEFAULT_MEMORY, DEFAULT_SECONDS, Judge, judging_oracles
from fuzzer.minimizer.search import Limits, Minimized, minimize
from fuzzer.module_file import ModuleFileError, read_module
from fuzzer.repro import ReproResult, check_repro
from fuzzer.triage import RenderRequest, render_request, write_atomically

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.passref import PassRef
    from oracles.verdict import OracleName, Verdict


@dataclass(frozen=True, slots=True)
class Reduced:
    """A case before and after minimization.

    Attributes:
        signature: Id of the signature that both show.
        signature_text: The signature as one line.
        verdict: The failing verdict on the smaller case.
        minimized: Outcome of the search.
        bindings_before: Bindings of the given module.
        bindings: Bindings of the smaller one.
        script: The smaller module as TVMScript.
    """

    signature: str
    signature_text: str
    verdict: Verdict
    minimized: Minimized
    bindings_before: int
    bindings: int
    script: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, or why there is none (one line for the user)."""

    value: Any = None
    problem: str = ""


def read_request(path: str) -> Answer:
    """Runs in a worker: the module of a file as JSON."""
    try:
        return Answer(read_module(path))
    except ModuleFileError as error:
        return Answer(problem=str(error))


def script_request(module_json: str) -> str:
    """Runs in a worker: a module as TVMScript."""
    from tvm_ffi.serialization import from_json_graph_str

    return str(from_json_graph_str(module_json).script(show_meta=True))


def case_of_file(path: Path, passes: tuple[PassRef, ...], input_seed: int = 0) -> Case:
    """A case from a file with a module, read in an isolated process.

    Raises:
        ModuleFileError: There is no usable module in it.
    """
    from fuzzer.cases import Case
    from fuzzer.isolation import IsolatedWorker

    with IsolatedWorker() as worker:
        answer = Judge(worker, ()).ask(read_request, str(path.resolve()))
    if not isinstance(answer, Answer):
        raise ModuleFileError(f"reading '{path}' ended the process")
    if answer.problem:
        raise ModuleFileError(answer.problem)
    return Case(answer.value, passes, input_seed)


def failures(case: Case, oracle: OracleName | None = None, seconds: float = DEFAULT_SECONDS) -> list[Verdict]:
    """Failing verdicts on a case, judged in an isolated process, of one oracle or of all.

    A death of the process counts as the crash oracle's, and is listed for any oracle: it hides what that one says.
    """
    from fuzzer.isolation import IsolatedWorker

    with IsolatedWorker() as worker:
        return Judge(worker, () if oracle is None else (oracle,), seconds).verdicts(case)


def reduce_case(
    case: Case, verdict: Verdict, limits: Limits | None = None, seconds: float = DEFAULT_SECONDS
) -> Reduced | None:
    """Minimize a case that failed with ``verdict``; ``None`` when the failure does not come back."""
    from fuzzer.isolation import IsolatedWorker
    from fuzzer.signatures import signature

    name = signature(verdict)
    with IsolatedWorker() as worker:
        judge = Judge(worker, judging_oracles(verdict), search_seconds(verdict, seconds), DEFAULT_MEMORY)
        facts = judge.facts(case)
        if facts is None:
            return None
        numeric = str(verdict.oracle) == "numeric"
        found = minimize(
            case, name.id, judge.signatures, judge.propose, facts,
            numeric=numeric, limits=search_limits(verdict, limits or Limits()),
        )  # fmt: skip
        if not found.reproduced:
            return None
        judge.seconds = seconds  # the end is judged at the full limit
        last, after = judge.verdict(found.case, name.id), judge.facts(found.case)
        script = judge.ask(script_request, found.case.module_json)
    if last is None or after is None:
        return None
    text = script if isinstance(script, str) else ""
    return Reduced(name.id, name.text, last, found, facts.bindings, after.bindings, text)


def repro_text(case: Case, verdict: Verdict) -> str:
    """The repro script of a failing verdict on ``case``; raises ``RuntimeError`` when it cannot be rendered."""
    from fuzzer.isolation import IsolatedWorker
    from fuzzer.signatures import signature

    with IsolatedWorker() as worker:
        judge = Judge(worker, (), 120.0)
        text = judge.ask(render_request, RenderRequest(case, verdict, signature(verdict).text))
    if not isinstance(text, str):
        raise RuntimeError(f"the script cannot be rendered: {judge.trouble or 'the process died'}")
    return text


def write_repro(text: str, path: Path, *, check: bool = False) -> ReproResult | None:
    """Write a script; with ``check``, run it in a fresh process and give the result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
    return check_repro(path) if check else None
