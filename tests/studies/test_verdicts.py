"""The verdicts of docs/findings/claims.md that rest on a study: it still prints the same figures.

Each figure is given as the study prints it, and as the page has it if that text differs. Sections
that time something are left out: their figures do not repeat.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
Figure = str | tuple[str, str]

FIGURES: dict[str, dict[str, list[Figure]]] = {
    "findings/tsampler": {
        "tsampler llama_cpp": [
            "320/320",
            "127/320",
            ("max 4.8e-07", "at most 4.8e-7"),
            "108/320",
            "311/320",
        ],
        "tsampler modes": [
            "312/320",
            "139/320",
            "0/320",
            ("total variation median 0.99", "On flat logits at V = 32,000 TV is 0.99"),
        ],
        "tsampler penalties": ["25,078/100,000", "22,117", "32,989"],
        "tsampler temperature": [
            ("temp 1.5, top_k 40 alone same tokens 320/320", "320/320 at 0.5, 0.8 and 1.5"),
            ("temp 1.5, top_p 0.95 alone same tokens 58/320", "262/320 rows with top-p"),
            ("temp 1.5, min_p 0.05 alone same tokens 125/320", "195/320 with min-p"),
            ("temp 0.8, defaults same tokens 149/320", "171/320 with the defaults"),
        ],
    },
    "findings/akunu": {
        "akunu order": [("mean 0.0300 largest 0.1475", "0.030 on average and 0.15")],
        "akunu cap": [("T = 1.0 mean 0.0464 most 0.2076", "0.046 of the mass on average and 0.21")],
        "akunu cpu": [("50/1000 masks", "50 can draw a banned one"), ("2.7e-07", "2.7e-7")],
        "akunu paths": [("code TV mean 0.00081 largest 0.00598", "0.0008 | 0.0060")],
        "akunu noise32": ["0.991 times", ("0.722 times", "16 nats 0.72"), "0.5000002"],
        "akunu windows": ["170/200", "100/100 tokens equal"],
        "akunu pairs": [("V = 32 tokens chi-square p = 0.021", "smallest p 0.02")],
        "akunu filters": ["16/16 rows", ("correlation with the largest p -0.97", "largest p -.97")],
        "akunu bisection": [
            ("12 steps keep 40.1 at low (41 at most)", "12 | 40.1, 41"),
            (
                "-inf that it starts at: 4,096 to 128,256 stay",
                "4,096 of 4,096 and 128,256 of 128,256",
            ),
        ],
    },
    "findings/power-law": {
        "power_law example": [
            ("no parameters give B more than D", "no peak and no exponent give B")
        ],
        "power_law kernel": [("1 widths away: 0.00674", "or .0067 of the weight")],
        "power_law tail": [("creative_writing V = 4,096: 0.7753", "| creative writing | 0.78 |")],
        "power_law entropy": [("0.8 alone: 8.26 nats", "at .8: 8.26 nats alone")],
        "power_law parameters": [
            ("conservative entropy 1.67 nats", "1.67 nats, the likeliest token .52"),
            ("distribution_width 0.02 entropy 1.50", "1.50, .76, 1.72 nats"),
            ("peak_logit_value 20 entropy 0.49", "1.28, .76, .49 nats"),
        ],
        "power_law tracking": [("dialogue target 0.15 power_law: selected p 0.370", ".370")],
        "power_law adaptive": [("TV mean 0.025 largest 0.072", ".025 on average, .072 at most")],
    },
}


def missing(figures: list[Figure], printed: str, page: str) -> list[str]:
    """Return the figures that the study does not print, and those that its page does not state."""
    pairs = [(figure, figure) if isinstance(figure, str) else figure for figure in figures]
    texts = [" ".join(text.split()) for text in (printed, page)]
    return [
        figure
        for pair in pairs
        for figure, text in zip(pair, texts, strict=True)
        if not re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", text)
    ]


def test_a_figure_that_is_another_one_is_reported() -> None:
    figures: list[Figure] = ["12/320", ("mean 0.025", ".025 on average")]
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
