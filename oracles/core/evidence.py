"""From an exception to evidence: its type, its message and the frames inside TVM."""

from __future__ import annotations

import os
import re
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import PurePath

import tvm

from oracles.core.verdict import Details, Evidence, Phase

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
_WRAPPER = ":_pass_func"
"""The frames of TVM's that call the method of a class that is decorated as a pass."""
_WITH = re.compile(r" \[with (\w+ = [^;\]]+)")
_WALKS = re.compile(r"\b(?:Object|Expr|StmtExpr|Stmt|Type)(?:Visitor|Mutator|Functor)\w*::\w+$")
_ROOT = PurePath(__file__).parents[2].as_posix()
_OURS = tuple(f"{_ROOT}/{package}/" for package in ("oracles", "relaxkit", "fuzzer", "strategies", "relaxfuzz"))
_PYTHON = PurePath(sysconfig.get_path("stdlib")).as_posix() + "/"
_INSTALLED = re.compile(r"/(?:site|dist)-packages/([^/]+)/")
_TVM = PurePath(tvm.__file__).parent.as_posix() + "/"
_CXX_SOURCE = re.compile(r"(?:^|/)((?:src|include)/.+\.(?:cc|h|cpp|hpp))$")
_TEMPLATE = re.compile(r"<(?!lambda)[^<>]*>")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_MAX_FRAMES = 12
_IN_PASS = re.compile(r"(\n|\\n)+Error in pass: .*?('?)\Z", re.DOTALL)
"""What TVM appends to some messages: the pass, and a place in the module."""


def evidence_of(error: BaseException) -> Evidence:
    """Make the evidence of an exception: kind is its type's name, message its text, frames innermost first."""
    frames = frames_of(error)
    users = _users_trace(error)
    place = f"{os.path.abspath(users[-1].filename)}:{users[-1].lineno}" if users else ""
    lines, raised_at = tuple(line for _, line in frames), users_frames(error)
    details = Details(raised_at=raised_at, place=place, lines=lines, functions=_without_file(error))
    message = _IN_PASS.sub(r"\2", str(error))
    return Evidence(type(error).__name__, message, tuple(name for name, _ in frames), details=details)


def left_unlegalized(error: Evidence) -> bool:
    """Say whether the code generator met an operator that a stock pipeline was to lower, or to refuse itself."""
    return "cannot handle this intrinsic" in error.message or "cannot emit this Relax operator" in error.message


def unbuildable(error: Evidence, mode: str = "") -> Evidence:
    """Make the evidence that a module does not build of what the build raised.

    The message is the code generator's without the call that it quotes, whose operands differ from module to module.
    """
    head, quoted, call_text = error.message.partition("Offending call:")
    found = re.search(r"R\.([\w.]+)", call_text) if quoted else None
    operator = found[1] if found else ""
    essence = f"R.{operator}: {head.splitlines()[0]}" if operator else error.message
    lines, named, said = error.details.lines, error.details.functions, error.message
    return Evidence(
        "does-not-build",
        f"{error.kind}: {essence}",
        error.frames,
        expected="the module builds, as it does before the pass",
        observed=f"{error.kind}: {error.message}",
        details=Details(stage=Phase.BUILD, mode=mode, operator=operator, error=said, lines=lines, functions=named),
    )


def is_out_of_memory(error: Evidence) -> bool:
    """Say whether an allocation failed, in Python or in C++."""
    return error.kind == "MemoryError" or "bad_alloc" in error.message


def names_any(error: Evidence, words: Iterable[str]) -> bool:
    """Say whether TVM's message has one of some words, for instance dtypes."""
    return any(word in error.message for word in words)


