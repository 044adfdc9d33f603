"""CUDA graphs on a CPU: what ``RewriteCUDAGraph`` leaves in a module is executed as a graph would be, launch by launch.

The pass moves allocations of constant size into one function, whose result ``vm.builtin.cuda_graph.get_cached_alloc``
keeps, and static regions into functions that ``vm.builtin.cuda_graph.run_or_capture`` captures at their first call and
replays later. The wheel for CPUs has neither builtin; the virtual machine looks them up among the global functions, so
that functions of ours can stand in. They keep what the real ones keep: storages are allocated once, and a replay runs
on the arguments of the capture, since a captured graph knows addresses and no arguments
(src/runtime/vm/cuda/cuda_graph_builtin.cc).

The builtins belong to the process. What they keep is forgotten whenever the pass is built anew, which is before the
programs of each subject.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm

GET_CACHED_ALLOC = "vm.builtin.cuda_graph.get_cached_alloc"
RUN_OR_CAPTURE = "vm.builtin.cuda_graph.run_or_capture"
_OURS: set[str] = set()


class Graphs:
    """Storages and captured arguments that the builtins keep.

    Args:
        invoke: Calls a function of a machine: ``invoke(machine, closure, *arguments)``.
    """

    def __init__(self, invoke: Callable[..., Any]) -> None:
        self.invoke = invoke
        self._kept: dict[Any, tuple[Any, Any]] = {}

    def get_cached_alloc(self, machine: Any, closure: Any, index: Any) -> Any:
        """Return the storages that the function gave when it was called first."""
        key = (machine.value, "alloc", int(index))
        storages = self._recall(key, closure)
        if storages is None:
            storages = self.invoke(machine, closure)
            self._kept[key] = closure, storages
        return storages

    def run_or_capture(self, machine: Any, closure: Any, arguments: Any, index: Any, *dims: Any) -> Any:
        """Call the function, from the second call on with the arguments of the first, for each value of dims."""
        key = (machine.value, "graph", int(index), *(int(dim) for shape in dims for dim in shape))
        captured = self._recall(key, closure)
        if captured is None:
            captured = list(arguments)
            self._kept[key] = closure, captured
        return self.invoke(machine, closure, *captured)

    def _recall(self, key: Any, closure: Any) -> Any:
        """Return what was kept for a function: closures belong to one machine, and while one is held it has no heir."""
        held, value = self._kept.get(key, (None, None))
        return value if held is not None and held.same_as(closure) else None


def with_cuda_graph(built: Any) -> Any:
    """Register the builtins, unless TVM has its own, and give back the pass whose output calls them."""
    graphs = Graphs(tvm.get_global_func("vm.builtin.invoke_closure"))
    for name, function in ((GET_CACHED_ALLOC, graphs.get_cached_alloc), (RUN_OR_CAPTURE, graphs.run_or_capture)):
        if name in _OURS or tvm.get_global_func(name, allow_missing=True) is None:
            tvm.register_global_func(name, function, override=True)
            _OURS.add(name)
    return built
