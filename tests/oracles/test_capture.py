from __future__ import annotations

from typing import Any

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
        ("T tvm::ffi::Optional<T>::value() const & [with T = tvm::PrimType]", "ffi::Optional::value"),
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


def raised_in(*frames: tuple[str, str]) -> Exception:
    """Return an error that went through functions in such files and with such names, outermost first."""
    run: dict[str, Any] = {}
    for at, (file, name) in enumerate(reversed(frames)):
        text = "def f(): raise ValueError('x')" if at == 0 else "def f(): g()"
        given: dict[str, Any] = {"g": run.get("f")}
        exec(compile(text, file, "exec"), given)
        given["f"].__code__ = given["f"].__code__.replace(co_name=name)
        run = given
    with pytest.raises(ValueError, match="x") as caught:
        run["f"]()
    return caught.value


OPTIONAL = (
    "/a/tvm-ffi/include/tvm/ffi/optional.h",
    "T tvm::ffi::Optional<T>::value() const & [with T = tvm::PrimType]",
)
AT = ("/a/tvm-ffi/include/tvm/ffi/container/seq_base.h", "const tvm::ffi::Any& tvm::ffi::SeqBaseObj::operator[](int)")
REWRITES = ("<unknown>", "tvm::relax::RewriteBindings(tvm::relax::PatternContext const&)")
WALKS = ("<unknown>", "tvm::tirx::StmtExprMutator::Mutate_(tvm::tirx::EvaluateNode const*)")
WALKS_ANY = ("<unknown>", "tvm::ObjectMutator::Mutate(tvm::ffi::AnyView, tvm::ffi::InplaceMode)")


@pytest.mark.parametrize(
    ("frames", "functions"),
    [
        ([WALKS_ANY, REWRITES, WALKS, OPTIONAL], ("ffi::Optional::value [T = PrimType]", "relax::RewriteBindings")),
        ([REWRITES, AT], ("relax::RewriteBindings",)),
        ([WALKS_ANY, WALKS], ("tirx::StmtExprMutator::Mutate_", "ObjectMutator::Mutate")),
    ],
)
def test_frames_of_tvm_ffi_say_what_they_work_on_and_what_walks_through_any_module_is_left_out(
    frames: list[tuple[str, str]], functions: tuple[str, ...]
) -> None:
    assert evidence_of(raised_in(*frames)).details.functions == functions
