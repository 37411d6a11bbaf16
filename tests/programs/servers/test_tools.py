"""Tools: a right server passes, each fault is caught by its name, and so is a real server's."""

import json
from collections.abc import Iterator, Sequence

import pytest

from sampler_parity.programs.servers import tools
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.defaults import ServerDefaults
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.launch import real_servers
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.tools import broken, calls_of, check_tools, tool_tests
from tests.support.fake_server import Answered, Answering, Sent, fake_server
from tests.support.real_server import started_here
from tests.support.server_faults import Faulty
from tests.support.server_proxy import forwarding
from tests.support.tool_server import COUNT, FAULTS, NAMED, SIZES, TEMPLATE, calling

SERVER = real_servers()["llama-server"]
NAMES = [fault[0] for fault in FAULTS]


def results(
    address: Address, dialect: str = "openai-chat", names: Sequence[str] = ()
) -> dict[str, ServerResult]:
    client = Client(address, DIALECTS[dialect], only=frozenset(names))
    return {result.name: result for result in check_tools(client, ServerDefaults())}


def behind(answering: Answering, names: Sequence[str] = ()) -> dict[str, ServerResult]:
    with fake_server(answering) as address:
        return results(address, names=names)


def failing(done: dict[str, ServerResult]) -> dict[str, str]:
    return {r.name: r.evidence for r in done.values() if not r.met and r.verdict != "skipped"}


def test_a_right_server_passes_and_all_is_asked() -> None:
    done = behind(calling)
    assert done.keys() == tool_tests().keys()
    assert {result.verdict for result in done.values()} == {"honoured"}
    assert "get_weather_57" in done["58 tools"].evidence


def test_a_server_that_refuses_passes() -> None:
    done = behind(lambda _: (400, {"error": "tools need a template"}))
    assert {(result.verdict, result.met) for result in done.values()} == {("refused", True)}
    assert all("tools need a template" in result.evidence for result in done.values())


@pytest.mark.parametrize(("_", "names", "word", "between"), FAULTS, ids=NAMES)
def test_a_fault_is_named_by_its_results(
    _: str, names: Sequence[str], word: str, between: Faulty
) -> None:
    wrong = failing(behind(between(calling)))
    assert wrong.keys() == {*names}
    assert word in wrong[names[0]]


def test_a_text_that_is_cut_before_a_call_is_not_judged() -> None:
    def cut(sent: Sent) -> Answered:
        message = {"content": "Let me think" if "tools" in sent else ""}
        return 200, {"choices": [{"message": message, "finish_reason": "length"}]}

    done = behind(cut)
    assert failing(done) == {}
    assert done["tool_choice required"].verdict == done["58 tools"].verdict == "skipped"


def test_a_server_that_reports_a_template_without_tools_may_drop_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    props = {"chat_template_caps": {"supports_tools": False}}
    monkeypatch.setattr(tools, "json_at", lambda *_: props)
    done = behind(FAULTS[0][-1](calling))
    assert failing(done) == {}
    assert done["tool_choice required"].verdict == "documented change"


def test_tools_are_asked_for_where_a_path_is_for_chats() -> None:
    names = [name for name, dialect in DIALECTS.items() if tools.chat_of(dialect)]
    llama = ["llama-server", "llama-server-completions", "llama-server-chat"]
    assert names == [*llama, "openai-chat"]
    assert [name for name in tool_tests() if name not in tool_tests(quick=True)] == [*SIZES, COUNT]
    sizes = [round(len(json.dumps(tools.large(size))) / 1000) for size in tools.SIZES]
    assert sizes == [*tools.SIZES]


def streamed(parts: Sequence[Sent]) -> Answer:
    events = tuple({"choices": [{"delta": {"tool_calls": [part]}}]} for part in parts)
    return Answer({}, events=({"choices": []}, *events))


def test_the_parts_of_a_call_are_put_together() -> None:
    first = {"index": 0, "function": {"name": "f", "arguments": ""}}
    parts = [first, *({"index": 0, "function": {"arguments": text}} for text in ('{"a"', ": 1}"))]
    more = {"index": 1, "function": {"name": "g", "arguments": "{}"}}
    assert calls_of(streamed([*parts, more])) == [("f", '{"a": 1}'), ("g", "{}")]
    for wrong in ({}, {"function": None}, {"index": "x", "function": {}}, 5):
        with pytest.raises(ServerFailure):
            calls_of(streamed([wrong]))  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"city": "Ulmstad", "days": 9}', ""),
        ('{"city": "Ulmstad", "days": 10}', "days is 10"),
        ('{"city": "Ulmstad", "days": true}', "days is True"),
        ('{"city": "Rome", "days": 4}', "city is 'Rome'"),
        ('{"city": "Ulmstad"}', "the fields are city"),
        ('{"city": "Ulmstad", "days": NaN}', "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no object"),
    ],
)
def test_a_text_against_the_schema_is_told_with_its_place(text: str, word: str) -> None:
    assert word in broken(text, tools.WEATHER)
    assert bool(broken(text, tools.WEATHER)) == bool(word)


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with started_here(SERVER, None, [f"chat_template={TEMPLATE}"]) as address:
        yield address


@pytest.mark.nightly
def test_a_real_server_calls_tools_and_takes_a_function_for_any(address: Address) -> None:
    done = results(address, "llama-server")
    assert {result.verdict for result in done.values()} == {"honoured", "silently ignored"}
    assert failing(done) == {NAMED: "get_weather is called instead of get_time"}  # b11549


@pytest.mark.nightly
def test_a_real_server_without_a_template_for_tools_passes() -> None:
    with started_here(SERVER) as address:
        assert failing(results(address, "llama-server")) == {}


@pytest.mark.nightly
@pytest.mark.parametrize(("_", "names", "word", "between"), FAULTS, ids=NAMES)
def test_a_fault_before_a_real_server_is_named(
    address: Address, _: str, names: Sequence[str], word: str, between: Faulty
) -> None:
    wrong = failing(behind(between(forwarding(address, "/v1/chat/completions")), names))
    assert wrong.keys() == {*names}
    assert word in wrong[names[0]]
