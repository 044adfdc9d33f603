"""The input of ``relaxfuzz minimize``: a finding of a campaign, a module of the user's, or a saved case."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.core.case import Case, CaseFile, read_case
from fuzzer.core.config import ConfigError, parse_oracles, parse_passes, parse_whole, user_pass
from fuzzer.core.verb import UsageError
from fuzzer.repro.module.format import parts
from relaxkit.passes.pass_ref import PassRef

if TYPE_CHECKING:
    import argparse

    from fuzzer.minimizer.judge.criterion import Criterion
    from oracles.core.verdict import Verdict
    from relaxkit.passes.contract import OracleName


@dataclass(frozen=True, slots=True)
class MinimizeInput:
    """A case to minimize, and its criterion.

    Attributes:
        case: The case.
        criterion: What must stay true of it.
        oracle: Name of the oracle; empty for the user's own criterion.
        start: A smaller case that an earlier run has left.
    """

    case: Case
    criterion: Criterion
    oracle: str
    start: Case | None = None


def minimize_input(options: argparse.Namespace, seconds: float) -> MinimizeInput:
    """Return what the command line asks for.

    Args:
        options: The verb's options.
        seconds: Time limit of one case.

    Raises:
        UsageError: It cannot be had.
    """
    if options.resume and options.save is None:
        raise UsageError("--resume needs --save FILE, which contains the case to start from")
    if options.module is not None:
        found = _of_predicate(options, seconds) if options.predicate is not None else _of_module(options, seconds)
    else:
        found = _of_finding(options, seconds)
    return _resumed(found, options.save) if options.resume else found


def _of_finding(options: argparse.Namespace, seconds: float) -> MinimizeInput:
    from fuzzer.minimizer.judge.criterion import OracleCriterion
    from fuzzer.store.trust import require_trust
    from fuzzer.store.writer import Store

    if options.directory is None or options.finding is None:
        raise UsageError("give DIR and ID, or --module, --pass and --oracle")
    for name in ("pass", "oracle", "signature", "predicate", "input-seed"):
        if getattr(options, "passes" if name == "pass" else name.replace("-", "_")) is not None:
            raise UsageError(f"--{name} needs --module; a finding has its own")
    with Store.open(options.directory) as store:
        require_trust(store, options.trust)
        finding = store.finding(options.finding)
    verdict = finding.verdict
    return MinimizeInput(
        finding.case, OracleCriterion(verdict, seconds=seconds), str(verdict.oracle), finding.minimized
    )


def _of_module(options: argparse.Namespace, seconds: float) -> MinimizeInput:
    from fuzzer.minimizer.judge.criterion import OracleCriterion
    from fuzzer.triage.reduce import failures

    _only_module(options)
    oracle = _one_oracle(options.oracle) if options.oracle else None
    saved = _saved(options.module)
    if oracle is None and saved is not None and saved.oracle:
        oracle = _one_oracle(saved.oracle)
    if oracle is None or not (options.passes or saved):
        raise UsageError("--module needs --pass and --oracle")
    case = _case(options, saved)
    wanted = options.signature or (saved.id if saved is not None else "")
    verdict = _chosen(failures(case, oracle, seconds), oracle, wanted)
    return MinimizeInput(case, OracleCriterion(verdict, seconds=seconds), str(oracle))


def _of_predicate(options: argparse.Namespace, seconds: float) -> MinimizeInput:
    from fuzzer.minimizer.judge.predicate import PredicateCriterion

    _only_module(options)
    if options.oracle or options.signature:
        raise UsageError("give --oracle or --predicate, not both")
    if options.repro is not None or options.others is not None:
        raise UsageError("--repro and --others need --oracle; they do not work with --predicate")
    target = predicate_target(options.predicate)
    return MinimizeInput(_case(options, _saved(options.module)), PredicateCriterion(target, seconds=seconds), "")


def _only_module(options: argparse.Namespace) -> None:
    if options.directory is not None:
        raise UsageError("give DIR and ID, or --module, --pass and --oracle")


def _case(options: argparse.Namespace, saved: CaseFile | None) -> Case:
    from fuzzer.triage.reduce import case_of_file

    seed = None if options.input_seed is None else parse_whole(options.input_seed, "--input-seed", 0, 2**63 - 1)
    passes = tuple(pass_of(text) for names in options.passes or () for text in split_passes(names))
    if saved is not None:
        return Case(
            saved.case.module_json, passes or saved.case.passes, saved.case.input_seed if seed is None else seed
        )
    return case_of_file(options.module, passes, seed or 0)


def _saved(path: Path) -> CaseFile | None:
    """Read the case in a file, where there is one."""
    return read_case(path) if path.is_file() else None


def _resumed(found: MinimizeInput, path: Path) -> MinimizeInput:
    if not path.is_file():
        return found
    saved = read_case(path)
    if saved is None:
        raise UsageError(f"--resume: '{path}' contains no saved case")
    if saved.id != found.criterion.id:
        raise UsageError(f"--resume: '{path}' contains a different failure: {saved.text}")
    return MinimizeInput(found.case, found.criterion, found.oracle, saved.case)


def _one_oracle(text: str) -> OracleName:
    oracles = parse_oracles(text)
    if len(oracles) != 1:
        raise UsageError(f"--oracle takes one oracle, not {len(oracles)}")
    return oracles[0]


def _chosen(failed: list[Verdict], oracle: OracleName, wanted: str) -> Verdict:
    from fuzzer.findings.signature import signature

    if not failed:
        raise UsageError(f"the {oracle} oracle reports no failure")
    if not wanted:
        return failed[0]
    found = [verdict for verdict in failed if signature(verdict).id.startswith(wanted)]
    if not found:
        shown = ", ".join(signature(verdict).id for verdict in failed)
        raise UsageError(f"the {oracle} oracle reports no failure '{wanted}' (it reports {shown})")
    return found[0]


def predicate_target(text: str) -> str:
    """Return the user's function as ``FILE.py:FUNCTION`` with an absolute path, or as ``package.module:FUNCTION``.

    Raises:
        ConfigError: It is neither, or there is no such file.
    """
    where, separator, name = text.rpartition(":")
    if not separator or not where or not name.isidentifier():
        raise ConfigError(f"--predicate '{text}' is not FILE.py:FUNCTION or package.module:FUNCTION")
    if not where.endswith(".py"):
        return text
    if not Path(where).is_file():
        raise ConfigError(f"--predicate '{text}': '{where}' is not a file")
    return f"{Path(where).resolve()}:{name}"


def split_passes(text: str) -> list[str]:
    """Return the passes in ``A,B``; commas inside brackets and quotes belong to an expression."""
    found = parts(text)
    if not found:
        raise ConfigError("no pass is named")
    return found


def pass_of(text: str) -> PassRef:
    """Return a pass by name, as an expression, or as the user's ``FILE.py:FACTORY``.

    Raises:
        fuzzer.core.config.ConfigError: There is no such pass, or it cannot be built.
    """
    from fuzzer.campaign.setup import pass_names, try_pass
    from relaxkit.passes.contracts.pipelines import PIPELINES, pipeline
    from relaxkit.passes.plan import preparing

    if "(" in text:
        ref = PassRef(text.split("(", 1)[0].rsplit(".", 1)[-1], text)
    elif text in PIPELINES:
        return pipeline(text)
    elif ":" in text:
        ref = user_pass(text)
    else:
        ref = preparing(parse_passes(text, pass_names())[0])
    try:
        try_pass(ref)
    except ConfigError as error:
        hint = "" if ref.is_user or "(" in text else "; give its arguments as an expression"
        raise ConfigError(f"{error}{hint}") from error
    return ref
