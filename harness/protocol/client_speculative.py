"""Send a backend rounds of speculative sampling."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Setting, asked_again, claim, put
from sampler_parity.harness.protocol.interface import Backend, Rounds

RuleName = Literal["rejection", "matching"]


@asked_again
def speculative(
    backend: Backend, setting: Setting, rule: RuleName, rounds: Rounds
) -> tuple[NDArray[np.int32], int]:
    """Return int32[n, drafted + 1], the tokens of each round and -1 behind the last; and ns."""
    claim(backend, "speculative", setting.chain)
    n, drafted = rounds.drafts.shape
    placed, draft_rows = put(backend, list(rounds.logits), setting.n_vocab)
    drafts = backend.scratch.write(draft_rows, rounds.draft_rows)
    seeds = backend.scratch.write(drafts, rounds.drafts)
    out = backend.scratch.write(seeds, rounds.seeds)
    backend.scratch.write(out, np.full(n * (drafted + 1), -2, np.int32))
    request = p.SpeculativeRequest(
        **setting.fields(),
        rule=rule,
        rows=placed,
        drafted=drafted,
        draft_rows=draft_rows,
        n=n,
        drafts=drafts,
        seeds=seeds,
        out=out,
    )
    reply = backend.ask(request, p.SpeculativeReply)
    tokens = backend.scratch.read(out, n * (drafted + 1), np.int32)
    if len(tokens) < n * (drafted + 1):
        raise backend.violation("the scratch file was truncated")
    tokens = tokens.reshape(n, drafted + 1)
    if ((tokens < -1) | (tokens >= setting.n_vocab)).any() or (tokens[:, 0] < 0).any():
        raise backend.violation("a round has no token, or one outside the vocabulary")
    if ((tokens[:, :-1] < 0) & (tokens[:, 1:] >= 0)).any():
        raise backend.violation("a round has a token after its end")
    return tokens, reply.ns
