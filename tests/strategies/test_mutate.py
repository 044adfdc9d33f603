"""Mutations of seeds: well formed, never lost as a whole, and each kind really changes what its name says."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
import seed_modules
import tvm
import tvm_ffi
from drawing import in_tiers
from hypothesis import strategies as st
from tvm import relax

from strategies.scope.choices import Choices, Draw
from strategies.scope.from_bytes import draw_from_bytes, draws_of
from strategies.seeds import mutate as mutations
from strategies.seeds.file import SeedStage
from strategies.seeds.mutate import Mutated, Mutation, mutate
from strategies.seeds.replacements import Unchanged


@st.composite
def mutated(draw: Draw, text: str, stage: SeedStage = SeedStage.HIGH_LEVEL) -> Mutated:
    return mutate(Choices(draw), seed_modules.parsed(text), stage)


def one(kind: Mutation, text: str, seed: int) -> Any:
    """A module after one mutation of a kind."""
    return mutations._ACTIONS[kind](Choices(draws_of(random.Random(seed))), seed_modules.parsed(text))


def calls(module: Any) -> Counter[str]:
    found: Counter[str] = Counter()

    def look(expr: Any) -> None:
        if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
            found[str(expr.op.name)] += 1

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function.body, look)
    return found


def calls_of_functions(module: Any) -> int:
    found: list[Any] = []
    for function in module.functions.values():
        relax.analysis.post_order_visit(function.body, found.append)
    return sum(isinstance(each, relax.Call) and isinstance(each.op, tvm.ir.GlobalVar) for each in found)


def test_zeros_change_nothing() -> None:
    found = draw_from_bytes(mutated(seed_modules.CHAIN), bytes(4096))
    assert found is not None
    assert found.applied == ()
    assert tvm_ffi.structural_equal(found.module, seed_modules.parsed(seed_modules.CHAIN))


@pytest.mark.parametrize(
    "text", [seed_modules.CHAIN, seed_modules.SYMBOLIC, seed_modules.KERNEL, seed_modules.BRANCHES]
)
@in_tiers(25, 60)
def test_mutated_modules_are_well_formed_and_the_seed_stays(text: str, count: int) -> None:
    source, seen, undone = random.Random(4), Counter[Mutation](), 0
    for _ in range(count):
        found = draw_from_bytes(mutated(text), source.randbytes(2048))
        assert found is not None
        relax.analysis.well_formed(found.module)
        seen.update(found.applied)
        undone += found.undone
    assert len(seen) >= 7
    assert undone <= sum(seen.values()) / 4


def test_equal_bytes_give_equal_mutations() -> None:
    data = random.Random(9).randbytes(2048)
    texts = {str(tvm.ir.save_json(draw_from_bytes(mutated(seed_modules.BRANCHES), data).module)) for _ in range(3)}
    assert len(texts) == 1


def test_what_tvm_refuses_is_undone_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def ill_formed(choices: Choices, module: Any) -> Any:
        free = relax.Var("free", relax.TensorType([2], "float32"))
        var = module.get_global_var("main")
        function = relax.Function([], relax.SeqExpr([], free), relax.TensorType([2], "float32"))
        return tvm.IRModule({var: function})

    def refused(choices: Choices, module: Any) -> Any:
        raise ValueError("no such type")

    for broken in (ill_formed, refused):
        monkeypatch.setattr(mutations, "_ACTIONS", dict.fromkeys(Mutation, broken))
        found = draw_from_bytes(mutated(seed_modules.CHAIN), b"\xff" * 2048)
        assert found is not None
        assert found.undone > 0
        assert found.applied == ()
        assert tvm_ffi.structural_equal(found.module, seed_modules.parsed(seed_modules.CHAIN))


def test_lowered_code_stays_lowered_code() -> None:
    source, seen = random.Random(4), set()
    before = set(calls(seed_modules.parsed(seed_modules.LOWERED)))
    for _ in range(60):
        found = draw_from_bytes(mutated(seed_modules.LOWERED, SeedStage.LOWERED), source.randbytes(2048))
        assert found is not None
        seen.update(found.applied)
        assert set(calls(found.module)) == before
    assert seen == set(mutations.OF_LOWERED)


def test_replaced_operators_are_kin() -> None:
    before = calls(seed_modules.parsed(seed_modules.CHAIN))
    differing = 0
    for seed in range(30):
        try:
            after = calls(one(Mutation.REPLACE, seed_modules.CHAIN, seed))
        except Unchanged:
            continue
        lost, new = before - after, after - before
        assert sum(lost.values()) == sum(new.values()) == 1
        differing += 1
    assert differing > 5


def test_inserted_and_duplicated_operators_come_on_top() -> None:
    before = calls(seed_modules.parsed(seed_modules.CHAIN))
    for kind in (Mutation.INSERT, Mutation.DUPLICATE):
        for seed in range(20):
            after = calls(one(kind, seed_modules.CHAIN, seed))
            assert not before - after
            assert after - before


def test_a_dropped_binding_is_gone() -> None:
    before = calls(seed_modules.parsed(seed_modules.CHAIN))
    dropped = 0
    for seed in range(30):
        try:
            after = calls(one(Mutation.DROP, seed_modules.CHAIN, seed))
        except Unchanged:
            continue
        assert sum((before - after).values()) == 1
        assert not after - before
        dropped += 1
    assert dropped


def test_swapped_operands_are_of_one_type() -> None:
    text = seed_modules.BRANCHES
    found = set()
    for seed in range(30):
        try:
            module = one(Mutation.SWAP, text, seed)
        except Unchanged:
            continue
        found.add("subtract(y, x)" in module.script() or "add(y, x)" in module.script())
    assert found == {True}


def test_a_wrapped_part_is_called_where_it_was() -> None:
    for text in (seed_modules.CHAIN, seed_modules.SYMBOLIC):
        for seed in range(10):
            module = one(Mutation.WRAP, text, seed)
            relax.analysis.well_formed(module)
            # What is wrapped may be all of a private function: then the builder finds that one, and calls it.
            assert calls_of_functions(module) == 1 + calls_of_functions(seed_modules.parsed(text))
            names = {var.name_hint: function for var, function in module.functions.items()}
            assert "wrapped" not in names or "global_symbol" not in (names["wrapped"].attrs or {})


def test_a_copied_function_has_a_name_and_symbols_of_its_own() -> None:
    for seed in range(6):
        module = one(Mutation.COPY, seed_modules.SYMBOLIC, seed)
        relax.analysis.well_formed(module)  # two functions with one symbolic variable are not
        assert len(module.functions) == 3
        symbols = [
            str(f.attrs["global_symbol"]) for f in module.functions.values() if "global_symbol" in (f.attrs or {})
        ]
        assert len(symbols) == len(set(symbols))


def test_a_changed_dim_changes_everywhere() -> None:
    changed = 0
    for seed in range(12):
        module = one(Mutation.RESIZE, seed_modules.CHAIN, seed)
        relax.analysis.well_formed(module)
        x, w = (param.ty.shape for param in module["main"].params)
        assert int(x[1]) == int(w[0]) == int(w[1])
        changed += (int(x[0]), int(x[1])) != (2, 3)
    assert changed == 12


@pytest.mark.parametrize("text", [seed_modules.KERNEL, seed_modules.SYMBOLIC, seed_modules.INDEXED])
def test_dims_that_others_rely_on_stay(text: str) -> None:
    for seed in range(4):
        with pytest.raises(Unchanged):
            one(Mutation.RESIZE, text, seed)


def test_a_window_never_outgrows_its_data() -> None:
    text = """
@I.ir_module
class Windows:
    @R.function
    def main(x: R.Tensor((1, 2, 9, 9), "float32"), w: R.Tensor((2, 2, 6, 6), "float32")):
        y = R.nn.conv2d(x, w)
        return y
"""
    kept = 0
    for seed in range(40):
        try:
            module = one(Mutation.RESIZE, text, seed)
        except Unchanged:
            kept += 1
            continue
        except Exception:  # TVM's own refusal of the channels: undone, too
            continue
        assert all(int(dim) > 0 for dim in module["main"].ret_ty.shape)
    assert kept


def test_integers_keep_their_values() -> None:
    text = """
@I.ir_module
class Integers:
    @R.function
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor((4,), "int64"), j: R.Tensor((4,), "int64")):
        a = R.add(i, j)
        y = R.gather_elements(x, a, axis=0)
        return y
"""
    before = calls(seed_modules.parsed(text))
    for kind in (Mutation.REPLACE, Mutation.SWAP, Mutation.DROP, Mutation.INSERT):
        for seed in range(20):
            try:
                after = calls(one(kind, text, seed))
            except Unchanged:
                continue
            assert not before - after or kind is Mutation.DROP
            assert after["relax.add"] >= 1
