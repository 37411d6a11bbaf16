"""Each statement of a fingerprint, on servers with a known order and meanings, and wrong ones."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS, UNKNOWN
from sampler_parity.programs.servers.fingerprint.fingerprint import STATEMENTS, fingerprint
from sampler_parity.programs.servers.fingerprint.known_engines import (
    alike,
    known_engines,
    likenesses,
    release,
)
from sampler_parity.programs.servers.fingerprint.self_report import self_report
from sampler_parity.programs.servers.fingerprint.trait import (
    UNDETERMINED,
    Trait,
    probe_of,
    trait_of,
)
from sampler_parity.reference.pipelines.common_chain import DEFAULT_ORDER
from tests.support.command_line import cli
from tests.support.fake_server import Answered, Answering, Sent, answered, fake_server
from tests.support.raw_server import http_bytes, raw_server
from tests.support.server_faults import FAULTS, Faulty, drops, makes, renames

LLAMA_SERVER = known_engines()[0]
BY_NAME = {fault.name: fault.between for fault in FAULTS}


def order(*names: str) -> Faulty:
    """A server with this order, which takes none by name."""
    return lambda server: lambda sent: server({**sent, "samplers": list(names)})


def default_order(*names: str) -> Faulty:
    return lambda server: lambda sent: server({"samplers": list(names), **sent})


def moved(name: str, before: str) -> tuple[str, ...]:
    rest = [other for other in DEFAULT_ORDER if other != name]
    place = rest.index(before)
    return (*rest[:place], name, *rest[place:])


def refuses_unknown(server: Answering) -> Answering:
    def answering(sent: Sent) -> Answered:
        return (400, {"error": "unknown"}) if UNKNOWN in sent else server(sent)

    return answering


def sees_the_last_token(server: Answering) -> Answering:
    return lambda sent: server({**sent, "prompt": sent["prompt"][-5:]})


def ignores_a_bias_of_one(server: Answering) -> Answering:
    def answering(sent: Sent) -> Answered:
        left = {k: v for k, v in sent.items() if k != "logit_bias"}
        return server(left if sent.get("top_k") == 1 else sent)

    return answering


QUICK: dict[tuple[str, str], Faulty] = {
    ("unknown names", "refused"): refuses_unknown,
    ("seed", "has no effect"): BY_NAME["keeps the seed"],
    ("seed", "does not repeat"): BY_NAME["draws a new seed"],
    ("frequency_penalty", "once per token"): renames("frequency_penalty", "presence_penalty"),
    ("penalties and top_k", "top_k first"): order(*moved("penalties", "typ_p")),
    ("logprobs and temperature", "after"): BY_NAME["sends logprobs after the temperature"],
    ("logprobs and top_k", "after"): BY_NAME["sends logprobs after the filters"],
}
SLOW: dict[tuple[str, str], Faulty] = {
    ("temperature and top_p", "temperature first"): order("temperature", *DEFAULT_ORDER[:-1]),
    ("temperature and min_p", "temperature first"): order("temperature", *DEFAULT_ORDER[:-1]),
    ("top_k and top_p", "top_p first"): order(*moved("top_p", "top_k")),
    ("min_p and top_p", "min_p first"): order(*moved("min_p", "top_p")),
    ("penalties and temperature", "temperature first"): order(*DEFAULT_ORDER[1:], "penalties"),
    ("logit_bias and top_k", "top_k first"): ignores_a_bias_of_one,
    ("the token that crosses top_p", "left out"): makes(
        "top_p", lambda p: p * 0.5 if 0.01 < p < 1 else p
    ),
    ("prompt, for frequency_penalty", "does not count"): sees_the_last_token,
    ("top_k 0", "one token"): makes("top_k", lambda k: k or 1),
    ("min_keep", "has no effect"): drops("min_keep"),
    ("dry_penalty_last_n -1", "off"): makes("dry_penalty_last_n", lambda n: max(n, 0)),
    ("temperature 0", "draws"): makes("temperature", lambda t: t or 1.0),
    ("default temperature", "0.7"): lambda s: lambda sent: s({"temperature": 0.7, **sent}),
    ("default temperature", "another"): BY_NAME["has a temperature of its own"],
    ("order of samplers", ", ".join(moved("min_p", "top_k"))): default_order(
        *moved("min_p", "top_k")
    ),
    ("adaptive_target", "has no effect"): drops("adaptive_target"),
}
# Differences of the server in this process: no seed is below 0, and DRY takes -1.
OWN = {"seed -1": "refused", "dry_penalty_last_n -1": "off"}


def statement_trait(statement: str, answering: Answering) -> Trait:
    with fake_server(answering) as address:
        client = Client(address, DIALECTS["llama-server"])
        probe = probe_of(client, time.monotonic() + 60, undocumented=True)
        if statement not in ("seed", "unknown names"):
            STATEMENTS["seed"](probe)
        return trait_of(probe, STATEMENTS[statement])


NIGHTLY = [pytest.param(*row, marks=pytest.mark.nightly) for row in SLOW]


@pytest.mark.parametrize(("statement", "says"), [*QUICK, *NIGHTLY])
def test_a_wrong_order_or_meaning_changes_the_answer(statement: str, says: str) -> None:
    trait = statement_trait(statement, (QUICK | SLOW)[statement, says](answered))
    assert trait.value == says, trait.evidence
    assert says != LLAMA_SERVER.says[statement]


@pytest.mark.nightly
def test_every_order_and_meaning_of_a_known_server_is_named() -> None:
    with fake_server() as address:
        client = Client(address, DIALECTS["llama-server"])
        done = fingerprint(client, "nothing", lambda _: None, 600)
    facts = {statement.name: statement.says for statement in done.statements}
    assert facts == {**LLAMA_SERVER.says, **OWN}
    assert done.resembles == [LLAMA_SERVER.name]
    assert done.release == "b10361 or later"


def test_where_the_time_is_over_nothing_is_reported_and_nothing_sent() -> None:
    with fake_server() as address:
        client = Client(address, DIALECTS["llama-server"])
        done = fingerprint(client, "nothing", lambda _: None, seconds=-1)
    assert {statement.says for statement in done.statements} == {UNDETERMINED}
    assert (done.requests, done.resembles) == (0, [])


def test_a_server_is_like_the_engine_whose_statements_it_shares() -> None:
    for engine in known_engines():
        assert alike(likenesses(engine.says)) == [engine.name]
    changed = {**LLAMA_SERVER.says, "top_p 0": "refused"}
    rows = likenesses(changed)
    assert alike(rows) == [rows[0].engine]
    assert rows[0].differs == ["top_p 0: refused, there one token"]


def test_a_server_that_shares_little_or_tells_little_is_like_none() -> None:
    few = dict(list(LLAMA_SERVER.says.items())[:7])
    assert alike(likenesses(few)) == []
    assert alike(likenesses(dict.fromkeys(LLAMA_SERVER.says, "otherwise"))) == []


def test_a_release_is_a_range_of_what_came_and_went() -> None:
    assert release({"typical_p 0": "more than one token"})[0] == "b4980 or earlier"
    newer = {"top_n_sigma": "has an effect", "dry_penalty_last_n -1": "all of the context"}
    assert release(newer)[0] == "b4753 or later, b10068 or earlier"
    assert release({})[0] == UNDETERMINED


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        ({"build_info": "b9000-abc"}, "llama-server"),
        ({"version": "0.9.1"}, "ollama"),
        ({"data": [{"id": "m", "owned_by": "me"}]}, "llama-cpp-python"),
        ({"data": [{"id": "m", "owned_by": "somebody"}]}, "openai"),
        ({"data": [7]}, "openai"),
        ({}, ""),
        ([1], ""),
    ],
)
def test_the_dialect_is_found_by_what_a_server_reports_of_itself(data: Any, dialect: str) -> None:
    with raw_server(http_bytes(json.dumps(data).encode())) as raw:
        assert self_report(raw.address, 5).dialect == dialect


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[Address]:
    from sampler_parity.programs.servers.fingerprint import fingerprint as module

    names = ("unknown names", "seed")
    monkeypatch.setattr(module, "STATEMENTS", {name: STATEMENTS[name] for name in names})
    with fake_server() as address:
        yield address


def test_the_command_says_each_statement_with_its_evidence(few: Address, tmp_path: Path) -> None:
    done = cli(
        *("server", "fingerprint", few.url, "-d", "llama-server"), "--json", tmp_path / "f.json"
    )
    assert done.returncode == 0
    assert "seed                               repeats - seed 7 twice one text" in done.stdout
    assert "2/2 determined" in done.stdout
    assert done.stdout.rstrip().endswith("resembles nothing known")
    written = json.loads((tmp_path / "f.json").read_text())
    assert [statement["says"] for statement in written["statements"]] == [
        *("accepted silently", "repeats")
    ]
    assert written["statements"][1]["curl"].startswith("curl http://127.0.0.1:")


def test_a_server_that_says_nothing_of_itself_needs_its_dialect(few: Address) -> None:
    done = cli("server", "fingerprint", few.url)
    assert done.returncode == 2
    assert done.stderr.endswith("answers - name its dialect with --dialect\n")
