"""Roundtrip oracle: does the result survive TVMScript print and parse, and JSON?

*Who is to blame.*  TVMScript and JSON are TVM's own notations for any module, and TVM's checker accepted this one.  So
what does not come back is first of all a defect of the printer, the parser, the writer or the loader: the verdict's
culprit is then ``TVMScript`` or ``JSON``, and the finding is one, whatever pass made the module.  The pass is to blame
for what no notation can hold although the input could be held:

* a function's name that is no Python identifier: the pass chose it, and TVMScript writes functions as ``def``;
* a tensor on a device that the module's ``global_infos`` do not list: TVMScript writes devices by their place there,
  and so do the passes that look for them;
* an object that JSON refuses to write, or that comes back as another: TVM writes everything that has reflected fields,
  so the pass left something in the module that has none, or that is only equal to itself (a dangling variable).

*What it costs.*  JSON takes some milliseconds, printing and parsing one function 40.  What the passes did not change
comes back as the input does; of the rest a share is judged.  A share of that is parsed, at most one Relax function and
one kernel of those that the passes changed; a share of that as a whole, so that what the notations do to the modules
that campaigns draw is seen as well.  The seed of the subject's inputs, which the minimizer keeps, decides; for the seed
0, which tests and users have, all functions that the passes changed are judged.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable

import tvm

from oracles.core.applicability import ill_formed_output, no_output
from oracles.core.blame import first_step
from oracles.core.module_facts import copied, equal, load
from oracles.core.subject import Subject
from oracles.core.verdict import Details, Evidence, Notation, Outcome, Verdict
from oracles.structural.roundtrip_forms import (
    ATTRIBUTES,
    REFINED,
    TOGETHER,
    Loss,
    loss_in_json,
    loss_in_script,
    own_faults,
    unit_names,
    unit_of,
)
from relaxkit.compat.shims import without_stacks
from relaxkit.ir.functions import functions_by_name
from relaxkit.passes.contract import Abi, OracleName
from relaxkit.passes.pass_ref import GivenPass

TVMSCRIPT = Notation.TVMSCRIPT.value
_IMPOSSIBLE = "impossible to match cast"  # says the parser, and TVM's checker does not
JSON = Notation.JSON.value
NOTATIONS = (TVMSCRIPT, JSON)
"""Culprits that are no passes."""

# Of subjects that the passes changed, one in so many is parsed as well, and one in so many as a whole, which is part of
# the share before.
PARSED_SHARE = 64
WHOLE_SHARE = 512
_SAID = {
    "not-saved": "TVM raises an error when it saves the output as JSON",
    "not-loaded": "TVM raises an error when it loads the output, saved as JSON",
    "loads-otherwise": "Saved as JSON and loaded back, the output becomes a different module",
    "not-printed": "TVM raises an error when it prints the output as TVMScript",
    "not-parsed": "TVM raises an error when it parses the output, printed as TVMScript",
    "reads-otherwise": "Printed as TVMScript and parsed back, the output becomes a different module",
}
"""What a kind of loss means to who reads a note."""
_VARYING = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|\[.*\]", re.DOTALL)


def judge(subject: Subject) -> tuple[Verdict, ...]:
    """Return the verdict on the passes, and one more for each defect of a notation that the output shows.

    ``PASS``: the output came back from JSON and, where it was drawn, from TVMScript.  ``SKIP``: it did not, and the
    passes are not to blame.
    """
    if reason := no_output(subject) or ill_formed_output(subject):
        return (Verdict(OracleName.ROUNDTRIP, Outcome.SKIP, subject.judged, reason),)
    seed, found = subject.input_seed, _Losses(subject)
    found.json()
    found.own()
    if not found.by_pass and not found.reason and draws_script(seed):
        found.script(whole=seed != 0 and _draws(seed, WHOLE_SHARE))
    outcome = Outcome.SKIP if found.reason else Outcome.PASS
    on_passes = found.by_pass or {
        "": Verdict(OracleName.ROUNDTRIP, outcome, subject.judged, found.reason, note=found.note)
    }
    return (*on_passes.values(), *found.by_notation.values())


def draws_script(seed: int) -> bool:
    """Return whether something of the subjects of a seed is parsed."""
    return _draws(seed, PARSED_SHARE)


def _draws(seed: int, share: int) -> bool:
    """Return whether a seed belongs to one share of the subjects; the seed 0 belongs to all."""
    return not seed or int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:4], "big") % share == 0


class _Losses:
    """The losses of one subject's output, as failures of the passes or of a notation."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.by_pass: dict[str, Verdict] = {}
        self.by_notation: dict[str, Verdict] = {}
        self.reason = ""  # not to judge the passes
        self.note = ""
        self.inherited = False  # whether losses that the input shows as well are reported
        # Who tries a pass of his own does not ask what TVMScript does to the modules that it is tried on, or gives.
        self.users = any(step.ref.is_user or isinstance(step.ref, GivenPass) for step in subject.plan.steps)

    @functools.cached_property
    def before(self) -> tvm.IRModule:
        """The module that the passes were applied to, as it was before."""
        facts = self.subject.prepared
        return (load(self.subject.before) or facts.module) if facts.modified() else facts.module

    def json(self) -> None:
        """Judge JSON; an unchanged module is what the input is."""
        facts = self.subject.prepared
        output = self.subject.output.module if self.subject.changed else facts.module
        if output is facts.module and facts.reload is not None:
            return
        # Writing the text and reading it is three quarters of the time.
        if self.subject.sampled and not draws_script(self.subject.input_seed) and copied(output) is not None:
            return
        if (loss := loss_in_json(output)) is None:
            return
        before = loss_in_json(facts.module) if facts.reload is None else None
        ours = before is None and loss[0] != "not-loaded"
        if ours and self.subject.output_complaint is not None:
            # The checker names the first thing that it objects to: what the contract tolerates may hide what dangles.
            self.reason = "output is ill-formed by design"
            return
        self._add(JSON, loss, before, (lambda module: loss_in_json(module) is not None) if ours else None)

    def own(self) -> None:
        """Judge what TVMScript has no words for."""
        if not self.subject.changed or not (faults := own_faults(self.subject.output.module)):
            return
        known = own_faults(self.before)
        for fault in faults:
            if fault in known:
                self.reason = f"input does not survive {TVMSCRIPT}"
            else:
                self._add(TVMSCRIPT, fault, None, functools.partial(_has, fault))

    def script(self, whole: bool) -> None:
        """Judge TVMScript for some units that the passes changed, or for all units of the output."""
        subject, before, after = self.subject, self.before, self.subject.output.module
        self.inherited = whole
        names = unit_names(after)
        if not whole:
            names = _chosen([name for name in names if not _unchanged(before, after, name)], after, subject.input_seed)
        for name in names:
            if name == TOGETHER and (self.reason or self.by_pass):
                continue
            subject.stage(OracleName.ROUNDTRIP)
            with without_stacks():
                loss = loss_in_script(after, name)
                known = None if loss is None else _known_loss(before, after, name, loss)
            if loss is None:
                continue
            if loss[0] == REFINED:
                self.reason = self.reason or "parser deduces more exact types"
            elif _IMPOSSIBLE in loss[1] and any(step.contract.abi is Abi.RETYPE_PARAMS for step in subject.plan.steps):
                self.reason = self.reason or "a cast of a parameter to another type than the caller chose"
            else:
                self._add(TVMSCRIPT, loss, known, None)

    def _add(self, notation: str, loss: Loss, known: Loss | None, shows: Callable[[tvm.IRModule], bool] | None) -> None:
        """Report a loss: of the first step that ``shows`` it, of the notation where that is ``None``."""
        kind, message = loss
        expected, key = f"an equal module, read from {notation}", _key(loss)
        evidence = Evidence(kind, message, (), expected, message, Details(notation=Notation(notation)))
        if shows is not None:
            # Run again: a later step may have written into what the earlier ones gave.
            found = first_step(run.error is None and shows(run.module) for _, _, run in self.subject.retrace())
            culprit = self.subject.plan.steps[-1 if found is None else found[0]].ref.name
            self.by_pass.setdefault(key, Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, culprit, evidence=evidence))
            return
        where = f"{notation} cannot hold the output" if known is None else f"input does not survive {notation}"
        self.reason = where
        if self.users and known is None:
            self.note = _SAID.get(kind, f"The output does not survive {notation}: {kind}")
            if (notation, kind) == (JSON, "not-loaded"):
                self.note += " (a defect of TVM, which constants with a dim of 0 show)"
        if not self.users and (known is None or _key(known) != key or self.inherited):
            verdict = Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, notation, evidence=evidence)
            self.by_notation.setdefault(f"{notation} {key}", verdict)


