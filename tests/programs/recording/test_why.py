"""Every number that `why` prints of ten tokens of a real recording is computed a second way."""

import dataclasses
import functools
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import llama_cpp
import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.pages import recording as page
from sampler_parity.programs.recording import tokens as of_tokens
from sampler_parity.programs.recording import why as of_why
from sampler_parity.programs.recording.check import BACKEND, check
from sampler_parity.programs.recording.program import Options, record
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.replay import ReplayedProcess
from sampler_parity.programs.recording.what_if import edited, parting
from sampler_parity.programs.recording.why import why
from sampler_parity.programs.recording.why_lines import lines_of
from tests.programs.recording import second_way
from tests.programs.recording.small_program import Stages, small_recording
from tests.support.examples import one_in
from tests.support.recorded_programs import compile_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")

MODEL, STEPS = str(model_path(GOLDEN)), 40
SLOTS = [sys.executable, str(Path(__file__).parent / "programs" / "slots.py"), MODEL, str(STEPS)]
TOKENS = (1, 2, 17, 26, 38, 41, 55, 62, 76, 79)  # before and after a reset and a clone


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("recorded") / "recording"
    assert record(SLOTS, folder, Options()) == (0, [])
    return Recording(folder)


@pytest.fixture(scope="module")
def expected() -> dict[int, list[str]]:
    return second_way.lines(MODEL, STEPS)


def printed(recording: Recording, number: int) -> list[str]:
    """Return the lines of a token, none of them broken."""
    return list(lines_of(why(recording, str(number)), 10_000))


@pytest.mark.slow
@pytest.mark.parametrize("number", TOKENS)
def test_each_number_of_a_token_is_that_of_the_second_way(
    number: int, recording: Recording, expected: dict[int, list[str]]
) -> None:
    assert printed(recording, number) == expected[number]


def rank_of_the_next(candidates: Any, token: int, right: Any = of_tokens._rank) -> Any:
    return right(candidates, token) + 1


def likeliest_of_all(token: Any) -> tuple[str, float]:
    left = token.stages[-1].after
    p = of_tokens.softmax(left.logits)
    return token.name_of(int(left.ids[p.argmax()])), float(p.max())


def interval_of_the_next(*arguments: Any, right: Any = of_tokens._draw) -> Any:
    draw = right(*arguments)
    return draw and dataclasses.replace(draw, low=draw.high, high=1.0)


def next_random_number(self: Any, address: str, right: Any = ReplayedProcess.rng_of) -> Any:
    rng = right(self, address)
    rng.uniform_double()
    return rng


def in_nats(before: Any, token: int, right: Any = of_tokens._of_model) -> Any:
    p, rank, bits, favourite = right(before, token)
    return p, rank, bits and bits * 0.6931471805599453, favourite


def of_one_more(candidates: Any, right: Any = of_tokens.possible) -> int:
    return int(right(candidates)) + 1


def of_the_first(candidates: Any, token: int) -> int:
    return 0


