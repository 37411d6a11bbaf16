"""Each parser on randomly damaged inputs: it accepts them, or refuses them in one line.

Only a few of each here; `make fuzz-inputs` has a hundred thousand.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from tests.attack.fuzzing import trial
from tests.attack.fuzzing.__main__ import fuzz, numbers_of
from tests.attack.fuzzing.table import Fuzzed, inputs
from tests.attack.fuzzing.trial import REFUSED, TAKEN, made, outcome
from tests.attack.fuzzing.ways import flip

ROWS = inputs()
SEED = 20261122
COUNTS = numbers_of(ROWS, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_wrong_input_is_taken_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    row, path = ROWS[name], tmp_path / ROWS[name].file
    samples = row.prepare(tmp_path)
    path.write_bytes(samples[0])
    assert outcome(row, path) == TAKEN  # else nothing but refusals would be tried
    for number in range(COUNTS[name]):
        path.write_bytes(made(row, samples, SEED, number))
        result = outcome(row, path)
        replay = f"python -m tests.attack.fuzzing replay {name!r} {SEED} {number}"
        assert result in (TAKEN, REFUSED), f"{result}\n{replay}"


def _row(read: Callable[[Path], object], name: str = "planted") -> Fuzzed:
    return Fuzzed(name, "x", lambda _: [b"abcdefgh"], read, (flip,))


class _TwoLinesError(InputError):
    def __str__(self) -> str:
        return "a.toml: wrong\nin two lines"


def _fails(error: Exception) -> Callable[[Path], None]:
    def read(_path: Path) -> None:
        raise error

    return read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "result"),
    [
        (_fails(KeyError("place")), "KeyError: 'place'"),
        (_fails(RecursionError("deep")), "RecursionError: deep"),
        (_fails(_TwoLinesError("a", "b")), "its refusal is no line"),
        (lambda _: time.sleep(9), "not read within 0.5 s or six times as long of waiting"),
        (lambda _: [sum(range(9_999)) for _ in range(99_999)], "not read within 0.5 s of work"),
    ],
    ids=["a traceback", "too deep", "two lines", "a wait", "much work"],
)
def test_a_planted_fault_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object], result: str
) -> None:
    monkeypatch.setattr(trial, "SECONDS", 0.5)  # six times as long: a busy machine works so much
    assert result in outcome(_row(read), tmp_path / "x")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.slow
def test_the_long_run_tells_seed_and_number_and_keeps_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "GROWTH", 64 << 20)

    def read(path: Path) -> None:
        content = path.read_bytes()
        if not content.isascii():  # ends the process: it cannot report anything
            os._exit(3)
        if content[0] != ord("a"):
            bytearray(b"x") * (96 << 20)
        if content[1] != ord("b"):
            raise ValueError("wrong")

    rows = {"good": _row(lambda _: 0, "good"), "bad": _row(read, "bad")}
    lines = list(fuzz(rows, 100, 7, tmp_path / "kept"))
    text = "\n".join(lines)
    assert lines[0].split()[:5] == ["good", "50", "inputs", "50", "taken"]
    assert lines[-1].startswith("FAILED: 100 inputs, seed 7, ")
    assert "its process ended: 3" in text
    assert "took 9" in text
    assert "  replay: python -m tests.attack.fuzzing replay 'bad' 7 " in text
    kept = list((tmp_path / "kept").iterdir())
    assert len(kept) == 3
    for path in kept:
        assert path.read_bytes() == made(rows["bad"], [b"abcdefgh"], 7, int(path.suffix[1:]))
        assert str(path) in text
