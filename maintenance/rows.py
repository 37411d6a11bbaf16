"""What this folder adds to the core, a row each (harness/rows)."""

from sampler_parity.harness.rows import (
    CHECK_MINE,
    MAINTAIN,
    MEASURE,
    CommandRow,
    PageRow,
    RecordRow,
)

_CLI = "maintenance.cli"

COMMANDS = (
    CommandRow(
        "trie-bench",
        190,
        MEASURE,
        "Measure what a token trie saves against llama.cpp's grammar.",
        _CLI,
    ),
    CommandRow("repro", 60, CHECK_MINE, "Write a program that shows a failing case.", _CLI),
    CommandRow("capture", 200, MEASURE, "Capture the logits of any model as a fixture.", _CLI),
    CommandRow(
        "selftest", 240, MAINTAIN, "Run every planted fault as a backend; all must be caught.", _CLI
    ),
    CommandRow(
        "calibrate",
        250,
        MAINTAIN,
        "Measure what the distribution tests themselves get wrong.",
        _CLI,
    ),
    CommandRow("timing-selfcheck", 260, MAINTAIN, "Measure how often timings mislead here.", _CLI),
    CommandRow("golden", 280, MAINTAIN, "The recorded logits and results.", _CLI),
)

RECORDS = (
    RecordRow(
        "calibration",
        "maintenance.calibration.calibration_record:CalibrationResult",
        "calibration",
        ordered=False,
        page=PageRow("maintenance.pages.calibration:CALIBRATION", 50),
    ),
)

WORKERS = (
    ("mutant/engine", "maintenance.selftest.engine_worker"),
    ("slow", "maintenance.selftest.slow"),
)
