"""The study of llama.cpp's two ways along a draft, on one cell each."""

import pytest

from sampler_parity.harness.checks.distribution.block import Speculative
from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.statistics.plan import Budget
from studies import speculative

CELL = {
    "id": "c", "description": "d", "why": "w", "rule": "matching", "drafted": 2, "margin": 0.15,
    "chain": [{"top_k": {"k": 3}}, {"temp_ext": {"temp": 0.8}}, {"dist": {"seed": 1}}],
    "logits": {"rows": [[1.0, 0.5, -0.5, 0.0], [0.0, 1.5, 1.0, 0.0], [1.0, 0.0, -1.0, 2.0]]},
    "draft_chain": [{"dist": {"seed": 1}}],
    "draft": {"rows": [[0.5, 1.0, 0.5, 0.0], [1.0, 0.0, 0.5, 0.0]]},
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("release", "rule"),
    [(release, rule) for release, rules in speculative.RULES.items() for rule in rules],
)
def test_rounds_of_common_sampler_are_equivalent_and_the_references_tokens(
    release: str, rule: str
) -> None:
    if release != "v0.5.0" and recorded.find(release) is None:
        pytest.skip("`sampler-parity builds add xllamacpp@2026.10.11549` fetches it")
    worker = speculative.Worker(release)
    backend = InPlace(release, worker)
    cell = Speculative.model_validate(CELL | {"rule": rule})
    result = execute_cell(cell, [backend], Budget(tests=1).each).backends[release]
    backend.scratch.remove()
    worker.driver.close()
    assert result.decision == "equivalent"
    assert worker.followed >= 200
    assert worker.different == 0


def test_a_chain_that_common_sampler_cannot_build_is_refused() -> None:
    with pytest.raises(Unsupported, match="typical_p in common_sampler's chain"):
        speculative.params_of([{"typical_p": {"p": 0.5}}, {"dist": {"seed": 1}}])


def test_the_stages_of_a_chain_become_common_samplers_parameters() -> None:
    params = speculative.params_of(
        [
            {"logit_bias": {"logit_bias": [[1, -2.0]]}},
            {"temp_ext": {"temp": 0.5, "delta": 0.0, "exponent": 1.0}},
            {"top_k": {"k": 7}},
            {"dist": {"seed": 1}},
        ]
    )
    assert params.samplers == ("temperature", "top_k")
    assert (params.temp, params.top_k, params.logit_bias) == (0.5, 7, ((1, -2.0),))
