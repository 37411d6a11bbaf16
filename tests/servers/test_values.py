from contextlib import closing
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.servers.asking import Client
from sampler_parity.harness.servers.dialects import DIALECTS
from sampler_parity.harness.servers.facts import told
from sampler_parity.harness.servers.values import bound, facts_of, log_softmax
from tests.support.fake_server import EOS, Answering, answered, fake_server
from tests.support.server_faults import OF_VALUES
from tests.support.table_model import KNOWN, logits


def results(answering: Answering, only: str = "") -> list[ServerResult]:
    with fake_server(answering) as address, closing(logits()) as rows:
        client = Client(address, DIALECTS["llama-server"], eos=EOS)
        facts = facts_of(client, KNOWN, rows)
        return [*told("probabilities", {only: facts[only]} if only else facts, client)]


def test_the_values_of_a_faithful_server_are_the_model_s() -> None:
    done = results(answered)
    assert [(r.name, r.verdict, r.evidence) for r in done if not r.met] == []
    assert [r.name for r in done] == [
        "values",
        "values of a hot text",
        "values with samplers",
        "values after sampling",
    ]
    hot = done[1]
    assert hot.figures["outside"] > 0, "no token was chosen outside the list"
    assert max(r.figures["off"] for r in done) < 1e-6


@pytest.mark.parametrize("fault", OF_VALUES, ids=lambda fault: fault[0])
def test_values_that_are_not_the_model_s_are_called_by_their_meaning(fault: Any) -> None:
    _, fact, said, between = fault
    (named,) = results(between(answered), fact)
    assert named.verdict == "other meaning"
    assert said in named.evidence


def test_a_log_softmax_in_float32_stays_within_the_bound_that_is_stated() -> None:
    """The worst order for a sum: the largest first, each further one below its last bit."""
    row = np.full(4096, -17.0, np.float32)
    row[0] = 0.0
    total = np.float32(0)
    for value in np.exp(row):
        total += value
    single = float(np.log(np.exp(row[0]) / total))
    exact = float(log_softmax(row)[0])
    assert 1e-5 < abs(single - exact) <= bound(4096, exact) < 2.5e-4
