"""Validation by known results: `python examples/tsampler_validation.py`

The application knows the result of a test for the list at hand. When the model writes the answer,
the right words are raised by 10 and the wrong ones are vetoed. A veto is certain, a boost is not:
its effect depends on the model's own logit of the word.
"""

from golden_model import Row, generate, vocabulary

from sampler_parity.engines.tsampler.model.history import TokenHistoryTracker
from sampler_parity.engines.tsampler.model.sample import SamplingParams, sample_with_strategy
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus

PROMPT = "If the list is empty, it returns"
WORDS = {True: (" true", " True"), False: (" false", " False")}
SEEDS = 12


def main() -> None:
    vocab = vocabulary()
    tokens = {
        answer: [token for word in words for token in vocab.tokenize(word.encode())]
        for answer, words in WORDS.items()
    }

    def run(answer: bool, seed: int, steer: bool) -> str:
        rng, history = Xoroshiro128Plus(seed), TokenHistoryTracker(64)
        answer_is_due = True

        def choose(logits: Row) -> int:
            nonlocal answer_is_due
            if steer and answer_is_due:
                logits[tokens[answer]] += 10.0
                logits[tokens[not answer]] = float("-inf")
            params = SamplingParams(temp=0.7, top_k=40)
            token = sample_with_strategy(logits, history, rng, params)
            history.accept(token)
            answer_is_due = False
            return token

        return generate(PROMPT, 4, choose)

    right = {False: 0, True: 0}
    for items in ([], [1, 2, 3]):
        answer = not items
        for seed in range(SEEDS // 2):
            for steer in (False, True):
                text = run(answer, seed, steer)
                right[steer] += text.startswith(WORDS[answer])
                print(f"{items!s:9} seed {seed} {'steered' if steer else 'free   '} {text!r}")
    print(f"right: free {right[False]}/{SEEDS}, steered {right[True]}/{SEEDS}")


if __name__ == "__main__":
    main()
