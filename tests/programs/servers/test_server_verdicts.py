"""Two checks of servers, compared with each other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.parameters import check_parameter
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.run import ServerCheck, run_checks
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.command_line import cli
from tests.support.fake_server import Answering, answered, fake_client
from tests.support.server_faults import drops

ROWS = {row.name: row for row in DIALECTS["llama-server"].parameters}


def bundle(folder: Path, answering: Answering, *names: str) -> Path:
    def rows(client: Client) -> Iterator[ServerResult]:
        texts = Probe(client, seeds=True)
        return (check_parameter(texts, ROWS[name]) for name in names)

    with fake_client(answering) as client:
        run_checks(ServerCheck("mine", client, (rows,)), folder, ["x"], lambda _: None)
    return folder


@pytest.mark.slow
def test_what_a_newer_server_ignores_is_reported_with_the_evidence_of_both(tmp_path: Path) -> None:
    old = bundle(tmp_path / "old", answered, "top_k", "min_p")
    new = bundle(tmp_path / "new", drops("top_k")(answered), "top_k", "min_p", "top_p")
    done = cli("compare", old, new)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == f"compare  mine (llama-server) of {old}"
    assert lines[1] == f"with     mine (llama-server) of {new}   1/3 verdicts differ"
    assert lines[2].split() == ["parameter/top_k", "honoured", "->", "ignored"]
    assert lines[3] == "    was: top_k 1 at temperature 2: the greedy text"
    assert lines[4].startswith("    now: top_k 1 at temperature 2: the text stays")
    assert lines[5] == f"  mine (llama-server) of {new} alone has parameter/top_p"


@pytest.mark.slow
def test_servers_that_are_alike_have_no_difference(tmp_path: Path) -> None:
    old, new = (bundle(tmp_path / name, answered, "top_k") for name in ("old", "new"))
    done = cli("compare", old, new)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0/2 verdicts differ" in done.stdout
    done = cli("compare", old, new, "-o", tmp_path / "page")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "leave out -o" in done.stderr
