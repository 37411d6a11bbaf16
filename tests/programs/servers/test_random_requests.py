import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.engines.xllamacpp.drawn import TABLE, DrawnRequest, Source, stated
from sampler_parity.engines.xllamacpp.free import FreeDraws
from sampler_parity.engines.xllamacpp.random_requests import Asker, Predictor, check_random
from sampler_parity.engines.xllamacpp.schemas import grammar_of, schema
from sampler_parity.engines.xllamacpp.schemas import missing as missing_schemas
from sampler_parity.engines.xllamacpp.slot import Slot
from sampler_parity.harness.errors import InputError
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.launch import CONTEXT, real_servers
from sampler_parity.programs.servers.oracle import registry
from sampler_parity.programs.servers.oracle.model import DecodedModel
from sampler_parity.programs.servers.oracle.samplers import llama_server
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.reference.candidates import Candidates
from tests.support.fake_server import VOCAB, N, fake_server
from tests.support.faulty_proxy import Body, Fault, between
from tests.support.real_server import started_here
from tests.support.table_model import KNOWN, logits

DIALECT = DIALECTS["llama-server"]
ROWS = {row.name: row for row in DIALECT.parameters}
MORE = {"n_probs", "post_sampling_probs", "cache_prompt", "n_cmpl"}  # fields without a row
# With both no token may be left, or one is not read.
SHAPES = ("grammar", "json_schema")
APART = [{shape, name} for shape in SHAPES for name in ("ignore_eos", "xtc_probability")]
APART.append({*SHAPES})
NOT_SAMPLING = ("n_cmpl", "cache_prompt", *SHAPES)
SERVER = real_servers()["llama-server"]


def source(seed: int, size: int = CONTEXT) -> Source:
    prompts = [*KNOWN.prompts.values()]

    def read(prompt: Any) -> list[int]:
        parts = [prompt] if isinstance(prompt, str) else prompt
        return [0 for part in parts for _ in (part if isinstance(part, str) else "x")]

    return Source(Random(seed), DIALECT, VOCAB, prompts, read, size)


def drawn(seed: int, n: int = 400) -> list[DrawnRequest]:
    one = source(seed)
    return [one.request() for _ in range(n)]


@pytest.mark.slow
def test_what_is_drawn_is_in_the_dialect_and_in_the_bounds_of_the_reference() -> None:
    for request in drawn(1):
        assert request.fields.keys() <= ROWS.keys() | MORE
        assert json.loads(json.dumps(request.fields)) == request.fields
        fields = stated(request.fields, VOCAB)
        for name, (low, high) in TABLE["bounds"].items():
            assert low <= fields.get(name, low) <= high
        rest = {k: v for k, v in fields.items() if k not in NOT_SAMPLING}
        llama_server(rest, [1], VOCAB)  # raises ChainError for what it refuses


@pytest.mark.slow
def test_each_parameter_comes_with_each_class_of_values_and_with_each_other_one() -> None:
    several = [request.fields for request in drawn(2, 3000)]
    names = {*ROWS}
    for name in names:
        values = [one[name] for one in several if name in one]
        assert len({json.dumps(value) for value in values}) >= 2
        assert any(name not in one for one in several) or name in ("seed", "n_predict")
        for other in names - {name}:
            together = any(name in one and other in one for one in several)
            assert together != ({name, other} in APART), (name, other)
    for name, (low, high) in TABLE["bounds"].items():
        numbers = [one[name] for one in several if one.get(name) is not None]
        assert {low, high} <= {*numbers}
        if type(low) is float:
            assert any(0 < abs(v) < 0.01 for v in numbers) or low > 0, name
            assert any(v != round(v, 3) for v in numbers), name
    seeds = [one.get("seed") for one in several]
    assert {-1, 0} <= {*seeds}
    assert sum(seed >> 31 == 1 for seed in seeds if seed) > 100
    forms = {type(one["samplers"]) for one in several if one.get("samplers")}
    assert forms == {str, list}
    assert {type(one["logit_bias"]) for one in several if one.get("logit_bias")} == {dict, list}


def test_a_seed_draws_the_same_requests_again_and_another_seed_others() -> None:
    assert drawn(5, 20) == drawn(5, 20) != drawn(6, 20)


def slot_of(tokens: list[int], *stops: str, length: int = 9) -> Slot:
    slot = Slot(VOCAB, length, 0, [stop.encode() for stop in stops])
    for token in tokens:
        slot.add(token)
    return slot


