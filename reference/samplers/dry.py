"""dry ("don't repeat yourself"): penalize the tokens that would continue a repetition.

A token is penalized if it followed an earlier copy of the last L tokens of the history. L is the
longest such length.

    logit -= dry_multiplier * dry_base ** (L - dry_allowed_length)   if L >= dry_allowed_length

A sequence breaker in the history ends the search: nothing before it counts.

Parameters:
    `dry_multiplier`      float32. 0 disables the sampler.
    `dry_base`            float32. Default 1.75. A value below 1 disables the sampler. The exponent
                          is limited so that the power stays within float32.
    `dry_allowed_length`  int32. Length of a repetition that is not penalized. Default 2.
    `dry_penalty_last_n`  int32. Tokens of history to search. Default 64. 0 and below disable the
                          sampler, -1 included (in earlier releases -1 was the context size).
    `seq_breakers`        A list of strings or of token lists, head first. Strings need a
                          vocabulary; their first 40 bytes count. Empty ones and None are skipped.
                          Default none.
Ties: there are none to break. The flag `sorted` is cleared if the history is longer than
    `dry_allowed_length` and no breaker cuts it below that, even if no token was penalized.
Edges: a token that is a breaker by itself is never penalized. A negative `dry_allowed_length`
    penalizes every token of the history except the oldest. -inf stays -inf. Ids that are no
    candidate have no effect. No candidates: nothing happens.
Source: `llama_sampler_dry_apply` and `get_overlapping_token_sequences`, src/llama-sampler.cpp at
    v0.5.0; oobabooga/text-generation-webui PR 5677, LostRuins/koboldcpp PR 982.
Suite: suites/parity/dry.toml
"""

import functools
from collections import defaultdict, deque
from typing import Any

import numpy as np

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import float32, int32
from sampler_parity.reference.vocab import Vocab

FLOAT_MAX_LOG = np.float32(88.7228391)
MAX_BREAKER_BYTES, MAX_TAIL_TOKENS = 40, 20


class Dry:
    name = "dry"

    def __init__(
        self,
        dry_multiplier: Any,
        dry_base: Any = 1.75,
        dry_allowed_length: Any = 2,
        dry_penalty_last_n: Any = 64,
        seq_breakers: Any = (),
        vocab: Vocab | None = None,
    ) -> None:
        self.dry_multiplier = float32("dry_multiplier", dry_multiplier)
        self.dry_base = float32("dry_base", dry_base)
        self.dry_allowed_length = int32("dry_allowed_length", dry_allowed_length)
        self.dry_penalty_last_n = max(0, int32("dry_penalty_last_n", dry_penalty_last_n))
        self.on = self.dry_multiplier != 0 and self.dry_base >= 1 and self.dry_penalty_last_n != 0
        self.breakers = breaker_sequences(seq_breakers, vocab, needed=bool(self.on))
        self.history: deque[int] = deque(maxlen=self.dry_penalty_last_n)

    @floats.quiet
    def apply(self, cand: Candidates) -> None:
        if not self.on or len(self.history) <= self.dry_allowed_length:
            return
        latest_first = list(reversed(self.history))
        limit = self._limit(latest_first)
        if limit < self.dry_allowed_length:
            return
        longest: dict[int, int] = {}
        repeats = suffix_repeats(latest_first, limit)
        for distance in range(1, len(latest_first)):
            token, length = latest_first[distance - 1], repeats[distance]
            if length >= self.dry_allowed_length and length > longest.get(token, -1):
                longest[token] = length
        tokens = sorted(longest)
        for token, i in zip(tokens, cand.positions(np.array(tokens, np.int64)), strict=True):
            if i >= 0 and () not in self.breakers.get(token, ()):
                cand.logits[i] -= self._penalty(longest[token], cand.logits.dtype.type)
        cand.sorted = False

    def _limit(self, latest_first: list[int]) -> int:
        """Return how far back a repetition may reach: to the last sequence breaker."""
        for i, head in enumerate(latest_first):
            tails = [
                len(tail)
                for tail in self.breakers.get(head, ())
                if len(tail) <= i and tail == tuple(latest_first[i - 1 :: -1][: len(tail)])
            ]
            if tails:
                return i - max(tails)
        return len(latest_first)

    def _penalty(self, length: int, kind: type[Any]) -> Any:
        exponent = length - self.dry_allowed_length
        largest = 0
        if self.dry_base > np.float32(1.000001):
            largest = floats.to_int32(FLOAT_MAX_LOG / floats.log(self.dry_base))
        if 0 < largest < exponent:
            exponent = largest
        # std::pow(float, int) is pow(double, double)
        factor = floats.power(np.float64(self.dry_base), np.float64(exponent))
        return kind(np.float64(self.dry_multiplier) * factor)

    def accept(self, token: int) -> None:
        if self.on:
            self.history.append(token)

    def reset(self) -> None:
        self.history.clear()

    def clone(self) -> "Dry":
        twin = Dry(
            self.dry_multiplier, self.dry_base, self.dry_allowed_length, self.dry_penalty_last_n
        )
        twin.breakers = self.breakers
        twin.history = self.history.copy()
        return twin


