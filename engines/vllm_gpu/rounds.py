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
from sampler_parity.engines.vllm_gpu.runner import Runner
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import SpeculativeRequest

AT_ONCE = 64  # rounds of a launch


def speculate(
    engine: SimpleNamespace, request: SpeculativeRequest, rounds: Rounds
) -> NDArray[np.int32]:
    """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last."""
    if request.rule != "rejection":
        raise Unsupported("vLLM's sampler of this runner rejects drafts, and matches none")
    tokens = np.full((request.n, request.drafted + 1), -1, np.int32)
    for first in range(0, request.n, AT_ONCE):
        some = slice(first, min(first + AT_ONCE, request.n))
        tokens[some] = launched(engine, request, rounds, some)
    return tokens


def launched(
    engine: SimpleNamespace, request: SpeculativeRequest, rounds: Rounds, some: slice
) -> NDArray[np.int32]:
    drafts, seeds, drafted = rounds.drafts[some], rounds.seeds[some], request.drafted
    n, n_vocab = len(drafts), rounds.logits.shape[1]
    past = Past(output=list(request.history))
    runner = Runner(engine, n_vocab, n, len(past.text))
    params = Request.of(request.chain, [], []).params[-1]
    context = runner.add([params] * n, [past] * n, drafts)
    runner.seeded(context, seeds)
    logits = runner.padded(np.tile(rounds.logits, (n, 1)))
    with np.errstate(divide="ignore"):
        draft_rows = np.log(rounds.draft_rows)
    sampled, count = runner.verify(context, logits, draft_rows)
    return np.where(np.arange(drafted + 1) < count[:, None], sampled, -1)
