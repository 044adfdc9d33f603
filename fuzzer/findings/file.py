"""``findings.toml``: what people know of findings better than a rule, in one file that is reviewed like code.

    [[known]]                          # reported or accepted: `run` cuts its cases short, `gate` does not fail by it
    id = "1f0c2ab934"                  # or: signature = "crash | FuseOps | ...", or: family = "F0c2ab934f"
    reference = "https://github.com/apache/tvm/issues/17210"  # optional: where it is reported
    reason = "a second Relax function is not grouped"
    pass = "FuseOps"                   # what must have been tested before silence means that it is gone
    tvm = ">=0.26,<0.28"               # releases that have it
    expires = 2027-03-01               # somebody looks again by then

    [[merge]]
    into = "F0c2ab934f"                # the family that the others join
    ids = ["F11d0e2a7c", "0a1b2c3d4e"]  # whole families, or single findings
    reason = "make_closure is typed R.Any: seen by the caller, and by the type of the result"

    [[split]]
    ids = ["5e4d3c2b1a"]                # these findings are a family of their own
    reason = "the same check, but no local function in it"

Ids are functions of what failed, not of the campaign, so an entry holds for every later one.  A gate policy may hold
``[[known]]`` tables itself.  ``fuzzer.gate.entries`` says which of them are expired, out of range, or stale.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field
from packaging.specifiers import InvalidSpecifier, Specifier

from fuzzer.core.text import shorten
from fuzzer.core.toml import Line, TomlError, TomlFile, parse_toml, read_record, read_tables, read_toml
from fuzzer.core.verb import UsageError
from fuzzer.findings.family import MARK, Family
from fuzzer.findings.signature import readable, signature_id
from relaxkit.compat.known import numbers
from relaxkit.files import confine, write_atomically
from relaxkit.near import near_matches

DEFAULT_FILE = Path("findings.toml")
"""Where decisions are read if nothing else is said, from the directory that the program is started in."""
_MOST_RANGE = 200
_KINDS = ("known", "merge", "split")
FAMILY_ID = re.compile(rf"{MARK}[0-9a-f]{{9}}")
_REFERENCE = re.compile(r"https?://\S+|[\w.-]+/[\w.-]+#\d+")
FINDING_ID = re.compile(r"[0-9a-f]{10}")
_FindingId = Annotated[
    str, Meta(pattern=rf"^{FINDING_ID.pattern}\Z", description="must be the ten hex digits of a finding's id")
]
_FamilyId = Annotated[
    str, Meta(pattern=rf"^{FAMILY_ID.pattern}\Z", description="must be the id of a family: F and nine hex digits")
]
_Day = Annotated[datetime.date, Meta(description="is {value!r}, not a date such as 2027-03-01")]
_Ids = Annotated[tuple[str, ...], Meta(min_length=1, description="must be a list of ids that is not empty")]


class KnownFinding(Struct, frozen=True):
    """One accepted finding or family.

    Attributes:
        id: Ten hex digits, or empty.
        signature: The signature's one-line text, or empty.
        reference: Where it is reported or accepted: an upstream URL or a text; empty if it is reported nowhere.
        reason: Why it does not stop the gate, one line.
        family: Id of a family, or empty; of ``id``, ``signature`` and ``family`` one at least is given.
        culprit: The pass that must have been tested for silence to mean something; empty when the entry does not say.
        tvm: Range of the releases of TVM that have it; all when empty.
        expires: The day from which it has to be looked at again.
    """

    id: _FindingId = ""
    signature: Line = ""
    reference: Line = ""
    reason: Line = ""
    family: _FamilyId = ""
    culprit: Line = field(default="", name="pass")
    tvm: Line = ""
    expires: _Day | None = None

    def matches(self, finding_id: str, signature: str, family: str = "", former: str = "") -> bool:
        """Say whether this entry names the finding, by its id or its former one; all fields that are given must fit."""
        exact = self.id in ("", finding_id, former) and (
            self.signature in ("", signature, readable(signature)) or signature_id(self.signature) == former
        )
        return exact and self.family in ("", family)

    def concerns(self, version: str) -> bool:
        """Say whether it speaks of a release of TVM."""
        return all(_holds(bound, version) for bound in _bounds(self.tvm))

    @property
    def name(self) -> str:
        """Name of the entry in reports."""
        return self.id or self.family or self.signature

    @property
    def where(self) -> str:
        """Say where it is reported."""
        return self.reference or "no reference"

    @property
    def exact(self) -> str:
        """Id of the one finding that it names; empty for a family."""
        if self.id or not self.signature:
            return self.id
        return signature_id(self.signature)


def _bounds(text: str) -> list[Specifier]:
    """Split a range of releases; raises ``InvalidSpecifier``."""
    if len(text) > _MOST_RANGE:
        raise InvalidSpecifier(f"more than {_MOST_RANGE} characters")
    return [Specifier(part) for part in text.split(",")] if text else []


def _holds(bound: Specifier, version: str) -> bool:
    """Say whether a release is inside of a bound, which speaks of as many numbers as it has: 0.27 is every 0.27."""
    size = bound.version.removesuffix(".*").count(".") + 1
    return bound.contains(".".join(map(str, numbers(version)[:size])) or "0", prereleases=True)


@dataclass(frozen=True, slots=True)
class KnownFindings:
    """The known findings of a file, searched by finding.

    Attributes:
        entries: As they stand there.
        file: Its name.
    """

    entries: tuple[KnownFinding, ...] = ()
    file: str = DEFAULT_FILE.name
    _places: dict[str, list[int]] = dataclasses.field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for place, entry in enumerate(self.entries):
            names = (entry.id,) if entry.id else (entry.signature, entry.exact) if entry.signature else (entry.family,)
            for name in names:
                self._places.setdefault(name, []).append(place)

    def _matches(self, *names: str) -> list[int]:
        """List the places of the entries that name a finding, given as :meth:`find` takes it."""
        # Of reports people copy the signature as it is shown there.
        near = {place for name in {*names, readable(names[1]), ""} for place in self._places.get(name, ())}
        return [place for place in sorted(near) if self.entries[place].matches(*names)]

    @property
    def words(self) -> str:
        """Say to whom they are known."""
        return f"known on your list ({self.file})"

    def find(self, finding_id: str, signature: str, family: str = "", former: str = "") -> KnownFinding | None:
        """Find the first entry that names the finding."""
        return next((self.entries[place] for place in self._matches(finding_id, signature, family, former)), None)

    def unseen(self, findings: Iterable[tuple[str, ...]]) -> tuple[KnownFinding, ...]:
        """List the entries that name none of the findings, each given by what :meth:`find` takes."""
        seen = {place for names in findings for place in self._matches(*names)}
        return tuple(entry for place, entry in enumerate(self.entries) if place not in seen)

    def of(self, version: str) -> KnownFindings:
        """Leave out what does not speak of a release of TVM: another one that fails the same way is worth a look."""
        return replace(self, entries=tuple(entry for entry in self.entries if entry.concerns(version)))

    def ids(self) -> frozenset[str]:
        """Ids of findings that an entry names singly: their cases are cut short."""
        return frozenset(entry.exact for entry in self.entries if entry.exact and not entry.family)


@dataclass(frozen=True, slots=True)
class Decision:
    """A merge or a split.

    Attributes:
        into: The family that the others join; of a split, the id of the new family.
        ids: Families and findings that are concerned.
        reason: Why, one line.
        split: Whether it takes findings out of their families.
    """

    into: str
    ids: tuple[str, ...]
    reason: str
    split: bool = False

    def to_object(self) -> dict[str, object]:
        """Give what ``relaxfuzz triage ... --json`` prints of it."""
        what = "split" if self.split else "merge"
        return {"decision": what, "into": self.into, "ids": list(self.ids), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a finding belongs.

    Attributes:
        id: Id of the family.
        text: What the family is, one line.
        decision: The entry that put it there; ``None`` when the rule did.
    """

    id: str
    text: str
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """The merges and splits of a file."""

    entries: tuple[Decision, ...] = ()
    _of: dict[str, Decision] = dataclasses.field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._of.update((each, entry) for entry in reversed(self.entries) for each in entry.ids)

    def place(self, finding_id: str, family: Family, former: str = "") -> Placed:
        """Place a finding in its family; an entry on the finding itself comes before one on its family."""
        entry = next(filter(None, map(self._of.get, (finding_id, former, family.id))), None)
        return Placed(entry.into, entry.reason, entry) if entry else Placed(family.id, family.text)


