"""harness/protocol/messages.py: a line is the request that its `do` names."""

import json
import math
from typing import Any, get_args

import pytest

from sampler_parity.harness.engines.samplers import ALL_ROWS
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.sequences import SequencesStep, Text


def test_every_request_is_read_by_its_own_name() -> None:
    names = {model.model_fields["do"].default for model in get_args(p.Request)}
    assert {"hello", "run", "draws", "time", "bye"} < names
    assert isinstance(p.request_of({"do": "bye"}), p.ByeRequest)
    rows = {"at": 0, "count": 1, "n": 3}
    request = p.request_of(
        {"do": "draws", "chain": [], "n_vocab": 3, "rows": rows, "n": 2, "out": 64, "number": 7}
    )
    assert isinstance(request, p.DrawsRequest)
    assert (request.rows.n, request.n, request.number) == (3, 2, 7)


@pytest.mark.parametrize("data", [{"do": "dance"}, {"do": ["run"]}, {"do": None}, {}, [], "run", 1])
def test_what_names_no_request_is_refused_with_those_that_there_are(data: Any) -> None:
    with pytest.raises(ValueError, match=r"use one of hello, run, batch, draws, .*, bye$"):
        p.request_of(data)


def test_a_request_with_a_key_that_it_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="extra_forbidden"):
        p.request_of({"do": "bye", "now": True})


def test_a_request_without_a_prompt_is_as_older_backends_know_it() -> None:
    rows = p.Rows(at=0, count=1, n=1)
    request = p.RunRequest(chain=[], n_vocab=1, rows=rows, steps=[], out=4, history=[0, 0])
    assert "n_prompt" not in p.to_line(request)
    line = p.to_line(request.model_copy(update={"n_prompt": 1}))
    assert p.request_of(json.loads(line)).n_prompt == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("word", ["inf", "-inf", "nan"])
def test_a_text_that_reads_as_a_number_stays_a_text(word: str) -> None:
    chain: p.ChainSpec = [{"dry": {"dry_base": math.inf, "seq_breakers": [None, [1], word]}}]
    rows = p.Rows(at=0, count=1, n=1)
    request = p.RunRequest(chain=chain, n_vocab=1, vocab=word, rows=rows, steps=[], out=4)
    assert p.request_of(p.numbers(json.loads(p.to_line(request)))) == request


@pytest.mark.parametrize("bias", [math.inf, -math.inf])
def test_a_number_that_json_lacks_comes_back_from_every_chain_of_a_request(bias: float) -> None:
    chain: p.ChainSpec = [{"logit_bias": {"logit_bias": [[0, bias]]}}]
    rows, step = p.Rows(at=0, count=1, n=1), SequencesStep(batch=[0], sample=[0])
    requests = [
        p.RunRequest(chain=chain, n_vocab=1, rows=rows, steps=[], out=4),
        p.BatchRequest(
            n_vocab=1, rows=rows, sequences=[p.BatchSequence(chain=chain)], steps=[], out=4
        ),
        p.SequencesRequest(
            model="inf", n_vocab=1, slots=1, texts=[Text(chain=chain, prompt=[0])], steps=[step],
            out=0,
        ),
    ]  # fmt: skip
    for request in requests:
        assert p.request_of(p.numbers(json.loads(p.to_line(request)))) == request


def texts_of(value: Any) -> bool:
    """Return whether it holds a text other than a place in a vocabulary, such as V-1."""
    if isinstance(value, str):
        return not value.startswith("V")
    return isinstance(value, list | tuple) and any(map(texts_of, value))


@pytest.mark.parametrize(
    "line",
    [
        rb'{"a":["inf",{"b":"-inf"}],"c":"nan","text":"x"}',
        rb'{"a":"\u0069nf","b":"\u002dinf"}',
        rb'{"a":"infinite","b":"nano"}',
        rb'{"vocab":"nan","a":[1,2.5,null,true]}',
    ],
)
def test_data_of_a_line_have_their_numbers(line: bytes) -> None:
    assert repr(p.data_of(line)) == repr(p.numbers(json.loads(line)))


def test_every_text_of_requests_and_samplers_is_known_as_one() -> None:
    settings = [
        values
        for row in ALL_ROWS.values()
        for values in (row.smallest, row.edges or {}, row.edges_with_vocab or {})
    ]
    texts = {name for values in settings for name, value in values.items() if texts_of(value)}
    texts |= {
        name
        for request in get_args(p.Request)
        for name, field in request.model_fields.items()
        if str in (field.annotation, *get_args(field.annotation)) or field.annotation == list[str]
    }
    assert {"vocab", "texts", "seq_breakers", "grammar_str"} <= texts <= p.TEXTS
