"""From an exception to evidence: its type, its message and the frames inside TVM."""

from __future__ import annotations

import re
import traceback
from pathlib import PurePath

import tvm

from oracles.verdict import Evidence

# Frames that every pass run shares say nothing of the defect.
_INFRASTRUCTURE = frozenset(
    {
        "ir/transform.py:__call__",
        "ir/transform.py:_pass_func",
        "ir/utils.py:method",
        "relax/pipeline.py:_pipeline",
        "relax/pipeline.py:f_zero_pipeline",
        "relax/backend/cpu_generic/pipeline.py:_pipeline",
    }
)
_OURS = PurePath(__file__).parent.as_posix() + "/"
_TVM = PurePath(tvm.__file__).parent.as_posix() + "/"
_CXX_SOURCE = re.compile(r"(?:^|/)((?:src|include)/.+\.(?:cc|h|cpp|hpp))$")
_TEMPLATE = re.compile(r"<(?!lambda)[^<>]*>")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_MAX_FRAMES = 12


def evidence_of(error: BaseException) -> Evidence:
    """The evidence that ``error`` gives: kind is its type's name, message its text, frames innermost first."""
    return Evidence(kind=type(error).__name__, message=str(error), frames=frames_of(error))


def frames_of(error: BaseException) -> tuple[str, ...]:
    """Frames of ``error`` inside TVM, ``file:function``, innermost first, at most 12.

    TVM attaches the frames of its C++ side to the Python traceback, with their source file. When no frame
    lies in TVM (a user's pass written in Python raised), the frames outside this package are given instead.
    """
    summary = traceback.extract_tb(error.__traceback__)
    inside = [name for frame in summary if (name := _tvm_frame(frame.filename, frame.name)) is not None]
    inside = [name for name in inside if name not in _INFRASTRUCTURE] or inside[-1:]
    if not inside:
        inside = [f"{PurePath(frame.filename).name}:{frame.name}" for frame in summary if not _is_ours(frame.filename)]
    return tuple(reversed(inside))[:_MAX_FRAMES]


def _tvm_frame(filename: str, function: str) -> str | None:
    path = filename.replace("\\", "/")
    source = _CXX_SOURCE.search(path)
    if source is not None:
        file = source.group(1)
        if file.startswith("include/tvm/ffi/"):
            return None
        return f"{file}:{short_function(function)}"
    if not path.startswith(_TVM):
        return None
    tail = path[len(_TVM) :]
    if tail == "relax/expr_functor.py":  # dispatch: how often it recurs depends on the module
        return None
    return f"{tail}:{function}"


def _is_ours(filename: str) -> bool:
    path = filename.replace("\\", "/")
    return path.startswith((_OURS, _TVM)) or "/tvm_ffi/" in path or path.endswith(".pxi")


def short_function(name: str) -> str:
    """A C++ function's qualified name without return type, arguments, template arguments and ``tvm::``.

    For instance ``GetGroupFromVar`` with its class for
    ``Group* tvm::relax::OperatorFusor::GetGroupFromVar(const tvm::Var&)``.
    """
    text = name.replace("operator()", "operator-call").replace("{anonymous}::", "")
    text = text.split(" [with ", 1)[0]
    for nested in (_TEMPLATE, _ARGUMENTS):
        while (shorter := nested.sub("", text)) != text:
            text = shorter
    text = text.replace(" const", "").replace("::<lambda>", "").strip()
    return text.rsplit(" ", 1)[-1].lstrip("*&").removeprefix("tvm::") or name
