"""Judge a backend by the platform of its build."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import ChainError
from sampler_parity.reference.chronology import joined, parted
from sampler_parity.reference.platforms import DEFAULT, on
from tests.support.cases import stages

WASM = "reference@wasm"


@pytest.fixture(scope="module")
def wasm() -> Iterator[BackendProcess]:
    with closing(registry.start(WASM)) as process:
        yield process


ROW = [1.0, 2.0, 2.0, 2.0, 1.0]  # with ties


@pytest.mark.slow
def test_a_published_result_is_x86s_wherever_the_build_is_for() -> None:
    """top_k loses the largest logit if it is too large for an int, but not on arm64."""
    (path,) = find_suites(["parity/findings"])
    by_id = {case.id: case for case in expand(path, "quick")}
    case = by_id["findings/top_k-150-loses-the-largest-logit"]
    assert case.expect is not None
    for platform in ("linux-arm64-gcc", DEFAULT):
        with on(platform):
            assert execute(case, []).unmet == ""
    on_arm64 = case.model_copy(update={"expect": case.expect.model_copy(update={"first": 7})})
    with on("linux-arm64-gcc"):
        assert "first: expected 7" in execute(on_arm64, []).unmet


@pytest.mark.slow
def test_each_backend_is_judged_by_a_platform_of_its_own(wasm: BackendProcess) -> None:
    meanings = {WASM: "v0.5.0/wasm", "reference": "v0.5.0"}
    with closing(registry.start("reference")) as gcc:
        result = execute(stages([{"top_k": {"k": 3}}], ROW), [wasm, gcc], None, meanings)
    assert [(name, b.verdict) for name, b in result.backends.items()] == [
        (WASM, "identical"), ("reference", "identical"),
    ]  # fmt: skip


@pytest.mark.slow
def test_an_old_release_has_a_platform_too() -> None:
    both = "b6301/wasm"
    case = stages([{"top_p": {"p": 0.99}}], ROW)
    with closing(registry.start(f"reference@{both}")) as process:
        result = execute(case, [process], None, {process.name: both})
    assert result.backends[process.name].verdict == "identical"


@pytest.mark.parametrize(
    ("word", "release", "platform"),
    [
        ("b4753", "b4753", "linux-x64-gcc"),
        ("wasm", "v0.5.0", "wasm"),
        ("b4753/linux-x64-libc++14", "b4753", "linux-x64-libc++14"),
        ("v0.5.0/linux-x64-gcc", "v0.5.0", "linux-x64-gcc"),
    ],
)
def test_a_meaning_names_release_and_platform(word: str, release: str, platform: str) -> None:
    assert parted(word) == (release, platform)
    assert parted(joined(release, platform)) == (release, platform)


@pytest.mark.parametrize("word", ["amiga", "b4753/amiga", "wasm/b4753", "", "/"])
def test_what_names_neither_is_refused_in_one_line(word: str) -> None:
    with pytest.raises(ChainError) as refused:
        parted(word)
    assert "\n" not in str(refused.value)


def test_an_unknown_platform_is_refused_with_the_names_before_anything_runs() -> None:
    with pytest.raises(InputError, match=r"--reference amiga: .*name a platform: linux-x64-gcc,"):
        registry.references(["llama.cpp"], "amiga")


def test_an_adapter_that_says_its_platform_is_judged_by_it() -> None:
    infos = {"mine": BackendInfo(command=["a"], platform="linux-arm64-gcc")}
    meanings = registry.references(["mine=a"], "own")
    assert meanings == {"mine=a": None}
    assert registry.references_as_reported(meanings, infos) == {"mine=a": "v0.5.0/linux-arm64-gcc"}


def test_an_adapter_that_says_an_unknown_platform_is_refused_with_the_names() -> None:
    infos = {"mine": BackendInfo(command=["a"], platform="amiga")}
    with pytest.raises(InputError, match=r"backend mine=a: .*name a platform: linux-x64-gcc,"):
        registry.references_as_reported({"mine=a": None}, infos)
