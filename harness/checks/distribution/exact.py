"""The exact distribution of a chain's draw, and the reference's draws from it, many at once.

A chain that ends in a draw is a function of its state and a uniform number. If no stage before the
last draws, these stages see the same input at every draw. Nothing is accepted in between, so they
leave the same candidates. They may be applied once, and the last stage as often as needed
(`filters_once`). tests/checks/distribution/test_law.py compares that with applying everything.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.stages.prepared import Prepared
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference import Candidates
from sampler_parity.reference.chain import Chain
from sampler_parity.reference.random import Walk, walk_of

# Last stages with the same distribution at every draw, although nothing is accepted in between.
FIXED = ("dist", "adaptive_p", "akunu", "tsampler_sample")
# The ones among them that change nothing that they read.
_PURE = ("dist", "akunu", "tsampler_sample")


def filters_once(chain: ChainSpec) -> bool:
    """Return whether the stages before the draw can be applied once for many draws."""
    chance = any("xtc" in stage and 0 < stage["xtc"]["p"] < 1 for stage in chain)
    return next(iter(chain[-1])) in _PURE and not chance


def exact(prepared: Prepared) -> NDArray[np.float64]:
    """Return the probability of every token by the reference: float64[n_vocab], sum 1. As `law`."""
    return law(prepared.chain, prepared.rows[0], partial(_build, prepared))


def law(
    chain: ChainSpec, row: NDArray[np.float32], build: Callable[[ChainSpec], Chain]
) -> NDArray[np.float64]:
    """Return the probability with which a chain draws each token of a row: float64[n_vocab], sum 1.

    The chain's own arithmetic decides the survivors and every p. xtc acts at random: it is applied
    both ways and the results are mixed. Raises Unsupported if a draw changes the distribution
    (mirostat) or nothing is drawn.
    """
    p = np.zeros(len(row))
    for weight, decided in _fixed(chain):
        built = build(decided)
        if (name := built.samplers[-1].name) not in FIXED:
            raise Unsupported(f"a chain that ends in {name} has no fixed distribution")
        cand = Candidates.from_logits(row)
        built.apply(cand)
        weights = cand.p.astype(np.float64)
        p[cand.ids] += weight * weights / weights.sum()
    if not np.isfinite(p).all():
        raise Unsupported("the reference's probabilities are not numbers")
    return np.asarray(p / p.sum())


def _build(prepared: Prepared, chain: ChainSpec) -> Chain:
    built = build_chain(chain, n_vocab=prepared.case.logits.n, vocab=prepared.vocab)
    for token in prepared.case.past:
        built.accept(token)
    return built


def _fixed(chain: ChainSpec) -> list[tuple[float, ChainSpec]]:
    """Return the chains with every xtc decided, each with its probability."""
    for i, stage in enumerate(chain):
        p = float(np.float32(stage["xtc"]["p"])) if "xtc" in stage else 0.0
        if 0 < p < 1:
            ways = [(p, 1.0), (1 - p, 0.0)]
            return [
                (chance * rest, decided)
                for chance, value in ways
                for rest, decided in _fixed(
                    [*chain[:i], {"xtc": stage["xtc"] | {"p": value}}, *chain[i + 1 :]]
                )
            ]
    return [(1.0, chain)]


def walk(prepared: Prepared) -> Walk:
    """Return the walk of the chain's final dist. Raises Unsupported for a chain without one."""
    if "dist" not in prepared.chain[-1] or not filters_once(prepared.chain):
        raise Unsupported("coupled draws need a chain that draws in a final dist and nowhere else")
    built = prepared.build()
    cand = Candidates.from_logits(prepared.rows[0])
    for sampler in built.samplers[:-1]:
        sampler.apply(cand)
    return walk_of(cand)
