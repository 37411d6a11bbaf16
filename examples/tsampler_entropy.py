"""Parameters driven by entropy: `python examples/tsampler_entropy.py`

Before every token the entropy of the model's distribution chooses the parameters, as the
documentation of tsampler suggests: below 2 nats a wide and warm search, above 5 a narrow and cold
one. Surprisal and rolling perplexity are observed and change nothing.
"""

from golden_model import Row, generate, vocabulary

from sampler_parity.engines.tsampler.model import metrics
from sampler_parity.engines.tsampler.model.history import TokenHistoryTracker
from sampler_parity.engines.tsampler.model.sample import SamplingParams, sample_with_strategy
from sampler_parity.engines.tsampler.model.workspace import SamplerWorkspace, required_kcap
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus

PROMPT = "Sequences also support"
WIDE = SamplingParams(top_k=256, temp=1.5, top_p=0.98)
NARROW = SamplingParams(top_k=20, temp=0.5, top_p=0.9)
NORMAL = SamplingParams()


def parameters(entropy: float) -> SamplingParams:
    if entropy < 2.0:
        return WIDE
    return NARROW if entropy > 5.0 else NORMAL


def main() -> None:
    vocab = vocabulary()
    rng, history = Xoroshiro128Plus(42), TokenHistoryTracker(64)
    ppl, workspace = metrics.RollingPerplexity(), SamplerWorkspace(40)
    print("entropy  top_k  temp  surprisal  perplexity  slots  token")

    def choose(logits: Row) -> int:
        entropy = metrics.entropy(logits)
        params = parameters(entropy)
        workspace.ensure_capacity(required_kcap(params.top_k, params.typical_p, len(logits)))
        token = sample_with_strategy(logits, history, rng, params)
        history.accept(token)
        surprisal = metrics.model_surprisal(logits, token)
        ppl.add_surprisal(surprisal)
        piece = vocab.piece(token).decode(errors="replace")
        print(
            f"{entropy:7.2f}  {params.top_k:5}  {params.temp:4}  {surprisal:9.2f}  "
            f"{ppl.ppl():10.2f}  {workspace.capacity:5}  {piece!r}"
        )
        return token

    print(PROMPT + generate(PROMPT, 24, choose))


if __name__ == "__main__":
    main()