def test_a_stop_string_across_tokens_holds_back_what_may_begin_it() -> None:
    slot = slot_of([7, 1, 12], "1 w1")
    assert slot.pieces == [b" w7", b"", b" w"]
    assert (slot.text, slot.stop_type, slot.stopping_word) == (b" w7 w", "word", "1 w1")
    slot = slot_of([7, 8], "8x", length=2)  # what is held back at the end is in no piece
    assert (slot.text, slot.pieces, slot.stop_type) == (b" w7 w8", [b" w7", b""], "limit")


def test_the_first_stop_string_of_those_at_one_place_is_named() -> None:
    for stops, first in ((("30", "3"), "30"), (("3", "30"), "3"), (("0", "3"), "3")):
        assert slot_of([30], *stops).stopping_word == first


def test_the_context_ends_a_text_before_its_length() -> None:
    slot = Slot(VOCAB, 9, 2)
    slot.add(7)
    slot.add(8)
    assert (slot.stop_type, slot.truncated) == ("limit", True)


PROBABILITIES = st.lists(st.floats(1e-6, 1), min_size=1, max_size=40)


def draws(rng: Random, shares: list[list[float]], heat: float = 1.0) -> FreeDraws:
    """Return a text of which each token has been drawn from its shares to the power of 1 / heat."""
    free = FreeDraws()
    text = [rng.choices(range(len(one)), [p ** (1 / heat) for p in one])[0] for one in shares]
    assert free.add("a", text, [dict(enumerate(one)) for one in shares]) == ""
    return free


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(PROBABILITIES, max_size=40), st.integers(0, 2**32))
def test_fair_draws_without_a_seed_are_never_wrong(shares: list[list[float]], seed: int) -> None:
    assert draws(Random(seed), shares).wrong == ""


@pytest.mark.parametrize(("heat", "word"), [(0.1, "more likely"), (9.0, "less likely")])
def test_draws_at_another_temperature_are_wrong(heat: float, word: str) -> None:
    rng = Random(3)
    shares = [[rng.random() ** 4 + 1e-6 for _ in range(30)] for _ in range(200)]
    assert draws(rng, shares).wrong == ""
    assert word in draws(rng, shares, heat).wrong


def test_a_long_text_without_a_seed_comes_once_and_a_determined_one_again() -> None:
    free, even, sure = FreeDraws(), [dict.fromkeys(range(9), 0.1)] * 20, [{1: 0.3}] * 20
    assert free.add("a", [1] * 20, even) == ""
    assert free.add("b", [1] * 20, even) == ""
    assert free.add("a", [1] * 8, even[:8]) == ""
    assert "the same 20 tokens again" in free.add("a", [1] * 20, even)
    assert [free.add("c", [1] * 20, sure) for _ in range(2)] == ["", ""]


@pytest.mark.slow
def test_every_schema_that_is_drawn_has_a_grammar() -> None:
    if why := missing_schemas():
        pytest.skip(f"unavailable: {why}")
    rng = Random(1)
    for _ in range(200):
        assert grammar_of(schema(rng), VOCAB).name == "grammar"  # or InputError is raised
    with pytest.raises(InputError, match="llguidance"):
        grammar_of({"type": "no such type"}, VOCAB)


def test_a_server_without_llguidance_is_followed_by_the_grammar_that_it_reports() -> None:
    grammar = grammar_of({"const": "w7"}, VOCAB, 'root ::= " w7"')
    cand = Candidates.from_logits([0.0] * N)
    grammar.apply(cand)
    assert np.flatnonzero(cand.logits == 0.0).tolist() == [7]


def asker(differs: Callable[[DrawnRequest], bool]) -> Asker:
    """Return one whose answers differ if the last request does, by this function."""

    class Stub(Asker):
        def wrong(self, requests: Any) -> tuple[int, str, Answer] | None:
            if not any(map(differs, requests)):
                return None
            return 0, "another token", Answer({})

    with fake_server() as address, closing(logits()) as table:
        predictor = Predictor(DecodedModel(KNOWN, table), 0)
        return Stub(Client(address, DIALECT), predictor, lambda _: [], False)


def test_a_request_that_differs_is_shrunk_to_the_fields_that_it_needs() -> None:
    request = next(one for one in drawn(3) if len(one.fields) > 12)
    fields = request.fields | {"top_k": 900, "min_p": 0.2}
    whole = [DrawnRequest([1, 2]), replace(request, fields=fields, streamed=True)]

    def differs(one: DrawnRequest) -> bool:
        return one.fields.get("top_k") == 900 and one.streamed

    assert asker(differs).shrunk(whole, 1) == '{"top_k": 900, "stream": true}: '


