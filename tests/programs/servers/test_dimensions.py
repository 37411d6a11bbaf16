"""Each dimension of a request is asked: what a later parameter lacks is refused here."""

import json
import unicodedata
from collections.abc import Iterator
from itertools import pairwise, product
from string import punctuation

import numpy as np
import pytest

from sampler_parity.engines.xllamacpp.oracle import sets_of
from sampler_parity.engines.xllamacpp.requests import (
    AT_ONCE,
    KINDS_OF_TEXT,
    SCHEMAS,
    TEXTS,
    obeys_pattern,
    overlapping,
)
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS, ServerParameter
from sampler_parity.programs.servers.state import KINDS, LOUD, LOUD_STREAM, PLAIN, kinds_of, leaving
from tests.support.fake_server import Answered, N, Sent, answered, fake_server, instance
from tests.support.once import once_of_all
from tests.support.server_faults import without
from tests.support.server_results import results

DIALECT = DIALECTS["llama-server"]
ROWS = [row for row in DIALECT.parameters if row.documented]

# A parameter whose values are few, with the reason.
FEW = {
    "ignore_eos": "true and false",
    "adaptive_decay": "acts on tokens that were drawn before, so that texts show it",
    "mirostat": "three values",
    "grammar": "a text",
    "json_schema": "an object",
}
# A parameter that no request sets together with all others, with the reason.
APART = {
    "mirostat": "replaces the samplers",
    "mirostat_tau": "of mirostat",
    "mirostat_eta": "of mirostat",
    "adaptive_target": "of a sampler that is the last one",
    "adaptive_decay": "the same",
    "dry_sequence_breakers": "ends what the other DRY parameters act on",
    "json_schema": "is refused with a grammar",
    "ignore_eos": "bans tokens that the list has no mark of",
    "n_predict": "each of these requests draws one token",
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[Sent]:
    """Return all requests of a check, in order."""
    several: list[Sent] = once_of_all(tmp_path_factory, "requests", all_requests)
    return several


def all_requests() -> list[Sent]:
    several: list[Sent] = []

    def recorded(sent: Sent) -> Answered:
        several.append(sent)
        return answered(sent)

    list(results(recorded))
    return [sent for sent in several if "prompt" in sent]


def test_what_all_processes_share_is_made_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return made

    assert [once_of_all(tmp_path_factory, "shared", make) for _ in range(2)] == [[1], [1]]
    assert made in ([1], [])  # or another process made it


def values(asked: list[Sent], name: str, streams: bool) -> set[str]:
    """Return the values of a parameter as JSON, where it is sent plain or in a stream."""
    return {
        json.dumps(sent[name])
        for sent in asked
        if name in sent and bool(sent.get("stream")) == streams
    }


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_parameter_is_asked_on_a_ladder_plain_and_in_streams(
    row: ServerParameter, asked: list[Sent]
) -> None:
    plain, streamed = (values(asked, row.name, streams) for streams in (False, True))
    least = 2 if row.name in FEW else 5
    assert len(plain) >= least, plain
    assert len(streamed) >= (1 if row.name in FEW else 2), streamed
    assert any(row.name not in sent for sent in asked)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_parameter_with_a_default_is_asked_with_null(
    row: ServerParameter, asked: list[Sent]
) -> None:
    if (row.exact or row.span) and row.effect != "seed":
        assert "null" in values(asked, row.name, False) | values(asked, row.name, True)
    else:
        assert row.name in {*FEW, "seed", "n_predict", "stop", "mirostat_tau", "mirostat_eta"}


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if row.span], ids=lambda row: row.name)
def test_a_number_has_values_of_each_class_that_its_span_allows(
    row: ServerParameter, asked: list[Sent]
) -> None:
    several = values(asked, row.name, False) | values(asked, row.name, True)
    numbers = [json.loads(value) for value in several if value[0] not in '"[' and value != "null"]
    low, high = row.span
    whole = type(row.default) is int
    classes = {
        "a fraction that no float16 has": lambda v: abs(v) < 65504 and v != float(np.float16(v)),
        "below 1, near 0": lambda v: 0 < abs(v) < 0.05,
        "near 1": lambda v: 0 < abs(v - 1) < 0.05,
        "a neighbour of 16": lambda v: v in (15, 17),
        "above 64": lambda v: v > 64,
        "below 0": lambda v: v < 0,
    }
    allowed = {
        "a fraction that no float16 has": not whole,
        "below 1, near 0": not whole and low <= 0.0137,
        "near 1": not whole and high > 1,
        "a neighbour of 16": whole and high >= 17,
        "above 64": high > 64,
        "below 0": low < 0,
    }
    missing = {name for name, of in classes.items() if not any(map(of, numbers))}
    assert not {name for name in missing if allowed[name]}


