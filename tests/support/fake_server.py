"""A small llama-server in this process: a table of logits as model, the reference's sampler, and
HTTP.

The answering function between it and a check may be faulty (tests/support/server_faults.py).
"""

import io
import json
import math
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

import numpy as np

from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS, Dialect
from sampler_parity.programs.servers.oracle.samplers import params_of
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output
from sampler_parity.reference.vocab import TokenType, Vocab

N = 320
EOS = N - 1
VOCAB = Vocab(
    kind="bpe",
    texts=tuple(f"Ġw{i}" for i in range(N)),
    types=(TokenType.NORMAL,) * N,
    eog=frozenset({EOS}),
    eos=EOS,
)
TABLE = np.random.default_rng(5).normal(0, 2.5, (N, N)).astype(np.float32)
TABLE[:, EOS] = -20  # nothing ends by itself

Sent = dict[str, Any]
Answered = tuple[int, Any]
Answering = Callable[[Sent], Answered]

LLAMA = DIALECTS["llama-server"]
_NUMBERS = {row.name for row in LLAMA.parameters if row.wrong == "a word"}
_ORDER = ("top_k", "penalties", "dry", "top_n_sigma", "typ_p", "top_p", "min_p", "xtc")
NAMES = dict(zip("kedsypmxta", (*_ORDER, "temperature", "adaptive_p"), strict=True))
_LISTS = {"stop", "samplers", "dry_sequence_breakers", "logit_bias"}
_WHOLE = {row.name for row in LLAMA.parameters if type(row.default) is int}
ANYTHING = LLAMA.together["grammar"]
_DEFAULTS = {row.name: row.default for row in LLAMA.parameters if row.default is not None}
_OURS = {row.name for row in LLAMA.parameters}


def answered(sent: Sent) -> Answered:
    """Return llama-server's answer, without `stream`."""
    sent = _in_one_form(sent)
    if "content" in sent:  # /tokenize
        return 200, {"tokens": tokens_of(sent["content"])}
    if sent.get("n_cmpl", 1) > 1:
        seeds = [
            {"seed": sent["seed"] + i} if "seed" in sent else {} for i in range(sent["n_cmpl"])
        ]
        return _several([sent | {"n_cmpl": 1} | seed for seed in seeds])
    if isinstance(sent.get("prompt"), list) and isinstance(sent["prompt"][0], str):
        return _several([sent | {"prompt": one} for one in sent["prompt"]])
    if problem := _problem(sent):
        return 400, {"error": {"code": 400, "message": problem}}
    known = {k: v for k, v in sent.items() if k in _OURS and k != "json_schema"}
    given = sent["prompt"]
    parts = given if isinstance(given, list) else [given]
    several = [[one] if isinstance(one, int) else tokens_of(str(one)) for one in parts]
    prompt = [token for tokens in several for token in tokens] or [EOS]
    length = known.pop("n_predict", 16)
    known["n_predict"] = sent.get("n_predict", -1)
    if known.pop("grammar", "") == ANYTHING:
        pass
    elif sent.get("grammar") or "json_schema" in sent:
        schema, texts = sent.get("json_schema"), re.findall(r'"(.*?)"', sent.get("grammar", ""))
        text = re.sub(r"\\x(..)", lambda c: chr(int(c[1], 16)), (*texts, "abacus")[0])
        if isinstance(schema, dict):
            text = json.dumps(instance(schema, schema, sent.get("seed") or 0), ensure_ascii=False)
        return 200, _determined(text, sent, length)
    return _sampled(known, prompt, length, int(sent.get("n_probs", 0)), sent)


def _several(requests: list[Sent]) -> Answered:
    replies = [answered(one) for one in requests]
    refused = [reply for reply in replies if reply[0] != 200]
    return (
        refused[0]
        if refused
        else (200, [{**one, "index": i} for i, (_, one) in enumerate(replies)])
    )


def _determined(text: str, sent: Sent, length: int) -> Any:
    """Return the answer that a grammar allows: each byte is a token."""
    tokens = [*text.encode()]
    cut = bytes(tokens[:length]).decode(errors="replace")
    ended = "eos" if length > len(tokens) else "limit"
    reply = {"content": cut, "tokens": tokens[:length], "stop": True, "stop_type": ended}
    found = [(cut.find(word), word) for word in sent.get("stop", ()) if word in cut]
    for at, word in sorted(found)[:1]:
        reply |= {"content": cut[:at], "stop_type": "word", "stopping_word": word}
    return reply


