"""Engines that are correct in another arithmetic must pass: the mirror of the faults."""

import time
from collections.abc import Sequence

from sampler_parity.harness.backends import environments, registry
from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.strict import Strict


class CorrectResult(Strict):
    """Count the cases of a correct engine. alarms: those that `--accept correct` does not pass."""

    name: str
    cases: int = 0
    identical: int = 0
    skipped: int = 0
    alarms: list[str] = []
    seconds: float = 0.0

    def line(self) -> str:
        state = "FALSE ALARM" if self.alarms else "passes  "
        differing = self.cases - self.identical
        what = (
            f"{self.cases:,} cases, {differing:,} with other bits, {self.skipped:,} not supported"
        )
        first = f", first {self.alarms[0]}" if self.alarms else ""
        return f"{state} {self.name:<44} {what}{first}"


def correct_engines() -> list[str]:
    """Return the engines that are correct by construction and that run here."""
    rows = [row for row in ENGINES.values() if row.correct]
    return [
        row.name for row in rows if not (row.environment and environments.missing(row.environment))
    ]


def pass_all(name: str, cases: Sequence[Case], timeout_s: float = 60.0) -> CorrectResult:
    """Run the cases on a correct engine and count those that do not pass."""
    begun = time.perf_counter()
    short, command = registry.command_of(name)
    backend = BackendProcess(short, command, timeout_s=timeout_s)
    identical, skipped, alarms = 0, 0, []
    try:
        with accepting("correct"):
            for case in cases:
                result = execute(case, [backend]).model_copy(update={"accept": "correct"})
                verdict = result.backends[short].verdict
                identical += verdict == "identical"
                if verdict in ("skipped", "unsupported"):  # by name: the line counts them
                    skipped += 1
                elif result.failed(short):
                    alarms.append(case.id)
    finally:
        backend.close()
    seconds = time.perf_counter() - begun
    return CorrectResult(
        name=name, cases=len(cases) - skipped, identical=identical, skipped=skipped, alarms=alarms,
        seconds=seconds,
    )  # fmt: skip
