"""The ways to run a pass under another circumstance.

Also the source text of repro scripts, so that a script does exactly what the oracle did: what stands here uses nothing
but TVM and the standard library, and says each circumstance by its words (``relaxkit.passes.contract.Circumstance``).
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Sequence

import tvm
from tvm import relax

OTHER_MODULE = """
@I.ir_module
class Module:
    @R.function(private=True)
    def helper(
        x: R.Tensor((3, 4), "float32"), t: R.Tuple(R.Tensor((3, 4), "float32"), R.Tensor((3, 4), "float32"))
    ) -> R.Tensor((3, 4), "float32"):
        with R.dataflow():
            lv: R.Tensor((3, 4), dtype="float32") = t[0]
            gv: R.Tensor((3, 4), dtype="float32") = R.multiply(x, lv)
            R.output(gv)
        return gv

    @R.function
    def main(
        x: R.Tensor((3, 4), "float32"), y: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")
    ) -> R.Tensor((3, 4), "float32"):
        n = T.int64()
        R.func_attr({"num_input": 2})
        cls = Module
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype="float32") = R.permute_dims(w, axes=None)
            lv1: R.Tensor((3, 4), dtype="float32") = R.matmul(x, lv)
            lv2: R.Tensor((3, 4), dtype="float32") = R.add(lv1, R.const(1.0, "float32"))
            lv3: R.Tensor((3, 4), dtype="float32") = R.add(lv1, R.const(1.0, "float32"))
            lv4: R.Tensor((n, 4), dtype="float32") = R.exp(y)
            lv5: R.Tensor((4, 3), dtype="float32") = R.reshape(lv3, R.shape([4, 3]))
            lv6: R.Tensor((3, 4), dtype="float32") = R.reshape(lv5, R.shape([3, 4]))
            gv: R.Tensor((3, 4), dtype="float32") = R.add(lv2, lv6)
            R.output(gv)
        gv1: R.Tensor((3, 4), dtype="float32") = cls.helper(gv, (gv, x))
        return gv1

    @R.function
    def small(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.add(R.const([1.0, 2.0], "float32"), R.const([3.0, 4.0], "float32"))
            gv: R.Tensor((2,), dtype="float32") = R.add(x, lv)
            R.output(gv)
        return gv
"""
"""What has nothing to do with the module under judgement, but names that modules often have."""


@tvm.ir.instrument.pass_instrument
class Watching:
    """An instrument that has all hooks, lets every pass run and holds every module that it is shown."""

    def __init__(self) -> None:
        self.shown: list[tvm.IRModule] = []

    def enter_pass_ctx(self) -> None:
        """Do nothing."""

    def exit_pass_ctx(self) -> None:
        """Do nothing."""

    def should_run(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> bool:
        """Let every pass run."""
        return True

    def run_before_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Hold the module: a pass that saves a copy where it is the only owner must make it now."""
        self.shown.append(module)

    def run_after_pass(self, module: tvm.IRModule, info: tvm.ir.transform.PassInfo) -> None:
        """Hold the module."""
        self.shown.append(module)


def run_under(
    how: str,
    built: tvm.ir.transform.Pass,
    rebuild: Callable[[], tvm.ir.transform.Pass],
    other: Callable[[], tvm.IRModule],
    module: tvm.IRModule,
    trace: tvm.ir.instrument.PassInstrument | None = None,
) -> tvm.IRModule:
    """Run a pass under a circumstance.

    Args:
        how: The circumstance, in the words of ``Circumstance``.
        rebuild: Builds it once more, from the same text.
        other: Gives another module at the same stage.
        trace: An instrument that shall see the run as well.
    """

    def work() -> tvm.IRModule:
        """Run it in this thread."""
        instruments = [] if trace is None else [trace]
        if how == "under a pass instrument":
            instruments.append(Watching())
        if how == "under PassTimingInstrument":
            instruments.append(tvm.ir.instrument.PassTimingInstrument())
        level = {"at opt_level zero": 0, "at opt_level one": 1, "at opt_level three": 3}.get(how, 2)
        config = {"testing.immutable_module": True} if how == "under testing.immutable_module" else {}
        target = tvm.target.Target("c" if how == "under another target" else "llvm")
        with contextlib.nullcontext() if how == "outside of a target" else target:
            made = rebuild() if how == "as another object" else built
            if how == "after other passes":
                run_other_passes()
            elif how == "after a pass that raised":
                run_raising_pass()
            elif how == "after a run on another module":
                with contextlib.suppress(Exception):  # what the pass makes of that module is not asked here
                    built(other())
            with tvm.transform.PassContext(opt_level=level, instruments=instruments, config=config):
                return made(module)

    # The timing instrument forgets its stack of running passes when one of them raises, and reads freed memory when it
    # is used in that thread again.
    return in_thread(work) if how in ("in another thread", "under PassTimingInstrument") else work()


@functools.cache
def other_module() -> tvm.IRModule:
    """Parse the other module."""
    return tvm.script.from_source(OTHER_MODULE)


def small_module() -> tvm.IRModule:
    """Return the other module's function of two operators, by itself."""
    return tvm.IRModule({"small": other_module()["small"]})


def other_module_after(passes: Sequence[tvm.ir.transform.Pass]) -> tvm.IRModule:
    """Run passes on the other module, those left out that raise on it or leave it ill-formed.

    What the next ones do with an ill-formed module says nothing of them: VMShapeLower dies of a call of a function that
    UpdateParamType has lost.
    """
    module = other_module()
    for each in passes:
        try:
            after = each(module)
        except Exception:  # such as one that names functions which this module has not
            continue
        if relax.analysis.check_well_formed(after):
            module = after
    return module


def run_other_passes() -> None:
    """Run passes of several kinds on the other module: in C++ and in Python, some that lift, legalize and fuse."""
    module = other_module()
    for name in ("CanonicalizeBindings", "EliminateCommonSubexpr", "LiftTransformParams", "RemoveRedundantReshape"):
        getattr(relax.transform, name)()(module)
    module = small_module()  # these take milliseconds an operator
    for name in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"):
        module = getattr(relax.transform, name)()(module)


def run_raising_pass() -> None:
    """Run a pass that raises in the midst of a dataflow block, in a callback of Python's out of C++."""

    def refuse(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        raise ValueError("refused on purpose")

    with contextlib.suppress(ValueError):
        relax.transform.LegalizeOps({"relax.add": refuse})(small_module())


def in_thread(work: Callable[[], tvm.IRModule]) -> tvm.IRModule:
    """Call a function in a thread of its own; contexts and targets belong to threads, so that it has none."""
    results: list[tvm.IRModule] = []
    raised: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return results[0]
