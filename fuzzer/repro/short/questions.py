"""Questions that TVM answers otherwise than it documents, in short scripts: what is asked, and the answer."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax
from tvm_ffi import structural_equal

from fuzzer.repro.checks.check import fragments
from fuzzer.repro.module.builder import type_source
from fuzzer.repro.short.before import source_of
from fuzzer.repro.short.scene import BEFORE, Showing, failing
from relaxkit.ir.functions import relax_functions
from relaxkit.passes.questions import KNOWN, Question

_ASKED = "Asked"
"""The name of a module that a question is about, and that is not the judged one."""
_LISTS = ("params", "blocks", "bindings", "args", "fields", "values")
_PARTS = ("var", "value", "cond", "true_branch", "false_branch", "tuple_value", "op", "body", "ty", "ret", "shape",
          "a", "b")  # fmt: skip


def asked(module: Any, question: Question, said: str) -> Showing:
    """Write a question about a module, and the assertion that the answer is right; or the question, where it raises."""
    other = next((each for each in question.of.values() if isinstance(each, tvm.IRModule) and each is not module), None)
    lines = [f"{name} = {_source(module, each)}" for name, each in question.of.items()]
    lines += question.first.splitlines()
    asks, known = f"answer = {question.asks}", {**KNOWN, BEFORE: module, _ASKED: other}
    tries = [(lines, asks, ""), ([*lines, asks], f"assert {question.right}", f"{question.asks} gives")]
    if not question.right:
        refused = ["answer = None", "with contextlib.suppress(TypeError, ValueError):", f"    {asks}"]
        tries = [([*lines, *refused], "assert answer is None, answer", "")]
    second = "" if other is None else source_of(other, _ASKED)
    for acts, last, told in tries:
        try:
            exec("\n".join([*acts, last]), known)
        except Exception as error:
            tells, words = [f"print({json.dumps(told)}, answer)"] if told else [], fragments(f"{error}")
            return failing([*acts, *tells], last, said, type(error).__name__, words, module=module, second=second)
    raise ValueError("the answer is right")


def _source(module: Any, item: Any) -> str:
    """Write how what a question is about is reached in a module, or made."""
    if isinstance(item, str | int):
        return repr(item)
    if isinstance(item, list):
        return f"[{', '.join(_source(module, each) for each in item)}]"
    if isinstance(item, tvm.IRModule):
        return BEFORE if item is module else _ASKED
    roots = deque((f'{BEFORE}["{name}"]', function) for name, function in relax_functions(module))
    while roots:  # what is nearest first
        place, node = roots.popleft()
        if tvm.runtime.Object.same_as(node, item):
            return place
        roots.extend((f"{place}.{part}", each) for part, each in _children(node))
    if isinstance(item, relax.TupleType):
        return f"relax.TupleType([{', '.join(_source(module, each) for each in item.fields)}])"
    if isinstance(item, relax.FuncType) and not structural_equal(item, relax.FuncType.opaque_func()):
        params = ", ".join(_source(module, each) for each in item.params)
        return f"relax.FuncType([{params}], {_source(module, item.ret)})"
    return type_source(item)


def _children(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a node, each with how it is reached."""
    found = [(part, getattr(node, part, None)) for part in _PARTS]
    for part in _LISTS:
        found += [(f"{part}[{number}]", each) for number, each in enumerate(getattr(node, part, None) or ())]
    yield from (
        each for each in found if isinstance(each[1], tvm.runtime.Object) and not isinstance(each[1], tvm.ir.Op)
    )
