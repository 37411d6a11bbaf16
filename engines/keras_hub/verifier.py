"""keras_hub/verifier: SpeculativeSampler of KerasHub with a base sampler, in a batch of one.

The drafts stand in the prompt and its mask, so that the sampler takes them and not its argmax. A
call runs one round. The temperature of the target also divides the logits of the draft.
"""

import importlib
import sys
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.keras_hub.worker import keras_hub
from sampler_parity.engines.shared.verifiers import Pairs, VerifierAlone, edited, one_by_one
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import HelloReply, SpeculativeRequest

_GEMMA = "keras_hub.src.models.gemma4.gemma4_causal_lm"


@cache
def sampler_class(edits: Pairs) -> Any:
    """Return SpeculativeSampler. edits: of the text of its call."""
    keras_hub()
    module = ModuleType(_GEMMA)  # a model that no round has
    vars(module)["Gemma4CausalLM"] = type("Gemma4CausalLM", (), {})
    for name in ("keras_hub.src.models", "keras_hub.src.models.gemma4"):
        sys.modules.setdefault(name, ModuleType(name))
    sys.modules[_GEMMA] = module
    original = importlib.import_module(
        "keras_hub.src.samplers.speculative_sampler"
    ).SpeculativeSampler
    call = edited(original.__call__, edits) if edits else original.__call__
    return type("SpeculativeSampler", (original,), {"__call__": call})


class Worker(VerifierAlone):
    def hello(self) -> HelloReply:
        return HelloReply(
            name="keras_hub/verifier",
            version=keras_hub().version,
            capabilities=["speculative"],
            samplers=["temp", "dist"],
        )

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last."""
        if request.rule != "rejection":
            raise Unsupported("SpeculativeSampler with a base sampler rejects drafts")
        named = {name: values for stage in request.chain for name, values in stage.items()}
        temperature = named.get("temp", {"temp": 1.0})["temp"]
        return one_by_one(
            rounds, lambda draft, seed: verify(rounds, draft, seed, temperature, self.edits)
        )


def verify(
    rounds: Rounds, draft: list[int], seed: int, temperature: float, edits: Pairs
) -> list[int]:
    """Return the tokens of a round."""
    k, base = len(draft), keras_hub().samplers.RandomSampler(seed=seed)
    sampler = sampler_class(edits)(
        num_speculative_tokens=k, base_sampler=base, seed=seed, temperature=temperature
    )
    with np.errstate(divide="ignore"):
        rows = np.log(rounds.draft_rows) * np.float32(temperature)

    def draft_next(prompt: Any, cache: Any, index: Any) -> tuple[Any, None, Any]:
        return rows[int(index)][None], None, cache

    def verify_next(prompt: Any, cache: Any, index: Any, k: int) -> tuple[Any, Any]:
        return rounds.logits[None], cache

    def once(cond: Any, body: Any, loop_vars: Any, **_: Any) -> Any:
        given = body(*loop_vars)
        ends.append(int(given[3]))
        return given

    ends: list[int] = []
    sampler.run_loop = once
    prompt = np.array([[*draft, 0]], np.int32)
    mask = np.array([[True] * k + [False]])
    with np.errstate(all="ignore"):
        text = sampler(
            None, prompt, index=0, mask=mask, draft_next=draft_next, verify_next=verify_next
        )
    tokens: list[int] = np.asarray(text)[0][: ends[0]].tolist()
    return tokens