def load_known(path: Path | None) -> KnownFindings:
    """Read the known findings of a file, as :func:`load_decisions`."""
    return known_in(_read(path))


def load_decisions(path: Path | None) -> Decisions:
    """Read the decisions of a file; of :data:`DEFAULT_FILE` when ``None``, and none when that is not there.

    Raises:
        fuzzer.core.toml.TomlError: With file, line and key.
    """
    return decisions_in(_read(path))


def _read(path: Path | None) -> TomlFile:
    if path is None:
        if not DEFAULT_FILE.is_file():
            return TomlFile(DEFAULT_FILE, "", {})
        try:
            confine(DEFAULT_FILE, Path())
        except OSError as error:
            raise TomlError(f"{DEFAULT_FILE}: {error.strerror}; use --triage to read it anyway") from error
    return _checked(read_toml(path or DEFAULT_FILE))


def _checked(file: TomlFile) -> TomlFile:
    for key in file.table:
        if key not in _KINDS:
            raise file.error((key,), f"is not a key of a file of findings{near_matches(key, _KINDS)}")
    return file


def known_in(file: TomlFile) -> KnownFindings:
    """Read the ``[[known]]`` tables of a file; raises ``fuzzer.core.toml.TomlError``."""
    rows = enumerate(read_tables(file, "known"))
    return KnownFindings(tuple(_known(file, index, row) for index, row in rows), file.path.name)


