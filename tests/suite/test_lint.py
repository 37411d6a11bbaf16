"""lint: the repository is clean, and each rule finds its fault."""

import shutil
from pathlib import Path

import pytest

from sampler_parity.harness import lint as linter
from sampler_parity.harness.inputs.fixtures import golden_folder
from sampler_parity.harness.lint import lint
from sampler_parity.harness.suite.file import read_suite, suites_folder
from sampler_parity.harness.suite.ids import shipped

CASE = """
name = "top_p"
sampler = "top_p"

[[case]]
id = "a"
description = "Two of three survive"
why = "a defect"
chain = [{ top_p = { p = 0.7 } }]
logits = { probs = [0.5, 0.3, 0.2] }
"""

CHAIN = """
[[chain]]
id = "a"
sampler = "top_k"
chain = [{top_k = {k = 4}}]
logits = {family = "normal", n = 8}
"""
TIMED = f'name = "t"\n{CHAIN}'


def problems_of(folder: Path, **suites: str) -> list[str]:
    """Problems of a folder that holds these suites only, without those of missing samplers."""
    (folder / "parity").mkdir()
    for name, text in suites.items():
        (folder / "parity" / f"{name}.toml").write_text(text)
    return [p for p in lint(sorted(folder.glob("*/*.toml"))) if not p.startswith("sampler ")]


def test_lint_accepts_a_good_suite(tmp_path: Path) -> None:
    assert problems_of(tmp_path, top_p=CASE) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param("Two of three survive", "Two should survive", "uses 'should'", id="should"),
        pytest.param("Two of three survive", " ", "the description is empty", id="empty"),
        pytest.param('"a defect"', '" "', "why is empty", id="why"),
        pytest.param("p = 0.7", "p = 1.0", "tag it noop", id="removes-nothing"),
        pytest.param(
            '"a defect"', '"a defect"\ntags = ["noop"]', "remove the tag", id="stale-noop"
        ),
        pytest.param("p = 0.7", "p = 0.8", "of its threshold", id="within-rounding"),
        pytest.param("top_p = { p = 0.7 }", "top_q = {}", "unknown sampler", id="no-expansion"),
        pytest.param("name =", "nme =", "name: Field required - add it", id="malformed"),
        pytest.param(
            "probs = [0.5, 0.3, 0.2]",
            'golden = "smal"',
            "'smal' is not in the manifest",
            id="unknown-fixture",
        ),
    ],
)
def test_lint_notices(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in CASE
    problems = problems_of(tmp_path, top_p=CASE.replace(old, new))
    assert any(message in problem for problem in problems), problems


def test_lint_takes_exact_values_on_a_threshold(tmp_path: Path) -> None:
    exact = CASE.replace("probs = [0.5, 0.3, 0.2]", "values = [1.0, 1.0, 1.0, 1.0]")
    assert problems_of(tmp_path, top_p=exact.replace("p = 0.7", "p = 0.75")) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "parameters", "far", "at"),
    [
        # the mass of the likelier one is the threshold; so is the probability of both; and with two
        # logits the smaller one is always two deviations below the larger
        ("typical_p", "p = {}", 0.4, 0.5),
        ("xtc", "p = 1.0, seed = 1, t = {}", 0.4, 0.5),
        ("top_n_sigma", "n = {}", 1.0, 2.0),
    ],
    ids=["typical_p", "xtc", "top_n_sigma"],
)
def test_lint_notices_a_decision_on_the_threshold_of_other_filters(
    tmp_path: Path, sampler: str, parameters: str, far: float, at: float
) -> None:
    probs = "[0.7, 0.3]" if sampler == "top_n_sigma" else "[0.5, 0.5]"
    for value in (far, at):
        chain = f"{sampler} = {{ {parameters.format(value)} }}"
        case = CASE.replace("top_p = { p = 0.7 }", chain).replace('"top_p"', f'"{sampler}"')
        folder = tmp_path / str(value)
        folder.mkdir()
        problems = problems_of(folder, **{sampler: case.replace("[0.5, 0.3, 0.2]", probs)})
        assert any("of its threshold" in problem for problem in problems) == (value == at), problems


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("top_k = {k = 4}", "top_q = {}", "unknown sampler"),
        ("[[chain]]", CHAIN + "[[chain]]", "chain 'a': duplicate id 'a'"),
        ('sampler = "top_k"', 'sampler = "top_p"', "its chain is without 'top_p'"),
        ("n = 8", "n = 0", "chain 'a': logits"),
    ],
    ids=["chain", "same-id", "other-sampler", "logits"],
)
def test_lint_notices_in_a_timing_suite(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "timing").mkdir()
    path = tmp_path / "timing" / "mine.toml"
    path.write_text(TIMED)
    assert [p for p in lint(sorted(tmp_path.glob("*/*.toml"))) if "timing/mine" in p] == []
    path.write_text(TIMED.replace(old, new))
    problems = lint(sorted(tmp_path.glob("*/*.toml")))
    assert any(message in problem for problem in problems), problems


