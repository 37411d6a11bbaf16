"""The effect of each stage on the probabilities: the figures, the picture, `explain --plot`."""

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from sampler_parity.harness.bundle.artifacts import stage_file, write_arrays
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.cli.app import app
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.suite.file import find_suites, read_suite
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_page import document
from sampler_parity.reports.pictures.stages import Left, changes, of_counterexample, probabilities
from sampler_parity.reports.writers.html import html
from tests.support.report_bundles import HOSTILE, bundle_of, case, diverged, run_info, write_bundle

LN2 = math.log(2)
TOP_P = find_suites(["parity/top_p"])[0]
# 8 : 4 : 2 : 1 : 1 of 16
HALVES: dict[str, Any] = {
    "id": "x/a",
    "description": "a fact",
    "why": "a defect",
    "chain": [{"top_k": {"k": 3}}, {"temp": {"temp": 1.0}}, {"top_p": {"p": 0.6}}],
    "logits": {"rows": [[3 * LN2, 2 * LN2, LN2, 0.0, 0.0]]},
}


def test_a_stage_takes_from_some_and_gives_to_the_others() -> None:
    top_k, temp, top_p = changes(StagesCase.model_validate(HALVES))
    gone = math.nan
    assert top_k.before == pytest.approx([8 / 16, 4 / 16, 2 / 16, 1 / 16, 1 / 16])
    assert top_k.after == pytest.approx([8 / 14, 4 / 14, 2 / 14, gone, gone], nan_ok=True)
    assert temp.after == pytest.approx(top_k.after, nan_ok=True)
    # 8/14 = 0.571 does not reach 0.6, 12/14 does
    assert top_p.after == pytest.approx([2 / 3, 1 / 3, gone, gone, gone], nan_ok=True)


def test_a_later_step_is_shown_as_the_steps_before_it_left_the_chain() -> None:
    data = HALVES | {
        "chain": [{"penalties": {"penalty_last_n": 4, "penalty_repeat": 2.0}}],
        "steps": 2,
        "accept": [0, 0],
    }
    (first,) = changes(StagesCase.model_validate(data), 0)
    (second,) = changes(StagesCase.model_validate(data), 1)
    assert first.after == pytest.approx(first.before)
    # the logit of token 0, 3 ln 2, is halved: 2^1.5 : 4 : 2 : 1 : 1
    assert second.after[0] == pytest.approx(2**1.5 / (2**1.5 + 8))


@pytest.mark.parametrize(
    ("ids", "logits", "expected"),
    [
        ([0, 1], [0.0, -math.inf], [1, 0, math.nan]),
        ([2, 0], [math.inf, 1.0], [0, math.nan, 1]),
        ([0, 1], [0.0, math.nan], [math.nan] * 3),
        ([0, 7, -1], [0.0, 0.0, 0.0], [1, math.nan, math.nan]),
        ([], [], [math.nan] * 3),
    ],
    ids=["-inf", "inf", "nan", "ids of no token", "none"],
)
def test_hard_candidates_have_probabilities_or_none(
    ids: list[int], logits: list[float], expected: list[float]
) -> None:
    shown = probabilities(np.array(ids, np.int64), np.array(logits, np.float32), 3)
    assert shown == pytest.approx(expected, nan_ok=True)


@pytest.mark.slow
def test_the_picture_has_a_panel_for_every_stage_that_changes_something() -> None:
    svg = of_counterexample(HALVES, "s")
    shown = re.findall(r">([^<>]+)</text>", svg)
    assert "top_k" in shown
    assert "top_p" in shown
    assert "temp" not in shown  # by 1
    assert {"before", "after", "removed", "token, the likeliest first"} <= set(shown)


def test_what_a_backend_keeps_is_marked_where_the_reference_changes_nothing() -> None:
    keeps_all = HALVES | {"chain": [{"top_p": {"p": 0.6, "min_keep": 5}}]}
    assert of_counterexample(keeps_all, "s") == ""
    svg = of_counterexample(keeps_all, "s", Left([0, 1], 0, 0))
    shown = re.findall(r">([^<>]+)</text>", svg)
    assert {"top_p", "before", "after", "kept by the backend"} <= set(shown)
    assert "removed" not in shown
    assert of_counterexample(keeps_all, "s", Left([7, -1], 0, 0)) == ""
    assert of_counterexample(keeps_all, "s", Left([0], 0, 9)) == ""


