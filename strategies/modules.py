"""Modules: the strategy of whole Relax modules."""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import reject
from hypothesis import strategies as st
from tvm import relax

from relaxkit.compat.known import excuses, is_newest
from relaxkit.compat.shims import apart
from relaxkit.ir.edits import without_unused
from relaxkit.ir.functions import mentioned_names, relax_functions
from relaxkit.near import near_matches
from strategies import actions
from strategies.constructs import attributes, devices, recursion
from strategies.fragment import Fragment, FragmentError
from strategies.functions import FunctionPlan, build
from strategies.idioms import RARE, Planned, aimed, distributed
from strategies.operators import OPERATORS, OperatorRow
from strategies.operators.nested import nested_row
from strategies.pass_arguments.table import aimed_weights
from strategies.scope.choices import Choices, Draw, composite
from strategies.scope.features import NEVER_EXECUTABLE, ON_DEMAND, PLANTED, Feature, closure, draw_swarm, without
from strategies.scope.frame import CalleeSignature, FunctionFrame, ModuleFrame
from strategies.scope.scope import Scope
from strategies.seeds import splice
from strategies.seeds.collection import SeedRef
from strategies.source_operators import NamedOperators, source_operators

T = TypeVar("T")

INEXPRESSIBLE: frozenset[Feature] = frozenset({Feature.PRIM_PARAMS} if apart() else ())
"""Features that no module of the installed release has. Where scalars stand apart from Relax expressions (TVM 0.25), a
scalar parameter is no dim."""

PUBLIC_NAMES = ("main", "main", "main", "main", "run", "forward", "predict")
OTHER_NAMES = ("other", "decode", "step", "second")
PRIVATE_NAMES = ("helper", "inner", "fused", "block", "leaf")
MAX_CALLED = 2
DEEP = 3
"""Private functions of a deep chain, below a public one."""
MAX_PLANNED = 3
MOST_IDIOMS = 3


@dataclass(frozen=True, slots=True)
class Described:
    """A drawn module with what its IR does not tell.

    Attributes:
        module: The ``tvm.IRModule``.
        idioms: Names of the idioms planted in it, sorted, near misses with a suffix (``matmul_chain!mixed_dtype``).
        executable: Whether it was drawn to be executed: the minimal reference pipeline should build it.
        structural: Why it must be judged by its structure alone; empty when running it has a defined result.
        seeds: Fingerprints of the seeds that are in it.
        notes: What was done with seeds, sorted: names that begin with ``seed:``.
    """

    module: Any
    idioms: tuple[str, ...] = ()
    executable: bool = True
    structural: str = ""
    seeds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Aim:
    """Operators to generate more often, with their weights; ``elsewhere``: see :class:`NamedOperators`."""

    rows: tuple[tuple[OperatorRow, int], ...]
    elsewhere: bool = False


SHARE = 10
"""The weight of all operators together, beside which those of ``ir_modules(operators=...)`` count."""

AIMED_VAGUE = 8
"""Of modules with operators that are aimed at, one in so many gives them operands of less precise types."""


