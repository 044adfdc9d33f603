"""False alarms of locality and of fusion that campaigns brought to light, each pinned by its mend."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import sample_modules as samples
import tvm
from tvm import relax

from oracles import judge, locality
from oracles.contract import Locality
from oracles.facts import ModuleFacts, apply
from oracles.locality_draw import Change, Variation, _renamed
from oracles.passref import PassRef
from oracles.subject import Subject
from oracles.verdict import OracleName, Outcome

X = "relax.transform"


def ref(name: str, arguments: str = "") -> PassRef:
    return PassRef(name, f"{X}.{name}({arguments})")


def test_a_step_that_raises_earlier_on_the_added_function_is_left_out() -> None:
    """BindParams("main") raised, so that what LegalizeOps and the pass behind it do there was never seen."""

    def named(module: Any, context: Any) -> Any:
        module["main"]
        return module

    def marking(module: Any, context: Any) -> Any:
        return module.with_attr("marked", 1)

    def failing(module: Any, context: Any) -> Any:
        if "marked" in module.attrs and any(gv.name_hint == "unrelated" for gv in module.functions):
            raise ValueError("of the added function, behind another step")
        return module

    steps = [tvm.transform.module_pass(each, opt_level=0) for each in (named, marking, failing)]
    (function,) = samples.MODULES["dataflow"]().functions.values()
    unrelated = tvm.IRModule({tvm.ir.GlobalVar("unrelated"): function.with_attr("global_symbol", "unrelated")})
    subject: Any = SimpleNamespace(plan=SimpleNamespace(steps=steps), built=lambda index: steps[index])
    variation = Variation(Change.ADDED, "", unrelated, (), frozenset(), "", unrelated)
    error = apply(steps[2], apply(steps[1], unrelated).module).error
    assert error is not None
    assert locality._raises_alone(subject, variation, 2, error)


def test_names_that_become_public_within_a_pipeline_are_not_changed() -> None:
    module = samples.private_calls()

    def renamings(*passes: PassRef) -> list[Variation]:
        subject = Subject(module, passes, facts=ModuleFacts(module))
        drawn = [_renamed(subject, random.Random(seed), Locality.FUNCTION) for seed in range(6)]
        return [each for each in drawn if each is not None]

    publish, behind = ref("AttachGlobalSymbol"), ref("LegalizeOps")
    assert renamings(behind)
    assert renamings(behind, publish)
    assert not renamings(publish, behind)


def test_fusing_refuses_constants_in_what_is_meant_for_another_compiler() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            last = builder.emit_output(relax.op.add(x, relax.const([1.0, 2.0], "float32")))
        builder.emit_func_output(last)
    pattern = 'FuseOpsByPattern([("pyext.add", is_op("relax.add")(wildcard(), wildcard()))])'
    passes = [PassRef("FuseOpsByPattern", f"{X}.{pattern}"), ref("LegalizeOps"), ref("FuseTIR")]
    subject = Subject(builder.get(), passes, facts=ModuleFacts(builder.get()))
    assert "Tensor constants are not supported" in str(subject.output.error)
    (found,) = [each for each in judge(subject, [OracleName.CRASH]) if each.oracle is OracleName.CRASH]
    assert (found.outcome, found.reason) == (Outcome.REJECT, "constant in a primitive function")
