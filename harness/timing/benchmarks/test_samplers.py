"""Every chain of the quick timing suites on each backend that pytest can hold in its process, or
on those of `--sampler-backend`, whose own clocks count."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.backends import registry
from sampler_parity.harness.backends.engines import worker_module
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.checks.timing.run import setting_of
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import BackendFailure, Instance, Worker
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import suite_id, suites_folder
from sampler_parity.harness.suite.timings import read_timings

BACKENDS = ("llama.cpp", "reference", "null")
_ROUNDS = 5
CHAINS = [
    pytest.param(chain, id=f"{suite_id(path).split('/')[-1]}-{chain.id}")
    for path in sorted((suites_folder() / "timing").glob("*.toml"))
    for chain in read_timings(path, quick=True)
]


_elapsed_s = [0.0]  # by the clocks of backends in processes of their own


def _named(config: pytest.Config) -> list[str]:
    names: list[str] = config.getoption("sampler_backend") or config.getini("sampler_backend")
    return names


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    clock = pytest.mark.benchmark(timer=lambda: _elapsed_s[0])
    named = [
        pytest.param(name, id=name.partition("=")[0], marks=clock)
        for name in _named(metafunc.config)
    ]
    metafunc.parametrize("backend", named or BACKENDS, indirect=True, scope="module")


@pytest.fixture(scope="module")
def backend(request: pytest.FixtureRequest) -> Iterator[Worker | BackendProcess]:
    if _named(request.config):
        process = registry.start(request.param, request.config.getoption("sampler_timeout"))
        yield process
        process.close()
    else:
        yield import_module(worker_module(request.param)).Worker()


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
def test_sampler(timed: TimedChain, backend: Worker | BackendProcess, benchmark: Any) -> None:
    """One application; making the candidates is pytest-benchmark's set-up, outside its clock."""
    row = timed.row()
    benchmark.group = timed.id
    target: Callable[..., Any]
    setup: Callable[[], Any] | None = None
    try:
        if isinstance(backend, BackendProcess):
            target = _request(timed, row, backend)
        else:
            target, candidates = instance_of(backend, timed).apply, backend.candidates
            setup = lambda: ((None, candidates(row)), {})  # noqa: E731
    except Unsupported as error:
        pytest.skip(str(error))
    benchmark.pedantic(target, setup=setup, rounds=_ROUNDS, warmup_rounds=1)


def _request(
    timed: TimedChain, row: NDArray[np.float32], backend: BackendProcess
) -> Callable[[], None]:
    """Return a function that lets the backend time one application. Raises Unsupported."""
    setting = setting_of(timed, backend.name)

    def request() -> None:
        _elapsed_s[0] += client.time(backend, setting, row, 1).ns[0] / 1e9

    try:
        request()
    except BackendFailure as failure:
        if failure.verdict == "unsupported":
            raise Unsupported(str(failure)) from None
        raise
    return request
