"""A small llama-server in this process: a table of logits as model, the reference's sampler, and
HTTP.

The answering function between it and a check may be faulty (tests/support/server_faults.py).
"""

import json
import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from sampler_parity.harness.servers.address import Address
from sampler_parity.harness.servers.dialects import DIALECTS
from sampler_parity.harness.servers.oracle.samplers import params_of
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

_NUMBERS = {row.name for row in DIALECTS["llama-server"].parameters if row.wrong == "a word"}
_LISTS = {"stop", "samplers", "dry_sequence_breakers", "logit_bias"}
_OURS = {row.name for row in DIALECTS["llama-server"].parameters}


def answered(sent: Sent) -> Answered:
    """Return llama-server's answer, without `stream`."""
    if isinstance(biases := sent.get("logit_bias"), dict):
        sent = {**sent, "logit_bias": [[int(token), bias] for token, bias in biases.items()]}
    if problem := _problem(sent):
        return 400, {"error": {"code": 400, "message": problem}}
    known = {k: v for k, v in sent.items() if k in _OURS and k != "json_schema"}
    given = sent["prompt"]
    prompt = given if isinstance(given, list) else _tokens(str(given))
    length = known.pop("n_predict", 16)
    known.setdefault("n_predict", length)
    if "grammar" in known or "json_schema" in sent:
        schema, texts = sent.get("json_schema"), re.findall(r'"(.*)"', known.get("grammar", ""))
        text = schema["const"] if isinstance(schema, dict) else (*texts, "abacus")[0]
        return 200, _reply(text, [], [], "eos")
    return _sampled(known, prompt, length, int(sent.get("n_probs", 0)), sent)


def _tokens(prompt: str) -> list[int]:
    """Return the tokens of a text that the server wrote; other text has one token for each
    character.
    """
    pieces = re.findall(r" w(\d+)|(.)", prompt, re.DOTALL)
    return [int(token) if token else 1 + ord(c) % (N - 2) for token, c in pieces]


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
    text, places, ended = "", [], "limit"
    while len(tokens) < length:
        row = TABLE[tokens[-1] if tokens else prompt[-1]]
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
        cuts = [at for word in known.get("stop", ()) if (at := text.find(word)) >= 0]
        if cuts:
            text, ended = text[: min(cuts)], "word"
            break
    return 200, _reply(text, tokens, places, ended)


def _place(
    row: np.ndarray[Any, Any], token: int, n: int, sampler: CommonSampler, post: bool
) -> dict[str, Any]:
    if post:
        left = sampler.get_candidates()
        pairs = sorted(zip(left.p.tolist(), left.ids.tolist(), strict=True), reverse=True)[:n]
        tops = [{"id": i, "token": f" w{i}", "prob": p} for p, i in pairs]
        own = float(left.p[left.ids == token][0])
        return {"id": token, "token": f" w{token}", "prob": own, "top_probs": tops}
    shifted = row.astype(np.float64) - math.log(np.exp(row.astype(np.float64)).sum())
    best = np.argsort(-shifted)[:n].tolist()
    tops = [{"id": i, "token": f" w{i}", "logprob": float(shifted[i])} for i in best]
    own = float(shifted[token])
    return {"id": token, "token": f" w{token}", "logprob": own, "top_logprobs": tops}


def _reply(text: str, tokens: list[int], places: list[Any], ended: str) -> dict[str, Any]:
    reply = {"content": text, "tokens": tokens, "stop": True, "stop_type": ended}
    return {**reply, "completion_probabilities": places} if places else reply


class _Handler(BaseHTTPRequestHandler):
    answering: Answering

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, data = self.answering(sent)
        streams = status == 200 and sent.get("stream")
        body = _streamed(data) if streams else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _streamed(data: Any) -> bytes:
    """Return a word an event, as llama-server does.

    Answers of a proxy keep their parts, or become one part if a fault has changed them.
    """
    parts = data.get("parts") or _words(data)
    if "".join(text for text, _ in parts) != data["content"]:
        parts = [(data["content"], data["tokens"])]
    events = [{"content": text, "tokens": tokens, "stop": False} for text, tokens in parts]
    rest = data["tokens"][sum(len(tokens) for _, tokens in parts) :]
    events.append({"content": "", "tokens": rest, "stop": True, "stop_type": data["stop_type"]})
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def _words(data: Any) -> list[tuple[str, list[int]]]:
    words = data["content"].replace(" w", "\0 w").split("\0")[1:] or [data["content"]]
    return [(word, data["tokens"][i : i + 1]) for i, word in enumerate(words)]


class _Server(ThreadingHTTPServer):
    request_queue_size = 64  # of socketserver's five, clients that come at once are reset
    daemon_threads = True


@contextmanager
def fake_server(answering: Answering = answered) -> Iterator[Address]:
    handler = type("Handler", (_Handler,), {"answering": staticmethod(answering)})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.001,))
    thread.start()
    try:
        yield Address("http", "127.0.0.1", server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
