"""Drawn arguments: what they range over, that they fit the module, and the names that their text may use."""

from __future__ import annotations

import random
import re
from collections import Counter
from types import SimpleNamespace

import pytest
import tvm
from tvm import relax

from fuzzer.repro.bundle import OPTIONAL
from relaxkit.ir.walk import operator_of
from relaxkit.passes.arguments import arguments_of, given_of
from relaxkit.passes.pass_ref import PassRef, namespace
from strategies import ir_modules
from strategies.detect.module_facts import Facts, Parameter, array_text, facts_of
from strategies.pass_arguments.binding import append_loss, mixed_precision
from strategies.pass_arguments.lowering import LAYOUTS
from strategies.pass_arguments.patterns import CHECKS
from strategies.pass_arguments.rewriters import RULES
from strategies.pass_arguments.table import PASS_ROWS
from strategies.scope.chains import DEEPEST, MOST, Term, TermKind, chains_of, longest
from strategies.scope.choices import Choices
from strategies.scope.from_bytes import draw_from_bytes, draws_of

op = relax.op


def tensor(name: str, *shape: int, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorType(shape, dtype))


def module_of(build, *parameters: relax.Var) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    with builder.function("main", list(parameters)):
        with builder.dataflow():
            result = builder.emit_output(build(builder))
        builder.emit_func_output(result)
    return builder.finalize()


def chain() -> tvm.IRModule:
    x, w = tensor("x", 2, 3), tensor("w", 3, 3)

    def build(builder):
        product = builder.emit(op.matmul(x, w))
        total = builder.emit(op.add(product, relax.const([1.0, 2.0, 3.0], "float32")))
        return op.concat([builder.emit(op.nn.relu(total)), x], axis=0)

    return module_of(build, x, w)


def texts(name: str, facts: Facts, count: int, seed: int = 1) -> list[str]:
    choices = Choices(draws_of(random.Random(seed)))
    return [PASS_ROWS[name].draw(choices, facts) for _ in range(count)]


def test_a_script_can_import_every_name():
    # eval adds the built-in names; the definitions of what is ours are copied into the script
    names = namespace()
    ours = {name for name, value in names.items() if getattr(value, "__module__", "") == "relaxkit.passes.helpers"}
    assert "configured" in ours
    assert names.keys() - ours - {"__builtins__"} <= OPTIONAL.keys()


def test_chains_are_the_operators_and_what_they_are_computed_from():
    matmul, add, relu, concat = chains_of(chain()["main"])
    assert [term.size for term in (matmul, add, relu, concat)] == [1, 2, 3, 3]  # the deepest matmul is cut off
    (fields,) = concat.parts
    assert fields.kind is TermKind.TUPLE
    first, other = fields.parts
    assert (concat.operator, first.operator, other.kind, other.dims) == (
        "relax.concat",
        "relax.nn.relu",
        TermKind.OTHER,
        (2, 3),
    )
    assert relu.parts == (add,)
    assert [part.kind for part in add.parts] == [TermKind.CALL, TermKind.CONSTANT]
    assert facts_of(chain()).chains == (relu, concat, add, matmul)


def test_long_chains_are_cut_and_few_are_kept():
    x = tensor("x", 2)

    def build(builder):
        value = x
        for _ in range(2 * DEEPEST):
            value = builder.emit(op.exp(value))
        return op.exp(value)

    (function,) = module_of(build, x).functions.values()
    terms = list(chains_of(function))
    assert max(term.size for term in terms) == DEEPEST
    many = [Term(TermKind.CALL, f"relax.op{number}", size=1 + number % 3) for number in range(3 * MOST)]
    kept = longest(many)
    assert len(kept) == MOST
    assert Counter(term.size for term in kept)[1] == MOST // 4
    assert kept[0].size == 3


def test_patterns_of_a_module_match_it():
    module, matched, forms = chain(), 0, set()
    drawn = texts("FuseOpsByPattern", facts_of(module), 150)
    for text in drawn:
        result = PassRef("FuseOpsByPattern", text).build()(module)
        relax.analysis.well_formed(result)
        matched += len(result.functions) > 1
        forms |= {
            word
            for word in (
                "is_const()",
                "is_tuple(",
                "has_dtype",
                "has_shape",
                " | ",
                "bind_constants",
                "annotate_codegen",
            )
            if word in text
        }
        forms |= {"entries" for _ in re.findall("entry_functions", text)}
        forms |= {"attributes" for _ in re.findall("lambda annotated", text)}
        forms |= {check for check in CHECKS if check in text}
    assert matched >= 75
    assert len(forms) == 9 + len(CHECKS)
    assert len(set(drawn)) >= 75
    assert max(text.count("is_op(") for text in drawn) >= 4


