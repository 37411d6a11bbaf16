"""The counts of a bundle, as `run --json` writes them."""

from collections import Counter, defaultdict

from pydantic import BaseModel

from sampler_parity.harness.bundle.bundle import Bundle


class BackendSummary(BaseModel):
    """judged: the cases that it was asked, of all; the others are skipped. wall_s: time that its
    requests took. backend_s: time inside its own sampler calls."""

    judged: int
    verdicts: dict[str, int]
    wall_s: float
    backend_s: float
    samplers: dict[str, dict[str, int]]


class Summary(BaseModel):
    cases: int
    steps: int
    wall_s: float
    backends: dict[str, BackendSummary]


def summarize(bundle: Bundle) -> Summary:
    """Count verdicts by backend, and by backend and sampler; a case counts for each of its
    samplers."""
    backends = {}
    for name in bundle.info.backends:
        results = [(case, case.backends[name]) for case in bundle.cases if name in case.backends]
        samplers: dict[str, Counter[str]] = defaultdict(Counter)
        for case, result in results:
            for sampler in sorted(set(case.samplers)):
                samplers[sampler][result.verdict] += 1
        backends[name] = BackendSummary(
            judged=sum(not case.skipped(name) for case, _ in results),
            verdicts=dict(Counter(result.verdict for _, result in results)),
            wall_s=sum(result.wall_s for _, result in results),
            backend_s=sum(result.ns for _, result in results) / 1e9,
            samplers={sampler: dict(counts) for sampler, counts in sorted(samplers.items())},
        )
    return Summary(
        cases=len(bundle.cases),
        steps=sum(case.steps for case in bundle.cases),
        wall_s=bundle.footer.wall_s if bundle.footer else 0.0,
        backends=backends,
    )
