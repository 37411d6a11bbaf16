"""What this folder adds to the core, a row each (harness/rows)."""

from sampler_parity.harness.rows import CHECK_MINE, CommandRow

COMMANDS = (
    CommandRow(
        "vectors",
        65,
        CHECK_MINE,
        "Write test vectors: cases of samplers as data, for tests in any language.",
        "vectors.cli",
    ),
)
