"""A WebGPU device for tests: wgpu from here or from the environment `webgpu`, on any driver."""

import sys
from collections.abc import Callable
from typing import TypeVar

import pytest

from sampler_parity.harness.backends import environments
from sampler_parity.harness.errors import Unsupported

T = TypeVar("T")


def found(make: Callable[[], T]) -> T:
    """Return what `make` makes on a device, or skip the test with the reason."""
    if not environments.missing("webgpu"):
        behind = map(str, environments.packages_of("webgpu"))  # what we have comes first
        sys.path += [path for path in behind if path not in sys.path]
    try:
        return make()
    except Unsupported as why:
        pytest.skip(str(why))
