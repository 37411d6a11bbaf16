"""Mechanical mutants of C++: their places, the change that each makes, and what catches it."""

import ctypes
import subprocess
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from studies.native import mutants, mutate
from studies.native.known import Known, Switches
from studies.native.mutants import Outcome, judge, judgements, read, run, sample, try_one

pytest.importorskip("clang", reason="the extra native is not installed")

SOURCE = """\
#include <vector>
static const int LIMIT = 3;
extern "C" int judge_all(int n, float x, const int * values) {
    std::vector<int> list(values, values + 3);
    int sum = 0;
    for (int i = 0; i < n && i < LIMIT; ++i) {
        if (list.empty()) {
            return -1;
        }
        sum += list[i];
    }
    if (!(x > 1.0f) || sum == 6) {
        sum = sum * 2;
    }
    return sum;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> mutate.Program:
    source = tmp_path_factory.mktemp("mutants") / "small.cpp"
    source.write_text(SOURCE)
    return mutate.Program(source, [])


@pytest.fixture(scope="module")
def library(program: mutate.Program) -> ctypes.CDLL:
    folder = program.source.parent
    (folder / "mutated.cpp").write_bytes(program.text())
    command = ["g++", "-std=gnu++17", "-shared", "-fPIC", "mutated.cpp", "-o", "small.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "small.so"))


def result(library: ctypes.CDLL, n: int, x: float) -> int:
    values = (ctypes.c_int * 3)(1, 2, 4)
    return int(library.judge_all(n, ctypes.c_float(x), values))


def test_every_kind_of_mutant_is_made_inside_functions_only(program: mutate.Program) -> None:
    made = {f"{mutant.line} {mutant.what}" for mutant in program.mutants}
    assert {
        "6 `<` to `<=`", "6 `<` to `>`", "6 `&&` to `||`", "6 `0` + 1", "6 `0` - 1",
        "7 condition negated", "8 `-` dropped", "10 `+=` to `-=`", "10 statement dropped",
        "12 `!` dropped", "12 `>` to `>=`", "12 `||` to `&&`", "12 `==` to `!=`", "12 `1.0f` + 1",
        "12 `1.0f` / 2", "13 `*` to `/`", "13 statement dropped",
    } <= made  # fmt: skip
    assert not any(mutant.line < 3 for mutant in program.mutants)
    assert [m.number for m in program.mutants] == list(range(1, len(program.mutants) + 1))


@pytest.mark.parametrize(
    ("mutant", "n", "x", "expected"),
    [
        ("none", 2, 2.0, 3),
        ("6 `&&` to `||`", 2, 2.0, 7),
        ("7 condition negated", 2, 2.0, -1),
        ("10 `+=` to `-=`", 2, 2.0, -3),
        ("10 statement dropped", 2, 2.0, 0),
        ("12 `!` dropped", 2, 2.0, 6),
        ("12 `>` to `>=`", 2, 1.0, 3),
        ("12 `||` to `&&`", 2, 1.0, 3),
        ("12 `1.0f` + 1", 2, 2.0, 6),
        ("13 `*` to `/`", 2, 1.0, 1),
        ("13 statement dropped", 2, 1.0, 3),
    ],
)
def test_a_mutant_changes_what_it_says(
    program: mutate.Program, library: ctypes.CDLL, mutant: str, n: int, x: float, expected: int
) -> None:
    numbers = {f"{m.line} {m.what}": m.number for m in program.mutants} | {"none": 0}
    switches = Switches(library, len(program.mutants))
    switches.turn_on(numbers[mutant])
    assert result(library, n, x) == expected
    switches.turn_on(0)


def test_what_a_case_evaluates_is_noted(program: mutate.Program, library: ctypes.CDLL) -> None:
    switches = Switches(library, len(program.mutants))
    switches.forget()
    result(library, 0, 1.0)
    lines = {m.line for m in program.mutants if m.number in switches.reached()}
    assert lines == {4, 5, 6, 12, 13}  # no turn of the loop


@pytest.fixture
def cases(library: ctypes.CDLL) -> list[Known]:
    def known(name: str, n: int, x: float) -> Known:
        one = Known(name, lambda: str(result(library, n, x)))
        one.expected = one.look()
        return one

    return [known("none", 0, 2.0), known("two", 2, 2.0)]


@pytest.mark.parametrize(
    ("what", "outcome"),
    [
        ("7 condition negated", ("caught", "two")),
        ("12 `>` to `>=`", ("survived", "")),
        ("6 `<` to `>`", ("survived", "")),
    ],
    ids=["by the second case", "x is never 1", "not the first of its switch"],
)
def test_a_mutant_runs_until_a_case_catches_it(
    program: mutate.Program,
    library: ctypes.CDLL,
    cases: list[Known],
    what: str,
    outcome: tuple[str, str],
) -> None:
    (mutant, *_) = [m for m in program.mutants if f"{m.line} {m.what}" == what]
    tried = try_one(mutant, cases, Switches(library, len(program.mutants)))
    if "`<` to `>`" in what:  # i > n: the loop never turns
        assert (tried.of, tried.case) == ("caught", "two")
    else:
        assert (tried.of, tried.case) == outcome


@pytest.mark.slow
def test_a_crash_and_a_case_that_takes_too_long_count_as_caught(
    program: mutate.Program, library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "AT_LEAST_S", 0.1)
    switches = Switches(library, len(program.mutants))
    mutant = program.mutants[0]

    def spins() -> str:
        while True:
            pass

    crash = Known("crash", lambda: ctypes.string_at(0).decode())
    assert try_one(mutant, [crash], switches).of == "crashed"
    assert try_one(mutant, [Known("spins", spins)], switches).of == "timeout"


def test_a_run_goes_on_with_what_is_not_in_the_file(
    program: mutate.Program, library: ctypes.CDLL, cases: list[Known], tmp_path: Path
) -> None:
    switches, path = Switches(library, len(program.mutants)), tmp_path / "mutants.jsonl"
    for case in cases:
        case.reached = frozenset(range(len(program.mutants) + 1))
    chosen = sample(program.mutants, sorted(cases[0].reached), 6, seed=1)
    assert run(chosen[:2], cases, switches, path, 0.0) == []
    first = run(chosen[:2], cases, switches, path, 60.0)
    assert run(chosen, cases, switches, path, 60.0)[:2] == first
    assert [outcome.mutant for outcome in read(path)] == [mutant.name for mutant in chosen]


def test_a_sample_is_the_same_from_the_same_seed_and_of_reached_switches_only(
    program: mutate.Program,
) -> None:
    reached = [m.number for m in program.mutants if m.line == 12 and m.first]
    chosen = sample(program.mutants, reached, 4, seed=1)
    assert chosen == sample(program.mutants, reached, 4, seed=1)
    assert {mutant.line for mutant in chosen} == {12}
    # ||, two of >, !, two of 1.0f, ==, two of 6
    assert len(sample(program.mutants, reached, 100, seed=1)) == 9


def test_a_listed_mutant_that_is_not_made_is_refused(
    program: mutate.Program, tmp_path: Path
) -> None:
    names = [mutant.name for mutant in program.mutants[:3]]
    (tmp_path / "sample.txt").write_text("\n".join(names) + "\n")
    assert mutants.listed(program.mutants, tmp_path / "sample.txt") == program.mutants[:3]
    (tmp_path / "sample.txt").write_text("another: mutant\n")
    with pytest.raises(InputError, match="not made: another: mutant"):
        mutants.listed(program.mutants, tmp_path / "sample.txt")


def test_every_judged_survivor_is_one_of_the_sample() -> None:
    names = mutants.SAMPLE.read_text().splitlines()
    assert len(names) == len(set(names)) == 400
    assert {*judgements(), *judgements(of="by_chance")} <= set(names)


def test_planted_survivor_without_a_judgement_and_stale_judgement_fail() -> None:
    outcomes = [Outcome("a", "survived"), Outcome("b", "survived"), Outcome("c", "caught", "case")]
    assert judge(outcomes, {"a": "equivalent", "c": "equivalent"}) == [
        "survived, not judged: b",
        "judged, but caught by case: c",
    ]
    assert judge(outcomes, {"a": "equivalent", "c": "equivalent"}, ["b", "c"]) == []