def _known_loss(before: tvm.IRModule, after: tvm.IRModule, name: str, loss: Loss) -> Loss | None:
    """Return what a unit had lost before; one that had another name, or none, the same as the unit that is gone."""
    if name not in unit_names(before):
        gone = [loss_in_script(before, each) for each in unit_names(before) if each not in unit_names(after)]
        return next((each for each in gone if each is not None and _key(each) == _key(loss)), None)
    return loss if name != TOGETHER and _unchanged(before, after, name) else loss_in_script(before, name)


def _unchanged(before: tvm.IRModule, after: tvm.IRModule, name: str) -> bool:
    """Return whether the passes left the unit's function (or the module's attributes) as it was."""
    if name == TOGETHER:
        return True  # its parts are judged
    if name == ATTRIBUTES:
        return equal(unit_of(before, name), unit_of(after, name))
    ours, theirs = functions_by_name(before), functions_by_name(after)
    if not equal(tvm.IRModule({}, global_infos=before.global_infos), tvm.IRModule({}, global_infos=after.global_infos)):
        return False  # what devices mean is written there
    return name in ours and (ours[name].same_as(theirs[name]) or equal(ours[name], theirs[name]))


def _chosen(names: list[str], module: tvm.IRModule, seed: int) -> list[str]:
    """Draw at most one function and one kernel of the named ones; all for the seed 0.

    Which ones depends on seed and name alone, so that a choice outlives the removal of the others.
    """
    if not seed:
        return names
    functions = functions_by_name(module)
    order = sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
    kernels = [name for name in order if hasattr(functions.get(name), "with_body")]
    return [name for name in order if name not in kernels][:1] + kernels[:1]


def _has(fault: Loss, module: tvm.IRModule) -> bool:
    return fault in own_faults(module)


def _key(loss: Loss) -> str:
    """Return the loss without what differs from module to module."""
    return f"{loss[0]}: {_VARYING.sub('', loss[1])[:300]}"
