"""Run a cell of a distribution test on the reference and on every backend.

Every kind draws in portions, at the looks of its plan, and stops as soon as it can decide:

- different: the p-value, corrected for the tests within the cell, is at most the cell's alpha
- equivalent: the upper bound, at this look's share of the error, is below the margin
- undecided: neither after the planned draws

docs/background/statistics.md explains why stopping early costs no error.
"""

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.context import Ready, Terms, short_names
from sampler_parity.harness.checks.distribution import exact, rounds
from sampler_parity.harness.checks.distribution.block import (
    Cell,
    Coupled,
    Frequency,
    Independence,
    Injected,
    Speculative,
    Tail,
)
from sampler_parity.harness.checks.distribution.draws import Source
from sampler_parity.harness.checks.distribution.record import (
    CellOnBackend,
    Decision,
    DistributionResult,
)
from sampler_parity.harness.checks.late_failures import Watched
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Backend, BackendFailure, Unclaimed
from sampler_parity.harness.statistics import coupled, fit, look, plan, tail, tv
from sampler_parity.harness.statistics import independence as repeats
from sampler_parity.harness.statistics.look import Look
from sampler_parity.reference import UndefinedInputError


@dataclass(frozen=True)
class Planned:
    """The plan of a cell, before anything is drawn.

    smallest_caught: at least the margin, because a cell stops as soon as it is below the margin.
    """

    cell: Cell
    prepared: Prepared
    errors: plan.Errors
    p: NDArray[np.float64]
    draws: int
    bins: tv.Bins
    smallest_caught: float | None = None


def run(cell: Cell, tools: Ready) -> DistributionResult:
    """Return the result of a cell on the terms of a run."""
    terms = tools.terms
    return execute_cell(cell, tools.backends, terms.errors, terms.seed, terms.require_all)


def died(cell: Cell, terms: Terms, problem: str) -> DistributionResult:
    """Return the result of a cell that ends the process that judges it: nothing is decided."""
    names = short_names(terms.backends)
    refused = CellOnBackend(decision="undecided", detail=f"crashed: {problem}")
    blank = blank_result(cell, prepare(cell.case()), names, terms.errors)
    return blank.model_copy(update={"backends": dict.fromkeys(names, refused)})


def execute_cell(
    cell: Cell,
    backends: Sequence[Backend],
    errors: plan.Errors,
    seed: int = 0,
    require_all: bool = False,
) -> DistributionResult:
    """Plan a cell and test every backend. Never raises for a failure of a backend. require_all: a
    backend that does not claim the cell is `unsupported`, as if the cell required it, and not
    skipped.
    """
    prepared = rounds.prepared(cell) if isinstance(cell, Speculative) else prepare(cell.case())
    blank = blank_result(cell, prepared, [b.name for b in backends], errors)
    try:
        planned = plan_cell(cell, prepared, errors)
    except (Unsupported, UndefinedInputError) as error:
        refused = CellOnBackend(decision="undecided", detail=str(error))
        return blank.model_copy(
            update={"refusal": str(error), "backends": {b.name: refused for b in backends}}
        )
    return blank.model_copy(
        update={
            "bins": len(planned.bins.p) if isinstance(cell, Frequency) else 0,
            "planned": planned.draws,
            "smallest_caught": planned.smallest_caught,
            "backends": {b.name: _timed(planned, b, seed, require_all) for b in backends},
        }
    )


def blank_result(
    cell: Cell, prepared: Prepared, names: list[str], errors: plan.Errors
) -> DistributionResult:
    """Return the result of a cell without draws."""
    return DistributionResult(
        id=cell.id,
        what=cell.kind,
        samplers=prepared.case.samplers,
        n_vocab=prepared.case.logits.n,
        margin=getattr(cell, "margin", None),
        alpha=errors.alpha,
        beta=errors.beta,
        planned=0,
        backends={},
        required={name: cell.required(name) for name in names},
    )


