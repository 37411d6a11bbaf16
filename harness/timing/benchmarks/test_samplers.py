"""Every chain of the quick timing suites on each backend that pytest can hold in its process."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.backends.engines import worker_module
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.protocol.interface import Instance, Worker
from sampler_parity.harness.suite.file import suite_id, suites_folder
from sampler_parity.harness.suite.timings import read_timings

BACKENDS = ("llama.cpp", "reference", "null")
_ROUNDS = 5
CHAINS = [
    pytest.param(chain, id=f"{suite_id(path).split('/')[-1]}-{chain.id}")
    for path in sorted((suites_folder() / "timing").glob("*.toml"))
    for chain in read_timings(path, quick=True)
]


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Worker:
    worker: Worker = import_module(worker_module(request.param)).Worker()
    return worker


def instance_of(backend: Worker, timed: TimedChain) -> Instance:
    """The chain after its history, as `time` of the protocol builds it."""
    path: Path | None = vocab_path(timed.vocab) if timed.vocab else None
    n = timed.logits.n
    chain = complete(timed.chain, n)
    instance = backend.build(chain, n, str(path) if path else None)
    for token in timed.history:
        instance.accept(token)
    return instance


@pytest.mark.parametrize("timed", CHAINS)
def test_sampler(timed: TimedChain, backend: Worker, benchmark: Any) -> None:
    """One application; making the candidates is pytest-benchmark's set-up, outside its clock."""
    try:
        instance = instance_of(backend, timed)
    except Unsupported as error:
        pytest.skip(str(error))
    row = timed.row()
    benchmark.group = timed.id
    benchmark.pedantic(
        instance.apply,
        setup=lambda: ((None, backend.candidates(row)), {}),
        rounds=_ROUNDS,
        warmup_rounds=1,
    )
