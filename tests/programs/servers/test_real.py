"""Real servers on the golden model, if their environments are installed."""

from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.fingerprint.fingerprint import fingerprint
from sampler_parity.programs.servers.fingerprint.known_engines import known_engines
from sampler_parity.programs.servers.fingerprint.self_report import self_report
from sampler_parity.programs.servers.invariants import OF_LLAMA_SERVER
from sampler_parity.programs.servers.launch import real_servers
from sampler_parity.programs.servers.run import EVERYWHERE, check_of_started, met, run_checks
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.command_line import cli
from tests.support.real_server import started_here

REAL = real_servers()

EACH = 2
RANDOM = 3  # results of random requests
# The number of its statements. Six are not reported: a penalty that leaves out the prompt changes
# none of the golden model's greedy texts.
REPORTED = {"vllm": 24}
# What OpenAI's dialects do not offer.
OF_OTHER_DIALECTS = {
    *(f"state/after {kind}" for kind in ("a grammar", "a schema")),
    *(f"state/every answer: {name}" for name in OF_LLAMA_SERVER),
}

# What OpenAI's dialects do not expect of each: llama-server's penalties count the prompt, and its
# usage is that of the first choice. llama-cpp-python has no choices, and cuts streams (finding 58).
OF_SERVERS = {
    "llama-server": {"parameter/frequency_penalty", "state/every answer: lengths"},
    "llama-cpp-python": {
        *(f"state/{row}" for row in ("4 streams at once", "32 at once", "every answer: counts")),
        *("state/choices", "state/choices with a seed", "parameter/repeat_penalty"),
    },
}


def checked(name: str, folder: Path) -> Bundle:
    with started_here(REAL[name]) as address:
        return run_checks(
            check_of_started(REAL[name], address, EACH), folder, ["pytest"], lambda _: None
        )


@pytest.mark.nightly
@pytest.mark.parametrize("name", list(REAL))
def test_a_real_server_is_as_it_is_known_to_be(name: str, tmp_path: Path) -> None:
    done = checked(name, tmp_path / name)
    wrong = [r for r in done.of(ServerResult) if not r.met and r.verdict != "skipped"]
    assert [(r.id, r.verdict, r.evidence) for r in wrong] == []
    assert met(done)


@pytest.mark.nightly
@pytest.mark.parametrize("name", list(REAL))
def test_a_real_server_resembles_its_own_engine(name: str) -> None:
    with started_here(REAL[name]) as address:
        client = Client(address, DIALECTS[REAL[name].dialect])
        done = fingerprint(client, self_report(address, 10).text, lambda _: None, seconds=200)
    (engine,) = done.resembles
    assert engine.lower().startswith(name.replace("mlx-lm", "mlx lm"))
    assert done.likes[0].differs == []
    says = next(e for e in known_engines() if e.name == engine).says
    assert done.likes[0].told == REPORTED.get(name, len(says))


@pytest.mark.nightly
def test_a_server_that_somebody_else_started_on_the_golden_model_is_predicted(
    tmp_path: Path,
) -> None:
    real = REAL["llama-cpp-python"]  # its logits are those of the installed llama.cpp
    asked = ["--dialect", real.dialect, "--golden", "--each", "2", "-o", str(tmp_path / "b")]
    with started_here(real) as address:
        cli("server", "check", address.url, *asked)
    exact = [r for r in read_finished(tmp_path / "b").of(ServerResult) if r.group == "exact"]
    assert len(exact) == 21
    assert [r.evidence for r in exact if r.verdict != "honoured"] == []


@pytest.mark.nightly
@pytest.mark.parametrize("dialect", ["openai", "openai-chat"])
@pytest.mark.parametrize("name", ["llama-server", "llama-cpp-python"])
def test_openais_dialects_are_spoken_but_for_defaults_of_the_servers_own(
    name: str, dialect: str
) -> None:
    with started_here(REAL[name]) as address:
        client = Client(address, DIALECTS[dialect])
        results = {result.id: result for group in EVERYWHERE for result in group(client)}
    not_offered = {id for id, result in results.items() if result.verdict == "skipped"}
    assert not_offered == OF_OTHER_DIALECTS
    wrong = {id for id, result in results.items() if not result.met} - not_offered
    defaults = {"parameter/temperature", "parameter/top_p"}
    assert wrong == defaults | OF_SERVERS[name]
    assert all("default" in results[id].evidence for id in defaults)
    more = {"top_k", "min_p", "repeat_penalty" if name == "llama-server" else "min_tokens"}
    assert {r.name for r in results.values() if r.verdict == "undocumented"} == more


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "chains"), [("llama-server", 66 + RANDOM), ("llama-cpp-python", 21)]
)
def test_every_token_of_every_chain_is_predicted(name: str, chains: int, tmp_path: Path) -> None:
    exact = [r for r in checked(name, tmp_path / name).of(ServerResult) if r.group == "exact"]
    assert len(exact) == chains
    assert {r.verdict for r in exact} == {"honoured"}
    assert sum(r.tokens for r in exact) > 10 * (chains - RANDOM)
