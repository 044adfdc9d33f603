"""Compare two modules by their terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import tvm

from relaxkit.ir.domain import Given
from relaxkit.ir.functions import has_attribute, is_public, relax_functions
from relaxkit.ir.law import Law
from relaxkit.ir.retype import fields_of
from relaxkit.proof.dims import DimTable
from relaxkit.proof.equality import Equality
from relaxkit.proof.evaluate import Caller, SymbolicProgram
from relaxkit.proof.legalize import Legalizer
from relaxkit.proof.memory import Refuted
from relaxkit.proof.terms import Open, Term, Terms
from relaxkit.proof.values import Value
from relaxkit.text_enum import TextEnum

T = TypeVar("T")


class Result(TextEnum):
    """The end of a proof."""

    PROVED = "proved"  # the same for all inputs
    DIFFERENT = "different"  # other terms, which may have the same values all the same
    OPEN = "open"  # something is not modelled


@dataclass(frozen=True, slots=True)
class Proof:
    """A statement about two modules that holds for all inputs.

    Attributes:
        result: How it ended.
        function: The public function that is different or open; empty for the module as a whole.
        reason: Where the terms part, in words of the program; or why it is open, a short phrase to be counted.
        refuted: Whether the difference is a defect; else the terms differ, and their values may be equal.
        laws: Names of the laws by which it was proved.
        exact: Whether what is proved holds to the bit; else up to reassociation, where floats are rounded otherwise.
    """

    result: Result
    function: str = ""
    reason: str = ""
    refuted: bool = False
    laws: tuple[str, ...] = ()
    exact: bool = True

    def __str__(self) -> str:
        where = f" in {self.function}" if self.function else ""
        how = f"{'' if self.exact else ' up to reassociation'}{' by laws: ' * bool(self.laws)}{'; '.join(self.laws)}"
        return f"{self.result}{where}: {self.reason}" if self.reason else f"{self.result}{where}{how}"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A function that was evaluated on its parameters, and the terms of its result and of its effects."""

    program: SymbolicProgram
    arguments: tuple[Value, ...]
    expected: tuple[Term, Term]


_MAY_FAIL = "a check or a call that may fail"

Known = dict[tuple[str, bool], Evaluated | Proof]
"""Functions of one module by name, each as it is or as it is legalized; a proof where one is open."""


def prove(
    before: tvm.IRModule,
    after: tvm.IRModule,
    caller: Caller | None = None,
    fixed: Given | None = None,
    laws: Sequence[Law] = (),
    known: Known | None = None,
) -> Proof:
    """Compare every public function of ``before`` with that of the same name in ``after``, for all inputs.

    Args:
        before: A well-formed module of high-level Relax.
        after: What a pass made of it.
        caller: Calls ``after`` where the pass has changed how functions are called.
        fixed: Inputs that have one value.
        laws: Equalities of operators that may be used.
        known: What earlier calls have found out about ``before`` under the same ``fixed``; is added to.

    Returns:
        ``PROVED``: each returns the same value with the same effects in the same order, for all arguments and all
        symbolic dims. ``DIFFERENT``: the terms differ, and say where first, which proves nothing; or ``after`` reads
        memory that it must not read, which does. ``OPEN``: something
        in one of the modules is not modelled. docs/proof.md has the assumptions.
    """
    public, left = (
        {name: function for name, function in relax_functions(module) if is_public(function)}
        for module in (before, after)
    )
    # What is meant for another code generator is called by the module only, and may be replaced as a whole.
    names = {
        name: function for name, function in public.items() if name in left or not has_attribute(function, "Codegen")
    }
    if not names:
        return Proof(Result.OPEN, "", "no public function to compare")
    if caller is None:
        if missing := [name for name in names if name not in left]:
            return Proof(Result.OPEN, missing[0], "a public function is gone")
        for name, function in names.items():
            if len(function.params) != len(left[name].params):
                return Proof(Result.OPEN, name, "different numbers of parameters")
    used: dict[str, None] = {}
    exact, known = True, {} if known is None else known
    # A pass that legalizes keeps the meaning that legalization gives to each call; where there are more kernels, one
    # most probably has.
    legalized = _kernels(after) > _kernels(before)
    ways = (None, laws) if legalized else (laws, None)
    for name in names:
        tried = [_compared(before, after, name, caller, fixed, ways[0], known)]
        if tried[0].result is not Result.PROVED and (legalized or _may_be_legal(tried[0])):
            tried.append(_compared(before, after, name, caller, fixed, ways[1], known))
        proof = next((each for each in tried if each.result is Result.PROVED), tried[-1 if legalized else 0])
        if proof.result is not Result.PROVED:
            return proof
        used |= dict.fromkeys(proof.laws)
        exact &= proof.exact
    return Proof(Result.PROVED, laws=tuple(used), exact=exact)


