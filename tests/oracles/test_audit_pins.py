"""False alarms that reading campaigns brought to light, each pinned by what it was mended with (``docs/audit.md``)."""

from __future__ import annotations

import dataclasses
import random
from types import SimpleNamespace

import numpy as np
import pytest
import sample_modules as samples
import tvm
from tvm import relax

from oracles import judge
from oracles.contract import UNSUPPORTED_DTYPE, Circumstance, Idempotence, Locality, NumericPromise, Ran
from oracles.contracts import CONTRACTS, contract_for
from oracles.examination import _dead_code_alone
from oracles.execution import session
from oracles.facts import ModuleFacts, equal
from oracles.given import given_of
from oracles.locality_draw import _renamed
from oracles.numeric_limits import captures_weights, excused, excused_run, unfair
from oracles.passref import PassRef
from oracles.plan import Step, plan_of
from oracles.postconditions.clean import projection_left
from oracles.postconditions.lowering import reshapes_changed
from oracles.postconditions.memory_plan import _escaped
from oracles.postconditions.rewrite import refused_yet_changed
from oracles.preconditions import needs_transform_params, no_cuda_graphs
from oracles.signature import changed_signature
from oracles.subject import Subject
from oracles.tolerance import unit_of
from oracles.verdict import Evidence, OracleName, Outcome
from strategies.choices import Choices
from strategies.drive import draws_of
from strategies.module_facts import Parameter, facts_of
from strategies.pass_arguments.binding import _by_variable, append_loss, mixed_precision

X = "relax.transform"


def ref(name: str, arguments: str = "") -> PassRef:
    return PassRef(name, f"{X}.{name}({arguments})")


def step(reference: PassRef) -> Step:
    return Step(reference, contract_for(reference))


def tensor(shape, dtype="float32"):
    return relax.TensorType(shape, dtype)


def tuple_of(reads):
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor([2]))
    with builder.function("main", [x]):
        with builder.dataflow():
            pair = builder.emit(relax.Tuple([x, x]))
            got = builder.emit(relax.TupleGetItem(pair, 1))
            out = builder.emit_output(got if reads else relax.op.abs(x))
        builder.emit_func_output(out)
    return builder.finalize()


@pytest.mark.parametrize("reads", [True, False])
def test_a_projection_that_nobody_reads_may_stay(reads):
    """It was one of a constant field, which took its place; and one outside of a dataflow block."""
    module = tuple_of(reads)
    assert bool(projection_left(Ran(module, module, {}))) is reads


@pytest.mark.parametrize(("check", "judged"), [(lambda *_: False, True), (lambda a, rhs, b, c: len(rhs) == 2, False)])
def test_a_check_that_accepts_some_products_refuses_nothing_for_certain(check, judged):
    before = samples.matmuls()
    after = relax.transform.CombineParallelMatmul()(before)
    assert not equal(before, after)
    assert bool(refused_yet_changed(Ran(before, after, {"check": check}))) is judged


def transform(parameters):
    builder = relax.BlockBuilder()
    with builder.function("main_transform_params", parameters):
        builder.emit_func_output(relax.Tuple([]))
    return builder.finalize()


def test_a_transform_without_weights_is_outside_the_lazy_contract():
    assert needs_transform_params(transform([])) == "the transform function takes nothing"
    rank = relax.Var("rank", tvm.ir.PrimType("int64"))
    assert needs_transform_params(transform([rank])) == "the transform function takes nothing"
    assert needs_transform_params(transform([relax.Var("w", tensor([2]))])) is None


def test_what_has_cuda_graphs_is_not_captured_again():
    assert no_cuda_graphs(samples.dataflow()) is None
    reference = PassRef(
        "RewriteCUDAGraph", f'configured({X}.RewriteCUDAGraph(), {{"relax.backend.use_cuda_graph": True}})'
    )
    captured = Subject(samples.dataflow(), [reference]).output_module
    assert no_cuda_graphs(captured) == "has CUDA graphs already"


