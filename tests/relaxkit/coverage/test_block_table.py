"""What is found in libraries: blocks by their instructions; of the installed TVM its files, functions and passes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from small_library import FUNCTIONS, blocks_by_function, compiled

from relaxkit.coverage import table
from relaxkit.coverage.blocks import blocks_of, disassembler
from relaxkit.coverage.breakpoints import loaded
from relaxkit.coverage.elf import Library
from relaxkit.coverage.table import SOURCES, BlockTable, make_table

START = 0x1000


def test_blocks_begin_where_jumps_lead_and_behind_them() -> None:
    code = bytes.fromhex(
        "85ff"  # 00: test edi, edi
        "7405"  # 02: je 09
        "b801000000"  # 04: mov eax, 1
        "c3"  # 09: ret
        "6690"  # 0a: padding
        "31c0"  # 0c: what a table leads to
        "c3"  # 0e: ret
    )
    assert blocks_of(disassembler(), code, START, set()) == [START, START + 4, START + 9, START + 12]


def test_blocks_that_only_end_in_an_error_do_not_count() -> None:
    code = bytes.fromhex(
        "85ff"  # 00: test edi, edi
        "7401"  # 02: je 05
        "c3"  # 04: ret
        "90"  # 05: nop
        "e8f50f0000"  # 06: call 2000
        "0f0b"  # 0b: ud2
    )
    assert blocks_of(disassembler(), code, START, {0x2000}) == [START, START + 4]
    assert blocks_of(disassembler(), code, START, set()) == [START, START + 4]  # no way leads past it either


def test_functions_constants_and_names_of_a_library(tmp_path: Path) -> None:
    library = Library(compiled(tmp_path))
    exported = {name: address for address, name in library.exported().items()}
    (text,) = library.function_at([exported["text"]]).tolist()
    assert [library.string(each) for each in library.loaded(text)] == ["src/relax/sample.cc"]
    assert [each for _, each in library.strings(SOURCES)] == ["src/relax/sample.cc"]
    sign = exported["sign"]
    at, to, loads = library.references(sign, sign + 1)
    inside = [number for number in library.function_at(at).tolist() if number >= 0]
    assert len(inside) >= 2  # `checked` calls it twice
    assert set(to.tolist()) == {sign}
    assert not loads.any()
    initialisers, _ = library.initialisers()
    assert len(initialisers) >= 1
    assert set(blocks_by_function(library)) == set(FUNCTIONS)


def test_a_table_is_packed_and_unpacked() -> None:
    before = BlockTable(
        "ab12", ("src/relax/a.cc",), {"A": 0}, np.array([16, 64]), np.array([0, 0]), ("f", ""), np.array([16, 20, 64])
    )
    after = BlockTable.from_bytes(before.to_bytes())
    assert (after.build, after.files, after.passes, after.names) == (
        before.build,
        before.files,
        before.passes,
        before.names,
    )
    for name in ("functions", "owners", "blocks", "function_of"):
        assert getattr(after, name).tolist() == getattr(before, name).tolist()
    assert after.function_of.tolist() == [0, 0, 1]


@pytest.mark.slow
def test_the_table_of_the_installed_tvm_is_plausible() -> None:
    import tvm  # noqa: F401 - loads the library

    library = Library(loaded()[0])
    found = make_table(library)
    runs = table._runs(library)
    assert 140 < len(found.files) == len(set(found.files)) == len(runs) < 200
    # What a file's checks name is the file, and nothing of another one.
    for name, run in zip(found.files, runs, strict=True):
        said = Counter(
            match[1]
            for number in run
            for text in map(library.string, library.loaded(number))
            if (match := table._FILE.fullmatch(text))
        )
        assert set(said) <= {name.removeprefix(SOURCES)}
    assert len(found.blocks) > 300_000
    assert (np.diff(found.blocks) > 0).all()
    by_folder = Counter(found.files[found.owners[each]].split("/")[2] for each in found.function_of.tolist())
    assert set(by_folder) >= {"transform", "op", "distributed", "analysis", "ir", "backend"}
    assert min(by_folder[each] for each in ("transform", "op", "ir")) > 40_000
    for name, file in (
        ("FuseOps", "fuse_ops.cc"),
        ("FoldConstant", "fold_constant.cc"),
        ("CallTIRRewrite", "call_tir_rewrite.cc"),
    ):
        assert found.files[found.passes[name]] == f"{SOURCES}transform/{file}"
    named = {name for name, file in zip(found.names, found.owners.tolist(), strict=True) if name}
    assert len(named) > 1000
