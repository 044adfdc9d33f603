"""The connection to a Dask cluster: opened, watched, and opened again when the scheduler comes back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from fuzzer.cluster.executor import ExecutorError
from fuzzer.core.config import MAX_WORKERS, ConfigError, parse_whole

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

MISSING = "--dask needs Dask's scheduler, which is not installed: pip install 'relaxfuzz[dask]'"
PATIENCE = 600.0
"""Seconds that a campaign waits for a scheduler that has gone; Dask's setting ``relaxfuzz.patience`` overrides it."""
_CONNECT = 15.0
_START = 120.0
_LOOK = 1.0
_ANSWER = 10.0
_LOCAL = re.compile(r"local(?::(.*))?")


class DaskConnection:
    """A connection to a cluster, in a thread with an event loop of its own; a context manager.

    Args:
        where: The scheduler's address, a scheduler file that ends in ``.json``, or ``local:N`` for workers of its own.
        tell: Is given lines for the user.

    Raises:
        ConfigError: when there is no such cluster.
    """

    def __init__(self, where: str, tell: Callable[[str], None]) -> None:
        self.where = where
        self.tell = tell
        self.threads: dict[str, int] = {}  # of each worker, by address
        self._begin = _beginning(where)
        self._client: Client | None = None
        self._cluster: Any = None
        self._failure: ExecutorError | None = None
        self._closing = False
        self._watching: Future[None] | None = None
        self._looked = False
        self._loop = asyncio.new_event_loop()
        # Dask leaves tasks to themselves that fail with the connection; ours all hand on what they raise.
        self._loop.set_exception_handler(lambda loop, context: None)
        self._thread = threading.Thread(target=self._loop.run_forever, name="relaxfuzz-dask", daemon=True)
        self._thread.start()
        try:
            self.submit(self._open()).result()
        except BaseException:
            self.close()
            raise
        self._watching = self.submit(self._watch())

    def __enter__(self) -> DaskConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the connection's thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def client(self) -> Client:
        """Give the connected client; waits for a scheduler that is gone, raises ``ExecutorError`` after too long."""
        while True:
            if self._failure is not None:
                raise self._failure
            if self._client is not None and self._client.status == "running":
                return self._client
            await asyncio.sleep(0.1)

    async def everywhere(self, function: Callable[[str], None], argument: str, seconds: float = 3.0) -> None:
        """Call a function on all workers, as far as they can be reached in so many seconds."""
        client = self._client
        if client is None or client.status != "running":
            return
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(client.run(function, argument, on_error="ignore"), seconds)

    def close(self) -> None:
        """End the connection, and the cluster if it is our own; safe to call twice."""
        if self._closing:
            return
        self._closing = True
        with contextlib.suppress(Exception):
            self.submit(self._close()).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)

    # -- in the connection's thread ------------------------------------------------------------------------------

    async def _open(self) -> None:
        try:
            if self._begin is not None:
                self._cluster = await asyncio.wait_for(self._begin(), _START)
            self._client = await self._connected()
            await self._look(self._client)
        except (OSError, asyncio.TimeoutError, ValueError, TypeError) as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise ConfigError(f"no Dask scheduler answers at '{self.where}': {reason[0]}") from error

    async def _connected(self) -> Client:
        from distributed import Client

        place: dict[str, Any] = {"address": self._cluster or self.where}
        if self._cluster is None and self.where.endswith(".json"):
            place = {"scheduler_file": self.where}
        # Security is left to Dask's own configuration.
        client = Client(**place, asynchronous=True, set_as_default=False, timeout=_CONNECT, name="relaxfuzz")
        try:
            return await asyncio.wait_for(client, _CONNECT + 5)
        except BaseException:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(client.close(), 5)
            raise

    async def _watch(self) -> None:
        lost_at: float | None = None
        while not self._closing:
            client = self._client
            if client is not None and client.status == "running":
                if lost_at is not None:
                    lost_at = None
                    self.tell("the Dask scheduler is back")
                await self._look(client)
            else:
                if lost_at is None:
                    lost_at = time.monotonic()
                    self.threads = {}
                    self.tell(f"the Dask scheduler at {self.where} is gone; waiting for it")
                if time.monotonic() - lost_at > _patience():
                    self._failure = ExecutorError(
                        f"the Dask scheduler at {self.where} has been gone for {_patience():.0f} s; "
                        f"what was recorded is kept, the same command resumes the campaign"
                    )
                    return
                if client is None or client.status in ("closed", "closing"):
                    with contextlib.suppress(OSError, asyncio.TimeoutError, ValueError):
                        self._client = await self._connected()
            await asyncio.sleep(_LOOK)

    async def _look(self, client: Client) -> None:
        """See which workers there are."""
        try:
            info = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), _ANSWER)
        except (OSError, asyncio.TimeoutError):
            return
        found = {address: int(worker["nthreads"]) for address, worker in info["workers"].items()}
        if found.keys() != self.threads.keys() or not self._looked:
            self._looked = True
            count, threads = len(found), sum(found.values())
            more = f" ({threads} threads)" if threads != count else ""
            what = f"{count} worker{'' if count == 1 else 's'}{more}" if found else "no worker yet; waiting for one"
            self.tell(f"Dask: {what}")
        self.threads = found

    async def _close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        for each in (self._client, self._cluster):
            if each is not None:
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(each.close(), 10)


def _patience() -> float:
    import dask

    return float(dask.config.get("relaxfuzz.patience", PATIENCE))


def _beginning(where: str) -> Callable[[], Coroutine[Any, Any, Any]] | None:
    """Give what starts a cluster of this machine, where one is meant; raises ``ConfigError``."""
    try:
        import distributed  # noqa: F401 - only whether it is there and can be loaded
    except ImportError as error:
        raise ConfigError(MISSING) from error
    # What becomes of the scheduler and of workers is said in a line of ours. Dask gives some of its loggers levels.
    for name in ("distributed", "tornado", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    match = _LOCAL.fullmatch(where)
    if match is None:
        if not where:
            raise ConfigError("--dask '' is neither an address, nor a scheduler file, nor local:N")
        return None
    count = parse_whole(match[1] or "", f"--dask '{where}': the number of workers", 1, MAX_WORKERS)

    async def begin() -> Any:
        from distributed import LocalCluster

        return await LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, memory_limit=0, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", asynchronous=True, silence_logs=logging.CRITICAL,
        )  # fmt: skip

    return begin
