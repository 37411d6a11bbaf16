"""A real server on the golden model, if its environment is installed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from sampler_parity.harness.engines.engine_file import Server
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.launch import missing, started


@contextmanager
def started_here(
    server: Server, model: Path | None = None, more: Sequence[str] = ()
) -> Iterator[Address]:
    """Start a server, or skip the test if it cannot be started here. model: by default the golden
    one. more: further arguments of its program."""
    if why := missing(server):
        pytest.skip(f"unavailable: {why}")
    with started(server, model or model_path(GOLDEN), more) as address:
        yield address
