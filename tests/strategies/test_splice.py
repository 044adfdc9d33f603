"""Functions of seeds in drawn modules: private, called, with symbols, callees and kernels of their own."""

from __future__ import annotations

import functools
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
import seed_modules
import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.runtime import ExecMode, session
from strategies.modules import Described, described_modules
from strategies.scope.features import Feature
from strategies.scope.frame import ModuleFrame
from strategies.scope.from_bytes import draw_from_bytes
from strategies.seeds.collection import SeedRef
from strategies.seeds.splice import splice, spliceable


@functools.cache
def ref() -> SeedRef:
    return seed_modules.collection(Path(tempfile.mkdtemp(prefix="relaxfuzz-seeds-")))


def frame() -> ModuleFrame:
    return ModuleFrame(relax.BlockBuilder(), frozenset(), True)


def spliced(count: int, seed: int = 3) -> list[Described]:
    source, found = random.Random(seed), []
    for _ in range(count):
        drawn = draw_from_bytes(described_modules(seeds=ref()), source.randbytes(8192))
        assert drawn is not None
        if drawn.notes:
            found.append(drawn)
    return found


@pytest.mark.parametrize(
    ("text", "argued", "others"),
    [
        (seed_modules.CHAIN, ("main",), ()),
        (seed_modules.SYMBOLIC, ("inner", "main"), ()),
        (seed_modules.KERNEL, (), ("main",)),
        (seed_modules.INDEXED, (), ("main",)),
        (seed_modules.LOWERED, (), ()),
    ],
)
def test_what_may_be_spliced(text: str, argued: tuple[str, ...], others: tuple[str, ...]) -> None:
    assert spliceable(seed_modules.parsed(text)) == (argued, others)


@pytest.mark.parametrize(
    "body",
    [
        'x: R.Tensor((4,), "float32")):\n        y = R.call_pure_packed("f", x, ty_args=R.Tensor((4,), "float32"))',
        'x: R.Tensor((4, 5000), "float32")):\n        y = R.abs(x)',
        'x: R.Tensor((4,), "float32", "llvm")):\n        y = R.abs(x)',
        "x: R.Any):\n        y = x",
        'x: R.Tensor(("n * 2", 2), "float32"), s: R.Tensor(("n",), "float32")):\n        y = R.abs(x)',
    ],
)
def test_what_cannot_be_taken_over(body: str) -> None:
    text = (
        '@I.ir_module\nclass M:\n    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})\n'
        f"    @R.function\n    def main({body}\n        return y\n"
    )
    assert spliceable(seed_modules.parsed(text)) == ((), ())


def test_a_spliced_function_brings_what_it_calls_under_fresh_names() -> None:
    place = frame()
    first = splice(place, seed_modules.parsed(seed_modules.SYMBOLIC), "main")
    second = splice(place, seed_modules.parsed(seed_modules.KERNEL), "main")
    module = place.builder.get()
    relax.analysis.well_formed(module)
    assert {var.name_hint for var in module.functions} == {"seed_inner", "seed_main", "seed_double", "seed_main1"}
    assert all(
        "global_symbol" not in (f.attrs or {}) for f in module.functions.values() if isinstance(f, relax.Function)
    )
    assert first.depth == 2
    assert second.depth == 1
    assert first.private
    assert list(first.symbols.values()) == [(1, 4)]
    assert first.result.bounds is not None
    assert first.result.bounds.hi < 1.1


def test_spliced_functions_are_called_and_the_module_is_well_formed() -> None:
    found = spliced(80)
    assert len(found) > 20
    dead = 0
    for drawn in found:
        relax.analysis.well_formed(drawn.module)
        assert drawn.seeds
        assert drawn.notes == ("seed:spliced",)
        names = {var.name_hint for var in drawn.module.functions if var.name_hint.startswith("seed_")}
        called: set[str] = set()
        for function in drawn.module.functions.values():
            if isinstance(function, relax.Function):
                called |= {var.name_hint for var in relax.analysis.all_global_vars(function)}
        dead += not names & called
    assert dead <= len(found) / 5  # a module with dead code may hold a function that nobody calls


def test_equal_bytes_give_equal_modules_with_a_collection() -> None:
    data = random.Random(8).randbytes(8192)
    first, second = (draw_from_bytes(described_modules(seeds=ref()), data) for _ in range(2))
    assert first is not None
    assert second is not None
    assert str(tvm.ir.save_json(first.module)) == str(tvm.ir.save_json(second.module))


def test_modules_with_functions_of_unknown_domain_say_so() -> None:
    found = spliced(120, seed=5)
    unknown = {True: 0, False: 0}
    for drawn in found:
        # KERNEL and INDEXED are the seeds of which nothing is argued
        foreign = {var.name_hint for var, f in drawn.module.functions.items() if isinstance(f, tirx.PrimFunc)}
        says = bool(drawn.structural)
        unknown[says] += 1
        assert not (says and drawn.executable)
        assert says or "seed_double" not in foreign
    assert unknown[True] > 2
    assert unknown[False] > 10


def test_what_is_forbidden_keeps_seeds_out() -> None:
    source = random.Random(2)
    strategy = described_modules(forbid=[Feature.HALF], seeds=ref())
    for _ in range(20):
        drawn = draw_from_bytes(strategy, source.randbytes(8192))
        assert drawn is not None
        assert not drawn.seeds


def test_executable_modules_with_spliced_functions_build() -> None:
    built = 0
    for drawn in spliced(60, seed=11):
        if drawn.executable and not drawn.module.global_infos:
            session().build(drawn.module, ExecMode.BYTECODE)
            built += 1
    assert built > 5


def test_the_seed_itself_is_not_touched() -> None:
    module: Any = seed_modules.parsed(seed_modules.SYMBOLIC)
    before = tvm_ffi.structural_hash(module)
    splice(frame(), module, "main")
    assert tvm_ffi.structural_hash(module) == before
