"""Try faults of engines: the engine itself meets the case, and with the fault it does not."""

import time
from collections.abc import Iterable

from sampler_parity.harness.backends import registry
from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.maintenance.selftest.engine_faults import Fault, faults

_TIMEOUT_S = 60.0


class EngineResult(Strict):
    """The result of the case with the fault, and of the engine without it. alarm: how the engine
    itself fails the case."""

    name: str
    fault: str
    case: str = ""
    verdict: Verdict = "identical"
    stage: str = ""
    caught: bool = False
    alarm: str = ""
    seconds: float = 0.0

    def line(self) -> str:
        if self.alarm:
            return f"SURVIVED {self.name:<44} the engine itself: {self.alarm}"
        if not self.caught:
            where = f" at {self.stage}" if self.stage else ""
            return f"SURVIVED {self.name:<44} {self.verdict}{where} in {self.case}: {self.fault}"
        where = f" at {self.stage}" if self.stage else ""
        return f"caught   {self.name:<44} {self.verdict}{where} by {self.case}"


def absent(engines: Iterable[str]) -> dict[str, str]:
    """Return the engines that do not run here, with the reason."""
    reasons = {name: registry.inspect(name).unavailable for name in engines}
    return {name: why for name, why in reasons.items() if why}


def try_faults(engine: str, names: list[str]) -> list[EngineResult]:
    """Try faults of one engine; start the engine once."""
    right = registry.start(engine)
    results = []
    try:
        for name in names:
            wrong = registry.start(f"{engine}=mutant/engine/{name}")
            wrong.timeout_s = _TIMEOUT_S
            try:
                results.append(try_fault(faults()[name], case_of(faults()[name]), right, wrong))
            finally:
                wrong.close()
    finally:
        right.close()
    return results


def case_of(fault: Fault) -> Case:
    """Return the case that must catch the fault. Raises InputError if there is none."""
    of_suite = fault.case.partition("/")[0]
    paths = find_suites([*ENGINES[fault.engine].suites, *ENGINES[fault.engine].draws])
    for path in (path for path in paths if path.stem == of_suite):
        for case in expand(path, "quick"):
            if case.id.startswith(fault.case):
                match: Case = case
                return match
    problem = f"its engine's suites have no case {fault.case}"
    raise InputError(f"mutant/engine/{fault.name}", problem, "name one of its quick cases")


def try_fault(fault: Fault, case: Case, right: Backend, wrong: Backend) -> EngineResult:
    """Run the case with and without the fault, and judge both as `make engines` does. Both backends
    have the engine's name, by which the case states its requirements."""
    begun = time.perf_counter()
    level = {"accept": ENGINES[fault.engine].accept}
    with accepting(level["accept"]):
        met = execute(case, [right], require_all=True).model_copy(update=level)
        judged = execute(case, [wrong], require_all=True).model_copy(update=level)
    got = judged.backends[wrong.name]
    as_meant = (got.verdict, got.stage or "") == (fault.verdict, fault.stage)
    alarm = "" if met.met(right.name) else f"{met.backends[right.name].verdict} in {case.id}"
    return EngineResult(
        name=f"engine/{fault.name}",
        fault=fault.fault,
        case=case.id,
        verdict=got.verdict,
        stage=got.stage or "",
        caught=as_meant and not judged.met(wrong.name) and not alarm,
        alarm=alarm,
        seconds=time.perf_counter() - begun,
    )
