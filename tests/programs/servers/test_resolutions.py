"""Servers that resolve defaults in a wrong order, behind a proxy, are caught and named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.defaults import (
    ServerDefaults,
    check_defaults,
    defaults_of,
    fit,
)
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.launch import real_servers
from sampler_parity.programs.servers.model_metadata import metadata_of
from sampler_parity.programs.servers.parameters import check_parameter, prepare
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.state import check_answers
from tests.support.defaults_proxy import FLAGS, METADATA, RESOLUTIONS, Resolution, resolving
from tests.support.own_defaults import as_flags, write_model
from tests.support.real_server import started_here


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.gguf"
    write_model(model_path(GOLDEN), path, METADATA)
    return path


@pytest.fixture(scope="module")
def upstream(model: Path) -> Iterator[Address]:
    more = [f"{name}={value}" for name, value in FLAGS.items()]
    with started_here(real_servers()["llama-server"], model, more) as address:
        yield address


def checked(
    upstream: Address, model: Path, resolution: Resolution, result: str
) -> list[ServerResult]:
    """Return the results that bear on one, of the server behind the proxy."""
    stated = (as_flags(FLAGS), metadata_of(model)) if resolution.flags_are_stated else ()
    path = "llama-server-chat" if "chat" in result else "llama-server"
    with resolving(upstream, resolution) as address:
        defaults = defaults_of(address, DIALECTS[path], 60, *stated)
        client = Client(address, fit(DIALECTS[path], defaults), eos=defaults.eos)
        return [*judged(client, defaults, result)]


def judged(client: Client, defaults: ServerDefaults, result: str) -> Iterator[ServerResult]:
    yield from check_defaults(client, defaults)
    name = result.partition("/")[2].partition(" ")[0]
    probe = Probe(client)
    prepare(probe)
    for row in client.dialect.parameters:
        if row.name == name or (name == "every" and row.name == "top_k"):
            yield check_parameter(probe, row)
    yield from check_answers(client)


@pytest.mark.nightly
@pytest.mark.parametrize("resolution", RESOLUTIONS, ids=lambda resolution: resolution.name)
def test_a_wrong_resolution_of_defaults_is_named_by_its_parameter(
    upstream: Address, model: Path, resolution: Resolution
) -> None:
    results = checked(upstream, model, resolution, resolution.result)
    names = {result.name for result in results if not result.met and result.verdict != "skipped"}
    assert resolution.result.partition("/")[2].partition(" of ")[0] in names


@pytest.mark.nightly
@pytest.mark.parametrize("result", sorted({resolution.result for resolution in RESOLUTIONS}))
@pytest.mark.parametrize("flags_are_stated", [True, False])
def test_the_right_resolution_of_defaults_passes(
    upstream: Address, model: Path, result: str, flags_are_stated: bool
) -> None:
    right = Resolution("is right", result, flags_are_stated=flags_are_stated)
    results = checked(upstream, model, right, result)
    wrong = [r for r in results if not r.met and r.verdict != "skipped"]
    assert [(r.id, r.verdict, r.evidence) for r in wrong] == []
