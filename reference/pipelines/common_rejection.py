"""common_sampler's other way along a draft: rejection sampling, to the bit.

For each drafted token x, with q the candidates that it was drawn from:

    Sample, which moves the chain's random streams. p: the candidates' probabilities, in descending
    order. With a grammar that is not first, refused tokens get p = 0 and the rest is normalised.
    Accept x if q(x) > 0 and (p(x) >= q(x) or u < p(x) / q(x)). u is drawn only if it is needed.
    Else draw from max(0, p - q) by another u; if that is 0 everywhere, take the sampled token.
    After the whole draft, sample one more.

All float32; sums run over the candidates as they stand. u is one word of an own mt19937, seeded
with the chain's seed XOR 0x9e3779b9. A reset does not touch that stream, a clone continues it. For
llama.cpp, a chain without dist or mirostat (it ends in adaptive_p, or in greedy at temperature 0)
has no seed: 0xffffffff is taken, so that the stream is the same for every seed.

It differs from sample_and_accept_n in one more thing: an accepted token that ends the generation
does not end the round.

Source: common_sampler_sample_and_accept_n_rejection, llama.cpp PR 27694, as compiled into b11549
    (xllamacpp 2026.10.11549); v0.5.0 has no such function.
Tests: tests/reference/test_speculative_native.py
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.random import DEFAULT_SEED, Mt19937
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2

SEED_XOR = 0x9E3779B9  # separates this stream from the one that the chain draws from
Proposal = Sequence[tuple[int, float]]  # tokens with the probabilities that one was drawn by


def rejection_stream(samplers: Iterable[Sampler]) -> Mt19937:
    """Return the stream of a chain, seeded as `llama_sampler_get_seed`: the last sampler counts."""
    seeds = [s.rng.seed_cur for s in samplers if isinstance(s, Dist | Mirostat | MirostatV2)]
    stream = Mt19937(0)
    stream.seed_exactly((seeds[-1] if seeds else DEFAULT_SEED) ^ SEED_XOR)
    return stream


def masked(cand: Candidates, grammar: Sampler) -> NDArray[Any]:
    """Return p with 0 for refused tokens, and the rest normalised."""
    fits = cand.copy()
    grammar.apply(fits)
    p = np.where(fits.logits == -np.inf, np.float32(0), cand.p)
    total = floats.running_sum(p, np.float32)[-1]
    return p * (np.float32(1) / total) if total > 0 else p


def accepts(
    ids: NDArray[np.int32], p: NDArray[Any], drafted: int, proposal: Proposal, rng: Mt19937
) -> bool:
    """Return whether the drafted token stays; u is drawn only where it is needed."""
    q_x = np.float32(_of(proposal, drafted))
    p_x = next((p[i] for i, token in enumerate(ids) if token == drafted), np.float32(0))
    return bool(q_x > 0 and (p_x >= q_x or rng.uniform_float() < p_x / q_x))


def redrawn(
    ids: NDArray[np.int32], p: NDArray[Any], proposal: Proposal, rng: Mt19937
) -> int | None:
    """Return a token drawn from max(0, p - q); None where that is 0 everywhere."""
    rest = p - np.array([_of(proposal, token) for token in ids.tolist()], p.dtype)
    at = np.flatnonzero(rest > 0)
    if not len(at):
        return None
    u = rng.uniform_float() * floats.running_sum(rest[at], np.float32)[-1]
    for i in at:
        u = u - rest[i]
        if u <= 0:
            return int(ids[i])
    return int(ids[at[-1]])


def _of(proposal: Proposal, token: int) -> float:
    return next((p for candidate, p in proposal if candidate == token), 0.0)
