"""A user's tests with the marker, in a pytest of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest
from tests.functions.right_functions import top_p as right
from tests.functions.wrong_functions import top_p as wrong


@pytest.mark.sampler_parity("top_p", cases=["top_p/crossing*", "top_p/exact-sums/*V2-p0.5*"])
def test_right(check_case):
    check_case(right)


@pytest.mark.sampler_parity("top_p", cases="top_p/crossing*")
def test_wrong(check_case):
    check_case(wrong)


@pytest.mark.sampler_parity("top_p", cases="top_p/min-keep*")
def test_without_min_keep(check_case):
    check_case(lambda logits, p: right(logits, p))


@pytest.mark.sampler_parity(sampler="dist")
def test_greedy_as_dist(check_case):
    check_case(lambda logits, rng: int(logits.argmax()))


def test_unmarked(check_case):
    check_case(right)
"""


def run(path: Path, text: str, *arguments: str) -> list[str]:
    (path / "test_mine.py").write_text(text)
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(path)]
    plugin = ["-p", "no:cacheprovider"]  # the package brings its own
    done = subprocess.run(
        [*command, *plugin, *arguments, str(path / "test_mine.py")],
        cwd=root, capture_output=True, encoding="utf-8", env={"PYTHONPATH": str(root)},
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.mark.slow
def test_each_case_is_a_test_and_a_failure_ends_with_a_replay(tmp_path: Path) -> None:
    lines = run(tmp_path, TESTS, "-rs")
    start = next(i for i, line in enumerate(lines) if "test_wrong[crossing" in line)
    failure = lines[start + 1 : start + 8]
    assert failure[0] == "1 case diverges at top_p: keeps one fewer than p allows"
    replay = [line for line in lines if line.startswith("  replay: ")]
    assert replay == ['  replay: check(top_p, "top_p", cases="top_p/crossing-token-is-kept")']
    assert "mark the test: @pytest.mark.sampler_parity(SAMPLER)" in "\n".join(lines)
    assert any("SKIPPED" in line and "takes no min_keep" in line for line in lines)
    assert lines[-1].startswith("2 failed, 177 passed, 1 skipped, 1 error "), lines[-1]
    assert any("test_greedy_as_dist[draws]" in line for line in lines)
    selected = run(tmp_path, TESTS, "-k", "crossing and right")
    assert selected[-1].startswith("1 passed, ")


@pytest.mark.slow
def test_an_unknown_sampler_is_refused_at_collection(tmp_path: Path) -> None:
    lines = run(tmp_path, TESTS.replace('sampler_parity("top_p"', 'sampler_parity("topp"'))
    problem = "@pytest.mark.sampler_parity: topp: no function can be checked as this sampler"
    assert f"{problem} - did you mean top_p or top_k?" in lines


@pytest.mark.slow
@pytest.mark.parametrize(
    ("was", "becomes", "problem"),
    [
        ("cases=", "case=", "no setting case"),
        (
            "def test_right(check_case)",
            "def test_right()",
            "the test must take check_case and call it",
        ),
    ],
)
def test_a_mark_that_does_nothing_is_refused(
    tmp_path: Path, was: str, becomes: str, problem: str
) -> None:
    lines = run(tmp_path, TESTS.replace(was, becomes, 1))
    assert f"@pytest.mark.sampler_parity: {problem}" in lines
