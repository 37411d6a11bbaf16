"""The pages of docs/reference are those that `python -m scripts.reference` makes."""

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sampler_parity.reference.samplers import top_k
from scripts.reference import commands, models, pages, samplers
from scripts.reference.__main__ import main
from scripts.reference.examples import applied, example_of
from tests.support.command_line import COMMANDS


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pages in a folder of their own."""
    shutil.copytree(pages.ROOT / "docs", tmp_path / "docs")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    return tmp_path


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