def plan_cell(cell: Cell, prepared: Prepared, errors: plan.Errors) -> Planned:
    """Plan a cell. Raises Unsupported without a fixed distribution or if rounding exceeds the
    margin."""
    if isinstance(cell, Speculative):
        p = rounds.Outcomes(cell, prepared).p
        n = min(cell.max_draws, plan.draws_for(cell.margin, p, errors))
        caught = max(cell.margin, plan.smallest_caught(n, p, errors))
        return Planned(cell, prepared, errors, p, n, tv.by_token(p), caught)
    judge = cell.case().model_copy(update={"chain": cell.law or cell.chain})
    p = exact.exact(prepare(judge))
    by_token = tv.by_token(p)
    if isinstance(cell, Frequency):
        chosen = tv.by_rank(p, cell.bins) if cell.bins else by_token
        n = min(cell.max_draws, plan.draws_for(cell.margin, chosen.p, errors))
        caught = max(cell.margin, plan.smallest_caught(n, chosen.p, errors))
        return Planned(cell, prepared, errors, p, n, chosen, caught)
    if isinstance(cell, Coupled):
        benign = coupled.benign_rate(coupled.edges(exact.walk(prepared).p), cell.ulps)
        needed = plan.coupled_draws(cell.margin, benign, errors)
        if needed is None:
            raise Unsupported(
                f"rounding alone moves a share {benign:.2g} of the draws, the margin is"
                f" {cell.margin:g}: no number of coupled draws can distinguish them"
            )
        n = min(cell.max_draws, needed)
        caught = max(cell.margin, plan.coupled_caught(n, benign, errors))
        return Planned(cell, prepared, errors, p, n, by_token, caught)
    if isinstance(cell, Tail):
        mass = float(p[tail_tokens(p, cell.nats)].sum())
        if mass == 0:
            raise Unsupported(f"no token lies {cell.nats:g} nats below the likeliest one")
        n = min(cell.max_draws, tail.draws_for(cell.factor, mass, errors))
        return Planned(cell, prepared, errors, p, n, by_token, (cell.factor - 1) * mass)
    if isinstance(cell, Independence):
        n = 2 * plan.rate_draws(cell.margin, parts(cell), errors)
        n = max(n, 4 * max(cell.lags))
        return Planned(cell, prepared, errors, p, n, by_token, cell.margin)
    return Planned(cell, prepared, errors, p, len(cell.uniforms), by_token)


def _timed(planned: Planned, backend: Backend, seed: int, require_all: bool) -> CellOnBackend:
    start, watched = time.perf_counter(), Watched(backend)
    try:
        result = _tested(planned, backend, seed)
    except BackendFailure as failure:
        stays = require_all or "unsupported" in planned.cell.required(backend.name)
        skipped = isinstance(failure, Unclaimed) and not stays
        decision: Decision = "skipped" if skipped else failure.verdict
        result = CellOnBackend(decision=decision, detail=str(failure))
    if problem := watched.problem():
        result = CellOnBackend(decision="crashed", detail=problem)
    return result.model_copy(update={"wall_s": time.perf_counter() - start})


def _tested(planned: Planned, backend: Backend, seed: int) -> CellOnBackend:
    """Test a cell on a backend. Raises BackendFailure."""
    if isinstance(planned.cell, Speculative):
        of_rounds = rounds.RoundSource(planned.cell, planned.prepared, backend, seed)
        return speculative_rounds(planned, of_rounds).model_copy(update={"ns": of_rounds.ns})
    source = Source(planned.prepared, backend, seed, int((planned.p > 0).sum()))
    result = TESTS[type(planned.cell)](planned, source)
    return result.model_copy(update={"ns": source.ns})


def cell_result(planned: Planned, look: Look, n: int) -> CellOnBackend:
    """Return the decision of one look, after n draws."""
    margin = getattr(planned.cell, "margin", None)
    different = bool(look.different(planned.errors))
    equivalent = margin is not None and bool(look.equivalent(margin))
    return CellOnBackend(
        decision="different" if different else "equivalent" if equivalent else "undecided",
        draws=n,
        estimate=float(look.estimate),
        low=float(look.low),
        high=float(look.high),
        p_value=float(look.p_value),
        tests={name: float(value) for name, value in look.tests.items()},
    )


def _portions(planned: Planned, source: Source) -> Iterator[tuple[int, NDArray[np.int32], bool]]:
    """Yield (draws so far, the new ones, whether it is the last portion) at every look."""
    so_far = 0
    at = plan.looks(planned.draws)
    for n in at:
        yield n, source.draw(n - so_far), n == at[-1]
        so_far = n


