"""Faults of vLLM's worker: what an adapter of it can get wrong."""

from typing import Any

from sampler_parity.engines.shared.reported_faults import faults_of_logprobs
from sampler_parity.engines.vllm.batch import Batch
from sampler_parity.engines.vllm.engine import vllm
from sampler_parity.engines.vllm.requests import Request
from sampler_parity.engines.vllm.serving import Serving
from sampler_parity.engines.vllm.worker import Instance, Worker
from sampler_parity.harness.faults.engine_faults import Fault
from sampler_parity.harness.protocol import messages as p


class OfFault(Worker):
    """Build instances with a faulty request or batch."""

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        instance = super().build(chain, n_vocab, vocab)
        self.spoil(instance)
        return instance

    def spoil(self, instance: Instance) -> None:
        raise NotImplementedError


class PromptIsOutput(OfFault):
    """The prompt is passed as output."""

    def spoil(self, instance: Instance) -> None:
        instance.accept_prompt = instance.accept  # type: ignore[method-assign]


class SeedLeftOut(OfFault):
    """Requests have no generator: the seed is not heeded."""

    def spoil(self, instance: Instance) -> None:
        instance.request.state.generator = None


class StopsLeftOut(OfFault):
    """min_tokens has no stop ids to ban."""

    def spoil(self, instance: Instance) -> None:
        instance.request.state.sampling_params._all_stop_token_ids = set()


class Ascending(Batch):
    def hold(self, wanted: list[Request]) -> None:
        super().hold(sorted(wanted, key=lambda request: int(request.state.req_id)))


class RowsOfAnother(Serving):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.batch = Ascending(self.asked.n_vocab, 128)


class OthersRows(Worker):
    """The batch is in the order of arrival, but the rows of logits in that of the request."""

    serving = RowsOfAnother


class KeepsOutput(Serving):
    def reset(self, request: Request) -> None:
        state = request.state
        request.state = Request.of(request.chain, [], state.output_token_ids).state


class ResetKeepsOutput(Worker):
    """A restarted request keeps its output."""

    serving = KeepsOutput


def _fault(name: str, make: Any, case: str, stage: str) -> Fault:
    return Fault(f"vllm/{name}", make, case, stage)


FAULTS = [
    _fault("prompt-is-output", PromptIsOutput, "vllm/penalties-frequency-over", "vllm_penalties"),
    _fault("seed-left-out", SeedLeftOut, "vllm_stages/draws/normal-V12", "vllm_sample"),
    _fault("stops-left-out", StopsLeftOut, "vllm/min_tokens-last-banned", "vllm_min_tokens"),
    _fault("rows-of-another", OthersRows, "vllm_batches/requests", "relation"),
    _fault("reset-keeps-output", ResetKeepsOutput, "vllm_batches/requests", "vllm_min_tokens"),
    *faults_of_logprobs("vllm", Worker, vllm),
]
