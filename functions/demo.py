"""A top_p with a common mistake, compared with the right one on one row of logits."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.functions.chains import trace
from sampler_parity.functions.check import subject_of
from sampler_parity.functions.subject import NAME, case_of
from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.reference import Candidates

LOGITS = (2.0, 1.2, 0.9, 0.1, -0.4, -1.5)
P = 0.9


def mine(logits: NDArray[np.float32], p: float, min_keep: int = 0) -> NDArray[Any]:
    """Return logits with -inf outside of the nucleus; the token that crosses p is lost."""
    if p >= 1:
        return logits
    order = np.argsort(-logits)
    weights = np.exp(logits[order] - logits.max())
    mass = np.cumsum(weights / weights.sum())
    n = max(int((mass <= p).sum()), min_keep, 1)
    result = np.full_like(logits, -np.inf)
    result[order[:n]] = logits[order[:n]]
    return result


def judged() -> BackendResult:
    """Return the result of `mine` on the row, as `check` has it."""
    case = case_of("demo/top_p", "top_p", LOGITS, {"p": P})
    subject = subject_of(mine, "top_p")
    with closing(subject.backend):
        return subject.result(case).backends[NAME]


def story() -> Iterator[str]:
    """Yield what the command prints: both results, the token that differs, and why."""
    row = np.array(LOGITS, np.float32)
    (stage,) = trace([{"top_p": {"p": P}}], row)
    right, values = {*stage.candidates.ids.tolist()}, mine(row, P)
    shares = Candidates.from_logits(row)
    shares.softmax(sort=True)
    mass = np.cumsum(shares.p)
    yield f"One row of {len(row)} logits, top_p with p = {P}, and two implementations:"
    yield ""
    yield "token  logit      p   mass   llama.cpp  mine"
    for i, token in enumerate(shares.ids.tolist()):
        sides = [(stays and "stays") or "-" for stays in (token in right, values[token] > -np.inf)]
        numbers = f"{row[token]:6.1f}  {shares.p[i]:.3f}  {mass[i]:.3f}"
        yield f"{token:5}  {numbers}   {sides[0]:9}  {sides[1]}"
    yield ""
    result = judged()
    lost = sorted(right - {*np.flatnonzero(values > -np.inf).tolist()})
    place = f"stage {(result.stage_index or 0) + 1} of 1 ({result.stage})"
    yield f"{result.verdict.upper()} at {place}: mine loses token {', '.join(map(str, lost))}."
    yield f"Why: {result.values['rule']}. The token that reaches p must stay."
    yield ""
    yield 'Your function:  from sampler_parity import check; check(my_top_p, "top_p")'
    yield "Your engine:    sampler-parity init --lang python my-sampler"