@pytest.mark.parametrize("message", ["Axis swap only", "Unsupported initial layout"])
def test_layouts_that_convolutions_name_as_not_theirs_are_refusals(message):
    found = [each for each in CONTRACTS["ConvertLayout"].refusals if each.matches("InternalError", f"Check: {message}")]
    assert len(found) == 1
    assert not found[0].matches("InternalError", "Layouts must have the same size")


def test_an_inserted_step_has_the_contract_of_its_arguments():
    passes = [ref("AnnotateTIROpPattern"), ref("FuseTIR")]
    plan = plan_of(passes, [contract_for(each) for each in passes], samples.dataflow())
    (inserted,) = [each for each in plan.steps if each.inserted and each.ref.name == "FuseOps"]
    assert any(Circumstance.LEVEL_0 in each.on for each in inserted.contract.environment)


def test_a_check_on_uses_promises_a_fixed_point_only():
    pattern = '("a.b", is_op("relax.abs")(wildcard()), {}, lambda context: %s)'
    looks = contract_for(ref("FuseOpsByPattern", f"[{pattern % 'not context.var_usages'}]"))
    plain = contract_for(ref("FuseOpsByPattern", f"[{pattern % 'True'}]"))
    assert (looks.idempotence, plain.idempotence) == (Idempotence.FIXPOINT, Idempotence.IDEMPOTENT)


CAST = Evidence("run-error", "ErrorContext(match_cast, ty=...) expect Tensor with dtype float32 but get float16")
UNEMITTED = Evidence("InternalError", "CodeGenVM cannot emit this operator.\nOffending call:\nR.nn.conv2d(lv, lv1)")


def test_what_the_caller_chose_is_no_fault_of_the_pass():
    retyped = step(ref("UpdateParamType", 'lambda var: relax.TensorType([2], "float16")'))
    assert retyped.contract.abi is contract_for(ref("UpdateParamType", "lambda var: None")).abi
    assert excused_run(CAST, [retyped], samples.dataflow(), samples.dataflow()) == "a match_cast asks for the old type"
    assert excused_run(CAST, [step(ref("FuseTIR"))], samples.dataflow(), samples.dataflow()) == ""
    result = dataclasses.replace(CAST, message="ErrorContext(fn=run, loc=return, annotation=...) expect float32")
    assert (
        excused_run(result, [retyped], samples.dataflow(), samples.dataflow()) == "a declared result has the old type"
    )
    assert excused_run(result, [step(ref("FuseTIR"))], samples.dataflow(), samples.dataflow()) == ""
    assert excused(UNEMITTED, [step(ref("ConvertLayout", "{}"))]) == "no kernel for this layout"
    assert excused(UNEMITTED, [step(ref("FuseTIR"))]) == ""


def test_a_pipeline_that_writes_into_its_input_blames_the_writer_alone():
    passes = [ref("LegalizeOps"), ref("UpdateVDevice", 'relax.VDevice("llvm", 0, "global"), 0'), ref("CallTIRRewrite")]
    verdicts = judge(Subject(samples.vdevices(), passes), [OracleName.MUTATION, OracleName.SEQUENTIAL])
    assert all(each.outcome is not Outcome.FAIL for each in verdicts if each.oracle is OracleName.SEQUENTIAL)


def test_a_tuple_that_the_body_does_not_build_arrives_whole():
    """LazySetOutput sends it as output 0, also where it has one field that is a tuple itself."""
    builder = relax.BlockBuilder()
    whole = relax.Var("whole", relax.TupleType([relax.TupleType([tensor([1]), tensor([1])])]))
    with builder.function("main", [whole]):
        builder.emit_func_output(whole)
    (verdict,) = judge(Subject(builder.finalize(), [ref("LazySetOutput")]), [OracleName.NUMERIC])
    assert verdict.outcome is Outcome.PASS, verdict


