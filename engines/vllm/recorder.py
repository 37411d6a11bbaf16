"""Record what vLLM samples (`sampler-parity record --engine vllm`).

Python loads this file into the recorded program and the processes that it starts, so it imports
nothing at its top but the standard library. Each request is a chain, of the stages of
engines/vllm/model that its SamplingParams ask for. Top-k and top-p are one function of vLLM: with
both, the stage top-k is that function on a copy of the logits, with k alone.

A draw without a seed, and one that is not the CPU's, is counted apart. Not recorded: drafts
(rejection sampling), the model runner V2, and what a grammar has masked before the sampler.
"""

import functools
import threading
from typing import Any

_NOW = threading.local()  # .step: the logits of this thread's step, by stage; or None
_GREEDY = 1e-5  # _SAMPLING_EPS
_ANY_SEED = 2**32 - 1


def _copied(logits: Any) -> Any:
    return logits.detach().float().cpu().numpy().copy()


def _stages(params: Any, draw: str) -> list[tuple[str | None, str, dict[str, Any]]]:
    """Return the stages of a request. draw: the function of TopKTopPSampler that draws."""
    given: list[tuple[str, dict[str, Any]]] = []
    if params.allowed_token_ids:
        given.append(("vllm_allowed_token_ids", {"allowed_token_ids": params.allowed_token_ids}))
    if words := params.bad_words_token_ids:
        given.append(("vllm_bad_words", {"bad_words_token_ids": words}))
    if params.min_tokens:
        stops = sorted(params.all_stop_token_ids)
        given.append(
            ("vllm_min_tokens", {"min_tokens": params.min_tokens, "stop_token_ids": stops})
        )
    if params.logit_bias:
        pairs = [[int(token), float(bias)] for token, bias in params.logit_bias.items()]
        given.append(("logit_bias", {"logit_bias": pairs}))
    names = ("repetition_penalty", "frequency_penalty", "presence_penalty")
    penalties = {name: getattr(params, name) for name in names}
    if tuple(penalties.values()) != (1, 0, 0):
        given.append(("vllm_penalties", penalties))
    given.append(("vllm_temperature", {"temperature": params.temperature}))  # at 0 it selects
    stages: list[tuple[str | None, str, dict[str, Any]]] = [(name, name, of) for name, of in given]
    if params.temperature < _GREEDY:
        return stages
    filters = {"min_p": params.min_p, "top_k": params.top_k, "top_p": params.top_p}
    off = {"min_p": (0,), "top_k": (0, -1), "top_p": (1,)}
    for name, value in filters.items():
        if value not in off[name]:
            stages.append((f"vllm_{name}", f"vllm_{name}", {name: value}))
    seeded = params.seed is not None and 0 <= params.seed < _ANY_SEED
    if seeded and draw == "forward_cpu":
        stages.append(("vllm_sample", "vllm_sample", {"seed": params.seed}))
    else:
        stages.append((None, f"{draw} without a seed" if not seeded else draw, {}))
    return stages


class _Step:
    """The logits of all rows as vLLM's functions see them. left: after each stage."""

    def __init__(self, logits: Any) -> None:
        self.before = _copied(logits)
        self.left: dict[str, Any] = {}

    def of_row(self, row: int, stages: list[str]) -> list[Any]:
        """Return a row after each of its stages. One that vLLM did not call leaves it as it was."""
        now, rows = self.before[row], []
        for name in stages:
            now = self.left[name][row] if name in self.left else now
            rows.append(now)
        return rows


def _keep(name: str, logits: Any) -> None:
    _NOW.step.left[name] = _copied(logits)


