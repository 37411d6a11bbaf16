"""harness/suite/engine_lines.py: lines of engines about shared suites, and refused lines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.checks.support import SupportCase
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache import Cache
from sampler_parity.harness.suite import engine_lines
from sampler_parity.harness.suite import expansion_cache as kept
from sampler_parity.harness.suite.expansion_cache import Expansions
from sampler_parity.harness.suite.file import expand, read_suite

SUITE = """
name = "shared"

[[case]]
id = "one"
description = "a fact"
why = "a defect"
chain = [{ greedy = {} }]
logits = { values = [1.0, 2.0] }
expect = { kept = [1] }
requires = { other = ["tied"] }
"""
LINES = """
["properties/mine".one]
instead.some = [{ some_greedy = {} }]
requires."some/cpu" = ["diverged"]
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite properties/mine, and an engine `some` with a folder."""
    (tmp_path / "properties").mkdir()
    (tmp_path / "engines/some").mkdir(parents=True)
    suite = tmp_path / "properties/mine.toml"
    suite.write_text(SUITE)
    monkeypatch.setattr(engine_lines, "engines_folder", lambda: tmp_path / "engines")
    monkeypatch.setattr(engine_lines, "shipped", lambda: {"properties/mine": suite})
    engine_lines.all_lines.cache_clear()
    return tmp_path


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    engine_lines.all_lines.cache_clear()
    yield
    engine_lines.all_lines.cache_clear()


def write(tree: Path, lines: str) -> Path:
    (tree / "engines/some" / engine_lines.FILE).write_text(lines)
    return tree / "properties/mine.toml"


def test_an_engine_adds_its_chain_and_its_verdict_to_a_case(tree: Path) -> None:
    suite = write(tree, LINES)
    (block,) = read_suite(suite).suite.blocks("case")
    assert isinstance(block, SupportCase)
    assert block.chain_on("some") == [{"some_greedy": {}}]
    assert block.chain_on("reference") == [{"greedy": {}}]
    assert block.required("some/cpu") == ["diverged"]
    assert block.required("other") == ["tied"]


def test_the_lines_are_part_of_the_digest(tree: Path) -> None:
    suite = write(tree, "")
    without = read_suite(suite).sha256
    write(tree, LINES)
    engine_lines.all_lines.cache_clear()
    first = read_suite(suite).sha256
    write(tree, LINES.replace("diverged", "tied"))
    engine_lines.all_lines.cache_clear()
    assert len({without, first, read_suite(suite).sha256}) == 3


def test_a_suite_of_the_same_name_that_is_not_shipped_gets_no_lines(tree: Path) -> None:
    write(tree, LINES)
    copy = tree / "copies/properties/mine.toml"
    copy.parent.mkdir(parents=True)
    copy.write_text(SUITE)
    (case,) = expand(copy, "quick")
    assert case.instead == {}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (LINES.replace("/mine", "/mime"), "no such suite: properties/mime - .*properties/mine"),
        (LINES.replace(".one]", ".ome]"), "properties/mine: no block 'ome' - did you mean one"),
        (LINES.replace("instead", "insted"), "one: unknown key 'insted' - use instead or requires"),
        (LINES.replace("instead.some", "instead.other"), "one: 'other' is not a backend of this"),
        (LINES.replace("instead.some", "instead"), "properties/mine.one.instead.*valid dictionary"),
        (SUITE, "valid dictionary"),
    ],
    ids=["suite", "block", "key", "engine", "no backend", "no lines"],
)
def test_a_line_that_would_count_for_nothing_is_refused(tree: Path, lines: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_suite(write(tree, lines))


def test_a_line_that_the_suite_has_itself_is_refused(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = write(tree, LINES)
    suite.write_text(SUITE.replace("other =", '"some/cpu" ='))
    with pytest.raises(InputError, match="one: the suite already has requires for some/cpu"):
        read_suite(suite)


def test_the_lines_of_engines_are_kept_with_the_suites_that_there_are(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree, LINES)
    (tree / "private").mkdir(mode=0o700)
    cache = Cache(tree / "private" / "a.sqlite")
    made = Expansions(cache).lines
    assert made == engine_lines.all_lines() != ()
    with monkeypatch.context() as unparsed:
        unparsed.setattr(engine_lines, "all_lines", lambda: ())
        read = Expansions(cache)
        assert read.lines == made
        with pytest.raises(
            InputError, match=r"a\.sqlite: its lines of engines are not those of the files"
        ):
            read.spot_check("")
    Expansions(cache).spot_check("")
    monkeypatch.setattr(engine_lines, "shipped", dict)
    monkeypatch.setattr(kept, "shipped", dict)
    engine_lines.all_lines.cache_clear()
    with pytest.raises(InputError, match="no such suite: properties/mine"):
        assert Expansions(cache).lines
