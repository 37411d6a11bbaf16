"""The cases and sections that docs/findings/ names for Akunu and power_law exist."""

import re
from pathlib import Path

import pytest

from sampler_parity.harness.statistics import tv
from sampler_parity.harness.suite.file import expand, find_suites
from studies import akunu, power_law
from studies.sections import main

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = {"findings/akunu.md": "akunu", "findings/power-law.md": "power_law"}


def _text(page: str) -> str:
    return (DOCS / page).read_text()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.slow
def test_every_case_that_a_page_of_findings_names_exists(page: str) -> None:
    text = re.sub(r"engines/\S+", "", _text(page))
    named = set(re.findall(r"`?((?:akunu|akunu_gumbel|power_law)/[a-z][\w-]+)", text))
    ids = {c.id for p in find_suites([PAGES[page]]) for c in expand(p, "full")}
    files = {"akunu/akunu", "akunu/akunu_gumbel", "akunu/cpu", "akunu/gumbel", "power_law/sorts"}
    blocks = {"/".join(one.split("/")[:2]) for one in ids}  # a matrix has several cases
    assert named - files
    assert named - files <= ids | blocks


@pytest.mark.parametrize(
    ("page", "module", "sections"),
    [
        ("findings/akunu.md", "akunu", akunu.SECTIONS),
        ("findings/power-law.md", "power_law", power_law.SECTIONS),
    ],
)
def test_every_measurement_that_a_page_of_findings_names_exists(
    page: str, module: str, sections: dict[str, object]
) -> None:
    named = re.findall(rf"studies\.{module}((?: [a-z]\w+)+)", _text(page))
    words = {word for group in named for word in group.split()}
    assert words
    assert words <= {*sections}


def test_measurements_print_a_section_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    main("", power_law.SECTIONS, ["kernel"])
    printed = capsys.readouterr().out
    assert printed.startswith("kernel: Show the weight exp(logit) by distance")
    assert "1 widths away: 0.00674" in printed  # exp(5 - 10)


@pytest.mark.slow
def test_the_power_law_sampler_runs_in_chains_beside_llama_cpp_s() -> None:
    chains = [line.split("  ")[0] for line in power_law.timing()]
    assert chains == ["power_law", "top_k 40, dist", "adaptive_p"]


def test_measurements_refuse_an_unknown_section(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main("", akunu.SECTIONS, ["bias"])
    assert "section 'bias': unknown - use order, cap" in capsys.readouterr().err


def test_order_of_the_filters_moves_the_distribution() -> None:
    """Without rounding, at T = 2 other tokens reach min_p .2; at T = 1 the order is no matter."""
    row, parameters = akunu.golden_row(0), {"temperature": 2.0, "min_p": 0.2}
    away = tv.between(
        akunu.ideal_distribution(row, parameters), akunu.llama_cpp_distribution(row, parameters)
    )
    assert 0 < away < 1
    parameters["temperature"] = 1.0
    same = tv.between(
        akunu.ideal_distribution(row, parameters), akunu.llama_cpp_distribution(row, parameters)
    )
    assert same < 1e-12
