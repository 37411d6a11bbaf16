"""common_sampler's other way along a draft: rejection sampling, to the bit.

For each drafted token x, q being the candidates that it was drawn from:

    sample, which moves the chain's random streams; p: the candidates' probabilities, in descending
    order; with a grammar that is not first, p of what it refuses is 0 and the rest normalised
    accept x if q(x) > 0 and (p(x) >= q(x) or u < p(x) / q(x)): u is drawn only where it is needed
    else draw from max(0, p - q) by another u; where that is 0 everywhere, what was sampled
after the whole draft: sample one more

All float32; sums run over the candidates as they stand. u is one word of an own mt19937, seeded
with the chain's seed XOR 0x9e3779b9. A reset does not touch that stream, a clone continues it. A
chain without dist or mirostat (it ends in adaptive_p, or in greedy at temperature 0) has no seed to
llama.cpp: 0xffffffff is taken, so that the stream is the same whatever seed was asked for.

It differs from sample_and_accept_n in one more thing: an accepted token that ends the generation
does not end the round.

Source: common_sampler_sample_and_accept_n_rejection, llama.cpp PR 27694, as compiled into b11549
    (xllamacpp 2026.10.11549); v0.5.0 has no such function.
Tests: tests/reference/test_speculative_native.py
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.random import DEFAULT_SEED, Mt19937
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2

if TYPE_CHECKING:
    from sampler_parity.reference.chain import Chain
    from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output

APART = 0x9E3779B9  # from the stream that the chain draws by
Proposal = Sequence[tuple[int, float]]  # tokens with the probabilities that one was drawn by


def rejection_stream(chain: "Chain") -> Mt19937:
    """`llama_sampler_get_seed` of a chain asks these of its samplers, the last one first."""
    seeds = [s.rng.seed_cur for s in chain.samplers if isinstance(s, Dist | Mirostat | MirostatV2)]
    stream = Mt19937(0)
    stream.seed_exactly((seeds[-1] if seeds else DEFAULT_SEED) ^ APART)
    return stream


def sample_and_accept_n_rejection(
    sampler: "CommonSampler",
    outputs: "Sequence[Output]",
    draft: Sequence[int],
    draft_q: Sequence[Proposal],
    grammar_first: bool,
) -> list[int]:
    """Returns 1 to len(outputs) tokens, all accepted. Raises ValueError for numbers of outputs or
    proposals that do not fit the draft, UndefinedInputError as sample."""
    if len(outputs) != len(draft) + 1 or len(draft_q) != len(draft):
        problem = f"{len(outputs)} outputs and {len(draft_q)} proposals for a draft of {len(draft)}"
        raise ValueError(problem)
    tokens: list[int] = []
    for drafted, output, proposal in zip(draft, outputs, draft_q, strict=False):
        token, is_accepted = _judged(sampler, output, drafted, proposal, grammar_first)
        sampler.accept(token, True)
        tokens.append(token)
        if not is_accepted:
            return tokens
    tokens.append(sampler.sample(outputs[-1], grammar_first))
    sampler.accept(tokens[-1], True)
    return tokens


def _judged(
    sampler: "CommonSampler",
    output: "Output",
    drafted: int,
    proposal: Proposal,
    grammar_first: bool,
) -> tuple[int, bool]:
    """The token, and whether the drafted one was accepted."""
    sampled = sampler.sample(output, grammar_first)
    cand = sampler.get_candidates(do_sort=True)
    p = cand.p if grammar_first or not sampler.grammar_applies() else _masked(sampler, cand)
    q = np.array([_of(proposal, token) for token in cand.ids.tolist()], p.dtype)
    q_x = np.float32(_of(proposal, drafted))
    p_x = next((p[i] for i, token in enumerate(cand.ids) if token == drafted), np.float32(0))
    if q_x > 0 and (p_x >= q_x or sampler.rng.uniform_float() < p_x / q_x):
        return drafted, True
    rest = p - q
    at = np.flatnonzero(rest > 0)
    if not len(at):
        return sampled, False
    u = sampler.rng.uniform_float() * floats.running_sum(rest[at], np.float32)[-1]
    for i in at:
        u = u - rest[i]
        if u <= 0:
            return int(cand.ids[i]), False
    return int(cand.ids[at[-1]]), False


def _masked(sampler: "CommonSampler", cand: Candidates) -> NDArray[Any]:
    assert sampler.grammar is not None
    fits = cand.copy()
    sampler.grammar.apply(fits)
    p = np.where(fits.logits == -np.inf, np.float32(0), cand.p)
    total = floats.running_sum(p, np.float32)[-1]
    return p * (np.float32(1) / total) if total > 0 else p


def _of(proposal: Proposal, token: int) -> float:
    return next((p for other, p in proposal if other == token), 0.0)
