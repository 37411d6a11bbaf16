"""A Dask cluster as the executor of a run: `run --executor dask:ADDRESS`.

If a worker dies, Dask gives its task to another, up to `distributed.scheduler.allowed-failures`
times. All workers must have one configuration, because a bundle holds one machine. They are asked
before the run, and every call asks its worker again, since workers come and go.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future, as_completed
from typing import Any, Self

from sampler_parity.harness.backends.registry import device_of
from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.info import MachineInfo, RunInfo
from sampler_parity.harness.bundle.writer import differing
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.run.started import Intent, describe

_CONNECT_S = 30
_LOOK_S = 1.0  # between looks for a worker that does not answer
_turn = threading.Lock()  # the backends of a process take one request at a time
_described: dict[str, RunInfo] = {}  # this process's own description, by run


def labels(names: list[str], more: list[str]) -> list[str]:
    """Return the Dask resources that a worker must have: the devices of the backends, and
    more labels."""
    return sorted({device for name in names if (device := device_of(name))} | set(more))


class Cluster:
    """Runs calls on workers that have every label, one at a time on each.

    Raises InputError if no scheduler answers, no worker has the labels, or workers differ.
    """

    def __init__(self, address: str, labels: list[str]) -> None:
        try:
            from distributed import Client
            from distributed.comm import get_address_host_port
        except ImportError:
            fix = "install the extra: pip install 'sampler-parity[dask]'"
            raise InputError(f"dask:{address}", "Dask is not installed", fix) from None
        self._where, self._labels = f"dask:{address}", labels
        try:
            get_address_host_port(address)
        except ValueError as error:  # a client would take a minute and leave a traceback
            raise InputError(
                self._where, f"invalid address: {error}", "use dask:HOST:PORT"
            ) from None
        try:
            self._client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(self._where, f"no scheduler answers: {error}") from None
        self._expected: tuple[RunInfo, Intent] | None = None
        self._pool = self._client.get_executor(pure=False, resources=dict.fromkeys(labels, 1))

    def describe(self, intent: Intent) -> RunInfo:
        """Describe the workers, as `describe` of harness/run/started.py does. Raises
        InputError."""
        workers = self._workers()
        futures = {
            worker: self._client.submit(
                _alone,
                None,
                describe,
                (intent,),
                pure=False,
                workers=[worker],
                allow_other_workers=False,
            )
            for worker in workers
        }
        infos = {worker: self._answer(worker, future) for worker, future in futures.items()}
        first, info = next(iter(infos.items()))
        ours = _of_sampler_parity(machine.describe())
        if differences := differing(_of_sampler_parity(info.machine), ours):
            problem = (
                f"{first} and this machine differ in the {', '.join(differences)} of sampler-parity"
            )
            raise InputError(self._where, problem, "install the same on all")
        for worker, described in infos.items():
            if differences := differing(_facts(info), _facts(described)):
                problem = f"{first} and {worker} differ in {', '.join(differences)}"
                fix = "a bundle holds one configuration: choose workers with --label"
                raise InputError(self._where, problem, fix)
        self._expected = info, intent
        return info

    def _answer(self, worker: str, future: Any) -> RunInfo:
        """Return the worker's description of itself. Dask would wait forever for a dead worker."""
        while True:
            try:
                info: RunInfo = future.result(timeout=_LOOK_S)
            except TimeoutError:
                if worker not in self._present():
                    problem = f"worker {worker} died while it described itself"
                    raise InputError(self._where, problem, "run again") from None
            else:
                return info

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Yield results as `Pool.each`; Died for a call that killed as many workers as Dask
        allows."""
        indices = {self._submit(function, call): index for index, call in enumerate(calls)}
        for future in as_completed(indices):
            try:
                outcome = future.result()
            except Exception as error:
                if type(error).__name__ != "KilledWorker":
                    raise
                outcome = Died("it killed workers of the cluster, one after the other")
            yield indices[future], outcome

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._submit(function, arguments).result()

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        future: Future[Any] = self._pool.submit(_alone, self._expected, function, arguments)
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        self._pool.shutdown(wait=False)
        self._client.close()
        if isinstance(error, CancelledError) or type(error).__name__ == "KilledWorker":
            raise BrokenExecutor("workers of the cluster died") from error

    @property
    def size(self) -> int:
        """How many workers it has now."""
        return len(self._workers())

    def _present(self) -> dict[str, Any]:
        """Return all workers that the scheduler reports. The client's own `scheduler_info` is
        sometimes empty: every two seconds an answer without workers replaces it."""
        identity = self._client.sync(self._client.scheduler.identity, n_workers=-1)
        workers: dict[str, Any] = identity["workers"]
        return workers

    def _workers(self) -> list[str]:
        """Return the addresses of the workers with all labels."""
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError:
            raise InputError(self._where, "has no worker", "start one: dask worker") from None
        workers = self._present()
        able = [name for name, about in workers.items() if {*self._labels} <= {*about["resources"]}]
        if not able:
            resources = " ".join(f"{label}=1" for label in self._labels)
            problem = f"none of its {len(workers)} workers has {', '.join(self._labels)}"
            raise InputError(self._where, problem, f"dask worker --resources '{resources}'")
        return able


def _alone(
    expected: tuple[RunInfo, Intent] | None, call: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    """Call a function on a worker; refuse if its configuration is not the one described."""
    with _turn:
        if expected:
            _refuse_another(*expected)
        return call(*args)


def _refuse_another(info: RunInfo, intent: Intent) -> None:
    """Refuse another configuration. The backends are asked once per run: they then stand ready."""
    key = info.model_dump_json()
    if key not in _described:
        _described[key] = describe(intent)
    if differences := differing(_facts(info), _facts(_described[key])):
        problem = f"a worker that joined the cluster differs in {', '.join(differences)}"
        raise InputError("dask", problem, "choose workers with --label, then run with --resume")


def _facts(info: RunInfo) -> dict[str, Any]:
    """Return the facts of a worker that may change a result, with its suites and what they name."""
    backends = {
        f"backend {name}": backend.model_dump(exclude={"command", "files"})
        for name, backend in info.backends.items()
    }
    return info.machine.configuration() | {"suites": info.machine.suites} | backends


def _of_sampler_parity(described: MachineInfo) -> dict[str, Any]:
    version = described.packages["sampler-parity"]
    return {"version": version, "code": described.code, "suites": described.suites}
