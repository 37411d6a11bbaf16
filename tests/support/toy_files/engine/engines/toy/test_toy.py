"""toy: what it has not."""

import pytest

from sampler_parity.engines.toy.worker import Stage
from sampler_parity.harness.errors import Unsupported


def test_toy_has_one_stage() -> None:
    with pytest.raises(Unsupported, match="toy has no top_k"):
        Stage("top_k", {"k": 2})