def instance(schema: Any, root: Any, seed: int = 0) -> Any:
    """Return a value that a JSON schema allows. One without limits is outside those of any."""
    if "$ref" in schema:
        return instance(root["$defs"][schema["$ref"].rpartition("/")[2]], root, seed)
    if "anyOf" in schema:
        return instance(schema["anyOf"][seed % len(schema["anyOf"])], root, seed)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][seed % len(schema["enum"])]
    if schema.get("type") == "object":
        return {
            name: instance(schema["properties"][name], root, seed)
            for name in schema.get("required", ())
        }
    if schema.get("type") == "array":
        n = max(schema.get("minItems", 0), min(2, schema.get("maxItems", 2)))
        return [instance(schema["items"], root, seed)] * n
    if schema.get("type") == "integer":
        least = schema.get("minimum", schema.get("exclusiveMinimum", -1001) + 1)
        most = schema.get("maximum", schema.get("exclusiveMaximum", 1001) - 1)
        return least + seed % 2 if most < 1000 else most + seed % 2
    if "pattern" in schema or "format" in schema:
        return ("xyxz", "yxyz")[seed % 2] if "pattern" in schema else f"2026-11-{26 + seed % 2}"
    n = max(schema.get("minLength", 0), min(3, schema.get("maxLength", 3)))
    return "qz"[seed % 2] * n


def _in_one_form(sent: Sent) -> Sent:
    """Return a request with null left out, one name of each field, whole numbers as such, and
    biases of tokens."""
    names = {alias: name for name, aliases in LLAMA.aliases.items() for alias in aliases}
    sent = {names.get(k, k): v for k, v in sent.items() if v is not None}
    for name in _WHOLE & sent.keys():
        if isinstance(sent[name], float):
            sent[name] = int(sent[name])
    if isinstance(samplers := sent.get("samplers"), str):
        sent["samplers"] = [NAMES[letter] for letter in samplers]
    biases = sent.get("logit_bias")
    if isinstance(biases, dict):
        biases = [[int(token), bias] for token, bias in biases.items()]
    if isinstance(biases, list):
        named = [([t] if isinstance(t, int) else tokens_of(t), bias) for t, bias in biases]
        sent["logit_bias"] = [[token, bias] for tokens, bias in named for token in tokens]
    return sent


def tokens_of(prompt: str) -> list[int]:
    """Return the tokens of a text that the server wrote; other text has one token for each
    character.
    """
    pieces = re.findall(r" w(\d+)|(.)", prompt, re.DOTALL)
    return [int(token) if token else 1 + ord(c) % (N - 2) for token, c in pieces]


def _after(prompt: list[int]) -> np.ndarray[Any, Any]:
    """Return the logits after a prompt. The last token decides. If there are more than four, they
    move the logits a little, so that each prompt has its own."""
    if len(prompt) <= 4:
        return np.asarray(TABLE[prompt[-1]])
    moved = np.random.default_rng(zlib.crc32(bytes(str(prompt), "ascii"))).normal(0, 0.05, N)
    return np.asarray(TABLE[prompt[-1]] + moved, np.float32)


def _problem(sent: Sent) -> str:
    for name in _NUMBERS & sent.keys():
        if isinstance(sent[name], str):
            return f"Field '{name}': type must be number, but is string"
    for name in _LISTS & sent.keys():
        if not isinstance(sent[name], list):
            return f"Field '{name}': type must be array"
    for name in ("repeat_penalty", "repeat_last_n", "dry_penalty_last_n", "mirostat", "n_predict"):
        if name in sent and not (-1 <= sent[name] < (3 if name == "mirostat" else 10**6)):
            return f"Field '{name}': out of range"
    if not all(isinstance(stop, str) for stop in sent.get("stop", ())):
        return "Field 'stop': type must be string"
    if any(not 0 <= token < N for token, _ in sent.get("logit_bias", ())):
        return "Field 'logit_bias': no such token"
    grammar = sent.get("grammar", "")
    if not isinstance(grammar, str) or grammar.endswith("("):
        return "failed to parse grammar"
    return ""


def _sampled(known: Sent, prompt: list[int], length: int, n_probs: int, sent: Sent) -> Answered:
    try:
        params = params_of({k: v for k, v in known.items() if k != "n_predict"}, VOCAB)
        sampler = CommonSampler(params, N, VOCAB)
    except ChainError as error:
        return 400, {"error": str(error)}
    for token in prompt:
        sampler.accept(token, is_generated=False)
    tokens: list[int] = []
    text, places, ended, word = "", [], "limit", ""
    while len(tokens) < length:
        row = TABLE[tokens[-1]] if tokens else _after(prompt)
        token = sampler.sample(Output(row.copy()))
        sampler.accept(token, is_generated=True)
        tokens.append(token)
        if token == EOS:
            ended = "eos"
            break
        text += f" w{token}"
        if n_probs:
            places.append(
                _place(row, token, n_probs, sampler, bool(sent.get("post_sampling_probs")))
            )
        cuts = [(at, stop) for stop in known.get("stop", ()) if (at := text.find(stop)) >= 0]
        if cuts:
            (at, word), ended = min(cuts), "word"
            text = text[:at]
            break
    reply = {"content": text, "tokens": tokens, "stop": True, "stop_type": ended}
    reply |= {"tokens_predicted": len(tokens), "timings": {"predicted_n": len(tokens)}}
    reported = _DEFAULTS | known | {name: sent[name] for name in ("grammar",) if name in sent}
    reply |= {"stopping_word": word, "generation_settings": reported, "prompt": sent["prompt"]}
    reply |= {"tokens_evaluated": len(prompt), "tokens_cached": len(prompt) + len(tokens) - 1}
    reply |= {"has_new_line": "\n" in text, "truncated": False}
    return 200, reply | ({"completion_probabilities": places} if places else {})