def suffix_repeats(latest_first: list[int], limit: int) -> list[int]:
    """Count for each k how many of the latest tokens also stand k tokens earlier, up to limit. This
    is the Z-algorithm in linear time: each count helps inside the longest repeat so far."""
    n = len(latest_first)
    counts = [0] * n
    left = right = 0
    for k in range(1, n):
        inside = right - k + 1
        if k <= right and counts[k - left] < inside:
            counts[k] = min(counts[k - left], limit)
            continue
        end = k if k > right else right + 1
        while end < n and latest_first[end] == latest_first[end - k]:
            end += 1
        counts[k] = min(end - k, limit)
        if end > k or k <= right:
            left, right = k, end - 1
    return counts


def breaker_sequences(
    breakers: Any, vocab: Vocab | None, *, needed: bool = True
) -> dict[int, set[tuple[int, ...]]]:
    """Return for each head token the tails that complete a breaker; skip empty ones and None.

    needed: the sampler is on. Only then strings are looked up, which needs a vocabulary.
    """
    if not isinstance(breakers, list | tuple):
        raise ChainError(f"seq_breakers must be a list, got {breakers!r}")
    heads: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    for breaker in breakers:
        if breaker is None:
            continue
        if isinstance(breaker, str):
            if needed and vocab is None:
                raise ChainError("seq_breakers with strings need a vocabulary (vocab)")
            if needed and vocab is not None:
                for head, tail in _overlaps(_c_string(breaker)[:MAX_BREAKER_BYTES], vocab):
                    heads[head].add(tail)
        elif isinstance(breaker, list | tuple):
            tokens = [int32("seq_breakers", token) for token in breaker]
            if tokens:
                heads[tokens[0]].add(tuple(tokens[1:]))
        else:
            raise ChainError(f"seq_breakers must hold strings or token lists, got {breaker!r}")
    return dict(heads)


def _c_string(text: str) -> bytes:
    """Return the bytes up to a NUL, as llama.cpp's interface receives them."""
    return text.encode().split(b"\0")[0]


@functools.lru_cache(maxsize=64)  # chains are built by thousands with the same few breakers
def _overlaps(breaker: bytes, vocab: Vocab) -> frozenset[tuple[int, tuple[int, ...]]]:
    """Return the tokens that contain the breaker or end with a beginning of it. Each comes with the
    tail that is missing."""
    if not breaker:
        return frozenset()
    heads: set[tuple[int, tuple[int, ...]]] = set()
    for token, word in enumerate(vocab.detokenized):
        if breaker[:1] not in word:
            continue
        if breaker in word:
            heads.add((token, ()))
            continue
        for position in range(len(word)):
            overlap = word[position : position + len(breaker)]
            if breaker.startswith(overlap):
                tail = vocab.tokenize(breaker[len(overlap) :])
                heads.add((token, tuple(tail[:MAX_TAIL_TOKENS])))
    return frozenset(heads)
