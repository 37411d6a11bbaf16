"""Follow a backend that draws with random numbers of its own.

The reference gets a number by which each of its samplers decides as the backend did: xtc acts or
does not, a draw selects the backend's token. All else is compared as in any other run. `run` adds
tests of the distribution of the draws (harness/run/run.py).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.stages.classify import identical
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.reference import Candidates, Chain, UndefinedInputError
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.registry import ROWS
from sampler_parity.reference.sampler import Sampler


class ImpossibleToken(Exception):  # noqa: N818 - a verdict
    """A token that the chain gives no probability. draw: the number of the draw."""

    def __init__(self, draw: int, token: int) -> None:
        super().__init__(f"token {token} has probability 0")
        self.draw = draw


class OneNumber(Mt19937):
    """Gives the same number 0 <= u <= 1 for each draw."""

    def __init__(self, u: float) -> None:
        super().__init__(0)
        self.u = u

    def uniform_double(self) -> float:
        return self.u

    def uniform_float(self) -> np.float32:
        return np.float32(self.u)

    def clone(self) -> "OneNumber":
        return self


# A seed that no engine uses: with its numbers, ours would not be independent.
SEED = [*b"sampler-parity: shares of draws"]
# Samplers of llama.cpp that draw a token. xtc draws whether it acts.
DRAWING = frozenset({"dist", "mirostat", "mirostat_v2", "adaptive_p"})
RANDOM = DRAWING | {"xtc"}


def has_own(backend: Backend) -> bool:
    """Return whether the backend states that its random numbers are not those of llama.cpp."""
    return backend.hello().random == "own"


def draws_own(backend: Backend, samplers: Iterable[str]) -> bool:
    """Return whether a backend uses random numbers of its own in one of these samplers."""
    return has_own(backend) and not RANDOM.isdisjoint(samplers)


def may_lose_token(samplers: Sequence[str]) -> bool:
    """Return whether a filter is behind a sampler that draws."""
    behind = dropwhile(lambda name: name not in DRAWING, samplers)
    return any(name in ROWS and ROWS[name].kind == "filter" for name in behind)


def is_random(sampler: Sampler) -> bool:
    return sampler.name in RANDOM


def steer(sampler: Sampler, before: Candidates, got: Got, by_report: bool = False) -> None:
    """Let a sampler of the reference decide as the backend did. before: its input. by_report: take
    the number from the probabilities of the backend, which may be rounded otherwise."""
    if sampler.name == "xtc":
        let_act(sampler, not identical(before, got))
    elif sampler.name not in DRAWING:
        return
    elif by_report and 0 <= got.selected < len(got.p) and got.p[got.selected] > 0:
        _draw(sampler, middle(got.p, got.selected))
    else:
        steer_to(sampler, before, got.token)


def steer_to(sampler: Sampler, before: Candidates, token: int | None) -> None:
    """Let a sampler that draws select a token, if it can; else it selects another one."""
    _draw(sampler, 0.5)
    cand, twin = before.copy(), sampler.clone()
    _draw(twin, 0.5)
    twin.apply(cand)
    places = np.flatnonzero(cand.ids == token)
    if len(places) and cand.p[places[0]] > 0:
        _draw(sampler, middle(cand.p, int(places[0])))


def middle(p: NDArray[np.float32], index: int) -> float:
    """Return the middle of the piece of a place on the unit line."""
    ends = np.cumsum(p, dtype=np.float64)
    low = float(ends[index - 1]) if index else 0.0
    return (low + float(ends[index])) / 2 / float(ends[-1])


def let_act(sampler: Any, acts: bool) -> None:
    """Let an xtc act, or not."""
    _draw(sampler, 0.0 if acts else 1.0)


def _draw(sampler: Any, u: float) -> None:
    sampler.rng = OneNumber(u)


def steer_chain(chain: Chain, fresh: Candidates, token: int | None, ends: Sequence[Got]) -> None:
    """Let a chain decide as a backend did that shows its token alone, or also the end of its chain.
    Each xtc in it may have acted or not."""
    xtc = [sampler for sampler in chain.samplers if sampler.name == "xtc"]
    first: tuple[bool, ...] | None = None
    for acts in product((True, False), repeat=len(xtc)):
        for sampler, act in zip(xtc, acts, strict=True):
            let_act(sampler, act)
        cand = _with_token(chain.clone(), fresh.copy(), token)
        if cand.token == token and first is None:
            first = acts
        if all(identical(cand, got) for got in ends) and cand.token == token:
            first = acts
            break
    for sampler, act in zip(xtc, first or (True,) * len(xtc), strict=True):
        let_act(sampler, act)


def _with_token(chain: Chain, cand: Candidates, token: int | None) -> Candidates:
    for sampler in chain.samplers:
        apply_to(sampler, cand, token)
    return cand


def stages_as(
    chain: Chain, cand: Candidates, token: int | None, results: Sequence[Got]
) -> list[Candidates]:
    """Apply a chain as the backend did; return the candidates after each stage. results: what it
    shows of them: every stage, the end of the chain, or nothing."""
    every = len(results) >= len(chain.samplers)
    if not every:
        steer_chain(chain, cand, token, results)
    stages = []
    for j, sampler in enumerate(chain.samplers):
        if every:
            steer(sampler, cand, results[j])
            sampler.apply(cand)
        else:
            apply_to(sampler, cand, token)
        stages.append(cand.copy())
    return stages


def apply_to(sampler: Sampler, cand: Candidates, token: int | None) -> None:
    """Apply a sampler of the reference. If it draws, it selects the token if it can."""
    if sampler.name in DRAWING:
        steer_to(sampler, cand, token)
    if getattr(sampler, "applies", True):
        sampler.apply(cand)


def shares_of(chain: Chain, row: NDArray[np.float32], tokens: Sequence[int]) -> Iterator[float]:
    """Yield, for each token drawn from the same row, a number that is uniform on 0..1 if the draws
    have the distribution of the chain: the probability of all smaller ids, and a random part of
    its own (SEED). Raises UndefinedInputError and ImpossibleToken."""
    chance = np.random.default_rng(SEED)
    for draw, token in enumerate(tokens):
        p = np.zeros(len(row))
        for weight, ids, of_ids in _mixture(chain, row):
            np.add.at(p, ids, weight * of_ids)
        if not 0 <= token < len(row) or not p[token] > 0:
            raise ImpossibleToken(draw, token)
        yield float(p[:token].sum() + chance.random() * p[token])
        _with_token(chain, Candidates.from_logits(row), token)


def shares_in(drawn: Iterable[Got]) -> Iterator[float]:
    """Yield the same for tokens that a backend drew with the probabilities that it shows."""
    chance = np.random.default_rng(SEED)
    for got in drawn:
        p, token = got.p.astype(np.float64), got.ids[got.selected]
        share = p[got.ids < token].sum() + chance.random() * p[got.selected]
        yield float(share / p.sum())


def _mixture(
    chain: Chain, row: NDArray[np.float32]
) -> Iterator[tuple[float, NDArray[np.int32], NDArray[np.float64]]]:
    """Yield the ids and probabilities that a chain may draw from, and how likely each case is."""
    xtc: list[Any] = [sampler for sampler in chain.samplers if sampler.name == "xtc"]
    for acts in product((True, False), repeat=len(xtc)):
        weight = 1.0
        for sampler, act in zip(xtc, acts, strict=True):
            share = float(np.clip(sampler.p, 0, 1))
            weight *= share if act else 1 - share
            let_act(sampler, act)
        if weight:
            cand = _with_token(chain.clone(), Candidates.from_logits(row), None)
            p = cand.p.astype(np.float64)
            if not p.sum() > 0:
                raise UndefinedInputError("no probabilities")
            yield weight, cand.ids, p / p.sum()
