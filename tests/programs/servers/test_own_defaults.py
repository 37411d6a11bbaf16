"""A real llama-server with other defaults, by its model's metadata and by flags, is not accused."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.defaults import check_defaults, defaults_of, fit
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.launch import real_servers
from sampler_parity.programs.servers.model_metadata import metadata_of
from sampler_parity.programs.servers.run import EVERYWHERE
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.own_defaults import as_flags, random_flags, random_metadata, write_model
from tests.support.real_server import started_here

SERVER = real_servers()["llama-server"]
PATHS = ("llama-server", "llama-server-completions", "llama-server-chat", "openai", "openai-chat")


def results(
    address: Address, name: str, flags: str = "", model: Path | None = None
) -> Iterator[ServerResult]:
    """Check a server as `server check` does. Values of one parameter are compared with the
    reference by other tests, and left out."""
    dialect = DIALECTS[name]
    rows = tuple(replace(row, exact=[], span=[]) for row in dialect.parameters)
    metadata = metadata_of(model) if model else None
    defaults = defaults_of(address, replace(dialect, parameters=rows), 60, flags, metadata)
    fitted = fit(replace(dialect, parameters=rows), defaults)
    client = Client(address, fitted, eos=defaults.eos)
    yield from check_defaults(client, defaults)
    for group in EVERYWHERE:
        yield from group(client)


def accusations(address: Address, path: str, *sources: object) -> list[tuple[str, str, str]]:
    done = results(address, path, *sources)  # type: ignore[arg-type]
    wrong = [r for r in done if not r.met and r.verdict != "skipped"]
    return [(r.id, r.verdict, r.evidence) for r in wrong]


@contextmanager
def with_metadata(folder: Path, seed: int) -> Iterator[tuple[Address, Path]]:
    model = folder / "model.gguf"
    write_model(model_path(GOLDEN), model, random_metadata(seed))
    with started_here(SERVER, model) as address:
        yield address, model


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(50))
def test_a_server_with_metadata_of_its_model_passes(tmp_path: Path, seed: int) -> None:
    with with_metadata(tmp_path, seed) as (address, model):
        assert accusations(address, PATHS[seed % len(PATHS)]) == []
        assert accusations(address, PATHS[(seed + 1) % len(PATHS)], "", model) == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_a_server_with_flags_passes(seed: int) -> None:
    fields = random_flags(seed)
    more = [f"{name}={value}" for name, value in fields.items()]
    with started_here(SERVER, None, more) as address:
        assert accusations(address, PATHS[seed % len(PATHS)]) == []
        assert accusations(address, PATHS[(seed + 1) % len(PATHS)], as_flags(fields)) == []
