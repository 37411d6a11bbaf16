"""The command `why`."""

import json
from pathlib import Path

import pytest

from tests.programs.recording.small_program import Program, small_recording
from tests.support.command_line import cli, refused


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return a recording of the text `a b b"` and an escape character."""
    program = Program(tmp_path)
    for token in (0, 1, 1, 5, 4):
        program.sample(token)
    return tmp_path


def test_a_token_is_explained(recording: Path) -> None:
    done = cli("why", recording, "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        'token    3 (1:3) " b", id 1, at character 3',
        'text     a b[[ b]]"\\u001b',
        "model    p 0.7346, rank 1 of 6, entropy 1.443 bits",  # by hand: weights e^-3 to e^0
        "           candidates     logit         p",
        " 1 top_k   6 -> 2         3    0.9149",
        "         k=2; removed 4: \"\\u001b\" 0.5, b'\\xac' 0.375, b'\\xe2\\x82' 0.25, ...;",
        "         identical",
        " 2 greedy  2 -> 2         3    0.9149",
        "         identical",
        'next     "\\"" with p 0.0851',
        'why      " b" was chosen because greedy takes the largest logit of 2 survivors,',
        "         after top_k kept 2 of 6.",
    ]


def test_the_first_token_of_a_text_is_explained_and_the_others_are_named(recording: Path) -> None:
    lines = cli("why", recording, '" b"').stdout.splitlines()
    assert lines[0].startswith("token    2 (1:2) ")
    assert "also     tokens 3" in lines


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 72])
def test_the_answer_fits_its_terminal(
    recording: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for token in "12345":
        lines = cli("why", recording, token, "--what-if", "top_k=1").stdout.splitlines()
        assert max(map(len, lines)) <= columns
        assert all(line.isprintable() for line in lines)


def test_the_answer_is_there_for_machines(recording: Path) -> None:
    done = cli("why", recording, "1:4", "--json", "-", "--what-if", "k=1")
    data = json.loads(done.stdout)
    assert (data["number"], data["shown"], data["at"]) == (4, '"', 5)
    assert [stage["after"] for stage in data["stages"]] == [2, 2]
    assert data["what_if"] == {"same": 5, "number": None, "token": "", "instead": ""}
    assert done.stderr.splitlines()[-1] == "what if  text 1 is the same: all 5 tokens"


def test_another_chain_shows_where_the_text_parts(recording: Path, tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    bias = "{ logit_bias = { logit_bias = [[5, 1.0], [1, -9.0]] } }"
    file.write_text(f"chain = [{bias}, {{ greedy = {{}} }}]\n")
    lines = cli("why", recording, "1", "--chain", file).stdout.splitlines()
    assert lines[-3:] == [
        'what if  text 1 is the same for 1 token, and parts at token 2: "\\"" in place of',
        '         " b"',
        "note     only this parting is certain: later logits belong to the recorded text",
    ]


def test_a_file_of_settings_shows_where_the_text_parts(recording: Path, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    values = {"samplers": ["top_k"], "top_k": 1, "logit_bias": [[5, 4.0], [1, -9.0]], "min_p": 0.5}
    file.write_text(json.dumps(values))
    done = cli("why", recording, "1", "--what-if", file, "--json", tmp_path / "data")
    inert = "inert    min_p: 0.5 has no effect: the chain has no min_p"
    assert inert in done.stdout.splitlines()
    assert done.stdout.splitlines()[-3].startswith("what if  text 1 is the same for 0 tokens")
    data = json.loads((tmp_path / "data").read_text())
    assert data["notes"] == [inert]
    assert (data["what_if"]["same"], data["what_if"]["instead"]) == (0, r'"\""')


def test_settings_without_a_seed_go_on_with_the_recorded_numbers(tmp_path: Path) -> None:
    small_recording(tmp_path, steps=12)
    file = tmp_path / "request.json"
    values = {"samplers": ["top_k", "temperature"], "top_k": 3, "temperature": 30}
    file.write_text(json.dumps(values))
    of_file, of_edits = (
        cli("why", tmp_path, "1", "--what-if", other).stdout for other in (file, "temp=30")
    )
    assert of_file == of_edits
    assert "and parts at token" in of_file


def test_a_recording_without_a_vocabulary_does_not_know_the_tokens_that_end(tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"ignore_eos": true}')
    small_recording(tmp_path / "a", text=False)
    line = refused(cli("why", tmp_path / "a", "1", "--what-if", file))
    assert "no vocabulary - leave it out" in line


REFUSED = {
    "no such number": (["6"], "6: no such token: there are 5 in 1 texts"),
    "no such text": (["blue"], "blue: no such token"),
    "no such position": (["@7"], "@7: no such token"),
    "no text": ([""], "no such token"),
    "an unknown setting": (["1", "--what-if", "topk=3"], "did you mean top_k"),
    "no number": (["1", "--what-if", "top_k=x"], "top_k=x: is not a setting"),
    "out of range": (["1", "--what-if", "k=1e99"], "k must be"),
    "two chains": (["1", "--what-if", "k=3", "--chain", "x"], "cannot be combined with --what-if"),
    "no file": (["1", "--chain", "none.toml"], "none.toml: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_line(recording: Path, name: str) -> None:
    arguments, message = REFUSED[name]
    assert message in refused(cli("why", recording, *arguments))


@pytest.mark.parametrize(
    ("sampler", "message"), [("top_q", "unknown sampler 'top_q'"), ("top_k", "selects no token")]
)
def test_a_chain_without_a_choice_is_refused(recording: Path, sampler: str, message: str) -> None:
    file = recording / "chain.toml"
    file.write_text(f"chain = [{{ {sampler} = {{ k = 3 }} }}]\n")
    assert message in refused(cli("why", recording, "1", "--chain", file))


def test_logits_that_were_not_recorded_are_asked_for(tmp_path: Path) -> None:
    Program(tmp_path, "tokens").sample(1)
    message = refused(cli("why", tmp_path, "1", "--what-if", "k=1"))
    assert message.endswith("has no logits there - record --detail survivors")
