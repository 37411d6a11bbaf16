import gzip
import http.client
import socket
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.servers.address import Address, address_of
from sampler_parity.programs.servers.connection import reached
from sampler_parity.programs.servers.http import ServerFailure, ask, stream
from tests.support.raw_server import Answering, drips, hangs, http_bytes, raw_server

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


ENDLESS: dict[str, Answering] = {
    "nothing": hangs,
    "a byte at a time": drips(OK + b"Content-Length: 100000\r\n\r\n", b" "),
    # http.client lets go of the socket of such an answer before it is read
    "the same, to be closed": drips(
        OK + b"Connection: close\r\nContent-Length: 100000\r\n\r\n", b" "
    ),
    "without a length": drips(OK + b"\r\n", b" "),
    "a status line": drips(b"HTTP/1.1 200 ", b"O"),
    "a header": drips(OK + b"X-Long: ", b"a"),
    "answers to come": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "chunks": drips(CHUNKED, b"1\r\n \r\n"),
    "the size of a chunk": drips(CHUNKED, b"0"),
    "an extension of a chunk": drips(CHUNKED + b"1;", b"a"),
    "what follows the chunks": drips(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: a\r\n"),
    "an error's page": drips(b"HTTP/1.1 500 Oops\r\n\r\n", b"a"),
}
# Newer ones of http.client count them themselves: Python 3.14.10's does, 3.11.7's does not.
MANY_TO_COME = "crashed" if hasattr(http.client, "_MAXINTERIMRESPONSES") else "rejected"


@pytest.mark.slow
@pytest.mark.parametrize("answering", ENDLESS.values(), ids=ENDLESS.keys())
def test_an_answer_that_does_not_end_is_a_timeout_in_one_line(answering: Answering) -> None:
    begun = time.monotonic()
    with raw_server(answering) as raw, pytest.raises(ServerFailure) as failure:
        ask(raw.address, "/completion", {"prompt": "a"}, seconds=0.05)
    assert failure.value.verdict == "timeout"
    assert failure.value.line == "/completion: no complete answer in 0.05 s"
    assert time.monotonic() - begun < 5


ENDLESS_STREAMS = {
    "comments": drips(OK + b"\r\n", b": still here\n\n"),
    "lines without data": drips(OK + b"\r\n", b"event: ping\n"),
    "a line": drips(OK + b"\r\n", b"d"),
    "comments in chunks": drips(CHUNKED, b"3\r\n:a\n\r\n"),
    "events": drips(OK + b"\r\n", b'data: {"content": "a"}\n\n'),
}


@pytest.mark.slow
@pytest.mark.parametrize("answering", ENDLESS_STREAMS.values(), ids=ENDLESS_STREAMS.keys())
def test_a_stream_that_does_not_end_is_a_timeout(answering: Answering) -> None:
    with raw_server(answering) as raw, pytest.raises(ServerFailure) as failure:
        stream(raw.address, "/p", {}, seconds=0.05)
    assert failure.value.line == "/p: no complete answer in 0.05 s"


@pytest.mark.slow
@pytest.mark.parametrize("answering", [hangs, drips(b"\x16\x03\x03\x10\x00", b"\x02")])
def test_keys_of_tls_that_do_not_come_are_a_timeout(answering: Answering) -> None:
    """A record of 4,096 bytes, one at a time."""
    with raw_server(answering) as raw, pytest.raises(ServerFailure) as failure:
        ask(replace(raw.address, scheme="https"), "/p", seconds=0.05)
    assert failure.value.line == "/p: no complete answer in 0.05 s"


def test_a_server_without_tls_is_a_verdict() -> None:
    with raw_server(http_bytes(b"{}")) as raw, pytest.raises(ServerFailure) as failure:
        ask(replace(raw.address, scheme="https"), "/p", seconds=2)
    assert failure.value.verdict == "crashed"
    assert "SSL" in failure.value.line


@pytest.mark.slow
def test_a_name_with_several_addresses_has_one_time_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """None of them takes a connection: the queue of each is full."""
    with ExitStack() as full:
        listeners = [full.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))]
        where = listeners[0].getsockname()
        for _ in range(3):
            waiting = full.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(where)
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", where)] * 4
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        begun = time.monotonic()
        with pytest.raises(ServerFailure, match="no complete answer in 1 s"):
            ask(Address("http", "four.of.them", where[1]), "/p", seconds=1)
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("answer", "verdict", "line"),
    [
        (b"", "crashed", "/p: the server closed the connection without an answer"),
        (
            http_bytes(b'{"content": "a')[:-2] + b"",
            "crashed",
            "/p: the server closed the connection in the answer",
        ),
        (http_bytes(b"out of memory", "500 Oops"), "crashed", "/p: status 500: out of memory"),
        (http_bytes(b'{"content": "a'), "rejected", "/p: the answer is not JSON: Unterminated"),
        (http_bytes(b"[" * 900), "rejected", "/p: the answer has more than 125 values"),
        (http_bytes(b"\xff\xfe"), "rejected", "/p: the answer is not JSON: "),
        (http_bytes(b" " * 2000 + b"{}"), "rejected", "/p: the answer has more than 1,000 bytes"),
        (b"HTTP/9 what\r\n\r\n", "crashed", "/p: BadStatusLine"),
        (OK + b"X: " + b"a" * 70_000, "crashed", "/p: LineTooLong"),
        (OK + b"X: a\r\n" * 101 + b"\r\n", "crashed", "/p: HTTPException: got more than 100"),
        (OK + b"Content-Length: 9\r\n\r\n{}", "crashed", "/p: the server closed the connection in"),
        (OK + b"Content-Length: 1\r\n\r\n{}", "rejected", "/p: the answer is not JSON: "),
        (OK + b"Content-Length: -1\r\n\r\n{} {}", "rejected", "/p: the answer is not JSON: Extra"),
        (OK + b"\r\n" + http_bytes(b"{}"), "rejected", "/p: the answer is not JSON: "),
        (CHUNKED + b"2\r\n{}\r\n", "crashed", "/p: the server closed the connection in"),
        (CHUNKED + b"-5\r\n{}\r\n0\r\n\r\n", "crashed", "/p: the answer is not HTTP: "),
        (CHUNKED + b"-1\r\n" + b" " * (2 << 20), "rejected", "/p: the answer has more than 1,000"),
        (CHUNKED + b"f" * 40 + b"\r\n{}", "crashed", "/p: the server closed the connection in"),
        (CHUNKED + b"what\r\n", "crashed", "/p: the server closed the connection in"),
        (
            CHUNKED + (b"1;" + b"a" * 60_000 + b"\r\n \r\n") * 40,
            "rejected",
            "/p: the answer has more",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 90_000, MANY_TO_COME, "/p: "),
        (
            http_bytes(gzip.compress(b" " * 9000 + b"{}"), "200 OK", "Content-Encoding: gzip"),
            *("rejected", "/p: unsupported Content-Encoding gzip"),
        ),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "rejected", "/p: status 101"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "rejected", "/p: the answer is not JSON: "),
    ],
    ids=[
        *("nothing", "half", "500", "half JSON", "deep", "no UTF-8", "huge", "no HTTP"),
        *("endless header", "many headers", "longer length", "shorter length", "negative length"),
        *("two heads", "chunk without end", "negative chunk", "chunk of all", "huge chunk"),
        *("no chunk", "extensions", "to come", "packed", "protocols", "no content"),
    ],
)
def test_what_is_no_answer_is_a_verdict_with_one_line(
    answer: bytes, verdict: str, line: str
) -> None:
    with raw_server(answer) as raw, pytest.raises(ServerFailure) as failure:
        ask(raw.address, "/p", {"prompt": "a"}, seconds=2, most=1000)
    assert failure.value.verdict == verdict
    assert failure.value.line.startswith(line)
    assert "\n" not in failure.value.line


