"""Lists of prompts, counts of their tokens, names of the length: right servers pass, faults are
named."""

from collections.abc import Callable
from typing import Any

import pytest

from sampler_parity.programs.servers.observation import observe
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.state import state_tests
from tests.support.fake_server import LLAMA, Answered, Answering, Sent, answered, fake_client
from tests.support.server_faults import drops

TWICE, LIST, NAMES = "a prompt twice", "a list of prompts", "other names"


def result(name: str, answering: Answering) -> ServerResult:
    tests = {name: state_tests(LLAMA)[name]}
    with fake_client(answering) as client:
        (result,) = observe("state", tests, client)
    return result


@pytest.mark.parametrize("name", [TWICE, LIST, NAMES])
def test_a_right_server_passes(name: str) -> None:
    assert result(name, answered).verdict == "honoured"


def test_a_count_without_what_is_cached_is_reported() -> None:
    prompts: list[Any] = []

    def uncached(sent: Sent) -> Answered:
        status, data = answered(sent)
        data["tokens_evaluated"] -= 3 if sent["prompt"] in prompts else 0
        prompts.append(sent["prompt"])
        return status, data

    done = result(TWICE, uncached)
    assert (done.verdict, "asked twice, are" in done.evidence) == ("other meaning", True)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_another_name_of_the_length_that_is_dropped_is_named(name: str) -> None:
    done = result(NAMES, drops(name)(answered))
    assert done.verdict == "other meaning"
    assert done.evidence.startswith(f"{name} 5: not the text of n_predict 5")


def refused(data: list[Any]) -> Answered:
    return 400, {"error": {"message": "one prompt"}}


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        (lambda data: (200, data[-1:]), "other meaning", "the answers [2] come"),
        (lambda data: (200, data[:-1]), "other meaning", "the answers [0, 1] come"),
        (
            lambda data: (200, [d | {"index": i} for i, d in enumerate(data[::-1])]),
            "other meaning",
            "prompt 0 of a list has the text of prompt 2",
        ),
        (refused, "skipped", "refused: one prompt"),
    ],
)
def test_a_list_of_prompts_has_a_text_for_each(
    change: Callable[[list[Any]], Answered], verdict: str, words: str
) -> None:
    def changed(sent: Sent) -> Answered:
        status, data = answered(sent)
        return change(data) if isinstance(data, list) else (status, data)

    done = result(LIST, changed)
    assert (done.verdict, words in done.evidence) == (verdict, True), done.evidence
