"""Tell what people know of findings: which are cases of a collection, and which ``findings.toml`` lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import entry_points
from typing import Any

from fuzzer.core.text import Standing, by_standing, counted, enumerated
from fuzzer.findings.assessment import Assessment, EvidenceClass
from fuzzer.findings.file import KnownFindings, load_known
from fuzzer.findings.script_parts import NAMES, ScriptParts
from fuzzer.findings.signature import normalise
from fuzzer.store.records import FindingRecord, FindingState

GROUP = "relaxfuzz.known"
"""Entry-point group of collections of known cases.

Each is a function that takes findings, and gives :class:`KnownAs` by id; with ``others``, what else is known of the
passes of these findings.
"""

_IN_CORPUS = "in relaxfuzz's corpus"
_UNREPORTED = f"{_IN_CORPUS} but not reported upstream"
_CLOSED = "reported upstream only in closed issues or of a sibling"
_UPSTREAM = ("https://github.com/apache/", "https://discuss.tvm.apache.org/", "apache/tvm#")


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a defect, as somebody read it in TVM's source.

    Attributes:
        name: The same for all findings that have it.
        reason: What is wrong, in a sentence or two.
        place: File and function of TVM that are at fault: ``src/relax/transform/x.cc: Class::Method``.
        mend: A possible fix; empty where nobody proposed one.
        upstream: Address of an issue or a change of TVM that speaks of it, where one was found.
        read: Title of the report that was read: a finding of another title has another program.
    """

    name: str
    reason: str
    place: str = ""
    mend: str = ""
    upstream: str = ""
    read: str = ""


@dataclass(frozen=True, slots=True)
class KnownAs:
    """The name under which people know a finding.

    Attributes:
        name: Of the case, of the page that tells of it, or of the entry that lists it.
        sentence: What is wrong.
        reference: Where it is reported; empty where nobody knows that.
        listed: Whether an entry lists it, which excuses it where that file is given; a case excuses nothing.
        certain: Whether somebody said that of this finding, and not of one that fails like it.
        also: The case that an entry stands beside.
        file: The file that lists it.
        cause: Its cause, where somebody has read it in TVM's source.
        same_program: Whether the cause is that of this very program; see :func:`same_title`.
        debatable: Whether at least half of those who read it say that it may be no defect.
    """

    name: str
    sentence: str
    reference: str = ""
    listed: bool = False
    certain: bool = True
    also: KnownAs | None = None
    file: str = ""
    cause: Cause | None = None
    same_program: bool = False
    debatable: bool = False

    @property
    def upstream(self) -> bool:
        """Say whether it is reported there."""
        return self.reference.startswith(_UPSTREAM)

    @property
    def reported(self) -> str:
        """Where it is reported upstream, as somebody said of this finding; empty for nowhere."""
        cause, also = self.cause.upstream if self.cause else "", self.also.reported if self.also else ""
        places = (self.reference, cause, also) if self.certain or self.listed else ()  # others fail like it by chance
        return next((place for place in places if place.startswith(_UPSTREAM)), "")

    @property
    def told_upstream(self) -> str:
        """How what was reported is to this finding, and where; empty for nowhere."""
        how = "already reported" if self.listed or self.same_program else "perhaps already reported"
        how = "reported of a sibling" if " of a sibling" in self.reported else how
        return f"{how}: {self.reported}" if self.reported else ""

    @property
    def perhaps_caused(self) -> bool:
        """Say whether its cause was read of another program."""
        return self.certain and not self.listed and self.cause is not None and not self.same_program

    @property
    def line(self) -> str:
        """One line for reports: to whom it is known, the strongest first, and what they say."""
        case = self.also if self.listed else self
        perhaps = "perhaps " if self.listed and case is not None and not case.certain else ""
        places, said = [], self.sentence
        if self.listed:
            other = f", {self.reference}" if self.reference and not self.upstream else ""
            places.append(f"on your list ({self.file}{other})")
        if self.upstream:
            places.append(f"upstream ({self.reference})")
        elif case is not None and case.upstream:
            places.append(f"{perhaps}upstream ({case.reference})")
        if case is not None:
            places.append(f"{perhaps}{_IN_CORPUS if places else _UNREPORTED} ({case.name})")
            said += f"; the corpus says: {case.sentence}" if case.sentence != said else ""
        said = f"perhaps the same cause: {said}" if self.perhaps_caused else said
        return f"{'known' if self.certain else 'perhaps known'} {enumerated(places)}: {said}"

    def to_object(self) -> dict[str, object]:
        """Give what JSON holds of it."""
        own = {"name": self.name, "sentence": self.sentence, "reference": self.reference, "listed": self.listed}
        cause = self.cause and asdict(self.cause)
        also = self.also and self.also.to_object()
        told = {"cause": cause, "same_program": self.same_program, "also": also}
        return {**own, "reported": self.reported, "certain": self.certain, **told}


