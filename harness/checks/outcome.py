"""Turn a failure of a backend in a case into a verdict, and measure the time."""

import time
from collections.abc import Callable, Collection, Mapping

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.strict import like
from sampler_parity.reference import ChainError
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.releases import changes_of, samplers_of
from sampler_parity.reference.sampler import Sampler


def outcome(judge: Callable[[], BackendResult]) -> BackendResult:
    """Return the result with its wall time. Never raises for a failure of a backend."""
    start = time.perf_counter()
    try:
        result = judge()
    except BackendFailure as failure:
        result = BackendResult(verdict=failure.verdict, detail=failure.whole)
    return like(result, wall_s=time.perf_counter() - start)


def samplers_at(
    release: str | None, names: Collection[str]
) -> Mapping[str, Callable[..., Sampler]]:
    """Return the samplers as they are in a release of llama.cpp. Raises BackendFailure if the
    behaviour of one of these names is not known there."""
    if release in (None, NEWEST):
        return ALL_SAMPLERS
    try:
        return samplers_of(changes_of(str(release), names), ALL_SAMPLERS)
    except ChainError as error:
        raise BackendFailure("unsupported", f"not asked: {error}") from None
