"""vLLM's own batch of requests, its logits processors and its sampler, on rows of logits.

The batch is that of the model runner: requests are added, removed, condensed and swapped by it. A
token comes from the sampler called as a whole. The result of each stage comes from the same
functions, called one after the other as the sampler calls them.
"""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from sampler_parity.engines.vllm import requests as slots
from sampler_parity.engines.vllm.engine import vllm
from sampler_parity.engines.vllm.requests import Request
from sampler_parity.harness.errors import InputError

Shown = dict[int, Any]  # slot -> logits [rows, n_vocab] after it


class Batch:
    """rows: the largest batch."""

    def __init__(self, n_vocab: int, rows: int) -> None:
        engine = vllm()
        config = SimpleNamespace(scheduler_config=SimpleNamespace(max_num_seqs=rows))
        device = engine.torch.device("cpu")
        self.input = engine.InputBatch(
            max_num_reqs=rows,
            max_model_len=slots.ROOM,
            max_num_batched_tokens=slots.ROOM,
            device=device,
            vocab_size=n_vocab,
            block_sizes=[16],
            max_num_blocks_per_req=[1],
            logitsprocs=engine.LogitsProcessors(
                of_class(config, device, False) for of_class in engine.processors
            ),
            logitsprocs_need_output_token_ids=True,
        )
        self.sampler = engine.Sampler(logprobs_mode="processed_logprobs")

    def hold(self, requests: list[Request]) -> None:
        """Make the batch hold exactly these requests, in this order."""
        wanted = {request.state.req_id: request.state for request in requests}
        places = self.input.req_id_to_index
        for gone in [name for name in places if name not in wanted]:
            self.input.remove_request(gone)
        for name, state in wanted.items():
            if name not in places:
                self.input.add_request(state)
        self.input.condense()
        for place, name in enumerate(wanted):
            if places[name] != place:
                self.input.swap_states(place, places[name])
        self.input.refresh_metadata()

    def sample(self, logits: Any) -> tuple[Any, Any]:
        """Draw a token of each row; return it and the logprobs of the draw. logits are changed."""
        output = self.output(logits, replace(self.input.sampling_metadata, max_num_logprobs=-1))
        return output.sampled_token_ids[:, 0].tolist(), output.logprobs_tensors.logprobs

    def tokens(self, logits: Any) -> list[int]:
        tokens = self.output(logits, self.input.sampling_metadata).sampled_token_ids
        return tokens[:, 0].tolist()  # type: ignore[no-any-return]

    def output(self, logits: Any, metadata: Any) -> Any:
        try:
            return self.sampler(logits, metadata)
        except (ValueError, RuntimeError, IndexError) as error:
            raise InputError("vLLM", str(error).splitlines()[0]) from None

    def shown(self, logits: Any) -> Shown:
        """Return the logits after each stage. logits are changed."""
        try:
            return {slot: rows.clone() for slot, rows in self._stages(logits)}
        except (ValueError, RuntimeError, IndexError) as error:
            raise InputError("vLLM", str(error).splitlines()[0]) from None

    def _stages(self, logits: Any) -> Iterator[tuple[int, Any]]:
        """Yield each stage of Sampler.apply_logits_processors and Sampler.sample."""
        engine, metadata = vllm(), self.input.sampling_metadata
        none = engine.LogitsProcessors()
        bans = replace(metadata, logitsprocs=none, no_penalties=True)
        first = replace(bans, bad_words_token_ids={})
        yield slots.ALLOWED, self.sampler.apply_logits_processors(logits, first, False)
        second = replace(bans, allowed_token_ids_mask=None)
        yield slots.BAD_WORDS, self.sampler.apply_logits_processors(logits, second, False)
        minimum, bias = metadata.logitsprocs.non_argmax_invariant
        yield slots.MIN_TOKENS, minimum.apply(logits)
        yield slots.BIAS, bias.apply(logits)
        logits = self.sampler.apply_penalties(logits, metadata, metadata.output_token_ids)
        yield slots.PENALTIES, logits
        if metadata.temperature is not None:
            self.sampler.apply_temperature(logits, metadata.temperature, metadata.all_random)
        yield slots.TEMPERATURE, logits
        (min_p,) = metadata.logitsprocs.argmax_invariant
        yield slots.MIN_P, min_p.apply(logits)
        yield slots.TOP_K, engine.apply_top_k_top_p(logits, metadata.top_k, None)
        yield slots.TOP_P, engine.apply_top_k_top_p(logits, None, metadata.top_p)
        yield slots.SELECT, logits
        yield slots.LOGPROBS, logits
