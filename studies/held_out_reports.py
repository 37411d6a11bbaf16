"""A fifth set: faults as people report them, and faults of people that write samplers of all kinds
anew.

Written and labelled after the method was fixed on the fourth set, and before it was run on these.
See studies/held_out.py.
"""

import math
from collections import Counter
from typing import Any

import numpy as np

from studies.held_out import (
    F,
    _biased,
    _mass,
    _reached,
    _strengths,
    _window,
    right_penalties,
    right_temp,
    right_top_p,
)
from studies.held_out_orders import Misordered
from studies.own_samplers import NEVER, Drawn, Fault, Given, History, Token, top_k


def _weights(tokens: list[Token], largest: float) -> list[float]:
    """Return exp in double, rounded to float32, in the order of the tokens."""
    if math.isinf(largest) or math.isnan(sum(t[1] for t in tokens)):
        return [math.nan] * len(tokens)
    return [float(F(math.exp(float(F(F(t[1]) - F(largest)))))) for t in tokens]


def softmax(tokens: list[Token]) -> list[Token]:
    """Return the tokens, sorted, with their softmax."""
    tokens = sorted(tokens, key=lambda t: -t[1])
    weights, total = _weights(tokens, tokens[0][1]), F(0)
    for weight in weights:
        total = F(total + F(weight))
    return [[t[0], t[1], float(F(F(w) / total))] for t, w in zip(tokens, weights, strict=True)]


class Words:
    """std::mt19937, seeded at the first use."""

    def __init__(self) -> None:
        self.state: Any = None

    def word(self, seed: int) -> int:
        if self.state is None:
            self.state = np.random.RandomState(seed)
        return int(self.state._bit_generator.random_raw())

    def double(self, seed: int) -> float:
        low, high = self.word(seed), self.word(seed)
        return min((low + high * 2.0**32) / 2.0**64, float(np.nextafter(1.0, 0.0)))


# top_k


