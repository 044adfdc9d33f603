"""Whether the passes of a subject changed its module."""

from __future__ import annotations

import buggy_passes as buggy
import sample_modules as samples

from oracles.core.subject import Subject
from relaxkit.passes.pass_ref import PassRef


def subject(module, *passes):
    return Subject(module, passes)


def ref(name, arguments=""):
    return PassRef(name, f"relax.transform.{name}({arguments})")


def test_a_pass_that_gives_another_module_changes_it():
    assert subject(samples.dataflow(), ref("ToNonDataflow")).changed is True
    assert subject(samples.private_calls(), buggy.drops("helper")).changed is True  # the set of functions counts


def test_a_pass_that_leaves_it_alone_does_not():
    assert subject(samples.dataflow(), ref("Normalize")).changed is False
    assert subject(samples.dataflow(), buggy.identity()).changed is False


def test_a_pass_that_raises_says_nothing():
    assert subject(samples.dataflow(), buggy.raises(ValueError("odd"))).changed is None


def test_the_prepared_module_is_what_counts():
    lowered = subject(samples.dataflow(), ref("RemovePurityChecking"))
    assert lowered.plan.prepare
    assert lowered.changed is True
    again = subject(lowered.output.module, ref("ToNonDataflow"))
    assert again.changed is False


def test_writing_into_the_input_is_a_change():
    spoilt = subject(samples.MODULES["vdevices"](), PassRef(
        "UpdateVDevice", 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 1, "global"), 0)'
    ))  # fmt: skip
    assert spoilt.changed is True
    assert spoilt.facts is not None
    assert spoilt.facts.modified()
