"""Fuzzing: cases that Hypothesis makes over chain, parameters, logits, history and seed.

Hypothesis is used as a generator with a fixed seed. So a fuzz case has an id, runs like any other,
and can be replayed; harness/failures/shrink.py shrinks a case that differs.
"""

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.strict import Count, Random, Seed, Strict


class Fuzz(Strict):
    """Cases that Hypothesis makes."""

    id: str
    description: str
    why: str
    count: Count
    quick: Random
    seed: Seed = 0

    def items(self, quick: bool, shift: int = 0) -> list[Case]:
        """Return the cases; their ids lack the suite's stem. Both profiles share the first `quick`
        cases."""
        from sampler_parity.harness.checks.stages.blocks.fuzz_cases import make  # loads Hypothesis

        start = self.seed + shift
        block = {"id": self.id, "description": self.description, "why": self.why}
        cases = make(block, self.quick, start, "a")
        return cases if quick else cases + make(block, self.count - self.quick, start, "b")
