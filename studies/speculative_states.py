"""`python -m studies.speculative_states`: rejection sampling in b11549 where the chain has a state.

Texts of two tokens on fixed rows of 8, from generations with seeds of their own, with a draft of
one token: by matching, which draws what the chain draws, and by rejection. Prints how far the first
token, and the second behind each first, are from each other. dist is there for what chance makes.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.pipelines.common_sampler import Output, SamplingParams
from studies.speculative import OFF, Worker
from tests.support.native_common import Driver

N_VOCAB, ROUNDS = 8, 40_000
CHAINS: dict[str, dict[str, Any]] = {
    "dist": {"samplers": ("temperature",)},
    "mirostat 2, tau 1.5": {"mirostat": 2, "mirostat_tau": 1.5, "mirostat_eta": 1.0},
    "mirostat 2, tau 2": {"mirostat": 2, "mirostat_tau": 2.0, "mirostat_eta": 1.0},
    "adaptive_p, target 0.3": {"samplers": ("adaptive_p",), "adaptive_target": 0.3},
}
Texts = list[list[int]]


def texts(driver: Driver, rejection: bool, params: SamplingParams, q: NDArray[np.float32]) -> Texts:
    rng = np.random.default_rng(1)
    ids = np.arange(N_VOCAB, dtype=np.int32)
    outputs = [Output(rng.normal(0, 1.2, N_VOCAB).astype(np.float32), ids) for _ in range(2)]
    rng = np.random.default_rng(int(rejection))
    drafts = rng.choice(N_VOCAB, ROUNDS, p=q / q.sum(dtype=np.float64))
    seeds = rng.integers(0, 2**32 - 1, ROUNDS)
    draft_q = [[(token, float(p)) for token, p in enumerate(q) if p > 0]]
    each = [[int(token)] for token in drafts]
    return driver.rounds(rejection, params, outputs, seeds.tolist(), each, draft_q, [])


def distance(one: list[int], other: list[int]) -> float:
    """Total variation of the frequencies."""
    a, b = Counter(one), Counter(other)
    return sum(abs(a[t] / len(one) - b[t] / len(other)) for t in range(N_VOCAB)) / 2


def main() -> None:
    driver = Worker("b11549").driver
    flat = np.full(N_VOCAB, 1 / N_VOCAB, np.float32)
    for name, settings in CHAINS.items():
        params = SamplingParams(**vars(OFF) | settings)
        first = Counter(text[0] for text in texts(driver, False, params, flat))
        q = np.array([first[token] / ROUNDS for token in range(N_VOCAB)], np.float32)
        drawn, verified = (texts(driver, way, params, q) for way in (False, True))
        alike = distance([t[0] for t in drawn], [t[0] for t in verified])
        skewed = texts(driver, True, params, q[::-1].copy())
        off = distance([t[0] for t in drawn], [t[0] for t in skewed])
        seconds = []
        for token in range(N_VOCAB):
            pairs = [
                [t[1] for t in ts if len(t) == 2 and t[0] == token] for ts in (drawn, verified)
            ]
            if min(map(len, pairs)) >= 1_000:
                seconds.append(distance(*pairs))
        print(
            f"{name:<24} first token {alike:.3f}, with another draft {off:.3f}; second behind a"
            f" first {min(seconds, default=0):.3f} to {max(seconds, default=0):.3f}"
        )
    driver.close()


if __name__ == "__main__":
    main()