def selected_by_a_mask(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Keep the k largest where they are: a mask over the vocabulary."""
    if given["k"] <= 0:
        return tokens
    stay = {t[0] for t in sorted(tokens, key=lambda t: -t[1])[: given["k"]]}
    return [t for t in tokens if t[0] in stay]


def index_for_size(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Take the index of the last one for the number of those that stay."""
    if given["k"] <= 0:
        return tokens
    tokens = sorted(tokens, key=lambda t: -t[1])
    return tokens[: max(1, min(given["k"], len(tokens)) - 1)]


# top_p, min_p


def sums_in_bfloat16(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Round the running sum to bfloat16 at every step."""
    if given["p"] >= 1:
        return tokens
    tokens, mass, sums = softmax(tokens), F(0), []
    for token in tokens:
        mass = _bfloat16(mass + _bfloat16(F(token[2])))
        sums.append(float(mass))
    return tokens[: _reached(sums, float(F(given["p"])), given.get("min_keep", 0))]


def _bfloat16(x: Any) -> Any:
    """Round to the nearest, ties to even."""
    bits = int(np.array(x, F).view(np.uint32))
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.array(bits, np.uint32).view(F)[()]


def shares_of_what_stays(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Normalize the tokens that top-p leaves."""
    left = right_top_p(tokens, given, history)
    if given["p"] >= 1:
        return left
    whole = float(_mass(left)[-1])
    return [[t[0], t[1], float(F(t[2] / whole))] for t in left]


def softmax_first(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Apply min-p to the list that a softmax sorted and wrote p into."""
    if given["p"] <= 0 or not tokens:
        return tokens
    tokens = softmax(tokens)
    cut = F(F(tokens[0][1]) + np.log(F(given["p"])))
    stay = [t for t in tokens if F(t[1]) >= cut]
    return tokens[: max(len(stay), given.get("min_keep", 0), 1)]


# typical_p


def _typical(
    tokens: list[Token], given: Given, log: Any = np.log, sign: int = 1, share: float = 1.0
) -> list[Token]:
    """Apply typical-p. log: the entropy's; sign: -1 sorts descending; share: of the entropy to aim
    at.
    """
    if given["p"] >= 1:
        return tokens
    tokens = softmax(tokens)
    p = np.array([t[2] for t in tokens], F)
    with np.errstate(all="ignore"):
        entropy = F(0)
        for each, of_each in zip(p, log(p), strict=True):
            entropy = F(entropy + F(-each * of_each))
        away = abs(-np.log(p) - F(entropy * F(share)))
    order = sorted(range(len(tokens)), key=lambda i: sign * float(away[i]))
    tokens = [tokens[i] for i in order]
    mass, least = F(0), given.get("min_keep", 0)
    for i, token in enumerate(tokens):
        mass = F(mass + F(token[2]))
        if mass > F(given["p"]) and (least == 0 or i >= least - 1):
            return tokens[: i + 1]
    return tokens


def descending(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Put the farthest from the entropy first."""
    return _typical(tokens, given, sign=-1)


def two_logarithms(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Use log2 in the entropy, log in the surprise."""
    return _typical(tokens, given, log=np.log2)


# top_n_sigma


def _sigma(tokens: list[Token], given: Given, spread: Any) -> list[Token]:
    """Apply top-n-sigma. spread: of the finite logits around their mean."""
    valid = np.array([t[1] for t in tokens if t[1] > NEVER], F)
    if given["n"] <= 0 or len(tokens) <= 1 or not len(valid):
        return tokens
    mean = F(0)
    with np.errstate(all="ignore"):
        for x in valid:
            mean = F(mean + x)
        away = valid - F(mean / F(len(valid)))
        cut = F(valid.max() - F(F(given["n"]) * F(spread(away))))
    return [[t[0], NEVER if F(t[1]) < cut else t[1], t[2]] for t in tokens]


def squares_without_a_root(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Use the mean of the squares without its root."""
    return _sigma(tokens, given, lambda away: np.mean(np.float64(away) ** 2))


def mean_distance(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Use the mean distance from the mean."""
    return _sigma(tokens, given, lambda away: np.mean(abs(away), dtype=np.float64))


# temp, temp_ext


def all_largest_at_zero(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Mask every logit below the largest at temperature 0."""
    if given["temp"] > 0:
        return right_temp(tokens, given, history)
    largest = max(t[1] for t in tokens)
    return [[t[0], t[1] if t[1] == largest else NEVER, t[2]] for t in tokens]


def divided_twice(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Divide in the sampler, and again in the softmax behind it."""
    return right_temp(right_temp(tokens, given, history), given, history)


def _dynamic(
    tokens: list[Token], given: Given, of_largest: Any = np.log, lowest: float = 0.0
) -> list[Token]:
    """Apply dynamic temperature. of_largest: log of the largest entropy; lowest: the minimum of
    Tmin.
    """
    temp, delta = F(given["temp"]), F(given.get("delta", 0.0))
    if delta <= 0:
        return tokens if temp == 1 else right_temp(tokens, {"temp": float(temp)}, [])
    if len(tokens) <= 1:
        return tokens
    tokens = softmax(tokens)
    with np.errstate(all="ignore"):
        largest, entropy = F(-of_largest(F(F(1) / F(len(tokens))))), F(0)
        for token in tokens:
            if token[2] > 0:
                entropy = F(entropy - F(F(token[2]) * np.log(F(token[2]))))
        share = F(np.power(F(entropy / largest), F(given.get("exponent", 1.0))))
        low, high = F(max(F(lowest), F(temp - delta))), F(temp + delta)
        warm = float(F(low + F(F(high - low) * share)))
    tokens = right_temp(tokens, {"temp": warm}, [])
    with np.errstate(all="ignore"):
        weights = [float(np.exp(np.float64(t[1]) - np.float64(tokens[0][1]))) for t in tokens]
        total = np.float64(sum(weights))
        shares = [float(F(np.float64(F(w)) / total)) for w in weights]
    return [[t[0], t[1], share] for t, share in zip(tokens, shares, strict=True)]


def right_temp_ext(tokens: list[Token], given: Given, _: History) -> list[Token]:
    return _dynamic(tokens, given)


def bits_and_nats(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Use log2 of n for the largest entropy, log in the entropy."""
    return _dynamic(tokens, given, of_largest=np.log2)


def below_zero(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Use temp - delta, also below 0."""
    return _dynamic(tokens, given, lowest=NEVER)


# penalties


def given_twice(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Put each token into the history twice: from the loop and from the sampler."""
    return right_penalties(tokens, given, [token for token in history for _ in range(2)])


def a_set_in_order(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Use a set that keeps its order as the history."""
    return right_penalties(tokens, given, [*dict.fromkeys(history)])


def the_other_way_round(tokens: list[Token], given: Given, history: History) -> list[Token]:
    """Multiply positive logits, divide the others."""
    repeat, freq, present = _strengths(given)
    if given.get("penalty_last_n", 64) <= 0:
        return tokens
    seen, left = Counter(_window(given, history)), []
    for token, logit, share in tokens:
        value, n = F(logit), seen[int(token)]
        if n:
            value = value / repeat if value <= 0 else value * repeat
            value = F(value - F(F(F(n) * freq) + present))
        left.append([token, float(value), share])
    return left


# dry


class Dry:
    """By loops: for each earlier place, how many tokens before it are those at the end.

    longer: than the allowed length must it be. latest: the latest copy counts. swapped: base for
    multiplier.
    """

    def __init__(self, longer: bool = False, latest: bool = False, swapped: bool = False) -> None:
        self.longer, self.latest, self.swapped = longer, latest, swapped

    def __call__(self, tokens: list[Token], given: Given, history: History) -> list[Token]:
        strength: Any = F(given["dry_multiplier"])
        base: Any = F(given.get("dry_base", 1.75))
        allowed, last = given.get("dry_allowed_length", 2), given.get("dry_penalty_last_n", 64)
        breakers = [b for b in given.get("seq_breakers", []) if b]
        window = history[-last:] if last > 0 else []
        if strength == 0 or base < 1 or len(window) <= allowed:
            return tokens
        limit, least = _unbroken(window, breakers), allowed + self.longer
        longest: dict[int, int] = {}
        for end in range(len(window) - 1, 0, -1):  # window[end] follows what ends before it
            length = 0
            while length < min(end, limit) and window[end - 1 - length] == window[-1 - length]:
                length += 1
            token = window[end]
            if length >= least and not (self.latest and token in longest):
                longest[token] = max(length, longest.get(token, length))
        if self.swapped:
            strength, base = base, strength
        left = []
        for each, logit, share in tokens:
            value, token = F(logit), int(each)
            if token in longest and [token] not in breakers:
                value = F(value - _power(strength, base, longest[token] - allowed))
            left.append([each, float(value), share])
        return left


def _unbroken(window: History, breakers: list[History]) -> int:
    """Count the newest tokens after the last breaker."""
    for n in range(len(window)):
        at = len(window) - 1 - n
        ends = [len(b) for b in breakers if window[at : at + len(b)] == list(b)]
        if ends:
            return n - (max(ends) - 1)
    return len(window)


def _power(strength: Any, base: Any, exponent: int) -> Any:
    """Return strength * base ** exponent, the exponent cut off where float32 ends."""
    if base > F(1.000001):
        exponent = min(exponent, int(F(88.7228391) / np.log(base)) or exponent)
    with np.errstate(all="ignore"):
        return F(np.float64(strength) * np.power(np.float64(base), np.float64(exponent)))


# xtc, mirostat_v2, dist


class Xtc(Words):
    """always: acts at every step, and throws no coin."""

    def __init__(self, always: bool = False) -> None:
        super().__init__()
        self.always = always

    def __call__(self, tokens: list[Token], given: Given, _: History) -> list[Token]:
        if given["p"] <= 0 or given["t"] > 0.5 or len(tokens) < 2:
            return tokens
        if not self.always and F(self.word(given["seed"])) / F(2**32) > F(given["p"]):
            return tokens
        tokens = softmax(tokens)
        top = [t for t in tokens if F(t[2]) >= F(given["t"])]
        if len(top) < 2 or len(tokens) - len(top) + 1 < given.get("min_keep", 0):
            return tokens
        return tokens[len(top) - 1 :] if self.always else [top[0], *tokens[len(top) :]]


class Mirostat(Words):
    """anew: mu is set at every step. nats: the surprise observed is a natural logarithm. away: mu
    moves away from tau."""

    def __init__(self, anew: bool = False, nats: bool = False, away: bool = False) -> None:
        super().__init__()
        self.anew, self.nats, self.away = anew, nats, away
        self.mu: Any = None

    def __call__(self, tokens: list[Token], given: Given, _: History) -> list[Token]:
        tau, eta = F(given.get("tau", 5.0)), F(given.get("eta", 0.1))
        with np.errstate(all="ignore"):
            mu: Any = F(F(2) * tau) if self.mu is None or self.anew else self.mu
            tokens = softmax(tokens)
            surprising = [bool(-np.log2(F(t[2])) > mu) for t in tokens]
            left = softmax(tokens[: max(1, [*surprising, True].index(True))])
            selected = self._drawn([t[2] for t in left], given["seed"])
            log = np.log if self.nats else np.log2
            error = F(-log(F(left[selected][2])) - tau)
            self.mu = F(mu + F(eta * error) if self.away else mu - F(eta * error))
        return Drawn(left, selected)

    def _drawn(self, shares: list[float], seed: int) -> int:
        """Draw as std::discrete_distribution."""
        if len(shares) < 2:
            return 0
        total, mass, u = sum(shares), 0.0, self.double(seed)
        for i, share in enumerate(shares[:-1]):
            mass += share / total
            if mass >= u:
                return i
        return len(shares) - 1


class Dist(Words):
    """copied: of the generator a copy is drawn from, always the same. word: one of 32 bits is the
    number."""

    def __init__(self, copied: bool = False, word: bool = False) -> None:
        super().__init__()
        self.copied, self.one_word = copied, word

    def __call__(self, tokens: list[Token], given: Given, _: History) -> list[Token]:
        if not tokens:
            return Drawn([], -1)
        if self.copied:
            self.state = None
        seed = given["seed"]
        u = float(F(self.word(seed)) / F(2**32)) if self.one_word else self.double(seed)
        if len(tokens) == 1:
            return Drawn([[tokens[0][0], tokens[0][1], 1.0]], 0)
        weights = _weights(tokens, max(t[1] for t in tokens))
        total = sum(weights)
        left = [[t[0], t[1], float(F(w / total))] for t, w in zip(tokens, weights, strict=True)]
        if math.isnan(total):
            return Drawn(left, len(left) - 1)
        mass = 0.0
        for i, weight in enumerate(weights):
            mass += weight
            if mass >= u * total:
                return Drawn(left, i)
        return Drawn(left, len(left) - 1)


# logit_bias


def a_dictionary(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Read the pairs into a dictionary."""
    return _biased(tokens, [[t, b] for t, b in dict(map(tuple, given["logit_bias"])).items()])


def of_a_web_interface(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Cut off values outside of -100 to 100."""
    return _biased(tokens, [[t, min(100.0, max(-100.0, float(b)))] for t, b in given["logit_bias"]])


def counted_from_one(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Apply the bias of a token to the one behind it."""
    return _biased(tokens, [[t + 1, b] for t, b in given["logit_bias"]])


# chains


def penalties_before_the_bias(names: list[str]) -> list[int]:
    """Swap the two if the bias comes first."""
    order = [*range(len(names))]
    if "penalties" in names and "logit_bias" in names:
        bias, penalties = names.index("logit_bias"), names.index("penalties")
        if bias < penalties:
            order.remove(bias)
            order.insert(order.index(penalties) + 1, bias)
    return order


def bias_behind_all(names: list[str]) -> list[int]:
    return sorted(range(len(names)), key=lambda i: names[i] == "logit_bias")


HELD_OUT_REPORTS: tuple[Fault | Misordered, ...] = (
    Fault("selected by a mask", "top_k", selected_by_a_mask, "vocabulary-order", "anew"),
    Fault("an index for a size", "top_k", index_for_size, "", "llama.cpp #9604"),
    Fault("sums in bfloat16", "top_p", sums_in_bfloat16, "mass-in-bfloat16", "tt-metal #41635"),
    Fault("shares of what stays", "top_p", shares_of_what_stays, "normalizes-the-rest", "anew"),
    Fault("a softmax first", "min_p", softmax_first, "writes-probabilities", "llama.cpp #5115"),
    Fault(
        "descending", "typical_p", descending, "least-typical-first",
        "the pair below the bug zoo",
    ),
    Fault("two logarithms", "typical_p", two_logarithms, "entropy-in-bits", "anew"),
    Fault("squares without a root", "top_n_sigma", squares_without_a_root, "variance", "anew"),
    Fault("the mean distance", "top_n_sigma", mean_distance, "", "anew"),
    Fault("all of the largest at 0", "temp", all_largest_at_zero, "zero-keeps-ties", "anew"),
    Fault("divided twice", "temp", divided_twice, "", "Camelid #534"),
    Fault("bits and nats", "temp_ext", bits_and_nats, "largest-entropy-in-bits", "anew"),
    Fault("below 0", "temp_ext", below_zero, "range-reaches-below-zero", "anew"),
    Fault("each token given twice", "penalties", given_twice, "accepts-twice", "anew"),
    Fault("a set for the history", "penalties", a_set_in_order, "accepts-no-repeat", "anew"),
    Fault("the other way round", "penalties", the_other_way_round, "", "anew"),
    Fault("longer than allowed", "dry", Dry(longer=True), "allowed-length-exceeded", "anew"),
    Fault("the latest copy", "dry", Dry(latest=True), "latest-match-only", "anew"),
    Fault("base for multiplier", "dry", Dry(swapped=True), "", "mlc-llm #1693, of dry"),
    Fault("the likeliest stays", "xtc", Xtc(), "keeps-the-likeliest-top", "anew"),
    Fault("no coin", "xtc", Xtc(always=True), "", "Rapid-MLX #470, of xtc"),
    Fault("mu anew", "mirostat_v2", Mirostat(anew=True), "restarts-mu", "LLamaSharp #71"),
    Fault("surprise in nats", "mirostat_v2", Mirostat(nats=True), "surprise-in-nats", "anew"),
    Fault("away from tau", "mirostat_v2", Mirostat(away=True), "", "anew"),
    Fault("always the same number", "dist", Dist(copied=True), "frozen-stream", "mlx-lm #1245"),
    Fault("one word a number", "dist", Dist(word=True), "one-word-a-draw", "anew"),
    Fault("a dictionary", "logit_bias", a_dictionary, "last-of-several", "anew"),
    Fault("of a web interface", "logit_bias", of_a_web_interface, "clamps-to-100", "anew"),
    Fault("counted from 1", "logit_bias", counted_from_one, "", "anew"),
    Misordered(
        "penalties before the bias", penalties_before_the_bias, "bias-after-penalties"
    ),
    Misordered("bias behind all", bias_behind_all, ""),
)  # fmt: skip
RIGHT_REPORTS = (
    Fault("right", "top_k", top_k(), ""),
    Fault("right", "temp_ext", right_temp_ext, ""),
    Fault("right", "dry", Dry(), ""),
    Fault("right", "mirostat_v2", Mirostat(), ""),
    Fault("right", "dist", Dist(), ""),
)
