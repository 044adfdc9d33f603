"""Aim: operators drawn more often, and fragments of a user's in the modules."""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import relax_functions
from relaxkit.ir.types import static_dims
from relaxkit.ir.walk import is_constant, operator_of, operators_of, places
from strategies import Feature, Fragment, features_of, ir_modules
from strategies.modules import Described, described_modules
from strategies.scope.from_bytes import draw_from_bytes
from strategies.scope.vague import call_operands

EXAMPLES = 30


def modules(count: int, **aim: Any) -> Iterator[Any]:
    """Draw so many modules, or as many of them as are looked at."""
    strategy = ir_modules(**aim)
    for seed in range(count):
        if (module := draw_from_bytes(strategy, random.Random(seed).randbytes(1 << 14))) is not None:
            yield module


def share_with(operator: str, **aim: Any) -> float:
    """Return the share of modules that have an operator; they are drawn from bytes, and so the same ones each time."""
    found = [operator in operators_of(module) for module in modules(EXAMPLES, **aim)]
    return sum(found) / len(found)


def is_more_than(number: int, found: Iterable[bool]) -> bool:
    """Say whether more than so many are true; no more are looked at than needed."""
    return len([*itertools.islice((each for each in found if each), number + 1)]) > number


def test_an_operator_with_a_weight_is_in_most_modules() -> None:
    assert share_with("relax.split") < 0.2
    assert share_with("relax.split", operators={"relax.split": 12}) > 0.5
    assert share_with("relax.split", operators={"split": 12}) > 0.5


def test_an_aimed_operator_meets_its_own_results_where_its_attributes_matter() -> None:
    def order(call: Any) -> list[int]:
        rank = call.args[0].ty.ndim
        return [int(axis) % rank for axis in call.attrs.axes or range(rank)[::-1]]

    def chained(module: Any) -> bool:
        bindings = [place.binding for _, function in relax_functions(module) for place in places(function)]
        made = {each.var: each.value for each in bindings if operator_of(each.value) == "relax.permute_dims"}
        chains = [(order(made[call.args[0]]), order(call)) for call in made.values() if call.args[0] in made]
        return any([one[axis] for axis in two] != [two[axis] for axis in one] for one, two in chains)

    found = (chained(module) for module in modules(200, operators={"relax.permute_dims": 5}))
    assert is_more_than(15, found)  # of 200, by chance: 9


def calls_of_calls(module: Any, outer: str, place: int, inner: str) -> int:
    """Count the calls of an operator whose operand at a place is what another operator made."""
    found = 0
    for _, function in relax_functions(module):
        made = {each.binding.var: each.value for each in places(function)}
        calls = [value for value in made.values() if operator_of(value) == outer]
        found += sum(operator_of(made.get(call.args[place])) == inner for call in calls)
    return found


def test_operators_that_are_aimed_at_meet_each_other() -> None:
    """A pass that names two operators mostly looks for a call of one on the result of the other."""
    both = {"relax.permute_dims": 30, "relax.add": 30}
    found = [calls_of_calls(module, "relax.permute_dims", 0, "relax.add") for module in modules(60, operators=both)]
    assert sum(map(bool, found)) > 30  # as they meet by chance: 22


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("relax.nn.softmax(relax.subtract)", ("relax.nn.softmax", 0, "relax.subtract")),
        ("add(_, matmul)", ("relax.add", 1, "relax.matmul")),
    ],
)
def test_a_call_of_a_call_is_drawn_with_each_operand_in_its_place(name: str, call: tuple[str, int, str]) -> None:
    found = [calls_of_calls(module, *call) for module in modules(40, operators={name: 30})]
    assert sum(found) > 45  # 41 where only the first operand is given


def test_an_aimed_operator_meets_constants_alone() -> None:
    """A pass that folds them acts on nothing else."""
    found = [
        any(operator_of(each.value) == "relax.mean" and isinstance(each.value.args[0], tvm.ir.GenericConst)
            for _, function in relax_functions(module) for each in places(function))
        for module in modules(60, operators={"relax.mean": 30})
    ]  # fmt: skip
    assert sum(found) > 20  # by chance: 16


@pytest.mark.parametrize("operator", ["divide", "power"])
def test_a_lone_constant_is_the_first_operand_too_where_operands_have_domains(operator: str) -> None:
    """``c / x`` was drawn in none of 150 modules, ``x / c`` 458 times."""
    drawn = modules(EXAMPLES, operators={operator: 30})
    calls = (place.value for module in drawn for _, each in relax_functions(module) for place in places(each))
    operands = (each.args for each in calls if operator_of(each) == f"relax.{operator}")
    assert is_more_than(2, (is_constant(first) and not is_constant(second) for first, second in operands))


