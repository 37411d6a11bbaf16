"""Logit steering: `python examples/tsampler_logit_steering.py`

The application knows that a price in yen has no decimals. While the model writes the number, every
token with a full stop is vetoed (-inf) and tokens of digits alone are raised by 2. Before and
behind the number nothing is touched.
"""

from golden_model import Row, generate, vocabulary

from sampler_parity.engines.tsampler.model.history import TokenHistoryTracker
from sampler_parity.engines.tsampler.model.sample import SamplingParams, sample_with_strategy
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus

PROMPT = '{"currency": "JPY", "price": 5'


def main() -> None:
    vocab = vocabulary()
    pieces = [vocab.piece(token) for token in range(len(vocab))]
    vetoed = [token for token, piece in enumerate(pieces) if b"." in piece]
    digits = [token for token, piece in enumerate(pieces) if piece.isdigit()]

    def run(seed: int, steer: bool) -> str:
        rng, history = Xoroshiro128Plus(seed), TokenHistoryTracker(64)
        in_number = True

        def choose(logits: Row) -> int:
            nonlocal in_number
            if steer and in_number:
                logits[vetoed] = float("-inf")
                logits[digits] += 2.0
            params = SamplingParams(temp=0.8, top_k=40, penalty_repeat=1.0)
            token = sample_with_strategy(logits, history, rng, params)
            history.accept(token)
            in_number &= all(byte in b"0123456789." for byte in pieces[token])
            return token

        return generate(PROMPT, 8, choose)

    with_decimals = {False: 0, True: 0}
    for seed in range(8):
        for steer in (False, True):
            text = run(seed, steer)
            number = text[: next((i for i, c in enumerate(text) if c not in "0123456789."), None)]
            with_decimals[steer] += "." in number
            print(f"seed {seed} {'steered' if steer else 'free   '} {PROMPT}{text!r}")
    print(f"with decimals: free {with_decimals[False]}/8, steered {with_decimals[True]}/8")


if __name__ == "__main__":
    main()
