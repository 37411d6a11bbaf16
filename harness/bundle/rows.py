"""Records of a bundle that are of no kind of check, a row each (harness/rows)."""

from sampler_parity.harness.rows import GateRow, PageRow, RecordRow

_OF = "harness.bundle.records"

# fmt: off
RECORDS = (
    RecordRow("change", f"{_OF}.change:ChangeResult", ordered=False),
    RecordRow("calibration", f"{_OF}.calibration:CalibrationResult", "calibration", ordered=False,
              page=PageRow("reports.pages.calibration:CALIBRATION", 50)),
    RecordRow("timing_check", f"{_OF}.timing_check:TimingCheckResult", "timing self-check",
              ordered=False),
    RecordRow("counterexample", f"{_OF}.counterexample:CounterexampleResult", ordered=False),
    RecordRow(
        "server", f"{_OF}.server:ServerResult", ordered=False,
        page=PageRow("reports.pages.servers:SERVERS", 80),
        gate=(
            GateRow("server", "rules for results of servers", "results of servers",
                    "harness.gate.policy:ServerRule", "harness.gate.server_rules:judge_servers",
                    "harness.gate.server_rules:unruled_servers"),
            GateRow("server_not_worse", "rules for servers against the baseline bundle", "",
                    "harness.gate.policy:ServerNotWorseRule",
                    "harness.gate.server_rules:judge_servers_not_worse"),
        ),
    ),
    RecordRow("prediction", f"{_OF}.prediction:PredictionResult"),
    RecordRow("parting", f"{_OF}.prediction:PartingResult", ordered=False),
)