def frames_of(error: BaseException) -> list[tuple[str, int]]:
    """Return the frames of ``error`` inside TVM, ``file:function`` and the line, innermost first, at most 12.

    TVM attaches the frames of its C++ side to the Python traceback, with their source file. When no frame
    lies in TVM (a user's pass written in Python raised), the frames outside this package stand for them.
    """
    summary = traceback.extract_tb(error.__traceback__)
    named = [(_tvm_frame(frame.filename, frame.name), frame.lineno or 0) for frame in summary]
    inside = [(name, line) for name, line in named if name is not None]
    users = [(f"{PurePath(frame.filename).name}:{frame.name}", frame.lineno or 0) for frame in _users_trace(error)]
    told = [each for each in inside if each[0] not in _INFRASTRUCTURE]
    if users and all(name.endswith(_WRAPPER) for name, _ in told):
        told = users
    return (told or inside[-1:])[::-1][:_MAX_FRAMES]


def _without_file(error: BaseException) -> tuple[str, ...]:
    """Return the functions of TVM's C++ whose files the traceback does not tell, innermost first.

    Of tvm-ffi those that say by their template arguments what they work on (``ffi::Optional::value [T = PrimType]``).
    Visitors that walk through any module are left out where others stand.
    """
    own: list[str] = []
    for frame in traceback.extract_tb(error.__traceback__):
        in_ffi, arguments = "tvm::ffi::" in frame.name.split("(")[0], _WITH.search(frame.name)
        if in_ffi and arguments and frame.filename != "<unknown>":
            own.append(f"{short_function(frame.name)} [{arguments[1].replace('tvm::', '')}]")
        elif "tvm::" in frame.name and not in_ffi and frame.filename == "<unknown>":
            own.append(short_function(frame.name))
    told = [name for name in own if not _WALKS.search(name)] or own
    return tuple(dict.fromkeys(told[::-1]))[:_MAX_FRAMES]


def users_frames(error: BaseException) -> tuple[str, ...]:
    """Return the frames of ``error`` in a user's files, innermost last: ``FILE:LINE in FUNCTION: SOURCE``."""
    return tuple(
        f"{os.path.abspath(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in _users_trace(error)[-_MAX_FRAMES:]
    )


def _users_trace(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of ``error`` in a user's files, innermost last, without those of libraries that they call."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame)]
    own = {"", *map(_library, frames[:1])}  # a pass may be installed, too
    return [frame for frame in frames if _library(frame) in own]


def _library(frame: traceback.FrameSummary) -> str:
    """Return the installed package that a frame lies in; empty for a file that is not installed."""
    found = _INSTALLED.search(frame.filename.replace("\\", "/"))
    return "" if found is None else found[1]


def _tvm_frame(filename: str, function: str) -> str | None:
    path = filename.replace("\\", "/")
    source = _CXX_SOURCE.search(path)
    if source is not None:
        file = source.group(1)
        return None if file.startswith("include/tvm/ffi/") else f"{file}:{short_function(function)}"
    if not path.startswith(_TVM):
        return None
    tail = path[len(_TVM) :]
    if tail == "relax/expr_functor.py":  # dispatch: how often it recurs depends on the module
        return None
    return f"{tail}:{function}"


def _is_users(frame: traceback.FrameSummary) -> bool:
    """Say whether a frame lies in a Python file that is neither ours nor TVM's nor Python's."""
    path = frame.filename.replace("\\", "/")
    if not path.endswith(".py") or path.startswith((*_OURS, _TVM)) or "/tvm_ffi/" in path:
        return False
    return bool(_library(frame)) or not path.startswith(_PYTHON)


def short_function(name: str) -> str:
    """Return a C++ function's qualified name without return type, arguments, template arguments and ``tvm::``.

    For instance ``GetGroupFromVar`` with its class for
    ``Group* tvm::relax::OperatorFusor::GetGroupFromVar(const tvm::Var&)``.
    """
    text = name.replace("operator()", "operator-call").replace("{anonymous}::", "")
    text = text.split(" [with ", 1)[0]
    for nested in (_TEMPLATE, _ARGUMENTS):
        while (shorter := nested.sub("", text)) != text:
            text = shorter
    text = text.replace(" const", "").replace("::<lambda>", "").rstrip("& ")
    return text.rsplit(" ", 1)[-1].lstrip("*&").removeprefix("tvm::") or name
