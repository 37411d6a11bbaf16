"""One request in SGLang's batch, and its sampler called as a whole."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from sampler_parity.engines.sglang.engine import sglang
from sampler_parity.harness.errors import InputError


@dataclass
class Shown:
    """tempered: logits behind the temperature. probs: their softmax. weights: what the filters
    leave of it, by rank; token_ids: of each rank, None where rank is id. None: greedy."""

    tempered: Any = None
    probs: Any = None
    weights: Any = None
    token_ids: Any = None


class Batch:
    """params: of each request. stops: the ids that min_new_tokens bans. masks: the sampler returns
    what its filters keep, as for clients that ask (return_sampling_mask)."""

    def __init__(
        self, params: list[Any], n_vocab: int, stops: list[set[int]], *, masks: bool
    ) -> None:
        self.deterministic = any(of.sampling_seed is not None for of in params)
        self.reqs = [request(of, stop, masks) for of, stop in zip(params, stops, strict=True)]
        self.device = "cpu"
        self.masks = masks
        self.logprobs: Any = None
        self.sampler = sampler_of(self.deterministic)
        self.configure()
        self.info = sglang().SamplingBatchInfo.from_schedule_batch(self, n_vocab)

    asks = False  # the requests ask for logprobs
    original = False  # SGLANG_RETURN_ORIGINAL_LOGPROB

    def compute_logprobs(self, logprobs: Any, *_of: Any) -> Any:
        """Keep the logprobs, from which SGLang's OutputLogprobProcessor gathers."""
        self.logprobs = logprobs.clone()
        return SimpleNamespace(write_output_to=lambda _: None)

    def configure(self) -> None:
        """Set the server's options: --sampling-backend pytorch, as on every CPU, and
        --enable-deterministic-inference if a request has a seed."""
        config = SimpleNamespace(
            deterministic=SimpleNamespace(enable_deterministic_inference=self.deterministic),
            kernel=SimpleNamespace(sampling_backend="pytorch"),
            features=SimpleNamespace(enable_custom_logit_processor=False, enable_watermark=False),
        )
        self.sampler.output_logprob_processor = self
        sglang().modules[0].SGLANG_RETURN_ORIGINAL_LOGPROB = self.original
        for module in sglang().modules:
            module.get_exec = lambda: config
            module.sampler_softmax = self.sampler.softmax

    def accept(self, tokens: list[int]) -> None:
        orchestrator = self.info.penalizer_orchestrator
        try:
            orchestrator.cumulate_output_tokens(sglang().torch.tensor(tokens))
        except RuntimeError as error:
            raise InputError("SGLang", str(error).splitlines()[0]) from None

    def biased(self, logits: Any) -> Any:
        """Apply penalties and bias. logits: of each request, changed."""
        self.info.copy_for_forward().apply_logits_bias(logits)
        return logits

    def sample(self, logits: Any, positions: list[int]) -> tuple[list[int], Shown]:
        """Draw a token for each request. logits: after penalties and bias; they are changed."""
        self.configure()
        self.sampler.shown = Shown() if self.masks else None
        try:
            tokens = self.sampler(
                SimpleNamespace(next_token_logits=logits),
                self.info.copy_for_forward(),
                self.asks,
                [],
                [],
                sglang().torch.tensor(positions),
            )
        except (AssertionError, RuntimeError, ValueError) as error:
            raise InputError("SGLang", str(error).splitlines()[0]) from None
        return tokens.tolist(), self.sampler.shown


def request(params: Any, stops: set[int], masks: bool) -> Any:
    return SimpleNamespace(
        sampling_params=params,
        custom_logit_processor=None,
        return_sampling_mask=masks,
        sampling_logprobs_mode=None,
        eos_token_ids=stops,
        tokenizer=SimpleNamespace(additional_stop_token_ids=None, eos_token_id=None),
    )


def sampler_of(deterministic: bool) -> Any:
    """Build SGLang's Sampler without process groups. It keeps the data of its masks and packs none
    for a client."""
    engine = sglang()

    class Recording(engine.Sampler):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            engine.torch.nn.Module.__init__(self)
            self.rl_on_policy_target = None
            self.enable_deterministic = deterministic
            self.use_log_softmax_logprob = self.use_ascend_backend = False
            self.shown: Shown | None = None

        def softmax(self, logits: Any) -> Any:
            if self.shown is not None:
                self.shown.tempered = logits.clone()
            return engine.torch.softmax(logits, dim=-1)

        def _sample_from_probs(self, probs: Any, *of: Any) -> Any:
            if self.shown is not None:
                self.shown.probs = probs.clone()
            tokens, capture = super()._sample_from_probs(probs, *of)
            if self.shown is not None:
                self.shown.weights, self.shown.token_ids = capture.weights, capture.token_ids
            return tokens, capture

        def _build_sampling_mask_output(self, *_of: Any) -> None:
            pass

        _build_greedy_sampling_mask_output = _build_sampling_mask_output

    return Recording()