def test_an_aimed_operator_meets_axes_from_either_side_at_once() -> None:
    def mixed(call: Any) -> bool:
        axes = [int(axis) for axis in call.attrs.axes or ()] if operator_of(call) == "relax.permute_dims" else [0]
        return min(axes, default=0) < 0 <= max(axes, default=0)

    found = [
        any(mixed(each.value) for _, function in relax_functions(module) for each in places(function))
        for module in modules(60, operators={"relax.permute_dims": 30})
    ]
    assert sum(found) > 5  # without: 0


def test_an_aimed_operator_meets_numbers_that_simplifications_look_for() -> None:
    def neutral(module: Any) -> bool:
        calls = [place.value for _, function in relax_functions(module) for place in places(function)]
        numbers = [call.args[1].value.numpy() for call in calls if operator_of(call) == "relax.multiply"
                   and isinstance(call.args[1], tvm.ir.GenericConst)]  # fmt: skip
        return any(number.ndim == 0 and float(number) == 1.0 for number in numbers)

    found = (neutral(module) for module in modules(100, operators={"relax.multiply": 30}))
    assert is_more_than(5, found)  # of 100, by chance: 1


def numbers_of(module: Any, operator: str) -> set[tuple[int, float]]:
    """Return rank and number of the constants full of one number among the operands of an operator."""
    found = set()
    for _, function in relax_functions(module):
        for call in (place.value for place in places(function)):
            for each in call.args if operator_of(call) == operator else ():
                array = each.value.numpy() if isinstance(each, tvm.ir.GenericConst) else np.zeros(0)
                found |= (
                    {(array.ndim, float(array.flat[0]))} if array.size and (array == array.flat[0]).all() else set()
                )
    return found


@pytest.mark.parametrize(
    ("aim", "rank", "least"),
    [
        ({"operators": {"relax.multiply": 30}}, 0, 3),
        ({"plant": Fragment(relax.op.multiply, shapes=((2, 3), ()))}, 0, 2),
        ({"plant": Fragment(relax.op.multiply, shapes=((2, 3), (2, 3)))}, 2, 2),
    ],
)
def test_each_number_that_a_pass_may_look_for_is_met(aim: dict[str, Any], rank: int, least: int) -> None:
    met: Counter[tuple[int, float]] = Counter()
    for module in modules(150, **aim):
        met.update(numbers_of(module, "relax.multiply"))
        if all(met[rank, number] >= least for number in (0.0, 1.0, 2.0, -1.0, 0.5)):
            return
    pytest.fail(f"{met}")


def test_a_fragment_is_given_the_constants_that_it_asks_for() -> None:
    """A pass that multiplies constants in advance meets constants that are not full of one number."""
    given: list[tuple[Any, ...]] = []

    def scaled_twice(*operands: Any) -> Any:
        given.append(operands)
        return relax.op.multiply(relax.op.multiply(*operands[:2]), operands[2])

    drawn = [*modules(20, plant=Fragment(scaled_twice, shapes=((2, 3), (), (3,)), constants=(1, 2)))]
    assert drawn
    assert all(isinstance(each, tvm.ir.GenericConst) for operands in given for each in operands[1:])
    assert len({str(operands[2].value.numpy()) for operands in given}) > 5


def test_an_aimed_operator_meets_constants_that_stretch_and_constants_of_several_numbers() -> None:
    """A pass that drops a factor of 1 meets one that is wider than the other factor, and one that is 1 only in part."""
    met: Counter[str] = Counter()
    for module in modules(300, operators={"relax.multiply": 30}):
        for call in (place.value for _, function in relax_functions(module) for place in places(function)):
            if operator_of(call) == "relax.multiply" and isinstance(call.args[1], tvm.ir.GenericConst):
                array = call.args[1].value.numpy()
                if array.size and (array == 1).all() and not tvm_ffi.structural_equal(call.args[0].ty, call.ty):
                    met["wider"] += 1
                if array.size and array.min() == 1 < array.max():
                    met["mixed"] += 1
        if min(met["wider"], met["mixed"]) >= 3:
            return
    pytest.fail(f"{met}")


def test_an_aimed_operator_meets_constants_that_stretch_along_one_axis() -> None:
    """As (k, 1) and (1, k): a pass may take them for a number, or for a tensor of the whole shape."""
    met: Counter[int] = Counter()
    for module in modules(150, operators={"relax.multiply": 30}):
        for call in (place.value for _, function in relax_functions(module) for place in places(function)):
            if operator_of(call) == "relax.multiply" and isinstance(call.args[1], tvm.ir.GenericConst):
                dims, other = static_dims(call.args[0].ty) or (), call.args[1].value.shape
                axes = [axis for axis, pair in enumerate(zip(dims, other, strict=False)) if pair[0] != pair[1] == 1]
                if len(dims) == len(other) and len(axes) == 1:
                    met[axes[0] - len(dims) if axes[0] else 0] += 1
    assert met[0] >= 3 <= met[-1], met


