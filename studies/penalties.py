"""`python -m studies.penalties`: the tokens that llama-cpp-python penalizes, and last-digit errors.

llama-cpp-python's own `Llama.generate`, greedy, on the golden model: the first token behind a
prompt that holds the most likely one, with a frequency penalty that no token of the prompt would
survive. Then positive logits divided by a repetition penalty (llama.cpp, transformers, vLLM's CUDA
kernel) are compared with those multiplied by its reciprocal (vLLM on a CPU).
"""

from dataclasses import dataclass

import llama_cpp
import numpy as np

from sampler_parity.harness.inputs.models import model_path

PROMPT = b"the cat sat on the mat and the cat sat on the mat and the cat sat on"
PENALTY = 50.0  # more than any two logits of the model are apart
GREEDY = {"temp": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
LOGITS = 1_000_000
REPETITION = (1.05, 1.1, 1.17, 1.3)


@dataclass(frozen=True)
class FirstToken:
    """plain: without a penalty. penalized: with one. counted: what it would be if the prompt
    counted. in_prompt: plain is a token of the prompt."""

    plain: int
    penalized: int
    counted: int
    in_prompt: bool


def first_token() -> FirstToken:
    model = llama_cpp.Llama(str(model_path("small")), n_ctx=128, logits_all=True, verbose=False)
    prompt = model.tokenize(PROMPT)

    def first(**penalty: float) -> int:
        model.reset()
        return int(next(iter(model.generate(prompt, **GREEDY, **penalty))))

    plain, penalized = first(), first(frequency_penalty=PENALTY)
    row = np.array(model.scores[len(prompt) - 1])
    row[prompt] -= PENALTY
    model.close()
    return FirstToken(plain, penalized, int(row.argmax()), plain in prompt)


def other_last_digit(penalty: float) -> float:
    """Return the share of positive float32 logits whose product is not the quotient."""
    logits = np.abs(np.random.default_rng(0).normal(0, 4, LOGITS)).astype(np.float32)
    divisor = np.float32(penalty)
    return float(np.mean(logits / divisor != logits * (1 / divisor)))


def main() -> None:
    seen = first_token()
    print(f"llama-cpp-python {llama_cpp.__version__}: the first token is {seen.plain}", end="")
    print(
        f", in the prompt: {seen.in_prompt}; with a frequency penalty of {PENALTY:g} it is", end=""
    )
    print(f" {seen.penalized}; if the prompt counted it would be {seen.counted}")
    for penalty in REPETITION:
        share = other_last_digit(penalty)
        print(f"repetition {penalty}: {share:.1%} of {LOGITS:,} positive logits differ in a digit")


if __name__ == "__main__":
    main()
