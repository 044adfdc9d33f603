"""A defect is told by words that neither a smaller module nor another release changes."""

from __future__ import annotations

import pytest
from planted.catalogue import HERE
from planted.generated import module

from fuzzer.repro.checks.check import error_words, fragments
from fuzzer.repro.checks.well_formed import check_signatures
from oracles.core.verdict import Evidence
from relaxkit.passes.pass_ref import import_file


def test_fragments_are_the_distinctive_words() -> None:
    said = fragments("Check failed: (it_group != obj2group_.end()) is false: Variable lv12 could not be found")
    assert said == ["could not be found", "Variable"]  # not which condition fails: TVM says in words what it means
    assert fragments("Check failed: (it_group != obj2group_.end()) is false: ") == ["it_group != obj", "Check failed"]
    assert fragments("Mismatched T.device_id on argument #2:\n expected to match lv4.device_id") == [
        "Mismatched T.device_id on argument #",
        "expected to match",
    ]
    assert fragments("12") == []
    assert fragments("boom") == ["boom"]


@pytest.mark.parametrize(
    ("older", "newer", "words"),
    [
        (
            "Check failed: (tensor) is false: Expected TensorStructInfo, but got R.Prim(value=T.float64(-1.0))",
            "Check failed: (tensor) is false: Expected TensorType, but got T.int64",
            ["Expected", "but got"],
        ),
        (
            "Check failed: (ptr) is false: The struct_info is not populated, check if you have normalized the expr",
            (
                "Check failed: (!expr->ty.IsMissing()) is false: "
                "The type is not populated, check if you have normalized the expr"
            ),
            ["is not populated, check if you have normalized the expr"],
        ),
        (
            'In ir.Op(span=None, struct_info_=None, name="relax.add", op_type=None, support_level=10), the first is 1.',
            'In ir.Op(span=None, ty=ir.Type(span=None), name="relax.add", support_level=10), the first is 1.',
            ["the first is"],
        ),
        ("Symbolic Var n is not defined.", "Var n is not defined.", ["Var n is not defined"]),
        (
            "All information in StructInfo annotations must be correct.",
            "All information in Type annotations must be correct.",
            ["annotations must be correct", "All information in"],
        ),
        (
            "Cannot treat type `relax.expr.Constant` as type `ir.Var`",
            "Cannot treat type `ir.GenericConst` as type `ir.Var`",
            ["Cannot treat type", "as type"],
        ),
        (
            "Check failed: (func->body.as<SBlockRealizeNode>()) is false: The body of the primfunc should be a block.",
            (
                "Check failed: (func->body.as<s_tir::SBlockRealizeNode>()) is false: "
                "The body of the primfunc should be a block."
            ),
            ["The body of the primfunc should be a block"],
        ),
        (
            "Function # from tvm.script import relax as R\n\n@R.function\ndef f(x: R.Object):\n    return x is wrong",
            (
                "Function # from tvm.script import tirx as T\n# from tvm.script import relax as R\n\n@R.function\n"
                "def f(x: R.Any):\n    return x is wrong"
            ),
            ["return x is wrong", "Function"],
        ),
    ],
)
def test_words_are_those_that_releases_share(older: str, newer: str, words: list[str]) -> None:
    assert fragments(older) == fragments(newer) == words


def test_names_of_the_module_do_not_tell_a_defect() -> None:
    assert fragments('GlobalVar I.GlobalVar("fused_relax_negative_absent") is not defined.') == [
        "GlobalVar I.GlobalVar",
        "is not defined",
    ]
    printed = (
        "Function # from tvm.script import relax as R\n\n@R.function\ndef f():\n    return R.tuple(){} does not end so"
    )
    omitted = "\n\n# Metadata omitted. Use show_meta=True in script() method to show it."
    assert fragments(printed.format(""))[0] == fragments(printed.format(omitted))[0] == "does not end so"
    for name in ("lv", "gv", "lv12"):
        assert fragments(f"Variable {name} could not be found") == ["could not be found", "Variable"]
    assert fragments("'Var' object has no attribute 'get_symbolic_vars'")[1] == "get_symbolic_vars"


def test_a_message_of_few_words_is_told_by_the_place_that_it_comes_from() -> None:
    frames = ("src/relax/analysis/type_analysis.cc:relax::CallRetTypeDeriver::Derive", "src/relax/a.cc:Run")
    few = Evidence("ValueError", "Expected TensorType, but got R.Any", frames)
    assert error_words(few, "0.27") == "['Expected', 'but got', *raised_in('0.27', 'type_analysis.cc', 'Derive')]"
    many = "The type is not populated, check if you have normalized the expr"
    assert error_words(Evidence("ValueError", many, frames), "0.27") == repr(fragments(many))
    assert error_words(Evidence("ValueError", f"ahead: {many}", frames), "0.27", "no") == (
        "['no', *raised_in('0.27', 'type_analysis.cc', 'Derive')]"
    )
    for frame in ((), ("ir/transform.py:__call__",), ("src/a.cc:operator()",)):
        assert error_words(Evidence("ValueError", "no", frame), "0.27") == "['no']", "no place that is the pass's"


@pytest.mark.parametrize("planted", ["renames_public", "hides_public"])
def test_the_check_of_signatures_sees_functions_that_callers_no_longer_find(planted: str) -> None:
    """By their symbols: a function that became private still has its name in the module."""
    made, factories = module(0), import_file(HERE / "well_formed.py")
    assert check_signatures(made, [getattr(factories, planted)()])[0] == "BUG"
    assert check_signatures(made, [getattr(factories, f"{planted}_clean")()])[0] == "OK"
