"""Faults that people reported of their samplers, written anew from the threads' description: the
second set that measures the diagnosis.

They were written and labelled before it was ever run on them (`git log studies/held_out.py`), and
its results do not change them.

as_if: the planted fault that is the right diagnosis; "" if only an empty diagnosis is right.
"""

import math
from collections import Counter
from typing import Any

import numpy as np

from studies.own_samplers import NEVER, Fault, Given, History, Token, softmax

F = np.float32


# top_k


def one_more_than_k(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Remove ranks, counted from 0, only if they exceed k."""
    if given["k"] <= 0:
        return tokens
    return sorted(tokens, key=lambda t: -t[1])[: given["k"] + 1]


def cut_by_moments(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Guess the k-th logit from the mean and the deviation of all, as if they were normal."""
    n, k = len(tokens), given["k"]
    if k <= 0 or k >= n:
        return sorted(tokens, key=lambda t: -t[1]) if k > 0 else tokens
    logits = [t[1] for t in tokens if t[1] > NEVER]
    mean = sum(logits) / len(logits)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in logits) / len(logits))
    cut = mean + deviation * math.sqrt(2 * math.log(n / k))
    return [t for t in sorted(tokens, key=lambda t: -t[1]) if t[1] >= cut] or tokens[:1]


class FirstStepsCandidates:
    """With k > 2 the candidates of the first step are never replaced."""

    def __init__(self) -> None:
        self.left: list[Token] | None = None

    def __call__(self, tokens: list[Token], given: Given, _: History) -> list[Token]:
        if given["k"] <= 0:
            return tokens
        left = sorted(tokens, key=lambda t: -t[1])[: given["k"]]
        if self.left is None or given["k"] <= 2:
            self.left = left
        return self.left


# top_p


def _mass(tokens: list[Token]) -> list[float]:
    sums, mass = [], F(0)
    for token in tokens:
        mass = F(mass + F(token[2]))
        sums.append(float(mass))
    return sums


def _reached(sums: list[float], p: float, least: int) -> int:
    stay = next((i + 1 for i, s in enumerate(sums) if s >= p and i + 1 >= least), len(sums))
    return max(1, stay)


def right_top_p(tokens: list[Token], given: Given, _: History) -> list[Token]:
    if given["p"] >= 1:
        return tokens
    tokens = softmax(tokens)
    return tokens[: _reached(_mass(tokens), float(F(given["p"])), given.get("min_keep", 0))]


