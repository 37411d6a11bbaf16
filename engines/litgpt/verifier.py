"""litgpt/verifier: `speculative_decoding` of LitGPT, one text at a time.

The function draws its drafts by itself, with its own `sample`. Here its first calls of `sample`
return the given drafts and the stated q. The models are functions that answer with rows of logits,
and the target's go through `sample`, as in LitGPT.
"""

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.litgpt.worker import litgpt, request_of
from sampler_parity.engines.shared.verifiers import Pairs, VerifierAlone, edited, one_by_one
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import HelloReply, SpeculativeRequest


@cache
def decoding(edits: Pairs) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return speculative_decoding and its sample. edits: of the text of the first."""
    litgpt()
    module = importlib.import_module("litgpt.generate.speculative_decoding")
    return edited(module.speculative_decoding, edits), module.sample


class Worker(VerifierAlone):
    def hello(self) -> HelloReply:
        return HelloReply(
            name="litgpt/verifier",
            version=litgpt().version,
            capabilities=["speculative"],
            samplers=["top_k", "temp", "top_p", "dist"],
        )

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last."""
        if request.rule != "rejection":
            raise Unsupported("LitGPT rejects drafts, and matches none")
        options = request_of(request.chain).options
        return one_by_one(
            rounds, lambda draft, seed: verify(rounds, draft, seed, options, self.edits)
        )


def verify(
    rounds: Rounds, draft: list[int], seed: int, options: dict[str, Any], edits: Pairs
) -> Sequence[int]:
    """Return the tokens of a round. Raises InputError if torch refuses a row."""
    torch, (decode, sample) = litgpt().torch, decoding(edits)
    logits, q = torch.tensor(rounds.logits)[None], torch.tensor(rounds.draft_rows)
    drawn = [(torch.tensor([token]), row) for token, row in zip(draft, q, strict=True)]

    def forced(rows: Any, **given: Any) -> Any:
        return drawn.pop(0) if drawn else sample(rows, **given)

    torch.manual_seed(seed)
    at = torch.tensor([0])
    decode.__globals__["sample"] = forced
    try:
        given: list[int] = decode(
            lambda **_: logits[:, :1], lambda **_: logits, at, at.clone(), 1, len(draft), **options
        ).tolist()
    except RuntimeError as error:
        raise InputError("LitGPT", (str(error).splitlines() or [""])[0]) from None
    return given
