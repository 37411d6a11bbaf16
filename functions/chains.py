"""Chains of the reference on a row of logits: their stages, their draws, and two of them compared.

A chain is `[{name: {parameter: value}}, ...]` with llama.cpp's names, as in a suite.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampler_parity.functions.report import Finding, Report
from sampler_parity.harness.checks.distribution.exact import FIXED, law
from sampler_parity.harness.checks.stages.own_random import DRAWING
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.statistics import fit, tv
from sampler_parity.reference import Candidates, Chain, Stage, build_chain
from sampler_parity.reference.chain import Spec

BINS = 64  # of a test of draws
FEW = 8  # tokens in a line


def trace(chain: Spec, logits: ArrayLike, tokens: Iterable[int] = ()) -> list[Stage]:
    """Return the candidates after each stage. logits: float[n_vocab]. tokens: those accepted
    before. Raises ChainError for a chain that llama.cpp lacks."""
    cand = Candidates.from_logits(_row(logits))
    return [*_built(len(cand), [*tokens], chain).trace(cand)]


def probabilities(
    chain: Spec, logits: ArrayLike, tokens: Iterable[int] = ()
) -> NDArray[np.float64]:
    """Return the probability of each token that a chain draws: float64[n_vocab], sum 1. If no
    sampler at its end selects a token, `dist` draws. Raises Unsupported if it has no fixed
    distribution."""
    past, row = [*tokens], _row(logits)
    names = [sampler.name for sampler in _built(len(row), past, chain).samplers]
    last = names[-1] if names else ""
    if last == "greedy":
        p = np.zeros(len(row))
        p[trace(chain, row, past)[-1].candidates.token] = 1
        return p
    spec = [{name: {**values} for name, values in stage.items()} for stage in chain]
    spec += [] if last in (*FIXED, *DRAWING) else [{"dist": {"seed": 0}}]
    return law(spec, row, partial(_built, len(row), past))


def _row(logits: ArrayLike) -> NDArray[np.float32]:
    """Return a row. Raises InputError for what is none."""
    with suppress(TypeError, ValueError), np.errstate(over="ignore"):
        row = np.asarray(logits)
        if row.ndim == 1 and len(row) and row.dtype.kind in "iuf":
            return row.astype(np.float32)
    raise InputError("logits", "are no row of numbers", "pass float[n_vocab]")


def _built(n_vocab: int, past: Sequence[int], chain: Spec) -> Chain:
    if not isinstance(chain, list | tuple):
        raise InputError("chain", "is no list of stages", 'pass [{"top_k": {"k": 40}}, ...]')
    built = build_chain(chain, n_vocab=n_vocab)
    for token in past:
        built.accept(token)
    return built


def judge_draws(
    draws: ArrayLike,
    logits: ArrayLike,
    chain: Spec = (),
    tokens: Iterable[int] = (),
    error: float = 1e-6,
) -> Report:
    """Judge drawn tokens by the distribution of a chain: a G test and one of the total variation.

    draws: int[k], independent. logits: float[n_vocab]. error: the probability that a right sampler
    is found wrong. Raises InputError for draws that are no tokens.
    """
    values, p = np.asarray(draws), probabilities(chain, logits, tokens)
    if not 0 < error < 1:
        raise InputError(f"error={error!r}", "is no probability between 0 and 1")
    if values.dtype.kind not in "iu" or values.ndim != 1 or len(values) == 0:
        raise InputError("judge_draws", "draws must be a list of token ids", "pass int[k]")
    if values.min() < 0 or values.max() >= len(p):
        raise InputError("judge_draws", f"a token is outside of 0..{len(p) - 1}")
    n, bins = len(values), tv.by_rank(p, BINS)
    if len(impossible := bins.impossible(values)):
        token = int(impossible[0])
        text = f"{len(impossible):,} of {n:,} draws have probability 0, such as token {token}"
        return Report(text, False, [Finding("dist/impossible", text)])
    counts = bins.counts(values)
    p_value = min(
        1.0, 2 * min(float(fit.g_p_value(counts, bins.p)), float(tv.p_value(counts, bins.p)))
    )
    least, most = float(tv.lower(counts, bins.p, error)), float(tv.upper(counts, bins.p, error))
    notes = [f"total variation from the right distribution: {least:.3g} to {most:.3g}"]
    headline = f"{n:,} draws fit the distribution: p-value {p_value:.2g}, error {error:g}"
    if p_value > error:
        return Report(headline, True, notes=notes)
    excess = np.bincount(values, minlength=len(p)) - n * p
    order = np.argsort(-abs(excess))[:FEW]
    lines = [
        f"token {t}: drawn {int((values == t).sum()):,} times, {n * p[t]:,.1f} expected"
        for t in order.tolist()
    ]
    headline = f"{n:,} draws are of another distribution: p-value {p_value:.2g}, error {error:g}"
    return Report(headline, False, [Finding("dist/biased", headline, lines)], notes)


def compare(chain: Spec, second: Spec, logits: ArrayLike, tokens: Iterable[int] = ()) -> Report:
    """Compare what two chains leave of a row: the survivors, and the distribution of the draw.

    logits: float[n_vocab]. A difference of the distribution counts from 1e-6 on: the total
    variation.
    """
    past = [*tokens]
    ours, theirs = probabilities(chain, logits, past), probabilities(second, logits, past)
    distance = tv.between(ours, theirs)
    lines = [*_alone("the first", ours, theirs), *_alone("the second", theirs, ours)]
    if distance < 1e-6 and not lines:
        return Report(f"the same draw: {int((ours > 0).sum()):,} tokens survive", True)
    moved = np.argsort(-abs(ours - theirs))[:FEW].tolist()
    lines += [f"token {t}: p = {ours[t]:.6g} and {theirs[t]:.6g}" for t in moved]
    text = f"the chains differ: total variation {distance:.3g}"
    return Report(text, False, [Finding("chain/differs", text, lines)])


def _alone(name: str, ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> Iterator[str]:
    tokens = np.flatnonzero((ours > 0) & (theirs == 0))
    if len(tokens):
        more = f", and {len(tokens) - FEW:,} more" if len(tokens) > FEW else ""
        listed = ", ".join(map(str, tokens[:FEW].tolist()))
        yield f"{name} alone leaves {len(tokens):,}: token {listed}{more}"


def why(chain: Spec, logits: ArrayLike, token: int, tokens: Sequence[int] = ()) -> Report:
    """Follow a token through a chain: its logit, probability and rank after each stage, and the
    stage that removes it. logits: float[n_vocab]. tokens: those accepted before."""
    notes, rank = list[str](), 0
    start = Candidates.from_logits(_row(logits))
    if token not in range(len(start)):
        raise InputError(f"why(..., token={token!r})", f"the row has {len(start):,} tokens")
    if start.logits[token] == -np.inf:
        return Report(f"token {token} has -inf from the start", False)
    stages: list[tuple[str, Any]] = [("before", start)]
    stages += [(f"after {stage.name}", stage.candidates) for stage in trace(chain, logits, tokens)]
    for name, cand in stages:
        at = np.flatnonzero(cand.ids == token)
        if len(at) == 0 or cand.logits[at[0]] == -np.inf:
            what = f"{name.removeprefix('after ')} removes token {token}: it had rank {rank}"
            finite = int((cand.logits > -np.inf).sum())
            return Report(f"{what}, and {finite:,} stay", False, notes=notes)
        logit, shares = float(cand.logits[at[0]]), cand.copy()
        shares.softmax(sort=False)
        rank = 1 + int((cand.logits > cand.logits[at[0]]).sum())
        notes.append(
            f"{name}: logit {logit:.6g}, p = {shares.p[at[0]]:.6g}, rank {rank} of {len(cand):,}"
        )
    return Report(f"token {token} survives the chain", True, notes=notes)
