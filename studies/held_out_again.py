"""A third set of reported faults, written and labelled after the method was fixed on the second,
and before it was run on these.

See studies/held_out.py.
"""

from collections import Counter

import numpy as np

from studies.held_out import F, _penalized, _strengths, _window, right_temp
from studies.own_samplers import Fault, Given, History, Token, softmax


def threshold_mask(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Keep all that are not below the k-th logit."""
    if given["k"] <= 0:
        return tokens
    ordered = sorted(tokens, key=lambda t: -t[1])
    kth = ordered[min(given["k"], len(ordered)) - 1][1]
    return [t for t in ordered if not t[1] < kth]


def tail_first(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Sort ascending, and keep tokens from the front until the mass is p."""
    if given["p"] >= 1:
        return tokens
    tokens, mass, left = softmax(tokens)[::-1], F(0), list[Token]()
    for token in tokens:
        left.append(token)
        mass = F(mass + F(token[2]))
        if mass >= F(given["p"]) and len(left) >= given.get("min_keep", 0):
            break
    return left


def loops_over_the_history(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Apply penalty_repeat for each token of the window, the others by their counts."""
    repeat, freq, present = _strengths(given)
    window = _window(given, history)
    once = {token: [token, logit, share] for token, logit, share in tokens}
    for token in window:
        if token in once:
            value = F(once[token][1])
            once[token][1] = float(value * repeat if value <= 0 else value / repeat)
    return _penalized([*once.values()], given, Counter(window), (F(1), freq, present))


def first_of_the_history(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Take the whole history with a length, and read the first ones."""
    window = history[: max(0, given.get("penalty_last_n", 64))]
    return _penalized(tokens, given, Counter(window), _strengths(given))


def divides(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Divide the logit by the penalty for any sign."""
    repeat, freq, present = _strengths(given)
    seen = set(_window(given, history))
    tokens = [[t[0], float(F(t[1]) / repeat) if t[0] in seen else t[1], t[2]] for t in tokens]
    return _penalized(tokens, given, Counter(_window(given, history)), (F(1), freq, present))


def twenty_at_most(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Limit the context of the penalty to 20 tokens, for any setting."""
    window = _window(given, history)[-20:]
    return _penalized(tokens, given, Counter(window), _strengths(given))


def all_of_the_history(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Use no window: the whole history."""
    return _penalized(tokens, given, Counter(history), _strengths(given))


def argmax_alone(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Use another sampler at temperature 0, which leaves the largest alone."""
    if given["temp"] > 0:
        return right_temp(tokens, given, history)
    return [max(tokens, key=lambda t: t[1])]


def negative_temperatures(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Treat only 0 as greedy; a negative temperature divides."""
    if given["temp"] == 0:
        return right_temp(tokens, given, history)
    return [[t[0], float(F(t[1]) / F(given["temp"])), t[2]] for t in tokens]


def pushes_ignored(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Ignore a bias of +inf."""
    left = [list(t) for t in tokens]
    for token, bias in given["logit_bias"]:
        for t in left:
            if t[0] == token and float(bias) != float("inf"):
                t[1] = float(F(F(t[1]) + F(bias)))
    return left


class Xtc:
    """A coin for each step, by a generator of its own."""

    def __init__(self, all_go: bool = False, exceeds: bool = False) -> None:
        self.all_go, self.exceeds = all_go, exceeds
        self.generator: np.random.RandomState | None = None

    def __call__(self, tokens: list[Token], given: Given, _: History) -> list[Token]:
        if given["p"] <= 0 or given["t"] > 0.5 or len(tokens) < 2:
            return tokens
        if self.generator is None:
            self.generator = np.random.RandomState(given["seed"])
        words = self.generator._bit_generator.random_raw()
        if F(words) / F(2**32) > F(given["p"]):
            return tokens
        tokens, t = softmax(tokens), F(given["t"])
        top = sum(bool(F(x[2]) > t if self.exceeds else F(x[2]) >= t) for x in tokens)
        gone = top if self.all_go else max(0, top - 1)
        return tokens[gone:] if gone and len(tokens) - gone >= given.get("min_keep", 0) else tokens


HELD_OUT_AGAIN = (
    Fault("ties stay", "top_k", threshold_mask, "keeps-ties-of-the-last", "vllm #15478"),
    Fault("the tail stays", "top_p", tail_first, "", "vllm-ascend #4860"),
    Fault(
        "per token of the history", "penalties", loops_over_the_history, "per-occurrence",
        "transformers.js #1062",
    ),
    Fault(
        "the first of the history", "penalties", first_of_the_history, "oldest-of-the-history",
        "llama-cpp-python #1295",
    ),
    Fault("divides", "penalties", divides, "always-divides", "cerebros-core-algorithm-alpha #294"),
    Fault("a window of 20", "penalties", twenty_at_most, "", "osaurus #2644"),
    Fault("no window", "penalties", all_of_the_history, "", "private-mind #255"),
    Fault("the largest alone", "temp", argmax_alone, "zero-removes", "llama.cpp #9897"),
    Fault(
        "divides by negative ones", "temp", negative_temperatures, "negative-divides",
        "ik_llama.cpp #1770",
    ),
    Fault("+inf left out", "logit_bias", pushes_ignored, "", "exllamav3 #274"),
    Fault("all top ones go", "xtc", Xtc(all_go=True), "removes-all-top", "aprender #2131"),
    Fault("above, not at least", "xtc", Xtc(exceeds=True), "threshold-exceeded", "mlx-lm #1036"),
)  # fmt: skip
RIGHT_AGAIN = (Fault("right", "xtc", Xtc(), ""),)