def test_a_stream_that_ends_in_mid_line_is_a_crash() -> None:
    body = b'data: {"a": 1}\n\ndata: {"a"'
    with raw_server(http_bytes(body)) as raw, pytest.raises(ServerFailure) as failure:
        stream(raw.address, "/p", {})
    assert failure.value.verdict == "crashed"
    assert failure.value.line == "/p: the stream ends in the middle of a line"


@pytest.mark.parametrize(
    ("answer", "verdict", "line"),
    [
        (OK + b'Content-Length: 99\r\n\r\ndata: {"a": 1}\n\n', "crashed", "closed the connection"),
        (CHUNKED + b'f\r\ndata: {"a": 1}\n\r\n', "crashed", "closed the connection"),
        (CHUNKED + b"-5\r\ndata: {}\n\n", "crashed", "the answer is not HTTP"),
        (CHUNKED + b"f" * 40 + b"\r\ndata: {}\n\n", "crashed", "the answer is not HTTP"),
        (CHUNKED + b"-1\r\n" + b"a" * (2 << 20), "rejected", "more than 1,000 bytes"),
        (OK + b"\r\n" + b": a\n" * 500, "rejected", "more than 1,000 bytes"),
        (OK + b"\r\ndata: " + b"a" * 2000, "rejected", "more than 1,000 bytes"),
        (OK + b"\r\ndata: what\n\n", "rejected", "the answer is not JSON"),
    ],
    ids=[
        *("longer length", "chunk without end", "negative chunk", "huge chunk", "chunk of all"),
        *("comments", "long line", "no JSON"),
    ],
)
def test_a_stream_that_is_none_is_a_verdict_with_one_line(
    answer: bytes, verdict: str, line: str
) -> None:
    with raw_server(answer) as raw, pytest.raises(ServerFailure) as failure:
        stream(raw.address, "/p", {}, seconds=2, most=1000)
    assert failure.value.verdict == verdict
    assert line in failure.value.line
    assert "\n" not in failure.value.line