def frequencies(planned: Planned, source: Source) -> CellOnBackend:
    """Count the tokens in bins until the counts decide."""
    p = planned.bins.p
    counts = np.zeros(len(p), np.int64)
    for n, tokens, last in _portions(planned, source):
        impossible = planned.bins.impossible(tokens)
        if len(impossible):
            return _impossible(n, impossible)
        counts += planned.bins.counts(tokens)
        result = cell_result(planned, look.frequencies(counts, p, planned.errors, last), n)
        if result.decision != "undecided" or last:
            scipy_tests = {f"scipy {name}": v for name, v in fit.scipy_p_values(counts, p).items()}
            return result.model_copy(update={"tests": result.tests | scipy_tests})
    raise AssertionError("a plan has a last look")


def speculative_rounds(planned: Planned, source: rounds.RoundSource) -> CellOnBackend:
    """Count the outcomes of rounds until the counts decide."""
    p = planned.bins.p
    counts = np.zeros(len(p), np.int64)
    at = plan.looks(planned.draws)
    for so_far, n in itertools.pairwise([0, *at]):
        places = source.draw(n - so_far)
        if source.impossible:
            detail = f"{_cause(planned, source, n) or 'impossible'}: {source.impossible}"
            return CellOnBackend(decision="different", draws=n, p_value=0.0, detail=detail)
        counts += np.bincount(places, minlength=len(p))
        last = n == at[-1]
        result = cell_result(planned, look.frequencies(counts, p, planned.errors, last), n)
        if result.decision != "undecided" or last:
            wrong = result.decision == "different"
            cause = _cause(planned, source, n) if wrong else ""
            detail = "; ".join(filter(None, [cause, source.describe()]))
            return result.model_copy(update={"detail": detail})
    raise AssertionError("a plan has a last look")


def _cause(planned: Planned, source: rounds.RoundSource, n: int) -> str:
    """Find the wrong stage of wrong rounds. It may draw more rounds than the decision took."""
    while not (cause := source.cause(planned.errors.alpha / plan.LOOKS)) and n < planned.draws:
        source.draw(min(n, planned.draws - n))
        n = min(2 * n, planned.draws)
    return cause


def coupled_disagreements(planned: Planned, source: Source) -> CellOnBackend:
    """Count disagreements with the reference under its own uniforms, until they decide."""
    cell = planned.cell
    assert isinstance(cell, Coupled)
    walk = exact.walk(planned.prepared)
    edges = coupled.edges(walk.p)
    benign = coupled.benign_rate(edges, cell.ulps)
    disagreed = unexplained = 0
    for n, tokens, last in _portions(planned, source):
        u = source.uniforms(len(tokens))
        wrong = walk.tokens(u) != tokens
        disagreed += int(wrong.sum())
        unexplained += int((~coupled.explained(u[wrong], edges, cell.ulps)).sum())
        current = look.disagreements(disagreed, unexplained, n, benign, planned.errors)
        result = cell_result(planned, current, n)
        if result.decision != "undecided" or last:
            detail = (
                f"{disagreed:,}/{n:,} disagree, {unexplained:,} of them farther from a boundary"
                f" than rounding reaches; rounding explains a rate of {benign:.2g}"
            )
            return result.model_copy(update={"detail": detail})
    raise AssertionError("a plan has a last look")


def tail_tokens(p: NDArray[np.float64], nats: float) -> NDArray[Any]:
    """Return a mask of the possible tokens that are at least this far below the likeliest one."""
    return np.asarray((p > 0) & (p <= p.max() * np.exp(-nats)))