def test_lint_notices_a_description_used_twice(tmp_path: Path) -> None:
    other = CASE.replace('sampler = "top_p"', "").replace('id = "a"', 'id = "b"')
    problems = problems_of(tmp_path, top_p=CASE, other=other)
    assert problems == ["parity/other: 'b': the same description as parity/top_p: 'a'"]


@pytest.mark.slow
def test_lint_notices_a_sampler_without_a_suite(tmp_path: Path) -> None:
    for group in linter.OF_SAMPLERS:
        shutil.copytree(suites_folder() / group, tmp_path / group)
    (tmp_path / "parity" / "xtc.toml").unlink()
    problems = linter._missing_suites({p: read_suite(p).suite for p in tmp_path.glob("*/*.toml")})
    assert problems == ["sampler xtc: no suite parity/xtc.toml with sampler = 'xtc'"]


def edited(folder: Path, name: str, old: str, new: str) -> Path:
    """Return a copy of a suite of the repository with one edit, in a second case too."""
    path = folder / "parity" / f"{name}.toml"
    path.parent.mkdir(exist_ok=True)
    text = (suites_folder() / "parity" / f"{name}.toml").read_text()
    assert text.count(old) in (1, 2)
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new", "lacking"),
    [
        ("top_p", "sizes = [2, 1024]", "sizes = [1024]", "comparison above"),
        ("top_n_sigma", "n = 2.0000002 }", "n = 2.1 }", "product above"),
        ("min_p", "[64.0, 63.999996, 64.0]", "[1.0, 0.99999994, 1.0]", None),
        ("xtc", "p = 0.41702202,", "p = 0.5,", "draw below"),
        ("infill", "[98, 20.0]]", "[98, 19.0]]", "comparison at"),
    ],
    ids=["top_p", "top_n_sigma", "min_p", "xtc", "infill"],
)
def test_lint_notices_a_side_of_a_threshold_without_an_exact_case(
    tmp_path: Path, name: str, old: str, new: str, lacking: str | None
) -> None:
    counts = linter.exact_cases([edited(tmp_path, name, old, new)])
    problems = [p for p in linter._without_exact(counts) if p.startswith(f"sampler {name}:")]
    expected = f"sampler {name}: no quick case with an exact {lacking} the threshold"
    assert problems == ([expected] if lacking else [])


def test_lint_notices_an_id_in_two_suites() -> None:
    problems = linter._unique(
        {"top_p/a": ["parity/top_p", "more/top_p"], "top_p/b": ["parity/top_p"]}
    )
    assert problems == ["id 'top_p/a' is in parity/top_p and in more/top_p"]


def test_lint_notices_a_fixture_that_was_altered(tmp_path: Path) -> None:
    shutil.copy(golden_folder() / "manifest.toml", tmp_path)
    for path in golden_folder().glob("*.gguf"):
        shutil.copy(path, tmp_path)
    (tmp_path / "stray.gguf").write_bytes(b"GGUF")
    with (tmp_path / "small.gguf").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    altered, stray = linter._golden(tmp_path)
    assert "small.gguf: SHA-256 is" in altered
    assert stray == f"{tmp_path / 'stray.gguf'}: not in the manifest"


def test_lint_notices_a_stale_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linter, "protocol_schema", lambda: "{}\n")
    (problem,) = linter._schemas()
    assert "protocol.schema.json: not what the models make" in problem


@pytest.mark.slow
def test_the_repository_is_clean_in_the_quick_profile() -> None:
    assert lint(list(shipped().values()), "quick") == []


@pytest.mark.nightly
def test_the_repository_is_clean() -> None:
    assert lint(list(shipped().values())) == []


def test_lint_counts_the_exact_cases_of_a_suite(tmp_path: Path) -> None:
    (tmp_path / "parity").mkdir()
    path = tmp_path / "parity" / "top_p.toml"
    path.write_text(CASE.replace("probs = [0.5, 0.3, 0.2]", "values = [1, 1, 1, 1]"))
    assert not linter.exact_cases([path])  # the mass of three is far above 0.7
    path.write_text(path.read_text().replace("p = 0.7", "p = 0.75"))
    assert linter.exact_cases([path]) == {("top_p", "sum", "at"): 1}
    assert linter.exact_line(linter.exact_cases([path])).startswith("top_p sum 0/1/0, top_p comp")