def test_a_workspace_fits_all_external_functions_of_the_module():
    assert CONTRACTS["AllocateWorkspace"].locality is Locality.MODULE


@pytest.mark.parametrize("packed", [True, False])
def test_a_packed_call_says_which_type_it_gives(packed):
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor([2]))
    with builder.function("main", [x]):
        if packed:
            made = relax.op.call_pure_packed("vm.builtin.reshape", x, relax.ShapeExpr([2]), ty_args=tensor([2]))
        else:
            made = relax.op.reshape(x, [2])
        builder.emit_func_output(builder.emit(made))
    retype = ref("UpdateParamType", 'lambda var: relax.TensorType(var.ty.shape, "float64")')
    for reference in (retype, ref("StaticPlanBlockMemory")):  # which assumes that it does not return an argument
        assert bool(unfair([step(reference)], lambda _: builder.get())) is packed


def test_a_kernel_that_functions_share_fits_all_its_calls():
    assert CONTRACTS["SpecializePrimFuncBasedOnCallSite"].locality is Locality.MODULE


def test_the_loss_of_floats_of_eight_bits_is_not_asked_for():
    for dtype, taken in (("float8_e5m2", False), ("float16", True), ("bfloat16", True), ("int32", False)):
        builder = relax.BlockBuilder()
        x = relax.Var("x", tensor([2], dtype))
        with builder.function("main", [x]):
            with builder.dataflow():
                made = builder.emit_output(relax.op.reshape(x, [2, 1]))
            builder.emit_func_output(made)
        drawn = append_loss(Choices(draws_of(random.Random(1))), facts_of(builder.get()))
        assert (f'"{dtype}"' in drawn) is taken


@pytest.mark.parametrize(("device", "said"), [(True, ""), (False, "a value has another type")])
def test_a_reshape_may_say_on_which_device(device, said):
    place = relax.VDevice("llvm")

    def module(ty):
        x = relax.Var("x", tensor([2, 3]))
        y = relax.Var("y", ty)
        body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, relax.op.reshape(x, [6]))])], y)
        return tvm.IRModule({"main": relax.Function([x], body, tensor([6]))})

    after = relax.TensorType([6], "float32", place) if device else tensor([6], "float16")
    ran = Ran(module(tensor([6])), module(after), {})
    assert reshapes_changed(ran)[: len(said) or None] == said


def test_an_approximation_is_one_of_normal_numbers():
    assert unit_of(NumericPromise.APPROXIMATE, ("float32",)).floor == 2.0**-126
    assert unit_of(NumericPromise.REASSOCIATION, ("float32",)).floor == 2.0**-149


def test_a_view_of_a_tensor_escapes_with_it():
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor([2]))
    with builder.function("main", [x]):
        made = builder.emit(
            relax.op.call_pure_packed("vm.builtin.reshape", x, relax.ShapeExpr([2]), ty_args=tensor([2]))
        )
        builder.emit_func_output(made)
    function = relax.transform.CallTIRRewrite()(relax.transform.RemovePurityChecking()(builder.get()))["main"]
    assert {var.name for var in _escaped(function, frozenset())} >= {"x"}


def test_a_parameter_is_bound_once():
    first = 'relax.transform.BindParams("main", {"a": np.zeros(2, "float32")})'
    second = 'relax.transform.BindParams("main", {"a": np.ones(2, "float32"), "b": np.ones(2, "float32")})'
    values = given_of([("BindParams", first), ("BindParams", second)]).values
    assert values["main", "a"].tolist() == [0, 0]
    assert values["main", "b"].tolist() == [1, 1]


