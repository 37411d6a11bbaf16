"""Tests of the sandbox run where the system allows one; elsewhere they are skipped."""

import functools

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import shell


@functools.cache
def _reason() -> str:
    try:
        shell.refuse_missing_sandbox()
    except InputError as error:
        return str(error)
    return ""


def need_sandbox() -> None:
    if _reason():
        pytest.skip(_reason())
