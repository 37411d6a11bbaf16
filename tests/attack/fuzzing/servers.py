"""Answers and streams of servers, as the bytes of a connection."""

from collections.abc import Callable
from pathlib import Path
from unittest import mock

from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from tests.attack.fuzzing.files import sampled
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import JSON
from tests.support.fake_server import Connection
from tests.support.raw_server import http_bytes

_SENT = {"n_predict": 8, "max_tokens": 8, "n_probs": 2}


def _read(dialect: str, streams: bool) -> Callable[[Path], None]:
    """Return a reader of the bytes, as those of an answer to a request."""

    def read(path: Path) -> None:
        sent = Connection(reply=http_bytes(path.read_bytes()))
        client = Client(Address("http", "127.0.0.1", 9), DIALECTS[dialect])
        with mock.patch.object(http, "connected", return_value=sent):
            answer = (client.streamed if streams else client.complete)("a", _SENT)
        _ = answer.got, answer.plain, answer.same(answer)

    return read


_REFUSED = (http.ServerFailure,)
INPUTS = [
    Fuzzed(
        f"answer, {name}",
        "a.json",
        sampled(f"answers/{samples}"),
        _read(dialect, name == "stream"),
        JSON,
        60,
        _REFUSED,
    )
    for name, dialect, samples in [
        ("llama-server", "llama-server", "llama-server.json"),
        ("openai", "openai", "openai*.json"),
        ("ollama", "ollama", "ollama.json"),
        ("stream", "llama-server", "stream.txt"),
    ]
]