def _may_be_legal(proof: Proof) -> bool:
    return proof.result is Result.DIFFERENT or proof.reason == _MAY_FAIL


def _kernels(module: tvm.IRModule) -> int:
    return sum(isinstance(function, tvm.tirx.PrimFunc) for _, function in module.functions_items())


def _compared(
    before: tvm.IRModule,
    after: tvm.IRModule,
    name: str,
    caller: Caller | None,
    fixed: Given | None,
    laws: Sequence[Law] | None,
    known: Known,
) -> Proof:
    """Compare a function by laws, or as it is legalized; what is learned of one holds while that one runs."""
    legal = laws is None
    if (name, legal) not in known:
        known[name, legal] = _settled(name, lambda: _evaluated(before, name, fixed, legal))
    if isinstance(one := known[name, legal], Proof):  # what the original does is its own affair
        return replace(one, result=Result.OPEN, refuted=False)
    other, expected = one.program.follow(after), one.expected
    observed = _settled(name, lambda: other.result(caller or SymbolicProgram.call_function, name, one.arguments))
    if isinstance(observed, Proof):
        return observed
    if expected == observed and other.raises_where(one.program, int, observed):
        return Proof(Result.PROVED)
    equality = Equality(other.terms, other.dims, other.shapes)
    equality.add(*expected, *observed, *one.program.checked_terms(), *other.checked_terms())

    def same_result() -> bool:
        return [*map(equality.root, expected)] == [*map(equality.root, observed)]

    def same_end() -> bool:
        return same_result() and other.raises_where(one.program, equality.root, observed)

    if not equality.reach(same_end, laws or ()):
        if same_result():
            return Proof(Result.OPEN, name, _MAY_FAIL)
        last = expected[0] == observed[0]
        words = _words(other.terms, expected[last], observed[last])
        return Proof(Result.DIFFERENT, name, "effects: " * last + words)
    return Proof(Result.PROVED, laws=tuple(equality.used), exact=all(equality.used.values()))


def _evaluated(module: tvm.IRModule, name: str, fixed: Given | None, legal: bool) -> Evaluated:
    terms = Terms()
    program = SymbolicProgram(module, terms, DimTable(terms), {})
    if legal:
        program.legalizer = Legalizer(terms, program.apart_from)
    arguments = program.parameters(name, fixed)
    return Evaluated(program, arguments, program.result(SymbolicProgram.call_function, name, arguments))


def _settled(name: str, evaluate: Callable[[], T]) -> T | Proof:
    """Return what is evaluated, or how the proof ends where that cannot be done."""
    try:
        return evaluate()
    except (Open, Refuted) as reason:
        refuted = isinstance(reason, Refuted)
        return Proof(Result.DIFFERENT if refuted else Result.OPEN, name, str(reason), refuted)
    except RecursionError:
        return Proof(Result.OPEN, name, "expressions too deep")
    except Exception as error:  # the analyzer's, or of a program that calls what it does not fit
        return Proof(Result.OPEN, name, f"an evaluation that fails ({type(error).__name__})")


def _attributes(terms: Terms, term: Term, other: Term) -> str:
    """Say which attributes of a call are not those of another call of the same operator."""
    if terms[term].head != "op":
        return "of another kind"
    mine, others = (fields_of(terms.objects.of[terms[each].label[1]]) for each in (term, other))
    parting = [f"{key}={value}" for key, value in mine.items() if str(value) != str(others.get(key))]
    return f"with {', '.join(parting)}" if parting else f"of type {', '.join(terms[term].label[2:])}"


def _words(terms: Terms, left: Term, right: Term) -> str:
    way, one, other = terms.parting(left, right)
    first, second = terms.name(one), terms.name(other)
    if first == second:
        first, second = (f"{first} {_attributes(terms, *pair)}" for pair in ((one, other), (other, one)))
    where = f"the {way[-1]}" if way else "the result"
    return f"{where} was {first} and is {second}"
