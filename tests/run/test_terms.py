"""Terms on which cases pass: `--accept`, `--require-all`, and a run in which nothing was judged."""

import json
import shutil
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.bundle.replay import replay
from tests.support.command_line import Done, cli

ADAPTER = Path(__file__).parent.parent / "support" / "top_p_adapter.mjs"  # claims top_p alone

SUITE = Path(__file__).parent / "suites" / "terms.toml"

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js"),
    pytest.mark.slow,
]


def run(folder: Path, *options: str | Path) -> Done:
    return cli("run", SUITE, "-b", f"mine=node {ADAPTER}", "-j", "1", "-o", folder / "b", *options)


def test_a_tie_passes_where_it_is_accepted_and_the_bundle_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, "--accept", "tied", "--json", tmp_path / "counts.json")
    assert done.returncode == 0, done.stdout
    assert "cases    1/1 as required   1 skipped" in done.stdout
    mine = json.loads((tmp_path / "counts.json").read_text())["backends"]["mine"]
    assert (mine["judged"], mine["verdicts"]) == (1, {"tied": 1, "skipped": 1})
    bundle = read_finished(tmp_path / "b")
    assert {case.accept for case in bundle.cases} == {"tied"}
    assert bundle.info.options["accept"] == "tied"
    assert replay(bundle.info, "terms", "terms/tie", ["mine"]).endswith(" --accept tied")


def test_with_require_all_what_is_not_claimed_is_unsupported_and_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path, "--accept", "tied", "--require-all")
    assert done.returncode == 1
    assert "1 unsupported" in done.stdout
    bundle = read_finished(tmp_path / "b")
    assert replay(bundle.info, "terms", "terms/lacks", ["mine"]).endswith(" --require-all")


def test_a_run_in_which_nothing_was_judged_ends_with_2_and_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, "--case", "terms/lacks")
    assert done.returncode == 2, done.stdout
    assert "nothing was judged on mine: all of 1 cases skipped" in done.stdout
