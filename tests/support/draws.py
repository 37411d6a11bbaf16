"""A case of draws in which the mutant dist/every-thousandth-draw is wrong in one of four runs."""

from sampler_parity.harness.checks.draws import DrawsCase
from sampler_parity.harness.inputs.logits import GeneratedLogits

DRAWS = DrawsCase(
    id="draws",
    description="300 draws",
    why="one wrong draw in a thousand",
    chain=[{"dist": {"seed": 1}}],
    logits=GeneratedLogits(family="flat", n=16),
    draws=300,
)
