"""Candidates of engines that mask: a row of scores, where -inf stands for a removed token.

A mask has no order. It is compared in the order of the reference's candidates, and without those at
-inf, so that an engine's model (which keeps the whole row) and llama.cpp's samplers (which drop
candidates) can follow each other in a chain.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sampler_parity.programs.recording.format import Lists
from sampler_parity.reference import Candidates
from sampler_parity.reference.registry import REFERENCE_ROWS


def survivors(cand: Candidates) -> Candidates:
    """Return the candidates above -inf, in their order."""
    return _rows(cand, np.flatnonzero(cand.logits != -np.inf))


def by_id(cand: Candidates) -> Candidates:
    """Return the candidates ordered by id, as a recording lists them."""
    return _rows(cand, np.argsort(cand.ids, kind="stable"))


def _rows(cand: Candidates, rows: Any) -> Candidates:
    at = np.flatnonzero(rows == cand.selected)
    selected = int(at[0]) if cand.selected >= 0 and len(at) else -1
    return Candidates(cand.ids[rows], cand.logits[rows], cand.p[rows], cand.sorted, selected)


def given(cand: Candidates, name: str, n_vocab: int) -> Candidates:
    """Return what a stage begins with: the whole row for an engine's own, else the survivors."""
    if name in REFERENCE_ROWS:
        return survivors(cand)
    row = Candidates.from_logits(np.full(n_vocab, -np.inf, np.float32))
    row.logits[cand.ids], row.p[cand.ids] = cand.logits, cand.p
    row.selected = -1 if cand.selected < 0 else int(cand.ids[cand.selected])
    return row


def arranged(lists: Lists, selected: int, like: Candidates | None) -> Candidates:
    """Return recorded survivors in the order of the reference's; those that it has not come last,
    by id. selected: their index in the recording."""
    listed = Candidates(lists.ids.copy(), lists.logits.copy(), lists.p.copy(), False, selected)
    if like is None:
        return listed
    position_of = dict(zip(like.ids.tolist(), range(len(like)), strict=True))
    positions = [position_of.get(token, len(like)) for token in lists.ids.tolist()]
    there = [position_of.get(token) for token in lists.ids.tolist()]
    listed.p[:] = [0.0 if at is None else like.p[at] for at in there]
    listed.sorted = like.sorted
    return _rows(listed, np.argsort(positions, kind="stable"))


def keeps_all_equal(want: Candidates, after: Candidates) -> bool:
    """Return whether a cut by value kept the reference's tokens and, in addition, only such that
    equal one of them to the bit."""
    common = np.isin(after.ids, want.ids)
    extra = after.logits[~common]
    ties = np.isin(extra.view(np.uint32), want.logits.view(np.uint32)).all()
    complete = int(common.sum()) == len(want) and len(extra) > 0
    same = after.logits[common].tobytes() == want.logits.tobytes()  # arranged: in the same order
    return bool(complete and ties and same)


def take_in(sampler: Any, tokens: Sequence[int]) -> None:
    """Let a sampler know the tokens of a prompt."""
    for token in tokens if sampler is not None else ():
        getattr(sampler, "accept_prompt", sampler.accept)(token)
