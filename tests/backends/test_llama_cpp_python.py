"""backend "llama_cpp_python": which arguments a chain becomes, and what Llama makes of them."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends.llama_cpp_python import Worker, arguments_of
from sampler_parity.harness.errors import Unsupported

OFF = {"temperature": 1.0, "top_k": 0, "typical_p": 1.0, "top_p": 1.0, "min_p": 0.0, "seed": 0}
DIST: dict[str, dict[str, Any]] = {"dist": {"seed": 7}}


def test_what_a_chain_does_not_name_is_off() -> None:
    chain = [{"top_p": {"p": 0.5, "min_keep": 1}}, {"temp": {"temp": 2.0}}, DIST]
    assert arguments_of(chain) == OFF | {"top_p": 0.5, "temperature": 2.0, "seed": 7}
    assert arguments_of([{"greedy": {}}]) == OFF | {"temperature": 0.0}


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        ([{"temp": {"temp": 2.0}}, {"top_k": {"k": 3}}, DIST], "no chain of temp, top_k, dist"),
        ([{"top_k": {"k": 3}}], "no chain of top_k"),
        ([{"top_p": {"p": 0.5, "min_keep": 2}}, DIST], "Llama has no min_keep"),
    ],
)
def test_a_chain_that_llama_does_not_make_is_unsupported(chain: Any, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        arguments_of(chain)


def test_a_negative_temperature_passes_over_the_filters() -> None:
    pytest.importorskip("llama_cpp")
    worker = Worker()
    arguments = {"seed": 1, "temperature": -1.0, "top_k": 1}
    instance = worker.build([{"llama_cpp_python": arguments}], 4, None)
    row = worker.candidates(np.zeros(4, np.float32))
    drawn = set()
    for _ in range(40):
        instance.apply(None, row)
        drawn.add(row.selected)
    assert drawn == {0, 1, 2, 3}
