"""A request that asks for logprobs, in a mode of the engine (`logprobs_mode`)."""

from types import SimpleNamespace

from sampler_parity.engines.shared.launches import Row
from sampler_parity.engines.shared.reported import reported
from sampler_parity.engines.vllm_gpu.requests import Request
from sampler_parity.engines.vllm_gpu.runner import Runner, refused
from sampler_parity.engines.vllm_gpu.shown import sampled


class Logprobs:
    """The sampler with a mode. top: how many logprobs a request asks for."""

    def __init__(self, mode: str, top: int) -> None:
        self.mode, self.top = mode, top

    def report(self, engine: SimpleNamespace, request: Request, row: Row) -> None:
        """Show the stages, and what the client gets: the draw at a position is always the same."""
        row.results = sampled(engine, [request], row.logits[None])[0][1]
        runner = Runner(engine, len(row.logits), 1, len(request.past.text))
        runner.sampler.logprobs_mode = self.mode
        request.params[-1].logprobs = self.top
        context = runner.add([request.params[-1]], [request.past])
        # A stand-in would lose the output. The counts are the runner's, and not used here.
        engine.sampler.SamplerOutput = SimpleNamespace
        engine.sampler.get_num_sampled_and_rejected = lambda *_: (None, None)
        batch = SimpleNamespace(
            num_reqs=1,
            idx_mapping=context.slots,
            idx_mapping_np=context.slots.numpy(),
            expanded_idx_mapping=context.rows,
            expanded_local_pos=context.local,
            positions=context.pos,
            input_ids=context.input_ids,
            logits_indices=slice(None),
            cu_num_logits=context.first,
            cu_num_logits_np=context.first.numpy(),
            seq_lens=context.pos + 1,
            seq_lens_cpu_upper_bound=context.pos + 1,
        )
        with refused():
            output = runner.sampler(runner.padded(row.logits[None]), batch)
        of = output.logprobs_tensors
        rank = float(of.selected_token_ranks[0])
        row.results.append(reported(of.logprob_token_ids[0], of.logprobs[0], rank))
