import socket
import time

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.servers.address import Address, address_of
from sampler_parity.harness.servers.http import Failure, Reply, ask, stream
from tests.support.raw_server import Answering, http_bytes, raw_server


def hangs(connection: socket.socket) -> None:
    while connection.recv(1 << 16):  # nothing, until the client goes
        pass


def drips(connection: socket.socket) -> None:
    """A byte at a time: no single wait is long."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(1000):
        connection.sendall(b" ")
        time.sleep(0.002)


def drips_and_says_close(connection: socket.socket) -> None:
    """http.client lets go of the socket of such an answer before it is read."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(1000):
        connection.sendall(b" ")
        time.sleep(0.002)


def drips_a_header(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(1000):
        connection.sendall(b"a")
        time.sleep(0.002)


@pytest.mark.parametrize("answering", [hangs, drips, drips_and_says_close, drips_a_header])
def test_an_answer_that_does_not_end_is_a_timeout_in_one_line(answering: Answering) -> None:
    with raw_server(answering) as raw, pytest.raises(Failure) as failure:
        ask(raw.address, "/completion", {"prompt": "a"}, seconds=0.05)
    assert failure.value.verdict == "timeout"
    assert failure.value.line == "/completion: no whole answer in 0.05 s"


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
        (http_bytes(b'{"content": "a'), "rejected", "/p: no JSON: Unterminated string"),
        (http_bytes(b"[" * 900), "rejected", "/p: no JSON: "),
        (http_bytes(b"\xff\xfe"), "rejected", "/p: no JSON: "),
        (http_bytes(b" " * 2000 + b"{}"), "rejected", "/p: the answer has more than 1,000 bytes"),
        (b"HTTP/9 what\r\n\r\n", "crashed", "/p: BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000, "crashed", "/p: LineTooLong"),
    ],
    ids=[
        *("nothing", "half", "500", "half JSON", "deep", "no UTF-8", "huge", "no HTTP"),
        "endless header",
    ],
)
def test_what_is_no_answer_is_a_verdict_with_one_line(
    answer: bytes, verdict: str, line: str
) -> None:
    with raw_server(answer) as raw, pytest.raises(Failure) as failure:
        ask(raw.address, "/p", {"prompt": "a"}, seconds=2, most=1000)
    assert failure.value.verdict == verdict
    assert failure.value.line.startswith(line)
    assert "\n" not in failure.value.line


def test_a_stream_that_ends_in_mid_line_is_a_crash() -> None:
    body = b'data: {"a": 1}\n\ndata: {"a"'
    with raw_server(http_bytes(body)) as raw, pytest.raises(Failure) as failure:
        stream(raw.address, "/p", {})
    assert failure.value.verdict == "crashed"
    assert failure.value.line == "/p: the stream ends in mid-line"


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
        with raw_server(answer) as raw, pytest.raises(Failure) as failure:
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
    with pytest.raises(Failure, match="ConnectionRefusedError"):
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
    with raw_server(http_bytes(b"sesame-open", "500 No")) as raw, pytest.raises(Failure) as failure:
        ask(address_of(raw.address.url, "MY_KEY"), "/p", {})
    assert failure.value.line == "/p: status 500: [key]"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://127.0.0.1", "is none of a server"),
        ("http://127.0.0.1:port", "is none of a server"),
        ("http://", "is none of a server"),
        ("http://127.0.0.1/?a=b", "is none of a server"),
        ("http://me:secret@127.0.0.1", "has a name or password in it"),
        ("http://example.com", "is another machine - use --remote"),
        ("http://localhost.example.com", "is another machine - use --remote"),
    ],
)
def test_an_address_that_may_not_be_asked_is_refused_in_one_line(url: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        address_of(url)
    assert said in str(error.value)
    assert "secret" not in str(error.value)


def test_addresses_of_this_machine_are_taken() -> None:
    assert address_of("http://[::1]:8080/v/").url == "http://[::1]:8080/v"
    assert address_of("https://localhost").port == 443
    assert address_of("http://10.1.2.3", anywhere=True).host == "10.1.2.3"


def test_a_variable_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(InputError, match="variable MY_KEY: holds no key"):
        address_of("http://localhost", "MY_KEY")


def test_the_reason_of_a_refusal_without_json_is_its_text() -> None:
    assert Reply(404, "no such page").reason == "no such page"
