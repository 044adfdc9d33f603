"""A case of the corpus: its record, its file ``case.toml``, and how cases and their modules are loaded."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from corpus.judgements import causes
from fuzzer.core.toml import Flag, Line, TomlError, TomlFile, read_record, read_toml
from fuzzer.core.verb import UsageError
from fuzzer.store.known import KnownAs
from oracles.core.verdict import Evidence, Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

if TYPE_CHECKING:
    import tvm

CASES = Path(__file__).resolve().parent / "cases"
_MOST_SEARCHED = 10_000
"""Characters of a failure: some patterns take quadratic time."""
_NUMBERED = re.compile(r"(?<=\b[lg]v)\d+\b")
_IMPORTS = re.compile("^(?:import|from) .*", re.MULTILINE)


class CaseError(UsageError, ValueError):
    """A case directory that is missing, incomplete or malformed; the message names the file and the key."""


class ExpectedVerdict(NamedTuple):
    """The verdict that one run of a case must give.

    Attributes:
        outcome: ``PASS`` or ``FAIL``, of the case's oracle.
        pattern: Regular expression that must be found in ``kind: message`` (or in a frame) of a failure's evidence;
            empty accepts any evidence.
    """

    outcome: Outcome
    pattern: str = ""


class Replica(msgspec.Struct, frozen=True):
    """A Python pass that behaves as TVM did before a defect was repaired.

    Attributes:
        expression: Builds it; its name is that of the case's only pass.
        expected: The verdict of the oracle on it: it shows that the oracle would catch the defect again.
        pattern: See :class:`ExpectedVerdict`.
    """

    expression: Line
    expected: Outcome
    pattern: str = ""


class CaseContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a ``case.toml``.

    Attributes:
        title: What happens, in a few words.
        explanation: What is wrong in TVM (or was), in one sentence.
        oracle: Who judges.
        passes: One pass, or a pipeline of several.
        expected: Outcome by TVM version (``importlib.metadata`` version of ``apache-tvm``).
        pattern: See :class:`ExpectedVerdict`.
        upstream: Issue or pull request (``apache/tvm#17205``), ``(closed, ...)`` behind it; empty when none is known.
        subject: What the failure is about, where the message does not say it (``oracles.core.objection``).
        input_seed: Seed of the inputs that the numeric oracle draws.
        isolated: The case kills its process, so it gets one of its own and is judged by all oracles: the death
            may come from any of them and is the crash oracle's verdict.
        replica: The old behaviour of a defect repaired today.
        culprit: Who is to blame when that is not one of the passes (``TVMScript``, ``JSON``); empty otherwise.
    """

    title: Line
    explanation: Line
    oracle: Annotated[OracleName, msgspec.Meta(description="'{value}' is not an oracle")]
    passes: Annotated[
        tuple[PassRef, ...], msgspec.Meta(min_length=1, description="must be a list of tables with name and expression")
    ]
    expected: Annotated[
        dict[str, Outcome], msgspec.Meta(min_length=1, description='must say "pass" or "fail" of releases of TVM')
    ]
    pattern: str = ""
    upstream: str = ""
    subject: str = ""
    input_seed: Annotated[int, msgspec.Meta(description="must be an integer")] = 0
    isolated: Flag = False
    replica: Replica | None = None
    culprit: str = ""


