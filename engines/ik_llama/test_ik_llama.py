"""backend ik_llama: which functions stages become, and, in its environment, what they do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.ik_llama.functions import LLAMA_CPP, OWN, own_stage
from sampler_parity.engines.ik_llama.model import STAGES
from sampler_parity.engines.shared.table_model import gguf as table
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.reference import Candidates
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


def test_every_stage_of_the_reference_has_its_function() -> None:
    assert sorted(OWN) == sorted(STAGES)


@pytest.mark.parametrize(("name", "parameters", "wanted"), CASES["functions"])
def test_a_sampler_of_llama_cpp_becomes_a_function_of_the_fork(
    name: str, parameters: dict[str, Any], wanted: Any
) -> None:
    assert own_stage(name, parameters) == tuple(wanted)


def test_what_the_fork_has_no_function_for_is_unsupported() -> None:
    assert "logit_bias" not in LLAMA_CPP
    with pytest.raises(Unsupported, match="no function for logit_bias"):
        own_stage("logit_bias", {})


def reference(stages: list[dict[str, Any]], logits: list[float]) -> Candidates:
    cand = Candidates.from_logits(logits)
    build_chain(stages, n_vocab=len(logits)).apply(cand)
    return cand


def test_a_token_banned_by_a_logit_of_minus_infinity_is_revived_by_adaptive_p() -> None:
    # p is 1 and 0: at a target of 0 d is 1 / 0.3 and 0, so 5 and 5 - 10 * 11.1 / 4.33
    cand = reference([{"ik_llama_adaptive_p": {"target": 0.0, "seed": 1}}], [5.0, -np.inf])
    assert cand.logits.tolist() == pytest.approx([-20.641, 5.0], abs=1e-3)
    assert cand.token == 1


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 7), (5, 9), (17, 20)], ids=str)
def test_the_table_answers_each_token_with_its_row_to_the_bit(
    shape: tuple[int, int], tmp_path: Path
) -> None:
    llama_cpp = pytest.importorskip("llama_cpp")
    rows = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    rows[0, :2] = [1e-44, -3e38]
    if shape[0] == 1:
        rows[0, 2:5] = [-np.inf, np.nan, np.inf]
    table.write(tmp_path, rows)
    model = str(tmp_path / table.FILE)
    llama = llama_cpp.Llama(model, n_ctx=32, n_threads=1, logits_all=True, verbose=False)
    tokens = list(range(shape[1]))
    llama.eval(tokens)
    wanted = rows[np.minimum(tokens, shape[0] - 1)]
    assert np.array_equal(
        np.asarray(llama.scores[: shape[1]]).view(np.uint32), wanted.view(np.uint32)
    )


@pytest.mark.parametrize(("rows", "message"), CASES["rows"])
def test_a_row_that_would_not_come_back_is_refused_in_one_line(
    rows: list[list[float]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        table.write(tmp_path, np.array(rows, np.float32))
