import json
import socket
from functools import partial
from pathlib import Path

import pytest

from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS, ServerParameter
from sampler_parity.programs.servers.effects import EFFECTS
from sampler_parity.programs.servers.parameters import check_parameter
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.run import ServerCheck, met, run_checks
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.speed import check_speed
from sampler_parity.reports.write import write_report
from tests.support.command_line import cli
from tests.support.fake_server import Answered, Sent, answered, fake_client, fake_server
from tests.support.raw_server import http_bytes, raw_server

ROWS = {row.name: row for row in DIALECTS["llama-server"].parameters}


def one_row(client: Client) -> list[ServerResult]:
    return [check_parameter(Probe(client, seeds=True), ROWS["top_k"])]


def test_every_effect_of_a_dialect_has_a_judge() -> None:
    named = {row.effect for dialect in DIALECTS.values() for row in dialect.parameters}
    assert named == EFFECTS.keys()


@pytest.mark.slow
def test_a_check_is_a_bundle_with_a_page_in_every_format(tmp_path: Path) -> None:
    found: list[str] = []
    with fake_client() as client:
        groups = (lambda client: iter(one_row(client)), partial(check_speed, widths=[1], rounds=1))
        asked = ServerCheck("mine", client, groups)
        done = run_checks(asked, tmp_path / "b", ["x"], lambda result: found.append(result.name))
    assert found == ["top_k", "1 client", "leaks"]
    assert met(done)
    write_report([tmp_path / "b"], tmp_path / "r", ["json", "md", "html", "junit"])
    page = (tmp_path / "r" / "servers.md").read_text()
    assert "3/3 as required on 1 servers" in page
    html = (tmp_path / "r" / "servers.html").read_text()
    assert "top_k 1 at temperature 2" in html
    assert "mine, 1 client: a token with the chain takes" in html
    assert 'tests="3"' in (tmp_path / "r" / "servers.junit.xml").read_text()


@pytest.mark.parametrize(
    ("name", "verdict"), [("top_k", "undocumented"), ("no_such_filter", "ignored")]
)
def test_what_a_dialect_lacks_is_reported_as_undocumented_or_ignored_and_is_no_fault(
    name: str, verdict: str
) -> None:
    row = ServerParameter(name, "greedy", 0, 1, documented=False)
    with fake_server() as address:
        found = check_parameter(Probe(Client(address, DIALECTS["llama-server"]), seeds=True), row)
    assert (found.verdict, found.met) == (verdict, True)


@pytest.mark.parametrize("name", ["logit_bias", "stop", "grammar", "seed", "ignore_eos"])
def test_a_constraint_that_is_refused_passes(name: str) -> None:
    def refusing(sent: Sent) -> Answered:
        constrained = sent.get(name) not in (None, ROWS[name].neutral)
        return (400, {"error": f"no {name} here"}) if constrained else answered(sent)

    with fake_client(refusing) as client:
        found = check_parameter(Probe(client, seeds=True), ROWS[name])
    assert (found.verdict, found.met) == ("refused", True)
    assert f"no {name} here" in found.evidence


def test_a_server_that_refuses_every_request_refuses_no_constraint() -> None:
    with fake_client(lambda _: (400, {"error": "no"})) as client:
        found = check_parameter(Probe(client, seeds=True), ROWS["logit_bias"])
    assert (found.verdict, found.met) == ("error", False)


def test_a_chat_is_asked_by_a_message_and_its_answer_read_whole_and_in_parts() -> None:
    asked: list[Sent] = []

    def chat(sent: Sent) -> Answered:
        asked.append(sent)
        place = {"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}]}
        message = {"role": "assistant", "content": "a b"}
        choice = {"message": message, "logprobs": {"content": [place]}, "finish_reason": "stop"}
        return 200, {"choices": [choice]}

    dialect = DIALECTS["openai-chat"]
    with fake_server(chat) as address:
        client = Client(address, dialect)
        answer = client.complete("Hi", {"max_tokens": 2})
        again = client.complete("Hi", client.parameters_of(answer.sent))
    assert asked[0] == {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    assert asked[1] == asked[0]
    assert (answer.text, answer.ended, answer.reports[0].top[0].logprob) == ("a b", "stop", -0.5)
    assert again.text == "a b"
    parts = [{"role": "assistant", "content": None}, {"content": "a"}, {"content": " b"}, {}]
    lines = [{"choices": [{"delta": part, "finish_reason": None}]} for part in parts]
    body = b"".join(b"data: " + json.dumps(line).encode() + b"\n\n" for line in lines)
    with raw_server(http_bytes(body)) as raw:
        streamed = Client(raw.address, dialect).streamed("Hi", {})
    assert streamed.text == "a b"


def test_where_nobody_answers_one_line_says_so_and_no_bundle_is_made(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"  # bound, and not listening
        done = cli("server", "check", url, "--dialect", "llama-server", "-o", tmp_path / "b")
    assert done.returncode == 2
    assert done.stderr == (
        f"sampler-parity: {url}: cannot be reached: Connection refused - start the server\n"
    )
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vllm", "--golden"], "nothing predicts its tokens - --golden works with llama-server"),
        (["llama-server", "--build", "b1"], "add --golden"),
        (["llama-server", "--golden", "--build", "b1"], "neither a registered build nor a folder"),
    ],
)
def test_what_cannot_be_predicted_is_refused_before_anything_is_asked(
    words: list[str], message: str
) -> None:
    done = cli("server", "check", "http://127.0.0.1:1", "--dialect", *words)
    assert done.returncode == 2
    assert message in done.stderr
