"""A failure, and the facts of its modules that a title is made of.  Runs inside an isolated worker."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tvm
from tvm import relax

from fuzzer.core.case import load_module
from fuzzer.findings.script_parts import Nearest
from fuzzer.repro.checks.check import FailingCase
from fuzzer.repro.essence import essence, is_bare
from fuzzer.repro.miscomputed import miscomputed
from fuzzer.repro.module.tvmscript import readable
from fuzzer.repro.pieces.frame import load
from fuzzer.repro.telling import IN_LOCAL, ON_RECURSION, kernels, special, surroundings, telling
from oracles.core.blame import entering, run_inside
from oracles.measure.input_variations import Variation
from oracles.measure.inputs import materialize
from oracles.semantics.single import SingleCall
from relaxkit.interpreter import Interpreter, TooDeep
from relaxkit.ir.first_difference import Difference, Part, differences
from relaxkit.ir.functions import closed, mentioned_names, name_in, public_functions, relax_functions
from relaxkit.ir.types import static_dims, types_in
from relaxkit.ir.walk import expressions, name_of, operators_of
from relaxkit.passes.arguments import keywords_text
from relaxkit.passes.contract import Trait
from relaxkit.passes.contracts import CONTRACTS

_PLAIN = frozenset({"on relax.abs", "on relax.add", "on relax.call_tir"})
"""What the minimizer itself puts in the place of other operators tells nothing."""
_SAYS_MORE = frozenset((f"on a call {how}", ON_RECURSION) for how in ("to another function", "through a variable"))
_MANY = 3
_CONDITION = re.compile(r"when|on an? |on \S+ of (?!the )|on \S+ with a ")
_OPERATORS = re.compile(r"\brelax(?:\.\w+)+")
_GUESS = re.compile(r"when|in a function with|on (?:a call to|a packed|symbolic|match_cast|private|vdevice)")
"""What of a module a failure need not hang on, though it was not reduced away."""
_OF_A_TENSOR = re.compile(r"on (?:a tensor|relax\.\S+) of (?!the )(.*)")
_UNKNOWN, _RESULT = " of unknown ", " of the result of "


@dataclass(frozen=True)
class Told(FailingCase):
    """A failing verdict, its case, and what a title may be made of."""

    nearest: Nearest | None
    alone: SingleCall | None = None
    blame: str = ""
    minimized: bool = True

    @cached_property
    def step(self) -> int:
        """The number of the step that is at fault; the last that was run where it is none of them."""
        names = [step.ref.name for step in self.subject.plan.steps[: len(self.subject.chain)]]
        return names.index(self.verdict.culprit) if self.verdict.culprit in names else len(names) - 1

    @cached_property
    def modules(self) -> tuple[tvm.IRModule, tvm.IRModule]:
        """The modules before the pass at fault, as it was, and after it; of all passes where none of them runs it."""
        subject, culprit, index = self.subject, self.verdict.culprit, self.step
        if subject.plan.steps[index].ref.name != culprit and (
            inside := run_inside(subject.built(index), subject.input_of(index), culprit)
        ):
            return inside
        copy = subject.facts.reload if index == 0 and subject.facts is not None else None
        return copy or subject.input_of(index), subject.chain[index].module

    @property
    def names_operator(self) -> bool:
        """Say whether a function of an operator is at fault: the title names that, the next line the function."""
        return "relax." in self.blame.replace("relax.dpl.", "")

    @property
    def who(self) -> str:
        """What the title accuses of something that it does itself."""
        return self.blame if self.blame and not self.names_operator else self.verdict.culprit

    @property
    def entered(self) -> tuple[Any, tvm.IRModule] | None:
        """The pass at fault and the module that it is given; nothing where that runs inside another, with arguments."""
        subject, culprit = self.subject, self.verdict.culprit
        built, given = subject.built(self.step), subject.given_again(self.step)
        if subject.plan.steps[self.step].ref.name == culprit:
            return built, given
        try:
            built, given = getattr(relax.transform, culprit)(), entering(built, given, culprit)
        except (AttributeError, TypeError):
            return None
        return None if given is None else (built, given)

    @property
    def asked(self) -> str:
        """The pass, with the keyword arguments that name something in the module; of a class the methods that edit."""
        name, module = self.verdict.culprit, load_module(self.case)
        methods = vars(getattr(relax, name, None) or object)
        text = "".join(ref.expression for ref in self.case.passes if ref.name == name)
        *edits, _ = [each for each in re.findall(r"\b\w+\.(\w+)\(", text) if each in methods] or [""]
        if edits:  # the last one gives the result
            edits = [*dict.fromkeys(edits)]
            return f"{name} ({', '.join(edits)})" if edits[1:] else f"{name}.{edits[0]}"
        known = {name_of(param) for _, function in relax_functions(module) for param in function.params}
        texts = (keywords_text(name, ref.expression, known) for ref in self.case.passes if ref.name == name)
        keywords = next(texts, "")
        return f"{name}({keywords})" if keywords else name

    @cached_property
    def error(self) -> str:
        """The error in words of the program; empty where it has none, and what the failure hangs on is known."""
        error = essence(self.evidence, self.evidence.details.error)
        return "" if self.when and (is_bare(error) or error.startswith("R.")) else f": {error}"

    @cached_property
    def changes(self) -> list[Difference]:
        """What the pass changes, in order, but first what it does to an operator that is blamed."""
        named = self.blame.split() if self.names_operator else []
        return sorted(differences(*self.modules), key=lambda each: not {each.owner, each.before}.intersection(named))

    @property
    def is_users(self) -> bool:
        """Say whether the step at fault is a pass of the user's."""
        return self.subject.plan.steps[self.step].ref.is_user

    @cached_property
    def rewrite(self) -> list[str]:
        """The rewrite of a user's pass that changes what the program returns; of a pass of TVM's any change may be one.

        Empty where nobody can say.
        """
        if not self.is_users or self.evidence.kind not in ("wrong-value", "wrong-shape"):
            return []
        try:
            return [*miscomputed(*self.modules, self.evidence.details.entry, self._arguments()[1])]
        except Exception:  # of what the interpreter does not know
            return []

    @cached_property
    def endless(self) -> str:
        """The function whose recursion ends before the pass and not behind it; empty where nobody can say."""
        try:
            too_deep = [*map(self._is_too_deep, self.modules)]
        except Exception:  # of what the interpreter does not know
            return ""
        called = {name: mentioned_names(function) for name, function in relax_functions(self.modules[1])}
        recursive = (name for name in called if name in closed(called[name], lambda each: called.get(each, ())))
        return next(recursive, "") if too_deep == [False, True] else ""

    def _is_too_deep(self, module: tvm.IRModule) -> bool:
        name, values = self._arguments()
        try:
            Interpreter(module).call(name, values)
        except TooDeep:
            return True
        return False

    def _arguments(self) -> tuple[str, Any]:
        """Return the name of the function that was called before the pass, and its arguments."""
        details, before = self.evidence.details, self.modules[0]
        name = name_in(before, public_functions(before)[details.entry])
        return name, materialize(before, name, self.case.input_seed, variation=Variation(details.variation))

    @cached_property
    def when(self) -> str:
        """What the failure hangs on; empty where nothing tells, as in a module that was not made smaller."""
        if not self.minimized or self.named:
            return self.named if self.minimized else ""
        module = load_module(self.case)
        held = [each for each in self._held(module) if each not in _PLAIN and not self._refuted(each, self._held)]
        held = [each for each in held if each.endswith(f" of {held[0][3:]}")] or held  # which says of what
        told, marks = next(iter(held), ""), self._tested(telling)
        if not told.startswith("when") and _says_more(marks, told):
            told = marks
        of = f" of {found[1]}" if (found := _OF_A_TENSOR.match(told)) else ""
        several = ", relax." in told or _RESULT in told or of or not told  # of which one is blamed
        if self.names_operator and several and (own := re.search(r"relax\.(?!dpl\.)[.\w]+", self.blame)):
            told = f"on {own[0]}{of}{special(module, own[0])}"
        elif told.startswith("on a tensor of") and re.fullmatch(r"on relax\.\S+[^,]", marks):
            told = f"{marks}{of}"
        repeats = self.around.endswith(told[3:]) or self.around[:4] == told[:4] == "when"
        return told if told and (repeats or told == ON_RECURSION) else f"{told} {self.around}".strip()

    @property
    def made_of(self) -> str:
        """What a small module has, of which nobody knows that the failure hangs on it: its operators, or a kernel."""
        module = load_module(self.case)
        names = sorted(operators_of(module)) or ["a PrimFunc"] * bool(kernels(module))
        names = [] if self._refuted(" ".join(names), self._held) else names
        return f" on a module with {' and '.join(names)}" if self.minimized and 0 < len(names) < _MANY else ""

    @cached_property
    def passing(self) -> Any:
        """The nearest module that passes; ``None`` where there is none."""
        return None if self.nearest is None else self._edited(self.nearest.edits)

    @cached_property
    def failing(self) -> list[Any]:
        """The modules that were tried before, and fail in the same way."""
        return [] if self.nearest is None else [*map(self._edited, self.nearest.failing)]

    def _held(self, module: Any) -> list[str]:
        """Return what holds of a module, and not of the one that passes; types of results, which follow, last."""
        found = [] if self.passing is None else [*differences(module, self.passing)]
        found.sort(key=lambda each: each.part is Part.TYPE and "." in each.owner)
        given = [each for each in found if each.part is Part.ATTRIBUTE and "." in each.owner]
        signed = [f"on {it.owner} with a negative {it.name}" for it in given if it.before[:1] == "-" != it.after[:1]]
        (ranks, sizes), (others, left) = _sizes(module), _sizes(self.passing or module)
        gone = [*sizes - left] if ranks == others else []
        size = [f"on a dim of {gone[0]}"] if len(gone) == 1 else []
        return [*(each.held for each in found if each.held), *signed, *size]

    def _edited(self, edits: tuple[tuple[str, str], ...]) -> Any:
        return load(Nearest("", edits).applied(readable(load_module(self.case))))

    def _tested(self, tell: Callable[[Any], str]) -> str:
        """Return what is told of the module; a condition only if none that lacks it fails, and one passes."""
        told = tell(load_module(self.case))
        if _GUESS.match(told) and (self.passing is None or tell(self.passing) == told):
            return ""
        if not self._refuted(told, tell):
            return told
        unknown = "".join(told.partition(_UNKNOWN)[1:])
        return f"on an operand{unknown}" if unknown and all(unknown in tell(each) for each in self.failing) else ""

    def _refuted(self, told: str, tell: Callable[[Any], Container[str]]) -> bool:
        """Say whether something is a condition that is not told of all modules that fail, or names what one lacks."""
        named = {*_OPERATORS.findall(told)}
        if any(not named <= operators_of(each) for each in self.failing):
            return True
        return bool(_CONDITION.match(told)) and any(told not in tell(each) for each in self.failing)

    @cached_property
    def named(self) -> str:
        """What the error itself names: the operator of a call, or a parameter that nothing uses; may be empty."""
        told = self._named(load_module(self.case))
        return "" if self._refuted(told, self._named) else told

    def _named(self, module: Any) -> str:
        error = essence(self.evidence, self.evidence.details.error)
        if (call := re.match(r"R\.([\w.]+)\(.*\)", error)) and (operator := f"relax.{call[1]}") in operators_of(module):
            return f"on {operator}{special(module, operator)}"
        for _, function in relax_functions(module):
            used = {*expressions(function.body)}
            for name in (name_of(param) for param in function.params if param not in used):
                if re.match(rf"{name}\b", error):
                    return f"when nothing uses the parameter {name}"
        return ""

    @cached_property
    def around(self) -> str:
        """Where it happens: ``inside an If``; empty where that is nothing special."""
        found = self._tested(surroundings) if self.minimized else ""
        contract = CONTRACTS.get(self.verdict.culprit)
        lifts = contract is not None and Trait.LIFTS_CLOSURES in contract.traits
        return "" if lifts and found == IN_LOCAL else found  # where else


def _sizes(module: Any) -> tuple[set[int], set[int]]:
    """Return the ranks of the tensors of a module, and their sizes, both where shapes are static."""
    types = (static_dims(ty) for _, function in relax_functions(module) for ty in types_in(function))
    shapes = [dims for dims in types if dims is not None]
    return {len(dims) for dims in shapes}, {dim for dims in shapes for dim in dims}


def _says_more(marks: str, told: str) -> bool:
    """Say whether the marks of a module tell more than what does not hold of the nearest module that passes."""
    if not told or marks.startswith(("when", told, "on a call to a function with")) or (told, marks) in _SAYS_MORE:
        return True
    return _UNKNOWN in marks or (_RESULT in marks and told.split()[1] in marks.split())
