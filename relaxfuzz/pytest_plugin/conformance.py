"""The rules for plugins, as a test that its author runs: ``conforms("myplugin", faulty=[...], sound=[...])``."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import tvm
import tvm_ffi

from fuzzer.worker.death import Died
from fuzzer.worker.worker import ChildError, IsolatedWorker
from oracles.check import OracleFailure, check
from oracles.core.module_facts import apply, complaint
from relaxkit.passes.contract import OracleName, Ran
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.plugins import Active, OwnOracle, require
from strategies.scope.from_bytes import draw_and_bytes

DRAWS = 20
_BYTES = 16 << 10

Example = tuple[Any, Any]
"""A module and a pass, as ``check`` takes them."""


class NotConforming(AssertionError):
    """A plugin breaks a rule; the message has one line for each."""


def conforms(target: str, *, faulty: Iterable[Example] = (), sound: Iterable[Example] = ()) -> None:
    """Hold a plugin to the rules.

    * Its passes build, here and in a process that has nothing but the plugin's name, and are equal where built twice.
    * Each oracle fails on one of ``faulty`` and on none of ``sound``, says the same twice, leaves both modules as they
      are, and can be sent to another process.
    * Its strategies draw well-formed modules, the same ones from the same bytes.

    Args:
        target: What ``--plugin`` takes.
        faulty: Modules and passes with planted bugs.
        sound: Modules and passes without.

    Raises:
        NotConforming: It breaks a rule.
        relaxkit.passes.plugins.PluginError: It cannot be loaded.
    """
    plugin = require([target])
    faulty, sound = list(faulty), list(sound)
    broken = [*_passes(plugin), *_modules(plugin)]
    for oracle in plugin.oracles:
        broken += _oracle(oracle, faulty, sound)
    for module, built in sound:
        try:
            check(module, built, oracles=[OracleName.POSTCONDITION])
        except OracleFailure as failure:
            broken.append(f"a sound example fails: {str(failure).splitlines()[-1].strip()}")
    if broken:
        raise NotConforming("\n".join(broken))


def _passes(plugin: Active) -> Iterator[str]:
    for ref in plugin.passes:
        with IsolatedWorker() as worker:
            try:
                answer = worker.call(_contract_name, ref)
            except ChildError as error:
                yield f"pass '{ref.name}' cannot be built in another process: {str(error).strip().splitlines()[-1]}"
                continue
        if isinstance(answer, Died):
            yield f"pass '{ref.name}': building it ended the process: {answer.detail}"
        elif answer != contract_for(ref).name:
            yield f"pass '{ref.name}' has the contract of '{answer}' in another process"


def _contract_name(ref: PassRef) -> str:
    ref.build()
    return contract_for(ref).name


def _oracle(oracle: OwnOracle, faulty: list[Example], sound: list[Example]) -> Iterator[str]:
    what = f"oracle '{oracle.name}'"
    if not oracle.source.strip():
        yield f"{what} names no source"
    try:
        if pickle.loads(pickle.dumps(oracle.violation)) is not oracle.violation:
            yield f"{what}: its function cannot be sent to another process"
    except Exception as error:
        yield f"{what}: its function cannot be sent to another process: {type(error).__name__}: {error}"
    fired = []
    for module, built in [*faulty, *sound]:
        after = apply(built, module).module
        if after is None:
            yield f"{what}: the pass of an example raises an exception"
            continue
        ran = Ran(module, after, {})
        before = [int(tvm_ffi.structural_hash(each)) for each in (module, after)]
        answers = [oracle.violation(ran), oracle.violation(ran)]
        if not all(isinstance(each, str) for each in answers):
            yield f"{what} returns a {type(answers[0]).__name__}, not a string"
        if answers[0] != answers[1]:
            yield f"{what} gives a different answer when called again"
        if before != [int(tvm_ffi.structural_hash(each)) for each in (module, after)]:
            yield f"{what} changes a module that it inspects"
        fired.append(bool(answers[0]))
    if not any(fired[: len(faulty)]):
        yield f"{what} does not fail on any faulty example ({len(faulty)} given)"
    if any(fired[len(faulty) :]):
        yield f"{what} fails on a sound example"
    if not sound:
        yield f"{what}: no correct example is given"


def _modules(plugin: Active) -> Iterator[str]:
    import random

    for number, make in enumerate(plugin.modules, 1):
        drawn = 0
        for seed in range(DRAWS):
            data = random.Random(seed).randbytes(_BYTES)
            found = [draw_and_bytes(make(), data) for _ in range(2)]
            if found[0] is None or found[1] is None:
                continue
            drawn += 1
            first, second = (each[0] for each in found if each is not None)
            if not isinstance(first, tvm.IRModule):
                yield f"strategy {number} draws a {type(first).__name__}, not an IRModule"
                return
            if (objection := complaint(first)) is not None:
                yield f"strategy {number} draws an ill-formed module: {objection.message.splitlines()[0]}"
                return
            if not tvm_ffi.structural_equal(first, second):
                yield f"strategy {number} draws different modules from the same bytes"
                return
        if drawn == 0:
            yield f"strategy {number} drew nothing in {DRAWS} attempts"
