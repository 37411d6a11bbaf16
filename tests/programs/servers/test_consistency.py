"""Each answer agrees with itself, and each contradiction in it is found."""

from collections.abc import Callable
from typing import Any

import pytest

from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.invariants import broken
from sampler_parity.programs.servers.read_answer import read_answer
from tests.support.openai_answers import WORDS, Data, body, chunks, lists, whole
from tests.support.raw_server import http_bytes, raw_server

OPENAI = DIALECTS["openai"]
SENT: dict[str, Any] = {"max_tokens": 4, "logprobs": 2}


def names(data: Data, sent: dict[str, Any] = SENT) -> set[str]:
    """Return the invariants that an answer breaks, in any of its choices."""
    answer = read_answer(OPENAI, sent, data)
    return {name for one in (answer, *answer.siblings) for name, _ in broken(OPENAI, one)}


def names_of_stream(events: list[Data]) -> set[str]:
    with raw_server(http_bytes(body(events))) as server:
        client = Client(server.address, OPENAI)
        client.streamed("", SENT)
    return {*client.traffic.broken}


def changed(place: int, **fields: Any) -> Data:
    """Return the right answer but for fields of one choice."""
    data = whole()
    data["choices"][place] |= fields
    return data


@pytest.mark.parametrize("choices", [1, 2, 3])
def test_a_right_answer_breaks_nothing(choices: int) -> None:
    assert names(whole(choices)) == set()
    assert names({**whole(choices), "choices": whole(choices)["choices"][::-1]}) == set()


@pytest.mark.parametrize("place", [0, 1])
def test_a_text_of_other_tokens_is_found_in_each_choice(place: int) -> None:
    assert names(changed(place, text="one two four three")) == {"tokens"}
    short = names(changed(place, logprobs=lists(WORDS[:3])))
    assert short == {"tokens", "lengths"}


@pytest.mark.parametrize("place", [0, 1])
def test_a_wrong_list_is_found_in_each_choice(place: int) -> None:
    for logprob in (0.0, -2.0):
        logprobs = lists(WORDS) | {"token_logprobs": [logprob] * 4}
        assert names(changed(place, logprobs=logprobs)) == {"probabilities"}


@pytest.mark.parametrize("text", ["one two", "one tw", "one two three four!"])
def test_tokens_may_go_on_or_end_before_a_stop(text: str) -> None:
    assert names(changed(1, text=text, finish_reason="stop")) == set()


@pytest.mark.parametrize("mark", [" ", "\u0120", "\u2581"])
def test_blanks_may_be_written_as_the_vocabulary_has_them(mark: str) -> None:
    words = tuple(word.replace(" ", mark) for word in WORDS)
    assert names(changed(0, logprobs=lists(words), text="one two three four")) == set()


def test_tokens_of_a_hidden_field_are_not_looked_for_in_the_text() -> None:
    logprobs = {"content": [{"token": "think", "logprob": -0.5, "top_logprobs": []}] * 4}
    choice = {"index": 0, "finish_reason": "length", "logprobs": logprobs}
    chat = DIALECTS["openai-chat"]
    for hidden, wrong in (("hm", []), ("", ["tokens"])):
        message = {"content": "four", "reasoning_content": hidden}
        answer = read_answer(chat, SENT, {"choices": [{**choice, "message": message}]})
        assert [name for name, _ in broken(chat, answer)] == wrong


@pytest.mark.parametrize("special", ["<|fim_middle|>", "</s>", "[INST]"])
def test_the_text_may_leave_out_a_special_token(special: str) -> None:
    words = ("one", special, " three", " four")
    assert names(changed(0, logprobs=lists(words), text="one three four")) == set()
    assert names(changed(0, logprobs=lists(WORDS), text="one three four")) == {"tokens"}


@pytest.mark.parametrize(
    ("spelled", "wrong"),
    [("\u00e9".encode(), []), (None, []), ("\ufffd".encode(), ["bytes"]), (b"e", ["bytes"])],
)
def test_the_bytes_of_a_token_of_a_chat_are_its_text(
    spelled: bytes | None, wrong: list[str]
) -> None:
    entry = {"token": "\u00e9", "logprob": -0.5, "bytes": spelled and [*spelled]}
    logprobs = {"content": [{**entry, "top_logprobs": [entry]}]}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": logprobs}
    chat = DIALECTS["openai-chat"]
    data = {"choices": [{**choice, "message": {"content": "\u00e9"}}]}
    assert [name for name, _ in broken(chat, read_answer(chat, SENT, data))] == wrong


@pytest.mark.parametrize(
    ("count", "wrong"), [(8, set()), (4, {"lengths"}), (9, {"lengths", "ending"})]
)
def test_the_count_is_the_sum_over_all_choices(count: int, wrong: set[str]) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": count, "total_tokens": 3 + count}
    assert names({**whole(), "usage": usage}) == wrong


def test_a_right_stream_with_its_counts_alone_at_the_end_breaks_nothing() -> None:
    assert names_of_stream(chunks()) == set()


def exchanged(events: list[Data]) -> None:
    first, second = (event["choices"][0] for event in events[:2])
    first["logprobs"], second["logprobs"] = second["logprobs"], first["logprobs"]


def behind(events: list[Data]) -> None:
    """Send the lists of each chunk with the next one."""
    choices = [event["choices"][0] for event in events[:3]]
    before = [None, *(choice["logprobs"] for choice in choices[:2])]
    for choice, logprobs in zip(choices, before, strict=True):
        choice["logprobs"] = logprobs


@pytest.mark.parametrize(
    ("spoil", "wrong"), [(exchanged, {"tokens", "chunks"}), (behind, {"chunks"})]
)
def test_each_chunk_has_the_lists_of_its_own_tokens(
    spoil: Callable[[list[Data]], None], wrong: set[str]
) -> None:
    events = chunks()
    spoil(events)
    assert names_of_stream(events) == wrong


def test_choices_that_alternate_in_a_stream_are_put_together_each() -> None:
    events = [
        {"choices": [{"index": i, "text": text, "finish_reason": end}]}
        for text, end in (("a", None), ("b", "length"))
        for i in (0, 1)
    ]
    with raw_server(http_bytes(body(events))) as server:
        answer = Client(server.address, OPENAI).streamed("", {})
    assert answer.texts == ("ab", "ab")
    assert [one.ended for one in (answer, *answer.siblings)] == ["length"] * 2
