"""Types that say less than is known: at every point of the lattice, in well-formed modules that still run."""

from __future__ import annotations

from drawing import drawn
from tvm import relax

from strategies import Feature, features_of, ir_modules
from strategies.detect.shapes import shape_features
from strategies.scope.choices import Choices
from strategies.scope.vague import KINDS, call_operands, is_tensor, says_less, vague, with_operands, with_vague_operands


class _Counting(Choices):
    """Draws each option in turn."""

    def __init__(self) -> None:
        super().__init__(lambda strategy: bytes(8))
        self.number = -1

    def index(self, count: int) -> int:
        self.number += 1
        return self.number % count


def test_every_point_of_the_lattice_says_less():
    known = relax.TensorType([2, 3], "float32")
    choices = _Counting()
    points = {str(vague(choices, known)) for _ in range(KINDS)}
    assert len(points) == KINDS
    assert all(says_less(vague(choices, known), known) for _ in range(KINDS))
    assert not says_less(known, known)


def test_a_tuple_is_vague_field_by_field():
    known = relax.TupleType([relax.TensorType([2], "int32"), relax.TupleType([relax.TensorType([], "bool")])])
    made = vague(_Counting(), known)
    assert says_less(made, known)
    assert not is_tensor(made.fields[0])
    assert not is_tensor(made.fields[1].fields[0])


def test_variables_alone_become_vague_operands():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([2, 3], "float32"))
    y = relax.Var("y", relax.TensorType([2, 3], "float32"))
    with builder.function("main", [x, y]):
        one = builder.normalize(relax.op.add(x, y))
        assert with_vague_operands(_Counting(), builder, one)
        flipped = builder.normalize(relax.op.flip(relax.const([1.0], "float32"), 0))
        assert not with_vague_operands(_Counting(), builder, flipped)  # a constant is what it is
        builder.emit_func_output(builder.emit(one))


def test_fields_of_a_tuple_become_vague_operands():
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType([2, 3], "float32")) for name in "xy")
    with builder.function("main", [x, y]):
        joined = builder.normalize(relax.op.concat([x, y], 0))
        chosen = {place: ty for _ in range(3) for operand, ty in with_vague_operands(_Counting(), builder, joined)
                  for place in operand}  # fmt: skip
        given = [chosen.get(place, each.ty) for place, each in enumerate(call_operands(joined))]
        assert any(says_less(ty, x.ty) for ty in given)
        again = with_operands(joined, call_operands(joined)[::-1])
        assert [var.same_as(other) for var, other in zip(again.args[0].fields, (y, x), strict=True)] == [True, True]
        builder.emit_func_output(builder.emit(joined))


def test_demanded_operands_are_found():
    for module in drawn(ir_modules(demand=[Feature.VAGUE_OPERANDS]), 12):
        assert Feature.VAGUE_OPERANDS in features_of(module)
        relax.analysis.well_formed(module)


def test_demanded_ones_run_where_only_declarations_are_vague():
    for module in drawn(ir_modules(demand=[Feature.VAGUE_TYPES], executable=True), 6):
        assert Feature.VAGUE_OPERANDS not in features_of(module)
        assert Feature.VAGUE_TYPES in shape_features(module)
        relax.build(relax.transform.LambdaLift()(module), "llvm")