def test_layouts_are_those_of_the_convolutions_at_hand():
    x, w = tensor("x", 1, 4, 8), tensor("w", 4, 4, 3)
    module = module_of(lambda builder: op.nn.conv1d(x, w), x, w)
    drawn = texts("ConvertLayout", facts_of(module), 80)
    assert all("conv1d" in text and "conv2d" not in text for text in drawn)
    assert any("layout_cb=lambda call" in text for text in drawn)
    assert all(any(f'"{layouts[0]}"' in text for text in drawn) for layouts in LAYOUTS["relax.nn.conv1d"])
    changed = [
        PassRef("ConvertLayout", text).build()(module)["main"].body.blocks[0].bindings
        for text in drawn
        if "NWC" in text
    ]
    assert all(len(bindings) > 1 for bindings in changed)


@pytest.mark.parametrize("way", range(4))
@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "uint8", "int64"])
def test_arrays_fit_and_stay_in_the_domain(dtype: str, way: int):
    array = eval(array_text(Parameter("x", (2, "n", 3), dtype), 4, way), namespace())
    assert (array.shape, str(array.dtype)) == ((2, 4, 3), dtype)
    if dtype != "bool":
        assert array.min() >= -2
        assert array.max() <= 3
        assert bool(array.min() == array.max()) is (way == 3)


def test_bound_values_are_known_to_the_oracles():
    seen = Counter()
    for number in range(40):
        module = draw_from_bytes(ir_modules(), random.Random(number).randbytes(8192))
        facts = facts_of(module)
        for name in ("BindParams", "BindSymbolicVars"):
            (text,) = texts(name, facts, 1, number)
            given = given_of([(name, text)])
            seen["arrays"] += len(given.values)
            seen["dims"] += len(given.dims)
            seen["tvm"] += "tvm.runtime.tensor" in text
            seen["IntImm"] += "tirx.IntImm" in text
            assert all(array.dtype != object for array in given.values.values())
    assert min(seen[key] for key in ("arrays", "dims", "tvm", "IntImm")) >= 3


def test_a_loss_takes_what_the_function_returns():
    x = tensor("x", 2, 3)
    module = module_of(lambda builder: op.exp(x), x)
    for text in texts("AppendLoss", facts_of(module), 12):
        result = PassRef("AppendLoss", text).build()(module)
        assert {var.name_hint for var in result.functions} in ({"main", "main_loss"}, {"main", "main_trained"})
    assert arguments_of(text)["0"] == "main"
    assert any("mean" in text for text in texts("AppendLoss", facts_of(module), 12))
    none = tensor("x", 0, 3)
    drawn = texts("AppendLoss", facts_of(module_of(lambda builder: op.exp(none), none)), 12)
    assert not any("mean" in text for text in drawn)  # it cannot be legalized, whoever asks for it


def test_legalizations_of_ones_own_compute_the_same_operator():
    module = chain()
    drawn = texts("LegalizeOps", facts_of(module), 120)
    assert {"skip_ops", "enable_warning", "lambda builder, call: call"} <= {
        word for text in drawn for word in ("skip_ops", "enable_warning", "lambda builder, call: call") if word in text
    }
    for text in sorted(set(drawn))[:20]:
        relax.analysis.well_formed(PassRef("LegalizeOps", text).build()(module))


def test_arguments_are_the_simplest_for_the_first_choices():
    facts = facts_of(chain())
    first = Choices(lambda strategy: bytes(64))
    assert PASS_ROWS["LegalizeOps"].draw(first, facts) == "relax.transform.LegalizeOps()"
    assert PASS_ROWS["FuseOps"].draw(first, facts) == "relax.transform.FuseOps()"
    assert PASS_ROWS["UpdateParamType"].draw(first, facts) == "relax.transform.UpdateParamType(lambda var: None)"
    assert PASS_ROWS["LazyTransformParams"].draw(first, facts) == "relax.transform.LazyTransformParams()"


