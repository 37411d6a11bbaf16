"""The newest packages with a prebuilt llama.cpp (harness/llama_cpp/published.py)."""

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from sampler_parity.harness.llama_cpp.published import Offer, offers
from tests.support.command_line import cli, refused

NPM = ["2.8.16", "3.8.1", "3.21.1", "3.22.0", "3.22.1"]
PIP = ["2026.10.11549", "2026.9.11063", "2026.4.8672.1", "0.2.14"]


@pytest.fixture
def registries(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that plants the versions of npm and pip, or their errors."""

    def plant(npm: list[str] | str, pip: list[str] | str) -> None:
        def run(command: list[str], **_: Any) -> Any:
            answer = npm if command[0] == "npm" else pip
            if isinstance(answer, str):
                return SimpleNamespace(returncode=1, stdout="", stderr=answer)
            listed = f"xllamacpp ({answer[0]})\nAvailable versions: {', '.join(answer)}\n"
            text = json.dumps(answer) if command[0] == "npm" else listed
            return SimpleNamespace(returncode=0, stdout=text, stderr="")

        monkeypatch.setattr(subprocess, "run", run)

    return plant


def test_without_a_newer_version_the_newest_of_each_package_is_known(registries: Any) -> None:
    registries(NPM, PIP)
    assert offers() == [
        Offer("node-llama-cpp", "3.22.1", "v0.5.0", False),
        Offer("xllamacpp", "2026.10.11549", "b11549", False),
    ]
    done = cli("builds", "newest")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["b11549", "known", "known"]


def test_newer_versions_are_listed_with_the_command_that_adds_each(registries: Any) -> None:
    registries([*NPM, "3.22.2", "3.23.0", "4.0.0-beta.1"], ["2026.11.11801", *PIP])
    assert offers() == [
        Offer("node-llama-cpp", "3.22.2", "", True),  # the package alone states its release
        Offer("node-llama-cpp", "3.23.0", "", True),
        Offer("xllamacpp", "2026.11.11801", "b11801", True),
    ]
    lines = cli("builds", "newest").stdout.splitlines()
    assert lines[2].endswith("unknown    sampler-parity builds add node-llama-cpp@3.23.0")
    assert lines[3].endswith("b11801     sampler-parity builds add xllamacpp@2026.11.11801")


def test_a_version_of_a_modelled_release_is_not_newer(registries: Any) -> None:
    """2026.10.11000 is built anew from a release before b11549."""
    registries(NPM, ["2026.12.11000", *PIP])
    assert [one.newer for one in offers()] == [False, False]


def test_a_package_without_a_version_that_names_a_build_has_no_line(registries: Any) -> None:
    registries(NPM, ["0.2.14"])
    assert [one.package for one in offers()] == ["node-llama-cpp"]


GONE = "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\n"
BROKEN = """WARNING: Retrying (Retry(total=0)) after connection broken by \
'NewConnectionError('<C at 0x7f>: Failed to establish a new connection')': /x/
ERROR: No matching distribution found for xllamacpp
"""


@pytest.mark.parametrize(
    ("npm", "pip", "line"),
    [
        (GONE, PIP, "node-llama-cpp: its versions cannot be listed: ENOTFOUND"),
        (NPM, BROKEN, "xllamacpp: its versions cannot be listed: Failed to establish a new conne"),
        (NPM, "ERROR: no such option: --retries\n", "xllamacpp: its versions cannot be listed: no"),
        (NPM, "", "xllamacpp: its versions cannot be listed: exit status 1"),
    ],
)
def test_a_registry_that_does_not_answer_is_one_line(
    registries: Any, npm: Any, pip: Any, line: str
) -> None:
    registries(npm, pip)
    assert refused(cli("builds", "newest")).startswith(f"sampler-parity: {line}")


def test_without_npm_the_reason_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory", command[0])

    monkeypatch.setattr(subprocess, "run", run)
    line = refused(cli("builds", "newest"))
    assert line.endswith(
        "its versions cannot be listed: [Errno 2] No such file or directory: 'npm'"
    )
