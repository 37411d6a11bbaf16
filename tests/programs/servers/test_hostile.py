"""Answers of the right shape with wrong values, and servers that hang: each is a verdict."""

import json
import math
import random
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of
from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import SILENT, Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.fingerprint.fingerprint import STATEMENTS, fingerprint
from sampler_parity.programs.servers.fingerprint.self_report import self_report
from sampler_parity.programs.servers.http import Reply, ServerFailure, StreamEvent
from sampler_parity.programs.servers.run import EVERYWHERE
from tests.support.raw_server import hangs, http_bytes, raw_server

NOWHERE = Address("http", "127.0.0.1", 9)
WRONG: tuple[Any, ...] = (
    *("", "\x1b[2J", "\u202e", "::error::", "a\nb", " " * 5000, None, True, [], {}, [[]]),
    *(0, -1, 5, 2**63, 1.5, 1e308, -1e-320, math.inf, -math.inf, math.nan),
)
Value = Callable[[Any], Any]


def values(rng: random.Random) -> Value:
    """The right value, and now and then another."""
    often = rng.choice([0.0, 0.03, 0.3])
    return lambda right: rng.choice(WRONG) if rng.random() < often else right


def completion(rng: random.Random, shape: str) -> Any:
    """Return a completion in a dialect's shape, sometimes with texts that differ."""
    value = values(rng)
    text = " ".join(rng.choice(["one", "two", "three"]) for _ in range(rng.choice([2, 6])))

    def token() -> dict[str, Any]:
        entry = {"token": value(text[:3]), "logprob": value(-rng.random() * 5)}
        return entry | ({"id": value(rng.randrange(300))} if shape == "llama-server" else {})

    places = [
        token() | {"top_logprobs": value([token() for _ in range(rng.choice([0, 1, 5, 6]))])}
        if rng.random() < 0.9
        else value({})
        for _ in range(3)
    ]
    if shape == "llama-server":
        return {
            "content": value(text),
            "tokens": value([value(i) for i in range(5)]),
            "completion_probabilities": value(places),
            "stop_type": value("limit"),
        }
    if shape == "ollama":
        return {"response": value(text), "done_reason": value("stop")}
    plain = {
        "tokens": value([value("a")] * 3),
        "token_logprobs": value([value(-1.0)] * 3),
        "top_logprobs": value([value({"a": value(-1.0), "b": value(-2.0)})] * 3),
    }
    logprobs = rng.choice([None, plain, {"content": value(places)}])
    choice = rng.choice([{"text": value(text)}, {"message": value({"content": value(text)})}])
    return {"choices": value([choice | {"logprobs": logprobs, "finish_reason": value("stop")}])}


def hostile(monkeypatch: pytest.MonkeyPatch, seed: int, name: str) -> Client:
    rng, dialect = random.Random(seed), DIALECTS[name]

    def answer(*_: Any) -> Reply:
        if rng.random() < 0.02:
            raise ServerFailure("crashed", "no more")
        if rng.random() < 0.02:
            return Reply(400, rng.choice(WRONG))
        data = completion(rng, dialect.text) if rng.random() < 0.97 else rng.choice(WRONG)
        return Reply(200, data)

    def events(*_: Any, **__: Any) -> list[StreamEvent]:
        return [
            StreamEvent(completion(rng, dialect.text), float(i)) for i in range(rng.randrange(4))
        ]

    monkeypatch.setattr(http, "ask", answer)
    monkeypatch.setattr(http, "stream", events)
    return Client(NOWHERE, dialect, eos=3)


SEEDS = [range(6), pytest.param(range(6, 100), marks=pytest.mark.nightly)]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
@pytest.mark.parametrize("name", DIALECTS)
def test_whatever_values_come_each_is_a_verdict_of_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, seeds: range
) -> None:
    for seed in seeds:
        client = hostile(monkeypatch, seed, name)
        results = [result for group in EVERYWHERE for result in group(client)]
        assert all("\n" not in result.evidence for result in results)
        done = fingerprint(client, "", lambda _: None, seconds=100)
        assert len(done.statements) == len(STATEMENTS)
        done.model_dump_json()


@pytest.mark.slow
def test_a_server_that_hangs_is_asked_three_times_and_then_no_more() -> None:
    with raw_server(hangs) as raw:
        client = Client(raw.address, DIALECTS["llama-server"], seconds=0.05)
        results = [result for group in EVERYWHERE for result in group(client)]
    assert client.traffic.requests == SILENT
    assert {result.verdict for result in results} == {"error"}
    assert results[0].evidence == "/completion: no complete answer in 0.05 s"
    assert results[-1].evidence == "not asked: 3 requests in a row had no answer in time"


@pytest.mark.slow
def test_a_server_that_hangs_has_its_fingerprint_within_the_time() -> None:
    begun = time.monotonic()
    with raw_server(hangs) as raw:
        client = Client(raw.address, DIALECTS["vllm"], seconds=60)
        itself = self_report(raw.address, 0.2)
        done = fingerprint(client, itself.text, lambda _: None, seconds=0.2)
    assert time.monotonic() - begun < 30
    assert done.resembles == []
    assert {statement.says for statement in done.statements} == {"undetermined"}


