import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.protocol.interface import BackendFailure, R
from sampler_parity.programs.servers.oracle import registry, samplers
from sampler_parity.programs.servers.oracle.check import check_tokens
from sampler_parity.programs.servers.oracle.decoder import ModelLogits, TextLogits
from sampler_parity.programs.servers.oracle.generate import Oracle
from sampler_parity.programs.servers.oracle.model import KnownModel
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.fake_server import (
    TABLE,
    VOCAB,
    Answered,
    Answering,
    N,
    Sent,
    answered,
    fake_client,
)
from tests.support.inside import Inside
from tests.support.table_model import KNOWN, Worker, logits

CHAINS = {
    "greedy": {"temperature": 0.0},
    "top-k": {"top_k": 3, "temperature": 2.0},
    "repeat": {"repeat_penalty": 1.8},
}


def results(answering: Answering, model: KnownModel = KNOWN, each: int = 2) -> list[ServerResult]:
    oracle = Oracle(samplers.llama_server, model, CHAINS, each)
    with fake_client(answering) as client:
        return list(check_tokens(client, oracle))


def test_a_server_that_samples_as_the_reference_is_honoured_token_by_token() -> None:
    done = results(answered)
    assert [(r.name, r.verdict, r.evidence) for r in done] == [
        (name, "honoured", "2/2 requests as the reference, 32 tokens") for name in CHAINS
    ]


def test_the_engine_s_own_sampler_is_found_by_its_dialect() -> None:
    """Its module is named by a text, which nothing else would check."""
    build = registry.sampler_of("llama-cpp-python")
    sampler = build({"temperature": 0.0, "logit_bias": {"7": 100}, "seed": 1}, [5], VOCAB)
    assert [sampler.sample(TABLE[5].copy()) for _ in range(2)] == [7, 7]


def test_the_first_token_that_is_another_is_reported_with_its_place() -> None:
    def answering(sent: Sent) -> Answered:
        return answered({**sent, "top_k": 4} if sent.get("top_k") == 3 else sent)

    verdicts = {r.name: (r.verdict, r.evidence) for r in results(answering)}
    assert verdicts["greedy"][0] == verdicts["repeat"][0] == "honoured"
    verdict, evidence = verdicts["top-k"]
    assert verdict == "other meaning"
    assert re.fullmatch(r"0/2 requests .*; top-k/three.0: token \d+ is \d+, expected \d+", evidence)


@pytest.mark.parametrize("change", ["a seed of 16 bits", "no penalty in streams"])
def test_every_second_request_is_a_stream_with_a_seed_of_32_bits(change: str) -> None:
    def answering(sent: Sent) -> Answered:
        if change == "a seed of 16 bits":
            return answered({**sent, "seed": sent["seed"] % 65536})
        return answered({**sent, "repeat_penalty": 1.0} if sent.get("stream") else sent)

    wrong = {r.name: r.evidence for r in results(answering) if not r.met}
    assert wrong.keys() == ({"top-k", "repeat"} if "seed" in change else {"repeat"})
    for evidence in wrong.values():
        assert re.fullmatch(r"1/2 requests .*\.1\.stream: token \d+ is .*", evidence)


def test_a_text_that_goes_otherwise_than_guessed_is_decoded_again_from_there() -> None:
    with closing(logits()) as table:
        text_of = TextLogits(table, [5], guess=[1, 2])
        assert (text_of.after([]) == TABLE[5]).all()
        assert (text_of.after([1]) == TABLE[1]).all()
        assert (text_of.after([1, 9]) == TABLE[9]).all()
        assert (text_of.after([1, 9, 4]) == TABLE[4]).all()


def test_the_death_of_what_decodes_is_reported_in_one_line() -> None:
    """In this process: its backend raises the failure of one that died."""

    class Dies(Inside):
        def ask(self, request: Any, reply: type[R], timeout_s: float | None = None) -> R:
            raise BackendFailure("crashed", "signal SIGABRT: munmap_chunk(): invalid pointer")

    dead = replace(KNOWN, logits=lambda: ModelLogits(Dies(Worker()), Path("table"), N))
    done = results(answered, dead, each=1)
    assert {r.verdict for r in done} == {"error"}
    assert done[0].evidence.endswith("llama.cpp signal SIGABRT: munmap_chunk(): invalid pointer")
