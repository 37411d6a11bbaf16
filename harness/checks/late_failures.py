"""What a backend does after a good reply is blamed on the item that had it."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.process import BackendProcess

SILENCE_S = 0.005  # after the last item; of those before, the next request finds it out


class Crashable(Protocol):
    """A record of an item."""

    def with_crash(self, backend: str, problem: str) -> Self: ...


Result = TypeVar("Result", bound=Crashable)


class LateFailures:
    """The requests that each item took, in turn, and what the backends did after them."""

    def __init__(self, backends: Sequence[BackendProcess]) -> None:
        self.backends = backends
        self._ends = [[backend.asked for backend in backends]]

    def item_ended(self) -> None:
        self._ends.append([backend.asked for backend in self.backends])

    def blame(self, results: list[Result]) -> list[Result]:
        """The results of the items with what came after each; nothing more will be asked."""
        blamed = list(results)
        for column, backend in enumerate(self.backends):
            backend.settle(SILENCE_S)
            before, *last_requests = (row[column] for row in self._ends)
            for number, problem in backend.late:
                if before < number <= last_requests[-1]:
                    place = bisect_left(last_requests, number)
                    blamed[place] = blamed[place].with_crash(backend.name, problem)
            backend.late.clear()
        return blamed


class Watched:
    """A backend during one measurement, in which it may be asked many times."""

    def __init__(self, backend: Backend) -> None:
        # one that answers in this process does nothing after its reply
        self.process = backend if isinstance(backend, BackendProcess) else None
        self.before = self.process.asked if self.process else 0

    def problem(self) -> str:
        """What it did after a good reply, the first thing; "" for nothing. To be asked at the end:
        it waits a moment for what may come."""
        if self.process is None:
            return ""
        self.process.settle(SILENCE_S)
        problems = [problem for number, problem in self.process.late if number > self.before]
        self.process.late.clear()
        return problems[0] if problems else ""
