"""Pass contracts: what a pass promises, as data.  The table itself is in ``relaxkit.passes.contracts``."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from relaxkit.compat.tables import newest
from relaxkit.ir.law import Law
from relaxkit.text_enum import TextEnum

if TYPE_CHECKING:
    import tvm


class Idempotence(enum.Enum):
    """Changes that a second run of the pass on its own output may make."""

    IDEMPOTENT = "idempotent"  # P(P(m)) == P(m)
    FIXPOINT = "fixpoint"  # some P^k is a fixed point, k <= Contract.fixpoint_runs
    NEVER = "never"  # never converges, by design; the second run must still be safe
    UNKNOWN = "unknown"  # nothing promised (a user's pass); the second run must still be safe
    REFUSES = "refuses"  # the second run may refuse, with one of Contract.second_run_refusals


class NumericPromise(enum.Enum):
    """Distance of the transformed program's results from the original's."""

    BIT_EXACT = "bit-exact"
    REASSOCIATION = "reassociation"  # same real-number formula, other order of rounding
    APPROXIMATE = "approximate"  # polynomial approximations of transcendental functions
    LOSSY = "lossy"  # narrower intermediates (float16)
    NONE = "none"  # results legitimately change


class Abi(enum.Enum):
    """Change of callers that is needed so that outputs compare with the original's."""

    SAME = "same"
    LIFT_TRANSFORM_PARAMS = "lift-transform-params"
    BUNDLE_MODEL_PARAMS = "bundle-model-params"
    LAZY_GET_INPUT = "lazy-get-input"
    LAZY_SET_OUTPUT = "lazy-set-output"
    LAZY_TRANSFORM_PARAMS = "lazy-transform-params"
    BIND_PARAMS = "bind-params"  # parameters are gone, their values are constants
    RETYPE_PARAMS = "retype-params"  # parameters and results take other dtypes
    ADDS_FUNCTIONS = "adds-functions"  # public signatures stay, new public functions appear
    GRADIENT = "gradient"  # as above; the new function is the adjoint of one that is there
    OTHER = "other"  # changed in a way no adapter knows: numbers are not compared


class Locality(enum.Enum):
    """Part of the module that may decide what the pass does to a function."""

    FUNCTION = "function"  # the function itself, and what it reaches through calls
    CALLERS = "callers"  # the same, and who else calls what it calls: the pass changes callees for their callers
    MODULE = "module"  # anything: functions are joined, shared or chosen over the whole module
    UNKNOWN = "unknown"  # nothing promised (a user's pass): it may be meant for modules of one function


class Stage(enum.Enum):
    """Form of the IR that a pass needs or gives."""

    HIGH_LEVEL = "high-level"
    LEGALIZED = "legalized"
    ANNOTATED = "annotated"
    FUSED = "fused"
    LOWERED = "lowered"


class Trait(enum.Enum):
    """A role of a pass that others than the pass itself must know: what judges it, or draws it."""

    LEGALIZES = "makes kernels of all operators, and is blamed for kernels that compute something else"
    LOWERS_OPERATORS = "decides how operators are computed, alone or inside"
    LIFTS_CLOSURES = "makes functions of closures, and calls them as pure or impure ones"
    PLACES = "decides on which device a tensor is"
    IN_PLACE = "makes calls that overwrite an operand: a value is right at its moment only"
    CAPTURES = "keeps what it captured for later calls"
    PUBLISHES = "makes private functions public"
    SHARES = "replaces a value by an equal one that was computed before, and does nothing else"
    REBUILDS = "does little but rebuild every function, and so infer its types afresh"
    FORCES_PURITY = "forces purity, without which no shipped pipeline runs what comes behind it"
    FORGETS_SHAPES = "puts symbolic dims where type inference does not see them"
    KILLS = "ends the life of variables"
    KEEPS_KILLS = (
        "puts neither another name nor an equal value for a variable that is killed, nor counts a kill as a use"
    )
    NAMES_THE_GIVEN = "has arguments that name kernels, parameters or devices of the module that was given"
    RETYPES_THE_GIVEN = "has arguments that are types chosen by the caller for the module that was given"
    TAKES_DISTRIBUTED = "transforms programs on distributed tensors, which are lowered to Relax before all other passes"


class Circumstance(enum.Enum):
    """Something around a run of a pass that its result must not depend on, unless the contract says so.

    The values name what ``oracles.metamorphic.circumstances`` does; they stand in signatures.
    """

    INSTRUMENT = "under a pass instrument"
    TIMING = "under PassTimingInstrument"
    IMMUTABLE = "under testing.immutable_module"
    LEVEL_0 = "at opt_level zero"
    LEVEL_1 = "at opt_level one"
    LEVEL_3 = "at opt_level three"
    NO_TARGET = "outside of a target"
    OTHER_TARGET = "under another target"
    OTHER_PASS = "after other passes"
    FAILED_PASS = "after a pass that raised"
    OTHER_MODULE = "after a run on another module"
    REBUILT = "as another object"
    THREAD = "in another thread"


