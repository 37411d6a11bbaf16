"""Run a case on every backend: it is skipped, judged by its kind, or crashed."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks import KINDS
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.claims import parted, with_skipped
from sampler_parity.harness.checks.repeat import repeated
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.strict import like
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference import chronology, platforms

if TYPE_CHECKING:  # a case needs none of what finds and starts backends
    from sampler_parity.harness.checks.context import Ready, Terms

Releases = Mapping[str, str]
Judge = Callable[[Case, Sequence[Backend], Path | None, Releases], CaseResult]


def run(case: Case, tools: "Ready") -> CaseResult:
    """Return the result of a case on the terms of a run."""
    terms, releases = tools.terms, tools.releases

    def once() -> CaseResult:
        with accepting(terms.accept):
            result = execute(case, tools.backends, tools.artifacts, releases, terms.require_all)
        return like(result, accept=terms.accept)

    result = once()
    if terms.repeat > 1:
        result = repeated(once, terms.repeat, result)
    return result if result.ok else result.model_copy(update={"why": case.why})


def died(case: Case, terms: "Terms", problem: str, verdict: Verdict = "crashed") -> CaseResult:
    """Return the result of a case that ends the process that judges it, or is not run."""
    from sampler_parity.harness.checks.context import short_names

    names = short_names(terms.backends)
    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=0,
        backends={name: BackendResult(verdict=verdict, detail=problem) for name in names},
        required={name: case.required(name) for name in names},
    )


def execute(
    case: Case,
    backends: Sequence[Backend],
    artifacts: Path | None = None,
    releases: Releases | None = None,
    require_all: bool = False,
) -> CaseResult:
    """Run a case on all backends. Never raises for a failure of a backend; that is a verdict.

    artifacts: a folder for the arrays of the first stage that differs. releases: by backend, the
    release that it is judged by: RELEASE or RELEASE/PLATFORM; v0.5.0, as the case requires, for the
    others.
    require_all: nothing is skipped. Cases of logits alone have no verdict: use `measure` of
    harness/checks/logits.py.
    """
    releases = releases or {}
    if require_all:
        return _judged(case, backends, artifacts, releases)
    selected, unasked = parted(case, backends, releases)
    judged = _judged(case, selected, artifacts, releases) if selected or not backends else None
    if judged is not None and not unasked:
        return judged
    return with_skipped(case, judged, unasked, [backend.name for backend in backends])


def _judged(
    case: Case, backends: Sequence[Backend], artifacts: Path | None, targets: Releases
) -> CaseResult:
    """Judge the backends by the reference on their platforms, and there by their releases."""
    # of the module that the row of its kind names (rows.py): of stages, checks/stages/run.py
    judge: Judge = KINDS[case.check].module.judge
    parts = {name: chronology.parted(target) for name, target in targets.items()}
    releases = {name: release for name, (release, _) in parts.items()}
    together: dict[str, list[Backend]] = {}
    for backend in backends:
        _, platform = parts.get(backend.name, ("", platforms.DEFAULT))
        together.setdefault(platform, []).append(backend)
    if together.keys() <= {platforms.DEFAULT}:
        return judge(case, backends, artifacts, releases)
    results = []
    for platform, group in together.items():
        with platforms.on(platform):
            results.append(judge(case, group, artifacts, releases))
    return merged(results)


def merged(results: list[CaseResult]) -> CaseResult:
    """Return one result of a case whose backends ran in groups."""
    return results[0].model_copy(
        update={
            "steps": max(result.steps for result in results),
            "reference_s": sum(result.reference_s for result in results),
            "refusal": "; ".join(dict.fromkeys(r.refusal for r in results if r.refusal)),
            "backends": {name: b for r in results for name, b in r.backends.items()},
            "required": {name: v for r in results for name, v in r.required.items()},
        }
    )
