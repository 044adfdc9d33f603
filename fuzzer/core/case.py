"""A case: everything that is needed to judge one subject again, as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fuzzer.core.verb import UsageError
from relaxkit.files import read_text, write_atomically
from relaxkit.passes.pass_ref import PassRef

if TYPE_CHECKING:
    from oracles.core.subject import Subject
    from oracles.core.verdict import Verdict
    from relaxkit.passes.contract import OracleName


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
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Case:
        """Read what :meth:`to_json` wrote; raises ``ValueError`` when ``text`` is something else."""
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(f"not a case: {error}") from error


def load_module(case: Case) -> Any:
    """The case's ``IRModule``."""
    import tvm

    return tvm.ir.load_json(case.module_json)


def subject_of(case: Case, stage: Callable[[str], None] | None = None) -> Subject:
    """The case's subject, on a module of its own."""
    from oracles.core.subject import Subject

    return Subject(load_module(case), case.passes, input_seed=case.input_seed, stage=stage)


def judge_case(
    case: Case, oracles: tuple[OracleName, ...] | None = None, stage: Callable[[str], None] | None = None
) -> list[Verdict]:
    """Judge a case in this process: call it inside an isolated worker only."""
    from fuzzer.worker.child import die_if_out_of_memory
    from oracles.judge import judge

    verdicts = judge(subject_of(case, stage), oracles)
    die_if_out_of_memory(verdicts)
    return verdicts


# A case in a file of its own: what ``relaxfuzz minimize`` saves, and takes again.

FORMAT = "relaxfuzz-case-1"


class CaseFileError(UsageError, ValueError):
    """A file that holds no case; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A case, and what it shows.

    Attributes:
        case: The case.
        oracle: Name of the oracle that sees it fail; empty for the user's own criterion.
        id: Id of the signature, or what stands for the criterion.
        text: The signature in one line.
    """

    case: Case
    oracle: str
    id: str
    text: str


def write_case(path: Path, what: CaseFile) -> None:
    """Write a case, at once or not at all; raises ``OSError``."""
    raw: dict[str, Any] = {"format": FORMAT, "oracle": what.oracle, "id": what.id, "signature": what.text}
    write_atomically(path, json.dumps({**raw, **json.loads(what.case.to_json())}))


def read_case(path: Path) -> CaseFile | None:
    """The case in a file; ``None`` when it is a file of another kind.

    Raises:
        CaseFileError: It cannot be read, or is damaged.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CaseFileError(f"'{path}' cannot be read: {said}") from error
    if FORMAT not in text[:100]:
        return None
    try:
        raw = json.loads(text)
        return CaseFile(Case.from_json(text), str(raw["oracle"]), str(raw["id"]), str(raw["signature"]))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CaseFileError(f"'{path}' is damaged: {' '.join(str(error).split())[:200]}") from error
