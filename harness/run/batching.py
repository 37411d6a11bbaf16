"""Ask a backend for many cases in one request, before they are judged one by one.

A request for each case would take more processor time than most cases. A reply to a case counts as
if the case had been asked for alone. If there is no reply to many, each case is asked for alone. If
a backend crashes of many cases and of none of them alone, the first of them is crashed. If many
take too long, none is blamed: the time limit is that of one request.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.context import Ready
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.late_failures import LateFailures
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.reference_cache import Answers, known_of
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.client import Ran, RunCall, many
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.run.crash_journal import InFlight
from sampler_parity.reference import ChainError

_BYTES = 1 << 24  # of the scratch file; a larger case is asked for alone


@dataclass
class AtOnce:
    """The items of a portion. _sent: how many of them each backend was asked for. _crashes:
    backend, indices and problem of requests that ended it."""

    portion: Sequence[CheckItem]
    setup: Ready
    in_flight: InFlight
    late_failures: LateFailures
    _sent: dict[str, int] = field(default_factory=dict)
    _crashes: list[tuple[str, list[int], str]] = field(default_factory=list)

    def ask(self, index: int) -> None:
        """Ask each backend for this item and those that follow, unless it was asked for it."""
        answers = None if self.setup.releases else self.setup.terms.answers
        for backend in self.setup.backends if answers else ():
            if answers and index >= self._sent.get(backend.name, 0):
                self._sent[backend.name] = self._ask(backend, index, answers)

    def _ask(self, backend: BackendProcess, index: int, answers: Answers) -> int:
        """Return the index of the first item that it was not asked for."""
        claims: Sequence[str] = ()
        with suppress(BackendFailure):
            claims = backend.hello().capabilities
        if "many" not in claims or backend.slow:
            return len(self.portion)
        runs: dict[int, RunCall] = {}
        size = 0
        for end in range(index, len(self.portion)):
            run = self._run_of(self.portion[end], backend, answers)
            size += run.most_bytes if run else 0
            if size > _BYTES or (run is None and end == index):
                break
            if run:
                runs[end] = run
        else:
            end += 1
        if len(runs) > 1:
            self._send(backend, runs, answers)
        return max(end, index + 1)

    def _run_of(self, item: CheckItem, backend: BackendProcess, answers: Answers) -> RunCall | None:
        """Return what to ask for; None if no answer can settle the item."""
        case, fatal = item.check, self.setup.terms.fatal.get(item.id, ())
        if type(case) is not StagesCase or case.relation or backend.name in fatal:
            return None
        with suppress(ChainError, InputError, BackendFailure):  # which shows when it is judged
            cached = answers.ahead[case.id] = known_of(case)
            if cached.answer and not answers.is_drawn(case.id):
                run = cached.prepared.run(cached.answer.steps, cached.answer.is_of_table)
                run.check(backend)
                return run
        return None

    def _send(self, backend: BackendProcess, runs: dict[int, RunCall], answers: Answers) -> None:
        """Ask for runs, by the indices of their items; keep the replies. Each that gave its answer
        has an equal share of the time; the time of the others is that of comparing them."""
        items = [self.portion[index] for index in runs]
        self.in_flight.items = [item.id for item in items]
        start = time.perf_counter()
        try:
            got = many(backend, [*runs.values()])
        except BackendFailure as failure:
            backend.slow = backend.slow or failure.verdict == "timeout"
            if failure.verdict == "crashed":
                problem = f"asked for {len(runs)} cases at once: {failure.whole}"
                self._crashes.append((backend.name, [*runs], problem))
            return
        finally:
            self.in_flight.items = [items[0].id]
        wall_s = (time.perf_counter() - start) / len(runs)
        for item, ran in zip(items, got, strict=True):
            cached = answers.ahead[item.check.id]
            if isinstance(ran, Ran) and cached.answer and cached.answer.is_of(ran):
                result = BackendResult(verdict="identical", ns=ran.ns, wall_s=wall_s)
                cached.settled[backend.name] = result
            else:  # its arrays are gone with the next request
                cached.replies[backend.name] = ran.copy() if isinstance(ran, Ran) else ran

    def blame(self, records: list[Any]) -> list[Any]:
        """Return the records with late failures, and with crashes that no case alone repeats."""
        blamed = self.late_failures.blame(records)
        for name, indices, problem in self._crashes:
            results = [blamed[index].backends[name] for index in indices if index < len(blamed)]
            repeated = any("crashed" in (got.verdict, *got.asked) for got in results)
            if len(results) == len(indices) and not repeated:
                blamed[indices[0]] = blamed[indices[0]].with_crash(name, problem)
        return blamed
