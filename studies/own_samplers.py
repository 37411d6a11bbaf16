"""Samplers written anew, in plain Python, with faults of their own: what the diagnosis is measured
on. None of it is shared with harness/faults, whose faults it must recognise.

A sampler is a function of (id, logit, p) in turn, its parameters and the history.
"""

import math
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p

Token = list[float]  # id, logit, p
Given = dict[str, Any]
History = list[int]
Apply = Callable[[list[Token], Given, History], list[Token]]
NEVER = -math.inf


class Drawn(list[Token]):
    """Candidates of which one is selected."""

    def __init__(self, tokens: list[Token], selected: int) -> None:
        super().__init__(tokens)
        self.selected = selected


@dataclass(frozen=True)
class Fault:
    """as_if: the planted faults that equal it, or that no tested case distinguishes from it (min_p
    on unsorted candidates); none: the dictionary lacks it. source: the reporter.
    """

    name: str
    sampler: str
    apply: Apply
    as_if: str
    source: str = ""


def softmax(tokens: list[Token]) -> list[Token]:
    tokens = sorted(tokens, key=lambda t: -t[1])
    largest = tokens[0][1]
    weights = [float(np.exp(np.float32(t[1] - largest))) for t in tokens]
    total = float(sum(np.float32(w) for w in weights))
    return [
        [t[0], t[1], float(np.float32(w / total))] for t, w in zip(tokens, weights, strict=True)
    ]


def top_k(
    more: int = 0, ties: bool = False, least: int | None = None, lowest: bool = False
) -> Apply:
    def apply(tokens: list[Token], given: dict[str, Any], _: list[int]) -> list[Token]:
        k = given["k"]
        if k <= 0 and least is None:
            return tokens
        k = max(k, least or 0) + more
        tokens = sorted(tokens, key=lambda t: t[1] if lowest else -t[1])
        if ties and k < len(tokens):
            return [t for t in tokens if t[1] >= tokens[k - 1][1]]
        return tokens[:k]

    return apply


def top_p(
    before: bool = False, more: int = 0, keep: bool = True, share: float = 1.0,
    tail: bool = False, exceeds: bool = False, zero: bool = True, ties: bool = False,
) -> Apply:  # fmt: skip
    def apply(tokens: list[Token], given: dict[str, Any], _: list[int]) -> list[Token]:
        if given["p"] >= 1:
            return tokens
        if given["p"] <= 0 and not zero:
            return []
        tokens, mass = softmax(tokens), 0.0
        if tail:
            return tokens[1:] or tokens
        wanted, least = given["p"] * share, given.get("min_keep", 0) if keep else 0
        for i, token in enumerate(tokens):
            mass = float(np.float32(mass + token[2]))
            if (mass > wanted if exceeds else mass >= wanted) and i + 1 >= least:
                n = max(1, i + more + (not before))
                return [t for t in tokens if t[2] >= tokens[n - 1][2]] if ties else tokens[:n]
        return tokens

    return apply


def min_p(strict: bool = False, keep: bool = True, log2: bool = False, share: float = 1.0) -> Apply:
    def apply(tokens: list[Token], given: dict[str, Any], _: list[int]) -> list[Token]:
        if given["p"] <= 0 or not tokens:
            return tokens
        largest = max(t[1] for t in tokens)
        log = np.log2 if log2 else np.log
        cut = np.float32(np.float32(largest) + log(np.float32(given["p"] * share)))
        least = given.get("min_keep", 0) if keep else 0
        stay = [t for t in tokens if (t[1] > cut if strict else t[1] >= cut)]
        if len(stay) >= max(least, 1):
            return stay
        tokens = sorted(tokens, key=lambda t: -t[1])
        stay = [t for t in tokens if t[1] >= cut]
        return tokens[: max(len(stay), least, 1)]

    return apply


def penalties(
    divide: bool = False, each: bool = False, first: bool = False, swap: bool = False,
    presence: bool = False, root: bool = False, longer: int = 0, late: int = 0,
    by_repeat: bool = False,
) -> Apply:  # fmt: skip
    def apply(tokens: list[Token], given: dict[str, Any], history: list[int]) -> list[Token]:
        last = given.get("penalty_last_n", 64)
        repeat = np.float32(given.get("penalty_repeat", 1.0))
        freq, present = given.get("penalty_freq", 0.0), given.get("penalty_present", 0.0)
        if last == 0 or (repeat == 1 and (by_repeat or (freq == 0 and present == 0))):
            return tokens
        history = history[: len(history) - late]
        if swap:
            freq, present = present, freq
        seen = Counter(
            history if last < 0 else history[:last] if first else history[-last - longer :]
        )
        changed = []
        for token, logit, prob in tokens:
            n, value = seen[int(token)], np.float32(logit)
            for _ in range((n if each else 1) if n else 0):
                factor = np.sqrt(repeat) if root else repeat
                value = value / factor if divide or value > 0 else value * factor
            if n:
                value = value - np.float32(
                    np.float32(n) * np.float32(freq)
                    + np.float32(n if presence else 1) * np.float32(present)
                )
            changed.append([token, float(value), prob])
        return changed

    return apply


def temp(times: bool = False, more: float = 0.0) -> Apply:
    def apply(tokens: list[Token], given: dict[str, Any], _: list[int]) -> list[Token]:
        t = np.float32(given["temp"] + more)
        if given["temp"] <= 0:
            best = max(range(len(tokens)), key=lambda i: tokens[i][1])
            return [[t[0], t[1] if i == best else NEVER, t[2]] for i, t in enumerate(tokens)]
        scaled = [np.float32(x[1]) * t if times else np.float32(x[1]) / t for x in tokens]
        return [[x[0], float(s), x[2]] for x, s in zip(tokens, scaled, strict=True)]

    return apply


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
