from __future__ import annotations

import pytest

from oracles.core.evidence import evidence_of, short_function


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
