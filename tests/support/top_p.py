"""An outside author's top_p in JavaScript, right or with a fault, and the cases for it."""

from pathlib import Path

from sampler_parity.harness.suite.file import expand, find_suites

ADAPTER = Path(__file__).parent / "top_p_adapter.mjs"
CASES = {case.id: case for case in expand(find_suites(["parity/top_p"])[0], "quick")}
SHOW = [  # of each kind of row a few, with and without ties at the cut
    "top_p/crossing-token-is-kept", "top_p/mass-equal-to-p-is-enough", "top_p/half-of-two",
    "top_p/min-keep-two-of-p-zero", "top_p/p-one-is-off", "top_p/boundary/four-p0.25-min_keep0",
    "top_p/boundary/four-p-1.0-min_keep2", "top_p/boundary/banned-p-1.0-min_keep2",
    "top_p/boundary/banned-p0.75-min_keep2",
    "top_p/matrix/normal-V1024-p0.95-min_keep0", "top_p/matrix/ties-V1024-p0.95-min_keep0",
]  # fmt: skip
