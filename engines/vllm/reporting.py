"""A request that asks for logprobs, in a mode of the engine (`logprobs_mode`)."""

from dataclasses import replace

from sampler_parity.engines.shared.launches import Row
from sampler_parity.engines.shared.reported import reported
from sampler_parity.engines.vllm import requests as slots
from sampler_parity.engines.vllm.batch import Batch
from sampler_parity.engines.vllm.engine import vllm
from sampler_parity.engines.vllm.requests import Request
from sampler_parity.engines.vllm.serving import results_of

MODES = ("raw_logits", "raw_logprobs", "processed_logits", "processed_logprobs")


class Logprobs:
    """The sampler with a mode. top: how many logprobs a request asks for."""

    def __init__(self, mode: str, top: int) -> None:
        self.mode, self.top = mode, top
        self.sampler = vllm().Sampler(logprobs_mode=mode)

    def report(self, batch: Batch, request: Request, row: Row) -> None:
        """Sample once, and show the stages and what the client gets."""
        batch.hold([request])
        batch.sampler = self.sampler
        logits = vllm().torch.tensor(row.logits)[None]
        shown = batch.shown(logits.clone())
        metadata = replace(batch.input.sampling_metadata, max_num_logprobs=self.top)
        output = batch.output(logits.clone(), metadata)
        token, of = int(output.sampled_token_ids[0, 0]), output.logprobs_tensors
        p_of = shown[slots.SELECT].log_softmax(-1)[0]
        row.results = results_of(request, logits[0], shown, 0, token, p_of)
        rank = float(of.selected_token_ranks[0])
        row.results.append(reported(of.logprob_token_ids[0], of.logprobs[0], rank))
