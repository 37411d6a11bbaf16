"""MLX LM's verifier of drafts, in `speculative_generate_step`: target and draft draw with one
sampler, and a draft stays while it equals the target's token.

The models are functions of the number of tokens so far. The draft's gives each drafted token the
probability 1. The prompt is the history, or one token without effect.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.mlx_lm.arguments import processors_of
from sampler_parity.engines.mlx_lm.engine import generation, libraries
from sampler_parity.engines.shared.verifiers import Pairs, edited
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import ChainSpec, SpeculativeRequest

SAMPLER = {"temp": "temp", "top_k": "k", "top_p": "p", "min_p": "p"}


class Model:
    """Answers each token with a row of logits, after those of the prompt."""

    layers: Sequence[Any] = ()

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self.rows, self.at = rows, 0

    def __call__(self, tokens: Any, cache: Any) -> Any:
        self.at += tokens.shape[1]
        return libraries()[0].array(self.rows[self.at - tokens.shape[1] : self.at])[None]


@cache
def generate(edits: Pairs) -> Any:
    """Return speculative_generate_step. edits: of its text."""
    step = generation().speculative_generate_step
    return edited(step, edits) if edits else step


def speculate(request: SpeculativeRequest, rounds: Rounds, edits: Pairs = ()) -> NDArray[np.int32]:
    """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last."""
    if request.rule != "matching":
        raise Unsupported("MLX LM matches drafts, and rejects none")
    mx, _ = libraries()
    sampler, processors = parts_of(request.chain)
    prompt = request.history or [0]
    before = np.zeros((len(prompt) - 1, request.n_vocab), np.float32)
    tokens = np.full((request.n, request.drafted + 1), -1, np.int32)
    for i, draft in enumerate(rounds.drafts.tolist()):
        forced = np.full((request.drafted, request.n_vocab), -np.inf, np.float32)
        forced[np.arange(request.drafted), draft] = 0
        mx.random.seed(int(rounds.seeds[i]))
        steps = generate(edits)(
            mx.array(prompt),
            Model(np.concatenate([before, rounds.logits])),
            Model(np.concatenate([before, forced])),
            num_draft_tokens=request.drafted,
            max_tokens=request.drafted + 1,
            sampler=sampler,
            logits_processors=processors,
            prompt_cache=[],
        )
        for at, (token, _, drafted) in enumerate(steps):
            tokens[i, at] = token
            if not drafted:
                break
        steps.close()
    return tokens


def parts_of(chain: ChainSpec) -> tuple[Any, Any]:
    """Return the sampler and the processors of a chain. Raises Unsupported for another order."""
    _, mlx = libraries()
    named = [(name, values) for stage in chain[:-1] for name, values in stage.items()]
    names = [name for name, _ in named]
    order = ["logit_bias", "penalties", "top_p", "min_p", "top_k", "temp"]
    if names != sorted(names, key=order.index):
        raise Unsupported(f"MLX LM's order is {', '.join(order)}")
    arguments = {"temp": 1.0} | {
        {"k": "top_k"}.get(SAMPLER[name], name): values[SAMPLER[name]]
        for name, values in named
        if name in SAMPLER
    }
    processors = [
        made
        for name, values in named
        if name not in SAMPLER
        for made in mlx.make_logits_processors(**processors_of(name, values))
    ]
    return mlx.make_sampler(**arguments), processors