def below_p_stays(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Keep tokens with a running sum of at most p, and always the first."""
    if given["p"] >= 1:
        return tokens
    tokens = softmax(tokens)
    n = sum(mass <= float(F(given["p"])) for mass in _mass(tokens))
    return tokens[: max(n, given.get("min_keep", 0), 1)]


def shifted_mask(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Remove a token if the sum before it exceeds p: one too many stays if it equals p."""
    if given["p"] >= 1:
        return tokens
    tokens = softmax(tokens)
    before = [0.0, *_mass(tokens)[:-1]]
    stay = [i for i, mass in enumerate(before) if mass <= float(F(given["p"]))]
    return tokens[: max(len(stay), given.get("min_keep", 0), 1)]


def sums_log_probabilities(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Sum log p."""
    if given["p"] >= 1:
        return tokens
    tokens = softmax(tokens)
    logs, total = [], 0.0
    for token in tokens:
        total += math.log(token[2]) if token[2] > 0 else NEVER
        logs.append(total)
    return tokens[: _reached(logs, given["p"], given.get("min_keep", 0))]


def from_the_small_end(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Sort ascending; keep a token if the sum up to it exceeds 1 - p."""
    if given["p"] >= 1:
        return tokens
    tokens = softmax(tokens)
    sums = _mass(tokens[::-1])
    gone = sum(mass <= float(F(1) - F(given["p"])) for mass in sums)
    return tokens[: max(len(tokens) - gone, given.get("min_keep", 0), 1)]


def token_zero_at_zero(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Remove all at p = 0; with nothing left, token 0 is taken."""
    if given["p"] > 0:
        return right_top_p(tokens, given, history)
    first = next((t for t in softmax(tokens) if t[0] == tokens[0][0]), tokens[0])
    return [first]


def sums_in_half(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Sum in float16."""
    if given["p"] >= 1:
        return tokens
    tokens, mass, sums = softmax(tokens), np.float16(0), []
    for token in tokens:
        mass = np.float16(mass + np.float16(token[2]))
        sums.append(float(mass))
    return tokens[: _reached(sums, float(F(given["p"])), given.get("min_keep", 0))]


def sums_unsorted(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Sum through the vocabulary in its order."""
    if given["p"] >= 1:
        return tokens
    tokens = sorted(softmax(tokens), key=lambda t: t[0])
    return tokens[: _reached(_mass(tokens), float(F(given["p"])), given.get("min_keep", 0))]


def ranks_for_ids(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Return ranks instead of ids."""
    if given["p"] >= 1:
        return tokens
    left = right_top_p(tokens, given, history)
    return [[float(rank), token[1], token[2]] for rank, token in enumerate(left)]


# min_p


def _cut(tokens: list[Token], p: float) -> float:
    return float(F(F(max(t[1] for t in tokens)) + np.log(F(p))))


def right_min_p(tokens: list[Token], given: Given, _: History) -> list[Token]:
    if given["p"] <= 0 or not tokens:
        return tokens
    cut, least = _cut(tokens, given["p"]), max(given.get("min_keep", 0), 1)
    stay = [t for t in tokens if t[1] >= cut]
    if len(stay) >= least:
        return stay
    return sorted(tokens, key=lambda t: -t[1])[:least]


def no_min_p(tokens: list[Token], _: Given, __: History) -> list[Token]:
    """Accept min_p, and do not use it."""
    return tokens


def above_a_probability(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Keep every token above a probability."""
    if given["p"] <= 0 or not tokens:
        return tokens
    share = {t[0]: t[2] for t in softmax(tokens)}
    stay = [t for t in tokens if share[t[0]] >= given["p"]]
    least = max(given.get("min_keep", 0), 1)
    if len(stay) >= least:
        return stay
    return sorted(tokens, key=lambda t: -t[1])[:least]


def of_probabilities(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Compare p >= min_p * largest p, in float32."""
    if given["p"] <= 0 or not tokens:
        return tokens
    share = {t[0]: F(t[2]) for t in softmax(tokens)}
    cut = F(given["p"]) * max(share.values())
    stay = [t for t in tokens if share[t[0]] >= cut]
    least = max(given.get("min_keep", 0), 1)
    if len(stay) >= least:
        return stay
    return sorted(tokens, key=lambda t: -t[1])[:least]


def renormalized(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Normalize the remaining tokens."""
    left = right_min_p(tokens, given, history)
    if given["p"] <= 0:
        return left
    share = {t[0]: t[2] for t in softmax(left)}
    return [[t[0], t[1], share[t[0]]] for t in left]


def min_p_masks(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Keep removed tokens with -inf."""
    if given["p"] <= 0:
        return tokens
    left = {t[0] for t in right_min_p(tokens, given, history)}
    return [[t[0], t[1] if t[0] in left else NEVER, t[2]] for t in tokens]


# typical_p


def _typical(
    tokens: list[Token], given: Given, signed: bool = False,
    finite: bool = False, reaches: bool = False,
) -> list[Token]:  # fmt: skip
    if given["p"] >= 1:
        return tokens
    tokens = softmax(tokens)
    p = np.array([t[2] for t in tokens], F)
    with np.errstate(all="ignore"):
        logs = np.log(p)
        entropy = F(0)
        for share, log in zip(p, logs, strict=True):
            if not (finite and share == 0):
                entropy = F(entropy + F(-share * log))
        away = -logs - entropy
    away = away if signed else abs(away)
    order = sorted(range(len(tokens)), key=lambda i: float(away[i]))
    tokens = [tokens[i] for i in order]
    mass, least, wanted = F(0), given.get("min_keep", 0), F(given["p"])
    for i, token in enumerate(tokens):
        mass = F(mass + F(token[2]))
        enough = mass >= wanted if reaches else mass > wanted
        if enough and (least == 0 or i >= least - 1):
            return tokens[: i + 1]
    return tokens


def right_typical_p(tokens: list[Token], given: Given, _: History) -> list[Token]:
    return _typical(tokens, given)


def distance_with_its_sign(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Take surprise minus entropy without its absolute value."""
    return _typical(tokens, given, signed=True)


def zeros_left_out(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Sum without NaN (0 * log 0)."""
    return _typical(tokens, given, finite=True)


def typical_reaches(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Require only that the mass reaches p."""
    return _typical(tokens, given, reaches=True)


def typical_by_id(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Keep the rest in the order of the vocabulary, as a mask leaves it."""
    left = _typical(tokens, given)
    return left if given["p"] >= 1 else sorted(left, key=lambda t: t[0])


# top_n_sigma


def _sigma(tokens: list[Token], given: Given, banned: bool = False, less: int = 0) -> list[Token]:
    if given["n"] <= 0 or len(tokens) <= 1:
        return tokens
    valid = [F(t[1]) for t in tokens if banned or t[1] > NEVER]
    if not valid:
        return tokens
    with np.errstate(all="ignore"):
        mean = F(0)
        for x in valid:
            mean = F(mean + x)
        mean = F(mean / F(len(valid)))
        squares = F(0)
        for x in valid:
            squares = F(np.float64(squares) + np.float64(F(x - mean)) ** 2)
        deviation = np.sqrt(F(squares / F(max(1, len(valid) - less))))
        cut = F(max(valid) - F(F(given["n"]) * deviation))
        return [[t[0], NEVER if F(t[1]) < cut else t[1], t[2]] for t in tokens]


def right_top_n_sigma(tokens: list[Token], given: Given, _: History) -> list[Token]:
    return _sigma(tokens, given)


def banned_count(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Include -inf in the mean, which makes it NaN."""
    return _sigma(tokens, given, banned=True)


def bessel(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Divide by n - 1 in the deviation."""
    return _sigma(tokens, given, less=1)


def sigma_removes(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Remove the masked tokens."""
    if given["n"] <= 0 or len(tokens) <= 1:
        return tokens
    return [t for t in _sigma(tokens, given) if t[1] > NEVER]


# penalties


def _window(given: Given, history: History) -> History:
    last = given.get("penalty_last_n", 64)
    return history[-last:] if last > 0 else []


def _strengths(given: Given) -> tuple[F, F, F]:
    names = ("penalty_repeat", 1.0), ("penalty_freq", 0.0), ("penalty_present", 0.0)
    repeat, freq, present = (F(given.get(name, default)) for name, default in names)
    return repeat, freq, present


def _penalized(
    tokens: list[Token], given: Given, seen: Counter[int], strengths: tuple[F, F, F]
) -> list[Token]:
    repeat, freq, present = strengths
    if given.get("penalty_last_n", 64) <= 0:
        return tokens
    left = []
    for token, logit, share in tokens:
        value, n = F(logit), seen[int(token)]
        if n:
            value = value * repeat if value <= 0 else value / repeat
            value = F(value - F(F(F(n) * freq) + present))
        left.append([token, float(value), share])
    return left


def right_penalties(tokens: list[Token], given: Given, history: History) -> list[Token]:
    return _penalized(tokens, given, Counter(_window(given, history)), _strengths(given))


def presence_for_both(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Pass the presence penalty for the frequency penalty, too."""
    repeat, _, present = _strengths(given)
    seen = Counter(_window(given, history))
    return _penalized(tokens, given, seen, (repeat, present, present))


def frequency_for_both(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Pass the frequency penalty for the presence penalty, too."""
    repeat, freq, _ = _strengths(given)
    return _penalized(tokens, given, Counter(_window(given, history)), (repeat, freq, freq))


def no_frequency(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Read the frequency penalty, and do not use it."""
    repeat, _, present = _strengths(given)
    return _penalized(tokens, given, Counter(_window(given, history)), (repeat, F(0), present))


def of_log_probabilities(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Turn the logits into log-probabilities first."""
    repeat, freq, present = _strengths(given)
    off = repeat == 1 and freq == 0 and present == 0
    if off or given.get("penalty_last_n", 64) <= 0:
        return tokens
    logits = np.array([t[1] for t in tokens], F)
    with np.errstate(all="ignore"):
        largest = logits.max()
        logs = (logits - largest) - np.log(np.exp(logits - largest).sum(dtype=F))
    tokens = [[t[0], float(log), t[2]] for t, log in zip(tokens, logs, strict=True)]
    return right_penalties(tokens, given, history)


def additive(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Subtract penalty_repeat instead of using it as a factor."""
    repeat, freq, present = _strengths(given)
    strengths = F(1), freq, F(present + repeat - F(1))
    return _penalized(tokens, given, Counter(_window(given, history)), strengths)


def two_behind(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Let the counts lag two tokens behind."""
    return right_penalties(tokens, given, history[: max(0, len(history) - 2)])


def divided_by_each(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Divide for any sign, once for each occurrence in the whole history."""
    repeat, freq, present = _strengths(given)
    seen = Counter(history)
    if given.get("penalty_last_n", 64) <= 0:
        return tokens
    left = []
    for token, logit, share in tokens:
        value, n = F(logit), seen[int(token)]
        for _ in range(n):
            value = value / repeat
        if n:
            value = F(value - F(F(F(n) * freq) + present))
        left.append([token, float(value), share])
    return left


class _Prompt:
    """Knows which tokens came before the first step."""

    def __init__(self) -> None:
        self.prompt: int | None = None

    def parts(self, history: History) -> tuple[History, History]:
        if self.prompt is None:
            self.prompt = len(history)
        return history[: self.prompt], history[self.prompt :]


class OutputOnly(_Prompt):
    """The window has none of the prompt."""

    def __call__(self, tokens: list[Token], given: Given, history: History) -> list[Token]:
        return right_penalties(tokens, given, self.parts(history)[1])


class PromptOnly(_Prompt):
    """Generated tokens are never put into the window."""

    def __call__(self, tokens: list[Token], given: Given, history: History) -> list[Token]:
        return right_penalties(tokens, given, self.parts(history)[0])


class OutputPresence(_Prompt):
    """penalty_repeat is of prompt and output, the other two are of the output."""

    def __call__(self, tokens: list[Token], given: Given, history: History) -> list[Token]:
        repeat, freq, present = _strengths(given)
        output = self.parts(history)[1]
        both = Counter(_window(given, history))
        tokens = _penalized(tokens, given, both, (repeat, F(0), F(0)))
        return _penalized(tokens, given, Counter(_window(given, output)), (F(1), freq, present))


# temp


def _scaled(tokens: list[Token], by: Any) -> list[Token]:
    with np.errstate(all="ignore"):
        return [[t[0], float(F(by(F(t[1])))), t[2]] for t in tokens]


def right_temp(tokens: list[Token], given: Given, _: History) -> list[Token]:
    if given["temp"] <= 0:
        best = max(range(len(tokens)), key=lambda i: tokens[i][1])
        return [[t[0], t[1] if i == best else NEVER, t[2]] for i, t in enumerate(tokens)]
    return _scaled(tokens, lambda x: x / F(given["temp"]))


def divides_by_zero(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Multiply by 1 / temp in double, for any temp."""
    return _scaled(tokens, lambda x: np.float64(x) * (np.float64(1) / np.float64(given["temp"])))


def tiny_for_zero(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Add 1e-9 to the divisor."""
    return _scaled(tokens, lambda x: x / F(F(given["temp"]) + F(1e-9)))


def at_least_a_hundredth(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Treat values between 0 and 0.01 as 0.01."""
    t = given["temp"]
    return right_temp(tokens, {"temp": max(t, 0.01) if t > 0 else t}, history)


def above_one_is_one(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Treat values outside of 0 to 1 as 1."""
    t = given["temp"]
    return right_temp(tokens, {"temp": 1.0 if t < 0 or t > 1 else t}, history)


# logit_bias


def _biased(tokens: list[Token], biases: list[list[float]]) -> list[Token]:
    left = [list(t) for t in tokens]
    at = {int(t[0]): i for i, t in enumerate(left)}
    for token, bias in biases:
        if token in at:
            left[at[int(token)]][1] = float(F(F(left[at[int(token)]][1]) + F(bias)))
    return left


def right_logit_bias(tokens: list[Token], given: Given, _: History) -> list[Token]:
    return _biased(tokens, given["logit_bias"])


def never_applied(tokens: list[Token], _: Given, __: History) -> list[Token]:
    """Read, and no stage added."""
    return tokens


def negative_without_effect(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Ignore a ban, and a bias below 0."""
    return _biased(tokens, [pair for pair in given["logit_bias"] if float(pair[1]) > 0])


class FirstTokenOnly:
    """Only the first of several tokens gets its bias."""

    def __init__(self) -> None:
        self.used = False

    def __call__(self, tokens: list[Token], given: Given, history: History) -> list[Token]:
        first, self.used = not self.used, True
        return right_logit_bias(tokens, given, history) if first else tokens


HELD_OUT = (
    Fault("k + 1 stay", "top_k", one_more_than_k, "keeps-one-more", "mesh-transformer-jax #164"),
    Fault("the cut is guessed", "top_k", cut_by_moments, "threshold-by-moments", "FreeToken #345"),
    Fault("candidates of another step", "top_k", FirstStepsCandidates(), "", "kekzl/imp #1144"),
    Fault("at most p stays", "top_p", below_p_stays, "crossing-token-dropped", "Biohub/esm #360"),
    Fault(
        "a mask shifted by one", "top_p", shifted_mask, "exceeds-instead-of-reaches",
        "transformers #18983",
    ),
    Fault(
        "sums log p", "top_p", sums_log_probabilities, "cumulates-logarithms", "tiny-llm #32"
    ),
    Fault("from the small end", "top_p", from_the_small_end, "ascending-mass", "mlx-lm #388"),
    Fault(
        "token 0 at p = 0", "top_p", token_zero_at_zero, "zero-keeps-token-zero", "simply #42"
    ),
    Fault("sums in float16", "top_p", sums_in_half, "mass-in-half", "Megatron-LM #7182"),
    Fault(  # taken-as-they-stand became a planted fault later, of which this is another writing
        "sums unsorted", "top_p", sums_unsorted, "taken-as-they-stand", "gluon-nlp #1481"
    ),
    Fault("ranks for ids", "top_p", ranks_for_ids, "", "PaLM-rlhf-pytorch #60"),
    Fault("dropped on the way", "min_p", no_min_p, "", "tpu-inference #3213"),
    Fault(
        "a probability, not a share", "min_p", above_a_probability, "absolute-threshold",
        "LLamaSharp #277",
    ),
    Fault("of probabilities", "min_p", of_probabilities, "compares-probabilities", "vllm #1642"),
    Fault("normalizes what stays", "min_p", renormalized, "", "TensorRT-LLM #16590"),
    Fault(
        "masks", "min_p", min_p_masks, "masks-instead-of-removing", "transformers #30639"
    ),
    Fault(
        "a distance with its sign", "typical_p", distance_with_its_sign, "signed-distance",
        "the pair below the bug zoo",
    ),
    Fault("zeros left out", "typical_p", zeros_left_out, "zero-adds-nothing", "badge #10"),
    Fault(
        "the mass need only reach p", "typical_p", typical_reaches, "reaches-instead-of-exceeds",
        "mlx-vlm #1663",
    ),
    Fault("in the order of the vocabulary", "typical_p", typical_by_id, "", "mlxcel #1377"),
    Fault("counts the banned", "top_n_sigma", banned_count, "counts-banned", "llama.cpp #13344"),
    Fault("n - 1", "top_n_sigma", bessel, "sample-deviation", "juttle #539"),
    Fault("removes", "top_n_sigma", sigma_removes, "removes", "Camelid #539"),
    Fault("presence for both", "penalties", presence_for_both, "", "mlc-llm #1693"),
    Fault(
        "frequency for both", "penalties", frequency_for_both, "present-is-freq", "ollama #10771"
    ),
    Fault("frequency unused", "penalties", no_frequency, "", "Rapid-MLX #470"),
    Fault(
        "of log-probabilities", "penalties", of_log_probabilities, "on-log-probabilities",
        "transformers #47595",
    ),
    Fault("subtracts penalty_repeat", "penalties", additive, "", "textgen #3627"),
    Fault("two tokens behind", "penalties", two_behind, "", "MTPLX #157"),
    Fault("divides by each", "penalties", divided_by_each, "", "react-native-executorch #1483"),
    Fault("output only", "penalties", OutputOnly(), "prompt-ignored", "xyntetik-runner #120"),
    Fault("prompt only", "penalties", PromptOnly(), "output-ignored", "NVIDIA-NeMo/Speech #8194"),
    Fault("presence of the output", "penalties", OutputPresence(), "", "TensorRT-LLM #5623"),
    Fault(
        "divides by 0", "temp", divides_by_zero, "zero-divides times-reciprocal", "ggml #37"
    ),
    Fault("a billionth for 0", "temp", tiny_for_zero, "", "bark #270"),
    Fault("at least 0.01", "temp", at_least_a_hundredth, "", "TensorRT-LLM #16287"),
    Fault("at most 1", "temp", above_one_is_one, "", "llama2.c #327"),
    Fault("never applied", "logit_bias", never_applied, "omitted", "go-llama.cpp #181"),
    Fault(
        "negative ones do nothing", "logit_bias", negative_without_effect, "raises-only",
        "tabbyAPI #350",
    ),
    Fault("at the first token", "logit_bias", FirstTokenOnly(), "first-step-only", "sglang #8734"),
)  # fmt: skip

# The correct versions of these. A diagnosis of one holds for all faults that are made from it.
RIGHT = (
    Fault("right", "top_p", right_top_p, ""),
    Fault("right", "min_p", right_min_p, ""),
    Fault("right", "typical_p", right_typical_p, ""),  # but for a sort of NaN
    Fault("right", "top_n_sigma", right_top_n_sigma, ""),
    Fault("right", "penalties", right_penalties, ""),
    Fault("right", "temp", right_temp, ""),
    Fault("right", "logit_bias", right_logit_bias, ""),
)
