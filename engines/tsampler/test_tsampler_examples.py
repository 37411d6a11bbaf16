"""The examples of tsampler run on the golden model and do what they describe."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.slow


@pytest.fixture
def lines_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "LinesOf":
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "golden_model", raising=False)
    return LinesOf(capsys)


class LinesOf:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, name: str) -> list[str]:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return self.capsys.readouterr().out.splitlines()


def counts(line: str) -> list[int]:
    """Return the counts of `...: free 2/8, steered 0/8`."""
    return [int(part.split("/")[0].split()[-1]) for part in line.split(",")]


def test_steering_leaves_no_decimals(lines_of: LinesOf) -> None:
    free, steered = counts(lines_of("tsampler_logit_steering.py")[-1])
    assert steered == 0
    assert free > 0, "nothing was there to be vetoed"


def test_entropy_chooses_the_parameters(lines_of: LinesOf) -> None:
    rows = [line.split()[:2] for line in lines_of("tsampler_entropy.py")[1:25]]
    assert len(rows) == 24
    for entropy, top_k in rows:
        assert int(top_k) == (256 if float(entropy) < 2 else 20 if float(entropy) > 5 else 40)
    assert len({top_k for _, top_k in rows}) > 1


def test_known_text_is_validated(lines_of: LinesOf) -> None:
    free, steered = counts(lines_of("tsampler_validation.py")[-1])
    assert steered == 12
    assert free < 12, "the model knew it without the application"


def test_a_burst_lasts_as_long_as_the_uncertainty_and_the_workspace_stays_grown(
    lines_of: LinesOf,
) -> None:
    rows = [line.split()[:3] for line in lines_of("tsampler_bursts.py")[1:25]]
    assert len(rows) == 24
    assert {name for _, name, _ in rows} == {"usual", "burst"}
    for likeliest, name, _ in rows:
        assert (name == "burst") == (float(likeliest) < 0.15)
    first = [name for _, name, _ in rows].index("burst")
    assert {slots for *_, slots in rows[:first]} == {"256"}
    assert {slots for *_, slots in rows[first:]} == {"512"}


def test_the_gate_closes_at_a_perplexity_of_fifty_and_what_follows_stays_below(
    lines_of: LinesOf,
) -> None:
    lines = lines_of("tsampler_perplexity.py")
    (gate,) = (at for at, line in enumerate(lines) if line.startswith("gate:"))
    perplexities = [float(line.split()[2]) for line in lines[1:gate]]
    assert perplexities[-1] > 50
    assert all(ppl <= 50 for ppl in perplexities[:-1])
    assert float(lines[-1].split()[-1]) < 50


def test_behind_a_grammar_only_its_texts_are_drawn_and_all_of_them(lines_of: LinesOf) -> None:
    texts = {line.split("said", 1)[1] for line in lines_of("tsampler_grammar.py")}
    assert texts == {"' hello'", "' goodbye'"}


def test_a_snapshot_replays_and_the_other_path_writes_another_text(lines_of: LinesOf) -> None:
    first, replayed, second, replayed_too = lines_of("tsampler_paths.py")
    assert replayed.split(maxsplit=1)[1] == replayed_too.split(maxsplit=1)[1] == "the same"
    assert first.split(maxsplit=1)[1] != second.split(maxsplit=1)[1]