class KnownCase(CaseContent, frozen=True, kw_only=True):
    """A known module, a pass, and what an oracle says of them.

    Attributes:
        slug: Name of the directory.
        directory: Where ``case.toml`` and the module lie.
    """

    slug: str
    directory: Path

    @property
    def blamed(self) -> str:
        """Who is to blame: the culprit that is no pass, or the passes."""
        return self.culprit or self.pass_text

    @property
    def reference(self) -> str:
        """The address of :attr:`upstream`; empty where there is none."""
        repository, mark, number = self.upstream.partition("#")
        return f"https://github.com/{repository}/issues/{number}" if mark else self.upstream

    def known(self, certain: bool = True) -> KnownAs:
        """Give what it tells of a finding that is this case, or perhaps is."""
        known = KnownAs(self.slug, self.explanation, self.reference, certain=certain)
        return replace(known, cause=causes().get(self.slug))

    @property
    def pass_text(self) -> str:
        """Names of the passes, joined by arrows."""
        return " -> ".join(ref.name for ref in self.passes)

    @property
    def replica_passes(self) -> tuple[PassRef, ...]:
        """The pass by its own name, built by the replica's factory; none without a replica."""
        return () if self.replica is None else (PassRef(self.passes[0].name, self.replica.expression),)

    def shows_in(self, found: Evidence) -> bool:
        """Say whether a failure says what this case's does, whatever the numbers of its variables.

        What an old campaign recorded has no subject.
        """
        subject = found.details.subject
        seen = "\n".join([f"{found.kind}: {found.message}", *found.frames])[:_MOST_SEARCHED]
        texts = (seen, _NUMBERED.sub("", seen))
        return subject in ("", self.subject or subject) and any(re.search(self.pattern, text) for text in texts)

    def expectation_for(self, version: str) -> ExpectedVerdict | None:
        """Return what is expected of a TVM version, ``None`` when the case says nothing of it."""
        outcome = self.expected.get(version)
        if outcome is None:
            return None
        return ExpectedVerdict(outcome, self.pattern if outcome is Outcome.FAIL else "")


def parse_case(directory: Path) -> KnownCase:
    """Read ``directory/case.toml``; raises ``CaseError`` with file, line and key in one line."""
    try:
        file = read_toml(directory / "case.toml")
        case = read_record(file, (), file.table, CaseContent, "of a case")
        _check(
            file, ("pattern",), case.pattern, {("expected", version): each for version, each in case.expected.items()}
        )
        if case.replica is not None:
            if len(case.passes) != 1:
                raise file.error(("replica",), "stands for one pass, but the case has several")
            _check(file, ("replica", "pattern"), case.replica.pattern, {("replica", "expected"): case.replica.expected})
    except TomlError as error:
        raise CaseError(str(error)) from error
    return KnownCase(
        **{name: getattr(case, name) for name in case.__struct_fields__}, slug=directory.name, directory=directory
    )


def _check(file: TomlFile, key: tuple[str, ...], pattern: str, outcomes: Mapping[tuple[str, ...], Outcome]) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise file.error(key, f"is not a regular expression: {error}") from error
    for place, outcome in outcomes.items():
        if outcome not in (Outcome.PASS, Outcome.FAIL):  # a case whose oracle skips or rejects shows nothing
            raise file.error(place, 'must be "pass" or "fail"')


def load(slugs: Iterable[str] = (), root: Path = CASES) -> list[KnownCase]:
    """Load the named cases, or all, sorted by slug.

    Args:
        slugs: Names of case directories; none means all.
        root: Directory that holds one directory a case.

    Raises:
        CaseError: For an unknown slug (with near matches) or a malformed case, in one line.
    """
    known = sorted(path.parent.name for path in root.glob("*/case.toml"))
    wanted = list(slugs) or known
    for slug in wanted:
        if slug not in known:
            near = difflib.get_close_matches(slug, known, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise CaseError(f"no case '{slug}' in the corpus{hint}")
    return [parse_case(root / slug) for slug in wanted]


def load_module(case: KnownCase) -> tvm.IRModule:
    """Load the case's module: ``module.py`` (imports of a line each and TVMScript; it is run) or ``module.json``.

    Raises:
        CaseError: When neither file is there, or it does not load.
    """
    import tvm

    for name, read in (("module.py", _read_script), ("module.json", tvm.ir.load_json)):
        path = case.directory / name
        if path.is_file():
            try:
                found = read(path.read_text(encoding="utf-8"))
            except Exception as error:
                raise CaseError(f"{path}: {type(error).__name__}: {error}") from error
            if not isinstance(found, tvm.IRModule):
                raise CaseError(f"{path} is not a tvm.IRModule")
            return found
    raise CaseError(f"{case.directory} contains neither module.py nor module.json")


def _read_script(text: str) -> object:
    import tvm

    # As text it is parsed in a quarter of the time that a class takes, for which TVM looks at Python's stack.
    names: dict[str, object] = {}
    exec("\n".join(_IMPORTS.findall(text)), names)
    return tvm.script.from_source(_IMPORTS.sub("", text), names)
