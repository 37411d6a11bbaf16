"""Rounds: several backends are timed in turns, on one processor whose frequency is recorded."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks.context import ProgressCallback, Terms, silent
from sampler_parity.harness.checks.timed_records import Conditions
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess


def pin(backends: list[BackendProcess]) -> Conditions:
    """Pin all backends to one processor, the last that this process may use.

    Only their main threads: helper threads that have started stay free. They stay unpinned if the
    system has no such call or refuses it.
    """
    if not hasattr(os, "sched_setaffinity"):
        return Conditions(unpinned="this system has no sched_setaffinity", no_mhz=_no_mhz(None))
    cpu = max(os.sched_getaffinity(0))
    try:
        for backend in backends:
            backend.hello()
            os.sched_setaffinity(backend.pid, {cpu})
    except (OSError, BackendFailure) as error:
        return Conditions(unpinned=f"not pinned: {error}", no_mhz=_no_mhz(None))
    return Conditions(cpu=cpu, no_mhz=_no_mhz(cpu))


def mhz_of(cpu: int | None) -> float | None:
    """Return the current frequency of a processor, None if the system does not report it."""
    if cpu is None:
        return None
    now = Path(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")
    try:
        return int(now.read_text(encoding="utf-8")) / 1000
    except (OSError, ValueError):
        return _from_cpuinfo(cpu)


def load() -> float | None:
    """Return the load: programs that want each processor, the average of the last minute."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (OSError, AttributeError):
        return None


def _from_cpuinfo(cpu: int) -> float | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    ours = False
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "processor":
            ours = value.strip() == str(cpu)
        elif ours and key.strip() == "cpu MHz":
            return float(value)
    return None


def _no_mhz(cpu: int | None) -> str:
    return "" if mhz_of(cpu) is not None else "this system does not report its CPU frequency"


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