def test_a_stream_in_chunks_that_ends_as_it_should_is_whole() -> None:
    body = b'10\r\ndata: {"a": 1}\n\n\r\n0\r\n\r\n'
    with raw_server(CHUNKED + body) as raw:
        events = stream(raw.address, "/p", {})
    assert isinstance(events, list)
    assert [event.data for event in events] == [{"a": 1}]


def test_the_events_of_a_stream_come_in_order_until_done() -> None:
    body = b'data: {"a": 1}\n\ndata: {"a": 2}\n\ndata: [DONE]\n\ndata: {"a": 3}\n\n'
    with raw_server(http_bytes(body)) as raw:
        events = stream(raw.address, "/p", {})
    assert isinstance(events, list)
    assert [event.data for event in events] == [{"a": 1}, {"a": 2}]


def test_a_redirect_is_not_followed_and_nobody_else_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with raw_server(http_bytes(b"{}")) as elsewhere:
        where = f"Location: {elsewhere.address.url}/p"
        answer = http_bytes(b"", "307 Temporary Redirect", where)
        with raw_server(answer) as raw, pytest.raises(ServerFailure) as failure:
            ask(raw.address, "/p", {})
        assert elsewhere.requests == []
    assert failure.value.verdict == "rejected"
    assert failure.value.line.startswith("/p: redirects to http://127.0.0.1:")


def test_a_refusal_is_an_answer_with_its_reason() -> None:
    body = b'{"error": {"code": 400, "message": "min_p must be a number"}}'
    with raw_server(http_bytes(body, "400 Bad Request")) as raw:
        reply = ask(raw.address, "/p", {})
    assert (reply.refused, reply.reason) == (True, "min_p must be a number")


def test_nobody_listening_is_a_crash() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ServerFailure, match="ConnectionRefusedError"):
        ask(Address("http", "127.0.0.1", port), "/p")


def test_a_key_is_sent_and_never_shown_even_if_the_server_says_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", "sesame-open")
    with raw_server(http_bytes(b'{"error": "sesame-open is no key"}', "401 No")) as raw:
        address = address_of(raw.address.url, "MY_KEY")
        reply = ask(address, "/p", {})
        assert b"Authorization: Bearer sesame-open" in raw.requests[0]
    assert reply.reason == "[key] is no key"
    assert "sesame" not in repr(address)
    with (
        raw_server(http_bytes(b"sesame-open", "500 No")) as raw,
        pytest.raises(ServerFailure) as failure,
    ):
        ask(address_of(raw.address.url, "MY_KEY"), "/p", {})
    assert failure.value.line == "/p: status 500: [key]"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://127.0.0.1", "is not the URL of a server"),
        ("http://127.0.0.1:port", "is not the URL of a server"),
        ("http://", "is not the URL of a server"),
        ("http://127.0.0.1/\u00fc", "is not the URL of a server"),
        ("http://127.0.0.1/?a=b", "is not the URL of a server"),
        ("http://me:secret@127.0.0.1", "has a name or password in it"),
        ("http://example.com", "is another machine - use --remote"),
        ("http://localhost.example.com", "is another machine - use --remote"),
    ],
)
def test_an_address_that_may_not_be_asked_is_refused_in_one_line(url: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        address_of(url)
    assert message in str(error.value)
    assert "secret" not in str(error.value)


def test_a_name_that_no_one_can_have_is_not_reached() -> None:
    with pytest.raises(InputError, match="cannot be reached"):
        reached(Address("http", "a" * 64 + ".example", 80), 1)


def test_addresses_of_this_machine_are_taken() -> None:
    assert address_of("http://[::1]:8080/v/").url == "http://[::1]:8080/v"
    assert address_of("https://localhost").port == 443
    assert address_of("http://10.1.2.3", anywhere=True).host == "10.1.2.3"


def test_a_variable_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(InputError, match="variable MY_KEY: has no key in printable ASCII"):
        address_of("http://localhost", "MY_KEY")
