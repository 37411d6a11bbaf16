"""Rounds: several backends are timed in turns."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks.context import ProgressCallback, Terms, silent
from sampler_parity.harness.checks.timing.record import Conditions
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.process import BackendProcess


@dataclass(frozen=True)
class RoundPlan:
    """Rounds after one that warms up. count: their number. seed: of the order within each. second:
    another process of the baseline. under: how the processes were pinned."""

    count: int
    seed: int = 0
    second: Backend | None = None
    under: Conditions = field(default_factory=lambda: Conditions(unpinned="not asked for"))
    progress: ProgressCallback = silent

    def turns(self) -> Iterator[int]:
        """Yield the number of each round as it begins; 0 warms up."""
        for turn in range(self.count + 1):
            self.progress([], f"round {turn} of {self.count}")
            yield turn


def started(stack: ExitStack, names: Sequence[str], terms: Terms) -> list[BackendProcess]:
    """Return a process of each; it starts on its first request and ends with the stack."""
    processes = [registry.start(name, terms.timeout_s) for name in names]
    for name, process in zip(names, processes, strict=True):
        registry.expect(process, terms.files.get(name, ()))
        stack.callback(process.close)
    return processes
