"""Contracts of what users make passes of: rewriters by patterns (``tvm.relax.dpl``), edits of functions and of
dataflow blocks, and analyses.

Their arguments are functions of the user's; those that are drawn keep what is computed (``rewriters`` in
``strategies.pass_arguments``).  What is promised is what TVM documents, and that TVM itself adds no change.
"""

from __future__ import annotations

from functools import partial

from relaxkit.passes.claims import analysis, rewrite
from relaxkit.passes.contract import Contract, Functions, Idempotence, Operators, Refusal, Variant, stated
from relaxkit.passes.contracts.shared import COPIES, ONE_BY_ONE, REWRITER, refused
from relaxkit.passes.preconditions import no_calls_in_place

_MADE = (
    "relax.add", "relax.equal", "relax.less", "relax.less_equal", "relax.logical_not", "relax.maximum", "relax.min",
    "relax.multiply", "relax.negative", "relax.reshape",
)  # fmt: skip
_CLEANS = Operators(
    "the user's function says what it makes; dataflow_expr_rewriter.cc cleans up", ("*",), ("*", *_MADE)
)
_WIDE_TUPLE = refused(
    "ir/dataflow_expr_rewriter.cc",
    (r"limited to tuples with 3 elements or fewer", "a pattern of a wide tuple", ": the message names the limitation"),
)
_Rewriter = partial(
    Contract,
    where="relax.dpl",
    # A rewritten call in place would be done at another moment, or twice.
    preconditions=(no_calls_in_place,),
    inside=REWRITER[:-1],
    functions=ONE_BY_ONE,
    operators=_CLEANS,
    idempotence=Idempotence.FIXPOINT,
    fixpoint_runs=3,
    notes="cleans up by CanonicalizeBindings, whose fixed point it inherits",
    refusals=_WIDE_TUPLE,
)

ROWS: tuple[Contract, ...] = (
    _Rewriter("rewrite_call", postconditions=stated(rewrite.changed_without_match, rewrite.match_missed)),
    _Rewriter(
        "PatternMatchingRewriter",
        variants=(
            Variant(
                r"def subroutine",
                {"functions": Functions("its test of subroutines: private functions of a replacement", may_come=True)},
                "tests/python/relax/test_dataflow_rewriter.py: test_rewrite_may_introduce_private_relax_subroutines",
            ),
        ),
    ),
    _Rewriter("rewrite_bindings"),
    Contract(
        "DataflowBlockRewrite",
        where="relax",
        preconditions=(no_calls_in_place,),
        inside=("relax.analysis.udchain",),  # binding_rewrite.cc: FunctionUseDef
        functions=ONE_BY_ONE,
        idempotence=Idempotence.FIXPOINT,
        fixpoint_runs=3,
        notes="what only a dead local function captured is dead for the next run",
        operators=Operators("its documentation: adds what is given, and removes what is unused", ("*",), ("*", *_MADE)),
        variants=(
            Variant(
                r"edit\.(add|remove_unused)",
                {"idempotence": Idempotence.NEVER},
                "its documentation: each run adds, or removes, one",
            ),
        ),
    ),
    Contract(
        "analysis",
        where="relax",
        any_stage=True,
        functions=ONE_BY_ONE,
        operators=Operators("an analysis is asked of what is given back"),
        postconditions=stated(
            analysis.variables_missed,
            analysis.binding_missed,
            analysis.use_missed,
            analysis.shape_missed,
            analysis.type_misjudged,
            analysis.operands_left_apart,
            analysis.result_misjudged,
            analysis.purity_misjudged,
            analysis.recursion_missed,
            analysis.pattern_mismatched,
            analysis.ill_formed_accepted,
            analysis.wrong_parts_taken,
        ),
    ),
    Contract(
        "dataflowblock_pass",
        preconditions=(no_calls_in_place,),
        functions=ONE_BY_ONE,
        idempotence=Idempotence.NEVER,
        notes="its function copies a binding, in every run",
        operators=Operators("its function says what it makes", more=("*",)),
    ),
    Contract(
        "inline_functions",
        where="relax",
        inside=COPIES,
        functions=ONE_BY_ONE,
        operators=Operators("its documentation: a call becomes what the function does", ("*",), ("*",)),
        idempotence=Idempotence.NEVER,
        notes="each run inlines what is called then, and what that calls only in the next",
        refusals=(
            Refusal(
                "ValueError",
                r"must be unambiguous",
                "a function by variable and by name",
                "src/relax/transform/inline_functions.cc: the message says so",
            ),
        ),
    ),
    Contract(
        "ApplyEmptyCppMutator",
        where="relax.testing.transform",
        any_stage=True,
        functions=ONE_BY_ONE,
        operators=Operators("its documentation: a mutator that overrides nothing"),
    ),
)
