"""Judge texts without a seed by what each of their tokens was drawn from.

Nothing predicts them, but two properties hold. The surprise of a token, -log p, is its entropy on
average. And a long text does not come twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

_LIMIT = 6.0  # standard deviations: 2e-9
_ENOUGH = 50.0  # nats^2. With less variance one rare token would be many deviations.
_TWICE = 20.0  # nats of surprise: a text that comes again by chance once in 5e8


@dataclass
class FreeDraws:
    """Hold what is known of the draws without a seed. excess: the sum of surprise less entropy, in
    nats. variance: its variance. texts: by request, the tokens of each text."""

    excess: float = 0.0
    variance: float = 0.0
    draws: int = 0
    texts: dict[str, list[list[int]]] = field(default_factory=dict)

    def add(self, request: str, tokens: Sequence[int], drawn: Sequence[dict[int, float]]) -> str:
        """Add a text; return whether it came before, as a line or "". drawn: by place the p of each
        token that was left."""
        surprises = [self._draw(p, token) for p, token in zip(drawn, tokens, strict=True)]
        before = self.texts.setdefault(request, [])
        for other in before:
            common = next(
                (i for i, (a, b) in enumerate(zip(other, tokens, strict=False)) if a != b),
                min(len(other), len(tokens)),
            )
            if (nats := sum(surprises[:common])) > _TWICE:
                return (
                    f"without a seed, the same {common} tokens again: chance {math.exp(-nats):.1g}"
                )
        before.append([*tokens])
        return ""

    def _draw(self, p: dict[int, float], token: int) -> float:
        values = np.array([one for one in p.values() if one > 0], np.float64)
        if not len(values):
            return 0.0  # the sampler leaves no p
        logs = np.log(values / values.sum())
        entropy = -float(np.exp(logs) @ logs)
        surprise = -math.log(p[token] / float(values.sum()))
        self.excess += surprise - entropy
        self.variance += max(0.0, float(np.exp(logs) @ logs**2) - entropy**2)
        self.draws += 1
        return surprise

    @property
    def wrong(self) -> str:
        """Return whether the draws follow another distribution, as a line or ""."""
        if self.variance < _ENOUGH:
            return ""
        z = self.excess / math.sqrt(self.variance)
        if abs(z) <= _LIMIT:
            return ""
        return (
            f"{self.draws} tokens without a seed are {'more' if z < 0 else 'less'} likely than"
            f" draws are, by {abs(z):.1f} standard deviations"
        )
