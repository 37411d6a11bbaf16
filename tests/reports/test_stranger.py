"""The fault of an outside author's top_p in JavaScript comes first in each output.

JUnit keeps the order of its cases: there it is the message of the first that fails.
"""

import html
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.failures.explain import overview
from sampler_parity.reports.page import summary_lines
from sampler_parity.reports.write import write_report
from tests.support.command_line import cli
from tests.support.judged import judged
from tests.support.top_p import ADAPTER, CASES, SHOW

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")

WRONG = {  # what is wrong, and what the first line must hold of it
    "drops-the-crossing-token": "one fewer than p allows.*; as if: .*the token that crosses p",
    "exceeds-instead-of-reaches": "keeps one more than p allows, .*must exceed p",
    "keeps-one-more": "keeps one more than p allows",
    "ignores-min-keep": "fewer than p allows; as if: min_keep is ignored",
    "sums-in-bfloat16": "The running sum is bfloat16",
    "one-is-not-off": "p >= 1 still normalizes, sorts and cuts",
    "normalizes-the-rest": "as if: the probabilities are divided by the mass of the survivors",
    "keeps-all-that-equal-the-last": "more than p allows; .*as likely as the last one kept stays",
    "drops-equals-that-do-not-all-fit": "of equal tokens none stays where not all of them fit",
    "takes-the-next-id-of-equals": "but others; .*(a less likely token|a lower one under)",
}


def terminal(bundle: Bundle, _: Path) -> str:
    return summary_lines(bundle)[0]


def explained(bundle: Bundle, _: Path) -> str:
    return next(iter(overview(bundle.folder)))


def card(bundle: Bundle, folder: Path) -> str:
    page = written(bundle, folder, "html")
    article = page[page.index("<article") :]
    return article[: article.index("</h4>")]


def row(bundle: Bundle, folder: Path) -> str:
    rows = [line for line in written(bundle, folder, "md").splitlines() if line.startswith("|")]
    assert rows[0].startswith("| finding |")
    return rows[2]


def message(bundle: Bundle, folder: Path) -> str:
    failure = next(ElementTree.fromstring(written(bundle, folder, "junit")).iter("failure"))
    return failure.attrib["message"]


def written(bundle: Bundle, folder: Path, kind: str) -> str:
    paths = write_report([bundle.folder], folder / "report", [kind])
    return next(path for path in paths if path.name.startswith("parity.")).read_text()


OUTPUTS: list[Callable[[Bundle, Path], str]] = [terminal, explained, card, row, message]


def says(bundle: Bundle, folder: Path, words: str) -> None:
    for output in OUTPUTS:
        first = html.unescape(output(bundle, folder))
        assert re.search(words, first), (output.__name__, first)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["drops-the-crossing-token", "takes-the-next-id-of-equals"])
def test_the_fault_is_the_first_that_is_reported_in_every_output(
    fault: str, tmp_path: Path
) -> None:
    shown = [CASES[name] for name in SHOW if "V1024" not in name]
    bundle = judged(tmp_path / "b", f"mine=node {ADAPTER} {fault}", shown, "tied")
    says(bundle, tmp_path, WRONG[fault])


@pytest.mark.nightly
@pytest.mark.parametrize("fault", WRONG)
def test_each_of_ten_faults_is_the_first_that_a_run_says_of_it(fault: str, tmp_path: Path) -> None:
    command = ["run", "parity/top_p", "-b", f"mine=node {ADAPTER} {fault}", "-j", "1"]
    done = cli(*command, "--accept", "tied", "-o", tmp_path / "b")
    assert done.returncode == 1
    assert re.search(WRONG[fault], done.stdout.splitlines()[0])
    says(read_finished(tmp_path / "b"), tmp_path, WRONG[fault])
