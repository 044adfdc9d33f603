from __future__ import annotations

import pytest
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.script import ir as I
from tvm.script import relax as R

from oracles.core.evidence import evidence_of, short_function


@I.ir_module
class Clipped:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return R.clip(x, 0, 1)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Group* tvm::relax::OperatorFusor::GetGroupFromVar(const tvm::Var&)", "relax::OperatorFusor::GetGroupFromVar"),
        ("tvm::GlobalVar tvm::IRModuleNode::GetGlobalVar(const tvm::ffi::String&) const", "IRModuleNode::GetGlobalVar"),
        (
            "R tvm::relax::ExprFunctor<R(const Expr&, Args ...)>::VisitExprDefault_(const Object*) [with R = G*]",
            "relax::ExprFunctor::VisitExprDefault_",
        ),
        (
            "tvm::relax::NormalizeBindings(const Function&, const Map<tvm::ffi::Any>&)::<lambda(tvm::ffi::Any)>",
            "relax::NormalizeBindings",
        ),
        ("tvm::relax::{anonymous}::VDeviceLookup::operator()(tvm::Attrs)", "relax::VDeviceLookup::operator-call"),
        ("visit_call_", "visit_call_"),
    ],
)
def test_short_function(name: str, short: str) -> None:
    assert short_function(name) == short


def test_error_outside_tvm_keeps_its_own_frames_without_line_numbers_or_directories() -> None:
    def of_the_user() -> None:
        raise KeyError("gone")

    with pytest.raises(KeyError) as caught:
        of_the_user()
    evidence = evidence_of(caught.value)
    assert evidence.kind == "KeyError"
    assert evidence.frames[0] == "test_capture.py:of_the_user"


def test_functions_whose_files_tvm_does_not_tell_are_named() -> None:
    attributes = is_op("relax.clip")(wildcard(), wildcard(), wildcard()).has_attr({"axis": 1})
    with pytest.raises(Exception, match="reflection metadata") as caught:
        rewrite_call(attributes, lambda call, found: call, Clipped["main"])
    assert "relax::RewriteCall" in evidence_of(caught.value).details.functions
    assert evidence_of(caught.value).frames[0].endswith("MatchAttrs"), "signatures are made of these"
