"""Is anything proved that acts otherwise?  Mutants of what passes give, planted bugs, and TVM's own passes, executed.

    python benchmarks/proof_soundness.py --mutations 0:200 [--one-in 16] [--into totals.json]
    python benchmarks/proof_soundness.py --planted 0:100 [--into totals.json]
    python benchmarks/proof_soundness.py --execute 0:40 [--into totals.json]
    python benchmarks/proof_soundness.py --totals totals.json

``--mutations`` takes drawn modules by number, lowers each to two of six stages by TVM's passes, and mutates every
output that is proved, once by each kind of ``benchmarks/proof_mutations/`` that finds something to change in it.  A
mutant counts when executing it on CodeGenVM shows something else than the original: another result, other output, an
error, a parameter that is overwritten.  One that acts alike on all inputs may mean the same, and is counted apart.
All mutants that are proved are executed, and one in ``--one-in`` of the others, to know how many of them act otherwise.
``--planted`` tries all planted bugs on drawn modules, ``--execute`` all passes under contract on those of whole shards;
what is proved of either is executed.

Short runs add up: each range of numbers is added once to the file of ``--into``.  The exit code is 1 when something was
proved that acts otherwise, of ``--totals`` as well.
"""

from __future__ import annotations

import contextlib
import functools
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proof import subjects
from shared import arguments
from tabulate import tabulate

