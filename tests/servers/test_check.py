import socket
from functools import partial
from pathlib import Path

from sampler_parity.harness.bundle.records.server import ServerResult, ServerVerdict
from sampler_parity.harness.servers.asking import Client
from sampler_parity.harness.servers.check import Check, check, met
from sampler_parity.harness.servers.dialects import DIALECTS
from sampler_parity.harness.servers.parameters import Texts, one
from sampler_parity.harness.servers.speed import check_speed
from sampler_parity.reports.write import write_report
from tests.support.command_line import cli
from tests.support.fake_server import EOS, fake_server

ROWS = {row.name: row for row in DIALECTS["llama-server"].parameters}


def one_row(client: Client) -> list[ServerResult]:
    return [one(Texts(client), ROWS["top_k"])]


def test_a_check_is_a_bundle_with_a_page_in_every_format(tmp_path: Path) -> None:
    said: list[str] = []
    with fake_server() as address:
        client = Client(address, DIALECTS["llama-server"], eos=EOS)
        groups = (lambda client: iter(one_row(client)), partial(check_speed, widths=[1], rounds=1))
        asked = Check("mine", client, groups)
        done = check(asked, tmp_path / "b", ["x"], lambda result: said.append(result.name))
    assert said == ["top_k", "1 client"]
    assert met(done)
    write_report([tmp_path / "b"], tmp_path / "r", ["json", "md", "html", "junit"])
    page = (tmp_path / "r" / "servers.md").read_text()
    assert "2/2 as required on 1 servers" in page
    html = (tmp_path / "r" / "servers.html").read_text()
    assert "top_k 1 at temperature 2" in html
    assert "mine, 1 client: a token with the chain takes" in html
    assert 'tests="2"' in (tmp_path / "r" / "servers.junit.xml").read_text()


def test_a_known_verdict_is_required_so_that_a_mended_server_is_seen(tmp_path: Path) -> None:
    with fake_server() as address:
        client = Client(address, DIALECTS["llama-server"], eos=EOS)
        known: dict[str, tuple[ServerVerdict, ...]] = {"parameter/top_k": ("ignored",)}
        asked = Check("mine", client, (lambda client: iter(one_row(client)),), known=known)
        done = check(asked, tmp_path / "b", ["x"], lambda _: None)
    assert not met(done)


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
