"""Claims on the pages of docs/findings: each names the place that checks it, and it exists."""

import re
from pathlib import Path

import pytest

from sampler_parity.harness.suite.ids import shipped

ROOT = Path(__file__).parent.parent.parent
TESTS = [path for name in ("tests", "engines") for path in (ROOT / name).rglob("test_*.py")]
FINISHED = (ROOT / "docs/results/README.md").read_text(encoding="utf-8")

HEAD = "| stated | comes to | where |"
HOLD = "These hold:"


def rows(page: str) -> list[list[str]]:
    """Return the cells of each row of its tables of claims, and of each item of its lists."""
    found: list[list[str]] = []
    inside = ""
    for line in page.splitlines():
        if line in (HEAD, HOLD):
            inside = line
        elif inside == HEAD and line.startswith("|"):
            found.append([cell.strip() for cell in line.strip("| ").split(" | ")])
        elif inside == HOLD and line.startswith("- "):
            found.append(line.removeprefix("- ").rsplit(": ", 1))
        elif line:
            inside = ""
    return [row for row in found if not row[0].startswith("---")]


def has_case(suite: Path, case: str) -> bool:
    return re.search(rf'^id = "{re.escape(case)}"$', suite.read_text(), re.MULTILINE) is not None


def is_there(place: str) -> bool:
    if match := re.fullmatch(r"((?:\w+/)*test_\w+\.py)::(test_\w+)", place):
        files = [path for path in TESTS if path.as_posix().endswith(f"/{match[1]}")]
        return len(files) == 1 and f"def {match[2]}(" in files[0].read_text()
    if match := re.fullmatch(r"studies\.(\w+)(?: (\w+))?", place):
        study = ROOT / "studies" / f"{match[1]}.py"
        return study.is_file() and (match[2] is None or f'"{match[2]}":' in study.read_text())
    if match := re.fullmatch(r"(studies\.\w+)(?: \w+)? at ([0-9a-f]{8})", place):
        return re.search(rf"\| {match[2]} \| `python -m {match[1]}\b", FINISHED) is not None
    if match := re.fullmatch(r"(\w+/\w+\.toml)(?:#([\w.-]+))?", place):
        suite = shipped().get(match[1].removesuffix(".toml"))
        return suite is not None and (match[2] is None or has_case(suite, match[2]))
    if match := re.fullmatch(r"(\w+)/([\w.-]+)", place):
        if match[1] == "examples":
            return (ROOT / place).is_file()
        return any(
            has_case(suite, match[2]) for suite in shipped().values() if suite.stem == match[1]
        )
    return False


def without_a_place(page: str) -> list[str]:
    """The rows that name no place, and the places that are not there."""
    wrong = []
    for row in rows(page):
        stated, where = row[0], row[-1]
        places = re.findall(r"`([^`]+)`", where)
        if not places and where != "this page":
            wrong.append(stated)
        wrong += [f"{stated}: {place}" for place in places if not is_there(place)]
    return wrong


@pytest.mark.slow
def test_each_claim_names_a_place_that_is_there() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs/findings").glob("*.md")]
    with_claims = [page for page in pages if HEAD in page]
    assert len(with_claims) == 5
    assert all(len(rows(page)) > 25 for page in with_claims)
    assert sum(len(rows(page)) for page in with_claims) > 200
    assert [wrong for page in with_claims for wrong in without_a_place(page)] == []


@pytest.mark.parametrize(
    "where",
    [
        "soon",
        "`test_dist.py::test_dist_is_never_wrong`",
        "`test_nothing.py::test_dist_normalizes_the_probabilities`",
        "`studies.akunu nothing`",
        "`studies.nothing order`",
        "`studies.nothing order at 3b0bb21e`",
        "`top_k/no-such-case`",
        "`no_suite/zero-is-off`",
        "`tsampler/filters.toml#no-such-case`",
        "`tsampler/no_file.toml`",
        "`examples/nothing.py`",
    ],
)
def test_a_place_that_is_not_there_is_reported(where: str) -> None:
    assert len(without_a_place(f"{HEAD}\n|---|---|---|\n| it works | holds | {where} |")) == 1
    assert len(without_a_place(f"{HOLD}\n\n- it works: {where}\n")) == 1