HERE = Path(__file__).resolve().parent
_KERNELS = ("DeadCodeElimination", "LambdaLift", "LegalizeOps")
_PURE = ("RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite")
_BUILTIN = ("LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "ComputePrimValue")
_MACHINE = (*_BUILTIN, "VMShapeLower", "AttachGlobalSymbol")
STAGES = {
    "graph": (("DeadCodeElimination",), ("CanonicalizeBindings", "ToNonDataflow")),
    "operators or their kernels": (("DeadCodeElimination",), ("LegalizeOps",)),
    "kernels": (_KERNELS, ("AnnotateTIROpPattern", "FuseOps")),
    "memory": (_KERNELS, (*_PURE[1:], "StaticPlanBlockMemory")),
    "machine": (_KERNELS, (*_PURE, "StaticPlanBlockMemory", *_MACHINE)),
    "machine, memory not planned": (_KERNELS, (*_PURE[1:], *_MACHINE)),
}
"""Passes that give the original of a proof, and those that make of it what is mutated."""
MOST_STAGES = 2
"""So many stages, drawn for each, are tried of a module: other modules show more than other stages of one."""
TRIES = 4
"""So many mutants of one kind are made of an output, until TVM accepts one."""
ONE_IN = 16
"""One in so many mutants that are not proved is executed: what they do says nothing of soundness."""
SAMPLE = 3
"""Scripts that are kept of each kind: of mutants that are proved and act alike, to be read."""
ROUNDED = " up to reassociation"
"""What is said of a proof that leaves roundings to the numeric oracle, whose word it is if they are too many."""
EXECUTED = frozenset({"run-error", "does-not-build", "not-as-documented"})
"""Evidence of defects that no proof speaks of: a module that is proved may fail to build, or be compiled wrongly, and
TVM may lower an operator of the original to something else than is documented."""
Row = dict[str, Any]


# -- mutants -----------------------------------------------------------------------------------------------------------


class Reference:
    """A module, executed: what it gives is compared with what others give on the same inputs."""

    def __init__(self, module: Any) -> None:
        import tvm

        from oracles.measure.original import Original
        from relaxkit.ir.domain import Given

        self._original = Original(module, str(tvm.ir.save_json(module)), 0, Given())  # of seed 0 are all variations
        built = self._original.program is not None
        self.entries = [entry for entry in self._original.entries if not entry.problem] if built else []

    def behaviour(self, module: Any, lowered: bool) -> str:
        """Say what another module does on the same inputs: nothing else, or what."""
        from relaxkit.runtime import private_constants, session
        from relaxkit.runtime.poison import PATTERNS, poisoned

        try:
            program = session().build(private_constants(module), lowered=lowered)
        except Exception:
            return "does not build"
        said = self._on(program, self.entries)
        for pattern in PATTERNS if said == "alike" else ():
            with poisoned(program, pattern):
                said = self._on(program, self.entries) if said == "alike" else said
        if said == "alike":
            said = self._on(program, [its for each in self.entries for its in self._original.varied(each, True)])
        return said

    def _on(self, program: Any, entries: list[Any]) -> str:
        from oracles.measure.comparison import compare
        from oracles.measure.original import copied
        from relaxkit.runtime import from_tvm

        for entry in entries:
            tensors = program.arguments(entry.arguments)
            program.take_output()
            try:
                output = from_tvm(program.call_raw(entry.symbol, tensors))
            except Exception:
                return "raises"
            if compare(entry.output, output) is not None:
                return "another result"
            if program.take_output() != entry.printed:
                return "other effects"
            if compare(copied(entry.arguments), program.plain(tensors)) is not None:
                return "overwrites a parameter"
        return "alike"


def drawn(seed: int, number: int) -> Any:
    """Draw a module; ``None`` where the bytes give none."""
    from strategies import ir_modules
    from strategies.scope.from_bytes import draw_from_bytes

    return draw_from_bytes(ir_modules(executable=True), random.Random(f"{seed}:{number}").randbytes(16 << 10))


def lowered_by(module: Any, passes: tuple[str, ...]) -> Any:
    """Apply passes; ``None`` where one of them refuses."""
    from tvm import relax

    from relaxkit.runtime.compile.lowering import target

    try:
        with target():
            for name in passes:
                module = getattr(relax.transform, name)()(module)
    except Exception:
        return None
    return module


@dataclass(frozen=True)
class Mutants:
    """The mutants of one drawn module.

    Attributes:
        seed: Seed of all modules.
        number: Number of the module.
        one_in: One in so many of the mutants that are not proved is executed.
        skip: So many of its mutants are left out: a process has died of the last.
    """

    seed: int
    number: int
    one_in: int
    skip: int = 0

    def random(self, *what: str) -> random.Random:
        """Return what decides about one thing of this module, the same in each run."""
        return random.Random(":".join(map(str, (self.seed, self.number, *what))))


def examined(task: Mutants) -> Iterator[Row]:
    """Prove and execute the mutants of a module; yields each twice, before it is executed and afterwards."""
    from relaxkit.proof import Result, prove
    from relaxkit.proof.prove import Known

    module = drawn(task.seed, task.number)
    if module is None or module.global_infos.get("vdevice"):  # no term says where a value lies
        return
    reference, count = Reference(module), 0
    for stage in task.random("stages").sample(list(STAGES), MOST_STAGES) if reference.entries else ():
        first, second = STAGES[stage]
        before = lowered_by(module, first)
        output = None if before is None else lowered_by(before, second)
        known: Known = {}
        if output is None or prove(before, output, known=known).result is not Result.PROVED:
            continue
        machine = second[-1] == _MACHINE[-1]
        for name, mutants in [("none", [functools.partial(_unchanged, output)]), *_chosen(output, task, stage)]:
            count += 1
            if count <= task.skip:
                continue
            row = {"kind": name, "stage": stage, "module": task.number, "proof": "", "behaviour": "ill-formed"}
            made = next(_made(mutants, judged=not machine), None)
            if made is not None:
                row |= {"proof": str(prove(before, made, known=known).result), "behaviour": "died"}
                if row["proof"] != "proved" and task.random(stage, name, "execute").randrange(task.one_in):
                    made, row["behaviour"] = None, "not executed"
            yield row
            if made is not None:
                row["behaviour"] = reference.behaviour(made, machine)
                if row["proof"] == "proved" and name != "none":
                    row["script"] = made.script()
            yield row
            if name == "none" and row["behaviour"] != "alike":
                break  # a defect of the passes, or of what was taken for granted: its mutants say nothing


def _unchanged(module: Any) -> Any:
    return module


def _made(mutants: list[Any], judged: bool) -> Iterator[Any]:
    """Yield the mutants that TVM accepts; what is lowered down to the machine has no more types to be judged by."""
    from tvm import relax

    for mutant in mutants:
        with contextlib.suppress(Exception):
            made = mutant()
            if not judged or relax.analysis.check_well_formed(made):
                yield made


def _chosen(output: Any, task: Mutants, stage: str) -> list[tuple[str, list[Any]]]:
    """Choose a few mutants of every kind."""
    from proof_mutations import MUTATIONS, Draft

    draft, found = Draft(output), []
    for name, mutation in MUTATIONS.items():
        all_of: list[Any] = []
        with contextlib.suppress(Exception):  # a node that TVM refuses to make; those before it are mutants
            all_of.extend(mutation(draft))
        if all_of:
            found.append((name, task.random(stage, name).sample(all_of, min(TRIES, len(all_of)))))
    return found


def mutations(seed: int, numbers: range, one_in: int = ONE_IN) -> Iterator[Row]:
    """Examine the mutants of modules; yields one row each."""
    from fuzzer.worker.death import Died
    from fuzzer.worker.worker import IsolatedWorker

    with IsolatedWorker(time_limit=20.0) as worker:
        for number in numbers:
            skip, died = 0, True
            while died:
                died, last, begun = False, None, 0
                for item in worker.stream(examined, Mutants(seed, number, one_in, skip)):
                    if isinstance(item, Died):
                        died = last is not None
                        if died and begun % 2:
                            yield {**last, "behaviour": f"died: {item.kind}"}
                        break
                    last, begun = item, begun + 1
                    if begun % 2 == 0:
                        yield item
                skip += (begun + 1) // 2


# -- planted bugs, and TVM's passes ------------------------------------------------------------------------------------


def planted_bugs() -> list[Any]:
    """List the planted bugs that change what a module means, or what its types say."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from planted.catalogue import PLANTED, Manner

    from relaxkit.passes.contract import OracleName

    of_meaning = (OracleName.NUMERIC, OracleName.WELL_FORMED, OracleName.POSTCONDITION)
    return [each for each in PLANTED if each.oracle in of_meaning and each.manner is Manner.VERDICT]


def executed(subject: Any, name: str, number: int) -> Iterator[Row]:
    """Prove a subject that its passes have changed, and execute what is proved."""
    from shared.proofs import proof_of

    from oracles import judge
    from oracles.core.verdict import Outcome
    from relaxkit.passes.contract import OracleName

    if subject.facts is None or subject.facts.complaint is not None or subject.output.error is not None:
        return
    if not subject.changed:
        return
    proof = proof_of(subject)
    row = {"kind": name, "module": number, "proof": str(proof.result), "behaviour": ""}
    if row["proof"] == "proved":
        row["proof"] += "" if proof.exact else ROUNDED
        (verdict,) = judge(subject, [OracleName.NUMERIC])
        row["behaviour"] = "alike" if verdict.outcome is Outcome.PASS else f"not executed: {verdict.reason}"
        if verdict.outcome is Outcome.FAIL:
            assert verdict.evidence is not None
            row["behaviour"] = f"{verdict.evidence.kind}: {verdict.evidence.message}"[:200]
    yield row


def planted_on(task: tuple[int, int]) -> Iterator[Row]:
    """Try every planted bug on one drawn module; yields a row where it has changed it."""
    from oracles import Subject
    from relaxkit.passes.contracts import contract_for

    module = drawn(*task)
    for bug in planted_bugs() if module is not None else ():
        subject = Subject(module, [bug.ref()], [contract_for(bug.ref())], input_seed=task[1])
        yield from executed(subject, bug.id, task[1])


def planted(seed: int, numbers: range) -> Iterator[Row]:
    """Try every planted bug on modules; yields a row where it has changed one."""
    yield from _isolated(planted_on, [(seed, number) for number in numbers])


def shard_of(task: tuple[int, int]) -> Iterator[Row]:
    """Prove and execute the subjects of a shard."""
    for subject, _ in subjects(*task):
        yield from executed(subject, subject.judged, task[1])


def execute(seed: int, numbers: range) -> Iterator[Row]:
    """Prove and execute the subjects of shards; yields a row for each that a pass has changed."""
    yield from _isolated(shard_of, [(seed, number) for number in numbers])


def _isolated(function: Any, tasks: list[Any]) -> Iterator[Row]:
    from fuzzer.worker.death import Died
    from fuzzer.worker.worker import IsolatedWorker

    with IsolatedWorker(time_limit=120.0) as worker:
        for task in tasks:
            for item in worker.stream(function, task):
                if not isinstance(item, Died):  # a pass that crashes, or a program; the rest of the task is left out
                    yield item


# -- what it comes to --------------------------------------------------------------------------------------------------

BENCHMARKS = {"mutations": mutations, "planted": planted, "execute": execute}
_NOT_COUNTED = ("ill-formed", "does not build")


def verdict_of(row: Row) -> str:
    """Say what a row comes to: ``unsound`` where it was proved and acts otherwise."""
    behaviour = row["behaviour"]
    if behaviour in _NOT_COUNTED or behaviour == "alike" or behaviour.startswith("not executed"):
        return behaviour.partition(":")[0]
    kind = behaviour.partition(":")[0]
    if not row["proof"].startswith("proved"):
        return "acts otherwise" if behaviour else "not executed"
    if kind == "wrong-value" and row["proof"].endswith(ROUNDED):
        return "rounds otherwise"
    return "fails to run" if kind in EXECUTED else "unsound"


def summed(rows: list[Row] | Iterator[Row], totals: dict[str, Any]) -> dict[str, Any]:
    """Add rows to totals: counts by kind, and what is to be read."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind, known in totals.get("counts", {}).items():
        counts[kind].update(known)
    told, samples = list(totals.get("told", [])), dict(totals.get("samples", {}))
    for row in rows:
        said = verdict_of(row)
        counts[row["kind"]][said] += 1
        counts[row["kind"]][f"{row['proof'] or 'no proof'}, {said}"] += 1
        if said in ("unsound", "fails to run", "rounds otherwise"):
            told.append(row)
        elif row.get("script") and len(samples.setdefault(row["kind"], [])) < SAMPLE:
            samples[row["kind"]].append(row)
    return {"counts": {kind: dict(each) for kind, each in counts.items()}, "told": told, "samples": samples}


def shown(name: str, totals: dict[str, Any]) -> None:
    """Print totals as tables."""
    columns = {
        "made": lambda each: sum(count for key, count in each.items() if "," not in key),
        "counted": lambda each: each.get("acts otherwise", 0) + each.get("unsound", 0),
        "proved": lambda each: each.get("unsound", 0),
        "different": lambda each: each.get("different, acts otherwise", 0),
        "open": lambda each: each.get("open, acts otherwise", 0),
        "alike": lambda each: each.get("alike", 0),
        "alike and proved": lambda each: each.get("proved, alike", 0) + each.get(f"proved{ROUNDED}, alike", 0),
        "round otherwise": lambda each: each.get("rounds otherwise", 0),
        "fail to run": lambda each: each.get("fails to run", 0),
        "not counted": lambda each: sum(each.get(key, 0) for key in (*_NOT_COUNTED, "not executed")),
    }
    counts = totals["counts"]
    rows = [(kind, *(of(each) for of in columns.values())) for kind, each in sorted(counts.items())]
    whole = ("together", *(sum(row[at] for row in rows) for at in range(1, len(columns) + 1)))
    print(f"{name}, of the numbers {', '.join(totals.get('ranges', []))}")
    print(tabulate([*rows, whole], headers=("kind", *columns)))
    for row in totals["told"]:
        print(f"{verdict_of(row)}: {row['kind']} on {row['module']} {row.get('stage', '')}: {row['behaviour']}")


def unsound(totals: dict[str, Any]) -> int:
    """Count what was proved and acts otherwise."""
    return sum(verdict_of(row) == "unsound" for row in totals["told"])


def main() -> None:
    parser = arguments.Parser(__doc__)
    for name, unit in (("mutations", "modules"), ("planted", "modules"), ("execute", "shards")):
        parser.add_argument(
            f"--{name}", type=arguments.span, metavar="FIRST:LAST", help=f"numbers of {unit}, the last one excluded"
        )
    parser.add_argument("--one-in", type=arguments.count, default=ONE_IN, metavar="N", help="default: %(default)s")
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument("--into", type=arguments.kept(arguments.document()), help="a file of totals to add to")
    parser.add_argument("--totals", type=arguments.document(), metavar="FILE", help="print the totals of a file")
    options = parser.parse_args()
    everything: dict[str, Any] = options.totals or {}
    if options.into is not None and options.into.exists():
        everything = json.loads(options.into.read_text())
    benchmarks = {**BENCHMARKS, "mutations": functools.partial(mutations, one_in=options.one_in)}
    for name, run in benchmarks.items():
        given = getattr(options, name)
        if given is None:
            continue
        known = everything.get(name, {})
        label = f"{options.seed}/{given.start}:{given.stop}"
        if label in known.get("ranges", []):
            continue
        found = summed(run(options.seed, given), known)
        everything[name] = {**found, "ranges": [*known.get("ranges", []), label]}
        if options.into is not None:
            options.into.write_text(json.dumps(everything, indent=1))
    for name, totals in everything.items():
        shown(name, totals)
    sys.exit(any(unsound(totals) for totals in everything.values()))


if __name__ == "__main__":
    main()
