"""Each dimension of a request is asked: what a later parameter lacks is refused here."""

import json
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
import pytest

from sampler_parity.engines.xllamacpp.oracle import sets_of
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS, ServerParameter
from sampler_parity.programs.servers.state import KINDS, kinds_of
from tests.support.fake_server import Answered, Sent, answered, fake_server
from tests.support.once import once_of_all
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


def test_each_two_parameters_are_set_together_and_apart() -> None:
    names = [*DIALECT.together]
    assert {row.name for row in ROWS} - {*names} == APART.keys()
    several = [{*one} for one in sets_of(names)]
    for a, b in product(names, repeat=2):
        if a != b:
            assert any({a, b} <= one for one in several[1:]) or {a, b} <= several[0]
            assert any(a in one and b not in one for one in several), (a, b)