@pytest.mark.parametrize(
    "changed",
    [
        {"chain": [{"temp": {"temp": 1.0}}]},
        {"chain": [{"nosuch": {}}]},
        {"logits": {"rows": [[0.0] * 5000]}},
        {"logits": {"golden": "../../etc/passwd"}},
        {"steps": 65},
        {"vocab": "nosuch"},
        {"logits": HOSTILE},
        {"id": HOSTILE},
    ],
    ids=["no change", "no sampler", "large", "file", "long", "vocabulary", "no logits", "no id"],
)
def test_what_is_no_small_case_has_no_picture(changed: dict[str, Any]) -> None:
    assert of_counterexample(HALVES | changed, "s") == ""


@pytest.mark.slow
def test_the_card_of_a_group_shows_its_counterexample_stage_by_stage(tmp_path: Path) -> None:
    failing = case("a", {"x": diverged()}, counterexample=HALVES)
    text = html(document(report_of([bundle_of(tmp_path / "b", run_info("x"), [failing])])))
    card = text[text.index("<article") : text.index("</article>")]
    assert ">top_k<" in card
    assert "each stage of the reference" in card


def explained(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["explain", str(folder), *arguments])


def bundle_of_top_p(folder: Path, **fields: Any) -> Path:
    """A case of the suite, of which the backend kept one token where two are right."""
    sha256 = read_suite(TOP_P).sha256
    name = "top_p/crossing-token-is-kept"
    info = run_info("x", suites={"parity/top_p": sha256} | fields)
    failing = case(name, {"x": diverged(stage_index=0)})
    write_bundle(folder, info, [failing])
    (folder / "artifacts").mkdir(exist_ok=True)
    left = {
        "ids": np.array([0, 1]),
        "logits": np.array([-0.69, -1.2]),
        "p": np.array([0.5, 0.3]),
        "got_ids": np.array([0]),
        "got_logits": np.array([-0.69]),
        "got_p": np.array([1.0]),
    }
    write_arrays(folder / "artifacts" / stage_file(name, "x"), **left)
    return folder


@pytest.mark.slow
def test_explain_draws_a_case_with_what_the_backend_left(tmp_path: Path) -> None:
    bundle = bundle_of_top_p(tmp_path / "b")
    file = tmp_path / "new" / "case.svg"
    done = explained(bundle, "top_p/crossing-token-is-kept", "--plot", str(file))
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == str(file)
    texts = [node.text for node in ElementTree.fromstring(file.read_text()).iter() if node.text]
    assert "top_p" in texts
    assert "after, by the backend" in texts


@pytest.mark.slow
def test_explain_draws_a_case_of_the_full_profile_that_ran_alone(tmp_path: Path) -> None:
    name = "top_p/matrix/normal-V2-p0.5-min_keep1"
    info = run_info("x", suites={"parity/top_p": read_suite(TOP_P).sha256})
    info = info.model_copy(update={"only": [name]})
    assert info.profile == "quick"
    write_bundle(tmp_path / "b", info, [case(name, {"x": diverged(stage_index=0)})])
    done = explained(tmp_path / "b", name, "--plot", str(tmp_path / "case.svg"))
    assert done.exit_code == 0, done.output


def test_explain_draws_nothing_that_is_not_what_ran(tmp_path: Path) -> None:
    bundle = bundle_of_top_p(tmp_path / "b", **{"parity/top_p": "another"})
    for arguments, shown in (
        (["--plot", "x.svg"], "--plot: draws a case - name one"),
        (["top_p/nosuch", "--plot", "x.svg"], "has no case 'top_p/nosuch'"),
        (
            ["top_p/crossing-token-is-kept", "--plot", "x.svg"],
            "has changed since the bundle was made",
        ),
    ):
        error = explained(bundle, *arguments).exception
        assert isinstance(error, InputError)
        assert shown in str(error)
