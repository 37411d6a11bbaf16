"""Run a case several times; a case with different results is `flaky`.

Races, uninitialized memory and faults of one draw in thousands are not found reliably by one run,
and a replay does not show them. `run --repeat N` asks N times in one process.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from sampler_parity.harness.bundle.cases import alike
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.verdicts import Verdict

CONFIDENCE = 0.95


def repeated(ask: Callable[[], CaseResult], times: int, first: CaseResult) -> CaseResult:
    """Return the first result, or `flaky` with the rate and its interval if not all are the same.
    ask: the same case, again."""
    results = [first, *(ask() for _ in range(times - 1))]
    backends = {}
    for name, result in first.backends.items():
        verdicts = Counter(repetition.backends[name].verdict for repetition in results)
        worst = next((r.backends[name] for r in results if not r.met(name)), result)
        backends[name] = _together(worst, verdicts, first.passing(name))
    return first.model_copy(update={"backends": backends})


def _together(
    result: BackendResult, verdicts: Counter[Verdict], required: list[Verdict]
) -> BackendResult:
    """Combine the results of a backend. result: the first that is not as required, if any."""
    update: dict[str, object] = {"asked": dict(verdicts)}
    wrong = sum(n for verdict, n in verdicts.items() if verdict not in required)
    if 0 < wrong < verdicts.total():
        counts = ", ".join(f"{n:,} {verdict}" for verdict, n in verdicts.most_common())
        rate = f"{_rate(wrong, verdicts.total())} not as required"
        detail = f"asked {verdicts.total():,} times: {counts}; {rate}"
        update |= {"verdict": "flaky", "detail": "; ".join(filter(None, [detail, result.detail]))}
    return result.model_copy(update=update)


def _rate(wrong: int, times: int) -> str:
    low, high = interval(wrong, times)
    return f"{wrong / times:.2g} [{low:.2g}, {high:.2g}]"


def interval(wrong: int, times: int) -> tuple[float, float]:
    """Return the exact interval of Clopper and Pearson: the rate is outside in at most 5 of 100."""
    from scipy.stats import binomtest  # it is slow to load, and most runs ask once

    exact = binomtest(wrong, times).proportion_ci(CONFIDENCE, method="exact")
    return float(exact.low), float(exact.high)


def report_lines(results: Sequence[CaseResult]) -> list[str]:
    """Return a line by backend: the number of requests, how many were not as required, and the
    interval of that rate. Returns nothing if every case was asked once."""
    lines = []
    for name in dict.fromkeys(name for result, _ in alike(results) for name in result.backends):
        requests: Counter[bool] = Counter()
        for result, cases in alike(results):
            if name in result.backends:
                for verdict, n in result.backends[name].asked.items():
                    requests[verdict in result.passing(name)] += n * cases
        if requests:
            rate = _rate(requests[False], requests.total())
            times = f"{requests.total():,} requests, {requests[False]:,} not as required"
            lines.append(f"repeat   {name}   {times}: a rate of {rate}, exact for {CONFIDENCE:.0%}")
    return lines
