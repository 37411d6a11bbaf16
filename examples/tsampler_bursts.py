"""Bursts of exploration: `python examples/tsampler_bursts.py`

The model is uncertain if none of its five likeliest tokens has a probability of 0.15. Then the next
token is drawn from a wider and warmer distribution without its untypical tokens, and the usual
parameters return. The workspace grows at the first burst and stays as large.
"""

from golden_model import Row, generate, vocabulary

from sampler_parity.engines.tsampler.model.history import TokenHistoryTracker
from sampler_parity.engines.tsampler.model.sample import (
    SamplingParams,
    sample_with_strategy,
    top_candidates,
)
from sampler_parity.engines.tsampler.model.workspace import SamplerWorkspace, required_kcap
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus

PROMPT = "Sequences also support"
USUAL = SamplingParams(top_k=40, temp=0.8)
BURST = SamplingParams(top_k=256, temp=1.3, typical_p=0.9)


def is_uncertain(logits: Row) -> bool:
    return all(probability < 0.15 for _, probability in top_candidates(logits, 5))


def main() -> None:
    vocab = vocabulary()
    rng, history = Xoroshiro128Plus(42), TokenHistoryTracker(64)
    workspace = SamplerWorkspace(256)
    print("likeliest  parameters  slots  token")

    def choose(logits: Row) -> int:
        uncertain = is_uncertain(logits)
        params = BURST if uncertain else USUAL
        workspace.ensure_capacity(required_kcap(params.top_k, params.typical_p, len(logits)))
        token = sample_with_strategy(logits, history, rng, params)
        history.accept(token)
        (_, likeliest), *_ = top_candidates(logits, 1)
        name = "burst" if uncertain else "usual"
        piece = vocab.piece(token).decode(errors="replace")
        print(f"{likeliest:9.3f}  {name:10}  {workspace.capacity:5}  {piece!r}")
        return token

    print(PROMPT + generate(PROMPT, 24, choose))


if __name__ == "__main__":
    main()
