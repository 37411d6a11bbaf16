"""The native backend, started once for all tests that compare with it."""

import sys
from collections.abc import Iterator

import pytest

from harness.backends.libllama import Libllama, default_folder
from harness.process import BackendProcess


@pytest.fixture(scope="session")
def native() -> Iterator[BackendProcess]:
    """llama.cpp's samplers in a process of their own."""
    process = BackendProcess("llama.cpp", [sys.executable, "-m", "harness.worker", "llama.cpp"])
    yield process
    process.close()


@pytest.fixture(scope="session")
def libllama() -> Libllama:
    """libllama in this process, for its tokenizer."""
    return Libllama(default_folder())
