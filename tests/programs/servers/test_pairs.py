"""Of two elements of a list that both act a server loses neither, in any order."""

from collections.abc import Callable
from typing import Any

import pytest

from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.pairs import check_pairs
from sampler_parity.programs.servers.probe import Probe
from tests.support.fake_server import LLAMA, Answering, answered, fake_client
from tests.support.server_faults import makes

ROWS = {row.name: row for row in LLAMA.parameters}
LISTS = ("stop", "logit_bias", "samplers")


def wrong(answering: Answering, name: str) -> str:
    """Return the evidence of what is wrong with a parameter, or ""."""
    with fake_client(answering) as client:
        observed = check_pairs(Probe(client, seeds=True), ROWS[name])
    return observed.evidence if observed else ""


@pytest.mark.parametrize("name", LISTS)
def test_a_right_server_passes(name: str) -> None:
    assert wrong(answered, name) == ""


LOSSES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "the first of two": lambda several: several[-1:] if len(several) == 2 else several,
    "the last of two": lambda several: several[:1],
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_element_is_reported_with_its_parameter(name: str, loss: str) -> None:
    assert wrong(makes(name, LOSSES[loss], list)(answered), name).startswith(f"{name} [")


def test_a_bias_that_becomes_another_bias_is_reported() -> None:
    clamped = makes("logit_bias", lambda pairs: [[t, min(b, 50.0)] for t, b in pairs], list)
    assert wrong(clamped(answered), "logit_bias").startswith("logit_bias [[")


def test_each_list_that_openai_documents_is_tried_in_pairs() -> None:
    for name in ("openai", "openai-chat", "vllm"):
        effects = {row.name: row.effect for row in DIALECTS[name].parameters}
        assert (effects["stop"], effects["logit_bias"]) == ("stops", "forces")
