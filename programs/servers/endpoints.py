"""Check each parameter at the further paths of a server that take it, plain and in a stream."""

from collections.abc import Iterator
from dataclasses import replace

from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.defaults import ServerDefaults, fit
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.ladders import streamed
from sampler_parity.programs.servers.observation import Observation, result_of
from sampler_parity.programs.servers.parameters import check_parameter, prepare
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.server_record import ServerResult

FURTHER = {"llama-server": ("llama-server-completions", "llama-server-chat")}


def check_endpoints(client: Client, defaults: ServerDefaults) -> Iterator[ServerResult]:
    """Return a result for each parameter at each further path: its effect, also in a stream, its
    default, null, and what must be refused."""
    for name in FURTHER.get(client.dialect.name, ()):
        yield from _check_path(replace(client, dialect=fit(DIALECTS[name], defaults)))


def _check_path(client: Client) -> Iterator[ServerResult]:
    path, probe = client.dialect.path, Probe(client)
    try:
        prepare(probe)
    except ServerFailure as failure:
        yield result_of(client, "endpoint", path, Observation("error", failure.line))
        return
    for row in client.dialect.parameters:
        if not client.selects(row.name):
            continue
        result = check_parameter(probe, row, streamed, nonsense=False)
        name = f"{row.name} of {path}"
        changed = {"id": f"endpoint/{name}", "group": "endpoint", "name": name}
        yield result.model_copy(update=changed)