@pytest.mark.slow
def test_biases_are_small_and_large_with_both_signs_and_of_the_first_tokens(
    asked: list[Sent],
) -> None:
    biases = [sent["logit_bias"] for sent in asked if isinstance(sent.get("logit_bias"), list)]
    pairs = [(token, bias) for several in biases for token, bias in several]
    numbers = [bias for _, bias in pairs if type(bias) is float]
    for least, most in ((0, 1), (1, 10), (10, 30), (30, 100), (100, 128), (128, 999)):
        for sign in (1, -1):
            assert any(least < sign * bias < most for bias in numbers), (least, most, sign)
    assert {0, 1, 2} <= {token for token, bias in pairs if bias == 1000.0}


@pytest.mark.slow
def test_a_client_that_leaves_is_followed_at_once_by_others_again_and_again(
    asked: list[Sent],
) -> None:
    with fake_server() as address:
        kinds = {what: kind for what, kind in leaving(Client(address, DIALECT)) if kind.leaves}
    assert len(kinds) == 2 + len(DIALECT.endless)
    for name in ("grammar", "json_schema", "n_probs"):
        assert any(name in kind.sent for kind in kinds.values())
    bodies = [*_keys(asked)]
    for kind in kinds.values():
        key = _key(kind.sent, kind.prompt, True)
        followed = [asked[i + 1] for i, body in enumerate(bodies[:-1]) if body == key]
        assert len(followed) >= 4
        assert all("temperature" not in sent for sent in followed[:4])


def test_texts_have_each_kind_of_character_once_and_again() -> None:
    kinds = [*KINDS_OF_TEXT.values()]
    assert {*punctuation} <= {*kinds}
    assert {unicodedata.category(c) for text in kinds for c in text} >= {
        *("Zs", "Zl", "Cc", "Cf", "Mn", "Ll", "Lu", "Lo", "So", "Sm", "Sc", "Nd")
    }
    for text, c in KINDS_OF_TEXT.items():
        assert text.startswith(c)
        assert c * 3 in text
        assert text in TEXTS
    assert any(unicodedata.normalize("NFC", c) != c for c in kinds)
    assert any(unicodedata.normalize("NFKC", c) != unicodedata.normalize("NFC", c) for c in kinds)


@pytest.mark.slow
def test_fields_without_a_bound_are_asked_up_to_a_large_size(asked: list[Sent]) -> None:
    for name, size in (("grammar", 10_000), ("json_schema", 10_000), ("samplers", 60),
                       ("logit_bias", 1000), ("stop", 1000),
                       ("dry_sequence_breakers", 60)):  # fmt: skip
        several = [sent[name] for sent in asked if isinstance(sent.get(name), str | dict | list)]
        sizes = [len(json.dumps(one) if isinstance(one, dict) else one) for one in several]
        assert max(sizes) >= size, name
    assert {len(stop) for sent in asked for stop in _listed(sent.get("stop"))} >= {1, 17, 33, 257}


def _listed(stops: object) -> list[str]:
    return stops if isinstance(stops, list) else []


@pytest.mark.slow
def test_whole_numbers_come_with_a_point_and_biases_in_each_form(asked: list[Sent]) -> None:
    for row in ROWS:
        if type(row.default) is int and row.span:
            forms = values(asked, row.name, False) | values(asked, row.name, True)
            assert any(form.endswith(".0") for form in forms), row.name
    biases = [sent["logit_bias"] for sent in asked if sent.get("logit_bias")]
    firsts = {type(b).__name__ if isinstance(b, dict) else type(b[0][0]).__name__
              for b in biases if isinstance(b, list | dict)}  # fmt: skip
    assert firsts == {"dict", "int", "str"}


@pytest.mark.slow
def test_each_kind_of_request_comes_before_and_after_each_other(asked: list[Sent]) -> None:
    with fake_server() as address:
        kinds = kinds_of(Client(address, DIALECT))
    assert {*kinds} == {*KINDS}
    bodies = {kind: _key(one.sent, one.prompt, one.streams) for kind, one in kinds.items()}
    assert len({*bodies.values()}) == len(kinds)
    followed = {*pairwise(_keys(asked))}
    assert not {
        (a, b) for a, b in product(KINDS, repeat=2) if (bodies[a], bodies[b]) not in followed
    }


