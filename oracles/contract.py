"""Pass contracts: what a pass promises, as data.  The table itself is in ``oracles.contracts``."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from releases.messages import newest

# What TVM's checker says of an impure call in a dataflow block.
IMPURE_IN_DATAFLOW = r"[Ii]mpure function call .* (occurs )?within a dataflow block"


class Idempotence(enum.Enum):
    """What a second run of the pass on its own output may do."""

    IDEMPOTENT = "idempotent"  # P(P(m)) == P(m)
    FIXPOINT = "fixpoint"  # some P^k is a fixed point, k <= Contract.fixpoint_runs
    NEVER = "never"  # never converges, by design; the second run must still be safe
    UNKNOWN = "unknown"  # nothing promised (a user's pass); the second run must still be safe
    REFUSES = "refuses"  # the second run may refuse, with one of Contract.second_run_refusals


class NumericPromise(enum.Enum):
    """How close the transformed program's results stay to the original's."""

    BIT_EXACT = "bit-exact"
    REASSOCIATION = "reassociation"  # same real-number formula, other order of rounding
    APPROXIMATE = "approximate"  # polynomial approximations of transcendental functions
    LOSSY = "lossy"  # narrower intermediates (float16)
    NONE = "none"  # results legitimately change


class Abi(enum.Enum):
    """How callers must change so that outputs compare with the original's."""

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
    """What of the module may decide what the pass does to a function."""

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


class Circumstance(enum.Enum):
    """Something around a run of a pass that its result must not depend on, unless the contract says so.

    The values name what ``oracles.environment_runs`` does; they stand in signatures.
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
    """Circumstances that a pass's result may depend on.

    Attributes:
        on: Which.
        source: What establishes that they are meant to matter.
    """

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
        """Whether an exception of type name ``error`` with ``message`` is this refusal."""
        return error == self.error and re.search(self.pattern, newest(message)) is not None


class Kept(enum.Enum):
    """What a pass leaves as it is, unless its contract lists it in :attr:`Contract.changes`."""

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
            Where the text of its reference cannot tell, every look into it raises ``oracles.given.NotLiteral``, and
            the postcondition that looks is not judged.
    """

    before: Any
    after: Any
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Postcondition:
    """Something that a pass claims to have done.

    Attributes:
        claim: Short phrase, which names the claim in signatures and tables ("no operator is left that legalizes").
        violation: Takes a run and says what contradicts the claim; empty when nothing does. The first line goes into
            the signature: no names, numbers or types of the module; details follow on further lines. A function at the
            top level of its file, or ``functools.partial`` of one with literals by keyword, so that a script can copy
            it.
        source: What establishes that the pass claims it: documentation, a test of TVM's, or a measurement.
    """

    claim: str
    violation: Callable[[Ran], str]
    source: str