def _place(
    row: np.ndarray[Any, Any], token: int, n: int, sampler: CommonSampler, post: bool
) -> dict[str, Any]:
    if post:
        left = sampler.get_candidates()
        pairs = sorted(zip(left.p.tolist(), left.ids.tolist(), strict=True), reverse=True)[:n]
        tops = [_named(i, prob=p) for p, i in pairs]
        own = float(left.p[left.ids == token][0])
        return {**_named(token, prob=own), "top_probs": tops}
    shifted = row.astype(np.float64) - math.log(np.exp(row.astype(np.float64)).sum())
    best = np.argsort(-shifted)[:n].tolist()
    tops = [_named(i, logprob=float(shifted[i])) for i in best]
    return {**_named(token, logprob=float(shifted[token])), "top_logprobs": tops}


def _named(token: int, **value: float) -> dict[str, Any]:
    text = f" w{token}"
    return {"id": token, "token": text, "bytes": [*text.encode()], **value}


class _Handler(BaseHTTPRequestHandler):
    answering: Answering

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, body = _body(self.answering, sent)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _body(answering: Answering, sent: Sent) -> tuple[int, bytes]:
    status, data = answering(sent)
    streams = status == 200 and sent.get("stream")
    return status, _streamed(data) if streams else json.dumps(data).encode()


def _streamed(data: Any) -> bytes:
    """Return a word an event, as llama-server does.

    Answers of a proxy keep their parts, or become one part if a fault has changed them.
    """
    if "choices" in data:
        return b"data: " + json.dumps(data).encode() + b"\n\ndata: [DONE]\n\n"
    if isinstance(data, list):
        return b"data: null\n\n" + b"".join(_streamed(one) for one in data)
    parts = data.get("parts") or _words(data)
    places = data.get("completion_probabilities", [])
    if "".join(text for text, _ in parts) != data["content"]:
        parts = [(data["content"], data["tokens"])]
    events, sent = [], 0
    for text, tokens in parts:
        event = {"content": text, "tokens": tokens, "stop": False, "index": data.get("index", 0)}
        events.append(event | _listed(places[sent : sent + len(tokens)]))
        sent += len(tokens)
    last = {k: v for k, v in data.items() if k not in ("parts", "completion_probabilities")}
    events.append({**last, "content": "", "tokens": data["tokens"][sent:]} | _listed(places[sent:]))
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def _listed(places: list[Any]) -> dict[str, Any]:
    return {"completion_probabilities": places} if places else {}


def _words(data: Any) -> list[tuple[str, list[int]]]:
    words = data["content"].replace(" w", "\0 w").split("\0")[1:] or [data["content"]]
    return [(word, data["tokens"][i : i + 1]) for i, word in enumerate(words)]


class FakeServer(ThreadingHTTPServer):
    request_queue_size = 128  # of socketserver's five, clients that come at once are reset
    daemon_threads = True


@contextmanager
def fake_server(answering: Answering = answered) -> Iterator[Address]:
    handler = type("Handler", (_Handler,), {"answering": staticmethod(answering)})
    with serving(FakeServer(("127.0.0.1", 0), handler)) as address:
        yield address


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[Address]:
    """Serve in a thread, and give the address."""
    thread = threading.Thread(target=server.serve_forever, args=(0.001,))
    thread.start()
    try:
        yield Address("http", "127.0.0.1", server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def fake_client(answering: Answering = answered, dialect: Dialect = LLAMA) -> Iterator[Client]:
    """Yield a client of this server, which knows its last token."""
    with fake_server(answering) as address:
        yield Client(address, dialect, eos=EOS)


class Connection:
    """What a client uses of a socket, for one request: HTTP without a connection or a thread.

    reply: the bytes that come. Without them the request is answered.
    """

    def __init__(self, answering: Answering = answered, reply: bytes | None = None) -> None:
        self.answering, self.sent = answering, b""
        self.reply = None if reply is None else io.BytesIO(reply)

    def settimeout(self, seconds: float) -> None: ...

    def sendall(self, content: bytes) -> None:
        self.sent += content

    def recv_into(self, buffer: memoryview) -> int:
        if self.reply is None:
            status, body = _body(self.answering, json.loads(self.sent.partition(b"\r\n\r\n")[2]))
            head = f"HTTP/1.0 {status} {HTTPStatus(status).phrase}\r\nContent-Length: {len(body)}"
            self.reply = io.BytesIO(f"{head}\r\n\r\n".encode() + body)
        return self.reply.readinto(buffer)

    def close(self) -> None: ...


@contextmanager
def fake_server_inside(answering: Answering) -> Iterator[Address]:
    """Answer in the threads of the client, which takes half the time: for checks of answers."""
    ours, connected = Address("http", "127.0.0.1", 1), vars(http)["connected"]

    def connected_inside(address: Address, until: float) -> Any:
        return Connection(answering) if address == ours else connected(address, until)

    with mock.patch.object(http, "connected", connected_inside):
        yield ours
