"""Charts: untrusted names are text, whatever they contain."""

import re
from typing import TYPE_CHECKING

import pytest

from sampler_parity.reports.pictures.picture import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@pytest.mark.slow
def test_a_name_with_dollars_is_no_formula_and_powers_of_ten_are_numbers() -> None:
    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.plot([1, 1000], [0.01, 10], label="$x^{$ of $5$")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend()

    svg = picture(draw, (4, 3), "s")
    assert "$x^{$ of $5$" in svg
    assert "mathdefault" not in svg
    assert ">1,000<" in svg
    assert ">0.01<" in svg


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.75, 0.95, ["0.8", "0.9"]), (0.9, 1.1, ["0.9", "1"]), (3, 40, ["5", "10", "20"])],
)
def test_a_logarithmic_axis_has_plain_numbers_however_little_it_spans(
    low: float, high: float, ticks: list[str]
) -> None:
    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.plot([low, high], [0, 1])
        axes.set_xscale("log")

    texts = re.findall(r">([^<>]*)</text>", picture(draw, (4, 3), "s"))
    assert set(ticks) <= set(texts)
    assert not [text for text in texts if "10^" in text or "e-" in text or "\\" in text]
