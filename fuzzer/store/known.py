"""Tell what people know of findings: which are cases of a collection, and which ``findings.toml`` lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import entry_points
from typing import Any

from fuzzer.core.text import Standing, by_standing, counted, enumerated
from fuzzer.findings.file import KnownFindings, load_known
from fuzzer.findings.script_parts import NAMES, ScriptParts
from fuzzer.store.records import FindingRecord, FindingState
from relaxkit.passes.contract import OracleName

GROUP = "relaxfuzz.known"
"""Entry-point group of collections of known cases.

Each is a function that takes findings, and gives :class:`KnownAs` by id; with ``others``, what else is known of the
passes of these findings.
"""

_IN_CORPUS = "in relaxfuzz's corpus"
_UNREPORTED = f"{_IN_CORPUS} but not reported upstream"
_BARE = re.compile(r"(?:A module does not round-trip through \w+|\w+ fails): ")
"""What begins a title that names nothing in the module."""
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
        read: Id of the finding whose program was read: others have other programs.
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
        title: What is wrong in a few words, for a finding that has no script to say it.
        found_for: The program that the sentence tells of, where that is not the finding's; see :func:`other_program`.
    """

    name: str
    sentence: str
    reference: str = ""
    listed: bool = False
    certain: bool = True
    also: KnownAs | None = None
    file: str = ""
    cause: Cause | None = None
    title: str = ""
    found_for: str = ""

    @property
    def upstream(self) -> bool:
        """Say whether it is reported there."""
        return self.reference.startswith(_UPSTREAM)

    @property
    def reported(self) -> str:
        """Where it is reported upstream, as far as anybody said; empty for nowhere."""
        places = (self.reference, self.cause.upstream if self.cause else "", self.also.reference if self.also else "")
        return next((place for place in places if place.startswith(_UPSTREAM)), "")

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
        said = f"{self.found_for}{said}" if self.certain and not self.listed else said  # perhaps is said before
        return f"{'known' if self.certain else 'perhaps known'} {enumerated(places)}: {said}"

    def to_object(self) -> dict[str, object]:
        """Give what JSON holds of it."""
        own = {"name": self.name, "sentence": self.sentence, "reference": self.reference, "listed": self.listed}
        cause = self.cause and asdict(self.cause)
        also = self.also and self.also.to_object()
        told = {"cause": cause, "found_for": self.found_for, "also": also}
        return {**own, "reported": self.reported, "certain": self.certain, **told}


def other_program(known: KnownAs, cause: Cause, finding: str, parts: ScriptParts | None) -> str:
    """Say for which program a cause was found, where that is not the one of a finding; empty where it is.

    Args:
        known: What is known of the finding.
        cause: Its cause, or what stands for it.
        finding: Its id.
        parts: What its script is made of: a cause that names other operators was found for another program.
    """
    if not (known.also or known).certain:
        return "Probable cause (the same error has this cause in another program): "
    if parts is not None and not parts.fits(cause.reason):
        return "As found for another program that fails in the same way: "
    return "" if cause.read in ("", finding) else "As found for a similar program: "


def rank(finding: FindingRecord, known: Container[str]) -> tuple[Any, ...]:
    """Return a finding's place in lists: of one severity, what is in ``known`` stands behind what is new."""
    standing, severity, listed, *ties = finding.rank
    return standing, severity, listed or finding.id in known, *ties


def ordered(findings: Iterable[FindingRecord], known: Container[str] = ()) -> list[FindingRecord]:
    """Sort findings by :func:`rank`."""
    return sorted(findings, key=lambda each: rank(each, known))


def reported(finding: FindingRecord, known: Mapping[str, KnownAs]) -> str:
    """Return where a finding is reported upstream; empty where nobody knows of it."""
    return known[finding.id].reported if finding.id in known else ""


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
    for collection in _collections():
        found |= collection(findings)
    listed = known or load_known(None)
    for each in findings if listed.entries else ():
        if (row := listed.find(each.id, each.signature, each.family.id, each.former)) is not None:
            case = found.get(each.id)
            cause, title = (None, "") if case is None else (case.cause, case.title if case.certain else "")
            own = KnownAs(row.name, row.reason, row.reference, True, True, case, listed.file, cause, title)
            found[each.id] = own
    for each in findings:
        if (told := found.get(each.id)) is not None and told.cause is not None:
            found[each.id] = replace(told, found_for=other_program(told, told.cause, each.id, each.parts))
    return found


def named(findings: Sequence[FindingRecord], known: Mapping[str, KnownAs]) -> list[FindingRecord]:
    """Give findings the titles under which they are known; new ones the known defects of their passes, to look at."""
    told = {each.id: _title(each, known[each.id]) for each in findings if each.id in known and known[each.id].certain}
    new, others = [each for each in findings if each.id not in known], dict[str, str]()
    for collection in _collections():
        others |= {name: each.sentence for name, each in collection(new, others=True).items()}
    return [replace(each, known_title=told.get(each.id, ""), others=others.get(each.id, "")) for each in findings]


def _title(finding: FindingRecord, known: KnownAs) -> str:
    """Return the title under which a finding is known; empty where its script has one that tells as much."""
    parts, said = finding.parts, known.title
    if parts is None:
        said = said if said and not said.endswith("...") else known.sentence
        return f"{said} (as in the known case)" if re.search(NAMES, said) else said
    head, on, trigger = said.partition(" on ")
    if finding.oracle != OracleName.CRASH or head != finding.culprit or not parts.fits(said):
        return said if _BARE.match(parts.words.title) and not _BARE.match(said) and parts.fits(said) else ""
    found = re.match(rf"({re.escape(head)} (?:fails|crashes the process))\b[^:]*(.*)", parts.words.title)
    return f"{found[1]}{on}{trigger}{found[2]}" if found else ""


def _collections() -> list[Callable[..., dict[str, KnownAs]]]:
    return [entry.load() for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name, reverse=True)]


def in_words(findings: Sequence[FindingRecord], known: Mapping[str, KnownAs]) -> str:
    """Say how many findings, questions and suspects apart, are known; empty where none is."""
    findings = by_standing(findings)[Standing.FINDING]
    mine = [known[each.id] for each in findings if each.id in known]
    counts = Counter(
        "on your list" if each.listed else "reported upstream" if each.reported else _UNREPORTED for each in mine
    )
    parts = [f"{many} {words}" for words, many in sorted(counts.items())]
    verb = "is known" if len(mine) == 1 else "are known"
    perhaps = "" if all(each.certain for each in mine) else " or perhaps known"
    return f"Of {counted(len(findings), 'finding')}, {len(mine)} {verb}{perhaps}: {', '.join(parts)}" if mine else ""
