"""What a shard draws: a pure function of its arguments."""

from __future__ import annotations

import tvm_ffi

from fuzzer.campaign.setup import pass_names
from fuzzer.core.config import Config
from fuzzer.shard.draw import draw_subjects, subjects_per_module
from relaxkit.passes.contract import OracleName

COUNT = 24


def config() -> Config:
    return Config(3, pass_names(), (), tuple(OracleName), 1, None, 1)


def test_equal_arguments_give_equal_subjects() -> None:
    again = draw_subjects(config(), 1, 7)
    first = draw_subjects(config(), 1, 7)
    assert first is not None
    assert again is not None
    assert tvm_ffi.structural_equal(first.module, again.module)
    assert first.pipelines == again.pipelines
    assert tvm_ffi.structural_hash(first.module) == tvm_ffi.structural_hash(again.module)


def test_each_module_has_all_its_subjects() -> None:
    found = [draw_subjects(config(), 1, number) for number in range(COUNT)]
    assert None not in found
    for subjects in found:
        assert subjects is not None
        assert len(subjects.pipelines) == subjects_per_module(config())
        singles = [row[0].name for row in subjects.pipelines if len(row) == 1]
        assert len(singles) == len(set(singles))