def _watched(function: Any, name: str, hooks: Any, first: str = "") -> Any:
    """Return a function of logits that also keeps what it left. first: the stage before it, which
    is no function."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        step = getattr(_NOW, "step", None)
        if step is not None and first and not step.left:
            hooks.safely(_keep, first, next(a for a in arguments if hasattr(a, "softmax")))
        left = function(*arguments, **named)
        if step is not None:
            logits = next(a for a in arguments if hasattr(a, "softmax")) if left is None else left
            hooks.safely(_keep, name, logits)
        return left

    return call


def _sampler(module: Any, hooks: Any) -> None:
    """Patch vllm.v1.sample.sampler."""
    allowed = "vllm_allowed_token_ids"
    of = module.Sampler
    module.apply_bad_words = _watched(module.apply_bad_words, "vllm_bad_words", hooks, allowed)
    of.apply_penalties = staticmethod(_watched(of.apply_penalties, "vllm_penalties", hooks))
    of.apply_temperature = staticmethod(_watched(of.apply_temperature, "vllm_temperature", hooks))


def _builtin(module: Any, hooks: Any) -> None:
    """Patch vllm.v1.sample.logits_processor.builtin."""
    names = {"MinTokens": "vllm_min_tokens", "LogitBias": "logit_bias", "MinP": "vllm_min_p"}
    for start, name in names.items():
        kind = getattr(module, f"{start}LogitsProcessor")
        kind.apply = _watched(kind.apply, name, hooks, "vllm_allowed_token_ids")


def _filters(module: Any, hooks: Any) -> None:
    """Patch vllm.v1.sample.ops.topk_topp_sampler."""
    original = module.apply_top_k_top_p

    @functools.wraps(original)
    def apply(logits: Any, k: Any, p: Any) -> Any:
        if getattr(_NOW, "step", None) is not None and k is not None and p is not None:
            hooks.safely(lambda: _keep("vllm_top_k", original(logits.clone(), k.clone(), None)))
        left = original(logits, k, p)
        if getattr(_NOW, "step", None) is not None:
            hooks.safely(_keep, "vllm_top_k" if p is None else "vllm_top_p", left)
        return left

    module.apply_top_k_top_p = apply


def _runner(module: Any, hooks: Any) -> None:
    """Patch vllm.v1.worker.gpu_model_runner, which the CPU's runner inherits."""
    original = module.GPUModelRunner._sample
    chains: dict[str, tuple[Any, list[str]]] = {}  # by request

    @functools.wraps(original)
    def sample(self: Any, logits: Any, spec_decode_metadata: Any) -> Any:
        _NOW.step = None
        if spec_decode_metadata is None and logits is not None:
            _NOW.step = hooks.safely(_Step, logits)
        try:
            output = original(self, logits, spec_decode_metadata)
            if _NOW.step is not None:
                hooks.safely(written, self, _NOW.step, output.sampled_token_ids[:, 0].tolist())
            return output
        finally:
            _NOW.step = None

    def written(runner: Any, step: _Step, tokens: list[int]) -> None:
        for gone in chains.keys() - runner.requests.keys():
            chains.pop(gone)[0].end()
        for row, name in enumerate(runner.input_batch.req_ids[: len(tokens)]):
            if runner.discard_request_mask.np[row]:  # a part of a prompt
                continue
            if name not in chains:
                chains[name] = begun(runner, runner.requests[name], step.before.shape[1])
            chain, stages = chains[name]
            chain.apply(step.before[row], step.of_row(row, stages), tokens[row])
            chain.accept(tokens[row])

    def begun(runner: Any, request: Any, n_vocab: int) -> tuple[Any, list[str]]:
        draw = runner.sampler.topk_topp_sampler.forward.__name__
        stages = _stages(request.sampling_params, draw)
        if hooks.tokenizer is None and hooks.text:
            hooks.tokenizer = _tokenizer(runner.model_config)
        prompt = [*(request.prompt_token_ids or []), *request.output_token_ids]
        return hooks.chain(stages, prompt, n_vocab), [name for _, name, _ in stages]

    module.GPUModelRunner._sample = sample


def _tokenizer(config: Any) -> Any:
    """Return the model's tokenizer; None where there is none."""
    try:
        from vllm.tokenizers import cached_tokenizer_from_config

        return cached_tokenizer_from_config(config)
    except Exception:
        return None


def _version(module: Any, hooks: Any) -> None:
    hooks.named(module.__version__)


MODULES = {
    "vllm.version": _version,
    "vllm.v1.sample.sampler": _sampler,
    "vllm.v1.sample.logits_processor.builtin": _builtin,
    "vllm.v1.sample.ops.topk_topp_sampler": _filters,
    "vllm.v1.worker.gpu_model_runner": _runner,
}
