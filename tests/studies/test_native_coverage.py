"""The evaluation of gcov's counts: the lines that nothing reaches, compared with the list."""

import subprocess
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from studies.native import common, counts, page, reasons
from studies.native.counts import Line
from studies.native.reasons import Entry

PROGRAM = """\
template <class T> T larger(T a, T b) {
    return a > b ? a : b;
}
int twice(int a) {
    if (a < 0) {
        return 0;
    }
    return 2 * a;
}
int never(int a) {
    return a;
}
int main() {
    return larger(1, 2) + larger(2.0, 1.0) + twice(1) > 100;
}
"""


def line(number: int, count: int, text: str, *branches: int, function: str = "twice") -> Line:
    return Line("a.cpp", number, function, text, count, branches)


LINES = [
    line(1, 1, "if (a < 0) {", 0, 1),
    line(2, 0, "return 0;"),
    line(3, 0, "return a;", function="never"),
]
RETURN = Entry(file="a.cpp", function="twice", lines=["return 0;"], why="No case is negative.")
BRANCH = Entry(file="a.cpp", function="tw*", branches=["if (a*"], why="No case is negative.")
NEVER = Entry(file="a.cpp", function="never", why="Nothing calls it.")


def test_lines_and_branches_are_counted_by_function(tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text(PROGRAM)
    for command in (["g++", "-O0", "--coverage", "-c", "a.cpp"], ["g++", "--coverage", "a.o"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "a.out"], cwd=tmp_path, check=True)
    lines = {entry.number: entry for entry in counts.read(tmp_path, source)}
    assert lines[2] == Line("a.cpp", 2, "larger", "return a > b ? a : b;", 2, (1, 1))
    assert lines[5].branches == (0, 1)
    assert [n for n, entry in lines.items() if entry.count == 0] == [6, 10, 11]
    assert lines[11].function == "never"


def test_counts_are_kept_as_they_were(tmp_path: Path) -> None:
    counts.save(tmp_path / "counts.json", {"a.cpp": {"graph": LINES}}, ["graph: failed"])
    assert counts.load(tmp_path / "counts.json") == ({"a.cpp": {"graph": LINES}}, ["graph: failed"])
    with pytest.raises(InputError, match="holds no counts"):
        counts.load(tmp_path / "none.json")


def test_counts_of_two_runs_are_added() -> None:
    (total,) = counts.added([[line(1, 1, "if (a) {", 0, 1)], [line(1, 2, "if (a) {", 2, 0)]])
    assert (total.count, total.branches) == (3, (2, 1))


@pytest.mark.parametrize(
    ("function", "sampler"),
    [
        ("llama_sampler_top_n_sigma_apply", "top_n_sigma"),
        ("llama_sampler_temp_ext_backend_apply", "temp_ext"),
        ("llama_sampler_temp_impl", "temp"),
        ("llama_sampler_dist::copy_state", "dist"),
        ("llama_sampler_mirostat_v2_apply", "mirostat_v2"),
        ("get_overlapping_token_sequences", "dry"),
        ("common_reasoning_budget_accept", "reasoning_budget"),
        ("llama_sampler_copy", ""),
    ],
)
def test_a_function_belongs_to_its_sampler(function: str, sampler: str) -> None:
    assert counts.sampler_of(function) == sampler


def test_what_is_listed_has_its_reason() -> None:
    judged = reasons.judge(LINES, [RETURN, BRANCH, NEVER])
    assert (judged.unlisted, judged.stale) == ([], [])
    assert judged.reasons["a.cpp", 3] == "Nothing calls it."
    assert judged.ways == {("a.cpp", 1): "No case is negative."}


def test_planted_unreached_line_without_an_entry_fails(tmp_path: Path) -> None:
    problems = page.write({"a.cpp": {"all": LINES}}, [BRANCH, NEVER], tmp_path, 0.5)
    assert problems == ["a.cpp:2 twice: reached by no suite, not listed: return 0;"]
    assert "1 problems" in (tmp_path / "coverage.html").read_text()


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        (RETURN.model_copy(update={"lines": ["return 1;"]}), "line 'return 1;'"),
        (RETURN.model_copy(update={"function": "thrice"}), "line 'return 0;'"),
        (BRANCH.model_copy(update={"branches": ["if (b*"]}), "branch 'if (b*'"),
        (NEVER.model_copy(update={"function": "twice"}), "the whole function"),
    ],
    ids=["another text", "another function", "another branch", "a function that is called"],
)
def test_planted_stale_entry_fails(entry: Entry, named: str) -> None:
    judged = reasons.judge(LINES, [RETURN, BRANCH, NEVER, entry])
    assert judged.stale == [f"a.cpp, {entry.function}: {named}"]


def test_planted_untaken_branch_counts_against_the_share(tmp_path: Path) -> None:
    (problem,) = page.write({"a.cpp": {"all": LINES}}, [RETURN, NEVER], tmp_path, 0.95)
    assert problem == "a.cpp: 50.0% of the branches taken or explained, 95% must be"
    assert page.write({"a.cpp": {"all": LINES}}, [RETURN, NEVER, BRANCH], tmp_path, 0.95) == []


def test_pages_have_samplers_suites_and_lines_by_number(tmp_path: Path) -> None:
    parts = {"parity": LINES, "graph": [line(1, 1, "if (a < 0) {", 1, 0)]}
    page.write({"a.cpp": parts}, [RETURN, NEVER], tmp_path, 0.95)
    text = (tmp_path / "coverage.md").read_text()
    assert "| all | 1/3 | 2 | 0 | 2/2 | 0 | 0 |" in text
    assert "| graph | 1 | 0 |" in text
    html = (tmp_path / "coverage.html").read_text()
    assert "<code>if (a &lt; 0) {</code>" in html
    assert "<td>No case is negative.</td>" in html


def test_every_test_on_the_driver_of_common_sampler_is_counted() -> None:
    tests = Path(__file__).parents[1] / "reference"
    on_the_driver = {p.stem for p in tests.glob("test_*.py") if "driving(" in p.read_text()}
    assert on_the_driver == set(common.TESTS)
