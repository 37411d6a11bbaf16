"""Records of a bundle that are of no kind of check, a row each (harness/rows)."""

from sampler_parity.harness.rows import RecordRow

_OF = "harness.bundle.records"

# fmt: off
RECORDS = (
    RecordRow("change", f"{_OF}:ChangeResult", ordered=False),
    RecordRow("timing_check", f"{_OF}:TimingCheckResult", "timing self-check",
              ordered=False),
    RecordRow("counterexample", f"{_OF}:CounterexampleResult", ordered=False),
    RecordRow("prediction", f"{_OF}:PredictionResult"),
    RecordRow("parting", f"{_OF}:PartingResult", ordered=False),
)