def test_dims_of_a_function_that_the_module_calls_are_not_bound():
    builder = relax.BlockBuilder()
    outer, inner = tvm.tirx.Var("n", "int64"), tvm.tirx.Var("n", "int64")
    x, y = relax.Var("x", relax.TensorType([outer], "float32")), relax.Var("y", relax.TensorType([inner], "float32"))
    with builder.function("callee", [x]):
        builder.emit_func_output(builder.emit(op.abs(x)))
    callee = next(var for var in builder.get().get_global_vars() if var.name_hint == "callee")
    with builder.function("caller", [y]):
        builder.emit_func_output(builder.emit(relax.Call(callee, [y])))
    facts = facts_of(builder.finalize())
    assert {each.name: each.called for each in facts.functions} == {"callee": True, "caller": False}
    choices = Choices(draws_of(random.Random(11)))
    texts = {PASS_ROWS["BindSymbolicVars"].draw(choices, facts) for _ in range(40)}
    assert all('"caller")' in text and '"callee"' not in text for text in texts), texts
    assert any("defined_symbolic_vars" in text for text in texts)


def test_a_pattern_takes_no_operator_that_must_name_a_function():
    builder = relax.BlockBuilder()
    x = tensor("x", 2)
    with builder.function("main", [x]):
        with builder.dataflow():
            closure = builder.emit(op.make_closure(relax.ExternFunc("f"), relax.Tuple([x])))
            plain = builder.emit(op.abs(x))
            result = builder.emit_output(plain)
        builder.emit_func_output(result)
    assert closure.ty is not None
    (term,) = chains_of(builder.get()["main"])
    assert term.operator == "relax.abs"


def test_named_inputs_are_single_floats_in_all_functions():
    """9b3247da1f: ToMixedPrecision goes by name, and made float16 of the indices of a private function."""
    builder = relax.BlockBuilder()
    with builder.function("inner", [index := tensor("x", 2, dtype="int64")], private=True):
        builder.emit_func_output(index)
    with builder.function("main", [tensor("x", 2), y := tensor("y", 2)]):
        builder.emit_func_output(builder.emit(op.abs(y)))
    drawn = texts("ToMixedPrecision", facts_of(builder.finalize()), 60)
    named = {text for text in drawn if "fp16_input_names" in text}
    assert named
    assert not any('"x"' in text for text in named)


def test_the_loss_of_floats_of_eight_bits_is_not_asked_for():
    for dtype, taken in (("float8_e5m2", False), ("float16", True), ("bfloat16", True), ("int32", False)):
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType([2], dtype))
        with builder.function("main", [x]):
            with builder.dataflow():
                made = builder.emit_output(relax.op.reshape(x, [2, 1]))
            builder.emit_func_output(made)
        drawn = append_loss(Choices(draws_of(random.Random(1))), facts_of(builder.get()))
        assert (f'"{dtype}"' in drawn) is taken


def test_a_name_of_parameters_of_several_dtypes_is_not_drawn():
    functions = [SimpleNamespace(parameters=[SimpleNamespace(name="p0", dtype="float32")])]
    facts = SimpleNamespace(functions=functions, not_single={"p0"})
    texts = {mixed_precision(Choices(draws_of(random.Random(seed))), facts) for seed in range(40)}
    assert not [text for text in texts if "p0" in text]
    facts.not_single.clear()
    texts = {mixed_precision(Choices(draws_of(random.Random(seed))), facts) for seed in range(40)}
    assert [text for text in texts if "p0" in text]


def test_a_function_that_a_rewriter_brings_leaves_no_shape_open():
    # no module builds that has such a function, so the rewriter would be told of what was asked of it
    x = tensor("x", 2, 3)
    facts = facts_of(module_of(lambda builder: op.nn.relu(x), x))
    drawn = texts("PatternMatchingRewriter", facts, 200)
    brought = [part for text in drawn for part in re.findall(r"def subroutine\(.*?->", text)]
    assert brought
    assert not [part for part in brought if 'R.Tensor("' in part]
    assert any('R.Tensor("' in text for text in drawn), "patterns may leave it open"


@pytest.mark.parametrize(("width", "reshapes"), [(3, True), (0, False)])
def test_no_rule_reshapes_to_a_dim_of_0(width: int, reshapes: bool) -> None:
    """``relax.reshape`` takes a 0 for "as before"."""
    (rule,) = [each for each in RULES if each.operator == "relax.squeeze"]
    x = relax.Var("x", relax.TensorType((1, width), "float32"))
    call = relax.BlockBuilder().normalize(relax.op.squeeze(x))
    made = eval(rule.becomes.format("x"), {"relax": relax, "call": call, "x": x})
    assert (operator_of(made) == "relax.reshape") is reshapes