def same_title(parts: ScriptParts | None, title: str) -> bool:
    """Say whether the script of a finding has a title, numbers and names apart.

    One identifier stands for many programs; titles tell what they differ in, such as the operator or the place.
    """
    return parts is not None and without_numbers(parts.words.title) == without_numbers(title)


def without_numbers(title: str) -> str:
    """Return a title without numbers, names, and the place of a number in a result."""
    return normalise(title.partition(" at index ")[0])


def rank(finding: FindingRecord, known: Container[str]) -> tuple[Any, ...]:
    """Return a finding's place in lists: of one severity, what is in ``known`` stands behind what is new."""
    standing, severity, listed, *ties = finding.rank
    return standing, severity, listed or finding.id in known, *ties


def ordered(findings: Iterable[FindingRecord], known: Container[str] = ()) -> list[FindingRecord]:
    """Sort findings by :func:`rank`."""
    return sorted(findings, key=lambda each: rank(each, known))


def reported(finding: FindingRecord, known: Mapping[str, KnownAs]) -> str:
    """Return where a finding is reported upstream; empty for nowhere, for a report that is closed, or of a sibling."""
    place = known[finding.id].reported if finding.id in known else ""
    return "" if " (closed" in place or " of a sibling" in place else place


def state_of(finding: FindingRecord, known: KnownAs | None) -> FindingState:
    """Return a finding's state as lists show it: what an entry lists is known, whenever it was listed."""
    listed = known is not None and known.listed and finding.standing is Standing.FINDING
    return FindingState.KNOWN if listed else finding.state


def recognize(findings: Sequence[FindingRecord], known: KnownFindings | None = None) -> dict[str, KnownAs]:
    """Find what is known of findings, by id.

    Args:
        findings: The findings.
        known: What is listed; by default in ``findings.toml``, where there is one.

    Raises:
        fuzzer.core.toml.TomlError: ``findings.toml`` is wrong.
    """
    found: dict[str, KnownAs] = {}
    for collection in _collections():  # of defects of TVM's, which no pass of a user's has
        found |= collection([each for each in findings if not each.of_users])
    listed = known or load_known(None)
    for each in findings if listed.entries else ():
        if (row := listed.find(each.id, each.signature, each.family.id, each.former)) is not None:
            case = found.get(each.id)
            cause = None if case is None else case.cause
            found[each.id] = KnownAs(row.name, row.reason, row.reference, True, True, case, listed.file, cause)
    for each in findings:
        told, parts = found.get(each.id), each.parts
        if told is not None and told.cause is not None and (told.also or told).certain and parts is not None:
            same = same_title(parts, told.cause.read) and parts.fits(told.cause.reason, NAMES)
            found[each.id] = replace(told, same_program=same)
    return found


def as_reviewed(finding: FindingRecord) -> Assessment | None:
    """Return the assessment of a finding: where readers call it debatable, it is a question."""
    told, found = recognize([finding], KnownFindings()).get(finding.id), finding.assessed
    debatable = found is not None and told is not None and told.debatable
    return replace(found, evidence=EvidenceClass.DEBATABLE) if found and debatable else found


def compared(findings: Sequence[FindingRecord], known: Container[str]) -> list[FindingRecord]:
    """Give findings that nobody knows the known defects of their passes, to look at."""
    new, others = [each for each in findings if each.id not in known and not each.of_users], dict[str, str]()
    for collection in _collections():
        others |= {name: each.sentence for name, each in collection(new, others=True).items()}
    return [replace(each, others=others.get(each.id, "")) for each in findings]


def _collections() -> list[Callable[..., dict[str, KnownAs]]]:
    return [entry.load() for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name, reverse=True)]


def in_words(findings: Sequence[FindingRecord], known: Mapping[str, KnownAs]) -> str:
    """Say how many findings, questions and suspects apart, are known; empty where none is."""
    findings = by_standing(findings)[Standing.FINDING]
    mine = [(each, known[each.id]) for each in findings if each.id in known]
    counts = Counter(
        "on your list" if told.listed
        else "reported upstream" if reported(each, known)
        else _CLOSED if told.reported
        else _UNREPORTED
        for each, told in mine
    )  # fmt: skip
    parts = [f"{many} {words}" for words, many in sorted(counts.items())]
    verb = "is known" if len(mine) == 1 else "are known"
    perhaps = "" if all(told.certain for _, told in mine) else " or perhaps known"
    return f"Of {counted(len(findings), 'finding')}, {len(mine)} {verb}{perhaps}: {', '.join(parts)}" if mine else ""
