"""Isolated processes: TVM meets untrusted modules only here, where a crash, a hang or a full memory loses nothing."""

from __future__ import annotations

import contextlib
import pickle
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from fuzzer.worker.child import MEMORY_EXIT, serve
from fuzzer.worker.death import Death, Died
from fuzzer.worker.flight_recorder import FlightRecorder
from fuzzer.worker.process import ChildProcess
from fuzzer.worker.session_files import bound_log

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_TIME_LIMIT = 20.0
"""Seconds for one case.  The slowest honest case seen took 3 s on a loaded machine."""
DEFAULT_MEMORY_LIMIT = 3 << 30
"""Bytes of private memory for one process."""
RECYCLE_RSS = 1_200 << 20
"""A process larger than this between two calls is replaced: TVM's and LLVM's caches only grow."""
DOUBTS = 2
"""A process that somebody else may have ended is followed by so many more, before what it did is to blame."""
_POLL = 0.1
"""Seconds between two looks at a process that says nothing; what it says is heard at once."""
_AT_WORK = 0.5
"""Of its time limit, a case must have had so much of a processor before it counts as a hang: a case is not slow because
the machine is busy."""
_IDLE = 3.0
"""A case that takes no processor's time, as in a deadlock, is given so many times its limit."""
_BLOCKED = 0.02
"""A step that had less of the processor than this share of its time waits for something else than its turn."""
_START_LIMIT = 120.0
_LAST = 5.0
"""Seconds for a process to end that was killed or has closed its end."""


class ChildError(RuntimeError):
    """The function in the isolated process raised: an error of this program, not of the pass under test."""


def _hangs(process: ChildProcess, taken: float, used: float, limit: float) -> bool:
    """Say whether something that has ``taken`` so long, and began after ``used`` processor time, is beyond a limit."""
    if taken <= limit:
        return False
    return taken > _IDLE * limit or process.processor_time - used > _AT_WORK * limit


def _single(pair: tuple[Callable[[Any], Any], Any]) -> Iterable[Any]:
    function, argument = pair
    yield function(argument)


