"""Plainer arguments of passes: which texts are tried, and that those of the pass table still construct passes."""

from __future__ import annotations

import ast

import pytest

from fuzzer.minimizer.search.passes import simpler
from relaxkit.passes.pass_ref import PassRef

T = "relax.transform"
GRADIENT = (
    f'tvm.transform.module_pass(lambda mod, ctx: {T}.Gradient("f", [p for p in mod["f"].params if p.name in %s], 0)'
    "(mod), opt_level=0)"
)


def texts(expression: str) -> list[str]:
    return [ref.expression for ref in simpler(PassRef("P", expression))]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"{T}.FuseOps()", []),
        (f"{T}.FuseOps(fuse_opt_level=1)", [f"{T}.FuseOps()"]),
        (
            f'configured({T}.FuseOps(), {{"relax.FuseOps.max_depth": 5}})',
            [
                f"{T}.FuseOps()",
                f"configured({T}.FuseOps(), {{}})",
                f'configured({T}.FuseOps(), {{"relax.FuseOps.max_depth": 1}})',
                f'configured({T}.FuseOps(), {{"relax.FuseOps.max_depth": 2}})',
            ],
        ),
        (
            f'{T}.ToMixedPrecision(out_dtype="float32", fp16_input_names=["a", "b"])',
            [
                f"{T}.ToMixedPrecision()",
                f'{T}.ToMixedPrecision(out_dtype="float32")',
                f'{T}.ToMixedPrecision(fp16_input_names=["a", "b"])',
                f'{T}.ToMixedPrecision(out_dtype="float32", fp16_input_names=[])',
                f'{T}.ToMixedPrecision(out_dtype="float32", fp16_input_names=["b"])',
                f'{T}.ToMixedPrecision(out_dtype="float32", fp16_input_names=["a"])',
            ],
        ),
        (f"{T}.ConvertToDataflow(min_size=3)", [f"{T}.ConvertToDataflow()", f"{T}.ConvertToDataflow(min_size=1)"]),
        (
            f"{T}.UpdateParamType(lambda var: g(var) if f(var) and h(var) else None)",
            [
                f"{T}.UpdateParamType()",
                f"{T}.UpdateParamType(lambda var: g(var))",
                f"{T}.UpdateParamType(lambda var: g(var) if h(var) else None)",
                f"{T}.UpdateParamType(lambda var: g(var) if f(var) else None)",
            ],
        ),
        (GRADIENT % "('a', )", [f'{T}.Gradient("f")', GRADIENT % "[]"]),
        (
            f'{T}.BindParams("main", {{"p": ((np.full(6, 3) * 7 % 17 - 8) / 8).reshape((2, 3)).astype("float16")}})',
            [
                f"{T}.BindParams()",
                f'{T}.BindParams("main")',
                f'{T}.BindParams("main", {{}})',
                f'{T}.BindParams("main", {{"p": np.ones((2, 3)).astype("float16")}})',
            ],
        ),
        ("this is no expression", []),
        ("user:mine.py:make", []),
    ],
)
def test_texts_with_one_thing_less(expression: str, expected: list[str]) -> None:
    assert texts(expression) == expected


def test_patterns_become_plainer() -> None:
    exp = 'is_op("relax.exp")(wildcard())'
    relu = 'is_op("relax.nn.relu")(wildcard().has_dtype("float32"))'
    check = 'lambda context: "root" in context.annotated_expr'
    found = texts(f'{T}.FuseOpsByPattern([(lambda root: ("a", root, {{"root": root}}, {check}))(({exp} | {relu}))])')
    assert f'{T}.FuseOpsByPattern([("a", {exp} | {relu})])' in found
    assert any(f"(({exp}))" in item for item in found)
    assert any('is_op("relax.nn.relu")(wildcard())' in item and "has_dtype" not in item for item in found)


def test_the_layouts_of_an_operator_stay_together() -> None:
    assert texts(f'{T}.ConvertLayout({{"relax.nn.conv2d": ["NHWC", "OHWI"]}})') == [
        f"{T}.ConvertLayout()",
        f"{T}.ConvertLayout({{}})",
    ]


def test_arguments_that_speak_of_each_other_stay() -> None:
    assert texts(f'{T}.AlterOpImpl({{"k": 1}}, {{"k": [2]}}, {{"k": None}})') == [f"{T}.AlterOpImpl()"]


def test_a_target_stays_and_one_of_two_rewriters_goes() -> None:
    scope = 'relax.backend.adreno.transform.AnnotateCustomMemoryScope(tvm.target.Target("qcom/adreno-opencl-texture"))'
    assert texts(scope) == []  # the pass reads the target without asking whether there is one
    assert {"(lambda r: r)(one)", "(lambda r: r)(two)"} <= {*texts("(lambda r: r)(one | two)")}


def test_most_of_what_the_pass_table_draws_still_constructs_a_pass() -> None:
    from hypothesis import Phase, given, seed, settings

    from strategies import passes

    built = tried = 0

    @seed(3)
    @settings(max_examples=60, database=None, deadline=None, phases=[Phase.generate])
    @given(passes())
    def check(drawn: PassRef) -> None:
        nonlocal built, tried
        for ref in simpler(drawn):
            ast.parse(ref.expression, mode="eval")
            tried += 1
            try:
                ref.build()
                built += 1
            except (TypeError, ValueError):  # an argument that has no default
                continue

    check()
    assert tried
    assert built > tried // 2
