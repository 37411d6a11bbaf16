"""Tests of the sandbox run where the system allows one, and say so where it does not."""

import functools

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import sandboxes


@functools.cache
def _reason() -> str:
    try:
        sandboxes.refuse_unavailable()
    except InputError as error:
        return str(error)
    return ""


def need_sandbox() -> None:
    """Skips the test where there is none."""
    if _reason():
        pytest.skip(_reason())
