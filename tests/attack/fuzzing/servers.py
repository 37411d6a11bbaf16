"""Answers and streams of servers, as the bytes of a connection."""

from collections.abc import Callable
from pathlib import Path
from unittest import mock

from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import JSON
from tests.support.fake_server import Connection
from tests.support.raw_server import http_bytes

_PLACE = (
    '{"id":5,"token":" w5","bytes":[32,119],"logprob":-0.5,'
    '"top_logprobs":[{"id":5,"token":" w5","logprob":-0.5},{"id":7,"token":" w7","logprob":-2}]}'
)
_LLAMA = (
    f'{{"content":" w5 w7","tokens":[5,7],"stop":true,"stop_type":"limit",'
    f'"completion_probabilities":[{_PLACE},{_PLACE}]}}'
)
_OPENAI = (
    '{"choices":[{"text":" w5","token_ids":[5],"finish_reason":"length","logprobs":'
    '{"tokens":["token_id:5"],"token_logprobs":[-0.5],"top_logprobs":[{"token_id:5":-0.5}]}}]}'
)
_CHAT = (
    f'{{"choices":[{{"message":{{"content":" w5"}},"finish_reason":"stop",'
    f'"logprobs":{{"content":[{_PLACE}]}}}}]}}'
)
_SENT = {"n_predict": 8, "max_tokens": 8, "n_probs": 2}


def _read(dialect: str, streams: bool = False) -> Callable[[Path], None]:
    """Return a reader of the bytes, as those of an answer to a request."""

    def read(path: Path) -> None:
        sent = Connection(reply=http_bytes(path.read_bytes()))
        client = Client(Address("http", "127.0.0.1", 9), DIALECTS[dialect])
        with mock.patch.object(http, "connected", return_value=sent):
            answer = (client.streamed if streams else client.complete)("a", _SENT)
        _ = answer.got, answer.plain, answer.same(answer)

    return read


def _of(*samples: str) -> Callable[[Path], list[bytes]]:
    return lambda _folder: [sample.encode() for sample in samples]


def _stream(*answers: str) -> str:
    return "".join(f"data: {one}\n\n" for one in answers) + "data: [DONE]\n\n"


_REFUSED = (http.ServerFailure,)
INPUTS = [
    Fuzzed(f"answer, {name}", "a.json", _of(*samples), _read(dialect, streams), JSON, 60, _REFUSED)
    for name, dialect, streams, samples in [
        ("llama-server", "llama-server", False, [_LLAMA]),
        ("openai", "openai", False, [_OPENAI, _CHAT]),
        ("ollama", "ollama", False, ['{"response":" w5","done_reason":"stop"}']),
        ("stream", "llama-server", True, [_stream(_LLAMA, _LLAMA)]),
    ]
]
