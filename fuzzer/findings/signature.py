"""Signatures: what stays of a failure when everything that belongs to one module is taken away."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oracles.core.verdict import Breadcrumb, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName

if TYPE_CHECKING:
    from fuzzer.worker.death import Died


# Two frames tell apart what two messages of one check do not, and stay the same from module to module;
# a third is already the visitor's recursion, whose depth depends on the module.
FRAMES = 2
MAX_MESSAGE = 200
_MOST_READ = 2_000  # characters; a foreign message may be long, and some rules look at what follows again and again


def _bracketed(levels: int) -> str:
    """Return a pattern of what stands in round brackets, with up to so many levels of them, and they."""
    inside = r"[^()]"
    for _ in range(levels - 1):
        inside = rf"(?:[^()]|\({inside}*\))"
    return rf"\({inside}*\)"


# A type as TVMScript prints it: the shape of a tensor of a tuple of a function's parameters is the fifth level.
_TYPE = rf"\b[IRT]\.(?:Tensor|Tuple|Shape|Prim|Callable|Object|Any|Buffer|Func)\b(?:{_bracketed(6)})?"
# Names that a builder or a generator gives, where the sentence around them is TVM's.
_NAME = (
    r"\b(?:lv|gv|cse|fused|main|func|helper|param|private|public|[a-z])_?\d*(?:_\w+)?\b"
    r"(?=\s*(?:is|was|,|\)|$|vs|:|has|cannot|could|\]))"
)
# After these words stands the name of something of the module, whatever it is called.
_NAMED = r"\b([Ff]unction|[Vv]ariable|[Vv]ar|GlobalVar|parameter|binding) (?!is\b|was\b|to\b|in\b|of\b|but\b|has\b)\w+"

# Order matters: longer constructs first, so that their parts do not survive them.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        (r"0x[0-9a-fA-F]+", "@"),
        (r"(?<=\.dtype: )\w+ became \w+\Z", "dtype became dtype"),
        (r"(?:[A-Za-z]:)?(?:/[\w.+-]+)+/([\w.+-]+)", r"\1"),  # a path keeps its last part
        # Python's own words name classes, attributes and modules of TVM, which tell defects apart.
        (r"'([\w.]+)' (object )?has no attribute '(\w+)'", r"\1 \2has no attribute \3"),
        # An object printed by its fields; an operator keeps its name.
        (r"\bir\.Op\((?:[^)]*\))??[^)]*?name=\"([\w.]+)\".*", r"Op(\1)"),
        (r"\b(?:ir|relax|tirx|tir)\.[A-Z]\w*\(.*", "<object>"),
        (r"(?<=[, ]got )(?:instead )?.*", "<value>"),
        (r"\bHowever, .*", "<more>"),
        (r"(?<=Invalid layout )\S+", "<layout>"),  # characters from beyond a string's end
        (r"\bErrorContext\(.*?\)(?=  | ,)", "<context>"),
        # What TVM names while it generates, and what of the module a sentence of its quotes.
        (r"(?<=when calling: `)\w+\(.*?\)(?=`,)", "<call>"),
        (r"(?<=DataflowVar )\w+(?= is )", "<name>"),
        (r"(?<=Mismatched )\w+(?=\.\w+ on argument)|(?<=Invalid )\w+(?=\.\w+\S* on argument)", "<name>"),
        (r"(?<=duplicate global symbol: )\S+", "<name>"),
        (r"(?<=Inconsistent buffers )\w+ and \w+", "<name> and <name>"),
        (r"(?<=PrimExpr ).*?(?= in function)", "<n>"),
        (r"(?<=but received )T\.te\..*", "<value>"),
        (r"(?<=impure call: )(R\.\w+)\(.*", r"\1"),
        (r"(?<=access )\w+\.shape(.*, but )\w+\.shape", r"<name>.shape\1<name>.shape"),
        (r"#\s*from (?:tvm\.script|typing) import.*", "<script>"),
        (_TYPE, "<type>"),
        (r"\b[IRT]\.GlobalVar\([^()]*\)", "<function>"),
        (r"\"[^\"]*\"|“[^”]*”", "<name>"),
        (r"(?<!\w)'[^']*'(?!\w)", "<name>"),
        (r"\b(?:T|R)\.(?:u?int|float|bool)\w*(?:\([^()]*\))?", "<n>"),
        (r"\b(?:u?int|float|bfloat)(?:8|16|32|64)\b|\bbool\b", "<dtype>"),
        (r"(?<=arguments )\([^()]*\)|(?<=arguments )\(\(.*", "(<names>)"),
        (_NAMED, r"\1 <name>"),
        (_NAME, "<name>"),
        (r"\[[^\[\]]*\]", "<list>"),
        (r"-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b", "<n>"),
        (r"(?<=[A-Za-z_])\d+\b", ""),
        (r"\s+", " "),
    )
)
_PROMISED = re.compile(r"(?<=results differ) \(reassociation(?:, ([^()]*))?\)")
_CHECK_FAILED = re.compile(r"Check failed: .*", re.DOTALL)
_TRACE_LINE = re.compile(r"^[^\S\n]*(?:\[bt\]|File \"|\d+: |Traceback|Stack trace)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Signature:
    """Identity of a finding; equal for all modules, seeds and machines that show the same failure.

    Attributes:
        oracle: Who failed.
        culprit: The pass to blame.
        kind: Class of the failure (``oracles.core.verdict.Evidence.kind``).
        message: The normalised message.
        frames: The innermost frames inside TVM.
        subject: What the message is about and does not say (``oracles.core.objection``).
    """

    oracle: OracleName
    culprit: str
    kind: str
    message: str
    frames: tuple[str, ...]
    subject: str = ""

    @property
    def text(self) -> str:
        """The signature as one line."""
        about = f" ({self.subject})" if self.subject else ""
        where = f" at {' < '.join(self.frames)}" if self.frames else ""
        return f"{self.oracle}: {self.culprit}: {self.kind}: {self.message}{about}{where}"

    @property
    def id(self) -> str:
        """Ten hexadecimal digits that stand for the signature."""
        return signature_id(self.text)

    @property
    def ids(self) -> tuple[str, str]:
        """Its id, and the former one."""
        return self.id, self.former

    @property
    def former(self) -> str:
        """The id before signatures had subjects: files of known findings, baselines and audits may name it."""
        return replace(self, subject="").id


def readable(text: str) -> str:
    """Return a signature or its message for people: the name of a tolerance reads like the cause of a difference."""
    return _PROMISED.sub(lambda found: f" ({found[1]})" if found[1] else "", text)


def signature_id(text: str) -> str:
    """Return the id of a signature that is one line of text."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def normalise(message: str) -> str:
    """Return the message without numbers, names, types, addresses, paths and whatever follows its first paragraph.

    Names of operators and what a ``Check failed`` compared stay: they say which check it was.
    """
    text = message.strip()
    cut = _TRACE_LINE.search(text)
    if cut is not None and cut.start() > 0:
        text = text[: cut.start()]
    check = _CHECK_FAILED.search(text)
    if check is not None:
        text = check.group()
    return _plain((_operator_behind(text) or _first_paragraph(text))[:_MOST_READ])


