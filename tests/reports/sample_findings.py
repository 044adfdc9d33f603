"""Findings of the made-up campaign."""

from fuzzer.core.case import Case
from fuzzer.store.writer import FindingRecord, FindingState
from oracles.core.verdict import Evidence
from relaxkit.passes.pass_ref import PassRef

HOSTILE = 'a <script>alert("1")</script> | b & ``` c\x07\x1b[31m *d*'


def finding(number: int, culprit: str, state: FindingState, oracle: str, message: str, count: int = 1) -> FindingRecord:
    case = Case("{}", (PassRef(culprit, f"relax.transform.{culprit}()"),), 0)
    return FindingRecord(
        id=f"{number:010x}",
        signature=f"{oracle}: {culprit}: InternalError: {message}",
        oracle=oracle,
        culprit=culprit,
        count=count,
        state=state,
        first_seen_seconds=1.0,
        last_seen_seconds=9.0,
        case=case,
        minimized=None,
        bindings=2 if number == 1 else None,
        repro=f"repros/{number:010x}.py" if number == 1 else None,
        evidence=Evidence("InternalError", message, ("src/relax/a.cc:F",)),
        note="",
    )
