"""Rounds of speculative sampling by vLLM's rejection sampler: many rounds are requests of a launch.

The drafts of a round are the rows behind its first, as in vLLM: row i has the token drafted before
it as its input, and the last row is that of the bonus. The target's rows pass through the sampler's
stages first, which see the drafts.
"""

from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.past import Past
from sampler_parity.engines.vllm_gpu.requests import Request
from sampler_parity.engines.vllm_gpu.runner import Context, Runner
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import SpeculativeRequest

AT_ONCE = 64  # rounds of a launch


def speculate(
    engine: SimpleNamespace, request: SpeculativeRequest, rounds: Rounds
) -> NDArray[np.int32]:
    """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last.

    The requests stay in their slots: rounds differ in drafts and seeds alone.
    """
    if request.rule != "rejection":
        raise Unsupported("vLLM's sampler of this runner rejects drafts, and matches none")
    tokens = np.full((request.n, request.drafted + 1), -1, np.int32)
    past, most = Past(output=list(request.history)), min(request.n, AT_ONCE)
    runner = Runner(engine, rounds.logits.shape[1], most, len(past.text))
    params = Request.of(request.chain, [], []).params[-1]
    slots = runner.put([params] * most, [past] * most)
    for first in range(0, request.n, most):
        some = slice(first, first + most)
        drafts = rounds.drafts[some]
        context = runner.layout(slots[: len(drafts)], [past] * len(drafts), drafts)
        runner.seeded(context, rounds.seeds[some])
        tokens[some] = launched(runner, context, rounds)
    return tokens


def launched(runner: Runner, context: Context, rounds: Rounds) -> NDArray[np.int32]:
    """Return the tokens of the rounds of a launch."""
    logits = runner.padded(np.tile(rounds.logits, (len(context.slots), 1)))
    with np.errstate(divide="ignore"):
        draft_rows = np.log(rounds.draft_rows)
    sampled, count = runner.verify(context, logits, draft_rows)
    return np.where(np.arange(sampled.shape[1]) < count[:, None], sampled, -1)
