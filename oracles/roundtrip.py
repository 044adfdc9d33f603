"""Roundtrip oracle: does the result survive TVMScript print and parse, and JSON?

*Who is to blame.*  TVMScript and JSON are TVM's own notations for any module, and TVM's checker accepted this one.  So
what does not come back is first of all a defect of the printer, the parser, the writer or the loader: the verdict's
culprit is then ``TVMScript`` or ``JSON``, and the finding is one, whatever pass made the module, because nothing of the
pass is in its signature.  The pass is to blame for what no notation can hold although the input could be held:

* a function's name that is no Python identifier: the pass chose it, and TVMScript writes functions as ``def``;
* a tensor on a device that the module's ``global_infos`` do not list: TVMScript writes devices by their place there,
  and so do the passes that look for them;
* an object that JSON refuses to write, or that comes back as another: TVM writes everything that has reflected fields,
  so the pass left something in the module that has none, or that is only equal to itself (a dangling variable).

*What is compared.*  Structural equality: names of variables, spans and order of functions are not looked at.  The
parser joins neighbouring blocks of bindings and deduces the types of expressions anew, which may make them more exact:
neither is a loss (``oracles.roundtrip_forms``).

*What it costs.*  JSON takes some milliseconds, printing and parsing one function 40.  What the passes did not change
comes back as the input does; of the rest a share is judged.  A share of that is parsed, at most one Relax function and
one kernel of those that the passes changed; a share of that as a whole, so that what the notations do to the modules
that campaigns draw is seen as well.  The seed of the subject's inputs, which the minimizer keeps, decides; for the seed
0, which tests and users have, all functions that the passes changed are judged.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import tvm

from oracles.contract import Abi
from oracles.crash import without_output
from oracles.facts import equal, load
from oracles.passref import GivenPass
from oracles.roundtrip_forms import (
    ATTRIBUTES,
    REFINED,
    TOGETHER,
    Loss,
    functions_of,
    loss_in_json,
    loss_in_script,
    own_faults,
    unit_names,
    unit_of,
)
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import output_is_well_formed

TVMSCRIPT = "TVMScript"
_IMPOSSIBLE = "impossible to match cast"  # says the parser, and TVM's checker does not
JSON = "JSON"
NOTATIONS = (TVMSCRIPT, JSON)
"""Culprits that are no passes."""

# Of subjects that the passes changed, one in so many is parsed as well, and one in so many as a whole, which is part of
# the share before.
PARSED_SHARE = 64
WHOLE_SHARE = 512
_VARYING = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|\[.*\]", re.DOTALL)


def judge(subject: Subject) -> tuple[Verdict, ...]:
    """The verdict on the passes, and one more for each defect of a notation that the output shows.

    ``PASS``: the output came back from JSON and, where it was drawn, from TVMScript.  ``SKIP``: it did not, and the
    passes are not to blame.
    """
    if (skip := without_output(OracleName.ROUNDTRIP, subject)) is not None:
        return (skip,)
    if not output_is_well_formed(subject):
        return (_skip(subject, "output is ill-formed"),)
    seed = subject.input_seed
    found = _Found(subject)
    found.json()
    found.own()
    if not found.blamed and not found.excused and _draws(seed, PARSED_SHARE):
        found.script(whole=seed != 0 and _draws(seed, WHOLE_SHARE))
    return found.verdicts()


def _draws(seed: int, share: int) -> bool:
    """Whether a seed belongs to one share of the subjects; the seed 0 belongs to all."""
    return not seed or int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:4], "big") % share == 0


class _Found:
    """What was lost of one subject's output."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.blamed: dict[str, Verdict] = {}  # the pass
        self.notations: dict[str, Verdict] = {}
        self.excused = ""  # why the passes are not judged
        self.inherited = False  # whether losses that the input shows as well are reported
        # Who tries a pass of his own does not ask what TVMScript does to the modules that it is tried on, or gives.
        self.users = any(step.ref.is_user or isinstance(step.ref, GivenPass) for step in subject.plan.steps)

    def json(self) -> None:
        """Judge JSON; an unchanged module is what the input is."""
        facts = self.subject.facts
        assert facts is not None
        output = self.subject.output.module if self.subject.changed else facts.module
        if facts.reload is None:
            before = loss_in_json(facts.module)
        elif output is facts.module:
            return
        else:
            before = None
        loss = loss_in_json(output)
        if loss is None:
            return
        ours = before is None and loss[0] != "not-loaded"
        if ours and self.subject.output_complaint is not None:
            # The checker names the first thing that it objects to: what the contract tolerates may hide what dangles.
            self.excused = "output is ill-formed by design"
            return
        self._add(JSON, loss, before, _lost_in_json if ours else None)

    def own(self) -> None:
        """Judge what TVMScript has no words for."""
        after = self.subject.output.module
        if not self.subject.changed or not (faults := own_faults(after)):
            return
        known = own_faults(_pristine(self.subject))
        for fault in faults:
            if fault in known:
                self.excused = f"input does not survive {TVMSCRIPT}"
            else:
                self._add(TVMSCRIPT, fault, None, functools.partial(_shows, fault))

    def script(self, whole: bool) -> None:
        """Judge TVMScript for some units that the passes changed, or for all units of the output."""
        subject = self.subject
        self.inherited = whole
        before, after = _pristine(subject), subject.output.module
        names = unit_names(after)
        if not whole:
            names = _chosen([name for name in names if not _unchanged(before, after, name)], after, subject.input_seed)
        for name in names:
            if name == TOGETHER and (self.excused or self.blamed):
                continue
            subject.stage(OracleName.ROUNDTRIP)
            with _without_stacks():
                loss = loss_in_script(after, name)
                known = None if loss is None else self._before(before, after, name, loss)
            if loss is None:
                continue
            if loss[0] == REFINED:
                self.excused = self.excused or "parser deduces more exact types"
                continue
            if _IMPOSSIBLE in loss[1] and any(step.contract.abi is Abi.RETYPE_PARAMS for step in subject.plan.steps):
                self.excused = self.excused or "a cast of a parameter to another type than the caller chose"
                continue
            self._add(TVMSCRIPT, loss, known, None)

    def _before(self, before: Any, after: Any, name: str, loss: Loss) -> Loss | None:
        """What the unit had lost before; one that had another name, or none, the same as the unit that is gone."""
        if name not in unit_names(before):
            gone = [loss_in_script(before, each) for each in unit_names(before) if each not in unit_names(after)]
            return next((each for each in gone if each is not None and _key(each) == _key(loss)), None)
        same = name != TOGETHER and _unchanged(before, after, name)
        return loss if same else loss_in_script(before, name)

    def _add(self, notation: str, loss: Loss, known: Loss | None, shows: Callable[[Any], bool] | None) -> None:
        """Report a loss: of the first step that ``shows`` it, of the notation where that is ``None``."""
        kind, message = loss
        evidence = Evidence(kind, message, expected=f"an equal module, read from {notation}", observed=message)
        key = _key(loss)
        if shows is not None:
            culprit = self._culprit(shows)
            self.blamed.setdefault(key, Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, culprit, evidence=evidence))
            return
        old = known is not None and _key(known) == key
        self.excused = (
            f"input does not survive {notation}" if known is not None else f"{notation} cannot hold the output"
        )
        if not self.users and (not old or self.inherited):
            verdict = Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, notation, evidence=evidence)
            self.notations.setdefault(f"{notation} {key}", verdict)

    def _culprit(self, shows: Callable[[Any], bool]) -> str:
        """The first step whose result shows the loss."""
        steps = self.subject.plan.steps
        # Run again: a later step may have written into what the earlier ones gave.
        for index, _, result in self.subject.retrace():
            if result.error is None and shows(result.module):
                return steps[index].ref.name
        return steps[-1].ref.name

    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts; the first ones are on the passes."""
        own = tuple(self.blamed.values())
        if not own and self.excused:
            own = (_skip(self.subject, self.excused),)
        if not own:
            own = (Verdict(OracleName.ROUNDTRIP, Outcome.PASS, self.subject.judged),)
        return own + tuple(self.notations.values())


@contextlib.contextmanager
def _without_stacks() -> Iterator[None]:
    """Within it, nobody is told the stack of Python's calls.

    ``R.function`` and ``T.prim_func`` ask for it, with the source line of each frame, whenever they are evaluated: half
    of the time of a parse. They look at it where they decorate a Python function, which no text that is parsed does.
    """
    stack = inspect.stack
    inspect.stack = lambda context=1: []
    try:
        yield
    finally:
        inspect.stack = stack


def _unchanged(before: Any, after: Any, name: str) -> bool:
    """Whether the passes left the unit's function (or the module's attributes) as it was."""
    if name == TOGETHER:
        return True  # its parts are judged
    if name == ATTRIBUTES:
        return equal(unit_of(before, name), unit_of(after, name))
    ours, theirs = functions_of(before), functions_of(after)
    if not equal(tvm.IRModule({}, global_infos=before.global_infos), tvm.IRModule({}, global_infos=after.global_infos)):
        return False  # what devices mean is written there
    return name in ours and (ours[name].same_as(theirs[name]) or equal(ours[name], theirs[name]))


def _chosen(names: list[str], module: Any, seed: int) -> list[str]:
    """At most one function and one kernel of the named ones; all for the seed 0.

    Which ones depends on seed and name alone, so that a choice outlives the removal of the others.
    """
    if not seed:
        return names
    kernels = {str(var.name_hint) for var, function in module.functions_items() if hasattr(function, "with_body")}
    order = sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
    return [name for name in order if name not in kernels][:1] + [name for name in order if name in kernels][:1]


def _pristine(subject: Subject) -> Any:
    """The module that the passes were applied to, as it was before."""
    facts = subject.facts
    assert facts is not None
    return (load(subject.before) or facts.module) if facts.modified() else facts.module


def _shows(fault: Loss, module: Any) -> bool:
    return fault in own_faults(module)


def _lost_in_json(module: Any) -> bool:
    return loss_in_json(module) is not None


def _key(loss: Loss) -> str:
    """The loss without what differs from module to module."""
    return f"{loss[0]}: {_VARYING.sub('', loss[1])[:300]}"


def _skip(subject: Subject, reason: str) -> Verdict:
    return Verdict(OracleName.ROUNDTRIP, Outcome.SKIP, subject.judged, reason)
