"""``relaxfuzz minimize``: reduce a finding, or a module of the user's."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.verb import OK, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.passref import PassRef
    from oracles.verdict import OracleName, Verdict


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, nargs="?", metavar="DIR", help="a campaign's directory, with ID")
    parser.add_argument("finding", nargs="?", metavar="ID", help="id of the finding, or how it begins")
    parser.add_argument("--module", type=Path, metavar="FILE", help="instead: a module, as TVMScript, Python or JSON")
    parser.add_argument(
        "--pass",
        dest="passes",
        action="append",
        metavar="NAME",
        help="with --module: the pass, by name, as an expression such as 'relax.transform.FuseOps(fuse_opt_level=0)', "
        "or as FILE.py:FACTORY; repeat it for a pipeline",
    )
    parser.add_argument("--oracle", metavar="NAME", help="with --module: the oracle whose failure is to be kept")
    parser.add_argument("--input-seed", default="0", metavar="N", help="with --module: seed of the inputs (default: 0)")
    parser.add_argument("--time", default="5m", metavar="TIME", help="stop after so much time (default: 5m)")
    parser.add_argument("--repro", type=Path, metavar="FILE", help="write a standalone script of the result there")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.config import ConfigError, parse_duration
    from fuzzer.minimizer.search import Limits
    from fuzzer.minimizing import reduce_case, repro_text, write_repro

    try:
        limits = Limits(queries=1_000_000, seconds=parse_duration(options.time))
        case, verdict = _of_module(options) if options.module is not None else _of_finding(options)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    reduced = reduce_case(case, verdict, limits)
    if reduced is None:
        raise UsageError("the failure does not come back in a fresh process; nothing to minimize")
    print(reduced.script.rstrip())
    found = reduced.minimized
    print(
        f"relaxfuzz: {reduced.bindings_before} bindings became {reduced.bindings} in {found.seconds:.1f} s "
        f"({found.queries} candidates){'' if found.complete else '; stopped at the time limit'}: "
        f"{reduced.signature} {reduced.signature_text}",
        file=sys.stderr,
    )
    if options.repro is not None:
        try:
            write_repro(repro_text(found.case, reduced.verdict), options.repro)
        except OSError as error:
            raise UsageError(f"cannot write '{options.repro}': {error.strerror}") from error
        except RuntimeError as error:
            raise UsageError(str(error)) from error
    return OK


def _of_finding(options: argparse.Namespace) -> tuple[Case, Verdict]:
    from fuzzer.store import Store, StoreError, verdict_of

    if options.directory is None or options.finding is None:
        raise UsageError("give DIR and ID, or --module, --pass and --oracle")
    if options.passes or options.oracle:
        raise UsageError("--pass and --oracle go with --module; a finding has its own")
    try:
        with Store.open(options.directory) as store:
            finding = store.finding(options.finding)
    except StoreError as error:
        raise UsageError(str(error)) from error
    return finding.case, verdict_of(finding)


def _of_module(options: argparse.Namespace) -> tuple[Case, Verdict]:
    from fuzzer.config import parse_oracles, parse_whole
    from fuzzer.minimizing import case_of_file, failures
    from fuzzer.module_file import ModuleFileError

    if options.directory is not None:
        raise UsageError("give DIR and ID, or --module, --pass and --oracle")
    if not options.passes or not options.oracle:
        raise UsageError("--module needs --pass and --oracle")
    oracles = parse_oracles(options.oracle)
    if len(oracles) != 1:
        raise UsageError(f"--oracle takes one oracle, not {len(oracles)}")
    passes = tuple(pass_of(text) for text in options.passes)
    seed = parse_whole(options.input_seed, "--input-seed", 0, 2**63 - 1)
    try:
        case = case_of_file(options.module, passes, seed)
    except ModuleFileError as error:
        raise UsageError(str(error)) from error
    return case, _chosen(failures(case, oracles[0]), oracles[0])


def _chosen(failed: list[Verdict], oracle: OracleName) -> Verdict:
    if not failed:
        raise UsageError(f"the {oracle} oracle sees no failure")
    return failed[0]


def pass_of(text: str) -> PassRef:
    """A pass by name, as an expression, or as the user's ``FILE.py:FACTORY``.

    Raises:
        fuzzer.config.ConfigError: There is no such pass, or it cannot be built.
    """
    from fuzzer.config import ConfigError, parse_passes, user_pass
    from fuzzer.preparation import pass_names, try_pass
    from oracles.contracts_pipelines import PIPELINES, pipeline
    from oracles.passref import PassRef
    from oracles.plan import preparing

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


VERB = Verb(
    name="minimize",
    help="reduce a finding, or a module of yours, without losing its failure",
    example="relaxfuzz minimize --module model.py --pass FuseOps --oracle crash",
    add_arguments=_add_arguments,
    run=_run,
)