LEVELS = frozenset({Circumstance.LEVEL_0, Circumstance.LEVEL_1, Circumstance.LEVEL_3})
TARGETS = frozenset({Circumstance.NO_TARGET, Circumstance.OTHER_TARGET})


@dataclass(frozen=True, slots=True)
class Dependence:
    """Circumstances that a pass's result may depend on, and what establishes that they are meant to matter."""

    on: frozenset[Circumstance]
    source: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A documented error by which a pass refuses an input.

    Attributes:
        error: Name of the exception type.
        pattern: Regular expression searched in the message.
        reason: Short phrase under which the reject is counted.
        source: What establishes that this is a refusal and not a defect.
    """

    error: str
    pattern: str
    reason: str
    source: str

    def matches(self, error: str, message: str) -> bool:
        """Say whether an exception of type name ``error`` with ``message`` is this refusal."""
        return error == self.error and re.search(self.pattern, newest(message)) is not None


class Kept(enum.Enum):
    """Things that a pass leaves as they are, unless its contract lists it in :attr:`Contract.changes`."""

    MODULE_ATTRIBUTES = "module attributes"  # each is still there, with its value; new ones may come
    GLOBAL_INFOS = "global infos"  # each table is still there, with its entries in their places
    FUNCTION_ATTRIBUTES = "function attributes"  # of functions whose name is still there; new ones may come
    PARAMETER_NAMES = "parameter names"  # of public Relax functions
    PURITY = "purity"  # the flag of Relax functions whose name is still there
    KERNELS = "kernels"  # PrimFuncs whose name is still there
    EXTERNALS = "external functions"  # ExternFuncs


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a pass, as a postcondition sees it.

    Attributes:
        before: The module that the pass was applied to, as it was before.
        after: The module that it gave.
        arguments: What the pass was built with: keywords by name, positional ones under ``"0"``, ``"1"``, ...
            Where the text of its reference cannot tell, every look into it raises
            ``relaxkit.passes.arguments.NotLiteral``, and the postcondition that looks is not judged.
    """

    before: tvm.IRModule
    after: tvm.IRModule
    arguments: Mapping[str, Any]


class EvidenceClass(TextEnum):
    """The ground that a failure stands on.

    The last two make a question to the maintainers of TVM, and no finding: what they never said may be meant otherwise.
    """

    HARD = "hard"  # a crash, TVM's checker, other numbers than before, an edited input, a text that is not read back
    DOCUMENTED = "documented"  # against a sentence, or a test, of TVM
    OURS = "ours"  # against what we expect
    DEBATABLE = "debatable"  # somebody who read it in TVM's source can argue either way

    @property
    def words(self) -> str:
        """Say it to somebody who does not know the classes."""
        words = {
            "hard": "observed by running it", "documented": "against TVM's documentation, code or tests, or a contract",
            "ours": "promised nowhere", "debatable": "called debatable by a reader of TVM's source",
        }  # fmt: skip
        return words[self.value]


class Harm(TextEnum):
    """The harm that a broken claim does."""

    WRONG = "wrong"  # results are others, or memory is misused
    BROKEN = "broken"  # somebody who relies on it goes wrong, for instance the next pass
    LESS = "less"  # less is done than was to be done; the program means what it meant


@dataclass(frozen=True, slots=True)
class Postcondition:
    """Something that a pass claims to have done.

    Attributes:
        claim: Short phrase, which names the claim in signatures and tables ("no operator is left that legalizes").
        violation: Takes a run and says what contradicts the claim; empty when nothing does. The first line goes into
            the signature: no names, numbers or types of the module. The second says it of this module, as what the
            pass does ("leaves a dataflow block in main"): the title. Details follow. A function at the top level of
            its file, or ``functools.partial`` of one with literals by keyword: scripts copy it.
        source: What establishes that the pass claims it: documentation, a test of TVM's, or a measurement.
        harm: What a violation does.
        evidence: What a violation is evidence of: ``OURS`` where the source is no sentence and no test of TVM's.
        shown: An assertion on the modules ``Before`` and ``After`` that says the same of a small module, for scripts;
            ``{name}`` stands for the name of any function, ``{0}`` for the first argument of the pass as it is written.
    """

    claim: str
    violation: Callable[[Ran], str]
    source: str
    harm: Harm = Harm.BROKEN
    evidence: EvidenceClass = EvidenceClass.DOCUMENTED
    shown: str = ""


less_done = functools.partial(Postcondition, harm=Harm.LESS)
"""A claim that nothing is left undone: what breaks it means what it meant."""

Violation = TypeVar("Violation", bound=Callable[..., str])
_STATED: dict[Callable[..., str], Postcondition] = {}


