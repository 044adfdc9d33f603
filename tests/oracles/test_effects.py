# ruff: noqa: F841, RET504 -- the sample is TVMScript, not Python
from __future__ import annotations

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.judge import judge
from relaxkit.passes.contract import Contract, NumericPromise, OracleName
from relaxkit.passes.pass_ref import GivenPass
from relaxkit.runtime import ExecMode, session
from relaxkit.runtime.values import printed, trace


@I.ir_module(s_tir=True)
class Printing:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        first = R.print(x, format="first {}")
        y = R.exp(x)
        second = R.print(format="second")
        return y


@I.ir_module(s_tir=True)
class Capturing:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)

        @R.function
        def outer(
            a: R.Tensor((2,), "float32"),
        ) -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True):
            s = R.add(a, y)

            @R.function
            def inner(b: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                t = R.multiply(b, s)
                return t

            return inner

        f = outer(x)
        z = f(y)
        w = R.negative(z)
        return w


def test_what_a_program_prints_stays_off_the_terminal_and_is_kept(capsys):
    program = session().build(Printing)
    program.call("main", [np.zeros(2, "float32")])
    assert capsys.readouterr().out == ""
    assert program.take_output() == ("first [0. 0.]\nsecond\n",)
    assert program.take_output() == ()


def test_a_trace_has_labels_without_numbers_unless_they_are_exact():
    texts = ["first [0. 1.5e-3\n nan]\n", "second <Object(0x12ab)>\n"]
    assert trace(texts, exact=False) == ("first", "second", "Object")
    assert trace(texts, exact=True) != trace(["first [0. 1.6e-3\n nan]\n", texts[1]], exact=True)
    assert trace(texts, exact=True) == trace([texts[0], "second <Object(0x12ac)>\n"], exact=True)


def test_output_of_a_failing_run_is_kept():
    texts: list[str] = []
    try:
        with printed(texts):
            print("before")
            raise ValueError
    except ValueError:
        pass
    assert texts == ["before\n"]


def verdict(change):
    """The numeric oracle's verdict on a pass that keeps only some bindings of ``Printing``."""

    @tvm.transform.module_pass(opt_level=0, name="Changing")
    def changing(module, _context):
        function = module["main"]
        (block,) = function.body.blocks
        changed = relax.BindingBlock(change(list(block.bindings)))
        body = relax.BlockBuilder().normalize(relax.SeqExpr([changed], function.body.body))
        new = relax.Function(function.params, body, function.ret_ty, is_pure=False, attrs=function.attrs)
        return tvm.IRModule({module.get_global_var("main"): new})

    contract = Contract("Changing", numeric=NumericPromise.REASSOCIATION)
    (found,) = judge(Subject(Printing, [GivenPass("Changing", "<>", changing)], [contract]), [OracleName.NUMERIC])
    return found


def test_dropped_repeated_and_reordered_effects_are_seen():
    for change in (
        lambda bindings: bindings[1:],
        lambda bindings: [bindings[2], *bindings[:2]],
    ):
        found = verdict(change)
        assert found.outcome is Outcome.FAIL
        assert found.evidence.kind == "other-effects"


def test_effects_in_their_order_pass():
    assert verdict(lambda bindings: [bindings[1], bindings[0], bindings[2]]).outcome is Outcome.PASS


def test_closures_of_closures_run_in_both_modes():
    x = np.array([0.5, 1.0], "float32")
    expected = -(np.exp(x) * (x + np.exp(x)))
    for mode in ExecMode:
        np.testing.assert_allclose(session().build(Capturing, mode).call("main", [x]), expected, rtol=1e-6)