FAULTS = {
    "the rank is one more": (of_tokens, "_rank", rank_of_the_next, {"model"}),
    "the runner-up may be the token": (of_why, "_runner_up", likeliest_of_all, {"next"}),
    "the next interval": (of_tokens, "_draw", interval_of_the_next, {"random", "why"}),
    "the next random number": (ReplayedProcess, "rng_of", next_random_number, {"random", "why"}),
    "the entropy is in nats": (of_tokens, "_of_model", in_nats, {"model"}),
    "one survivor more": (of_tokens, "possible", of_one_more, {"1", "4", "9", "model", "why"}),
    "the logit of the first": (of_why, "place_of", of_the_first, {"1", "4"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_number_is_found(
    fault: str,
    recording: Recording,
    expected: dict[int, list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where, name, wrong, labels = FAULTS[fault]
    monkeypatch.setattr(where, name, wrong)
    number = 38  # it is drawn, and not the likeliest
    pairs = zip(printed(recording, number), expected[number], strict=True)
    differing = {ours.split()[0] for ours, theirs in pairs if ours != theirs}
    assert differing >= labels


@pytest.mark.nightly
def test_the_random_numbers_of_a_forked_child_go_on(tmp_path: Path) -> None:
    steps = str(compile_program("steps", tmp_path / "steps"))
    words = [steps, "20", "0", "one chain, forked"]
    assert record(words, tmp_path / "r", Options()) == (7, [])
    sampled = list(of_tokens.tokens_of(Recording(tmp_path / "r")))
    assert [*Counter(token.process for token in sampled).values()] == [50, 10]
    draws = [token.draw for token in sampled if token.draw is not None]
    assert len(draws) > 50
    assert all(draw.low <= draw.u <= draw.high for draw in draws)


# Settings, as `why` takes them, and the functions of libllama that construct the same chain.
OTHERWISE: dict[str, dict[str, Any]] = {
    "temp=0.6": {"temp": lambda right, temp: right(0.6)},
    "top_k=4": {"top_k": lambda right, k: right(4)},
    "penalty_repeat=1.9": {"penalties": lambda right, n, last, *_: right(n, last, 1.9, 0.3, 0.2)},
    "xtc.p=0": {"xtc": lambda right, p, t, keep, seed: right(0.0, t, keep, seed)},
    "dist.seed=9": {"dist": lambda right, seed: right(9)},
    "dry_multiplier=0,min_p.p=0.3": {
        "dry": lambda right, vocab, multiplier, *rest: right(vocab, 0.0, *rest),
        "min_p": lambda right, p, keep: right(0.3, keep),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("settings", one_in(3, OTHERWISE))
def test_a_text_parts_where_libllama_selects_another_token(
    settings: str, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded, vocab = second_way.computed(MODEL, STEPS)
    for name, other in OTHERWISE[settings].items():
        symbol = f"llama_sampler_init_{name}"
        right = getattr(llama_cpp, symbol)
        monkeypatch.setattr(llama_cpp, symbol, functools.partial(other, right))
    otherwise, _ = second_way.computed(MODEL, STEPS)
    for text in (1, 2):  # each begins with a construction
        own = [pair for pair in zip(recorded, otherwise, strict=True) if pair[0].text == text]
        same = next((i for i, (a, b) in enumerate(own) if a.token != b.token), len(own))
        parted = parting(recording, text, None, edited(settings))
        assert parted.same == same
        if same < len(own):
            assert parted.number == own[same][0].number
            assert parted.instead == second_way.name_of(vocab, own[same][1].token)


@pytest.mark.parametrize(("p", "pieces", "judged"), [(0, 4, True), (0.5, 1, True), (0.5, 4, False)])
def test_a_seed_that_nothing_reports_matters_only_for_a_draw(
    p: float, pieces: int, judged: bool, tmp_path: Path
) -> None:
    """4294967295 lets libllama draw the seed; xtc does not report which."""
    xtc = {"p": p, "t": 0.1, "min_keep": 0, "seed": 4294967295}
    chain: Stages = [{"top_k": {"k": 3}}, {"xtc": xtc}, {"dist": {"seed": 1}}]
    small_recording(tmp_path / "r", (b" a", b" b", b" c", b" d")[:pieces], chain=chain)
    recorded = Recording(tmp_path / "r")
    checked, _ = check(recorded.folder, tmp_path / "b", "identical", None)
    assert (checked.judged, sum(checked.unjudged.values())) == ((9, 0) if judged else (6, 3))
    assert checked.results[0].met(BACKEND)
    assert any("seed=random;" in line for line in printed(recorded, 1))
    assert page.parameters(xtc).endswith("seed=random")
    if p == 0:
        assert parting(recorded, 1, None, edited("top_k=3")).same == 3
    with pytest.raises(InputError, match=r"does not report the seed.*xtc\.seed=1"):
        parting(recorded, 1, None, edited("xtc.p=0.5"))
    off, seeded = "xtc.p=0.5,xtc.t=0.6", "xtc.seed=1,xtc.p=0.0001"
    same = [parting(recorded, 1, None, edited(settings)).same for settings in (off, seeded)]
    # by chance the recorded one removed a token, of four
    assert same[0] == same[1]
    assert not judged or same == [3, 3]
