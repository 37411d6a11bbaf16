"""harness/backends/installing.py: what pip is asked for first."""

import re

import pytest

from sampler_parity.harness.backends import installing
from sampler_parity.harness.backends.environments import known


@pytest.mark.parametrize("name", ["rwkv", "vllm"])
def test_of_torch_the_build_without_a_gpu_is_asked_for_first_by_its_digest(name: str) -> None:
    pins = installing._without_gpu(known(name))
    locked = known(name).locked.read_text(encoding="utf-8")
    assert pins.startswith("torch==2.13.0+cpu \\\n    --hash=sha256:")
    assert set(re.findall(r"sha256:\w+", pins)) <= set(re.findall(r"sha256:\w+", locked))


def test_an_environment_without_torch_has_nothing_to_ask_for_first() -> None:
    assert installing._without_gpu(known("mlx_lm")) == ""