def test_a_request_that_differs_no_more_is_named_as_seen_once() -> None:
    assert asker(lambda _: False).shrunk([DrawnRequest([1])], 0) == 'seen once, {"prompt": [1]}: '


def restated(name: str, change: Callable[[Any], Any]) -> Fault:

    def ask(body: Body) -> None:
        if body.get(name) is not None:
            body[name] = change(body[name])

    return Fault(ask)


def counts_more(answer: Body, _asked: Body) -> None:
    answer["tokens_evaluated"] += answer["stop_type"] == "limit"


def before_top_p(answer: Body, asked: Body) -> None:
    share = 0.9 if asked.get("top_p") is not None else 1.0
    for row in answer.get("completion_probabilities", ()):
        for one in [row, *row.get("top_probs", ())]:
            if "prob" in one:
                one["prob"] *= share


def without_ends_of_lines(piece: Body) -> None:
    piece["content"] = piece["content"].replace("\n", "")


def keeps_biases() -> Fault:
    before: list[Any] = [None]

    def ask(body: Body) -> None:
        asked = body.get("logit_bias")
        if before[0] and not asked:
            body["logit_bias"] = before[0]
        before[0] = asked

    return Fault(ask)


def counts_late(piece: Body) -> None:
    piece["tokens_predicted"] -= not piece["stop"]


def fixed_seed(body: Body) -> None:
    if body.get("seed") in (None, -1):
        body["seed"] = 4


def first_type(body: Body) -> None:
    schema = body.get("json_schema")
    if schema is not None and isinstance(schema.get("type"), list):
        schema["type"] = schema["type"][0]


def loses(*names: str) -> Fault:
    return Fault(lambda body: [body.pop(name, None) for name in names])


def once_for_equal(body: Body) -> None:
    """Answer equal prompts of a list with the text of the first, and leave the rest out."""
    prompt = body["prompt"]
    if isinstance(prompt, list) and not any(type(one) is int for one in prompt):
        body["prompt"] = [one for i, one in enumerate(prompt) if one not in prompt[:i]]


# Kinds: a value, a form, an answer, probabilities, a stream, a state. With each a word of the
# evidence.
PLANTED: dict[str, tuple[Fault, str]] = {
    "top_p is at least 0.2": (restated("top_p", lambda v: max(v, 0.2)), "top_p"),
    "letters are lost": (
        restated("samplers", lambda v: v if isinstance(v, list) else "kt"),
        "samplers",
    ),
    "counts one more": (Fault(answer=counts_more), "tokens_evaluated"),
    "sends p before top_p": (Fault(answer=before_top_p), "post_sampling_probs"),
    "a stream loses ends of lines": (Fault(piece=without_ends_of_lines), "stream"),
    "biases stay": (keeps_biases(), "logit_bias"),
    "a piece counts late": (Fault(piece=counts_late), "tokens_predicted of each"),
    "a part of an answer is not asked for": (loses("response_fields"), "response_fields"),
    "no seed is a fixed one": (Fault(fixed_seed), "without a seed, the same"),
    "a schema has its first type": (Fault(first_type), "json_schema"),
    "another name of the length is lost": (loses("max_tokens", "max_completion_tokens"), "max_"),
    "equal prompts are answered once": (Fault(once_for_equal), "answers to"),
}


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with started_here(SERVER) as address:
        yield address


def results(address: Address, seed: int) -> Iterator[ServerResult]:
    oracle = registry.oracle_of_server("llama-server", 1)
    assert oracle is not None
    client = Client(address, DIALECT, eos=oracle.model.vocab.eos)
    yield from check_random(client, oracle.model, CONTEXT, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_caught_with_the_field_that_shows_it(
    address: Address, name: str
) -> None:
    fault, word = PLANTED[name]
    with between(address, fault) as proxy:
        done = next(results(proxy, 3))
    assert done.verdict == "other meaning"
    assert done.evidence.startswith("seed 3, request ")
    assert word in done.evidence, done.evidence


@pytest.mark.nightly
def test_a_faithful_proxy_answers_every_random_request_as_predicted(address: Address) -> None:
    with between(address, Fault()) as proxy:
        done = [*results(proxy, 4)]
    assert [(r.name, r.verdict, r.evidence) for r in done if not r.met] == []
    assert len(done) == 3
