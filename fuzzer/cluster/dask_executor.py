"""The workers of a Dask cluster as those who do a campaign's work.

A Dask task under a key of its own is a shard, or several where they are fast. A shard is recorded once, when its result
has arrived: a task that is lost with its worker, or with the scheduler, is handed out again, and gives the same because
each shard depends on itself alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import KilledWorker
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError

from fuzzer.cluster import dask_worker
from fuzzer.cluster.executor import ExecutorError, LocalExecutor
from fuzzer.cluster.messages import (
    ShardReply,
    ShardRequest,
    TriageReply,
    TriageRequest,
    WorkerFault,
    WorkerMismatch,
    environment_key,
    needed_files,
)
from fuzzer.store.database import store_error
from fuzzer.store.door import SCRIPTS
from fuzzer.store.records import ShardResult
from fuzzer.worker import session_files as logfile
from relaxkit.files import write_atomically

if TYPE_CHECKING:
    from fuzzer.cluster.dask_client import DaskConnection
    from fuzzer.core.config import Config
    from fuzzer.shard.shard import ShardTask
    from fuzzer.triage.finding import TriageJob, TriageResult


# How many shards go to a Dask worker together: what a task costs the campaign's process does not grow with them.

TASKS = 4
"""Tasks a second that many workers are given together: each takes 2.5 ms of the campaign's process, whatever is in
it."""
LEAST_SECONDS = 1.0
MOST_SECONDS = 20.0
"""Of work in one task: about so much is judged again when its worker is lost."""
MOST_SHARDS = 32
_RECENT = 32


def target_seconds(workers: int) -> float:
    """Seconds of work in one task, where there are so many workers."""
    return min(MOST_SECONDS, max(LEAST_SECONDS, workers / TASKS))


class ShardRate:
    """Recent durations of shards, and the number to hand out together that follows from them.

    A few workers that judge a shard in some seconds are given one at a time; many of them, or fast ones, several.
    """

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_RECENT)

    def took(self, seconds: float) -> None:
        """A worker has judged a shard in so many seconds."""
        self._seconds.append(seconds)

    def size(self, workers: int) -> int:
        """Shards in one task, where there are so many workers; 1 until something is known."""
        if not self._seconds:
            return 1
        each = sum(self._seconds) / len(self._seconds)
        return max(1, int(min(MOST_SHARDS, target_seconds(workers) / max(each, 1e-6))))


MOST_FAULTS = 10
"""A task that so many workers could not do, or did not survive, ends the campaign: it is not chance any more."""
_SPARE = 4
"""One task for so many workers waits for the next one that is free, and an adaptive cluster grows for it."""
_LACKS = "Can't get attribute"
"""What a worker says whose relaxfuzz is there, and older than a function that it is to run."""
_GATHER = 0.02
"""Seconds; nobody waits for them, since each worker has its next task already."""
_HEED = 0.2
_LAST_CASE = 5.0
"""A case that sleeps is given three times its limit, and one that has died is drawn again."""
_END = 5.0


@dataclass(frozen=True, slots=True)
class _PendingShard:
    """A shard that somebody waits for."""

    task: ShardTask
    future: Future[ShardResult]

    def fulfil(self, result: ShardResult) -> None:
        with contextlib.suppress(InvalidStateError):  # the campaign has ended meanwhile
            self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


class DaskExecutor:
    """See ``fuzzer.cluster.executor.Executor``.

    Args:
        link: The open connection.
        config: The campaign's configuration.
        directory: The campaign's directory, of which nothing is needed on the workers.
        log: Where what TVM prints on the workers is collected.
        stop: As of ``Executor``.
        cut: As of ``Executor``.

    Raises:
        OSError: when a file that shards need cannot be read.
    """

    def __init__(
        self,
        link: DaskConnection,
        config: Config,
        directory: Path,
        log: Path,
        stop: threading.Event,
        cut: threading.Event,
    ) -> None:
        self._link = link
        self._config = config
        self._directory = directory
        self._log = log
        self._stop = stop
        self._cut = cut
        # A process of triage is told of plugins by its environment, which a worker's processes share with others.
        self._home = LocalExecutor(config, directory, log, stop, cut) if config.plugins else None
        self._session = uuid.uuid4().hex
        self._wanted = environment_key()
        self._files = needed_files(config)
        self._sent: tuple[Any, Any] = (None, None)  # a client, and the files as a task of it
        self._refused: dict[str, str] = {}
        self._under_way: dict[Any, frozenset[str] | None] = {}  # Dask futures, and the workers that they may go to
        self._work: set[Future[Any]] = set()
        self._pace = ShardRate()
        self._waiting: deque[_PendingShard] = deque()
        self._gathering = False  # whether what waits is about to be handed out
        self._shards: set[asyncio.Future[Any]] = set()
        self._cut_at: float | None = None
        self._given_up = False
        self._served = False  # whether any worker fits
        self._heeding = link.submit(self._heed())

    @property
    def workers(self) -> int:
        """See ``Executor``; of what the cluster has now."""
        return max(1, sum(threads for address, threads in self._link.threads.items() if address not in self._refused))

    @property
    def slots(self) -> int:
        """See ``Executor``."""
        workers = self.workers
        return (workers + 1 + workers // _SPARE) * self._pace.size(workers)

    @property
    def judged(self) -> int:
        """See ``Executor``: of the cluster's tasks nothing is known before they end."""
        return 0

    def shard(self, task: ShardTask) -> Future[ShardResult]:
        """See ``Executor``."""
        order = _PendingShard(task, Future())
        self._hand_out([order])
        return order.future

    def triage(self, job: TriageJob) -> Future[TriageResult]:
        """See ``Executor``."""
        return self._begin(self._triage(job)) if self._home is None else self._home.triage(job)

    def kill(self) -> None:
        """See ``Executor``."""
        if self._home is not None:
            self._home.kill()
        self._everywhere(dask_worker.kill)

    def close(self) -> None:
        """See ``Executor``."""
        for future in [*self._work, self._heeding]:
            future.cancel()
        if self._home is not None:
            self._home.close()
        self._everywhere(dask_worker.end)

    def _hand_out(self, orders: Sequence[_PendingShard]) -> None:
        self._waiting.extend(orders)
        if not self._gathering:
            self._gathering = True
            self._begin(self._gather())

    def _begin(self, coroutine: Any) -> Future[Any]:
        future = self._link.submit(coroutine)
        self._work.add(future)
        future.add_done_callback(self._work.discard)
        return future

    def _everywhere(self, function: Callable[[str], None]) -> None:
        with contextlib.suppress(Exception):
            self._link.submit(self._link.everywhere(function, self._session)).result(timeout=_END)

    # -- in the connection's thread ------------------------------------------------------------------------------

    async def _gather(self) -> None:
        """Make tasks of the shards that wait: they come one by one, at about the same time."""
        size = self._pace.size(self.workers)
        if size > 1:
            await asyncio.sleep(_GATHER)
        self._gathering = False  # first: what comes from now on is seen to by another one
        while self._waiting:
            orders = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
            self._begin(self._group(orders))

    async def _group(self, orders: Sequence[_PendingShard]) -> None:
        try:
            results = await self._results([order.task for order in orders])
        except asyncio.CancelledError:
            for order in orders:
                order.future.cancel()
            raise
        except Exception as error:
            for order in orders:
                order.fail(error)
            return
        for order, result in zip(orders, results, strict=False):
            order.fulfil(result)
        if rest := orders[len(results) :]:
            self._hand_out(rest)

    async def _results(self, tasks: Sequence[ShardTask]) -> Sequence[ShardResult]:
        parcel = ShardRequest(self._session, self._wanted, tuple(tasks), target_seconds(self.workers))
        asked = asyncio.ensure_future(self._ask(dask_worker.run_shards, parcel, "relaxfuzz-shard", -tasks[0].number))
        self._shards.add(asked)
        try:
            reply: ShardReply = await asked
        except asyncio.CancelledError:
            if not self._given_up:
                raise
            return [ShardResult(task.number, task.first, task.first) for task in tasks]
        finally:
            asked.cancel()
            self._shards.discard(asked)
        self._keep_log(reply.log)
        for result in reply.results:
            self._pace.took(sum(result.spent.values()))
        return reply.results

    async def _triage(self, job: TriageJob) -> TriageResult:
        # Where the scripts of a campaign go is no business of the worker's, and what calls back cannot travel.
        sent = replace(job, directory=Path(), plan=replace(job.plan, save=None, stop=None))
        parcel = TriageRequest(self._session, self._wanted, self._config, sent)
        reply: TriageReply = await self._ask(dask_worker.run_triage, parcel, "relaxfuzz-triage", 0)
        self._keep_log(reply.log)
        if reply.script is not None and reply.result.repro is not None:
            path = self._directory / SCRIPTS / f"{reply.result.id}.py"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, reply.script)
            except OSError as error:
                raise store_error(error, self._directory) from error
        return reply.result

    async def _ask(self, function: Callable[..., Any], parcel: Any, name: str, priority: int) -> Any:
        """Call a function with a request on some worker, however many are lost meanwhile."""
        faults: list[str] = []
        while len(faults) < MOST_FAULTS:
            fit = await self._fit()
            client = await self._link.client()
            future = client.submit(
                function, parcel, self._files_of(client), key=f"{name}-{uuid.uuid4().hex}", pure=False,
                priority=priority, workers=None if fit is None else sorted(fit),
            )  # fmt: skip
            self._under_way[future] = fit
            try:
                reply = await future
                self._served = True
                return reply
            except WorkerMismatch as unfit:
                self._refuse(*unfit.args)
            except KilledWorker as killed:
                faults.append(f"workers were lost with it, {killed.last_worker} the last")
            except WorkerFault as fault:
                faults.append("{}: {}".format(*fault.args))
            except (FutureCancelledError, CommClosedError, asyncio.TimeoutError):
                await asyncio.sleep(0.1)  # the connection is being restored, or its workers are gone
            except (ImportError, AttributeError) as error:
                if isinstance(error, AttributeError) and _LACKS not in str(error):
                    raise
                raise ExecutorError(f"a Dask worker has no matching version of relaxfuzz: {error}") from error
            finally:
                del self._under_way[future]
                future.release()
        raise ExecutorError(f"{name.replace('-', ' ')}: given up after {MOST_FAULTS} workers; {faults[-1]}")

    def _files_of(self, client: Any) -> Any:
        """The files that tasks need, as a task of the client's: each worker is sent them once."""
        if not self._files:
            return ()
        if self._sent[0] is not client or self._sent[1].cancelled():
            key = f"relaxfuzz-files-{uuid.uuid4().hex}"
            self._sent = client, client.submit(tuple, self._files, key=key, pure=False)
        return self._sent[1]

    def _refuse(self, address: str, different: str) -> None:
        """Hand nothing more to a worker that would give other results."""
        if address not in self._refused:
            self._refused[address] = different
            self._link.tell(f"Dask worker {address} is not used: it has {different}")

    async def _fit(self) -> frozenset[str] | None:
        """The workers that may be used; ``None`` for all. Waits for one where there was one before.

        Raises:
            ExecutorError: when there are workers, and never was one that fits.
        """
        while self._refused.keys() & self._link.threads.keys():
            if fit := frozenset(self._link.threads.keys() - self._refused.keys()):
                return fit
            if not self._served:
                address, different = next(iter(self._refused.items()))
                raise ExecutorError(f"no Dask worker can be used: {address} has {different}")
            await asyncio.sleep(_HEED)
        return None

    async def _heed(self) -> None:
        """Look after tasks now and then; a connection that is being restored may fail, and the next look comes soon."""
        while True:
            with contextlib.suppress(OSError, asyncio.TimeoutError, RuntimeError):
                await self._see_to_cut()
                there = self._link.threads.keys()
                for future, fit in list(self._under_way.items()):
                    if fit is not None and there and not fit & there:
                        await future.cancel()  # it waits for workers that are gone
            await asyncio.sleep(_HEED)

    async def _see_to_cut(self) -> None:
        """Tell the workers when shards are to be cut, and wait no longer than a case may take for what they say."""
        if not self._cut.is_set():
            return
        if self._cut_at is None:
            self._cut_at = time.monotonic()
            await self._link.everywhere(dask_worker.cut, self._session)
        late = time.monotonic() - self._cut_at > _LAST_CASE * self._config.case_timeout + _END
        if late or not self._link.threads:
            self._given_up = True
            for asked in list(self._shards):
                asked.cancel()

    def _keep_log(self, text: bytes) -> None:
        if not text:
            return
        with contextlib.suppress(OSError):
            logfile.bound_log(self._log)
            with self._log.open("ab") as file:
                file.write(text)


def executor_factory(link: DaskConnection) -> Any:
    """Make executors on the workers of this cluster (``fuzzer.cluster.executor.ExecutorFactory``)."""

    def begin(config: Config, directory: Path, log: Path, stop: threading.Event, cut: threading.Event) -> DaskExecutor:
        return DaskExecutor(link, config, directory, log, stop, cut)

    return begin
