"""The throughput page of a bundle: its text, its JSON, HTML and Markdown."""

import json
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import TimingCheckResult
from sampler_parity.harness.checks.timed_records import (
    Conditions,
    Generation,
    ThroughputOnBackend,
    ThroughputResult,
    TimingResult,
)
from sampler_parity.reports.page import pages_of, summary_lines
from sampler_parity.reports.pages.throughput.throughput_model import (
    OfOne,
    ThroughputReport,
    report_of,
    width_rows,
)
from sampler_parity.reports.pages.throughput.throughput_page import document, summary
from sampler_parity.reports.pages.throughput.throughput_tables import compared_lines, ratios
from sampler_parity.reports.writers.ci import MOST_CHARACTERS, markdown
from sampler_parity.reports.writers.html import html
from tests.support.chromium import See
from tests.support.report_bundles import read_back, run_info

MS = 1_000_000


def timed(n: int = 65_536, **fields: object) -> TimingResult:
    """tsampler takes 62.5 times as long as llama.cpp, 4.1 ms at V = 65,536."""
    base = [n + (i * 37) % 90 for i in range(20)]
    defaults = {
        "id": f"timing/usual/V{n}-n64",
        "suite": "timing/engines",
        "sampler": "top_k",
        "n_vocab": n,
        "last_n": 64,
        "group": "usual",
        "ns": {"llama.cpp": base, "tsampler": [125 * x // 2 for x in base], "null": [9] * 20},
        "baseline": "llama.cpp",
        "again": base,
        "setup_ns": {"llama.cpp": [500] * 20},
    }
    return TimingResult.model_validate(defaults | fields)


def generated(sample_ms: int, decode_ms: int, rounds: int = 8) -> ThroughputOnBackend:
    one = Generation(
        prompt_ns=8 * MS, sample_ns=[sample_ms * MS] * 10, decode_ns=[decode_ms * MS] * 10
    )
    return ThroughputOnBackend(rounds=[one] * rounds)


def wide(**backends: ThroughputOnBackend) -> ThroughputResult:
    """10 tokens of each of 4 sequences; a step of llama.cpp samples for 1 ms and decodes for 9."""
    native = generated(1, 9)
    sizes: dict[str, Any] = {
        "n_vocab": 4096,
        "stages": 10,
        "sequences": 4,
        "n_prompt": 16,
        "n_tokens": 10,
    }
    names = {"id": "throughput/small/default/4", "model": "small", "chain": "default"}
    of = {"backends": {"llama.cpp": native, **backends}, "baseline": "llama.cpp", "again": native}
    return ThroughputResult.model_validate(sizes | names | of)


def test_a_sequence_of_four_is_compared_with_one_alone(tmp_path: Path) -> None:
    native = generated(1, 9)  # of four together: 10 ms a step
    alone = generated(1, 4).rounds  # of one: 5 ms
    result = wide().model_copy(
        update={"backends": {"llama.cpp": native.model_copy(update={"alone": alone})}}
    )
    (row,) = width_rows(result, 0.05)
    assert row.of_one == OfOne(ratio=0.5, low=0.5, high=0.5)
    assert row.sample_of_one == OfOne(ratio=0.25, low=0.25, high=0.25)
    (before,) = width_rows(wide(), 0.05)
    assert (before.of_one, before.sample_of_one) == (None, None)


def check(met: bool = True) -> TimingCheckResult:
    measured: dict[str, Any] = {
        "rounds": [10, 20],
        "seconds": [0.1, 0.2],
        "off_one": [2, 2],
        "trials": 40,
    }
    others = {"faster": [0, 1], "inconclusive": [1, 0]}
    curves = [
        {"percent": percent, "slower": [n, 2 * n]} | measured | others
        for percent, n in ((0.0, 1), (10.0, 20))
    ]
    stated: dict[str, Any] = {
        "effect": 0.01,
        "alarm_rate": 0.05,
        "noise": [0.01],
        "seed": 1,
        "wall_s": 9.0,
    }
    of = {"chain": "temp > dist", "n_vocab": 8192, "curves": curves, "met": met}
    return TimingCheckResult.model_validate(stated | of)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    graph = generated(0, 8).model_copy(update={"in_graph": 10})
    records = [timed(), timed(4096), timed(262_144), wide(**{"llama.cpp/graph": graph}), check()]
    folder = tmp_path_factory.mktemp("timed") / "b"
    return read_back(folder, run_info("llama.cpp", "tsampler"), [], records)


@pytest.fixture(scope="module")
def page(bundle: Bundle) -> str:
    """Its pictures take most of the time."""
    return html(document(report(bundle)))


def report(bundle: Bundle) -> ThroughputReport:
    made = report_of([bundle])
    assert made is not None
    return made


def test_bundle_of_timings_alone_has_no_parity_page(bundle: Bundle) -> None:
    assert [made.page.stem for made in pages_of([bundle])] == ["throughput"]


def test_backend_is_compared_with_the_first_and_the_floor_with_nothing(bundle: Bundle) -> None:
    rows = {r.backend: r for r in report(bundle).sections[0].timings if r.n_vocab == 65_536}
    slower = rows["tsampler"].compared
    assert slower is not None
    assert slower.verdict == "slower"
    assert slower.ratio == pytest.approx(62.5, rel=1e-3)
    assert rows["llama.cpp"].compared is rows["null"].compared is None
    assert (rows["llama.cpp"].setup_ns, rows["tsampler"].setup_ns) == (500.0, None)


def test_tokens_a_second_and_the_share_of_sampling(bundle: Bundle) -> None:
    """4 sequences x 10 tokens in 10 x (1 + 9) ms are 400 a second; the prompts 64 in 8 ms."""
    native, graph = report(bundle).sections[0].widths
    assert native.generation.value == pytest.approx(400)
    assert native.prompt.value == pytest.approx(8000)
    assert native.share == pytest.approx(0.1)
    # in the graph a step takes 8 ms, 1 ms less than decoding alone: a share below 0, which is noise
    assert graph.share == pytest.approx(-1 / 8)
    assert graph.compared is not None
    assert graph.compared.verdict == "faster"
    assert graph.compared.ratio == pytest.approx(0.8)


def test_the_chain_alone_has_an_interval_of_its_tokens_a_second(bundle: Bundle) -> None:
    rows = [row for row in report(bundle).sections[0].timings if row.backend == "llama.cpp"]
    for row in rows:
        low, high = row.tokens_per_s.low, row.tokens_per_s.high
        assert low is not None
        assert high is not None
        assert row.tokens_per_s.value == pytest.approx(1e9 / row.median_ns)
        assert low < row.tokens_per_s.value < high


@pytest.mark.slow
def test_a_share_below_nothing_is_reported_as_noise(bundle: Bundle, page: str) -> None:
    for text in ("\n".join(summary_lines(bundle)), page, markdown(document(report(bundle)))):
        assert "less than the noise" in text
        assert "-12.5%" not in text


@pytest.mark.slow
def test_so_few_samples_have_no_p99_of_their_own(bundle: Bundle, page: str) -> None:
    for text in (page, markdown(document(report(bundle)))):
        assert "slowest of 20: " in text
        assert "p99" not in text


def test_claims_of_tsampler_are_judged_on_their_vocabulary(tmp_path: Path) -> None:
    """4.1 ms are within 3 to 5 ms and 10% of 40 ms; the native chain is faster than claimed."""
    alone = wide().model_copy(update={"sequences": 1})
    one = read_back(tmp_path / "b", run_info("llama.cpp", "tsampler"), [], [timed(), alone])
    claims = report(one).sections[0].claims
    assert [c.holds for c in claims] == [True, False, True, None]
    assert claims[3].seen.endswith("of 9 ms")


def test_no_claim_is_judged_on_a_busy_machine(tmp_path: Path) -> None:
    loaded = timed(conditions=Conditions(cpu=0, load=7.0))
    made = report(read_back(tmp_path / "b", run_info("llama.cpp", "tsampler"), [], [loaded]))
    assert [c.holds for c in made.sections[0].claims] == [None, None, None]


def test_failure_and_disturbance_are_remarks_once(tmp_path: Path) -> None:
    failed = {"akunu/cpu": "unsupported: no sampler dry"}
    records = [timed(n, failed=failed) for n in (10, 20, 30)]
    made = report(read_back(tmp_path / "b", run_info("llama.cpp"), [], records))
    assert [(r.text, r.more) for r in made.sections[0].remarks] == [
        ("akunu/cpu: unsupported: no sampler dry", 2)
    ]


def test_page_fails_where_the_self_check_does(tmp_path: Path, bundle: Bundle) -> None:
    bad = read_back(tmp_path / "bad", run_info("llama.cpp"), [], [check(met=False)])
    assert summary(report(bundle)).ok is True
    assert summary(report(bad)).ok is False
    assert summary(report(read_back(tmp_path / "c", run_info("a"), [], [timed()]))).ok is None


@pytest.mark.slow
def test_html_shows_figures_pictures_and_the_self_check(page: str) -> None:
    for shown in ("usual/V65536-n64", "62.5 [62.5, 62.5]", "10/10 stages in the graph", "40/40"):
        assert shown in page
    assert page.count("<svg") == 4


def test_markdown_fits_a_comment(bundle: Bundle) -> None:
    made = report(bundle)
    made.sections[0].timings.extend(200 * made.sections[0].timings)
    assert len(made.sections[0].timings) == 1809
    assert len(markdown(document(made))) <= MOST_CHARACTERS


def test_terminal_says_verdicts_rates_and_alarms(bundle: Bundle) -> None:
    lines = "\n".join(summary_lines(bundle))
    assert "speed    tsampler   3 slower" in lines
    assert "default, 4 at once on llama.cpp: 400" in lines
    assert "alarms   3/40, stated 2   ok" in lines


_SORT_AND_FILTER = Path(__file__).with_name("sort_and_filter.js").read_text(encoding="utf-8")


@pytest.mark.slow
def test_tables_sort_and_filter_under_the_policy_of_the_page(page: str, see: See) -> None:
    (seen,) = see(page, 1280, act=_SORT_AND_FILTER)
    small, middle, large = (f"usual/V{n}-n64" for n in (4096, 65536, 262144))
    assert json.loads(seen.answer) == [
        [middle, small, large],
        *("ascending", [small, middle, large]),
        *("descending", [large, middle, small]),
        *([middle], "1 of 3 rows"),
    ]
    assert seen.console == []


@pytest.mark.slow
def test_the_floor_and_the_first_are_folded_and_what_is_compared_is_not(page: str) -> None:
    assert "<details open><summary><strong>tsampler</strong>: 3 slower" in page
    assert "<details><summary><strong>null</strong>: 3 timings, floor" in page
    assert "<details><summary><strong>llama.cpp</strong>: 3 timings, the first" in page
    assert page.count('class="bad" data-label="Verdict">slower') == 3


def test_the_forest_plot_has_a_line_for_every_comparison(bundle: Bundle) -> None:
    section = report(bundle).sections[0]
    assert [line.kind for line in compared_lines(section)] == ["slower"] * 3
    picture = ratios(section, "s")
    assert picture.count(">usual/V") == 3
    assert ">usual/V4096-n64<" in picture