def claimed(claim: str, source: str, harm: Harm = Harm.BROKEN, **more: Any) -> Callable[[Violation], Violation]:
    """State beside the function that finds a violation what is claimed, and why; as :class:`Postcondition`."""

    def state(violation: Violation) -> Violation:
        _STATED[violation] = Postcondition(claim, violation, source, harm, **more)
        return violation

    return state


nothing_left = functools.partial(claimed, harm=Harm.LESS)
"""As :func:`claimed`, of a claim that nothing is left undone."""


def stated(*claims: Callable[..., str] | Postcondition, source: str = "") -> tuple[Postcondition, ...]:
    """Return the claims of a contract: those that are stated beside their functions, and those written out.

    Args:
        claims: The functions, or the claims.
        source: What establishes all of them of this pass, where it is something else.
    """
    found = (each if isinstance(each, Postcondition) else _STATED[each] for each in claims)
    return tuple(replace(each, source=source or each.source) for each in found)


def plain_claim(claim: str) -> str:
    """Return a claim as people read it: signatures hold it in fewer words."""
    meant = {"comes or goes": "is added or dropped", "comes": "is added", "come": "are added", "goes": "is dropped"}
    return re.sub(r"\b(comes or goes|comes?|goes)(?= but |\Z)", lambda found: meant[found[1]], claim)


@dataclass(frozen=True, slots=True)
class Operators:
    """The claim that operators are called as often as before, but for some.

    Attributes:
        source: What establishes that the pass claims it.
        fewer: Operators that may be called less often; ``"*"`` stands for all.
        more: Operators that may be called more often; ``"*"`` stands for all that were called before.
        said: The claim in words, where they say more than these.
    """

    source: str
    fewer: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    said: str = ""

    @property
    def claim(self) -> str:
        """The claim in words."""
        if self.said or "*" not in self.fewer:
            return self.said or "no operator comes or goes"
        return "no kind of operator comes" if "*" in self.more else f"no {'other ' * bool(self.more)}operator comes"


@dataclass(frozen=True, slots=True)
class Functions:
    """The claim that no function of the module goes, or comes, or both, and what establishes it."""

    source: str
    may_go: bool = False
    may_come: bool = False

    @property
    def claim(self) -> str:
        """The claim in words."""
        return "no function comes" if self.may_go else f"no function {'' if self.may_come else 'comes or '}goes"


class NumericCheck(enum.Enum):
    """A judgement of the numeric oracle, or of the output's form, that a limit may stop."""

    FORM = "the output is well formed"
    RESULTS = "results are compared"
    BUILD = "the output builds"
    RUN = "the output runs"


@dataclass(frozen=True, slots=True)
class NumericLimit:
    """A check that is not made of a pass in some situations, where it would be unfair.

    Attributes:
        reason: Short phrase under which the skip is counted.
        source: What establishes that this is no defect of the pass.
        when: Says of a ``relaxkit.passes.limits.Situation`` whether it holds; ``None``: always.
        error: Regular expression that must be found in the raised error's message, in the words of the newest release.
    """

    stops: NumericCheck
    reason: str
    source: str
    when: Callable[[Any], bool] | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """Attributes of a contract that are others where a regular expression is found in the arguments, and why."""

    arguments: str
    changes: Mapping[str, Any]
    source: str


