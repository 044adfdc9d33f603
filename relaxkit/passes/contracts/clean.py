"""Contracts of high-level passes that clean up, reorder or restructure without changing what callers see.

Source, where no other is given: the pass catalogue of this project, measured on TVM 0.27.0.post1.
"""

from __future__ import annotations

from functools import partial

from relaxkit.ir.functions import private_call_depth
from relaxkit.ir.walk import alias_depth
from relaxkit.passes.claims import clean, common, restructure
from relaxkit.passes.contract import (
    Contract,
    Functions,
    Idempotence,
    Locality,
    Operators,
    Refusal,
    Trait,
    Variant,
    stated,
)
from relaxkit.passes.contracts import laws
from relaxkit.passes.contracts.shared import (
    COPIES,
    NO_SUCH_FUNCTION,
    ONE_BY_ONE,
    PARTS_OF_LEVEL_ONE,
    REWRITER,
    UNKNOWN_DEVICE,
    none_left,
    refused,
)
from relaxkit.passes.forms import with_called_closures
from relaxkit.passes.preconditions import no_calls_in_place, nothing_killed

F = Idempotence.FIXPOINT

_BINDINGS_ONLY = "its documentation: it moves, joins or drops bindings of variables and tuples, and calls nothing new"
_DROPS_ONLY = "its documentation: it removes and replaces, and makes nothing new"

_OnBindings = partial(Contract, operators=Operators(_BINDINGS_ONLY), functions=ONE_BY_ONE)
_Dropping = partial(
    Contract, operators=Operators(_DROPS_ONLY, fewer=("*",)), functions=Functions(_DROPS_ONLY, may_go=True)
)