@functools.lru_cache(maxsize=1 << 13)  # all of a campaign, each asked for some ten times, in turn
def _plain(text: str) -> str:
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.strip()[:MAX_MESSAGE]


def _operator_behind(text: str) -> str:
    """CodeGenVM's refusal with the operator that it refuses, which stands at another place from message to message."""
    if "CodeGenVM cannot" not in text:
        return ""
    operator = re.search(r"Op\((relax\.[\w.]+)\)", text) or re.search(r"\bR\.([a-z][\w.]*)", text)
    return f"CodeGenVM cannot emit {operator.group(1).removeprefix('relax.') if operator else 'something'}"


def _first_paragraph(text: str) -> str:
    """Return the first line that says something, joined with the next one when it ends in a colon."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[: 1 + lines[0].endswith(":")] if lines else ())


def signature(verdict: Verdict) -> Signature:
    """Signature of a verdict that failed; raises ``ValueError`` for one without evidence."""
    if verdict.evidence is None:
        raise ValueError(f"a verdict that is {verdict.outcome} has no signature")
    found = verdict.evidence
    message, frames = normalise(found.message), found.frames[:FRAMES]
    about = found.details.subject
    if about and found.details.operator:
        about = f"{about} of {found.details.operator}"
    return Signature(verdict.oracle, verdict.culprit, found.kind, message, frames, about)


def death_verdict(died: Died, name: str) -> Verdict:
    """Return the crash oracle's verdict on a case that killed its process, hung or ate the memory.

    The culprit is the pass that the last breadcrumb names; ``name`` stands in when there was none.
    """
    crumb = Breadcrumb.read(died.stage)
    evidence = Evidence(
        died.kind,
        f"{died.kind} during {crumb.words or 'unknown stage'}",
        expected="a living process",
        observed=died.detail,
        details=replace(crumb.details, death=died.death, code=died.code or 0),
    )
    return Verdict(OracleName.CRASH, Outcome.FAIL, crumb.culprit or name, evidence=evidence)
