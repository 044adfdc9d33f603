"""docs/semantics.md has a row for every operator that is accused of computing something else than documented."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tvm
from planted.generated import modules

from corpus.case import load
from oracles.measure.original import Original
from oracles.semantics import wrong_call
from relaxkit.ir.domain import Given

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "semantics.md"
MODULES = 150


def rows() -> list[str]:
    """Patterns of names in the first columns of the tables of what TVM computes wrong."""
    found, wrong = [], False
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if line.startswith(("TVM ", "#")):
            wrong = line.startswith("TVM computes something wrong")
        elif wrong and line.startswith("|"):
            found += re.findall(r"`([\w.*]+)`", line.split("|")[1])
    return found


def has_row(operator: str) -> bool:
    return any(fnmatch.fnmatch(operator.removeprefix("relax."), pattern) for pattern in rows())


def accused_in_the_corpus() -> Iterator[str]:
    for case in load():
        pattern = case.pattern.replace("\\", "")
        found = re.search(r"not-as-documented\.\*(relax\.[\w.]+)", pattern)
        if found:
            yield found.group(1)


def test_rows_are_read() -> None:
    assert {"not_equal", "sum", "nn.max_pool*"} <= set(rows())
    assert "sign" not in rows()  # of which nothing is documented


def test_every_operator_of_the_corpus_has_a_row() -> None:
    accused = set(accused_in_the_corpus())
    assert len(accused) > 30
    assert not {operator for operator in accused if not has_row(operator)}


@pytest.mark.slow
def test_every_operator_that_generated_modules_accuse_has_a_row() -> None:
    for seed, module in enumerate(modules(MODULES), 1):
        original = Original(module, str(tvm.ir.save_json(module)), seed, Given())
        if original.built is None:
            continue
        found = wrong_call(original, lambda _text: None)
        assert found is None or has_row(found.call.operator), f"module {seed}: {found}"
