"""Modules that hold one idiom and nothing else, and what a pass does to one."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from tvm import relax

from strategies.constructs import devices
from strategies.detect.module_facts import Facts
from strategies.functions import FunctionPlan, finish
from strategies.idioms import BlockKind, Planned
from strategies.idioms.planting import plant_planned
from strategies.pass_arguments.table import PASS_ROWS
from strategies.scope.body import FunctionBody
from strategies.scope.features import Feature, closure
from strategies.scope.frame import FunctionFrame, Infeasible, ModuleFrame
from strategies.scope.scope import Scope
from strategies.scope.values import Value

ALONE = (Feature.TUPLES, Feature.SYMBOLIC_SHAPES)
"""On besides what an idiom needs: results joined in a tuple, dims that are not numbers."""


@st.composite
def planted(draw: Any, planned: Planned, symbolic: bool = False, parameters: int = 12) -> Any:
    """A module whose ``main`` holds one idiom alone, and what is known of its result; ``None`` where it has no room."""
    features = closure((*planned.needs, *(ALONE if symbolic else ALONE[:1])))
    if Feature.CONSTANTS not in planned.needs:
        features -= {Feature.CONSTANTS}
    module = ModuleFrame(relax.BlockBuilder(), features, True)
    scope = Scope(draw, module, FunctionFrame(max_parameters=parameters))
    scope.frame.called = False
    scope.frame.is_weighted = Feature.WEIGHTS in features
    if Feature.VDEVICE in features:
        module.vdevices = devices.table(scope)
    with module.builder_scope():
        scope.builder.begin_scope([])
        body = FunctionBody(scope)
        body.open(planned.idiom.place is not BlockKind.ORDINARY)
        try:
            made = plant_planned(scope, planned)
        except Infeasible:
            body.abandon()
            return None
        block = scope.builder._end_block()
        result = made
        if made.is_local:  # nothing must stand between the idiom and the end: its last variable becomes an output
            result = Value(relax.Var("gv", made.ty), made.ty, made.bounds, made.parts)
            block = relax.DataflowBlock([_rebound(each, made.expr, result.expr) for each in block.bindings])
        body.blocks = [block]
        weighted = scope.frame.is_weighted
        finish(scope, body, FunctionPlan("main", weighted=weighted), result)
        whole = module.listed(module.builder.get())
    return whole, result


def _rebound(binding: Any, old: Any, new: Any) -> Any:
    return relax.VarBinding(new, binding.value) if binding.var.same_as(old) else binding


def expression(name: str) -> str:
    """The pass with its simplest arguments, where those let it act."""
    from strategies.scope.choices import Choices

    return ARGUMENTS.get(name) or PASS_ROWS[name].draw(Choices(lambda strategy: bytes(8)), Facts())


ARGUMENTS = {
    "FuseOpsByPattern": 'relax.transform.FuseOpsByPattern([("pyext.add", is_op("relax.add")(wildcard(), wildcard())),'
    ' ("pyext.exp", is_op("relax.exp")(wildcard())), ("pyext.maximum", is_op("relax.maximum")(wildcard(),'
    " wildcard()))])",
    "Gradient": 'relax.transform.Gradient("loss")',
    "TopologicalSort": 'relax.transform.TopologicalSort("breadth-first", "from-inputs")',
    "UpdateVDevice": 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 1, "global"), 0)',
}


def acts(name: str, modules: Sequence[Any], texts: Sequence[str] = ()) -> list[str]:
    """What a pass, by its simplest text or by one for each, does to prepared modules: ``changed``, ``same``, ``raised``
    or ``died``.

    In children, one for as many modules as it survives, because passes kill processes.
    """
    given = list(zip(modules, texts or [expression(name)] * len(modules), strict=True))
    said: list[str] = []
    while len(said) < len(modules):
        rest = given[len(said) :]
        answers = in_child(lambda pair: _act(name, *pair), rest)
        said += answers
        if len(answers) < len(rest):
            said.append("died")
    return said


def _act(name: str, module: Any, text: str) -> str:
    from oracles.core.subject import Subject
    from relaxkit.passes.pass_ref import PassRef

    subject = Subject(module, (PassRef(name, text),))
    if subject.facts is None:
        return "raised"
    return {None: "raised", True: "changed", False: "same"}[subject.changed]


def in_child(ask: Callable[[Any], str], items: Sequence[Any]) -> list[str]:
    """The answers of a forked process, in order, one line each; fewer when it died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            signal.alarm(120)
            os.close(reader)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            for item in items:
                os.write(writer, f"{ask(item)}\n".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        answers = [line.rstrip("\n") for line in lines]
    os.waitpid(child, 0)
    return answers
