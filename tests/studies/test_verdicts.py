"""The verdicts of docs/findings/claims.md that rest on a study: it still prints the same figures.

figures.toml has the figures. Sections that time something are left out: theirs do not repeat.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
Figure = str | list[str]

FIGURES: dict[str, dict[str, list[Figure]]] = tomllib.loads(
    Path(__file__).with_name("figures.toml").read_text(encoding="utf-8")
)


def missing(figures: list[Figure], printed: str, page: str) -> list[str]:
    """Return the figures that the study does not print, and those that its page does not state."""
    pairs = [[figure, figure] if isinstance(figure, str) else figure for figure in figures]
    texts = [" ".join(text.split()) for text in (printed, page)]
    return [
        figure
        for pair in pairs
        for figure, text in zip(pair, texts, strict=True)
        if not re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", text)
    ]


def test_a_figure_that_is_another_one_is_reported() -> None:
    figures: list[Figure] = ["12/320", ["mean 0.025", ".025 on average"]]
    assert missing(figures, "  12/320 rows,  mean  0.025", "12/320 and .025 on\naverage") == []
    assert missing(figures, "112/320 mean 0.0251", "12/3200 and .03 on average") == [
        "12/320", "12/320", "mean 0.025", ".025 on average",
    ]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("page", "section"), [(page, section) for page in FIGURES for section in FIGURES[page]]
)
def test_a_study_prints_what_its_page_says(page: str, section: str) -> None:
    study, name = section.split()
    command = [sys.executable, "-m", f"studies.{study}", name]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=900
    )
    assert done.returncode == 0, done.stderr
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert missing(FIGURES[page][section], done.stdout, text) == [], done.stdout