def _key(sent: Sent, prompt: object, streams: bool) -> str:
    always = {name: sent.get(name, value) for name, value in DIALECT.always.items()}
    whole = {**always, **sent, "prompt": prompt} | ({"stream": True} if streams else {})
    return json.dumps(whole, sort_keys=True)


def _keys(asked: list[Sent]) -> Iterator[str]:
    for sent in asked:
        yield json.dumps(sent, sort_keys=True)


def test_the_loud_requests_state_every_parameter_that_the_plain_one_leaves_out() -> None:
    with fake_server() as address:
        kinds = kinds_of(Client(address, DIALECT))
    left_out = {row.name for row in ROWS} - kinds[PLAIN].sent.keys()
    shapes = {"grammar", "json_schema"}  # kinds of their own
    for kind in (LOUD, LOUD_STREAM):
        assert left_out - kinds[kind].sent.keys() == shapes


def test_each_two_parameters_are_set_together_and_apart() -> None:
    names = [*DIALECT.together]
    assert {row.name for row in ROWS} - {*names} == APART.keys()
    several = [{*one} for one in sets_of(names)]
    for a, b in product(names, repeat=2):
        if a != b:
            assert any({a, b} <= one for one in several[1:]) or {a, b} <= several[0]
            assert any(a in one and b not in one for one in several), (a, b)


# The keywords that limit a schema, of llama.cpp's grammars/README.md.
LIMITS = {
    *("minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "pattern", "format", "enum", "const", "anyOf", "$ref", "required"),
    "additionalProperties",
}
# The generator of the fake server adds nothing that these keywords forbid.
UNSEEN = {"additionalProperties", "enum", "const", "anyOf", "$ref"}


def _names(schema: object) -> set[str]:
    if isinstance(schema, dict):
        return {*schema} | {name for part in schema.values() for name in _names(part)}
    return {name for part in schema for name in _names(part)} if isinstance(schema, list) else set()


def test_each_limit_of_a_schema_is_asked() -> None:
    assert {name for schema, _ in SCHEMAS for name in _names(schema)} >= LIMITS


@pytest.mark.parametrize("name", sorted(LIMITS - UNSEEN))
def test_a_value_outside_each_limit_disobeys(name: str) -> None:
    asked = [(schema, obeys) for schema, obeys in SCHEMAS if name in _names(schema)]
    for schema, obeys in asked:
        assert obeys_pattern(json.dumps(instance(schema, schema)), obeys)
    loose = [(without(schema, (name,)), obeys) for schema, obeys in asked]
    assert not all(
        obeys_pattern(json.dumps(instance(schema, schema)), obeys) for schema, obeys in loose
    )


def test_known_texts_have_characters_of_each_size_and_stop_strings_that_overlap() -> None:
    assert {len(c.encode()) for text in TEXTS for c in text} == {1, 2, 3, 4}
    for text in TEXTS:
        several = overlapping(text)
        assert len({len(stop) for stop in several}) >= 3
        for stop in several:
            assert text.find(stop[: (len(stop) + 1) // 2]) < text.find(stop)


@pytest.mark.slow
def test_what_leaves_something_states_every_parameter_and_then_one_does_not(
    asked: list[Sent],
) -> None:
    with fake_server() as address:
        kinds = dict(leaving(Client(address, DIALECT)))
    assert len([name for name in kinds if "refused" in name]) >= 5
    names = {row.name for row in ROWS} - {"grammar", "json_schema"}
    for kind in kinds.values():
        assert names <= kind.sent.keys()
        assert kind.sent["temperature"] == 0.0
    for lacks in ({"temperature", "n_predict"}, {"seed"}):
        assert len([sent for sent in asked if not lacks & sent.keys()]) > len(kinds)


@pytest.mark.slow
def test_ranks_ids_and_lists_go_up_to_the_vocabulary(asked: list[Sent]) -> None:
    for name, most in (("top_k", N + 1), ("n_probs", N)):
        assert max(sent[name] for sent in asked if isinstance(sent.get(name), int)) >= most
    assert [[N - 1, 1000.0]] in [sent.get("logit_bias") for sent in asked]
    assert [[N, 1000.0]] in [sent.get("logit_bias") for sent in asked]


def test_clients_at_once_are_greedy_drawn_penalized_biased_filtered_and_held_to_a_grammar() -> None:
    stated = {name for sent in AT_ONCE.values() for name in sent}
    assert {} in AT_ONCE.values()
    assert stated >= {"temperature", "top_k", "repeat_penalty", "logit_bias", "grammar"}
