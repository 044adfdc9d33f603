"""The module of a finding as text."""

from __future__ import annotations

from fuzzer.store import FindingRecord

# A module that was not minimized may be long; the report is to be read.
_MAX_LINES = 200


def shown_lines(text: str) -> str:
    """As much of a module's text as is shown."""
    lines = text.rstrip().splitlines()
    if len(lines) > _MAX_LINES:
        lines = [*lines[:_MAX_LINES], f"# ... {len(lines) - _MAX_LINES} more lines"]
    return "\n".join(lines)


def module_text(finding: FindingRecord) -> str:
    """TVMScript of the minimized module, or else of the case's; empty when it cannot be printed.

    Prints it in this process, so it dies where TVM's printer dies; ``reports.page.tvm_side`` survives that.
    """
    import tvm

    case = finding.minimized or finding.case
    try:
        return shown_lines(str(tvm.ir.load_json(case.module_json).script()))
    except Exception:
        return ""


def passes_text(finding: FindingRecord) -> str:
    """The expressions of the passes that were applied, one a line."""
    case = finding.minimized or finding.case
    return "\n".join(ref.expression for ref in case.passes)
