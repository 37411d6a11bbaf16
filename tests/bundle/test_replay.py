"""harness/bundle/replay.py: the line of a report runs its case again, from any folder."""

import contextlib
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.replay import command, replay
from sampler_parity.harness.cli.app import app
from tests.support.report_bundles import run_info
from tests.support.suites import SMALL

ADAPTER = f"""#!/bin/sh
exec '{sys.executable}' -m sampler_parity.harness.backends.worker $(cat "$1")
"""
CASE = "small/many/normal-V128-k0-seed1"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a suite, an adapter, and a file that the adapter is given."""
    folder = tmp_path / "my work"
    folder.mkdir()
    (folder / "small.toml").write_text(SMALL)
    (folder / "adapter").write_text(ADAPTER)
    (folder / "adapter").chmod(0o755)
    (folder / "fault").write_text("mutant top_k/zero-means-one")
    return folder


def run_in(folder: Path, *words: str) -> str:
    """Run a suite that is not met, and return the output."""
    folder.mkdir(exist_ok=True)
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 1, done.output
    return done.output


@pytest.mark.slow
def test_a_suite_and_an_adapter_given_by_path_are_replayed_from_any_folder(
    work: Path, tmp_path: Path, as_it_fails: None
) -> None:
    some = ("--case", CASE, "-j", "1")
    run_in(work, "run", "small.toml", *some, "-b", "mine=./adapter fault --x", "-o", "b")
    output = CliRunner().invoke(app, ["explain", str(work / "b"), CASE]).output
    (line,) = (line for line in output.splitlines() if "replay: " in line)
    program, *words = shlex.split(line.partition("replay: ")[2])
    assert program == "sampler-parity"
    assert words == [
        *("run", str(work / "small.toml"), "--case", CASE),
        *("-b", f"mine={shlex.join([str(work / 'adapter'), str(work / 'fault'), '--x'])}"),
    ]
    run_in(tmp_path / "elsewhere", *words, "-o", "again")
    first, again = (read_finished(f) for f in (work / "b", tmp_path / "elsewhere" / "again"))
    assert [(case.id, case.backends["mine"].verdict) for case in again.cases] == [
        (CASE, "diverged")
    ]
    assert again.cases[0].backends["mine"].values == first.cases[0].backends["mine"].values


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mine=./adapter fault", "mine='FOLDER/adapter' 'FOLDER/fault'"),
        ("mine=./adapter --from=fault", "mine='FOLDER/adapter' '--from=FOLDER/fault'"),
        ("./adapter fault", "./adapter fault='FOLDER/adapter' 'FOLDER/fault'"),
        ("mine=node sub x", "mine=node sub x"),  # a word of the command, and not the folder
        ("mine=node ./sub", "mine=node 'FOLDER/sub'"),
        ("mine=sub adapter", "mine=sub 'FOLDER/adapter'"),  # a program is looked for in PATH
    ],
)
def test_what_a_command_names_is_named_as_every_folder_sees_it(
    work: Path, monkeypatch: pytest.MonkeyPatch, name: str, shown: str
) -> None:
    (work / "sub").mkdir()
    monkeypatch.chdir(work)
    short, words = registry.command_of(name)
    line = command("parity/x", "x/a", 0, {short: BackendInfo(command=registry.shown(words))})
    *_, option = shlex.split(line)
    assert option == shown.replace("FOLDER", str(work))


def test_a_build_in_a_folder_nearby_is_named_as_every_folder_sees_it() -> None:
    worker = ["python", "-m", "sampler_parity.harness.backends.worker", "llama.cpp"]
    info = BackendInfo(command=[*worker, "/work/build", "v0.5.0", "cuda"])
    line = command("parity/x", "x/a", 0, {"llama.cpp@./build:cuda": info})
    assert line.endswith("-b llama.cpp@./build:cuda=llama.cpp@/work/build:cuda")
    for name in ("llama.cpp@b4753", "llama.cpp@/work/build"):
        assert command("parity/x", "x/a", 0, {name: info}).endswith(f"-b {name}")


def test_only_suites_given_by_path_are_replayed_by_path() -> None:
    info = run_info("llama.cpp", "null").model_copy(update={"paths": {"x/mine": "/a b/mine.toml"}})
    assert replay(info, "x/mine", "mine/a", ["null", "absent"]) == (
        "sampler-parity run '/a b/mine.toml' --case mine/a -b null"
    )
    line = replay(info, "parity/top_p", "top_p/a", info.backends)
    assert line == "sampler-parity run parity/top_p --case top_p/a -b llama.cpp -b null"


@pytest.mark.parametrize(
    ("name", "words", "shown"),
    [
        ("tsampler/published", ["node", "tsampler/adapter.mjs", "published"], "tsampler/published"),
        ("transformers_js", ["node", "javascript/transformers_js.mjs", "/c"], "transformers_js"),
        ("mlx_lm@1.2", ["python", "-I", "start.py", "mlx_lm"], "mlx_lm@1.2"),
        ("mine", ["node", "tsampler/adapter.mjs"], "mine=node FOLDER/tsampler/adapter.mjs"),
    ],
)
def test_an_engine_of_ours_that_is_a_program_is_replayed_by_its_name(
    name: str, words: list[str], shown: str
) -> None:
    folder = "/x/harness/backends"
    ours = [f"{folder}/{word}" if "." in word else word for word in words]
    line = command("parity/x", "x/a", 0, {name: BackendInfo(command=ours)})
    assert shlex.split(line)[-1] == shown.replace("FOLDER", folder)


def test_a_build_for_another_platform_is_replayed_by_its_name() -> None:
    words = ["python", "-m", "sampler_parity.harness.backends.worker", "llama.cpp/elsewhere"]
    info = BackendInfo(command=[*words, "wasm"], name="llama.cpp")
    line = command("parity", "x/y", 0, {"llama.cpp@wasm": info})
    assert line == "sampler-parity run parity --case x/y -b llama.cpp@wasm"