@dataclass(frozen=True, slots=True)
class Hook:
    """The attribute of operators whose function a pass calls, and what says of a call that the function is wrong."""

    attribute: str
    is_wrong: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Contract:
    """Promises of one pass.

    Attributes:
        name: Name of the pass; the key of the table.
        where: The module that has it.
        prepare: Names of passes (built without arguments) that bring a high-level module to the stage this one needs.
        needs: Stage that the pass needs.
        gives: Stage that the pass yields.
        idempotence: What a second run may do.
        fixpoint_runs: For ``FIXPOINT``: after at most so many runs another one changes nothing.
        numeric: How close results stay.
        abi: How callers must change.
        preconditions: Each takes the module and returns ``None``, or why the pass is not meant for it (a skip).
        refusals: Documented errors of the first run.
        second_run_refusals: Documented errors of a second run.
        tolerated_ill_formedness: Regular expressions of complaints of TVM's checker that the pass causes by design.
        keeps_public_signatures: Whether public functions keep name, parameter and return types.
        keeps_calls_fitting: Whether calls within the module fit the called functions afterwards. Where not, the user
            chose new parameters, or running the program shows whether callers were adapted.
        notes: Surprising claims, each with what established it.
        prepared_when: Says of a module that ``prepare_ready``, instead of ``prepare``, is all the preparation it needs.
        prepare_ready: Names of those passes.
        fixpoint_extra: For ``FIXPOINT``: runs granted besides ``fixpoint_runs``, computed from the module.
        address_ordered: Whether the order in the output follows addresses, so that two runs can be compared only when
            they start from the same objects.
        costly: Whether one run takes milliseconds (Python legalization, compiling kernels); the determinism
            oracle then repeats it once instead of several times.
        any_stage: Whether it may run at every later stage, too.
        merges_kernels: Whether it makes one kernel of several.  What one writes and the next reads is then no tensor
            any more but a temporary, and those of bfloat16 and float8 are computed in float32 (documentation of
            ``BF16ComputeLegalize``: "Promote unsupported BF16 computations and internal temporaries to float32"), so
            that a rounding to them is gone and the ``numeric`` promise weaker.
        composed: Whether it is a pipeline of other public passes; a failure is then blamed on the inner pass.
        inside: Names of passes whose function it calls, so that no instrument sees them, or of functions alone.
        postconditions: What it claims to have done.
        operators: How it changes which operators are called; ``None``: it makes no such claim.
        functions: How it changes which functions there are; ``None``: it makes no such claim.
        changes: What it changes of what a pass leaves as it is; its source is in a comment beside.
        attributes: Attributes of functions that it takes away or changes, and no others; the source stands beside.
        locality: How far what it does to one function depends on others.
        forms: What brings results into one form where others may decide on it; its source is in a comment beside.
        environment: Circumstances that its result may depend on.
        traits: Roles that others must know.
        not_after: Names of passes that it must not follow.
        limits: Where its results are not judged although its promises would allow it.
        variants: What it promises otherwise with some arguments; each that matches is applied, in order.
        hook: The function of operators that it calls, which may be at fault for what becomes of a call.
        laws: What its results may be proved by: :mod:`relaxkit.passes.contracts.laws`.
    """

    name: str
    where: str = "relax.transform"
    prepare: tuple[str, ...] = ()
    needs: Stage = Stage.HIGH_LEVEL
    gives: Stage = Stage.HIGH_LEVEL
    idempotence: Idempotence = Idempotence.IDEMPOTENT
    fixpoint_runs: int = 1
    numeric: NumericPromise = NumericPromise.BIT_EXACT
    abi: Abi = Abi.SAME
    preconditions: tuple[Callable[[tvm.IRModule], str | None], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    second_run_refusals: tuple[Refusal, ...] = ()
    tolerated_ill_formedness: tuple[str, ...] = ()
    keeps_public_signatures: bool = True
    keeps_calls_fitting: bool = True
    notes: str = ""
    prepared_when: Callable[[tvm.IRModule], bool] | None = None
    prepare_ready: tuple[str, ...] = ()
    fixpoint_extra: Callable[[tvm.IRModule], int] | None = None
    address_ordered: bool = False
    costly: bool = False
    any_stage: bool = False
    merges_kernels: bool = False
    composed: bool = False
    inside: tuple[str, ...] = ()
    postconditions: tuple[Postcondition, ...] = ()
    operators: Operators | None = None
    functions: Functions | None = None
    changes: frozenset[Kept] = frozenset()
    attributes: tuple[str, ...] = ()
    locality: Locality = Locality.FUNCTION
    forms: tuple[Callable[[tvm.IRModule], tvm.IRModule], ...] = ()
    environment: tuple[Dependence, ...] = ()
    traits: frozenset[Trait] = frozenset()
    not_after: tuple[str, ...] = ()
    limits: tuple[NumericLimit, ...] = ()
    variants: tuple[Variant, ...] = ()
    hook: Hook | None = None
    laws: tuple[Law, ...] = ()


ALREADY_LOWERED = "module is already lowered, and no contract says that the pass accepts such modules"
"""The reason not to judge a pass on the high-level graph after one that lowers it, or on a seed that is lowered."""


def default_contract(name: str) -> Contract:
    """Return the conservative contract of a pass that the user brings without one.

    Idempotence is not promised (the second run must only be safe), results may be reassociated, public signatures stay;
    attributes and kernels may change; level, target and other functions of the module may matter.
    """
    return Contract(
        name,
        idempotence=Idempotence.UNKNOWN,
        numeric=NumericPromise.REASSOCIATION,
        changes=frozenset(Kept),
        locality=Locality.UNKNOWN,
        environment=(Dependence(LEVELS | TARGETS, "a pass may read them: both are given to it for that"),),
    )


class OracleName(TextEnum):
    """The oracles, by the name that the command line, the store and the reports use."""

    CRASH = "crash"
    MUTATION = "mutation"
    DETERMINISM = "determinism"
    SEQUENTIAL = "sequential"
    IDEMPOTENCE = "idempotence"
    WELL_FORMED = "well-formed"
    POSTCONDITION = "postcondition"
    ROUNDTRIP = "roundtrip"
    LOCALITY = "locality"
    ENVIRONMENT = "environment"
    NUMERIC = "numeric"
