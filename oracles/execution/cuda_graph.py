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

from typing import Any

import tvm

GET_CACHED_ALLOC = "vm.builtin.cuda_graph.get_cached_alloc"
RUN_OR_CAPTURE = "vm.builtin.cuda_graph.run_or_capture"
_OURS: list[str] = []


def with_cuda_graph(built: Any) -> Any:
    """Register the builtins, unless TVM has its own, and give back the pass whose output calls them."""
    kept: dict[Any, tuple[Any, Any]] = {}

    def recall(machine: Any, closure: Any, key: Any) -> Any:
        """What was kept for a function of this machine: closures belong to one, and one that is held has no heir."""
        held, value = kept.get((machine.value, *key), (None, None))
        return value if held is not None and held.same_as(closure) else None

    def get_cached_alloc(machine: Any, closure: Any, index: Any) -> Any:
        storages = recall(machine, closure, ("alloc", int(index)))
        if storages is None:
            storages = tvm.get_global_func("vm.builtin.invoke_closure")(machine, closure)
            kept[machine.value, "alloc", int(index)] = closure, storages
        return storages

    def run_or_capture(machine: Any, closure: Any, arguments: Any, index: Any, *dims: Any) -> Any:
        key = ("graph", int(index), *(int(dim) for shape in dims for dim in shape))
        captured = recall(machine, closure, key)
        if captured is None:
            captured = list(arguments)
            kept[(machine.value, *key)] = closure, captured
        return tvm.get_global_func("vm.builtin.invoke_closure")(machine, closure, *captured)

    for name, function in ((GET_CACHED_ALLOC, get_cached_alloc), (RUN_OR_CAPTURE, run_or_capture)):
        if name in _OURS or tvm.get_global_func(name, allow_missing=True) is None:
            tvm.register_global_func(name, function, override=True)
            _OURS.append(name)
    return built