def twins(found: Iterable[Any]) -> tuple[set[str], set[str], set[str]]:
    """Return the operators with two equal calls in a function, with other attributes, and with one other operand."""
    equal, attributes, operands = set[str](), set[str](), set[str]()
    for module in found:
        for _, function in relax_functions(module):
            calls = [place.value for place in places(function) if operator_of(place.value)]
            for one, other in itertools.combinations(calls, 2):
                if one.op != other.op or len(one.args) != len(other.args):
                    continue
                alike = [tvm_ffi.structural_equal(*pair) for pair in zip(one.args, other.args, strict=True)]
                same = tvm_ffi.structural_equal(one.attrs, other.attrs)
                if all(alike):
                    (equal if same else attributes).add(operator_of(one))
                elif same and sum(alike) == len(alike) - 1 > 0:
                    operands.add(operator_of(one))
    return equal, attributes, operands


def test_duplicate_code_is_of_many_operators_and_nearly_equal_too() -> None:
    equal, attributes, operands = twins(modules(60, demand=[Feature.DUPLICATE_CODE]))
    assert len(equal) > 25  # by permute_dims alone: 10
    assert len(attributes) >= 4
    assert len(operands) >= 4


def test_duplicate_code_is_of_the_operators_that_are_aimed_at() -> None:
    found = [*modules(60, demand=[Feature.DUPLICATE_CODE], operators={"relax.sum": 30})]
    pairs = [twins([module]) for module in found]
    assert sum("relax.sum" in equal for equal, _, _ in pairs) > 15  # by chance: 4
    assert sum("relax.sum" in attributes for _, attributes, _ in pairs) > 14


def lacks(ty: Any) -> set[str]:
    """Return what is not known of an operand."""
    if not isinstance(ty, relax.TensorType):
        return set()
    found = {"rank": ty.ndim < 0, "dtype": ty.dtype is None, "shape": ty.shape is None}
    return {name for name, is_lacking in found.items() if is_lacking}


@pytest.mark.parametrize("operator", ["relax.concat", "relax.matmul"])
def test_an_aimed_operator_meets_operands_of_which_less_is_known(operator: str) -> None:
    strategy = ir_modules(operators={operator: 5})
    drawn = [draw_from_bytes(strategy, random.Random(seed).randbytes(1 << 14)) for seed in range(80)]
    modules = [module for module in drawn if module is not None]
    bound = [place.binding.value for module in modules for _, function in relax_functions(module)
             for place in places(function)]  # fmt: skip
    calls = [[lacks(each.ty) for each in call_operands(value)] for value in bound if operator_of(value) == operator]
    assert set().union(*(each for call in calls for each in call)) == {"rank", "dtype", "shape"}
    assert sum(any(call) for call in calls) > len(calls) / 24
    assert sum(Feature.VAGUE_OPERANDS in features_of(module) for module in modules) < len(modules) / 5


@functools.cache
def aimed_at_add() -> list[Described]:
    strategy = described_modules(operators={"relax.add": 30})
    drawn = [draw_from_bytes(strategy, random.Random(seed).randbytes(1 << 14)) for seed in range(150)]
    return [each for each in drawn if each is not None]


def test_most_modules_of_an_aimed_operator_can_be_executed() -> None:
    """As without aim: what a pass computes shows only where the module runs."""
    drawn = aimed_at_add()
    assert sum(each.executable for each in drawn) > 0.72 * len(drawn)


def test_an_aimed_operator_is_given_any_operand_twice() -> None:
    """A pass that looks for ``add(x, x)`` meets each kind of ``x``: without a rank, dtype or shape, and of rank 0."""
    met: Counter[str] = Counter()
    for each in aimed_at_add():
        for call in (place.value for _, function in relax_functions(each.module) for place in places(function)):
            if operator_of(call) == "relax.add" and isinstance(call.args[0], relax.Var):
                left, right = call.args
                met.update([*lacks(left.ty), "scalar"][: None if left.ty.ndim == 0 else -1] * left.same_as(right))
    assert all(met[kind] >= 5 for kind in ("rank", "dtype", "shape", "scalar")), met


def test_an_aimed_operator_runs_where_it_must() -> None:
    strategy = ir_modules(operators={"relax.concat": 5}, executable=True)
    drawn = [draw_from_bytes(strategy, random.Random(seed).randbytes(1 << 14)) for seed in range(40)]
    assert not any(Feature.VAGUE_OPERANDS in features_of(module) for module in drawn if module is not None)


def test_a_planted_function_is_in_most_modules() -> None:
    assert share_with("relax.erf", plant=lambda x: relax.op.erf(x)) > 0.7


