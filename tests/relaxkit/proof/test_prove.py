"""What is proved, what is told apart, and what is left open."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxkit.proof import Proof, Result, evaluate, prove
from relaxkit.proof.prove import Known


def script(*functions: str) -> Any:
    body = "\n".join("    " + line for function in functions for line in function.strip("\n").splitlines())
    return tvm.script.from_source(f"@I.ir_module\nclass Module:\n{body}")


def main(
    body: str, parameters: str = 'x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")', **more: str
) -> Any:
    decorator = f"@R.function({', '.join(f'{key}={value}' for key, value in more.items())})" if more else "@R.function"
    return f"{decorator}\ndef main({parameters}):\n" + "\n".join(f"    {line}" for line in body.strip().splitlines())


def compared(before: str, after: str, *others: str, **more: str) -> Proof:
    return prove(script(main(before, **more), *others), script(main(after, **more), *others))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return R.add(x, y)", "a = R.add(x, y)\nreturn a"),
        ("a = R.exp(x)\nb = R.exp(x)\nreturn R.add(a, b)", "a = R.exp(x)\nreturn R.add(a, a)"),
        ("a = R.exp(y)\nreturn R.add(x, y)", "return R.add(x, y)"),
        ("t = (x, y)\nreturn t[1]", "return y"),
        ("t = R.split(x, 3, axis=1)\nreturn t", "t = R.split(x, 3, axis=1)\nreturn (t[0], t[1], t[2])"),
        ("s = R.shape_of(x)\nreturn R.reshape(y, s)", "return R.reshape(y, R.shape([2, 3]))"),
        ("return R.add(x, R.const(1.0, 'float32'))", "c = R.const(1.0, 'float32')\nreturn R.add(x, c)"),
    ],
    ids=[
        "a name",
        "a common subexpression",
        "dead code",
        "a tuple",
        "a tuple of its elements",
        "a shape",
        "a constant",
    ],
)
def test_the_same_is_proved(before: str, after: str) -> None:
    assert compared(before, after).result is Result.PROVED


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "return R.subtract(x, y)",
            "return R.subtract(y, x)",
            "the 1st operand of relax.subtract was parameter 0 and is parameter 1",
        ),
        (
            "return R.sum(x, axis=0)",
            "return R.sum(x, axis=1)",
            "the result was relax.sum with axis=(0,) and is relax.sum with axis=(1,)",
        ),
        ("return R.exp(x)", "return R.log(x)", "the result was relax.exp and is relax.log"),
        (
            "return R.add(x, R.const(1.0, 'float32'))",
            "return R.add(x, R.const(2.0, 'float32'))",
            "the 2nd operand of relax.add was a constant of float32[]",
        ),
        ("return (x, y)", "return (x, x)", "the 2nd operand of a tuple was parameter 1 and is parameter 0"),
    ],
)
def test_a_difference_is_told_in_words_of_the_program(before: str, after: str, words: str) -> None:
    proof = compared(before, after)
    assert proof.result is Result.DIFFERENT
    assert proof.function == "main"
    assert proof.reason.startswith(words)


SYMBOLIC = 'x: R.Tensor(("n", "m"), "float32")'


def symbolic(before: str, after: str) -> Result:
    names = "n = T.int64()\nm = T.int64()\n"
    return compared(names + before, names + after, parameters=SYMBOLIC).result


@pytest.mark.parametrize(
    ("before", "after", "result"),
    [
        ("n * m", "m * n", Result.PROVED),
        ("n * m", "(n + 1) * m - m", Result.PROVED),
        ("n * m", "n * n", Result.DIFFERENT),
        ("n + m", "n * m", Result.DIFFERENT),
    ],
)
def test_dims_are_compared_for_all_their_values(before: str, after: str, result: Result) -> None:
    shape = "return R.zeros(R.shape([{}]), 'float32')"
    assert symbolic(shape.format(before), shape.format(after)) is result


def test_a_dim_belongs_to_the_value_that_defines_it() -> None:
    parameters = 'x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")'
    names = "n = T.int64()\nm = T.int64()\n"
    shape = "return R.zeros(R.shape([{}]), 'float32')"
    proof = compared(names + shape.format("n"), names + shape.format("m"), parameters=parameters)
    assert proof.result is Result.DIFFERENT


def test_the_dim_that_a_match_cast_defines() -> None:
    parameters = 'x: R.Tensor(ndim=1, dtype="float32")'
    cast = "{0} = T.int64()\nz = R.match_cast(x, R.Tensor(({0},), 'float32'))\n"
    cast += "return R.zeros(R.shape([{0}{1}]), 'float32')"
    assert compared(cast.format("n", ""), cast.format("k", ""), parameters=parameters).result is Result.PROVED
    assert compared(cast.format("n", ""), cast.format("k", " + 1"), parameters=parameters).result is Result.DIFFERENT


PRIVATE = """
@R.function(private=True)
def twice(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    return R.add(a, a)
"""
CALL = "r: R.Tensor((2, 3), 'float32') = Module.twice(x)\nreturn r"


def test_a_call_is_what_its_function_does() -> None:
    before = script(main(CALL), PRIVATE)
    assert prove(before, relax.transform.InlinePrivateFunctions()(before)).result is Result.PROVED
    assert prove(before, script(main("return R.add(x, y)"))).result is Result.DIFFERENT


def test_calls_of_calls_do_not_explode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty functions, each of which calls the next one twice."""
    monkeypatch.setattr(evaluate, "MOST_STEPS", 10_000)  # a tenth: the few functions below take 5,000
    count = 30
    functions = [
        f'@R.function(private=True)\ndef f{index}(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):\n'
        + (
            f"    b: R.Tensor((2, 3), 'float32') = Module.f{index + 1}(a)\n"
            f"    c: R.Tensor((2, 3), 'float32') = Module.f{index + 1}(b)\n    return R.add(b, c)"
            if index < count
            else "    return R.exp(a)"
        )
        for index in range(count + 1)
    ]
    call = "r: R.Tensor((2, 3), 'float32') = Module.f0(x)\nreturn r"
    module = script(main(call), *functions)
    proof = prove(module, module)
    assert proof.result is Result.OPEN
    assert proof.reason in ("too many bindings", "too many terms")
    few = script(main(call), *(text for text in functions[21:]), functions[0].replace("f1(", "f21("))
    assert prove(few, few).result is Result.PROVED


RECURSIVE = """
@R.function(private=True)
def f(i: R.Tensor((), "int64"), a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    c = R.less(i, R.const(3, "int64"))
    if c:
        j = R.add(i, R.const(1, "int64"))
        b = R.{operator}(a, a)
        s: R.Tensor((2, 3), "float32") = Module.f(j, b)
        r = s
    else:
        r = a
    return r
"""
START = "r: R.Tensor((2, 3), 'float32') = Module.f(R.const(0, 'int64'), x)\nreturn r"


def test_recursion_is_compared_by_induction() -> None:
    first, other = (script(main(START), RECURSIVE.replace("{operator}", name)) for name in ("add", "multiply"))
    assert prove(first, relax.transform.ToNonDataflow()(first)).result is Result.PROVED
    assert prove(first, script(main(START), RECURSIVE.replace("{operator}", "add"))).result is Result.PROVED
    assert prove(first, other).result is Result.DIFFERENT


def test_branches() -> None:
    parameters = 'c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")'
    branch = "if c:\n    r = R.{}(x)\nelse:\n    r = R.{}(x)\nreturn r"
    assert compared(branch.format("exp", "exp"), "return R.exp(x)", parameters=parameters).result is Result.PROVED
    proof = compared(branch.format("exp", "log"), branch.format("log", "exp"), parameters=parameters)
    assert proof.result is Result.DIFFERENT


def test_effects_keep_their_order_and_their_number() -> None:
    one = "a = R.print(x, format='x')\nb = R.print(y, format='y')\nreturn x"
    for other in (
        "b = R.print(y, format='y')\na = R.print(x, format='x')\nreturn x",
        "a = R.print(x, format='x')\nreturn x",
        "return x",
    ):
        proof = compared(one, other, pure="False")
        assert proof.result is Result.DIFFERENT
        assert proof.reason.startswith("effects: ")
    assert compared(one, one, pure="False").result is Result.PROVED


def test_closures() -> None:
    local = """
@R.function
def g(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    return R.add(a, y)
r: R.Tensor((2, 3), "float32") = g(x)
return r
"""
    before = script(main(local))
    assert prove(before, script(main("return R.add(x, y)"))).result is Result.PROVED
    assert prove(before, relax.transform.LambdaLift()(before)).result is Result.PROVED


@I.ir_module
class Kernels:
    @T.prim_func(private=True, s_tir=True)
    def one(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                b[v] = a[v] + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def same(p: T.Buffer((4,), "float32"), q: T.Buffer((4,), "float32")):
        for j in range(4):
            with T.sblock("b"):
                w = T.axis.spatial(4, j)
                q[w] = p[w] + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def two(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                b[v] = a[v] + T.float32(2)


def calling(kernel: str, dtype: str = "float32") -> Any:
    builder = relax.BlockBuilder(Kernels)
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        called = next(var for var in Kernels.get_global_vars() if var.name_hint == kernel)
        builder.emit_func_output(builder.emit(relax.call_tir(called, [x], relax.TensorType((4,), dtype))))
    return builder.get()


def test_a_kernel_is_its_body() -> None:
    assert prove(calling("one"), calling("same")).result is Result.PROVED
    assert prove(calling("one"), calling("two")).result is Result.DIFFERENT
    assert prove(calling("one"), calling("one", "int32")).result is Result.DIFFERENT


def test_parameters_of_another_dtype_are_others() -> None:
    other = 'x: R.Tensor((2, 3), "float16"), y: R.Tensor((2, 3), "float32")'
    proof = prove(script(main("return R.exp(x)")), script(main("return R.exp(x)", parameters=other)))
    assert str(proof) == "open in main: a check or a call that may fail"


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (main("return R.exp(x)", parameters='x: R.Tensor((2, 3), "float32")'), "different numbers of parameters"),
        (main("return R.exp(x)").replace("main", "other"), "a public function is gone"),
    ],
)
def test_what_is_not_modelled_is_open(after: str, reason: str) -> None:
    proof = prove(script(main("return R.exp(x)")), script(after))
    assert (proof.result, proof.reason) == (Result.OPEN, reason)


LOWERING = ("CallTIRRewrite", "StaticPlanBlockMemory", "KillAfterLastUse", "LowerAllocTensor")


def test_lowering_to_memory_is_proved() -> None:
    body = "a = R.add(x, y)\nb = R.multiply(a, a)\nc = R.add(b, y)\nd = R.split(c, 3, axis=1)\nreturn (c, d)"
    before = module = relax.transform.LegalizeOps()(script(main(body)))
    module = relax.transform.RemovePurityChecking()(module)
    for name in LOWERING:
        module = getattr(relax.transform, name)()(module)
        assert prove(before, module).result is Result.PROVED, name


MEMORY = """
@T.prim_func(private=True, s_tir=True)
def k(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("b"):
            v = T.axis.spatial(4, i)
            b[v] = a[v] + T.float32(1)
"""
ALLOCATED = """
s = R.memory.alloc_storage(R.shape([16]), 0, "global", "float32")
{}
return {}
"""
FIRST = 'p: R.Tensor((4,), "float32") = R.memory.alloc_tensor(s, 0, R.shape([4]), "float32")\nModule.k(x, p)'
SECOND = 'q: R.Tensor((4,), "float32") = R.memory.alloc_tensor(s, 0, R.shape([4]), "float32")\nModule.k(p, q)'

OTHER = SECOND.replace("Module.k(p, q)", "Module.k(x, q)")


def lowered(statements: str, result: str) -> Any:
    text = main(ALLOCATED.format(statements, result), 'x: R.Tensor((4,), "float32")', pure="False")
    return tvm.script.from_source(
        "@I.ir_module(check_well_formed=False)\nclass Module:\n"
        + "\n".join("    " + line for line in [*MEMORY.strip().splitlines(), *text.splitlines()])
    )


@pytest.mark.parametrize(
    ("statements", "result", "reason"),
    [
        (FIRST.splitlines()[0], "p", "memory is read before it is written"),
        (f"{FIRST}\n{SECOND}", "q", "a kernel writes to the storage of another of its tensors"),
        (f"{FIRST}\n{OTHER}", "(p, q)", "a tensor is read whose storage another one has overwritten"),
        (f"{FIRST}\n_ = R.memory.kill_tensor(p)", "p", "a variable is read after its kill"),
    ],
    ids=["unwritten", "overlapping", "shared", "killed"],
)
def test_wrong_use_of_memory_is_refuted(statements: str, result: str, reason: str) -> None:
    good = lowered(FIRST, "p")
    assert prove(good, good).result is Result.PROVED
    proof = prove(good, lowered(statements, result))
    assert (proof.result, proof.reason) == (Result.DIFFERENT, reason)


def test_a_long_program_takes_time_in_proportion() -> None:
    builder = relax.BlockBuilder()
    x = value = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        for _ in range(2_000):
            value = builder.emit(relax.op.add(value, x))
        builder.emit_func_output(value)
    module = builder.get()
    assert prove(module, relax.transform.ConvertToDataflow()(module)).result is Result.PROVED


AFTER = (
    "c = R.exp(y)\nreturn R.add(R.add(x, y), R.const(2.0, 'float32'))",
    "a = R.add(x, y)\nb = R.const(1.0, 'float32')\nreturn R.add(a, b)",
    "return R.add(x, R.sin(y))",
    "return R.add(R.add(x, y), R.const(1.0, 'float32'))",
)


def test_an_original_is_evaluated_once_and_says_the_same_of_each_module(monkeypatch: pytest.MonkeyPatch) -> None:
    before = script(main("return R.add(R.add(x, y), R.const(1.0, 'float32'))"))
    afters = [script(main(body)) for body in AFTER]
    afters += [relax.transform.LegalizeOps()(before), before]
    alone = [str(prove(before, after)) for after in afters]
    evaluated: list[tuple[str, bool]] = []
    proving = importlib.import_module("relaxkit.proof.prove")
    inner = proving._evaluated

    def count(module: Any, name: str, fixed: Any, legal: bool) -> Any:
        evaluated.append((name, legal))
        return inner(module, name, fixed, legal)

    monkeypatch.setattr(proving, "_evaluated", count)
    known: Known = {}
    assert [str(prove(before, after, known=known)) for after in afters] == alone
    assert evaluated == [("main", False), ("main", True)]
    assert len(set(alone)) > 2


def test_what_is_open_in_an_original_is_open_for_each_module() -> None:
    before = script(main("return x", "x: R.Callable"))
    known: Known = {}
    first, again = (prove(before, before, known=known) for _ in range(2))
    assert (first.result, first.refuted, str(first)) == (Result.OPEN, False, str(again))
    assert first == prove(before, before)
