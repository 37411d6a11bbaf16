"""Processors of transformers and MLX LM as they are: check reports real differences alone."""

from collections.abc import Callable
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
