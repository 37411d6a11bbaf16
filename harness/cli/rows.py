"""The commands of the core, a row each (harness/rows)."""

from sampler_parity.harness.rows import CHECK_MINE, GATE, MAINTAIN, MEASURE, CommandRow

COMMANDS = (
    CommandRow("init", 10, CHECK_MINE, "Write a working adapter with one sampler to fill in."),
    CommandRow("list", 20, CHECK_MINE, "List suites, cases, samplers or backends."),
    CommandRow(
        "run", 30, CHECK_MINE, "Run suites on backends, compare with the reference, write a bundle."
    ),
    CommandRow(
        "explain", 40, CHECK_MINE, "Show every group of failures, the worst first; or a case."
    ),
    CommandRow(
        "predict",
        50,
        CHECK_MINE,
        "Predict from the reference whether a case repeats on other platforms.",
    ),
    CommandRow("report", 120, CHECK_MINE, "Write the report of one or more bundles."),
    CommandRow("fuzz", 130, CHECK_MINE, "Try generated chains, state scripts and hostile logits."),
    CommandRow(
        "backends",
        140,
        CHECK_MINE,
        "List what is configured, what runs here, and why the rest does not.",
    ),
    CommandRow("adapter", 150, CHECK_MINE, "For authors of adapters."),
    CommandRow("engines", 170, CHECK_MINE, "Engines of others, each with its packages."),
    CommandRow("compare", 180, MEASURE, "Show how bundles differ."),
    CommandRow("history", 210, MEASURE, "Bundles of many dates as a trend."),
    CommandRow("gate", 220, GATE, "Judge a bundle by a policy: may this release go out?"),
    CommandRow("lint", 230, MAINTAIN, "Check suites, golden provenance and schemas."),
    CommandRow("builds", 270, MAINTAIN, "Other builds of llama.cpp."),
)
