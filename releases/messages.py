"""What TVM says in words of an older release, in those of the newest: contracts know refusals by their words."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wording:
    """A message that was worded otherwise.

    Attributes:
        old: Regular expression of the older words.
        new: What the newest release says; may refer to groups.
        since: First release that says so.
    """

    old: str
    new: str
    since: str


WORDINGS: tuple[Wording, ...] = (
    # src/ir/module.cc, IRModule::Add of a name that is taken
    Wording(r"\(\*it\)\.second == var\b", r"(*it).second.same_as(var)", "0.26"),
    # src/relax/backend/vm/codegen_vm.cc, an operator that nothing legalized
    Wording(
        r"CodeGenVM cannot handle this intrinsic now:\s*ir\.Op\(.*?name=\"relax\.(?P<op>[\w.]+)\"",
        r"R.\g<op>: CodeGenVM cannot emit this Relax operator directly",
        "0.27",
    ),
    # the complaints of the checker, src/relax/analysis/well_formed.cc
    Wording(r"\bStructInfo annotations\b", "Type annotations", "0.26"),
)

VARYING = (
    # which condition fails, where the message says in words what it means
    r"Check failed: \([^\n]*\) is false:[ \t]*(?=\S[^\n]{11})"
    r"|\bSymbolic (?=Var\b)"
    r"|\bir\.Op\(span=[^\n]*?\bsupport_level=\d+\)"  # an operator with all its fields
    r"|\b\w*StructInfo(?:Node)?\b|\b(?:Tensor|Shape|Tuple|Func|Prim|Any|Object)Type(?:Node)?\b|\bstruct[_ ]info\b"
    r"|\bThe type\b|\bType(?= annotations\b)"
    r"|\b(?:ir|relax\.expr)\.(?:GenericConst|Constant|StringImm|Call|Var)\b|\bs_tir::"
    r"|\bR\.(?:Any|Object|Prim)\b|\bT\.(?:u?int|float|bool)\d*\b"
)
"""Regular expression of what a message may have in other words in another release: not to be told by."""


def newest(message: str) -> str:
    """The message in the words of the newest release."""
    for row in WORDINGS:
        message = re.sub(row.old, row.new, message, flags=re.DOTALL)
    return message
