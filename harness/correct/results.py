"""The record of a run that was judged by the specification."""

from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.correct.follow import Judged


def result_of(judged: Judged, ns: int) -> BackendResult:
    """Return the verdict, with the first stage that is wrong, or with the cuts that lean."""
    if (wrong := judged.wrong) is not None:
        return BackendResult(
            verdict="diverged",
            ns=ns,
            step=wrong.step,
            stage=wrong.stage,
            stage_index=wrong.index,
            what=wrong.what,
            values=wrong.values,
        )
    leans = [cut.lean for cuts in judged.cuts.values() for cut in cuts]
    late, early = sum(lean > 0 for lean in leans), sum(lean < 0 for lean in leans)
    return BackendResult(verdict="correct", ns=ns, late=late, early=early)
