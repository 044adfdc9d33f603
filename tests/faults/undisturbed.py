"""What a campaign of deadly passes must have recorded, computed without running any of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import deadly
from deadly import NAMES, Fault, fault_of
from turns import TURN
from tvm_ffi import structural_hash

from fuzzer.core.case import load_module
from fuzzer.core.config import Config, user_pass
from fuzzer.findings.signature import death_verdict, signature
from fuzzer.shard.draw import SHARD_EXAMPLES, draw_subjects, subjects_per_module
from fuzzer.store.records import FindingState
from fuzzer.store.writer import Store
from fuzzer.worker.death import Death, Died
from relaxkit.passes.contract import OracleName

HERE = Path(__file__).parent
SEED = 11 + TURN
CASE_SECONDS = 2.0
"""The limit that hangs cost; the honest cases take milliseconds."""
DEATHS = tuple(each for each in Fault if each is not Fault.NONE)


@dataclass(slots=True)
class Expected:
    """Everything that the seed decides.

    Attributes:
        tallies: Cases by pass and fault.
        first: By pass and fault, the fingerprint of the module that showed it first.
    """

    tallies: Counter[tuple[str, Fault]] = field(default_factory=Counter)
    first: dict[tuple[str, Fault], int] = field(default_factory=dict)

    @property
    def faults(self) -> int:
        """Cases that are deadly."""
        return sum(count for (_, fault), count in self.tallies.items() if fault is not Fault.NONE)


def config(examples: int, workers: int = 2) -> Config:
    """A campaign of all deadly passes."""
    passes = tuple(user_pass(f"{deadly.__file__}:{name}") for name in NAMES)
    return Config(
        seed=SEED, passes=(), user_passes=passes, oracles=(OracleName.CRASH,), max_examples=examples, seconds=None,
        workers=workers, case_timeout=CASE_SECONDS, memory_limit=1 << 30,
    )  # fmt: skip


def expected(examples: int) -> Expected:
    """What a campaign of so many cases gives."""
    what = config(examples)
    per_module = subjects_per_module(what)
    found = Expected()
    for begin in range(0, examples, SHARD_EXAMPLES):
        limit = min(SHARD_EXAMPLES, examples - begin)
        for number in range(-(-limit // per_module)):
            drawn = draw_subjects(what, begin // SHARD_EXAMPLES, number)
            assert drawn is not None
            for row in drawn.pipelines[: limit - number * per_module]:
                key = row[0].name, fault_of(drawn.module, row[0].name)
                found.tallies[key] += 1
                found.first.setdefault(key, structural_hash(drawn.module))
    return found


def finding_id(name: str, fault: Fault) -> str:
    """Id of the finding that a fault of a pass must become."""
    death, _, code = fault.value.partition(" ")
    died = Died(Death(death), fault.value, f"crash: {name}", int(code) if code else None)
    return signature(death_verdict(died, name)).id


def known_file(path: Path) -> Path:
    """All of these findings as known ones, so that a campaign spends no time on triage."""
    rows = [(name, fault) for name in NAMES for fault in DEATHS]
    path.write_text(
        "".join(
            f'[[known]]\nid = "{finding_id(name, fault)}"\nreference = "planted"\nreason = "{name}: {fault.value}"\n\n'
            for name, fault in rows
        )
    )
    return path


def check(out: Path, wanted: Expected) -> None:
    """Nothing lost, nothing counted twice, the case of each death known, one line of explanation."""
    with Store.open(out) as store:
        examples, tallies, findings = store.info().examples, store.tallies(), store.findings()
    assert examples == wanted.tallies.total()
    dead: Counter[str] = Counter()
    for (name, fault), count in wanted.tallies.items():
        if fault is not Fault.NONE:
            dead[name] += count
    said = {(each.culprit, each.outcome): each.count for each in tallies if each.oracle == "crash"}
    total = Counter(name for (name, _), count in wanted.tallies.items() for _ in range(count))
    assert said == {
        **{(name, "fail"): count for name, count in dead.items() if count},
        **{(name, "pass"): count - dead[name] for name, count in total.items() if count > dead[name]},
    }
    found = {(each.culprit, each.kind, each.count) for each in findings}
    due = {(name, fault.value, count) for (name, fault), count in wanted.tallies.items() if fault is not Fault.NONE}
    assert found == due, f"only recorded: {sorted(found - due)}; only due: {sorted(due - found)}"
    for each in findings:
        module = load_module(each.case)
        fault = Fault(each.kind)
        assert fault_of(module, each.culprit) is fault
        assert structural_hash(module) == wanted.first[each.culprit, fault], "the first case, not some case"
        assert each.id == finding_id(each.culprit, fault)
        assert each.state is FindingState.KNOWN
        assert each.message == f"{fault.value} during crash", "one line that says what happened, and where"
