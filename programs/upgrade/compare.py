"""Ask two versions the same case, and find the first stage at which they differ."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.classify import identical
from sampler_parity.harness.checks.stages.predict import difference_of
from sampler_parity.harness.checks.stages.prefixes import stages_by_prefixes
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.run.started import backend
from sampler_parity.harness.strict import Strict
from sampler_parity.programs.upgrade.cases import is_seeded

Stages = Sequence[Sequence[Got]]  # step by step


class Shift(Strict):
    """The first difference of a case. step, stage: from 0. what: survivors, order, logits, p,
    token, sorted, or answer where one side refuses. old, new: the values. text: a token differs at
    some step. distance: largest total variation of the distributions before the texts part."""

    case: str
    step: int
    stage: int
    sampler: str
    what: str
    old: str
    new: str
    text: bool
    distance: float


def version_of(name: str, timeout_s: float = 60.0) -> Backend:
    """Start a version. Raises InputError if it does not run here."""
    started = backend(name, timeout_s)
    if why := registry.about(name, started).unavailable:
        raise InputError(f"backend {name}", f"does not run here: {why}")
    return started


def compare(
    case: StagesCase, old: Backend, new: Backend, later: StagesCase | None = None
) -> Shift | str | None:
    """Return the first difference; None if there is none, a reason if both refuse the case. later:
    the case with the chain of the new version, if it differs."""
    cases = (case, later or case)
    prepared, changed = map(prepare, cases)
    mine, its = _asked(prepared, old), _asked(changed, new)
    if not isinstance(mine, str) and not isinstance(its, str):
        return _first(prepared, changed, mine, its)
    if isinstance(mine, str) and isinstance(its, str):
        return its
    refusing = old if isinstance(mine, str) else new
    case = cases[refusing is new]
    prefixes = (
        case.model_copy(update={"chain": case.chain[:n]}) for n in range(1, len(case.chain))
    )
    answered = takewhile(lambda c: not isinstance(_asked(prepare(c), refusing), str), prefixes)
    stage = sum(1 for _ in answered)  # the first refused prefix ends with the refused stage
    first, second = (side if isinstance(side, str) else "answers" for side in (mine, its))
    return _shift(prepare(case), 0, stage, "answer", first, second, True, 1.0)


def _asked(prepared: Prepared, version: Backend) -> Stages | str:
    """Return the candidates after each stage, or why there are none."""
    request = (version, prepared.setting, prepared.rows, prepared.steps)
    try:
        ran = client.run(*request, instances=prepared.instances, whole_chain=False)
        if "no_stages" in version.hello().capabilities:
            ran = stages_by_prefixes(prepared, ran, version)
    except BackendFailure as failure:
        return f"{failure.verdict}: {failure}"
    return [[got.copy() for got in stages] for stages in ran.stages]


def _first(prepared: Prepared, changed: Prepared, old: Stages, new: Stages) -> Shift | None:
    pairs = _aligned(prepared, changed)
    steps = zip(old, new, strict=True)
    both = [[(before[i], after[j]) for i, j in pairs] for before, after in steps]
    places = ((i, j) for i, step in enumerate(both) for j in range(len(step)))
    position = next(((i, j) for i, j in places if not identical(*both[i][j])), None)
    if position is None:
        return None
    ends = [step[-1] for step in both]
    parted = next((i for i, (a, b) in enumerate(ends) if a.token != b.token), None)
    last = len(ends) if parted is None else parted + 1  # later histories differ
    seeded, n = is_seeded(changed.chain), len(prepared.rows[0])
    distance = max(_distance(*pair, n, seeded) for pair in ends[:last])
    what = difference_of(*both[position[0]][position[1]])
    step, stage = position[0], pairs[position[1]][1]
    return _shift(changed, step, stage, *what, parted is not None, distance)


def _aligned(prepared: Prepared, changed: Prepared) -> list[tuple[int, int]]:
    """Return the stages that both chains have, by their positions in each, and the last of both."""
    old, new = ([name for stage in side.chain for name in stage] for side in (prepared, changed))
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    pairs = [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]
    return list(dict.fromkeys([*pairs, (len(old) - 1, len(new) - 1)]))


def _shift(
    prepared: Prepared,
    step: int,
    stage: int,
    what: str,
    old: str,
    new: str,
    text: bool,
    distance: float,
) -> Shift:
    (sampler,) = prepared.chain[stage]
    return Shift(
        case=prepared.case.id, step=step, stage=stage, sampler=sampler, what=what, old=old, new=new,
        text=text, distance=distance,
    )  # fmt: skip


def _distance(mine: Got, its: Got, n: int, seeded: bool) -> float:
    """Return the total variation of the distributions that a token was drawn from."""
    if not seeded or (mine.token is None) != (its.token is None):
        return float(mine.token != its.token)
    by_p = mine.token is not None and bool(mine.p.any() or its.p.any())
    before, after = (_drawn_by(side, n, by_p) for side in (mine, its))
    return float(np.abs(before - after).sum() / 2)


def _drawn_by(got: Got, n: int, by_p: bool) -> NDArray[np.float64]:
    """Return the probability of each token: by p if a version drew by it, else by the logits. A p
    of 0 everywhere stays so."""
    p, weights = np.zeros(n), got.p.astype(np.float64)
    with np.errstate(all="ignore"):
        if not by_p:
            weights = np.exp(got.logits.astype(np.float64) - got.logits.max(initial=-np.inf))
        p[got.ids] = np.nan_to_num(weights / weights.sum())
    return p