def test_composites_that_are_compiled_outside_name_what_is_linked():
    bb = relax.BlockBuilder()
    x, y = relax.Var("x", tensor((2,))), relax.Var("y", tensor((2,)))
    with bb.function("inner", [x], attrs={"Composite": "pyext.abs"}, private=True):
        bb.emit_func_output(bb.emit(relax.op.abs(x)))
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(relax.Call(bb.get().get_global_var("inner"), [y])))
    alone = bb.get()
    with bb.function("inner_pyext", [relax.Var("z", tensor((2,)))], attrs={"Codegen": "pyext"}):
        bb.emit_func_output(relax.const(np.zeros(2, "float32")))
    beside = bb.get()

    def renamed(*passes, module=alone):
        subject = Subject(module, passes, facts=ModuleFacts(module))
        drawn = [_renamed(subject, random.Random(seed), Locality.FUNCTION) for seed in range(6)]
        return [each for each in drawn if each is not None]

    assert renamed(ref("FuseOpsByPattern", "[]"))
    assert not renamed(ref("FuseOpsByPattern", "[]"), ref("RunCodegen"))
    assert not renamed(ref("FuseOpsByPattern", "[]"), module=beside)  # which would be the one that it makes of inner


def test_packed_calls_that_write_into_an_output_say_its_type():
    x = relax.Var("x", tensor((2,)))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.call_dps_packed("anything", [x], x.ty)))
    module = bb.get()
    (update,) = [ref("UpdateParamType", "lambda var: None")]
    assert "packed call" in unfair([step(update)], lambda index: module)
    assert not unfair([step(ref("StaticPlanBlockMemory"))], lambda index: module)


def test_a_name_of_parameters_of_several_dtypes_is_not_drawn():
    functions = [SimpleNamespace(parameters=[SimpleNamespace(name="p0", dtype="float32")])]
    facts = SimpleNamespace(functions=functions, not_single={"p0"})
    texts = {mixed_precision(Choices(draws_of(random.Random(seed))), facts) for seed in range(40)}
    assert not [text for text in texts if "p0" in text]
    facts.not_single.clear()
    texts = {mixed_precision(Choices(draws_of(random.Random(seed))), facts) for seed in range(40)}
    assert [text for text in texts if "p0" in text]


def test_a_device_may_be_said_where_none_was_and_is_another_object_in_a_copy():
    def returning(*devices):
        x = relax.Var("x", tensor((2,)))
        types = [relax.TensorType((2,), "float32", None if each is None else relax.VDevice(*each)) for each in devices]
        result = relax.Var("result", relax.TupleType(types))  # as declared: what contradicts itself is not judged
        function = relax.Function([x], relax.SeqExpr([], result), relax.TupleType(types))
        return tvm.IRModule({tvm.ir.GlobalVar("main"): function.with_attr("global_symbol", "main")})

    first, second = ("llvm", 0, "global"), ("llvm", 1, "global")
    assert changed_signature(returning(None, first), returning(first, first)) is None
    assert changed_signature(returning(first, None), returning(None, None)) is not None
    assert changed_signature(returning(None, first), returning(None, second)) is not None


def test_dead_code_that_building_the_original_drops_is_no_fault_of_a_pass():
    """LegalizeOps drops dead code where there are devices; FoldVDeviceScopeChange had taken the last one away."""

    def made(dead):
        bb = relax.BlockBuilder()
        x, y = relax.Var("x", tensor((2, 2), "bool")), relax.Var("y", tensor((1, 1), "bool"))
        with bb.function("main", [x, y]):
            with bb.dataflow():
                product = bb.emit(relax.op.multiply(x, y))  # LLVM's code generator refuses a product of booleans
                out = bb.emit_output(x if dead else product)
            bb.emit_func_output(out)
        return bb.get()

    for dead in (True, False):
        with pytest.raises(Exception, match="kDLFloat"):
            session().build(made(dead))
        assert _dead_code_alone(made(dead), made(dead)) is dead

    device = relax.VDevice("llvm", 1, "global")
    module = made(True)
    z = relax.Var("z", relax.TensorType((), "bool", device))
    kept = relax.const(np.ones((2,), "float32"), "float32")
    bb = relax.BlockBuilder(module)
    with bb.function("unused", [z], private=True):
        bb.emit(relax.op.permute_dims(z))
        bb.emit_func_output(kept)
    module = bb.get()
    module.update_global_info("vdevice", [relax.VDevice("llvm", 0, "global"), device])
    name = "FoldVDeviceScopeChange"
    fold = PassRef(name, f"relax.backend.adreno.transform.{name}()")
    (verdict,) = judge(Subject(module, [fold], input_seed=1), [OracleName.NUMERIC])
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "dead code does not build"), verdict


