"""The language of pages, docstrings, comments and messages keeps the rules of prose.toml."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.prose import (
    ROOT,
    Breach,
    Sentence,
    breaches,
    breaches_of,
    inverted,
    rules,
    sentences_of,
    tracked,
)

READ = (".md", ".py", ".toml", ".yml", ".yaml")


@pytest.mark.slow
def test_every_sentence_keeps_the_rules() -> None:
    """One test, because reading all files takes seconds."""
    sentences: list[Sentence] = []
    found: list[Breach] = []
    for name in tracked():
        if Path(name).suffix in READ:
            text = (ROOT / name).read_text(encoding="utf-8")
            of_file = sentences_of(name, text)
            sentences += [one for one in of_file if one.kind != "message"]
            found += breaches_of(name, text, of_file)
    kinds = Counter(one.kind for one in sentences)
    assert min(kinds[kind] for kind in ("page", "docstring", "comment")) > 1000
    assert [str(breach) for breach in found if breach.rule != "begins with"] == []
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
        ("a.md", "A power law, `told` in code, and a [link](told.md).\n"),
        ("a.md", "```\nOf a program the output is free: law, told.\n```\n"),
        ("a.md", "    told, in an indented block\n"),
        ("a.py", '"""Module."""\n\n\ndef f() -> None:\n    """Return the result."""\n'),
        ("a.py", '"""M."""\n\n\nclass C:\n    @property\n    def f(self):\n        """N."""\n'),
        ("test_a.py", '"""M."""\n\n\ndef test_a() -> None:\n    """A case of its own."""\n'),
    ],
)
def test_a_correct_text_has_no_breach(file: str, text: str) -> None:
    assert [str(breach) for breach in breaches(file, text)] == []
