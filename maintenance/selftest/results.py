"""The results of the self-test: a record of each fault, and the score as lines."""

from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.maintenance.selftest.correct_engines import CorrectResult
from sampler_parity.maintenance.selftest.engine_trial import EngineResult


class MutantResult(Strict):
    """The case that caught a mutant, if any, and a second one. tried, elsewhere: cases up to the
    first, and those that failed at other stages."""

    name: str
    fault: str
    source: str
    wanted_stage: str
    caught: bool
    case: str = ""
    again: str = ""
    step: int | None = None
    stage: str = ""
    verdict: Verdict = "identical"
    tried: int = 0
    elsewhere: int = 0
    seconds: float = 0.0


class AdapterResult(Strict):
    """The verdicts of a broken adapter on three cases. starts: processes that these needed."""

    name: str
    fault: str
    wanted: Verdict
    verdicts: list[Verdict]
    starts: int
    caught: bool
    seconds: float = 0.0


class PartResult(Strict):
    """seen: the text of the check for the fault, which must begin with the cause. alarm: its text
    for the right part."""

    name: str
    fault: str
    seen: str
    alarm: str
    cause: str = ""

    @property
    def caught(self) -> bool:
        return bool(self.seen) and self.seen.startswith(self.cause) and not self.alarm


class BaselineResult(Strict):
    """The reference compared with itself. alarms: the cases that were not identical."""

    cases: int = 0
    alarms: list[str] = []
    seconds: float = 0.0


class SelfTestReport(Strict):
    mutants: list[MutantResult]
    adapters: list[AdapterResult]
    parts: list[PartResult] = []
    engines: list[EngineResult] = []
    skipped: dict[str, str] = {}
    baseline: BaselineResult
    correct: list[CorrectResult] = []
    seconds: float

    @property
    def survivors(self) -> list[str]:
        faults: list[MutantResult | PartResult | AdapterResult | EngineResult]
        faults = [*self.mutants, *self.parts, *self.adapters, *self.engines]
        return [fault.name for fault in faults if not fault.caught]

    @property
    def thin(self) -> list[MutantResult]:
        """The mutants that one case alone catches."""
        return [mutant for mutant in self.mutants if mutant.caught and not mutant.again]

    @property
    def passed(self) -> bool:
        """Whether all were caught without a false alarm; a self-test of nothing does not pass."""
        has_results = (
            len(self.mutants) + len(self.parts) + len(self.adapters) + len(self.engines) > 0
        )
        alarms = self.baseline.alarms or any(engine.alarms for engine in self.correct)
        return has_results and not self.survivors and not alarms

    def lines(self) -> list[str]:
        """Return the score, worst first."""
        caught = sum(m.caught for m in self.mutants)
        held = sum(a.caught for a in self.adapters)
        parts = sum(p.caught for p in self.parts)
        right = self.baseline.cases - len(self.baseline.alarms)
        return [
            *(f"SURVIVED {name}" for name in self.survivors),
            *(f"FALSE ALARM {case}" for case in self.baseline.alarms),
            *(f"thin     {mutant.name:<44} only by {mutant.case}" for mutant in self.thin),
            f"mutants  {caught}/{len(self.mutants)} caught, each at its stage",
            f"parts    {parts}/{len(self.parts)} caught, the right ones let through",
            f"adapters {held}/{len(self.adapters)} caught, other cases untouched",
            *self._engine_lines(),
            f"baseline {right}/{self.baseline.cases} identical: the reference against itself"
            if self.baseline.cases
            else "baseline not run: it is part of the whole self-test only",
            *self._correct_lines(),
            f"selftest {'passed' if self.passed else 'FAILED'} in {self.seconds:.0f} s",
        ]

    def _correct_lines(self) -> list[str]:
        if not self.correct:
            return []
        alarms = sum(len(engine.alarms) for engine in self.correct)
        cases = sum(engine.cases for engine in self.correct)
        right = f"{cases - alarms:,}/{cases:,} pass on {len(self.correct)} correct engines"
        return [f"correct  {right} with another arithmetic"]

    def _engine_lines(self) -> list[str]:
        lines = [f"skipped  engine/{name}: {why}" for name, why in self.skipped.items()]
        if self.engines:
            caught = sum(engine.caught for engine in self.engines)
            lines.append(f"engines  {caught}/{len(self.engines)} caught, each by its case")
        return lines


def line_of(result: MutantResult | AdapterResult | PartResult) -> str:
    if isinstance(result, PartResult):
        state = "caught  " if result.caught else "SURVIVED"
        return f"{state} {result.name:<44} {result.alarm or result.seen or result.fault}"
    if isinstance(result, AdapterResult):
        state = "caught  " if result.caught else "SURVIVED"
        verdicts = ", ".join(result.verdicts)
        return f"{state} {result.name:<44} {verdicts} in {result.starts} processes"
    if not result.caught:
        elsewhere = f", {result.elsewhere} failed at another stage" if result.elsewhere else ""
        return f"SURVIVED {result.name:<44} {result.tried} cases{elsewhere}: {result.fault}"
    step = "" if result.step is None else f" step {result.step}"
    return f"caught   {result.name:<44} {result.verdict} at {result.stage}{step} by {result.case}"
