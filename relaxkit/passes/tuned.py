"""Schedules from a database, applied to a module's kernels; also copied into repro scripts."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax


def tuned(module: Any, factor: int) -> Any:
    """Apply ``MetaScheduleApplyDatabase`` with a record for each kernel, as tuning would leave one.

    Args:
        module: A module of kernels and their calls.
        factor: By how much the outermost loop of each block of a kernel is split.
    """
    # These need a moment to import.
    from tvm.s_tir.meta_schedule import database, relax_integration

    target = tvm.target.Target({"kind": "llvm", "num-cores": 1})
    records = database.MemoryDatabase()
    for task in relax_integration.extract_tasks(module, target):
        (workload,) = task.dispatched
        schedule = tvm.s_tir.Schedule(workload)
        root = getattr(workload["main"].body, "block", None)  # a kernel of one loop nest has none
        rooted = root is not None and str(root.name_hint) == "root"
        for block in schedule.get_child_blocks(schedule.get_sblock("root")) if rooted else ():
            if loops := schedule.get_loops(block):
                schedule.split(loops[0], factors=[None, factor])
        stored = records.commit_workload(workload)
        records.commit_tuning_record(database.TuningRecord(schedule.trace, stored, [1.0], target))
    with target, records:
        return relax.transform.MetaScheduleApplyDatabase()(module)
