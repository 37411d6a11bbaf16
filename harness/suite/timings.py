"""The timing suites, and the chains that the reference is timed on against llama.cpp."""

from pathlib import Path

from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.suite.file import expand_kind, read_suite, suites_folder

RULE_SIZE = 131_072  # the rule on reference : llama.cpp is measured at test_perf's vocabulary size


def read_timings(path: Path | None = None, quick: bool = False) -> list[TimedChain]:
    """Return the chains of a timing suite, by default suites/timing/samplers.toml. Raises
    InputError."""
    file = read_suite(path or suites_folder() / "timing" / "samplers.toml")
    return expand_kind("timing", file, "quick" if quick else "full")


def rule_chains() -> list[TimedChain]:
    """Return the chains for the ratio reference : llama.cpp, one for every sampler alone."""
    return [t for t in read_timings(quick=True) if t.logits.n == RULE_SIZE or t.vocab]
