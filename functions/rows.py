"""What this folder adds to the core, a row each (harness/rows)."""

from sampler_parity.harness.rows import CHECK_MINE, CommandRow

COMMANDS = (
    CommandRow(
        "demo",
        5,
        CHECK_MINE,
        "Show a wrong top_p and llama.cpp's on one row: the token that differs, and why.",
        "functions.cli",
    ),
)
