"""Names of backends: taken apart in one place, and put together again for a replay."""

import stat
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.backends import engines, registry
from sampler_parity.harness.backends.engines import BackendName
from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.replay import command as command_of_replay
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.llama_cpp.libllama import default_folder
from tests.support.command_line import cli


@pytest.mark.parametrize("text", ["http://127.0.0.1:1", "mine=https://me:secret@h/?a=b"])
def test_the_address_of_a_server_is_no_backend_and_one_line_says_what_asks_it(text: str) -> None:
    short = "mine" if text.startswith("mine") else "an address"
    done = cli("run", "parity/greedy", "-b", text)
    assert done.returncode == 2
    assert done.stderr == (
        f"sampler-parity: backend '{short}': a server takes texts, but a suite needs logits"
        " - check a server with `sampler-parity server check URL --dialect ...`\n"
    )
    with pytest.raises(InputError, match="a suite needs logits"):
        registry.parse(f"sandbox:{text}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("llama.cpp", BackendName("llama.cpp", "llama.cpp")),
        ("llama.cpp@b4753", BackendName("llama.cpp@b4753", "llama.cpp", "b4753")),
        ("token_trie@x:cuda", BackendName("token_trie@x:cuda", "token_trie", "x:cuda")),
        ("reference@b3889", BackendName("reference@b3889", "reference", "b3889")),
        ("mutant/akunu/no-cap", BackendName("mutant/akunu/no-cap", "mutant", "akunu/no-cap")),
        ("slow/2.5", BackendName("slow/2.5", "slow", "2.5")),
        ("previous=llama.cpp@/a/b", BackendName("previous", "llama.cpp", "/a/b")),
        ("wrong=mutant/x/y", BackendName("wrong", "mutant", "x/y")),
        ("mine=./adapter --fast", BackendName("mine", command="./adapter --fast")),
        ("mine=./null", BackendName("mine", command="./null")),
        ("node a.js", BackendName("node a.js", command="node a.js")),
        ("slow/fast", None),
        ("mutant/", None),
        ("llama.cpp@", None),
        ("tsampler@1", None),
        ("lama.cpp", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_name_is_taken_apart(text: str, expected: BackendName | None) -> None:
    assert engines.parse(text) == expected


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        ("b4753:vulkan", ("b4753", "vulkan")),
        ("b4753", ("b4753", "")),
        ("/builds/new:sandybridge", ("/builds/new", "sandybridge")),
        (r"C:\builds\new", (r"C:\builds\new", "")),
    ],
)
def test_a_device_is_the_word_behind_the_last_colon(build: str, expected: tuple[str, str]) -> None:
    assert builds.split_device(build) == expected


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"'lama.cpp'.*did you mean llama.cpp or .*NAME=COMMAND"):
        registry.command_of("lama.cpp")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("reference", "reference"),
        ("reference@b3889", "reference@b3889"),
        ("mutant/top_k/zero-means-one", "mutant/top_k/zero-means-one"),
        ("slow/5", "slow/5"),
        ("mine=null", "mine=null"),
        ("old=reference@b3889", "old=reference@b3889"),
        ("wrong=mutant/top_k/zero-means-one", "wrong=mutant/top_k/zero-means-one"),
    ],
)
def test_a_replay_names_the_backend_as_it_was_named(name: str, shown: str) -> None:
    short = registry.command_of(name)[0]
    line = command_of_replay("parity/x", "x/a", 0, {short: registry.inspect(name)})
    assert line == f"sampler-parity run parity/x --case x/a -b {shown}"


def test_a_replay_of_a_build_of_ones_own_name_has_its_folder_and_device() -> None:
    command = ["python3", "-m", "sampler_parity.harness.backends.worker", "llama.cpp"]
    described = {
        "previous": BackendInfo(command=[*command, "/builds/old", "", ""]),
        "candidate": BackendInfo(command=[*command, "/builds/new", "v0.5.0", "vulkan"]),
    }
    assert command_of_replay("parity/x", "x/a", 0, described).endswith(
        "-b previous=llama.cpp@/builds/old -b candidate=llama.cpp@/builds/new:vulkan"
    )


@pytest.mark.slow
def test_a_replay_keeps_the_folder_of_an_adapter(tmp_path: Path) -> None:
    adapter = tmp_path / "my adapter"
    adapter.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m sampler_parity.harness.backends.worker null\n'
    )
    adapter.chmod(adapter.stat().st_mode | stat.S_IXUSR)
    described = registry.inspect(f"mine='{adapter}' --fast")
    assert described.unavailable == ""
    assert command_of_replay("", "x/a", 0, {"mine": described}) == (
        f"sampler-parity run --case x/a -b 'mine='\"'\"'{adapter}'\"'\"' --fast'"
    )


@pytest.mark.slow
def test_two_builds_run_side_by_side_under_names_of_ones_own(tmp_path: Path) -> None:
    build = f"llama.cpp@{default_folder()}"
    backends = ("-b", f"previous={build}", "-b", f"candidate={build}", "--reference", "own")
    output = ("--case", "top_k/k-*", "-j", "1", "-o", tmp_path / "bundle")
    done = cli("run", "parity/top_k", *output, *backends)
    assert done.returncode == 0, done.stderr
    bundle = read_finished(tmp_path / "bundle")
    assert set(bundle.info.backends) == {"previous", "candidate"}
    verdicts = {r.verdict for case in bundle.cases for r in case.backends.values()}
    assert verdicts == {"identical"}