def tail_draws(planned: Planned, source: Source) -> CellOnBackend:
    """Test how often a token of the tail is drawn, and whether all of them are."""
    cell = planned.cell
    assert isinstance(cell, Tail)
    inside = tail_tokens(planned.p, cell.nats)
    mass = float(planned.p[inside].sum())
    tokens = np.concatenate([t for _, t, _ in _portions(planned, source)])
    impossible = planned.bins.impossible(tokens)
    if len(impossible):
        return _impossible(len(tokens), impossible)
    drawn = tokens[inside[tokens]]
    n, hits, repeated = len(tokens), len(drawn), tail.repeats(drawn)
    share = planned.p[inside].max() / mass
    tests = {
        "total": float(tail.total_p_value(hits, n, mass)),
        "repeats": float(tail.repeats_p_value(repeated, hits, share)),
    }
    # Bonferroni: the smaller of two tests
    p = min(1.0, 2 * min(tests.values()))
    low = float(coupled.lower(hits, n, planned.errors.alpha))
    high = float(coupled.upper(hits, n, planned.errors.alpha))
    within = mass / cell.factor < low and high < mass * cell.factor
    differs = p <= planned.errors.alpha or low > mass or high < mass
    return CellOnBackend(
        decision="different" if differs else "equivalent" if within else "undecided",
        draws=n,
        estimate=hits / n,
        low=low,
        high=high,
        p_value=p,
        tests=tests,
        detail=f"{hits:,} draws from the tail, {n * mass:,.1f} expected; {repeated:,} repeats of"
        f" {int(inside.sum()):,} tokens, {hits * (hits - 1) / 2 * share:,.2f} expected",
    )


def parts(cell: Independence) -> int:
    """Return the number of two-sided tests of rates: one a lag, first draws of instances, another
    seed."""
    return len(cell.lags) + 2


def independence(planned: Planned, source: Source) -> CellOnBackend:
    """Test repeats at every lag, across seeds and within; equal seeds give equal draws."""
    cell = planned.cell
    assert isinstance(cell, Independence)
    rate, n = repeats.repeat_rate(planned.p), planned.draws
    tokens, same_seed, other_seed = (
        source.draw(n, seed=0),
        source.draw(n, seed=0),
        source.draw(n, seed=1),
    )
    impossible = planned.bins.impossible(np.concatenate([tokens, other_seed]))
    if len(impossible):
        return _impossible(n, impossible)
    firsts = np.array([source.draw(1, seed=2 + i)[0] for i in range(cell.seeds)])
    counted = {f"lag {lag}": repeats.matches(*repeats.pairs(tokens, lag)) for lag in cell.lags}
    counted["other seed"] = repeats.matches(tokens, other_seed)
    counted["first draws"] = repeats.matches(*repeats.pairs(firsts, 1))
    tests = {name: float(repeats.p_value(m, k, rate)) for name, (m, k) in counted.items()}
    # no chance is involved: 1 or 0
    tests["equal seeds"] = float((tokens == same_seed).all())
    share = planned.errors.alpha / parts(cell)
    bounded = {name: c for name, c in counted.items() if name != "first draws"}  # those are few
    high = max(float(repeats.upper(m, k, rate, share)) for m, k in bounded.values())
    estimate = max(abs(m / k - rate) for m, k in bounded.values())
    worst = min(tests, key=lambda name: tests[name])
    result = cell_result(planned, Look(tests, estimate, 0.0, high), 3 * n + cell.seeds)
    detail = f"least likely: {worst}; two draws are the same token with probability {rate:.4g}"
    return result.model_copy(update={"detail": detail})


def injected(planned: Planned, source: Source) -> CellOnBackend:
    """Test that every extreme uniform gives a possible token."""
    cell = planned.cell
    assert isinstance(cell, Injected)
    u = np.array(cell.uniforms, np.float64)
    tokens = source.draw(len(u), uniforms=u)
    bad = planned.bins.of_token[tokens] < 0
    if bad.any():
        uniforms = ", ".join(f"u = {x!r}" for x in u[bad].tolist())
        result = _impossible(len(u), tokens[bad])
        return result.model_copy(update={"detail": f"{result.detail} at {uniforms}"})
    return CellOnBackend(
        decision="equivalent", draws=len(u), detail="no impossible token at any of the uniforms"
    )


def _impossible(n: int, tokens: NDArray[np.int32]) -> CellOnBackend:
    examples = ", ".join(str(token) for token in np.unique(tokens)[:5])
    return CellOnBackend(
        decision="different",
        draws=n,
        p_value=0.0,
        detail=f"{len(tokens):,} draws of tokens that are impossible: {examples}",
    )


TESTS = {
    Frequency: frequencies,
    Coupled: coupled_disagreements,
    Tail: tail_draws,
    Independence: independence,
    Injected: injected,
}
