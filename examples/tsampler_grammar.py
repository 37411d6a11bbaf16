"""tsampler behind a grammar: `python examples/tsampler_grammar.py`

Before every token the grammar bans in place what it does not allow, tsampler draws from the rest,
and both the grammar and the history accept the token. The draw itself knows of no grammar.
"""

from golden_model import Row, generate, vocabulary

from sampler_parity.engines.tsampler.model.history import TokenHistoryTracker
from sampler_parity.engines.tsampler.model.sample import SamplingParams, sample_with_strategy
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus
from sampler_parity.reference import Candidates, build_chain

GRAMMAR = 'root ::= " hello" | " goodbye"'
PROMPT = "They said"
PARAMS = SamplingParams(temp=0.8, top_k=40, top_p=0.95)


def main() -> None:
    vocab = vocabulary()
    grammar = build_chain([{"grammar": {"grammar_str": GRAMMAR}}], vocab=vocab)

    def run(seed: int) -> str:
        rng, history = Xoroshiro128Plus(seed), TokenHistoryTracker(64)
        grammar.reset()

        def choose(logits: Row) -> int | None:
            cand = Candidates.from_logits(logits)
            grammar.apply(cand)
            token = sample_with_strategy(cand.logits, history, rng, PARAMS)
            if token in vocab.eog:
                return None
            grammar.accept(token)
            history.accept(token)
            return token

        return generate(PROMPT, 16, choose)

    for seed in range(8):
        print(f"seed {seed} {PROMPT}{run(seed)!r}")


if __name__ == "__main__":
    main()