def _known(file: TomlFile, index: int, row: dict[str, object]) -> KnownFinding:
    at = ("known", index)
    entry = read_record(file, at, row, KnownFinding, "of a known finding")
    if not entry.name:
        raise file.error(at, "needs 'id', 'signature' or 'family'")
    if "reason" not in row:
        raise file.error(at, "needs 'reason'")
    if entry.reference.rstrip("/").endswith(("/issues", "/pull")):
        raise file.error((*at, "reference"), f"is '{shorten(entry.reference, 60)}', without the number of an issue")
    try:
        _bounds(entry.tvm)
    except InvalidSpecifier as error:
        complaint = f"is '{shorten(entry.tvm, 60)}', not a range of releases such as '>=0.26,<0.28'"
        raise file.error((*at, "tvm"), complaint) from error
    return entry


class _Merge(Struct, frozen=True):
    """A ``[[merge]]`` table."""

    into: _FamilyId
    ids: _Ids
    reason: Line


class _Split(Struct, frozen=True):
    """A ``[[split]]`` table."""

    ids: _Ids
    reason: Line


def decisions_in(file: TomlFile) -> Decisions:
    """Read the ``[[merge]]`` and ``[[split]]`` tables of a file; raises ``fuzzer.core.toml.TomlError``."""
    rows = [(kind, index, row) for kind in _KINDS[1:] for index, row in enumerate(read_tables(file, kind))]
    decisions = [_decision(file, kind, index, row) for kind, index, row in rows]
    owner: dict[str, str] = {}
    for (kind, index, _), decision in zip(rows, decisions, strict=True):
        for each in decision.ids:
            if each in owner:
                raise file.error((kind, index, "ids"), f"names {each}, which {owner[each]} already names")
            owner[each] = f"{kind}.{index + 1}"
    for (kind, index, _), decision in zip(rows, decisions, strict=True):
        if decision.into in owner:
            raise file.error((kind, index, "into"), f"is {decision.into}, which {owner[decision.into]} merges away")
    return Decisions(tuple(decisions))