def test_weights_of_a_captured_graph_stay_where_they_were():
    weighted = relax.Var("w", tensor((2, 2)))
    bb = relax.BlockBuilder()
    with bb.function("main", [relax.Var("x", tensor((2, 2))), weighted], attrs={"num_input": 1}):
        with bb.dataflow():
            static = bb.emit(relax.op.negative(bb.emit(relax.op.abs(bb.emit(relax.op.negative(weighted))))))
            out = bb.emit_output(relax.op.square(static))
        bb.emit_func_output(out)
    name = "RewriteCUDAGraph"
    text = f'configured({X}.{name}(), {{"relax.backend.use_cuda_graph": True}})'
    for seed in range(8):  # other inputs are drawn for some seeds only
        (verdict,) = judge(Subject(bb.get(), [PassRef(name, text)], input_seed=seed), [OracleName.NUMERIC])
        assert verdict.outcome is Outcome.PASS, verdict
    steps = [step(PassRef(name, text))]
    assert captures_weights(steps, 1, 2)
    assert not captures_weights(steps, 2, 2)
    assert not captures_weights(steps, None, 2)
    assert not captures_weights([step(ref("FuseOps"))], 1, 2)


def test_dead_products_may_go_where_a_check_refuses_to_combine():
    def products(count):
        bb = relax.BlockBuilder()
        x, y, z = (relax.Var(name, tensor((2, 2))) for name in "xyz")
        with bb.function("main", [x, y, z]):
            outs = [bb.emit(relax.op.matmul(x, each)) for each in (y, z)[-count:]]
            bb.emit_func_output(outs[-1])
        return bb.get()

    def combined():
        bb = relax.BlockBuilder()
        x, y, z = (relax.Var(name, tensor((2, 2))) for name in "xyz")
        with bb.function("main", [x, y, z]):
            both = bb.emit(relax.op.matmul(x, bb.emit(relax.op.concat([y, z], 1))))
            bb.emit_func_output(bb.emit(relax.op.strided_slice(both, [1], [2], [4])))
        return bb.get()

    refusing = {"check": lambda *_: False}
    assert refused_yet_changed(Ran(products(2), products(1), refusing)) == ""
    assert refused_yet_changed(Ran(products(2), combined(), refusing)) != ""


@pytest.mark.parametrize(
    "message",
    [
        "Data type T.bool not supported for isnan op. Skipping isnan op...",
        "Data type T.bool not supported for absolute op.",
    ],
)
def test_a_kernel_that_says_which_dtype_it_lacks_is_a_refusal(message):
    assert UNSUPPORTED_DTYPE.matches("InternalError", message)


def test_what_is_left_to_bind_keeps_its_own_values():
    parameters = [Parameter("a", (2, 3), "float32"), Parameter("b", (3, 2), "float32")]
    texts = ['np.zeros((2, 3), "float32")', 'np.ones((3, 2), "float32")']
    both = PassRef("BindParams", _by_variable("main", parameters, texts))
    first = ref("BindParams", f'"main", {{"b": {texts[1]}}}')
    bb = relax.BlockBuilder()
    a, b = (relax.Var(each.name, tensor(each.dims)) for each in parameters)
    with bb.function("main", [a, b]):
        bb.emit_func_output(bb.emit(relax.op.matmul(a, b)))
    bound = both.build()(first.build()(bb.get()))
    assert len(bound["main"].params) == 0
    assert given_of([("BindParams", both.expression)]).values["main", "b"].shape == (3, 2)