def test_a_planted_fragment_has_the_operands_that_it_asks_for() -> None:
    seen = []

    def product(left: Any, right: Any) -> Any:
        seen.append([int(dim) for tensor in (left, right) for dim in tensor.ty.shape.values])
        return relax.op.nn.relu(relax.op.matmul(left, right))

    fragment = Fragment(product, ((2, 3), (3, 4)), "float32")
    assert share_with("relax.matmul", plant=[fragment]) > 0.7
    assert all(each == [2, 3, 3, 4] for each in seen)


def test_an_unknown_operator_is_named_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown operator 'spilt'; did you mean relax\.split"):
        ir_modules(operators={"spilt": 1})


def test_shapes_are_a_tuple_of_shapes() -> None:
    with pytest.raises(ValueError, match=r"shapes is a tuple of shapes, such as \(\(2, 3, 4\),\), and not \(2, 3\)"):
        Fragment(relax.op.abs, shapes=(2, 3))  # type: ignore[arg-type]  # what is tested


def test_a_planted_function_that_raises_is_named_with_its_line_and_operands() -> None:
    def turned(x: Any) -> Any:
        return relax.op.permute_dims(x, [1, 2, 0])

    def broken(x: Any) -> Any:
        return x.nothing

    for plant, said in (
        (
            turned,
            r"`turned` \(test_aim\.py:\d+\) raised ValueError: PermuteDims expects.*; it was given float32 \(2, 3\)",
        ),
        (broken, r"`broken` \(test_aim\.py:\d+\) raised AttributeError"),
    ):
        with pytest.raises(ValueError, match=said):
            ir_modules(plant=plant)


def test_a_draw_that_ends_early_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for seed in range(4):
        assert draw_from_bytes(ir_modules(), random.Random(seed).randbytes(256)) is None
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"demand": ["IF"]}, r"demand takes a list of features, and not 'IF'; write Feature\.IF"),
        ({"forbid": "Feature.IF"}, r"forbid takes a list of features, and not 'Feature\.IF'; write Feature\.IF"),
        ({"demand": [3]}, "demand takes a list of features, and not 3; Feature of relaxfuzz lists them"),
        ({"operators": {"relax.exp(relax.spilt)": 1}}, r"unknown operator 'relax\.spilt'; did you mean relax\.split.*"),
        ({"plant": 3}, "plant takes a function of tensors, a Fragment, or a list of these, and not 3"),
        ({"plant": [None]}, "and not None"),
    ],
)
def test_an_option_of_another_kind_is_one_line(options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"{said}$"):
        ir_modules(**options)


def private_chains(module: Any, operator: str) -> int:
    """Count calls on the result of another in an earlier dataflow block, which takes what that keeps to itself."""
    found = 0
    for _, function in relax_functions(module):
        made = {each.binding.var: each for each in places(function)}
        for place in made.values():
            before = made.get(place.value.args[0]) if operator_of(place.value) == operator else None
            if before is not None and operator_of(before.value) == operator and not before.block.same_as(place.block):
                found += any(isinstance(each, relax.DataflowVar) for each in before.value.args)
    return found


def test_calls_on_each_other_stand_in_blocks_of_their_own_now_and_then() -> None:
    """A pass that looks through the first call may use a variable outside of its dataflow block."""
    drawn = [*modules(100, operators={"relax.permute_dims": 30})]
    assert all(map(relax.analysis.check_well_formed, drawn))
    assert sum(private_chains(module, "relax.permute_dims") > 0 for module in drawn) > 4  # by chance: 1


def test_without_ordinary_blocks_none_is_made() -> None:
    forbidden = {"operators": {"relax.permute_dims": 30}, "forbid": [Feature.ORDINARY_BLOCKS]}
    assert not any(Feature.ORDINARY_BLOCKS in features_of(module) for module in modules(60, **forbidden))


def test_a_call_on_another_takes_its_constant_again() -> None:
    """A pattern may name one value twice: ``x / c * c``."""

    def twice(module: Any) -> bool:
        functions = [function for _, function in relax_functions(module)]
        made = {each.binding.var: each.value for function in functions for each in places(function)}
        outer = [call for call in made.values() if operator_of(call) == "relax.multiply"]
        pairs = [(call.args[1], made.get(call.args[0])) for call in outer]
        return any(
            isinstance(constant, tvm.ir.GenericConst) and any(constant.same_as(each) for each in before.args)
            for constant, before in pairs if before is not None and operator_of(before) == "relax.divide"
        )  # fmt: skip

    aim = {"relax.multiply(relax.divide)": 60, "relax.multiply": 30, "relax.divide": 30}
    assert is_more_than(7, map(twice, modules(100, operators=aim)))  # by chance: 0
