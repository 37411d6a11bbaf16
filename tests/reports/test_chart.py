"""Charts: names of others are text, whatever stands in them."""

from matplotlib.figure import Figure

from sampler_parity.reports.render.chart import picture


def test_a_name_with_dollars_is_no_formula_and_powers_of_ten_are_numbers() -> None:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot([1, 1000], [0.01, 10], label="$x^{$ of $5$")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend()

    svg = picture(draw, (4, 3), "s")
    assert "$x^{$ of $5$" in svg
    assert "mathdefault" not in svg
    assert ">1000<" in svg
    assert ">0.01<" in svg