ROWS: tuple[Contract, ...] = (
    _OnBindings(
        "CanonicalizeBindings",
        any_stage=True,
        preconditions=(nothing_killed,),
        idempotence=F,
        fixpoint_runs=3,
        refusals=(
            Refusal(
                "ValueError",
                r"MatchCast statements must be consistent",
                "contradictory match_cast",
                "src/relax/transform/canonicalize_bindings.cc: says that two casts provably disagree",
            ),
        ),
        notes="a constant bound to a dataflow variable that reaches an output through aliases needs three runs",
        environment=PARTS_OF_LEVEL_ONE,
        postconditions=stated(clean.alias_left, clean.projection_left, clean.escaped_name_left),
    ),
    _OnBindings(
        "ConvertToDataflow",
        idempotence=F,
        fixpoint_runs=3,
        notes="ends with CanonicalizeBindings, whose fixed point it inherits",
        environment=PARTS_OF_LEVEL_ONE,
        postconditions=stated(clean.pure_run_left),
    ),
    _Dropping(
        "DeadCodeElimination",
        traits=frozenset({Trait.TAKES_DISTRIBUTED}),
        any_stage=True,
        idempotence=F,
        fixpoint_runs=3,
        refusals=(NO_SUCH_FUNCTION,),
        notes="what only a dead local function captured is dead for the next run",
        postconditions=stated(restructure.unreached_function_left, clean.dead_binding_left, clean.effect_lost),
    ),
    _Dropping(
        "EliminateCommonSubexpr",
        traits=frozenset({Trait.SHARES}),
        any_stage=True,
        preconditions=(nothing_killed, no_calls_in_place),
        idempotence=F,
        fixpoint_runs=3,
        fixpoint_extra=alias_depth,
        notes="aliases are retargeted one level a run",
        functions=ONE_BY_ONE,
        postconditions=stated(clean.equal_calls_left),
    ),
    _Dropping(
        "ExpandTupleArguments",
        idempotence=F,
        fixpoint_runs=3,
        fixpoint_extra=private_call_depth,
        notes="ends with CanonicalizeBindings and DeadCodeElimination",
        environment=PARTS_OF_LEVEL_ONE,
        postconditions=stated(restructure.tuple_parameter_left),
    ),
    Contract(
        "InlinePrivateFunctions",
        inside=COPIES,
        operators=Operators(_DROPS_ONLY, fewer=("*",), more=("*",)),
        functions=Functions(_DROPS_ONLY, may_go=True),
        postconditions=stated(restructure.private_function_left),
    ),
    Contract(
        "LambdaLift",
        traits=frozenset({Trait.LIFTS_CLOSURES}),
        # lambda_lift.cc asks whether a value is a closure of the functions that it has lifted until then; codegen_vm.cc
        # calls a variable by vm.builtin.invoke_closure either way
        forms=(with_called_closures,),
        any_stage=True,
        operators=Operators(
            "src/relax/transform/lambda_lift.cc: makes closures of what captures, and calls them",
            fewer=("relax.invoke_closure", "relax.invoke_pure_closure"),
            more=("relax.make_closure", "relax.invoke_closure", "relax.invoke_pure_closure"),
            said="no operator comes or goes but those of closures",
        ),
        functions=Functions("its documentation: lifts only", may_come=True),
        postconditions=stated(restructure.local_function_left, restructure.impure_closure_called_as_pure),
    ),
    _OnBindings(
        "Normalize",
        traits=frozenset({Trait.KEEPS_KILLS, Trait.REBUILDS}),
        any_stage=True,
        postconditions=stated(clean.normal_form_changed, clean.untyped_left),
    ),
    Contract(
        "NormalizeGlobalVar",
        any_stage=True,
        refusals=refused(
            "transform/normalize.cc",
            (r"duplicate global symbol", "duplicate global symbol", ": two public functions claim one symbol"),
        ),
        operators=Operators(_BINDINGS_ONLY),
        postconditions=stated(restructure.misnamed_left, restructure.symbols_changed),
    ),
    Contract(
        "RemoveRedundantReshape",
        laws=laws.RESHAPES,
        inside=REWRITER,
        preconditions=(no_calls_in_place,),
        operators=Operators("rewrite_call drops what nothing reads, too", fewer=("*",)),
        functions=ONE_BY_ONE,
        postconditions=stated(clean.redundant_reshape_left),
    ),
    _Dropping(
        "RemoveUnusedOutputs",
        idempotence=F,
        fixpoint_runs=3,
        fixpoint_extra=private_call_depth,
        locality=Locality.CALLERS,  # what nobody reads is known from all callers
        notes="one level of a chain of private calls a run: a chain of two needs two runs",
        environment=PARTS_OF_LEVEL_ONE,
        postconditions=stated(restructure.unused_output_left),
    ),
    _Dropping(
        "RemoveUnusedParameters",
        inside=("DeadCodeElimination",),  # remove_unused_parameters.cc: RemoveAllUnused
        idempotence=F,
        fixpoint_runs=1,
        fixpoint_extra=private_call_depth,
        notes="one level of a chain of private calls a run: a chain of three needs three runs",
        functions=ONE_BY_ONE,
        postconditions=stated(restructure.unused_parameter_left),
    ),
    _OnBindings(
        "TopologicalSort",
        variants=(
            Variant(
                r"breadth-first.*from-outputs",
                {"idempotence": Idempotence.NEVER},
                "modules of TVM's own tests: ties flip on each run; the other three orders settle at once",
            ),
        ),
        preconditions=(no_calls_in_place,),
        postconditions=stated(clean.bindings_changed, clean.order_of_another_kind),
    ),
    Contract(
        "RealizeVDevice",
        traits=frozenset({Trait.PLACES}),
        any_stage=True,
        keeps_public_signatures=False,
        notes="a device is propagated back into the types of parameters, which is what the pass is for",
        refusals=UNKNOWN_DEVICE,
        operators=Operators(
            "src/relax/transform/realize_vdevice.cc: a hint becomes to_vdevice where devices differ",
            fewer=("relax.hint_on_device",),
            more=("relax.to_vdevice",),
            said="no operator comes or goes but moves between devices",
        ),
        functions=ONE_BY_ONE,
        postconditions=(
            none_left(
                "no hint is left",
                "its documentation: propagate virtual device information; hint_on_device is consumed",
                "relax.hint_on_device",
            ),
        ),
    ),
    Contract(
        "AttachExternModules",
        notes="drawn with an empty list only: a runtime module in an attribute has no structural hash, so that what "
        "the pass gives could not be compared (measured); a second attach raises, a defect "
        "(attach-extern-modules-again)",
        postconditions=stated(clean.external_modules_missing, common.functions_differ),
    ),
)
