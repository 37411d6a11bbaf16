"""Processors of transformers, MLX LM and vLLM as they are: check reports real differences alone."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from sampler_parity import check

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]
REJECTED = "run/rejected"
Processor = Callable[[Any], Callable[..., Any]]


def windowed(processors: Any) -> Callable[..., Any]:
    """Return the repetition penalty of transformers for the last tokens."""

    def penalized(input_ids: Any, scores: Any, penalty_last_n: int, penalty_repeat: float) -> Any:
        last = input_ids[:, -penalty_last_n:] if penalty_last_n > 0 else input_ids[:, :0]
        penalize = processors.RepetitionPenaltyLogitsProcessor(float(penalty_repeat))
        return penalize(last, scores) if last.shape[1] else scores

    return penalized


OF_TRANSFORMERS: dict[str, tuple[Processor, set[str]]] = {
    "top_p": (lambda t: lambda p: t.TopPLogitsWarper(p), {REJECTED}),
    "top_k": (lambda t: lambda k: t.TopKLogitsWarper(k), {REJECTED, "top_k/more"}),
    "min_p": (lambda t: lambda p: t.MinPLogitsWarper(p), {REJECTED}),
    "typical_p": (
        lambda t: lambda p: t.TypicalLogitsWarper(p),
        {REJECTED, "typical_p/more"},
    ),
    "penalties": (windowed, set()),
}


def of_log_probabilities(processors: Any) -> Callable[..., Any]:
    mlx = processors.mx

    def stays(logits: Any, p: float) -> Any:
        return processors.apply_top_p(logits - mlx.logsumexp(logits), p) > -mlx.inf

    return stays


OF_MLX_LM: dict[str, tuple[Processor, set[str]]] = {
    "top_p": (of_log_probabilities, {"top_p/more", "top_p/none"}),
    "top_k": (lambda of: lambda logits, k: of.apply_top_k(logits, k), {REJECTED}),
    "min_p": (lambda of: lambda logits, p: of.apply_min_p(logits, p), {REJECTED}),
}


@pytest.mark.parametrize("sampler", OF_TRANSFORMERS)
def test_transformers(sampler: str) -> None:
    """It rejects values out of range, and keeps all that equal the last one that stays."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    processors = pytest.importorskip("transformers", reason="transformers is not installed")
    make, expected = OF_TRANSFORMERS[sampler]
    report = check(make(processors), sampler, library=torch)
    assert {finding.id for finding in report.findings} == expected, report


@pytest.mark.parametrize("sampler", OF_MLX_LM)
def test_mlx_lm(sampler: str) -> None:
    """It keeps all that equal the last one of top_p, and none if p is negative."""
    mlx = pytest.importorskip("mlx.core", reason="mlx is not installed")
    processors = pytest.importorskip("mlx_lm.sample_utils", reason="mlx-lm is not installed")
    make, expected = OF_MLX_LM[sampler]
    mlx.disable_compile()  # a compilation by g++ for each size of a row
    report = check(make(processors), sampler, library=mlx, arithmetic={"log_domain": True})
    assert {finding.id for finding in report.findings} == expected, report


def min_p_of_vllm(torch: Any, logits: Any, p: float) -> Any:
    """Call vLLM's class as its engine does: a request joins the batch, then the batch is masked."""
    from vllm import SamplingParams
    from vllm.v1.sample import logits_processor as processors

    config = SimpleNamespace(scheduler_config=SimpleNamespace(max_num_seqs=1))
    processor = processors.MinPLogitsProcessor(config, torch.device("cpu"), False)
    request: Any = (0, SamplingParams(min_p=p), None, [])
    processor.update_state(processors.BatchUpdate(1, removed=[], added=[request], moved=[]))
    return processor.apply(logits[None])[0]


def cut_of_vllm(logits: Any, k: Any, p: Any) -> Any:
    from vllm.v1.sample.ops import topk_topp_sampler

    return topk_topp_sampler.apply_top_k_top_p(logits[None], k, p)[0]


def penalties_of_vllm(torch: Any) -> Callable[..., Any]:
    from vllm.v1.sample.ops import penalties

    def penalized(
        tokens: Any,
        logits: Any,
        penalty_last_n: int,
        penalty_repeat: float,
        penalty_freq: float,
        penalty_present: float,
    ) -> Any:
        last = tokens[-penalty_last_n:].tolist() if penalty_last_n > 0 else []
        values = [torch.tensor([x]) for x in (penalty_present, penalty_freq, penalty_repeat)]
        no_prompt = torch.full((1, 0), len(logits))
        return penalties.apply_all_penalties(logits[None], no_prompt, *values, [last])[0]

    return penalized


OF_VLLM: dict[str, tuple[Processor, set[str]]] = {
    "min_p": (lambda torch: lambda logits, p: min_p_of_vllm(torch, logits, p), {REJECTED}),
    "top_p": (
        lambda torch: lambda logits, p: cut_of_vllm(logits, None, torch.tensor([p])),
        set(),
    ),
    "top_k": (
        lambda torch: lambda logits, k: cut_of_vllm(logits, torch.tensor([k]), None),
        {REJECTED, "top_k/more"},
    ),
    "penalties": (penalties_of_vllm, {REJECTED}),
}


@pytest.mark.parametrize("sampler", OF_VLLM)
def test_vllm(sampler: str) -> None:
    """It keeps all that equal the last one of top_k, and rejects ids outside of the row."""
    pytest.importorskip("vllm.v1", reason="vllm is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    make, expected = OF_VLLM[sampler]
    report = check(make(torch), sampler, library=torch)
    assert {finding.id for finding in report.findings} == expected, report
