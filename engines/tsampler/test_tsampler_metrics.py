"""Surprisal, entropy, perplexity, top candidates and workspace, in both languages."""

import math

import numpy as np
import pytest
import scipy

from sampler_parity.engines.tsampler.model import metrics
from sampler_parity.engines.tsampler.model.sample import top_candidates
from sampler_parity.engines.tsampler.model.workspace import (
    SamplerWorkspace,
    required_kcap,
)
from sampler_parity.harness.inputs.logits import FAMILIES
from tests.support.case_tables import cases_of
from tests.support.tsampler_node import run_js

PROGRAMS = cases_of(__file__)

ROWS = {
    name: make(np.random.default_rng(3), n).astype(np.float32)
    for n in (1, 7, 300)
    for name, make in ((f"{family}-{n}", FAMILIES[family]) for family in FAMILIES)
}


def test_entropy_of_four_equal_tokens_is_two_bits() -> None:
    row = np.zeros(4, np.float32)
    assert metrics.entropy(row, "bits") == 2.0
    assert metrics.entropy(row) == math.log(4)
    assert metrics.model_surprisal(row, 1, "bits") == 2.0


def test_a_certain_token_has_no_surprisal_and_the_rest_infinite() -> None:
    row = np.array([-np.inf, 3.0, -np.inf], np.float32)
    assert metrics.model_surprisal(row, 1) == 0.0
    assert metrics.model_surprisal(row, 0) == math.inf
    assert metrics.entropy(row) == 0.0


def test_sampling_level_is_over_the_candidates() -> None:
    logits = np.array([0.0, 0.0], np.float32)
    assert metrics.sampling_surprisal(logits, [7, 3], 3, "bits") == 1.0
    assert metrics.sampling_surprisal(logits, [7, 3], 4) == math.inf


def test_metrics_agree_with_scipy() -> None:
    for name, row in ROWS.items():
        x = row.astype(np.float64)
        log_p = scipy.special.log_softmax(x)
        p = np.exp(log_p)
        expected = -(p[p > 0] * log_p[p > 0]).sum()
        scale = max(1.0, abs(x[np.isfinite(x)]).max() * 1e-3)
        assert metrics.entropy(row) == pytest.approx(expected, abs=1e-11 * scale), name
        token = int(row.argmax())
        assert metrics.model_surprisal(row, token) == pytest.approx(
            -log_p[token], abs=1e-11 * scale
        )


def test_typescript_metrics_are_the_same_to_the_bit() -> None:
    rows = [row.tolist() for row in ROWS.values()]
    results = run_js(PROGRAMS["metrics"], rows)
    for row, theirs in zip(ROWS.values(), results, strict=True):
        ids = range(5, 5 + len(row))
        for base, values in zip(("nats", "bits"), theirs, strict=True):
            assert [float(v) for v in values] == [
                metrics.entropy(row, base),  # type: ignore[arg-type]
                metrics.entropy(row, base),  # type: ignore[arg-type]
                metrics.model_surprisal(row, 0, base),  # type: ignore[arg-type]
                metrics.sampling_surprisal(row, ids, 5, base),  # type: ignore[arg-type]
                math.inf,
            ]


def test_a_token_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(IndexError, match=r"token 3 is not in 0\.\.2"):
        metrics.model_surprisal(np.zeros(3, np.float32), 3)
    results = run_js(
        "try { api.computeModelSurprisal(f32([0]), 1); } catch (e) { return e.message; }"
    )
    assert results == "token 1 is not in 0..0"


def test_perplexity_of_equal_choices_is_their_number() -> None:
    ppl = metrics.RollingPerplexity()
    assert ppl.ppl() == 1.0
    for _ in range(3):
        ppl.add_surprisal(math.log(8))
    assert ppl.ppl() == pytest.approx(8, abs=1e-12)
    assert ppl.count == 3
    ppl.reset()
    assert ppl.ppl() == 1.0


def test_typescript_perplexity_is_the_same() -> None:
    surprisals = [0.1, 2.5, 0.0, 7.25, 1e-9]
    results = run_js(PROGRAMS["perplexity"], surprisals)
    ppl, steps = metrics.RollingPerplexity(), []
    for value in surprisals:
        ppl.add_surprisal(value)
        steps.append(ppl.ppl())
    assert results == [1, steps, 5]


def test_metrics_and_sampling_leave_the_logits_alone() -> None:
    results = run_js(PROGRAMS["unchanged"])
    assert results is True


def test_top_candidates_are_the_likeliest_of_the_whole_vocabulary() -> None:
    row = np.log(np.array([0.1, 0.4, 0.2, 0.3], np.float32))
    assert [token for token, _ in top_candidates(row, 3)] == [1, 3, 2]
    assert [p for _, p in top_candidates(row, 3)] == pytest.approx([0.4, 0.3, 0.2], abs=1e-7)
    assert len(top_candidates(row)) == 4
    assert top_candidates(row, 0) == []


def test_typescript_top_candidates_are_the_same() -> None:
    results = run_js(PROGRAMS["top_candidates"], [row.tolist() for row in ROWS.values()])
    assert [[tuple(c) for c in candidates] for candidates in results] == [
        top_candidates(row, 5) for row in ROWS.values()
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("top_k", "typical_p", "n_vocab", "needed"),
    [
        (None, None, 65536, 256), (0, 1.0, 65536, 256), (40, 1.0, 65536, 256),
        (320, 1.0, 65536, 320), (40, 0.9, 65536, 512), (600, 0.9, 65536, 600), (40, 0.9, 100, 100),
    ],
)  # fmt: skip
def test_required_capacity(
    top_k: int | None, typical_p: float | None, n_vocab: int, needed: int
) -> None:
    assert required_kcap(top_k, typical_p, n_vocab) == needed
    arguments = [value if value is not None else "undefined" for value in (top_k, typical_p)]
    call = f"return api.requiredKcap({arguments[0]}, {arguments[1]}, {n_vocab});"
    assert run_js(call) == needed


def test_workspace_grows_by_powers_of_two_and_never_shrinks() -> None:
    workspace, seen = SamplerWorkspace(40), []
    for needed in (40, 100, 64, 320, 1, 512, 513):
        workspace.ensure_capacity(needed)
        seen.append((workspace.capacity, workspace.version))
    assert seen == [(64, 0), (128, 1), (128, 1), (512, 2), (512, 2), (512, 2), (1024, 3)]
    results = run_js(PROGRAMS["growth"], [40, 100, 64, 320, 1, 512, 513])
    assert [tuple(entry[:2]) for entry in results] == seen
    assert all(length == capacity for capacity, _, length in results)


def test_a_set_is_a_view_of_its_workspace_and_filters_work_in_it() -> None:
    results = run_js(PROGRAMS["views"])
    assert results == [True] * 4


def test_a_set_from_before_the_growth_is_refused() -> None:
    results = run_js(PROGRAMS["stale"])
    assert results == ["stale CandidateSet: its workspace has grown since it was made"] * 6


def test_the_workspace_of_a_session_grows_as_documented() -> None:
    results = run_js(PROGRAMS["session"])
    assert results == [256, 512, 512]
