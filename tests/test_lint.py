"""lint: the repository is clean, and each rule notices what it is there for."""

import shutil
from pathlib import Path

import pytest

from harness import lint as linter
from harness.fixtures import golden_folder
from harness.lint import lint
from harness.suite import read_suite, suites_folder

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


def problems_of(folder: Path, **suites: str) -> list[str]:
    """Problems of a folder that holds these suites only, without those of missing samplers."""
    (folder / "parity").mkdir()
    for name, text in suites.items():
        (folder / "parity" / f"{name}.toml").write_text(text)
    return [p for p in lint(folder) if not p.startswith("sampler ")]


def test_lint_finds_nothing_in_the_repository() -> None:
    assert lint(suites_folder()) == []


def test_lint_accepts_a_good_suite(tmp_path: Path) -> None:
    assert problems_of(tmp_path, top_p=CASE) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param("Two of three survive", "Two should survive", "says 'should'", id="should"),
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
    found = problems_of(tmp_path, top_p=CASE.replace(old, new))
    assert any(message in problem for problem in found), found


def test_lint_takes_exact_values_on_a_threshold(tmp_path: Path) -> None:
    exact = CASE.replace("probs = [0.5, 0.3, 0.2]", "values = [1.0, 1.0, 1.0, 1.0]")
    assert problems_of(tmp_path, top_p=exact.replace("p = 0.7", "p = 0.75")) == []


def test_lint_notices_a_description_used_twice(tmp_path: Path) -> None:
    other = CASE.replace('sampler = "top_p"', "").replace('id = "a"', 'id = "b"')
    found = problems_of(tmp_path, top_p=CASE, other=other)
    assert found == ["parity/other: 'b': the same description as parity/top_p: 'a'"]


def test_lint_notices_a_sampler_without_a_suite(tmp_path: Path) -> None:
    shutil.copytree(suites_folder() / "parity", tmp_path / "parity")
    (tmp_path / "parity" / "xtc.toml").unlink()
    found = linter._missing_suites({p: read_suite(p) for p in tmp_path.glob("parity/*")})
    assert found == ["sampler xtc: no suite parity/xtc.toml with sampler = 'xtc'"]


def test_lint_notices_an_id_in_two_suites() -> None:
    found = linter._unique({"top_p/a": ["parity/top_p", "more/top_p"], "top_p/b": ["parity/top_p"]})
    assert found == ["id 'top_p/a' is in parity/top_p and in more/top_p"]


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
