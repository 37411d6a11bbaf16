"""Blame a failure of a backend after a good reply on the item that got the reply."""

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
    """The last request of each item in turn, to find the item of a late failure."""

    def __init__(self, backends: Sequence[BackendProcess]) -> None:
        self.backends = backends
        self._ends = [[backend.asked for backend in backends]]

    def item_ended(self) -> None:
        self._ends.append([backend.asked for backend in self.backends])

    def blame(self, results: list[Result]) -> list[Result]:
        """Return the results with the failures after each item; no request may follow."""
        blamed = list(results)
        for column, backend in enumerate(self.backends):
            backend.settle(SILENCE_S)
            before, *last_requests = (row[column] for row in self._ends)
            for number, problem in backend.late:
                if before < number <= last_requests[-1]:
                    # the item whose requests include this one
                    index = bisect_left(last_requests, number)
                    blamed[index] = blamed[index].with_crash(backend.name, problem)
            backend.late.clear()
        return blamed


class Watched:
    """A backend during one measurement, which may take many requests."""

    def __init__(self, backend: Backend) -> None:
        # one that answers in this process does nothing after its reply
        self.process = backend if isinstance(backend, BackendProcess) else None
        self.before = self.process.asked if self.process else 0

    def problem(self) -> str:
        """Return the first thing that it did after a good reply, or "". Call it at the end: it
        waits a moment for late output."""
        if self.process is None:
            return ""
        self.process.settle(SILENCE_S)
        problems = [problem for number, problem in self.process.late if number > self.before]
        self.process.late.clear()
        return problems[0] if problems else ""
