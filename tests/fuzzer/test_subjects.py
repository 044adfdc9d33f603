"""Signatures that name what a message is about: different causes with one message stay apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax, tirx

from corpus.case import load, load_module
from fuzzer.findings.family import family
from fuzzer.findings.file import KnownFinding, KnownFindings
from fuzzer.findings.signature import signature
from oracles.core.function_signatures import changed_signature
from oracles.core.module_facts import complaint
from oracles.core.objection import difference
from oracles.core.verdict import Difference, Outcome, Verdict
from relaxkit.passes.contract import OracleName

Module = tvm.IRModule


def tensor(*shape: object, dtype: str = "float32", device: object = None) -> relax.TensorType:
    return relax.TensorType(shape, dtype, device)


def function(name: str, params: list[relax.Var], bindings: list[relax.Binding], result: relax.Var) -> relax.Function:
    body = relax.SeqExpr([relax.BindingBlock(bindings)], result)
    relax.expr._update_type(body, result.ty)
    return relax.Function(params, body, result.ty).with_attr("global_symbol", name)


def bound(name: str, value: relax.Expr, ty: relax.Type) -> relax.VarBinding:
    """Bind a value that is typed by hand."""
    relax.expr._update_type(value, ty)
    return relax.VarBinding(relax.Var(name, ty), value)


def of_nothing() -> Module:
    x, missing = relax.Var("x", tensor(2)), relax.Var("n", tensor(2))
    made = bound("y", relax.op.add(x, missing), tensor(2))
    return Module({"main": function("main", [x], [made], made.var)})


def of_another_function() -> Module:
    x, missing = relax.Var("x", tensor(2)), relax.Var("n", tensor(2))
    made, own = bound("y", relax.op.add(x, missing), tensor(2)), bound("z", relax.op.abs(missing), tensor(2))
    return Module(
        {"main": function("main", [x], [made], made.var), "other": function("other", [missing], [own], own.var)}
    )


def behind_its_use() -> Module:
    x = relax.Var("x", tensor(2))
    late = bound("n", relax.op.abs(x), tensor(2))
    made = bound("y", relax.op.add(x, late.var), tensor(2))
    return Module({"main": function("main", [x], [made, late], made.var)})


def a_dim_of_nothing() -> Module:
    x, n = relax.Var("x", tensor(2)), tirx.Var("n", "int64")
    made = bound("y", relax.op.zeros(relax.ShapeExpr([n]), "float32"), tensor(n))
    return Module({"main": function("main", [x], [made], made.var)})


def a_dim_that_another_function_defines(*, name: str) -> Module:
    """Let the first function have a dim of its own, which is that of the other one, or only named like it."""
    module = a_dim_of_nothing()
    missing = module["main"].body.blocks[0].bindings[0].value.args[0].values[0]
    x = relax.Var("x", tensor(missing if name == "shared" else tirx.Var(missing.name, "int64")))
    own = bound("y", relax.op.abs(x), x.ty)
    return Module({"f1": function("f1", [x], [own], own.var), "main": module["main"]})


def assigned(found: relax.Type) -> Callable[[], Module]:
    def build() -> Module:
        x = relax.Var("x", tensor(4))
        value = relax.op.abs(x)
        relax.expr._update_type(value, tensor(4))
        made = relax.VarBinding(relax.Var("y", found), value)
        return Module({"main": function("main", [x], [made], made.var)})

    return build


def verdict_on(module: Module, culprit: str = "LazyGetInput") -> Verdict:
    found = complaint(module)
    assert found is not None
    return Verdict(OracleName.WELL_FORMED, Outcome.FAIL, culprit, evidence=found)


PLANTED = {
    "undefined": (of_nothing, of_another_function, behind_its_use, a_dim_of_nothing),
    "assigned": (assigned(tensor(4, dtype="float64")), assigned(tensor(5)), assigned(relax.ShapeType(ndim=1))),
}


@pytest.mark.parametrize("pair", PLANTED, ids=str)
def test_causes_with_one_message_are_several_signatures(pair: str) -> None:
    found = [signature(verdict_on(build())) for build in PLANTED[pair]]
    assert len({each.message for each in found}) == 1  # what signatures were made of
    assert len({each.former for each in found}) == 1
    assert len({each.id for each in found}) == len(found), [each.subject for each in found]


@pytest.mark.parametrize("name", ["shared", "alike"])
def test_a_function_that_defines_a_dim_says_nothing_of_one_that_does_not(name: str) -> None:
    """Else the minimizer keeps a function that nothing calls, since the signature is another one without it."""
    alone = signature(verdict_on(a_dim_of_nothing()))
    assert signature(verdict_on(a_dim_that_another_function_defines(name=name))) == alone


def test_a_dim_and_a_tensor_are_two_families() -> None:
    """The judgement found them as one signature of LazyGetInput and of RewriteCUDAGraph."""
    assert family(verdict_on(a_dim_of_nothing())).id != family(verdict_on(of_nothing())).id
    dtype, shape, _ = (family(verdict_on(build())).id for build in PLANTED["assigned"])
    assert dtype != shape


def test_kernels_that_give_another_type_are_told_apart_by_their_operator() -> None:
    """One signature of LegalizeOps held ten cases of the corpus."""
    found = []
    for case in load(["legalize-roi-align-float16", "legalize-avg-pool2d-int32", "legalize-conv2d-ncwh"]):
        before = load_module(case)
        fault = changed_signature(before, relax.transform.LegalizeOps()(before))
        assert fault is not None
        verdict = Verdict(OracleName.WELL_FORMED, Outcome.FAIL, "LegalizeOps", evidence=fault)
        found.append((signature(verdict), family(verdict)))
    assert len({each.former for each, _ in found}) == 1
    assert [each.subject.rpartition(" of ")[2] for each, _ in found] == [
        "vision.roi_align",
        "nn.avg_pool2d",
        "nn.conv2d",
    ]
    assert len({each.id for _, each in found}) == 3


def test_one_cause_under_other_names_is_one_signature() -> None:
    def renamed(name: str) -> Module:
        x, missing = relax.Var("x", tensor(2)), relax.Var(name, tensor(2))
        made = bound("y", relax.op.add(x, missing), tensor(2))
        return Module({"main": function("main", [x], [made], made.var)})

    assert signature(verdict_on(renamed("n"))) == signature(verdict_on(renamed("gv7")))


@pytest.mark.parametrize(
    ("found", "differs"),
    [
        (tensor(4, 3), None),
        (tensor(4, 3, dtype="float16"), Difference.DTYPE),
        (tensor(4), Difference.RANK),
        (tensor(4, 4), Difference.SHAPE),
        (
            tensor(4, 3, device=relax.VDevice("llvm", 0, "global") if hasattr(relax, "VDevice") else None),
            Difference.DEVICE,
        ),
        (relax.AnyType(), Difference.TYPE),
        (relax.ShapeType(ndim=2), Difference.KIND),
    ],
    ids=str,
)
def test_types_differ_in(found: relax.Type, differs: Difference | None) -> None:
    assert difference(tensor(4, 3), found) is differs
    assert difference(relax.TupleType([tensor(2), tensor(4, 3)]), relax.TupleType([tensor(2), found])) is differs
    assert difference(relax.TupleType([found]), relax.TupleType([])) is Difference.FIELDS


def test_an_entry_of_before_names_what_its_signature_has_become() -> None:
    new, other = signature(verdict_on(of_nothing())), signature(verdict_on(of_nothing(), "FuseOps"))
    assert new.id != new.former
    for entry in (
        KnownFinding(id=new.former, reference="u", reason="r"),
        KnownFinding(id=new.id, reference="u", reason="r"),
    ):
        known = KnownFindings((entry,))
        assert known.find(new.id, new.text, former=new.former) is entry
        assert known.find(other.id, other.text, former=other.former) is None
    by_text = KnownFindings(
        (KnownFinding(signature=new.text.replace(f" ({new.subject})", ""), reference="u", reason="r"),)
    )
    assert by_text.find(new.id, new.text, former=new.former) is not None
    assert not set(new.ids).isdisjoint(by_text.ids())