class IsolatedWorker:
    """A process with TVM loaded that runs functions and may die of them.

    It is started on first use, kept from call to call, and replaced after a death or when it has grown beyond
    ``RECYCLE_RSS``.  Not for use by two threads at once.

    Attributes:
        time_limit: Seconds for one case.
        memory_limit: Bytes of private memory.
        inherits: Whether it is a copy of this process with all objects of its, such as a test with its fixtures, and
            prints where this one does; otherwise it knows what it imports and what it is sent.
    """

    def __init__(
        self,
        *,
        time_limit: float = DEFAULT_TIME_LIMIT,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
        log: Path | None = None,
        inherits: bool = False,
    ) -> None:
        self.inherits = inherits
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self._log = log
        self._process: ChildProcess | None = None
        self._recorder = FlightRecorder()
        self._next = 0  # number of the message that comes next
        self._unwanted = False  # killed by :meth:`kill`
        self._closed = False

    def __enter__(self) -> IsolatedWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(
        self, function: Callable[[T], R], argument: T, time_limit: float | None = None, memory_limit: int | None = None
    ) -> R | Died:
        """Call ``function(argument)`` in the process; return its result, or how it died.

        Where somebody else may have ended the process, the function runs again in another one.

        Raises:
            ChildError: when the function raised.
        """
        for _ in range(1 + DOUBTS):
            for item in self.stream(_single, (function, argument), time_limit, memory_limit):
                result = item
            if not (isinstance(result, Died) and result.doubtful) or self._unwanted:
                break
        return cast("R | Died", result)

    def stream(
        self,
        function: Callable[[T], Iterable[R]],
        argument: T,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        hurry: Callable[[], bool] | None = None,
        adaptive: bool = False,
    ) -> Iterator[R | Died]:
        """Items of ``function(argument)`` as the process yields them; a ``Died`` comes last if it dies.

        Where the limit is ``adaptive``, a step that takes far longer than others of its kind is ended before it.
        Once ``hurry`` says so, the process is asked to yield what it has (``fuzzer.worker.child.flush_asked``).

        Raises:
            ChildError: when the function raised.
        """
        limit = self.time_limit if time_limit is None else time_limit
        memory = self.memory_limit if memory_limit is None else memory_limit
        self._unwanted = False
        self._recorder.ask(False)
        process = self._ensure(memory)
        try:
            process.connection.send((function, argument))
        except OSError:
            yield from self._ended(process, self._exited(process))
            return
        while True:
            message = self._receive(process, limit, memory, hurry, adaptive)
            if isinstance(message, Died):
                yield from self._ended(process, message)
                return
            tag, item, number = message
            self._next = number + 1
            if tag == "item":
                yield cast("R", item)
            elif tag == "error":
                raise ChildError(item)
            else:
                if process.resident > RECYCLE_RSS:
                    self._stop()
                return

    def each(self, function: Callable[[list[T]], Iterable[R]], items: Iterable[T]) -> Iterator[R | Died]:
        """Yield what ``function(items)`` yields, one answer an item; after a death the rest goes on in a new process.

        Raises:
            ChildError: when the function raised.
        """
        left = list(items)
        while left:
            answered = 0
            for answer in self.stream(function, left):
                answered += 1
                yield answer
            left = left[max(1, answered) :]

    def close(self) -> None:
        """End the process."""
        self._stop()
        if not self._closed:
            self._closed = True
            self._recorder.close()

    @property
    def judged(self) -> int:
        """Number of cases that the call under way has judged so far."""
        return 0 if self._closed else max(0, self._recorder.last_step().cases - 1)

    @property
    def closed(self) -> bool:
        """Say whether it was closed for good."""
        return self._closed

    def kill(self) -> None:
        """End the process at once; safe to call from another thread."""
        self._unwanted = True
        process = self._process
        if process is not None:
            process.kill()

    def fresh(self) -> None:
        """Let the next call run in a new process."""
        self._stop()

    # -- inside -------------------------------------------------------------------------------------------------

    def _ensure(self, memory_limit: int) -> ChildProcess:
        if self._log is not None:
            bound_log(self._log)
        if self._process is not None and self._process.exit_code() is None:
            return self._process
        self._stop()
        self._recorder.clear()
        self._next = 0
        log = None if self._log is None else str(self._log)
        arguments = (self._recorder, log, memory_limit, not self.inherits)
        self._process = ChildProcess(serve, arguments, inherits=self.inherits)
        return self._process

    def _receive(
        self,
        process: ChildProcess,
        time_limit: float,
        memory_limit: int,
        hurry: Callable[[], bool] | None,
        adaptive: bool,
    ) -> Any:
        waited_from = time.monotonic()
        next_look = waited_from + 0.25
        while True:
            try:
                if process.wait_for_message(_POLL):
                    return process.connection.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                return self._exited(process)
            if hurry is not None and hurry():
                self._recorder.ask(True)
            now = time.monotonic()
            step = self._recorder.last_step()
            since = step.since
            if since and _hangs(process, now - since, step.used, time_limit):
                return self._killed(process, since, Death.HANG, f"no answer within {time_limit:g} s")
            if adaptive and since and 0 < step.patience < time_limit:
                taken = now - step.began
                blocked = taken > step.patience and process.processor_time - step.began_used < _BLOCKED * taken
                if blocked or _hangs(process, taken, step.began_used, step.patience):
                    died = self._killed(
                        process, since, Death.HANG, f"no answer within {step.patience:.3g} s", step.began
                    )
                    return replace(died, early=died.death is Death.HANG)
            if not since and now - waited_from > max(_START_LIMIT, time_limit):
                return self._killed(process, since, Death.HANG, f"no answer within {_START_LIMIT:g} s")
            if now >= next_look:
                next_look = now + 0.25
                if process.resident > memory_limit:
                    return self._killed(process, since, Death.MEMORY, f"more than {memory_limit >> 20} MiB resident")

    def _killed(self, process: ChildProcess, since: float, death: Death, detail: str, began: float = 0.0) -> Died:
        """End the process for what it does in the case that began at ``since``, or in the step that ``began`` then."""
        process.kill()
        process.exit_code(_LAST)
        step = self._recorder.last_step()
        if step.since != since or (
            began and step.began != began
        ):  # it had come to the next one meanwhile, which is not to blame
            return Died.by_exit_code(-signal.SIGKILL, step.stage)
        return Died(death, detail, step.stage)

    def _exited(self, process: ChildProcess) -> Died:
        """Say how the process ended that closed its end of the connection."""
        stage = self._recorder.last_step().stage
        code = process.exit_code(_LAST)
        return Died(Death.MEMORY, "out of memory", stage) if code == MEMORY_EXIT else Died.by_exit_code(code, stage)

    def _ended(self, process: ChildProcess, died: Died) -> Iterator[Any]:
        """Yield what a dead process had sent, and how it died with what it had not sent."""
        try:
            with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
                while process.wait_for_message(0.0):
                    tag, item, number = process.connection.recv()
                    self._next = number + 1
                    if tag == "item":
                        yield item
        finally:
            self._stop()
        yield replace(died, unsent=self._recorder.unsent(self._next))

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()
