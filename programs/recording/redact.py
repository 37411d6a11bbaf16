"""Write the verdicts of a checked recording without its tokens."""

from pathlib import Path

from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.bundle.info import Footer
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.errors import InputError
from sampler_parity.programs.recording.check import BACKEND

_OF_RESULT = {"verdict", "step", "stage", "stage_index", "what", "ties"}
_OF_BACKEND = {"name", "version", "reference"}
_OF_CASE = {"id", "suite", "samplers", "steps", "required", "accept"}


def redact(recording: Path, folder: Path) -> Bundle:
    """Write a bundle with the verdicts of a recording, or of the bundle that `check` made of it.

    Only the fields named here are taken over: a field that is new is left out. Raises InputError.
    """
    checked = recording / "checked"
    bundle = read_finished(checked if checked.is_dir() else recording)
    if [*bundle.info.backends] != [BACKEND]:
        raise InputError(
            recording, "is not a checked recording", "run sampler-parity check RECORDING"
        )
    backend = bundle.info.backends[BACKEND]
    redacted = backend.model_validate({"command": [], **backend.model_dump(include=_OF_BACKEND)})
    writer = create(
        folder, bundle.info.model_copy(update={"command": [], "backends": {BACKEND: redacted}})
    )
    writer.append(*map(_redacted, bundle.cases))
    assert bundle.footer is not None  # it is finished
    counts = {"cases", "steps", "wall_s", "records"}
    writer.close(Footer.model_validate(bundle.footer.model_dump(include=counts)))
    return read_finished(folder)


def _redacted(case: CaseResult) -> CaseResult:
    result = case.backends[BACKEND]
    survivors = {key: value for key, value in result.values.items() if key == "survivors"}
    redacted = BackendResult(values=survivors, **result.model_dump(include=_OF_RESULT))
    return CaseResult(backends={BACKEND: redacted}, **case.model_dump(include=_OF_CASE))