def _decision(file: TomlFile, kind: str, index: int, row: dict[str, object]) -> Decision:
    at = (kind, index)
    what = f"of a {kind}"
    split = kind == "split"
    entry = read_record(file, at, row, _Split, what) if split else read_record(file, at, row, _Merge, what)
    if not entry.reason.isprintable():
        raise file.error((*at, "reason"), "must be one line of text that is not empty")
    into = entry.into if isinstance(entry, _Merge) else split_family(entry.ids)
    for each in entry.ids:
        if not FINDING_ID.fullmatch(each) and (split or not FAMILY_ID.fullmatch(each)):
            allowed = "a finding's id" if split else "the id of a finding or of a family"
            raise file.error((*at, "ids"), f"contains '{each}', which is not {allowed}")
    if into in entry.ids:
        raise file.error((*at, "ids"), f"contains {into}, into which the others are merged")
    return Decision(into, entry.ids, entry.reason, split)


def split_family(ids: tuple[str, ...]) -> str:
    """Give the id of the family that these findings make when they are split off."""
    return MARK + hashlib.sha256(f"split: {' '.join(sorted(ids))}".encode()).hexdigest()[:9]


# Adding decisions: an entry is written at the end, and what stands there already stays as it is.

HEAD = """\
# Decisions about findings: docs/triage.md. Review changes like code; `relaxfuzz triage` adds entries.
"""


class DecisionError(UsageError, ValueError):
    """A decision that cannot be added; the message is one line for the user."""


def add_merge(path: Path, ids: Sequence[str], reason: str) -> Decision:
    """Let findings and families join the family that is named first.

    Raises:
        DecisionError: They cannot, or the file cannot be written.
        fuzzer.core.toml.TomlError: The file is wrong, or would be.
    """
    if not FAMILY_ID.fullmatch(ids[0]):
        raise DecisionError(f"'{ids[0]}' is not the id of a family: F and nine hex digits")
    _check(ids[1:], families=True)
    return _add(path, f"[[merge]]\ninto = {_text(ids[0])}\nids = {_list(ids[1:])}\nreason = {_text(reason)}\n")


def add_split(path: Path, ids: Sequence[str], reason: str) -> Decision:
    """Make findings a family of their own; raises as :func:`add_merge` does."""
    _check(ids, families=False)
    return _add(path, f"[[split]]\nids = {_list(ids)}\nreason = {_text(reason)}\n")


def add_known(path: Path, name: str, reference: str, reason: str, culprit: str = "") -> KnownFinding:
    """List a finding or a family as known; raises as :func:`add_merge` does."""
    _check([name], families=True)
    if reference and not _REFERENCE.fullmatch(reference):
        raise DecisionError(f"'{reference}' is neither a URL nor an issue such as apache/tvm#17210")
    if path.exists() and (there := next((each for each in load_known(path).entries if each.name == name), None)):
        raise DecisionError(f"'{path}' already lists {name} as known ({there.where}): {there.reason}; change it there")
    kind = "id" if FINDING_ID.fullmatch(name) else "family"
    where = f"pass = {_text(culprit)}\n" if culprit else ""
    where += f"reference = {_text(reference)}\n" if reference else ""
    entry = f"[[known]]\n{kind} = {_text(name)}\n{where}reason = {_text(reason)}\n"
    return known_in(_append(path, entry)).entries[-1]


def _check(ids: Sequence[str], families: bool) -> None:
    for name in ids:
        if not FINDING_ID.fullmatch(name) and not (families and FAMILY_ID.fullmatch(name)):
            what = "a finding or of a family" if families else "a finding (families cannot be split, findings can)"
            raise DecisionError(f"'{name}' is not the id of {what}")


def _add(path: Path, entry: str) -> Decision:
    split = entry.startswith("[[split]]")
    return [each for each in decisions_in(_append(path, entry)).entries if each.split is split][-1]


def _append(path: Path, entry: str) -> TomlFile:
    """Write an entry behind the others, if what the file is then says nothing wrong."""
    before = read_toml(path).text if path.exists() else HEAD
    text = f"{before.rstrip()}\n\n{entry}"
    file = _checked(parse_toml(path, text))
    decisions_in(file), known_in(file)
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DecisionError(f"cannot write '{path}': {error.strerror or error}") from error
    return file


def _text(value: str) -> str:
    if not value.isprintable():
        raise DecisionError("the reason must be one line of printable text")
    return json.dumps(value, ensure_ascii=False)  # of printable text, a string of JSON is one of TOML


def _list(ids: Sequence[str]) -> str:
    return f"[{', '.join(_text(name) for name in ids)}]"