@dataclass(frozen=True, slots=True)
class Contract:
    """What one pass promises.

    Attributes:
        name: Name of the pass; the key of the table.
        prepare: Names of passes (built without arguments) that bring a high-level module to the stage this one needs.
        needs: Stage that the pass needs.
        gives: Stage that the pass yields.
        idempotence: What a second run may do.
        fixpoint_runs: For ``FIXPOINT``: after at most so many runs another one changes nothing.
        numeric: How close the results stay.
        abi: How callers must change.
        preconditions: Each takes the module and returns ``None``, or the reason why the pass is not
            meant for it (counted as a skip).
        refusals: Documented errors of the first run.
        second_run_refusals: Documented errors of a second run.
        tolerated_ill_formedness: Regular expressions of complaints of TVM's checker that the pass
            causes by design.
        keeps_public_signatures: Whether public functions keep name, parameter and return types.
        keeps_calls_fitting: Whether calls within the module fit the called functions afterwards. Where not, the user
            chose new parameters for one of them, or running the program shows whether callers were adapted.
        notes: Surprising claims, each with what established it.
        prepared_when: Says of a module that ``prepare_ready`` is all the preparation it needs.
        prepare_ready: Names of the passes that run instead of ``prepare`` then.
        fixpoint_extra: For ``FIXPOINT``: runs granted besides ``fixpoint_runs``, computed from the module.
        address_ordered: Whether the order in the output follows addresses of objects, so that two runs can be
            compared only when they start from the same objects.
        costly: Whether one run takes milliseconds (Python legalization, compiling kernels); the determinism
            oracle then repeats it once instead of several times.
        any_stage: Whether it may run at every later stage as well, between or after the lowering passes.
        merges_kernels: Whether it makes one kernel of several.  What one writes and the next reads is then no tensor
            any more but a temporary, and those of bfloat16 and float8 are computed in float32 (documentation of
            ``tvm.tirx.transform.BF16ComputeLegalize``: "Promote unsupported BF16 computations and internal temporaries
            to float32"), so that a rounding to them is gone and the ``numeric`` promise weaker where there are any.
        composed: Whether it is a pipeline of other public passes; a failure is then blamed on the inner pass.
        postconditions: What it claims to have done.
        changes: What it changes of the things that a pass leaves as they are; its source is in a comment beside.
        locality: How far what it does to one function depends on others.
        environment: Circumstances that its result may depend on.
    """

    name: str
    prepare: tuple[str, ...] = ()
    needs: Stage = Stage.HIGH_LEVEL
    gives: Stage = Stage.HIGH_LEVEL
    idempotence: Idempotence = Idempotence.IDEMPOTENT
    fixpoint_runs: int = 1
    numeric: NumericPromise = NumericPromise.BIT_EXACT
    abi: Abi = Abi.SAME
    preconditions: tuple[Callable[[Any], str | None], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    second_run_refusals: tuple[Refusal, ...] = ()
    tolerated_ill_formedness: tuple[str, ...] = ()
    keeps_public_signatures: bool = True
    keeps_calls_fitting: bool = True
    notes: str = ""
    prepared_when: Callable[[Any], bool] | None = None
    prepare_ready: tuple[str, ...] = ()
    fixpoint_extra: Callable[[Any], int] | None = None
    address_ordered: bool = False
    costly: bool = False
    any_stage: bool = False
    merges_kernels: bool = False
    composed: bool = False
    postconditions: tuple[Postcondition, ...] = ()
    changes: frozenset[Kept] = frozenset()
    locality: Locality = Locality.FUNCTION
    environment: tuple[Dependence, ...] = ()


# What passes that are made of passes share.
PARTS_OF_LEVEL_ONE = (
    Dependence(
        frozenset({Circumstance.LEVEL_0}),
        "a Sequential leaves out what is above the context's level (src/ir/transform.cc, PassEnabled), and parts of "
        "this one are of level 1, as an instrument shows (DeadCodeElimination, LambdaLift, CanonicalizeRelaxBindings)",
    ),
)
NEEDS_TARGET = Dependence(
    frozenset({Circumstance.NO_TARGET}),
    'python/tvm/relax/backend/utils.py: "Target not found. Please ensure that the target is annotated within the '
    'module, or alternatively, execute this within a specified target context."',
)


NO_SUCH_FUNCTION = Refusal(
    "ValueError",
    r"Cannot find global var \"",
    "no such function",
    "src/ir/module.cc: the message names the function that an argument of the pass asks for and lists the module's",
)


# A pass that legalizes may meet an operator whose kernel says itself which dtypes it has.
UNSUPPORTED_DTYPE = Refusal(
    "InternalError",
    r"only support float32 and float16 for now|Data type .* not supported for \w+ ops?\b",
    "kernel for some dtypes only",
    "include/tvm/topi/nn: instance_norm, group_norm and layer_norm name what they support; tirx/op/op.cc: isnan, "
    "isinf, isfinite and abs name what they do not",
)


# Operators that legalization declines by name.
WINDOWED_ATTENTION = Refusal(
    "AssertionError",
    r"Legalization for sliding-window attention is not supported yet",
    "operator without a legalization",
    "relax/transform/legalize_ops/nn.py: _nn_attention says so",
)


def default_contract(name: str) -> Contract:
    """The conservative contract of a pass that the user brings without one.

    Idempotence is not promised (the second run must only be safe), results may be reassociated,
    public signatures stay; attributes, kernels and the like may change; level and target may matter, and so may other
    functions of the module.
    """
    return Contract(
        name,
        idempotence=Idempotence.UNKNOWN,
        numeric=NumericPromise.REASSOCIATION,
        changes=frozenset(Kept),
        locality=Locality.UNKNOWN,
        environment=(Dependence(LEVELS | TARGETS, "a pass may read them: both are given to it for that"),),
    )