@composite
def _modules(
    draw: Draw,
    demand: frozenset[Feature],
    forbid: frozenset[Feature],
    max_functions: int,
    max_bindings: int,
    executable: bool | None,
    seeds: SeedRef | None,
    aim: Aim,
    plant: tuple[Fragment, ...],
    held: tuple[Planned, ...],
) -> Described:
    operators = aim.rows
    features = draw_swarm(draw, demand, forbid)
    features |= closure(row.feature for row, _ in operators if row.feature is not None) - forbid
    vague = closure([Feature.VAGUE_OPERANDS])
    if operators and executable is None and not forbid & vague and Choices(draw).index(AIMED_VAGUE) == AIMED_VAGUE - 1:
        features |= vague
    planned = (*held, *(each.planned for each in plant), *_idioms(draw, forbid, executable is True))
    needed = frozenset().union(*(each.needs for each in planned))
    cleared = frozenset().union(*(each.idiom.clears for each in planned)) - closure(demand | needed)
    features = without(features | needed, cleared)
    features = _apart(draw, features, closure(demand | needed), strict=executable is True)
    runs = executable if executable is not None else not (features & NEVER_EXECUTABLE)
    frame = ModuleFrame(
        relax.BlockBuilder(), features, bool(runs), strict=executable is True, forbidden=forbid - ON_DEMAND
    )
    top = Scope(draw, frame, FunctionFrame())
    frame.function_room = max_functions - 1
    frame.rows, frame.unrunnable = _rows(top)
    most = len(frame.rows)
    frame.rows += tuple(row for row, weight in operators for _ in range(round(most * weight / SHARE)))
    frame.aimed = frozenset(row.name for row, _ in operators)
    top.renew()
    if top.has(Feature.VDEVICE):
        frame.vdevices = devices.table(top)
    with frame.builder_scope():
        structural = splice.draw(top, seeds) if seeds is not None else ""
        _functions(top, demand, max_functions, max_bindings, planned)
        module = frame.builder.get()
    if not top.has(Feature.DEAD_CODE):
        module = without_unused(module)
    module = frame.listed(module)
    top.renew()
    if top.has(Feature.MODULE_ATTRS) and (Feature.MODULE_ATTRS in demand or top.index(4)):
        module = module.with_attrs(attributes.module_attributes(top))
    seeds_used = tuple(sorted(set(frame.seeds_used)))
    return Described(
        module, tuple(sorted(set(frame.idioms))), frame.executable and not structural, structural, seeds_used,
        ("seed:spliced",) * bool(seeds_used),
    )  # fmt: skip


def _apart(draw: Draw, features: frozenset[Feature], wanted: frozenset[Feature], *, strict: bool) -> frozenset[Feature]:
    """Return the features without vdevices or without local functions, unless both are wanted.

    RealizeVDevice gives the types inside local functions devices that their parameters have not, so that such a module
    seldom builds; some are drawn nevertheless.
    """
    pair = {Feature.VDEVICE, Feature.LOCAL_FUNCTIONS}
    if not pair <= features or pair <= wanted:
        return features
    choices = Choices(draw)
    if choices.index(16) == 15 and not strict:
        return features
    gone = choices.pick((Feature.VDEVICE, Feature.LOCAL_FUNCTIONS))
    return without(features, pair - wanted if pair & wanted else {gone})


def ir_modules(
    demand: Iterable[Feature] = (),
    forbid: Iterable[Feature] = (),
    max_functions: int = 5,
    max_bindings: int = 12,
    executable: bool | None = None,
    operators: Mapping[str, int] | str | None = None,
    plant: Fragment | Callable[..., Any] | Iterable[Fragment | Callable[..., Any]] = (),
) -> st.SearchStrategy[Any]:
    """Return a strategy of well-formed ``tvm.IRModule``s of Relax functions.

    Every module is free of undefined behaviour for all inputs of the default domain (``strategies.scope.bounds``), and
    every value of it has one meaning: the same module from the same draws.

    Args:
        demand: Features that every module must have.
        forbid: Features that no module may have.
        max_functions: Maximum number of Relax functions, from 1 to 5 (composite functions are not counted).
        max_bindings: Maximum number of steps in all functions together; a step is one operator together with the
            bindings that keep its operands in range (its guards).
        executable: ``True``: only modules that a minimal pipeline of TVM's passes can build for a CPU;
            ``False``: only modules with an operator that cannot be executed; ``None``: mostly executable ones.
        operators: Operators to generate more often, with operands of higher rank, and often on the results of earlier
            calls to the same operators. The default weights of all operators sum to 10; yours are added to that sum. So
            ``{"relax.split": 5}`` makes about one operator in three a ``split`` (5 of 15), and ``{"relax.split": 30}``
            about three in four. If you name several operators, they are also called on each other's results. Operators
            with two operands are also called with the same operand twice, and with those of the constants 0, 1, 2, -1
            and 0.5 for which they are defined, as first or second operand: as numbers, or as tensors that contain one
            or two of these values and may have a different shape from the other operand. Other integer constants mostly
            lie between -3 and 3; use ``plant`` for larger ones. If a call takes the result of another call, both may
            have the same constant operand, or the second may come after the dataflow block that contains the first. The
            results of calls in a branch become part of the result of the module. In about one module in seven, operands
            are declared without a shape, rank or dtype; such modules are not executed. ``"relax.add(_, relax.matmul)"``
            stands for a call whose second operand is another call, and ``"relax.If"`` for a branch. With
            ``"relax.const"``, most calls of the other operators that you name have a constant operand, and operators
            are also called on results of their own. A pass given as text, such as ``"mycompiler.clips:LowerClip"``,
            stands for everything that its source names: each operator with weight 30, each nested call in its patterns
            (``is_op``) with weight 60, branches if the pass visits them, and constants if it tests for them
            (``GenericConst``, ``is_const``, ``.value.numpy()``).
        plant: Your own code, inserted into most modules: a function of one float32 tensor of shape (2, 3), a
            ``Fragment`` with other operands, or a list of these. Keep ``operators`` as well, which generates variants
            of the pattern. relaxfuzz does not guard the operands, so the code must be defined for all inputs from -3
            to 3.

    Raises:
        ValueError: when a feature is both demanded and forbidden, the counts are out of range, an operator is unknown,
            or a pass cannot be imported.
    """
    __tracebackhide__ = True  # in pytest the user's line is shown
    return described_modules(
        demand, forbid, max_functions, max_bindings, executable, operators=operators, plant=plant
    ).map(_MODULE)


