"""portable.patch gives llama.cpp the same bits on every compiler; each part of it is needed."""

import re
import tomllib
from pathlib import Path

import pytest

from sampler_parity.harness.backends import reference
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.llama_cpp import sources
from sampler_parity.harness.llama_cpp.platforms import make as recipes
from sampler_parity.harness.llama_cpp.platforms.make import make
from sampler_parity.harness.llama_cpp.platforms.worker import Worker
from sampler_parity.reference.platforms import on
from tests.support.platform_cases import cases, outcome, recorded

PORTABLE = tuple(name for name, recipe in recipes.made().items() if recipe.patched)
Outcomes = dict[str, list[str]]


def test_the_patch_names_the_option_that_its_builds_are_compiled_with() -> None:
    lines = recipes.PATCH.read_text().splitlines()
    (option,) = (re.findall(r"-f[\w=-]+", line) for line in lines if "COMPILE_OPTIONS" in line)
    assert option == [recipes.ROUNDED_TWICE]
    for name in PORTABLE:
        assert recipes.ROUNDED_TWICE in recipes.made()[name].compiler


@pytest.mark.nightly
def test_the_patched_file_draws_by_no_distribution_of_the_standard_library(tmp_path: Path) -> None:
    before = (sources.sources() / sources.SAMPLER).read_text()
    after = recipes.patched(tmp_path).read_text()
    assert len(re.findall(r"^ *std::\w+_distribution<", before, re.MULTILINE)) == 5
    assert re.findall(r"^ *std::\w+_distribution<", after, re.MULTILINE) == []


def test_the_reference_of_a_portable_build_is_no_platforms() -> None:
    """On these cases, which distinguish platforms, the patch changes the result of each."""
    of = recorded()["results"]
    for platform, apart in of.items():
        assert platform == "portable" or apart != of["portable"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, that has llama.cpp's sources."""
    sources.sources()
    mine = tmp_path / "cache" / "sampler-parity"
    mine.mkdir(parents=True)
    (mine / "native").symlink_to(cache_folder() / "native")
    monkeypatch.setenv("XDG_CACHE_HOME", str(mine.parent))


def outcomes(name: str) -> Outcomes:
    """Return the results of a build that is made here, on all cases that distinguish platforms."""
    try:
        make(name)
        worker = Worker(name)
    except InputError as error:
        if "not installed" not in str(error):  # what does not compile is no reason to skip
            raise
        pytest.skip(str(error))
    try:
        return {case: outcome(worker, cases()[case]) for case in cases()}
    finally:
        worker.program.close()


@pytest.mark.nightly
@pytest.mark.parametrize("name", PORTABLE)
@pytest.mark.usefixtures("cache")
def test_a_patched_build_has_the_bits_and_tokens_of_every_other(name: str) -> None:
    with on("portable"):
        expected = {case: outcome(reference.Worker(), cases()[case]) for case in cases()}
    assert outcomes(name) == expected


FAULTS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "portable_faults.toml").read_text(encoding="utf-8")
)


def differing(build: str) -> set[str]:
    """Return the cases that differ from the portable build of GCC for x86-64."""
    of = recorded()["results"]
    expected, given = of["linux-x64-gcc"] | of["portable"], outcomes(build)
    return {case for case in expected if given[case] != expected[case]}


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.usefixtures("cache")
def test_a_part_of_the_patch_left_out_is_caught(
    fault: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    patched = recipes.patched

    def without(folder: Path) -> Path:
        file = patched(folder)
        text = file.read_text()
        assert fault["replace"] in text
        file.write_text(text.replace(fault["replace"], fault["with"]))
        return file

    monkeypatch.setattr(recipes, "patched", without)
    assert [case for case in differing(fault["build"]) if case.startswith(fault["cases"])]


@pytest.mark.nightly
@pytest.mark.usefixtures("cache")
def test_a_product_that_is_contracted_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "portable-x64-v3"
    compiler = (word for word in recipes.made()[name].compiler if word != recipes.ROUNDED_TWICE)
    wrong = recipes.made()[name].model_copy(update={"compiler": tuple(compiler)})
    monkeypatch.setitem(recipes.made(), name, wrong)
    assert differing(name) == set(recorded()["results"]["linux-x64-v3-gcc"])
