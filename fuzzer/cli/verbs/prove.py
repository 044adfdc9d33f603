"""``relaxfuzz prove``: compare two modules, or a module and what a pass makes of it, for all inputs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fuzzer.cli.options import put_json, show
from fuzzer.core.verb import GATE_FAILED, NO_EVIDENCE, OK, UsageError, Verb

if TYPE_CHECKING:
    from relaxkit.proof import Proof

_Request = tuple[str, str, tuple[str, ...]]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "before", nargs="?", metavar="BEFORE.py", help="a module: TVMScript, Python code with TVMScript, or TVM's JSON"
    )
    parser.add_argument("after", nargs="?", metavar="AFTER.py", help="the module that should compute the same results")
    parser.add_argument("--module", metavar="FILE", help="instead of two files: the module to apply a pass to")
    parser.add_argument(
        "--pass",
        dest="passes",
        action="append",
        metavar="NAME",
        help="the pass, by name, as an expression, or as FILE.py:FACTORY; repeat the option for a pipeline",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object, which also names the algebraic laws used"
    )


def _run(options: argparse.Namespace) -> int:
    from fuzzer.worker.death import Died
    from fuzzer.worker.worker import IsolatedWorker

    request = _request(options)
    with IsolatedWorker() as worker:  # the files are the user's Python, and a pass may crash the process
        answer = worker.call(_proof, request)
    if isinstance(answer, Died):
        raise UsageError(f"the process that compared the modules died: {answer.kind}")
    if isinstance(answer, str):
        raise UsageError(answer)
    if options.json:
        how = {"reason": answer.reason, "laws": answer.laws, "exact": answer.exact}
        put_json({"result": str(answer.result), "function": answer.function, **how})
    else:
        show(" ".join(str(answer).split()))  # names in a module may hold anything
        if answer.result == "different" and not answer.refuted:
            print("This does not prove a defect: different terms may have equal values (see `relaxfuzz run --pass`).")
    return {"proved": OK, "different": GATE_FAILED}.get(str(answer.result), NO_EVIDENCE)


def _request(options: argparse.Namespace) -> _Request:
    if options.module is None:
        if options.before is None or options.after is None or options.passes:
            raise UsageError("give BEFORE.py and AFTER.py, or --module FILE and --pass NAME")
        return options.before, options.after, ()
    if options.before is not None or not options.passes:
        raise UsageError("--module FILE needs --pass NAME and no other file")
    return options.module, "", tuple(options.passes)


def _proof(request: _Request) -> Proof | str:
    """Read the modules and compare them; runs in a worker. A string says what is wrong with the input."""
    import tvm

    from fuzzer.core.module_file import ModuleFileError, read_module
    from oracles import prove
    from oracles.core.evidence import users_frames
    from relaxkit.passes.contracts import contract_for
    from relaxkit.passes.pass_ref import PassReferenceError
    from relaxkit.passes.render import pass_named

    first, second, names = request
    try:
        before = tvm.ir.load_json(read_module(first))
        if second:
            return prove(before, tvm.ir.load_json(read_module(second)))
        references = [pass_named(name) for name in names]
    except (ModuleFileError, PassReferenceError) as error:
        return str(error)
    after = before
    for name, reference in zip(names, references, strict=True):
        try:
            after = reference.build()(after)
        except PassReferenceError as error:
            return str(error)
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            place = "".join(f" (at {frame})" for frame in users_frames(error)[-1:])
            return f"--pass '{name}' raises {type(error).__name__}: {lines[0].strip() if lines else ''}{place}"
    laws = tuple(dict.fromkeys(law for each in references for law in contract_for(each).laws))
    return prove(tvm.ir.load_json(read_module(first)), after, laws=laws)  # read again: a pass may have edited it


VERB = Verb(
    name="prove",
    help="prove that two modules agree on all inputs; exit codes: 0 proved, 1 different, 3 open (undecided)",
    example="relaxfuzz prove --module model.py --pass FuseOps",
    add_arguments=_add_arguments,
    run=_run,
)