_MODULE = operator.attrgetter("module")


def described_modules(
    demand: Iterable[Feature] = (),
    forbid: Iterable[Feature] = (),
    max_functions: int = 5,
    max_bindings: int = 12,
    executable: bool | None = None,
    seeds: SeedRef | None = None,
    operators: Mapping[str, int] | str | None = None,
    plant: Fragment | Callable[..., Any] | Iterable[Fragment | Callable[..., Any]] = (),
    rare: str = "",
) -> st.SearchStrategy[Described]:
    """Return the modules of :func:`ir_modules`, same arguments, with what their IR does not tell.

    With ``seeds``, half of the modules call functions of that collection (``strategies.seeded`` draws more of it);
    with the name of a ``rare`` idiom, they hold that.
    """
    __tracebackhide__ = True
    wanted, unwanted = _features("demand", demand), _features("forbid", forbid) | INEXPRESSIBLE
    unwanted |= ON_DEMAND - wanted
    if executable is True:
        unwanted |= NEVER_EXECUTABLE
    elif executable is False:
        wanted |= {Feature.NON_EXECUTABLE}
    if clash := closure(wanted) & unwanted:
        raise ValueError(f"features both demanded and forbidden: {', '.join(sorted(clash))}")
    if not 1 <= max_functions <= 5 or max_bindings < 1:
        raise ValueError(f"no modules of {max_functions} functions and {max_bindings} bindings")
    named = source_operators(operators) if isinstance(operators, str) else NamedOperators(dict(operators or {}))
    rows = named_rows(named.weights).items()
    aim = Aim(tuple((row, named.weights[name]) for name, row in rows), named.elsewhere)
    fragments = tuple(plant) if isinstance(plant, Iterable) else (plant,)
    if odd := [each for each in fragments if not (isinstance(each, Fragment) or callable(each))]:
        raise FragmentError(f"plant takes a function of tensors, a Fragment, or a list of these, and not {odd[0]!r}")
    planted = tuple(each if isinstance(each, Fragment) else Fragment(each) for each in fragments)
    for each in planted:
        each.try_out()
    held = tuple(Planned(idiom) for idiom in RARE if idiom.name == rare)
    return expressible(_modules(wanted, unwanted, max_functions, max_bindings, executable, seeds, aim, planted, held))


def _features(option: str, given: Iterable[Feature]) -> frozenset[Feature]:
    """Return the features that an option of :func:`ir_modules` names; raises ``ValueError`` for anything else."""
    __tracebackhide__ = True
    listed: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for each in listed:
        if not isinstance(each, Feature):
            meant = str(each).rpartition(".")[2].upper()
            near = f"write Feature.{meant}" if meant in Feature.__members__ else "Feature of relaxfuzz lists them"
            raise ValueError(f"{option} takes a list of features, and not {each!r}; {near}")
    return frozenset(listed)


