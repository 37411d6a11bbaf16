"""xllamacpp: its worker where the package is not installed."""

from importlib.util import find_spec

import pytest

from sampler_parity.engines.xllamacpp.worker import Worker
from sampler_parity.harness.errors import Unsupported


@pytest.mark.skipif(find_spec("xllamacpp") is not None, reason="xllamacpp is installed here")
def test_a_worker_without_its_package_says_that_it_is_missing() -> None:
    with pytest.raises(Unsupported, match="xllamacpp is not installed"):
        Worker()
