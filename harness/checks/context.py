"""The context of a run's checks: its terms, bundle, processes and progress callback."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.info import FileInfo
from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.bundle.writer import BundleWriter
from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.stages.reference_cache import Answers
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.statistics.plan import Budget, Errors
from sampler_parity.harness.verdicts import Accept

BEAT_S = 1.0


class ProgressCallback(Protocol):
    """Called with finished results, or with an empty list as a heartbeat."""

    def __call__(self, results: Sequence[Result], note: str = "") -> None: ...


def silent(results: Sequence[Result], note: str = "") -> None:
    """Ignore the progress."""


@contextmanager
def heartbeat(progress: ProgressCallback) -> Iterator[None]:
    """Call it every second in a thread; not for code that forks processes."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT_S):
            progress([])

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Executor(Protocol):
    """Processes that take calls: those of this machine (`Pool`), or of a cluster."""

    @property
    def size(self) -> int:
        """Return how many calls it takes at once."""

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the place and the result of each call as it ends; Died if its process died."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of one call. Raises InputError if its process died."""


@dataclass(frozen=True)
class Terms:
    """The options of a run for its items, in every process.

    backends: the names that they are started by, each with the release that it is judged by; None:
    v0.5.0, as the cases require. timeout_s: of a request. repeat: how often each case is asked.
    accept: the verdicts that pass in addition to those of a case. require_all: fail, rather than
    skip, a case that a backend does not claim. errors: of a distribution test on one backend.
    versions: the version of each backend in the header of the run; none for a backend without one.
    files: of each backend at the start of the run. fatal: the backends that ended the run twice, by
    the id of the item. in_flight: the bundle where processes write what they ask; None: nowhere.
    rounds: of a timed chain; None: the profile's. instructions: count those of a timed chain, too.
    in_a_row: after so many equal failures in a row a backend is not asked any more; 0: it is.
    answers: the cache of the reference's results; None: all are computed.
    """

    backends: Mapping[str, str | None]
    timeout_s: float = 60.0
    seed: int = 0
    repeat: int = 1
    accept: Accept = "identical"
    require_all: bool = False
    errors: Errors = Budget(1).each
    versions: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Sequence[FileInfo]] = field(default_factory=dict)
    fatal: Mapping[str, Collection[str]] = field(default_factory=dict)
    in_flight: Path | None = None
    profile: Profile = "quick"
    rounds: int | None = None
    instructions: bool = False
    answers: Answers | None = None
    in_a_row: int = 0


@dataclass(frozen=True)
class Ready:
    """The tools of an item in a process: started backends, and the folder for arrays or None."""

    backends: Sequence[BackendProcess]
    artifacts: Path | None
    terms: Terms

    @property
    def releases(self) -> dict[str, str]:
        """Return the release that each backend is judged by, by the backend's own name."""
        pairs = zip(self.backends, self.terms.backends.values(), strict=True)
        return {backend.name: release for backend, release in pairs if release is not None}


@dataclass(frozen=True)
class RunContext:
    """The tools of a run for each of its items. isolated: the processes of the executor do not see
    the bundle's folder. announce: prints a line. stopped: backends that are not asked any more."""

    terms: Terms
    writer: BundleWriter
    executor: Executor
    progress: ProgressCallback = silent
    isolated: bool = False
    announce: Callable[[str], object] = str
    stopped: set[str] = field(default_factory=set)

    def record(self, results: Sequence[Result]) -> None:
        """Append results to the bundle, and report them as finished."""
        self.writer.append(*results)
        self.progress(results)


def short_names(names: Iterable[str]) -> list[str]:
    """Return the names in results: a backend's name without its command. Raises InputError."""
    return [registry.command_of(name)[0] for name in names]
