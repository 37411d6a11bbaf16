"""Rounds of speculative sampling of a backend. The drafts are drawn here, from the rows that the
backend gets, and each round has a seed of its own."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.distribution.block import Speculative
from sampler_parity.harness.checks.distribution.rounds import Outcomes, Tokens
from sampler_parity.harness.checks.distribution.speculative_causes import cause_of
from sampler_parity.harness.checks.stages.prepared import Prepared
from sampler_parity.harness.protocol.client_speculative import speculative
from sampler_parity.harness.protocol.interface import Backend, Rounds

_MOST_ROUNDS = 1 << 16  # of one request
_MOST_WORK = 1 << 25  # rounds x tokens of one request: seconds of the reference


class RoundSource:
    """Rounds of a backend, with drafts and seeds of their own.

    counts: of each draft with its tokens, if every round is a bin of its own.
    """

    def __init__(self, cell: Speculative, prepared: Prepared, backend: Backend, seed: int) -> None:
        self.cell, self.prepared, self.backend, self.ns = cell, prepared, backend, 0
        self.outcomes = Outcomes(cell, prepared)
        self._rng = np.random.default_rng([seed, 0x5BEC])
        self.asked = 0
        self.lengths = np.zeros(cell.drafted + 1, np.int64)
        self.impossible = ""
        self.counts: Counter[tuple[Tokens, Tokens]] = Counter()

    def draw(self, n: int) -> NDArray[np.int64]:
        """Return the bins of n rounds. Raises BackendFailure."""
        most = max(1, min(_MOST_ROUNDS, _MOST_WORK // self.cell.logits.n))
        sizes = [min(most, n - start) for start in range(0, n, most)]
        return np.concatenate([self._ask(size) for size in sizes])

    def _ask(self, n: int) -> NDArray[np.int64]:
        models = self.outcomes.models
        columns = [
            np.cumsum(models.drafted_from(i)).searchsorted(self._rng.random(n), side="right")
            for i in range(self.cell.drafted)
        ]
        drafts = np.minimum(np.array(columns).T, self.cell.logits.n - 1).astype(np.int32)
        seeds = self._rng.integers(0, 2**32 - 1, n, dtype=np.uint32)
        request = Rounds(np.array(self.prepared.rows), models.stated, drafts, seeds)
        tokens, ns = speculative(self.backend, self.prepared.setting, self.cell.rule, request)
        self.ns += ns
        self.lengths += np.bincount((tokens >= 0).sum(axis=1) - 1, minlength=len(self.lengths))
        places = self.outcomes.places(tokens)
        if not self.cell.bins:
            both = zip(drafts.tolist(), tokens.tolist(), strict=True)
            self.counts.update((tuple(d), tuple(t for t in e if t >= 0)) for d, e in both)
        bad = np.flatnonzero(places < 0)
        if len(bad) and not self.impossible:
            emitted = [t for t in tokens[bad[0]].tolist() if t >= 0]
            self.impossible = f"the draft {drafts[bad[0]].tolist()} gives {emitted}"
        return places

    def describe(self) -> str:
        """Return a message with the mean length of the rounds and the expected one."""
        n, lengths = int(self.lengths.sum()), 1 + np.arange(len(self.lengths))
        mean = (self.lengths * lengths).sum() / max(1, n)
        return f"{mean:.4f} tokens a round, {self.outcomes.length:.4f} expected"

    def cause(self, alpha: float) -> str:
        """Return the first stage that is wrong, by the rounds so far; "" if none is known."""
        n = int(self.lengths.sum())
        if self.lengths[-1] == 0 and (1 - self.outcomes.whole) ** n <= alpha:
            return f"bonus: 0 of {n:,} rounds have {len(self.lengths)} tokens"
        return cause_of(self.counts, self.outcomes.models.of_stage, alpha)
