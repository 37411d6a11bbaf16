"""Run a case on the logits that each backend's own device computes.

The reference judges the samplers on these logits. harness/checks/logits compares the devices.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sampler_parity.harness.checks import KINDS
from sampler_parity.harness.checks.devices.block import DeviceCase
from sampler_parity.harness.checks.execute import merged
from sampler_parity.harness.checks.logits.decoded import Rows, rows_of
from sampler_parity.harness.checks.stages.block import StagesCase, unseeded
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.checks.unseeded.block import UnseededCase
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.protocol.interface import Backend, BackendFailure

Releases = Mapping[str, str]


def judge(
    case: DeviceCase, backends: Sequence[Backend], artifacts: Path | None, releases: Releases
) -> CaseResult:
    """Judge the case on each backend, on the logits that its own device computes."""
    return merged([_on_device(case, backend, artifacts, releases) for backend in backends])


def _on_device(
    case: DeviceCase, backend: Backend, artifacts: Path | None, releases: Releases
) -> CaseResult:
    try:
        rows = rows_of(backend, case.logits)
    except BackendFailure as failure:
        return CaseResult(
            id=case.id,
            samplers=case.samplers,
            steps=0,
            backends={backend.name: BackendResult(verdict=failure.verdict, detail=failure.whole)},
            required={backend.name: case.required(backend.name)},
        )
    of_rows = on_rows(case, rows)
    result: CaseResult = KINDS[of_rows.check].run.judge(of_rows, [backend], artifacts, releases)
    return result


def on_rows(case: DeviceCase, rows: Rows) -> StagesCase:
    """Return the case on the last logits of a device, given as literals."""
    kind = UnseededCase if unseeded(case.chain) else StagesCase
    fields = {name: getattr(case, name) for name in DeviceCase.model_fields}
    literal = LiteralRows(rows=rows[-case.steps :].tolist())
    return kind.model_construct(**fields | {"logits": literal})
