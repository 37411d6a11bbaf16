"""Run calls in a pool of processes of this machine, each one call at a time.

A process that dies loses only its own call, and a new process replaces it. There are no threads,
locks or queues here that a signal could leave behind. An exception ends all processes of the pool.
"""

import _thread
import contextlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, Self

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import groups

_LOOK_S = 1.0  # how often silent processes are woken
_WITHOUT_OUR_FILES = "forkserver" if sys.platform == "linux" else "spawn"
_FOLLOWER = "follows its parent"
_END_S = 20.0  # for a process to close its backends


class Died(Exception):  # noqa: N818 - a result
    """The process of a call died. The message describes how."""


class Pool:
    """Process pool: run calls by `each`, `results` or `call`, within `with`.

    jobs: how many processes, 0 one for each core; at most `tasks`, as each starts its backends.
    """

    def __init__(self, jobs: int, tasks: int) -> None:
        self.size = min(jobs or os.cpu_count() or 1, max(tasks, 1))
        self._workers: list[_Worker] = []
        self._method = start_method()
        self.waiting: Callable[[], object] = lambda: None  # called each second without a result

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return its result, or raise what it raised. Raises InputError if its process died."""
        return next(self.results(function, [arguments]))

    def results(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Yield the results as they come. Raises InputError if a process died."""
        for _, outcome in self.each(function, calls):
            if isinstance(outcome, Died):
                raise InputError("a process of the run", f"died: {outcome}", "run with --resume")
            yield outcome

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the index and the result of each call as it ends; Died if its process died. Raises
        what a call raised."""
        if self._method == "forkserver":  # whose first process then imports what the others need
            get_context("forkserver").set_forkserver_preload([function.__module__])
        waiting = list(enumerate(calls))[::-1]
        busy: dict[Connection, tuple[int, _Worker]] = {}
        while waiting or busy:
            while waiting and (worker := self._idle(busy)):
                index, arguments = waiting.pop()
                worker.give(function, arguments)
                busy[worker.connection] = (index, worker)
            for connection in self._ready(list(busy)):
                index, worker = busy.pop(connection)
                outcome = worker.outcome()
                if isinstance(outcome, Died):
                    self._workers.remove(worker)
                yield index, outcome

    def _idle(self, busy: dict[Connection, Any]) -> "_Worker | None":
        for worker in self._workers:
            if worker.connection not in busy:
                return worker
        while len(self._workers) < self.size:
            self._workers.append(_Worker(self._method))
            if len(self._workers) == self.size:
                self._method = _WITHOUT_OUR_FILES  # is what takes a place later
        return next((w for w in self._workers if w.connection not in busy), None)

    def _ready(self, connections: list[Connection]) -> list[Connection]:
        """Return those with a result or a dead process. Wake processes that were stopped."""
        while not (readable := wait(connections, _LOOK_S)):
            self.waiting()
            for worker in self._workers:
                worker.wake()
        return [connection for connection in connections if connection in readable]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for worker in self._workers:
            worker.kill() if kind else worker.dismiss()
        for worker in self._workers:
            worker.end()
        self._workers.clear()


class _Worker:
    """A process of the pool."""

    def __init__(self, method: str) -> None:
        context: Any = get_context(method)
        self.connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs, self.connection, dict(os.environ)), daemon=True
        )
        with _without_interrupts():
            self._process.start()
        theirs.close()
        groups.notify(f"process {self._process.pid}")

    def give(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        with contextlib.suppress(OSError):  # it died: outcome() reports it
            self.connection.send((function, arguments))

    def outcome(self) -> Any:
        """Wait for the result of the call and return it. Raises what the call raised."""
        try:
            good, outcome = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            return Died(self._how())
        if not good:
            raise outcome
        return outcome

    def wake(self) -> None:
        """Continue the process, if it was stopped."""
        if hasattr(signal, "SIGCONT"):
            with contextlib.suppress(OSError):
                os.kill(self._process.pid, signal.SIGCONT)

    def dismiss(self) -> None:
        """Ask the process to close its backends and end."""
        with contextlib.suppress(OSError):
            self.connection.send(None)
        self.wake()

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Wait until the process has ended; kill it if that takes too long."""
        self._process.join(_END_S)
        self._process.kill()
        self._process.join()
        self.connection.close()
        groups.notify(f"gone {self._process.pid}")

    def _how(self) -> str:
        code = self._process.exitcode
        names = {s.value: s.name for s in signal.Signals}
        return f"exit status {code}" if code >= 0 else f"signal {names.get(-code, -code)}"


def _work(connection: Connection, theirs: Connection, environment: dict[str, str]) -> None:
    """Run calls in a process of the pool, until None comes or the parent has ended."""
    theirs.close()
    os.environ.clear()  # a forkserver has that of the time when it began
    os.environ.update(environment)
    groups.release()
    groups.adopt_orphans()
    # A terminal sends it to all: the main process decides. Backends would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_follow_parent, name=_FOLLOWER, daemon=True).start()
    while (call := _next(connection)) is not None:
        function, arguments = call
        try:
            outcome = (True, function(*arguments))
        except Exception as error:
            outcome = (False, _to_send(error))
        with contextlib.suppress(OSError):  # the parent ended: so does this
            connection.send(outcome)


def _to_send(error: Exception) -> Exception:
    """Return the error with its traceback as a note: pickle drops the traceback."""
    error.add_note(traceback.format_exc())
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


def _next(connection: Connection) -> Any:
    try:
        return connection.recv()
    except (EOFError, OSError):
        return None


def _follow_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # its supervisor then ends what it started


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block SIGINT in processes that start meanwhile, until they unblock it."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_method() -> str:
    """Return how a new process of the pool starts: `fork`, `forkserver` or `spawn`.

    A new interpreter imports for longer than most chunks run. fork is safe without Python threads:
    a lock that a thread holds would stay locked in the copy; OpenBLAS ends its threads before a
    fork. With threads, a forkserver imports once and is copied. macOS's libraries allow neither.
    """
    if sys.platform != "linux":
        return "spawn"
    return "fork" if may_fork() else "forkserver"


def may_fork() -> bool:
    """Return whether no Python thread runs, apart from the one that waits for a pool's parent."""
    followers = sum(thread.name == _FOLLOWER for thread in threading.enumerate())
    return sys.platform == "linux" and _thread._count() == followers
