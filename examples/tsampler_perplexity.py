"""A gate on perplexity: `python examples/tsampler_perplexity.py`

Surprisal is measured twice for each token: in the model's distribution, and among the candidates
that the filters left. If the rolling perplexity passes 50, the context is pruned to the prompt, the
measurement restarts and the parameters are narrow: an application would do the same by fetching
other text into the context.
"""

from golden_model import Row, generate, vocabulary

from sampler_parity.engines.tsampler.model import metrics
from sampler_parity.engines.tsampler.model.history import TokenHistoryTracker
from sampler_parity.engines.tsampler.model.sample import (
    SamplingParams,
    filtered,
    sample_with_strategy,
)
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus

PROMPT = "Sequences also support"
GATE = 50.0
UNCERTAIN = 6.0
WILD = SamplingParams(top_k=0, top_p=1.0, min_p=0.0, temp=1.6)
NARROW = SamplingParams(top_k=20, top_p=0.9, temp=0.5)


class GateReachedError(Exception):
    """The perplexity has passed the gate; ends a generation."""


def write(params: SamplingParams, n_tokens: int) -> tuple[str, float]:
    """Return text and perplexity. Raises GateReachedError."""
    vocab = vocabulary()
    rng, history, ppl = Xoroshiro128Plus(42), TokenHistoryTracker(64), metrics.RollingPerplexity()
    log: list[float] = []

    def choose(logits: Row) -> int:
        cand = filtered(logits, history, params, "fast")
        token = sample_with_strategy(logits, history, rng, params)
        history.accept(token)
        of_model = metrics.model_surprisal(logits, token)
        of_sampling = metrics.sampling_surprisal(cand.logits, cand.ids, token)
        ppl.add_surprisal(of_model)
        log.append(of_model)
        piece = vocab.piece(token).decode(errors="replace")
        print(f"{of_model:9.2f}  {of_sampling:9.2f}  {ppl.ppl():10.2f}  {piece!r}")
        if ppl.ppl() > GATE:
            raise GateReachedError(f"perplexity {ppl.ppl():.1f} after {ppl.count} tokens")
        return token

    text = generate(PROMPT, n_tokens, choose)
    mean = sum(log) / len(log)
    uncertain = [(i, round(nats, 2)) for i, nats in enumerate(log) if nats > UNCERTAIN]
    print(f"average surprisal {mean:.2f} nats; above {UNCERTAIN:.0f}: {uncertain}")
    return text, ppl.ppl()


def main() -> None:
    print("surprisal    sampled  perplexity  token")
    try:
        text, perplexity = write(WILD, 24)
    except GateReachedError as reached:
        print(f"gate: {reached}; pruned to the prompt")
        text, perplexity = write(NARROW, 24)
    print(PROMPT + text)
    print(f"final perplexity {perplexity:.2f}")


if __name__ == "__main__":
    main()
