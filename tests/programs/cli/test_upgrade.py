"""The command `upgrade`."""

import json
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.backends import environments
from sampler_parity.programs.upgrade.answer import UpgradeAnswer
from tests.programs.recording.small_program import Program
from tests.support.command_line import cli, refused

DIST = {"dist": {"seed": 7}}
CASE = "rows/ties-V300-own"


def settings(folder: Path, *chain: Any) -> Path:
    path = folder / "chain.json"
    path.write_text(json.dumps(chain))
    return path


def one_case(folder: Path, old: str, new: str, *chain: Any) -> Any:
    """Compare on one case: that takes a tenth of the time of all."""
    return cli("upgrade", old, new, "--settings", settings(folder, *chain), "--case", CASE)


@pytest.mark.slow
def test_a_pair_with_a_change_ends_with_1_and_five_lines(tmp_path: Path) -> None:
    path, data = settings(tmp_path, {"top_k": {"k": 0}}, DIST), tmp_path / "answer.json"
    done = cli("upgrade", "reference@b4980", "reference@b5590", "--settings", path, "--json", data)
    answer = UpgradeAnswer.model_validate_json(data.read_text())
    change, first, seed, chance, show = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (1, "")
    assert change.startswith("change   yes: ")
    assert first.startswith("first    stage 1, top_k: order token ")
    assert seed.startswith("seed     a seed draws another text in ")  # of rows with ties
    assert chance == "chance   the distributions stay"
    assert show.startswith(
        "show     sampler-parity upgrade reference@b4980 reference@b5590 --settings="
    )
    assert answer.first == answer.shifts[0]
    assert (answer.changed, answer.old, answer.new) == (True, "reference@b4980", "reference@b5590")
    again = cli(*show.split()[2:])
    assert again.returncode == 1
    assert again.stdout.splitlines()[0] == "change   yes: 1 of 1 cases differ"
    assert again.stdout.splitlines()[1].startswith(first.partition(";")[0])


@pytest.mark.slow
def test_the_same_release_twice_is_silent_and_ends_with_0(tmp_path: Path) -> None:
    done = cli(
        "upgrade", "reference@b4753", "a=reference@b4753", "--settings", settings(tmp_path, DIST)
    )
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert line.startswith("change   no: ")
    assert line.endswith(" cases are identical, to the bit")


@pytest.mark.slow
def test_a_sampler_that_was_removed_is_named_with_the_message(tmp_path: Path) -> None:
    chain: list[Any] = [{"temp": {"temp": 0.8}}, {"softmax": {}}, DIST]
    done = one_case(tmp_path, "reference@b6301", "reference@b6431", *chain)
    assert done.returncode == 1
    first = "first    stage 2, softmax: answer answers -> unsupported: no sampler softmax"
    assert done.stdout.splitlines()[1] == first


@pytest.mark.slow
def test_other_random_numbers_change_the_text_and_keep_the_law(tmp_path: Path) -> None:
    done = one_case(tmp_path, "reference@b6301", "reference@b6431", {"temp": {"temp": 0.8}}, DIST)
    _, _, seed, chance = done.stdout.splitlines()
    assert seed == "seed     a seed draws another text in 1 cases"
    assert chance == "chance   the distributions stay"


@pytest.mark.slow
def test_another_distribution_is_named_with_its_distance(tmp_path: Path) -> None:
    done = one_case(tmp_path, "reference", "mutant/top_k/zero-means-one", {"top_k": {"k": 0}}, DIST)
    assert done.returncode == 1
    assert done.stdout.splitlines()[3].startswith(
        "chance   changes, by a total variation of up to 0."
    )


