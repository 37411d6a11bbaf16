"""`explain --plot`: a case of a bundle as a picture of its stages, with what a backend left."""

from pathlib import Path

from sampler_parity.harness.bundle.artifacts import stage_file
from sampler_parity.harness.bundle.bundle import Bundle, read
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.explain import arrays_of, record_of
from sampler_parity.harness.suite.locate import case_of
from sampler_parity.reference import UndefinedInputError
from sampler_parity.reports.pictures.stages import StageChange, changes, drawn, probabilities


def case_plot(folder: Path, name: str) -> str:
    """Return an SVG file. Raises InputError for a bundle or a case that is not there, a case that
    no suite has any more, and one of which nothing can be shown."""
    bundle = read(folder)
    record = record_of(bundle, name)
    case = case_of(bundle, record)
    if isinstance(case, BatchCase):
        raise InputError(name, "it is a batch of many rows", "plot a case of another suite")
    if not isinstance(case, GivenCase):
        raise InputError(name, "its logits come from a backend", "plot a case of another suite")
    backend, step, at = _first_difference(record)
    try:
        stages = changes(case, step)
    except UndefinedInputError as error:
        raise InputError(name, f"the reference stops: {error}") from None
    if backend and at < len(stages):
        stages[at] = _beside(bundle, record, backend, stages[at])
    svg = drawn(stages, name)
    if not svg:
        raise InputError(name, "no stage changes a probability", "plot another case")
    alone = 'role="img" style="color:#1b1f24;background:#ffffff"'
    return svg.replace('aria-hidden="true" focusable="false"', alone, 1) + "\n"


def _first_difference(record: CaseResult) -> tuple[str, int, int]:
    """Return the first backend that differs at a stage, the step and the stage; "", 0, 0 without
    one."""
    for backend, result in record.backends.items():
        if result.verdict != "identical" and result.stage_index is not None:
            return backend, result.step or 0, result.stage_index
    return "", 0, 0


def _beside(bundle: Bundle, record: CaseResult, backend: str, stage: StageChange) -> StageChange:
    """Return a stage with what the backend left after the stage, where the bundle has it."""
    artifact = bundle.folder / "artifacts" / stage_file(record.id, backend)
    if not artifact.exists():
        return stage
    arrays = arrays_of(artifact)
    n = len(stage.before)
    return stage._replace(got=probabilities(arrays["got_ids"], arrays["got_logits"], n))
