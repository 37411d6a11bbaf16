"""Pairs of runs that differ on purpose: each gets the cause that made it."""

import tomllib
from pathlib import Path

import pytest

from sampler_parity.programs.differences.comparison import Text, compare, pairs_of
from sampler_parity.programs.recording.reader import Recording
from tests.programs.differences.runs import Run

TABLE = tomllib.loads(Path(__file__).with_name("pairs.toml").read_text(encoding="utf-8"))
PAIRS = [(cause, name) for cause, pairs in TABLE.items() for name in pairs]


def cause_of(a: Path, b: Path) -> tuple[str, str, str]:
    """Return the only cause, its sentence, and the verdict."""
    comparison = compare(Recording(a), Recording(b))
    decision, likelihood = comparison.decision, comparison.likelihood
    causes = {str(cause): sentence for cause, sentence in decision.causes.items()}
    (cause,) = (causes or {"undecided": decision.undecided}).items()
    return *cause, likelihood.verdict if likelihood else ""


@pytest.mark.parametrize(("cause", "name"), PAIRS)
def test_a_difference_has_the_cause_that_made_it(cause: str, name: str, tmp_path: Path) -> None:
    row = TABLE[cause][name]
    Run(**row.get("a", {})).record(tmp_path / "a")
    Run(**row["b"]).record(tmp_path / "b")
    found, sentence, verdict = cause_of(tmp_path / "a", tmp_path / "b")
    assert (found, row["words"] in sentence) == (cause, True)
    has_verdict = cause in ("sampler", "stream", "history", "logits")
    assert verdict == (row.get("verdict", "larger than rounding") if has_verdict else "")
    assert row.get("not_words", "\0") not in sentence
    assert cause_of(tmp_path / "b", tmp_path / "a")[0] == cause


def test_texts_of_one_prompt_are_paired() -> None:
    a, b = ([Text(p) for p in prompts] for prompts in ([[1], [1], [2], None], [[2], None, [1]]))
    assert pairs_of(a, b) == [(a[0], b[2]), (a[2], b[0]), (a[3], b[1])]
