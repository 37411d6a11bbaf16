"""The language of pages, docstrings, comments and messages keeps the rules of prose.toml."""

from functools import cache
from pathlib import Path

import pytest

from tests.support.prose import (
    ROOT,
    Breach,
    breaches,
    inverted,
    rules,
    sentences_of,
    tracked,
)

READ = (".md", ".py", ".toml", ".yml", ".yaml")


@cache
def files() -> dict[str, str]:
    """Return every file that is read, with its text."""
    return {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in tracked()
        if Path(name).suffix in READ
    }


@cache
def found() -> list[Breach]:
    """Return the breaches of all files."""
    return [breach for name, text in files().items() for breach in breaches(name, text)]


def test_the_rules_read_thousands_of_sentences_of_each_kind() -> None:
    kinds = [one.kind for name, text in files().items() for one in sentences_of(name, text)]
    assert {kind: kinds.count(kind) > 1000 for kind in ("page", "docstring", "comment")} == {
        "page": True,
        "docstring": True,
        "comment": True,
    }


@pytest.mark.parametrize("rule", ["no verb", "words", "better"])
def test_no_sentence_breaks_a_rule(rule: str) -> None:
    assert [str(breach) for breach in found() if rule in breach.rule] == []


def test_few_sentences_are_inverted() -> None:
    sentences = [
        one
        for name, text in files().items()
        for one in sentences_of(name, text)
        if one.kind != "message"
    ]
    share = sum(map(inverted, sentences)) / len(sentences)
    assert share <= rules()["inverted_at_most"]


LONG = "A sentence " + "goes on and " * 20 + "ends.\n"


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("a.md", "# Title\n\nThe law of the draw is known.\n", "'law', better"),
        ("a.md", "# Title\n\n- A list\n  that the page told of.\n", "'told', better"),
        ("a.md", "| a | b |\n| --- | --- |\n| x | stands beside y |\n", "'beside', better"),
        ("a.md", "Whose is it? What is missing is named.\n", "begins with"),
        ("a.md", LONG, "words"),
        ("a.py", '"""Module."""\n\n\ndef f() -> None:\n    """The result."""\n', "no verb"),
        ("a.py", '"""Module."""\n\n# Of the file nothing is kept.\n', "begins with"),
        ("a.py", '"""Module."""\n\nprint("the laws of this row differ")\n', "'laws', better"),
        ("a.py", f'"""Module.\n\n{LONG}"""\n', "words"),
        ("a.toml", "# Who reads this is told.\n", "begins with"),
    ],
)
def test_a_planted_breach_is_found(file: str, text: str, rule: str) -> None:
    assert any(rule in breach.rule for breach in breaches(file, text))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "a.md",
            "A power law, `told` in code, and a [link told](told.md).\n".replace(
                "link told", "link"
            ),
        ),
        ("a.md", "```\nOf a program the output is free: law, told.\n```\n"),
        ("a.md", "    told, in an indented block\n"),
        ("a.py", '"""Module."""\n\n\ndef f() -> None:\n    """Return the result."""\n'),
        (
            "a.py",
            '"""M."""\n\n\nclass C:\n    @property\n    def f(self) -> int:\n        """N."""\n',
        ),
        ("test_a.py", '"""M."""\n\n\ndef test_a() -> None:\n    """A case of its own."""\n'),
    ],
)
def test_a_correct_text_has_no_breach(file: str, text: str) -> None:
    assert [str(breach) for breach in breaches(file, text)] == []


def test_a_page_is_read_by_heading_paragraph_item_and_cell() -> None:
    text = "# A title\n\nOne. Two\nlines.\n\n- item\n\n| cell | other |\n| --- | --- |\n"
    assert [one.text for one in sentences_of("a.md", text)] == [
        "A title",
        "One.",
        "Two lines.",
        "item",
        "cell",
        "other",
    ]