FAULTS: dict[str, list[dict[str, Any]]] = {
    "top_k/zero-sorts": [{"top_k": {"k": 0}}],
    "top_p/crossing-token-dropped": [{"temp": {"temp": 0.9}}, {"top_p": {"p": 0.9}}],
    "penalties/always-divides": [{"penalties": {"penalty_last_n": 64, "penalty_repeat": 1.1}}],
    "xtc/removes-all-top": [{"temp": {"temp": 0.9}}, {"xtc": {"p": 0.5, "t": 0.1, "seed": 1}}],
    "dry/exponent-from-zero": [{"top_k": {"k": 40}}, {"dry": {"dry_multiplier": 0.8}}],
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_with_the_stage_that_has_it(tmp_path: Path, fault: str) -> None:
    data, chain = tmp_path / "answer.json", [*FAULTS[fault], DIST]
    new = f"mutant/{fault}"
    words = ("--settings", settings(tmp_path, *chain), "--json", data)
    done = cli("upgrade", "reference", new, *words)
    answer = json.loads(data.read_text())
    assert done.returncode == 1
    assert answer["first"]["sampler"] == fault.partition("/")[0]
    assert answer["first"]["stage"] == len(FAULTS[fault]) - 1


@pytest.mark.slow
def test_a_recording_is_compared_row_by_row(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for token in (0, 1, 1, 5, 4):
        program.sample(token)
    same = cli("upgrade", "reference@b4753", "reference", "--recording", tmp_path)
    assert (same.returncode, same.stdout) == (0, "change   no: 1 cases are identical, to the bit\n")
    other = cli("upgrade", "reference", "mutant/top_k/keeps-one-more", "--recording", tmp_path)
    assert other.returncode == 1
    assert other.stdout.splitlines()[1].startswith("first    stage 1, top_k: survivors 2 -> 3")


@pytest.mark.slow
def test_a_request_that_has_a_grammar_is_compared_without_it(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"prompt": "a", "top_k": 5, "grammar": 'root ::= "a"'}))
    case = "bpe-rows/zipf-V17-own"
    done = cli("upgrade", "reference", "a=reference", "--settings", path, "--case", case)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "change   no change in what was read: 1 cases are identical, to the bit",
        "unread   grammar: it limits the tokens, and is no stage of a chain",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ('{"samplers": "kt", "temperature": 0.5, "seed": 1}', []),
        (
            '{"samplers": ["top_k"], "repeat_penalty": 1.5, "seed": 1}',
            ["inert    repeat_penalty: "],
        ),
        (
            '{"samplers": ["top_k", "topp"], "typ_p": 0.5, "seed": 1}',
            ["unknown  samplers: topp: passed over; did you mean top_p", "unknown  typ_p: "],
        ),
    ],
)
def test_no_change_is_said_of_what_was_read(tmp_path: Path, text: str, notes: list[str]) -> None:
    (tmp_path / "a.json").write_text(text)
    words = ("reference@b4753", "a=reference@b4753", "--settings", "a.json", "--case", CASE)
    done = cli("upgrade", *words, "--strict", folder=tmp_path)
    change, *lines = done.stdout.splitlines()
    read = " change in what was read" if notes else ""
    assert change == f"change   no{read}: 1 cases are identical, to the bit"
    assert [line[: len(note)] for line, note in zip(lines, notes, strict=True)] == notes
    assert done.returncode == bool(notes)


@pytest.mark.slow
def test_each_version_has_the_chain_that_it_makes_of_a_request(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"dry_multiplier": 0.8, "seed": 42}')
    words = ("reference@b4753", "reference", "--settings", "a.json", "--case")
    done = cli("upgrade", *words, "bpe-rows/zipf-V17-own", folder=tmp_path)
    assert done.stdout.splitlines()[-1] == "mapping  dry.dry_penalty_last_n -1 -> 64"
    assert "top_n_sigma" not in done.stdout.splitlines()[1]


REFUSED = {
    "breakers": (["--settings", "a.json"], '{"dry_sequence_breakers": "x"}', "a text: the server"),
    "no settings": ([], None, "upgrade: needs settings - give --settings FILE or --recording"),
    "no JSON": (["--settings", "a.json"], "{", "a.json: not readable: "),
    "no chain": (["--settings", "a.json"], "3", "a.json: holds no settings"),
    "no stage": (["--settings", "a.json"], "[]", "a.json: "),
    "unknown sampler": (["--settings", "a.json"], '[{"topk": {}}]', "topk"),
    "bad value": (["--settings", "a.json"], '[{"top_k": {"k": "x"}}]', "k must be"),
    "unknown parameter": (
        ["--settings", "a.json"],
        '{"topk": 1}',
        "topk: no setting of llama-server - did you mean top_k",
    ),
    "wrong type": (
        ["--settings", "a.json"],
        '{"temperature": []}',
        "temperature: a list: the server",
    ),
    "no TOML": (["--settings", "a.toml"], "chain =", "a.toml: not TOML"),
    "no file": (["--settings", "none.json"], None, "none.json: "),
    "no case": (["--settings", "a.json", "--case", "x"], '[{"greedy": {}}]', "x: no such case"),
    "no recording": (["--recording", "."], None, "."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_settings_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    arguments, text, message = REFUSED[name]
    if text is not None:
        (tmp_path / arguments[1]).write_text(text)
    done = cli("upgrade", "reference", "reference@b4753", *arguments, folder=tmp_path)
    assert message in refused(done)


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("llama.cpp@b1", "b1 is neither a registered build nor a folder"),
        ("mlx_lm@0.0.1", "sampler-parity engines add mlx_lm==0.0.1"),
        ("nothing", "unknown"),
    ],
)
def test_a_version_that_is_not_there_is_one_line_with_the_command_that_adds_it(
    tmp_path: Path, old: str, message: str
) -> None:
    done = cli("upgrade", old, "reference", "--settings", settings(tmp_path, DIST))
    assert message in refused(done)
    assert not environments.folder_of("mlx_lm", "0.0.1").exists()


@pytest.mark.slow
def test_two_versions_that_lack_a_sampler_are_refused(tmp_path: Path) -> None:
    done = one_case(tmp_path, "reference@b6431", "reference@b6673", {"softmax": {}}, DIST)
    assert "both refuse every case: unsupported: no sampler softmax" in refused(done)
