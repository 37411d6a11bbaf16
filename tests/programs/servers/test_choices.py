"""Texts without a seed differ; a server that repeats one is named with the chance of that."""

from dataclasses import replace

import pytest

from sampler_parity.programs.servers.choices import choice_tests
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.observation import observe
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.fake_server import LLAMA, Answered, Answering, Sent, answered, fake_client
from tests.support.server_faults import drops, makes

ONE_SEED = drops("seed")(lambda sent: answered({**sent, "seed": 0}))


IN_A_STREAM = "choices in a stream"


def verdicts(
    answering: Answering, probabilities: bool = True, stream: bool = False
) -> dict[str, ServerResult]:
    dialect = LLAMA if probabilities else replace(LLAMA, probabilities={})
    tests = {k: v for k, v in choice_tests(dialect).items() if (k == IN_A_STREAM) == stream}
    with fake_client(answering, dialect) as client:
        return {r.name: r for r in observe("state", tests, client)}


@pytest.mark.parametrize(("index", "verdict"), [(None, "honoured"), (0, "other meaning")])
def test_the_parts_of_a_stream_name_their_choices(index: int | None, verdict: str) -> None:
    def indexed(sent: Sent) -> Answered:
        status, data = answered(sent)
        choices = data if isinstance(data, list) and sent.get("stream") else []
        for choice in choices:
            choice["index"] = choice["index"] if index is None else index
        return status, data

    result = verdicts(indexed, stream=True)[IN_A_STREAM]
    come = [0, 1, 2, 3] if index is None else [0]
    assert (result.verdict, str(come) in result.evidence) == (verdict, True)


@pytest.mark.parametrize("probabilities", [True, False])
def test_a_right_server_passes(probabilities: bool) -> None:
    results = verdicts(answered, probabilities)
    assert {r.verdict for r in results.values()} == {"honoured"}
    odds = "two agree with a chance of " if probabilities else "no two of 16 seeds agree"
    assert all(odds in r.evidence for r in results.values())


def test_requests_that_draw_alike_are_reported_with_the_chance_that_they_agree() -> None:
    result = verdicts(ONE_SEED)["without a seed"]
    assert result.verdict == "other meaning"
    start, chance = result.evidence.split("; two agree with a chance of ")
    assert start == "4 requests without a seed: 1 texts of 4"
    assert 0 < float(chance) < 1e-9


def test_without_probabilities_one_text_of_four_is_a_fault_and_one_of_all_seeds_is_unknown() -> (
    None
):
    alike = verdicts(lambda s: answered({"seed": 5, **s}), False)["without a seed"]
    assert (alike.verdict, alike.evidence[:12]) == ("other meaning", "4 requests w")
    assert {r.verdict for r in verdicts(ONE_SEED, False).values()} == {"skipped"}


def test_a_greedy_server_is_not_accused_of_its_seeds() -> None:
    greedy = makes("temperature", lambda _: 0.0)(answered)
    results = verdicts(greedy, probabilities=False)
    assert {r.verdict for r in results.values()} == {"skipped"}


def test_choices_that_do_not_come_are_reported_as_ignored() -> None:
    ignoring = drops("n_cmpl")(answered)
    result = verdicts(ignoring)["choices"]
    assert (result.verdict, result.evidence) == ("ignored", "n_cmpl 4: 1 choices come")


def test_each_dialect_with_an_openai_path_that_has_choices_names_them() -> None:
    several = {name for name, dialect in DIALECTS.items() if dialect.several == {"n": 2}}
    llama_server = {"llama-server-completions", "llama-server-chat"}
    assert several == {"openai", "openai-chat", "vllm", *llama_server}