def named_rows(names: Iterable[str]) -> dict[str, OperatorRow]:
    """Find operators, or nested calls, with ``relax.`` or without; raises ``ValueError`` for an unknown one."""
    __tracebackhide__ = True
    rows = {row.name.removeprefix("relax."): row for row in (*OPERATORS, *actions.CONSTRUCTS)}

    def find(name: str) -> OperatorRow:
        row = rows.get(short := name.removeprefix("relax."))
        if row is None:
            near = near_matches(short, rows, "relax.")
            raise ValueError(f"unknown operator '{name}'{near} (`relaxfuzz ops` lists those that relaxfuzz generates)")
        return row

    return {name: nested_row(name, find) for name in names}


_FAMILIES = tuple(dict.fromkeys(row.family for row in OPERATORS))
_RUN = frozenset(row.name for row in OPERATORS if row.executable and row.feature is not Feature.NON_EXECUTABLE)


def _rows(top: Scope) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the operators of this case, each at its place in the table or ``None``, and those that never execute.

    A case has all, or half of the families: a swarm of operators, too.
    """
    whole = not top.index(2)
    chosen = {family for family in _FAMILIES if whole or not top.index(2)}
    able = [row if row.feature is None or row.feature in top.features else None for row in OPERATORS]
    runnable = tuple(row if row and row.name in _RUN else None for row in able)
    rows = tuple(row if row and row.family in chosen else None for row in runnable)
    return rows if any(rows) else runnable, tuple(row for row in able if row and row.name not in _RUN)


def _functions(
    top: Scope, demand: frozenset[Feature], max_functions: int, max_bindings: int, planned: tuple[Planned, ...]
) -> None:
    """Draw the functions, callees first; the last one, usually ``main``, answers for what is demanded."""
    frame, draw = top.module, top.draw
    top.renew()
    steps = min(1 + top.index(max_bindings * 3 // 2), max_bindings)
    if Feature.DISTRIBUTED in demand:
        distributed.draw(top)
        max_functions -= 1
    count = _count(top, demand, max_functions)
    frame.function_room -= count - 1
    name = top.pick(PUBLIC_NAMES)
    weighted = top.has(Feature.WEIGHTS)
    others = steps * (count - 1) // count
    needed = DEEP if Feature.DEEP_CALLS in demand else int(Feature.MULTIPLE_FUNCTIONS in closure(demand))
    deep = Feature.DEEP_CALLS in demand or (top.has(Feature.DEEP_CALLS) and count > DEEP)
    for number in range(count - 1):
        kind = _kind(top, demand, number, deep)
        other = functools.partial(_other, top, name, number, max(1, 2 * others // (count - 1) - 1), kind)
        if number < needed:
            other()  # a span may be left out
        else:
            top.span(other)
    top.renew()
    steps = max(1, steps - others)
    alive = not top.has(Feature.DEAD_CODE)
    missing = _uncalled(frame) if demand or alive or top.index(4) < 3 else ()
    callees = missing if alive else missing[:MAX_CALLED]
    order = list(Feature)
    demanded = tuple(sorted(demand, key=order.index))
    build(
        draw,
        frame,
        FunctionPlan(name, False, steps, weighted, demanded, _planned(top, demand), callees, idioms=planned, last=True),
    )


def _idioms(draw: Draw, forbid: frozenset[Feature], strict: bool) -> tuple[Planned, ...]:
    """Return the idioms that the last function is to hold, for passes drawn alike; what they need is switched on."""
    choices = Choices(draw)
    count = choices.index(MOST_IDIOMS + 1)
    return tuple(
        aimed(choices, MOST_IDIOMS, aimed_weights(), forbid, strict)[:count]
    )  # drawn for all: one less leaves the rest as it is


def _planned(top: Scope, demand: frozenset[Feature]) -> tuple[Feature, ...]:
    """Return what the last function should have of the features that are on: a few that rarely come by themselves."""
    top.renew()
    drawn = [feature for feature, odds in PLANTED.items() if top.chance(odds)]  # drawn for all, on or off
    return tuple(feature for feature in drawn if feature in top.features and feature not in demand)[:MAX_PLANNED]


class _FunctionKind(enum.Enum):
    """The kinds of functions besides the last one."""

    ANY = "any"
    LINK = "link"  # private, and calls the one before it
    RECURSIVE = "recursive"
    MUTUAL = "mutual"  # two that call each other
    MAKER = "maker"  # private, and returns a closure


def _kind(top: Scope, demand: frozenset[Feature], number: int, deep: bool) -> _FunctionKind:
    """Return what the function of that number is to be; drawn outside of what may be left out."""
    top.renew()
    if (
        top.has(Feature.RECURSION)
        and not top.forbids(Feature.UNUSED_PARAMETERS)
        and number == 0
        and (Feature.RECURSION in demand or top.index(4))
    ):
        return _FunctionKind.MUTUAL if top.module.function_room and top.index(3) == 2 else _FunctionKind.RECURSIVE
    if deep and number < DEEP:
        return _FunctionKind.LINK
    if top.has(Feature.RETURNED_CLOSURES) and top.has(Feature.PRIVATE_CALLS) and top.index(4) == 3:
        return _FunctionKind.MAKER
    return _FunctionKind.ANY


def _other(top: Scope, name: str, number: int, most: int, kind: _FunctionKind) -> None:
    """Draw a function besides the last one: private, public, or a transform of parameters; ``most`` steps at most."""
    frame = top.module
    if kind in (_FunctionKind.RECURSIVE, _FunctionKind.MUTUAL):
        mutual = kind is _FunctionKind.MUTUAL
        frame.function_room -= mutual
        frame.callables.append(recursion.build(top.draw, frame, actions.local_step, mutual=mutual))
        return
    private = kind is not _FunctionKind.ANY or (top.has(Feature.PRIVATE_CALLS) and (number == 0 or top.index(4) < 3))
    whole = top.has(Feature.TUPLES) and not top.forbids(Feature.UNUSED_PARAMETERS)
    transform = not private and whole and top.index(6) == 5
    own = f"{name}_transform_params" if transform else (PRIVATE_NAMES if private else OTHER_NAMES)[number % 4]
    own = frame.fresh_name(own)
    callees = tuple(frame.callables[-1:]) if kind is _FunctionKind.LINK else ()
    plan = FunctionPlan(
        own, private, top.integer(1, most), callees=callees, tuple_only=transform, maker=kind is _FunctionKind.MAKER
    )
    frame.callables.append(build(top.draw, frame, plan))


def _count(top: Scope, demand: frozenset[Feature], max_functions: int) -> int:
    if not top.has(Feature.MULTIPLE_FUNCTIONS) or max_functions == 1:
        return 1
    count = 2 + top.index(max_functions - 1) * top.index(2)
    deep = Feature.DEEP_CALLS in demand or (top.has(Feature.DEEP_CALLS) and top.index(3) == 2)
    return min(max(count, DEEP + 1), max_functions) if deep else count


def _uncalled(frame: ModuleFrame) -> tuple[CalleeSignature, ...]:
    """Return private functions that no function calls yet, newest first."""
    mentioned = {name: mentioned_names(function) for name, function in relax_functions(frame.builder.get())}

    def is_used(signature: CalleeSignature) -> bool:
        return any(signature.var.name_hint in names for name, names in mentioned.items() if name not in signature.group)

    return tuple(s for s in reversed(frame.callables) if s.private and not is_used(s))


def expressible(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Return what a strategy draws, without what an older release refuses to build, or takes for ill formed.

    Before 0.26 two functions must not share a symbolic variable.
    """
    return strategy if is_newest() else _expressible(strategy)


@st.composite
def _expressible(draw: Draw, strategy: st.SearchStrategy[T]) -> T:
    try:
        drawn: T = draw(strategy)
        if relax.analysis.check_well_formed(getattr(drawn, "module", drawn)):
            return drawn
    except Exception as error:
        if not excuses(error):
            raise
    reject()
    raise AssertionError("not reached")