def test_requests_at_once_without_an_answer_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    client = hostile(monkeypatch, 1, "openai")
    waiting = Barrier(8)

    def late(*_: Any) -> Reply:
        waiting.wait(5)
        raise ServerFailure("timeout", "late")

    monkeypatch.setattr(http, "ask", late)
    with ThreadPoolExecutor(8) as pool:
        failed = [pool.submit(client.complete, "a", {}) for _ in range(8)]
    assert {str(one.exception()) for one in failed} == {str(ServerFailure("timeout", "late"))}
    assert client.traffic.silent == 1


SENT = {"n_predict": 8, "n_probs": 5}
BODY = Client(NOWHERE, DIALECTS["llama-server"]).body("a", SENT)
# The most that a client with SENT takes: 128 KiB, eight tokens and 40 probabilities of 1 KiB, four
# times the request.
MOST = ((128 + 8 + 40) << 10) + 4 * len(json.dumps(BODY))
MOST_OF_STREAM = MOST + 4 * len(', "stream": true')


def padded(size: int) -> bytes:
    """Return a well-formed answer of this size."""
    empty = json.dumps({"content": "", "tokens": []}).encode()
    return empty.replace(b'""', b'"' + b"a" * (size - len(empty)) + b'"')


MANY = MOST // limits.BYTES_OF_VALUE
MANY_OF_STREAM = MOST_OF_STREAM // limits.BYTES_OF_VALUE
EVENTS = MOST_OF_STREAM // limits.BYTES_OF_EVENT


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (padded(MOST), ""),
        (padded(MOST + 1), f"the answer has more than {MOST:,} bytes"),
        (b'{"content": "a", "x": [' + b"1," * (MANY - 5) + b"1]}", ""),
        (b'{"content": "a", "x": [' + b"1," * (MANY + 1) + b"1]}", f"more than {MANY:,} values"),
        (b'{"content": "a", "x": [' + b"[]," * MANY + b"1]}", f"more than {MANY:,} values"),
    ],
    ids=["largest", "larger", "most values", "more values", "lists"],
)
def test_an_answer_larger_than_its_request_can_need_is_never_parsed(
    monkeypatch: pytest.MonkeyPatch, body: bytes, line: str
) -> None:
    parsed = []

    def counted(content: bytes, largest: int) -> Any:
        parsed.append(1)
        return json_of(content, largest)

    monkeypatch.setattr(http, "json_of", counted)
    with raw_server(http_bytes(body)) as raw:
        client = Client(raw.address, DIALECTS["llama-server"])
        if not line:
            client.complete("a", SENT)
        else:
            with pytest.raises(ServerFailure, match=line) as failure:
                client.complete("a", SENT)
            assert failure.value.verdict == "rejected"
    assert len(parsed) == (not line)


STREAM = b'data: {"content": "a", "x": ['


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b'data: {"content": ""}\n' * (EVENTS - 9), ""),
        (b'data: {"content": ""}\n' * (EVENTS + 9), f"more than {EVENTS:,} events"),
        ((STREAM + b"1," * 999 + b"1]}\n") * (MANY // 999 + 1), f"{MANY_OF_STREAM:,} values"),
        (STREAM + b" " * MOST_OF_STREAM + b"1]}\n", "bytes"),
    ],
    ids=["most events", "more events", "values of all events", "a long line"],
)
def test_a_stream_has_the_same_limits_over_all_its_events(body: bytes, line: str) -> None:
    with raw_server(http_bytes(body)) as raw:
        client = Client(raw.address, DIALECTS["llama-server"])
        if not line:
            client.streamed("a", SENT)
        else:
            with pytest.raises(ServerFailure, match=line):
                client.streamed("a", SENT)


@pytest.mark.slow
def test_the_largest_answers_of_32_clients_take_less_memory_than_one_had() -> None:
    """An answer of 8 MiB in small tables took 200 MiB when it was parsed."""
    size = limits.ANSWER // limits.BYTES_OF_VALUE
    worst = b'{"content": "a", "x": [' + b'{"a":1},' * (size // 2) + b"1]}"
    with raw_server(http_bytes(worst)) as raw:
        client = Client(raw.address, DIALECTS["llama-server"])
        tracemalloc.start()
        with ThreadPoolExecutor(32) as pool:
            asked = [pool.submit(client.complete, "a", {"n_predict": 8}) for _ in range(32)]
            assert [one.result().text for one in asked] == ["a"] * 32
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 200 << 20


@pytest.mark.parametrize("length", [-1, 10**9, "a word", None, True])
def test_a_request_without_a_valid_length_has_the_limit_of_a_thousand_tokens(length: Any) -> None:
    client = Client(NOWHERE, DIALECTS["llama-server"])
    assert (1 << 20) < client.most(client.body("a", {"n_predict": length})) < (2 << 20)
