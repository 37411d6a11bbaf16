"""The pages of docs/reference are those that `python -m scripts.reference` makes."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel, Field, create_model

from sampler_parity.harness.gate import policy
from sampler_parity.harness.sanitize import limits
from sampler_parity.reference.registry import ROWS
from sampler_parity.reference.samplers import top_k
from scripts.reference import commands, examples, models, pages, samplers
from scripts.reference.__main__ import main
from scripts.reference.examples import applied, example_of
from scripts.reference.type_names import type_name
from tests.support.command_line import COMMANDS


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pages in a folder of their own."""
    shutil.copytree(pages.ROOT / "docs", tmp_path / "docs")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def extra_field(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A field of a policy's rule that no page has."""
    changed = create_model("SpeedRule", __base__=policy.SpeedRule, extra=(int, 3))
    monkeypatch.setattr(policy, "SpeedRule", changed)
    monkeypatch.setattr(models, "_written", lambda model, name: "planted")
    yield
    models._strings.cache_clear()


@pytest.mark.slow
def test_every_page_is_as_the_code_makes_it() -> None:
    assert pages.differing(pages.ROOT) == []


@pytest.mark.slow
def test_check_names_a_page_that_was_changed_and_a_picture_that_is_missing(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = copy / "docs/reference/samplers/top_k.md"
    page.write_text(page.read_text() + "More.\n")
    (copy / "docs/reference/samplers/top_p.svg").unlink()
    assert main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "docs/reference/samplers/top_k.md: differs; run python -m scripts.reference",
        "docs/reference/samplers/top_p.svg: differs; run python -m scripts.reference",
    ]
    assert main([]) == 0
    assert main(["--check"]) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("extra_field")
def test_check_names_the_page_of_a_model_with_an_extra_field(copy: Path) -> None:
    assert "docs/reference/policy.md: differs; run python -m scripts.reference" in (
        pages.differing(copy)
    )


def test_a_field_without_a_meaning_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_written", lambda model, name: "")
    (problem,) = pages.differing(pages.ROOT)
    assert problem.endswith("has no description")


@pytest.mark.slow
def test_a_model_without_a_heading_is_named(copy: Path) -> None:
    page = copy / "docs/reference/policy.md"
    page.write_text(page.read_text().replace("### Allowed\n", "### Other\n"))
    assert pages.differing(copy) == ["docs/reference/policy.md: has no heading Allowed"]


@pytest.mark.slow
def test_a_page_of_no_sampler_is_named(copy: Path) -> None:
    (copy / "docs/reference/samplers/old.md").write_text("# old\n")
    assert pages.differing(copy) == ["docs/reference/samplers/old.md: has no sampler; remove it"]


def test_unknown_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--write"]) == 2
    assert "--check" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_with_every_option(name: str) -> None:
    text = commands.commands().split(f"### {name}\n")[1].split("\n### ")[0].split("\n## ")[0]
    for one in COMMANDS[name].params:
        if one.name != "help" and one.param_type_name == "option":
            assert all(f"`{option}`" in text for option in one.opts), one.opts


@pytest.mark.slow
@pytest.mark.parametrize("name", samplers.names())
def test_every_sampler_has_the_whole_docstring_and_a_picture(name: str) -> None:
    text = samplers.docstring_of(name)
    assert (pages.ROOT / text.sections["Suite"].strip()).is_file()
    shown = applied(name, example_of(name))
    assert sum(one.before for one in shown) == pytest.approx(1)
    assert sum(one.after for one in shown) == pytest.approx(1)
    picture = pages.files(pages.ROOT)[f"docs/reference/samplers/{name}.svg"]
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert len(picture) < 6_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cut", "lacks"),
    [
        ("Source: `llama_sampler_top_k_impl`", "Source"),
        (": keep the k most likely", "`top_k: EFFECT.`"),
    ],
)
def test_a_docstring_that_lacks_a_part_is_named(
    cut: str, lacks: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = top_k.__doc__
    assert text is not None
    assert cut in text
    monkeypatch.setattr(top_k, "__doc__", text.replace(cut, ""))
    for arguments in ([], ["--check"]):
        assert main(arguments) == 1
        says = capsys.readouterr().out
        assert says == f"reference/samplers/top_k.py: its docstring lacks {lacks}\n"


def test_a_sampler_without_an_example_is_shown_in_its_smallest_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert example_of("top_k").parameters == {"k": 4}
    monkeypatch.setattr(examples, "EXAMPLES", {})
    assert example_of("top_k").parameters == ROWS["top_k"].smallest


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (list[int], "list of integers"),
        (list[int | None], "list of (integer or null)"),
        (list[int] | None, "list of integers or null"),
        (dict[str, list[str]], "map of lists of strings"),
        (tuple[int, str], "[integer, string]"),
    ],
)
def test_types_have_plain_names(kind: object, name: str) -> None:
    assert type_name(kind) == name


@pytest.mark.parametrize(
    ("constraints", "name"),
    [
        ([Ge(0), Le(8)], "integer, 0 to 8"),
        ([Gt(0), Lt(1)], "integer, > 0, < 1"),
        ([Ge(1), Le(limits.VOCAB)], "integer, ≥ 1"),
        ([MinLen(1), MaxLen(8), MaxLen(limits.TOKENS)], "integer, not empty, at most 8 long"),
    ],
)
def test_a_type_has_the_limits_that_the_page_of_limits_lacks(
    constraints: list[object], name: str
) -> None:
    assert type_name(int, constraints) == name


class First(BaseModel):
    do: Literal["first"] = "first"
    seed: int = Field(0, description="the seed")
    rows: int = Field(description="number of rows")


class Second(BaseModel):
    seed: int = Field(1, description="the seed")
    rows: float = Field(description="number of rows")


class Third(BaseModel):
    seed: int = Field(0, description="the seed")


def test_a_field_of_several_models_has_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {one.__name__: one for one in (First, Second, Third)}
    monkeypatch.setattr(models, "model_of", lambda module, name: kinds[name])
    shared = models.common("page", [["tests", name] for name in kinds])
    assert models.common_table("page", shared) == "- `seed` (integer, default `0`): The seed."
    own = "- `rows` ({}): Number of rows.\n\nAlso "
    also = "{}: [common fields](#common-fields)."
    assert [models.fields("page", ["tests", name], shared) for name in kinds] == [
        own.format("integer") + also.format("`seed`"),
        own.format("number") + also.format("`seed` (default `1`)"),
        f"Only {also.format('`seed`')}",
    ]
