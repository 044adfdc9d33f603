"""What is learned holds where it was checked, constants have a type, and equal terms may lie apart."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax

from relaxkit.proof import Proof, Result, prove

UNKNOWN = 'x: R.Tensor("float32", ndim=2), c: R.Tensor((), "bool")'
VECTOR = 'x: R.Tensor((2,), "float32")'
CALLEE = """
@R.function(private=True)
def g(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    return R.add(y, y)
"""
NARROW = """
@R.function(private=True)
def g(y: R.Tensor("float32", ndim=2)) -> R.Tensor((2, 3), "float32"):
    return y
"""


def script(*functions: str) -> Any:
    lines = [line for function in functions for line in function.strip("\n").splitlines()]
    return tvm.script.from_source("@I.ir_module\nclass Module:\n" + "\n".join("    " + line for line in lines))


def function(body: str, parameters: str = VECTOR, name: str = "main", pure: bool = True) -> str:
    lines = "\n".join("    " + line for line in ["cls = Module", *body.strip("\n").splitlines()])
    return f"@R.function(pure={pure})\ndef {name}({parameters}):\n{lines}\n"


def compared(body: str, parts: tuple[str, str], parameters: str, *others: str, pure: bool = True) -> Proof:
    """Compare two functions that differ in what stands for ``PART``, after each was found to be equal to itself."""
    before, after = (script(*others, function(body.replace("PART", part), parameters, pure=pure)) for part in parts)
    assert prove(before, before).result is Result.PROVED
    return prove(before, after)


def branch(taken: str) -> str:
    taken = "\n".join("    " + line for line in taken.splitlines())
    other = '    r: R.Tensor("float32", ndim=2) = x'
    return f"if c:\n{taken}\nelse:\n{other}\ns: R.Shape(ndim=2) = PART\nreturn s"


CAST = '{} = R.match_cast(x, R.Tensor((2, 3), "float32"))'


@pytest.mark.parametrize(
    ("taken", "others"),
    [
        (CAST.format("a"), ()),
        (f"{CAST.format('a')}\n{CAST.format('b')}", ()),
        (f"{CAST.format('a')}\nb = R.add(a, a)", ()),
        ('a: R.Tensor((2, 3), "float32") = x', ()),
        ('a: R.Tensor((2, 3), "float32") = cls.g(x)', (CALLEE,)),
        ('a: R.Tensor((2, 3), "float32") = cls.g(x)', (NARROW,)),
    ],
    ids=["a cast", "a cast twice", "a cast and a sum", "an annotation", "a parameter", "a result"],
)
def test_what_is_checked_on_a_branch_is_not_known_behind_it(taken: str, others: tuple[str, ...]) -> None:
    body = branch(f'{taken}\nr: R.Tensor("float32", ndim=2) = a')
    proof = compared(body, ("R.shape_of(x)", "R.shape([2, 3])"), UNKNOWN, *others)
    assert (proof.result, proof.refuted) == (Result.DIFFERENT, False)


@pytest.mark.parametrize("others", [(), (CALLEE,), (NARROW,)], ids=["a cast", "a parameter", "a result"])
def test_what_is_always_checked_is_known(others: tuple[str, ...]) -> None:
    checked = 'a: R.Tensor((2, 3), "float32") = cls.g(x)' if others else CAST.format("a")
    body = f"{checked}\ns: R.Shape(ndim=2) = PART\nreturn (a, s)"
    proof = compared(body, ("R.shape_of(x)", "R.shape([2, 3])"), UNKNOWN, *others)
    assert proof.result is Result.PROVED


PLACES = ("a parameter", "a parameter of a callee", "a result")


@pytest.mark.parametrize("what", PLACES)
def test_types_that_admit_less_are_checks(what: str) -> None:
    wide, narrow = 'R.Tensor("float32", ndim=2)', 'R.Tensor((2, 3), "float32")'

    def module(ty: str) -> Any:
        outer, inner, result = (ty if what == each else wide for each in ("a parameter", "a parameter of a callee", ""))
        result = ty if what == "a result" else wide
        callee = f"@R.function(private=True)\ndef g(y: {inner}) -> {wide}:\n    return y"
        main = (
            f"@R.function\ndef main(x: {outer}) -> {result}:\n    cls = Module\n    y: {wide} = cls.g(x)\n    return y"
        )
        return script(callee, main)

    assert str(prove(module(wide), module(narrow))) == "open in main: a check or a call that may fail"
    assert prove(module(narrow), module(wide)).result is Result.PROVED
    assert prove(module(narrow), module(narrow)).result is Result.PROVED


PACKED = 'y = R.call_packed("f", x, PART, ty_args=R.Tensor((2,), "float32"))\nreturn y'
CONSTANTS = [
    'R.str("float32")', 'R.dtype("float32")', 'R.str("1")', "R.prim_value(1)", "R.prim_value(T.int32(1))",
    "R.prim_value(True)", "R.prim_value(T.float32(1))", 'R.const(1, "int64")', "R.shape([1])", "(R.prim_value(1),)",
]  # fmt: skip


@pytest.mark.parametrize("one", CONSTANTS)
def test_constants_of_other_types_are_others(one: str) -> None:
    for other in CONSTANTS:
        proof = compared(PACKED, (one, other), VECTOR, pure=False)
        assert proof.result is (Result.PROVED if one == other else Result.DIFFERENT), other


ONE_FUNCTION = """
@R.function
def other():
    y = R.call_pure_packed("p", ty_args=R.Tensor("float32", ndim=2))
    z = R.match_cast(y, R.Tensor((2, 3), "float32"))
    return z
"""


def test_what_one_function_checks_is_not_known_in_another() -> None:
    body = 'y = R.call_pure_packed("p", ty_args=R.Tensor("float32", ndim=2))\ns: R.Shape(ndim=2) = PART\nreturn (y, s)'
    parts = ("R.shape_of(y)", "R.shape([2, 3])")
    for first in ("other", "another"):  # names are compared in their order
        others = ONE_FUNCTION.replace("other", first)
        before, after = (script(others, function(body.replace("PART", part), "", "b")) for part in parts)
        assert prove(before, before).result is Result.PROVED
        assert prove(before, after).result is Result.DIFFERENT


CLOSURE = """
@R.function
def g(a: R.Tensor("float32", ndim=2)) -> R.Tensor("float32", ndim=2):
    {}
    return a
@R.function
def h(a: R.Tensor("float32", ndim=2)) -> R.Tensor("float32", ndim=2):
    {}
    return a
one = R.call_pure_packed("f", g, ty_args=R.Object)
other = R.call_pure_packed("f", h, ty_args=R.Object)
s: R.Shape(ndim=2) = R.shape_of(x)
return (one, other, s)
"""


def test_what_a_function_value_checks_is_known_nowhere_else() -> None:
    for tensor in "xa":  # one of outside, and its own parameter
        cast = f'b = R.match_cast({tensor}, R.Tensor((2, 3), "float32"))'
        bodies = [CLOSURE.format(one, other) for one, other in ((cast, "b = R.add(a, a)"), (cast, cast))]
        modules = [script(function(each, UNKNOWN)) for each in bodies]
        modules.append(script(function(bodies[0].replace("R.shape_of(x)", "R.shape([2, 3])"), UNKNOWN)))
        results = [prove(modules[0], each).result for each in modules]
        assert results == [Result.PROVED, Result.DIFFERENT, Result.DIFFERENT]


RECURSIVE = """
@R.function(private=True)
def {name}(a: R.Tensor({dims}, "float32"), i: R.Tensor((), "int64")) -> R.Shape(ndim=2):
    n, m = T.int64(), T.int64()
    cls = Module
    c = R.less(i, R.const(3, "int64"))
    if c:
        j = R.add(i, R.const(1, "int64"))
        s: R.Shape(ndim=2) = cls.{name}(a, j)
        r: R.Shape(ndim=2) = s
    else:
        r: R.Shape(ndim=2) = R.shape({result})
    return r
"""


def test_parameters_of_one_recursion_say_nothing_of_those_of_another() -> None:
    calls = "if c:\n    r: R.Shape(ndim=2) = cls.f(x, i)\nelse:\n    r: R.Shape(ndim=2) = cls.g(x, i)\nreturn r"
    first = RECURSIVE.format(name="f", dims='("n", "n")', result="[n, n]").replace("n, m = T.int64(), ", "n = ")
    before, after = (
        script(
            first,
            RECURSIVE.format(name="g", dims='("n", "m")', result=result),
            function(calls, UNKNOWN + ', i: R.Tensor((), "int64")'),
        )
        for result in ("[n, m]", "[n, n]")
    )
    assert prove(before, before).result is Result.PROVED
    assert prove(before, after).result is Result.DIFFERENT


KERNELS = """
@T.prim_func(private=True)
def thrice(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        b[i] = a[i] * T.float32(3)
@T.prim_func(private=True, s_tir=True)
def here(a: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        with T.sblock("here"):
            v = T.axis.spatial(2, i)
            a[v] = a[v] * T.float32(3)
@T.prim_func(private=True)
def across(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        a[i] = a[i] + b[1 - i]
@T.prim_func(private=True, s_tir=True)
def elsewhere(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        with T.sblock("elsewhere"):
            v = T.axis.spatial(2, i)
            b[v] = a[v] * T.float32(3)
@T.prim_func(private=True)
def copied(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        b[i] = a[i]
@R.function(private=True)
def twice(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    return R.add(y, y)
@R.function(private=True)
def same(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    return y
"""
TENSOR = 'R.Tensor((2,), "float32")'
SUMS = "a = R.add(x, x)\nb = R.add(x, x)\n"
CALLS = f"a: {TENSOR} = cls.twice(x)\nb: {TENSOR} = cls.twice(x)\n"
PASSED = f"a = R.add(x, x)\nb: {TENSOR} = cls.same(a)\n"
EITHER = f"{SUMS}e = R.exp(x)\nif c:\n    d: {TENSOR} = b\nelse:\n    d: {TENSOR} = e\nd_ = d\n"


def in_place(kernel: str, *operands: str) -> str:
    return f"R.call_tir_inplace(cls.{kernel}, ({', '.join(operands)},), inplace_indices=[0], out_ty={TENSOR})"


def answer(body: str) -> Proof:
    """Compare a function with one of other results: what is wrong in it is wrong whatever it is compared with."""
    good = script(KERNELS, function("e = R.exp(x)\nreturn e", f'{VECTOR}, c: R.Tensor((), "bool")'))
    return prove(good, script(KERNELS, function(body, f'{VECTOR}, c: R.Tensor((), "bool")')))


OVERWRITTEN = "a tensor is read that a call in place has overwritten"
PERHAPS = "a tensor is read that a call in place may have overwritten"
TWICE = "a kernel is given a tensor twice"
MEMORY = f'a: {TENSOR} = R.builtin.alloc_tensor(R.shape([2]), "float32", 0)\n_ = cls.copied(x, a)\n'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"{SUMS}r = {in_place('here', 'a')}\nreturn (r, a)", OVERWRITTEN),
        (f"{SUMS}r = {in_place('here', 'a')}\ns = R.add(r, a)\nreturn s", OVERWRITTEN),
        (f"{CALLS}r = {in_place('here', 'a')}\nreturn (r, a)", OVERWRITTEN),
        (f"{PASSED}r = {in_place('here', 'a')}\nreturn (r, b)", OVERWRITTEN),
        (f"{PASSED}r = {in_place('here', 'b')}\nreturn (r, a)", OVERWRITTEN),
        (f"{EITHER}r = {in_place('here', 'd')}\nreturn (r, b)", PERHAPS),
        (f"{EITHER}r = {in_place('here', 'b')}\nreturn (r, d)", PERHAPS),
        (f"a = R.add(x, x)\nb = R.reshape(a, R.shape([1, 2]))\nr = {in_place('here', 'a')}\nreturn (r, b)", PERHAPS),
        (f"{SUMS}r = {in_place('across', 'a', 'a')}\nreturn r", TWICE),
        (f"{PASSED}r = {in_place('across', 'a', 'b')}\nreturn r", TWICE),
    ],
)
def test_what_a_call_in_place_overwrites_is_read_nowhere(body: str, reason: str) -> None:
    proof = answer(body)
    result = Result.DIFFERENT if reason == OVERWRITTEN else Result.OPEN
    assert (proof.result, proof.refuted, proof.reason) == (result, reason == OVERWRITTEN, reason)


def test_a_call_in_place_of_allocated_memory_is_no_call_that_leaves_it_alone() -> None:
    calls = (f"R.call_tir(cls.elsewhere, (a,), out_ty={TENSOR})", in_place("here", "a"))
    before, after = (script(KERNELS, function(f"{MEMORY}r = {call}\nreturn (r, a)", pure=False)) for call in calls)
    assert prove(before, before).result is Result.PROVED
    assert str(prove(before, after)) == "open in main: a call in place of a tensor that the program has allocated"


@pytest.mark.parametrize("first", [SUMS, CALLS, EITHER], ids=["sums", "calls", "a branch"])
def test_equal_terms_may_lie_apart(first: str) -> None:
    for body in (f"r = {in_place('here', 'a')}\nreturn (r, b)", f"r = {in_place('across', 'a', 'b')}\nreturn r"):
        proof = answer(first + body)
        assert (proof.result, proof.refuted) == (Result.DIFFERENT, False)
        assert "in place" not in proof.reason
        module = script(KERNELS, function(first + body, f'{VECTOR}, c: R.Tensor((), "bool")'))
        assert prove(module, module).result is Result.PROVED


def test_a_closure_may_hold_memory() -> None:
    local = f"""
a = R.add(x, x)
@R.function
def g(y: {TENSOR}) -> {TENSOR}:
    return R.add(a, y)
h = R.call_pure_packed("f", g, ty_args=R.Object)
return h
"""
    before = module = script(function(local))
    for name in ("LegalizeOps", "LambdaLift", "RemovePurityChecking", "CallTIRRewrite"):
        module = getattr(relax.transform, name)()(module)
    assert not prove(before, module).refuted


def other_sums(body: str, *others: str, pure: bool = True) -> Proof:
    """Give a call one of two equal tensors, and read the first one behind it."""
    parameters = f'{VECTOR}, c: R.Tensor((), "bool")'
    before, after = (script(*others, function(body.replace("PART", part), parameters, pure=pure)) for part in "ab")
    return prove(before, after)


def test_a_packed_function_may_write_into_its_operands() -> None:
    call = f'{SUMS}r = R.call_packed("f", PART, ty_args={TENSOR})\ns = R.add(READ, r)\nreturn s'
    assert str(other_sums(call.replace("READ", "a"), pure=False)) == f"open in main: {PERHAPS}"
    assert other_sums(call.replace("READ", "x"), pure=False).result is Result.PROVED
    pure = call.replace("READ", "a").replace("call_packed", "call_pure_packed")
    assert other_sums(pure).result is Result.PROVED


def test_an_object_that_a_cast_lets_through_is_a_tensor() -> None:
    lines = ["z = R.add(y, y)", f'r = R.call_packed("f", y, ty_args={TENSOR})']
    before, after = (
        script(function("\n".join([f"y = R.match_cast(x, {TENSOR})", *each, "return z"]), "x: R.Object", pure=False))
        for each in (lines, lines[::-1])
    )
    assert str(prove(before, after)) == f"open in main: {PERHAPS}"


DESTRUCTIVE = f"""
@R.function(private=True)
def f(y: {TENSOR}, c: R.Tensor((), "bool")) -> {TENSOR}:
    cls = Module
    if c:
        z = {in_place("here", "y")}
        d = R.logical_not(c)
        r: {TENSOR} = cls.f(z, d)
    else:
        r: {TENSOR} = R.add(y, y)
    return r
"""


def test_a_recursion_may_overwrite_its_parameters() -> None:
    body = f"{SUMS}r: {TENSOR} = cls.f(PART, c)\ns = R.add(a, r)\nreturn s"
    reason = "a function that may overwrite memory, of which only a term is known"
    assert str(other_sums(body, KERNELS, DESTRUCTIVE)) == f"open in main: {reason}"
    harmless = DESTRUCTIVE.replace(in_place("here", "y"), "R.exp(y)")
    assert other_sums(body, KERNELS, harmless).result is Result.PROVED


def test_a_function_value_may_overwrite_what_it_captures() -> None:
    body = f"""
{SUMS}
@R.function
def g(y: {TENSOR}) -> {TENSOR}:
    z = {in_place("across", "PART", "y")}
    return z
r = R.call_pure_packed("f", g, ty_args={TENSOR})
s = R.add(a, r)
return s
"""
    assert other_sums(body, KERNELS).result is Result.OPEN


def kernel(factor: int, head: str = "@T.prim_func") -> str:
    buffer = 'T.Buffer((T.int64(2),), "float32")'
    body = f"    for i in range(2):\n        b[i] = a[i] * T.float32({factor})"
    return f"{head}\ndef k(a: {buffer}, b: {buffer}):\n{body}"


@pytest.mark.parametrize("head", ["@T.prim_func", "@T.prim_func(private=True)"])
@pytest.mark.parametrize("named", ["k", "other"])
def test_a_kernel_of_the_module_may_be_called_by_its_name(head: str, named: str) -> None:
    main = function(f'y = R.call_dps_packed("{named}", (x,), out_ty={TENSOR})\nreturn y')
    before, after = (script(kernel(factor, head=head), main) for factor in (2, 3))
    reason = "open in main: a function of the module that is called as a packed function"
    assert str(prove(before, after)) == (reason if named == "k" else "proved")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([function("return x").replace("@R.function(pure=True)", "@R.function(private=True)")], []),
        ([kernel(2)], [kernel(3)]),
        ([function('R.func_attr({"Codegen": "c"})\nreturn x')], [kernel(3)]),
    ],
    ids=["private", "kernels", "another generator's"],
)
def test_nothing_to_compare_proves_nothing(one: list[str], other: list[str]) -> None:
    assert str(prove(script(*one), script(*(other or one)))) == "open: no public function to compare"


FAILING = [
    'R.call_packed("vm.builtin.make_shape", ty_args=R.Tuple)',
    'R.call_packed("vm.builtin.check_tensor_info", x, ty_args=R.Tuple)',
    "R.shape([n // (n - n)])",
]


@pytest.mark.parametrize("call", FAILING)
def test_what_the_evaluation_fails_at_is_open(call: str) -> None:
    before = script(function("return x", 'x: R.Tensor(("n",), "float32")'))
    after = script(function(f"n = T.int64()\n_ = {call}\nreturn x", 'x: R.Tensor(("n",), "float32")', pure=False))
    for one, other in ((before, after), (after, before)):
        assert prove(one, other).result is Result.OPEN


def test_any_error_of_the_evaluation_is_counted_by_its_kind() -> None:
    before = script(function("return x"))
    after = script(function('_ = R.call_packed("vm.builtin.make_shape", ty_args=R.Tuple)\nreturn x', pure=False))
    assert str(prove(before, after)) == "open in main: an evaluation that fails (IndexError)"


@pytest.mark.parametrize("slot", [-1, 1, -1_000_000])
def test_slots_that_the_shape_heap_does_not_have_are_not_written(slot: int) -> None:
    place = "h, R.prim_value(1), R.prim_value(1), R.prim_value(PART)"
    body = f"""
h = R.call_packed("vm.builtin.alloc_shape_heap", R.prim_value(1), ty_args=R.Object)
_ = R.call_packed("vm.builtin.match_shape", x, {place}, R.str(""), ty_args=R.Tuple)
s = R.call_packed("vm.builtin.make_shape", {place}, ty_args=R.Shape(ndim=1))
return s
"""
    proof = compared(body, ("0", str(slot)), 'x: R.Tensor(("n",), "float32")', pure=False)
    assert (proof.refuted, proof.reason) == (True, "a slot is written that the shape heap does not have")


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("tuple_info, (x, x), R.prim_value(2)", "tuple_info, (x, x), R.prim_value(5)"),
        ("func_info, g", "func_info, x"),
        ("prim_value_info, R.prim_value(2), R.dtype('int64')", "prim_value_info, x, R.dtype('int64')"),
        ("prim_value_info, p, R.dtype('float32')", "prim_value_info, p, R.dtype('int64')"),
        ("shape_info, R.shape([2]), R.prim_value(1)", "shape_info, x, R.prim_value(1)"),
        ("tensor_info, x, R.prim_value(1), R.dtype('')", "tensor_info, s, R.prim_value(1), R.dtype('')"),
    ],
)
def test_checks_of_the_virtual_machine_fail_for_values_of_another_kind(good: str, bad: str) -> None:
    parameters = f'{VECTOR}, p: R.Prim("float32"), s: R.Shape([2])'
    local = f"@R.function\ndef g(y: {TENSOR}) -> {TENSOR}:\n    return y\n"
    before = script(function(f"{local}z = R.add(x, x)\nreturn z", parameters, pure=False))
    results = []
    for each in (good, bad):
        what, _, arguments = each.partition(", ")
        check = f'_ = R.call_packed("vm.builtin.check_{what}", {arguments}, R.str(""), ty_args=R.Tuple)\n'
        after = script(function(f"{local}{check}z = R.add(x, x)\nreturn z", parameters, pure=False))
        results.append(prove(before, after).result)
    assert results == [Result.PROVED, Result.OPEN]


@pytest.mark.parametrize("divisor", ["n", "m", "(n + 1)"])
def test_a_divisor_that_may_be_zero_is_open(divisor: str) -> None:
    parameters = 'x: R.Tensor(("n", "m"), "float32")'
    for operation in ("//", "%"):
        for place, expected in ((divisor, "open in main: a divisor that may be zero"), ("2", "proved")):
            body = f"n, m = T.int64(), T.int64()\ns: R.Shape(ndim=1) = R.shape([n {operation} {place}])\nreturn s"
            module = script(function(body, parameters))
            assert str(prove(module, module)) == expected
