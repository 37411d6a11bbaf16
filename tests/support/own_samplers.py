"""Samplers written anew, in plain Python, with faults of their own, for the tests of the diagnosis.

None of it is shared with harness/faults, whose faults the diagnosis must recognise. A sampler is a
function of (id, logit, p) in turn, its parameters and the history.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p

Token = list[float]  # id, logit, p
Given = dict[str, Any]
History = list[int]
Apply = Callable[[list[Token], Given, History], list[Token]]
NEVER = -math.inf
F = np.float32


class Drawn(list[Token]):
    """Candidates of which one is selected."""

    def __init__(self, tokens: list[Token], selected: int) -> None:
        super().__init__(tokens)
        self.selected = selected


def softmax(tokens: list[Token]) -> list[Token]:
    """Return the tokens, sorted, with their softmax: exp in double, sums in float32."""
    tokens = sorted(tokens, key=lambda t: -t[1])
    largest, total = tokens[0][1], F(0)
    if math.isinf(largest) or math.isnan(sum(t[1] for t in tokens)):
        weights = [math.nan] * len(tokens)
    else:
        weights = [float(F(math.exp(float(F(F(t[1]) - F(largest)))))) for t in tokens]
    for weight in weights:
        total = F(total + F(weight))
    return [[t[0], t[1], float(F(F(w) / total))] for t, w in zip(tokens, weights, strict=True)]


def top_k(more: int = 0, lowest: bool = False) -> Apply:
    def apply(tokens: list[Token], given: Given, _: History) -> list[Token]:
        k = given["k"]
        if k <= 0:
            return tokens
        return sorted(tokens, key=lambda t: t[1] if lowest else -t[1])[: k + more]

    return apply


def min_p_of_the_sum(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Cut at log sum exp + log p: a share of everything, by logits."""
    if given["p"] <= 0 or not tokens or max(t[1] for t in tokens) == NEVER:
        return tokens
    largest = max(t[1] for t in tokens)
    whole = largest + math.log(sum(math.exp(t[1] - largest) for t in tokens))
    cut = float(F(whole + math.log(given["p"])))
    stay = [t for t in tokens if t[1] >= cut]
    keep = max(given.get("min_keep", 0), 1)
    return stay if len(stay) >= keep else sorted(tokens, key=lambda t: -t[1])[:keep]


def biased_from_one(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Apply the bias of a token to the one behind it."""
    left = [list(t) for t in tokens]
    at = {int(t[0]): i for i, t in enumerate(left)}
    for token, bias in given["logit_bias"]:
        if (place := at.get(token + 1)) is not None:
            left[place][1] = float(F(F(left[place][1]) + F(bias)))
    return left


def _scaled(tokens: list[Token], temp: float) -> list[Token]:
    if temp <= 0:
        best = max(range(len(tokens)), key=lambda i: tokens[i][1])
        return [[t[0], t[1] if i == best else NEVER, t[2]] for i, t in enumerate(tokens)]
    with np.errstate(all="ignore"):
        return [[t[0], float(F(t[1]) / F(temp)), t[2]] for t in tokens]


def temp_ext_in_bits_and_nats(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Use log2 of n for the largest entropy, log in the entropy."""
    temp, delta = F(given["temp"]), F(given.get("delta", 0.0))
    if delta <= 0:
        return tokens if temp == 1 else _scaled(tokens, float(temp))
    if len(tokens) <= 1:
        return tokens
    tokens = softmax(tokens)
    with np.errstate(all="ignore"):
        largest, entropy = F(-np.log2(F(F(1) / F(len(tokens))))), F(0)
        for token in tokens:
            if token[2] > 0:
                entropy = F(entropy - F(F(token[2]) * np.log(F(token[2]))))
        share = F(np.power(F(entropy / largest), F(given.get("exponent", 1.0))))
        low, high = F(max(F(0), F(temp - delta))), F(temp + delta)
        tokens = _scaled(tokens, float(F(low + F(F(high - low) * share))))
        weights = [float(np.exp(np.float64(t[1]) - np.float64(tokens[0][1]))) for t in tokens]
        total = np.float64(sum(weights))
        shares = [float(F(np.float64(F(w)) / total)) for w in weights]
    return [[t[0], t[1], share] for t, share in zip(tokens, shares, strict=True)]


class MirostatAnew:
    """mirostat_v2 with mu set anew at every step."""

    def __init__(self) -> None:
        self.state: Any = None

    def __call__(self, tokens: list[Token], given: Given, _: History) -> list[Token]:
        mu = F(F(2) * F(given.get("tau", 5.0)))
        with np.errstate(all="ignore"):
            tokens = softmax(tokens)
            surprising = [bool(-np.log2(F(t[2])) > mu) for t in tokens]
            left = softmax(tokens[: max(1, [*surprising, True].index(True))])
        return Drawn(left, self._drawn([t[2] for t in left], given["seed"]))

    def _drawn(self, shares: list[float], seed: int) -> int:
        """Draw as std::discrete_distribution of std::mt19937."""
        if len(shares) < 2:
            return 0
        total, mass, u = sum(shares), 0.0, self._uniform(seed)
        for i, share in enumerate(shares[:-1]):
            mass += share / total
            if mass >= u:
                return i
        return len(shares) - 1

    def _uniform(self, seed: int) -> float:
        if self.state is None:
            self.state = np.random.RandomState(seed)
        low, high = (int(self.state._bit_generator.random_raw()) for _ in range(2))
        return min((low + high * 2.0**32) / 2.0**64, float(np.nextafter(1.0, 0.0)))


class Instance:
    """stages: functions, or objects that remember what they were called with."""

    def __init__(self, stages: list[tuple[Apply, Given]]) -> None:
        self.fresh, self.stages, self.history = stages, deepcopy(stages), list[int]()

    def apply(self, stage: int | None, rows: list[list[Token]]) -> None:
        for function, given in self.stages if stage is None else [self.stages[stage]]:
            rows[0] = function(rows[0], given, self.history)

    def accept(self, token: int) -> None:
        self.history.append(token)

    def reset(self) -> None:
        self.stages, self.history = deepcopy(self.fresh), []

    def clone(self) -> "Instance":
        return deepcopy(self)


class Worker:
    """An engine of one sampler."""

    def __init__(self, sampler: str, apply: Apply) -> None:
        self.sampler, self.function = sampler, apply

    def hello(self) -> p.HelloReply:
        return p.HelloReply(name="own", version="1", capabilities=["run"], samplers=[self.sampler])

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance([(deepcopy(self.function), g) for stage in chain for g in stage.values()])

    def candidates(self, logits: NDArray[np.float32]) -> list[list[Token]]:
        return [[[float(i), float(logit), 0.0] for i, logit in enumerate(logits)]]

    def result(self, rows: list[list[Token]]) -> tuple[Any, Any, Any, bool | None, int]:
        columns = np.array(rows[0], np.float64).reshape(-1, 3)
        ids, logits, probs = columns[:, 0], columns[:, 1], columns[:, 2]
        which = rows[0].selected if isinstance(rows[0], Drawn) else -1
        return (
            ids.astype(np.int32), logits.astype(np.float32), probs.astype(np.float32), None, which
        )  # fmt: skip
