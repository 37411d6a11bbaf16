"""Bisection over versions (programs/upgrade/bisect.py)."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import toml_of
from sampler_parity.programs.upgrade import bisect
from sampler_parity.programs.upgrade.cases import generated
from tests.support.command_line import ROOT

TOP_K = [{"top_k": {"k": 0}}, {"dist": {"seed": 1}}]


@pytest.mark.slow
def test_the_release_that_changed_is_found() -> None:
    cases = generated(Path("chain.toml"), TOP_K)[:3]
    assert bisect.bisected(cases, "reference@b3995", "reference@b6301") == [
        "reference@b4980",
        "reference@b5590",
    ]


@pytest.mark.slow
def test_a_version_that_cannot_be_fetched_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str) -> str:
        if name in ("reference@b4980", "reference@b4753"):
            raise InputError(name, "cannot be fetched")
        return name

    monkeypatch.setattr(bisect, "_made", made)
    cases = generated(Path("chain.toml"), TOP_K)[:1]
    assert bisect.bisected(cases, "reference@b4600", "reference@b6133") == [
        "reference@b4600",
        "reference@b5590",
    ]


def test_releases_between_two_stand_in_the_order_of_the_upgrade() -> None:
    there = bisect.between("reference@b4600", "reference@b5640")
    assert there == ["reference@b4753", "reference@b4980", "reference@b5590"]
    assert bisect.between("reference@b5640", "reference@b4600") == there[::-1]


def test_builds_are_those_registered_and_those_of_the_table() -> None:
    names = bisect.between("llama.cpp@b4291", "llama.cpp@b5590")
    assert {"llama.cpp@b4435", "llama.cpp@b4753", "llama.cpp@b4980"} <= {*names}


PIP = "mlx-lm (0.32.2)\nAvailable versions: 0.32.2, 0.32.1, 0.31.0rc1, 0.31.0, 0.30.0\n"
NPM = '["3.20.0", "3.21.1", "3.22.0", "3.22.1", "4.0.0-beta.1"]'


@pytest.mark.parametrize(
    ("old", "new", "printed", "expected"),
    [
        ("mlx_lm@0.30.0", "mlx_lm@0.32.2", PIP, ["mlx_lm@0.31.0", "mlx_lm@0.32.1"]),
        ("node_llama_cpp@3.21.1", "node_llama_cpp@3.22.1", NPM, ["node_llama_cpp@3.22.0"]),
    ],
)
def test_versions_of_an_engine_come_from_its_registry(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, printed: str, expected: list[str]
) -> None:
    done = SimpleNamespace(stdout=printed, returncode=0)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert bisect.between(old, new) == expected


def test_a_registry_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("npm")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(InputError, match="its versions cannot be listed"):
        bisect.between("node_llama_cpp@3.21.1", "node_llama_cpp@3.22.1")


@pytest.mark.parametrize("new", ["llama.cpp", "null", "a=python x.py"])
def test_two_engines_are_refused(new: str) -> None:
    with pytest.raises(InputError, match="needs two versions of one engine"):
        bisect.between("reference@b4600", new)


def test_the_table_of_packages_is_that_of_the_page_on_builds() -> None:
    path = ROOT / "harness" / "llama_cpp" / "packages.toml"
    page = " ".join((ROOT / "docs" / "background" / "builds.md").read_text().split())
    for release, version in toml_of(path, path.read_bytes())["node-llama-cpp"].items():
        assert f"| {version} | {release} |" in page or f"{version} {release}" in page
