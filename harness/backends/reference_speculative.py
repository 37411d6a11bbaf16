"""Rounds of speculative sampling by the reference: its rules, with rows that its chain makes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import ChainSpec, SpeculativeRequest
from sampler_parity.reference import Candidates, Chain
from sampler_parity.reference.speculative.chance import Drawn, Row
from sampler_parity.reference.speculative.rules import RULES

# Their rows depend on the tokens before.
LOOKS_BACK = {"penalties", "dry", "grammar", "grammar_lazy_patterns"}


def speculate(
    build: Callable[[], Chain], request: SpeculativeRequest, rounds: Rounds
) -> NDArray[np.int32]:
    """Run rounds of speculative sampling. build: a fresh chain of the request. Its own draw is not
    used: the rule draws."""
    verify = RULES[request.rule].verify
    rows: dict[tuple[int, ...], Row] = {}
    looks_back = looks_at_history(request.chain)

    def row(past: tuple[int, ...]) -> Row:
        key = past if looks_back else (len(past),)
        if key not in rows:
            rows[key] = _row(build(), request, rounds.logits[len(past)], past)
        return rows[key]

    drafted_from = list(rounds.draft_rows.astype(np.float64))
    tokens = np.full((request.n, request.drafted + 1), -1, np.int32)
    for i, draft in enumerate(rounds.drafts.tolist()):
        chance = Drawn(np.random.default_rng(int(rounds.seeds[i])))
        targets = _Rows(row, tuple(draft))
        emitted = verify(chance, draft, drafted_from, targets)
        tokens[i, : len(emitted)] = emitted
    return tokens


class _Rows(Sequence[Row]):
    """The target's rows along a draft, made when they are read: a grammar cannot go on behind a
    draft that it refuses."""

    def __init__(self, row: Callable[[tuple[int, ...]], Row], draft: tuple[int, ...]) -> None:
        self.row, self.draft = row, draft

    def __len__(self) -> int:
        return len(self.draft) + 1

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        return self.row(self.draft[: range(len(self))[at]])


def looks_at_history(chain: ChainSpec) -> bool:
    return any(name in LOOKS_BACK for stage in chain for name in stage)


def _row(
    chain: Chain, request: SpeculativeRequest, logits: NDArray[np.float32], past: tuple[int, ...]
) -> Row:
    for token in (*request.history, *past):
        chain.accept(token)
    cand = Candidates.from_logits(logits)
    chain.apply(cand)
    row = np.zeros(request.n_vocab)
    row[cand.ids] = cand.p
    row /= row.sum()
    return row
