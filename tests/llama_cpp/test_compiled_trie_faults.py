"""Faults planted in the C++ of the trie: the suite's cases that name them detect them."""

import shutil
import tomllib
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.llama_cpp import compiled
from sampler_parity.harness.llama_cpp.compiled_trie import Worker
from sampler_parity.harness.suite.file import expand, find_suites, read_suite
from tests.support.inside import Inside

pytestmark = pytest.mark.nightly  # each is compiled: seconds

FAULTS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "compiled_trie_faults.toml").read_text(encoding="utf-8")
)


@cache
def cases() -> dict[str, Case]:
    (path,) = find_suites(["trie/token_trie"])
    return {case.id: case for case in expand(read_suite(path), "quick")}


def verdicts(source: Path, old: str, new: str, names: Iterable[str]) -> set[str]:
    """Return the verdicts on these cases of the trie with an edit in its C++."""
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    with closing(Inside(Worker(source), name="token_trie/compiled")) as backend:
        results = [execute(cases()[name], [backend]) for name in names]
    return {result.backends[backend.name].verdict for result in results}


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy, which is compiled into a folder of its own."""
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    return Path(shutil.copytree(compiled.SOURCES, tmp_path / "native")) / "token_trie.cpp"


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_in_the_cpp_is_seen_by_the_case_that_names_it(
    source: Path, fault: dict[str, str]
) -> None:
    assert verdicts(source, fault["replace"], fault["with"], [fault["case"]]) == {"diverged"}


def test_a_processor_without_avx2_masks_the_same(source: Path) -> None:
    """A fault in the code for such a processor is detected, too."""
    assert verdicts(source, '__builtin_cpu_supports("avx2")', "false", cases()) == {"identical"}
    no_last = FAULTS["leaves the last"]
    assert verdicts(source, no_last["replace"], no_last["with"], [no_last["case"]]) == {"diverged"}
