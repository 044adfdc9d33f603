"""A case: everything that is needed to judge one subject again, as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oracles.passref import PassRef

if TYPE_CHECKING:
    from oracles.verdict import OracleName, Verdict


@dataclass(frozen=True, slots=True)
class Case:
    """One module under one pass or pipeline.

    Attributes:
        module_json: The module, as ``tvm.ir.save_json`` writes it.
        passes: The pass, or the passes of a pipeline in order.
        input_seed: Seed of the inputs that the numeric oracle draws.
    """

    module_json: str
    passes: tuple[PassRef, ...]
    input_seed: int

    @property
    def name(self) -> str:
        """Names of the passes, in order."""
        return " > ".join(ref.name for ref in self.passes)

    def to_json(self) -> str:
        """The case as one JSON object with the keys ``module_json``, ``passes`` and ``input_seed``."""
        passes = [{"name": ref.name, "expression": ref.expression} for ref in self.passes]
        return json.dumps({"module_json": self.module_json, "passes": passes, "input_seed": self.input_seed})

    @classmethod
    def from_json(cls, text: str) -> Case:
        """The case that :meth:`to_json` wrote; raises ``ValueError`` when ``text`` is something else."""
        try:
            raw: dict[str, Any] = json.loads(text)
            passes = tuple(PassRef(str(row["name"]), str(row["expression"])) for row in raw["passes"])
            return cls(str(raw["module_json"]), passes, int(raw["input_seed"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a case: {type(error).__name__}: {error}") from error


def load_module(case: Case) -> Any:
    """The case's ``IRModule``."""
    import tvm

    return tvm.ir.load_json(case.module_json)


def judge_case(
    case: Case, oracles: tuple[OracleName, ...] | None = None, stage: Callable[[str], None] | None = None
) -> list[Verdict]:
    """Judge a case in this process: call it inside an isolated worker only."""
    from fuzzer.isolation import die_if_out_of_memory
    from oracles.judge import judge
    from oracles.subject import Subject

    subject = Subject(load_module(case), case.passes, input_seed=case.input_seed, stage=stage)
    verdicts = judge(subject, oracles)
    die_if_out_of_memory(verdicts)
    return verdicts
