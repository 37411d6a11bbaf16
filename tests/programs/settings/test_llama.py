"""The chain of llama-server, from requests, start flags, /props and the metadata of a model."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.programs.settings.answer import SettingsAnswer
from sampler_parity.programs.settings.chain import answer_of, chain_spec
from sampler_parity.programs.settings.files import read_source
from tests.support.command_line import cli, refused

NEW = "v0.5.0"
TABLE = Path(__file__).with_suffix(".toml")
ROWS: dict[str, dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))


def answer_to(folder: Path, content: Any, release: str = NEW) -> SettingsAnswer:
    path = folder / "settings"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return answer_of([read_source(path, release)], release)


def values_of(answer: SettingsAnswer, sampler: str) -> dict[str, Any]:
    stage = next(stage for stage in answer.stages if stage.sampler == sampler)
    return {value.name: value.value for value in stage.values}


@pytest.mark.parametrize("name", ROWS)
def test_settings_become_the_chain_that_their_release_builds(tmp_path: Path, name: str) -> None:
    row = ROWS[name]
    answer = answer_to(tmp_path, row["text"], row.get("release", NEW))
    assert " ".join(stage.sampler for stage in answer.stages) == row["samplers"]
    lines = sorted(" ".join(note.line.split()) for note in answer.notes)
    begins = sorted(row.get("notes", []))
    assert len(lines) == len(begins), lines
    assert [line[: len(text)] for line, text in zip(lines, begins, strict=True)] == begins


def test_a_value_comes_from_the_request_before_a_flag_before_the_model(tmp_path: Path) -> None:
    import gguf

    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    for name, value in (("top_p", 0.5), ("temp", 0.25), ("min_p", 0.125)):
        writer.add_float32(f"general.sampling.{name}", value)
    writer.add_string("general.sampling.sequence", "min_p;top_p;temperature")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    (tmp_path / "flags").write_text("--top-p 0.75 --temp 0.875")
    (tmp_path / "request").write_text('{"temperature": 1.5}')
    paths = [tmp_path / name for name in ("request", "flags", "model.gguf")]
    answer = answer_of([read_source(path, NEW) for path in paths], NEW)
    sources = {v.name: (v.value, v.source) for stage in answer.stages for v in stage.values}
    assert [stage.sampler for stage in answer.stages] == ["min_p", "top_p", "temp_ext", "dist"]
    assert sources["temp"] == (1.5, "request")
    assert answer.stages[1].values[0].model_dump() == {
        "name": "p", "value": 0.75, "setting": "top_p", "source": "flag"}  # fmt: skip
    assert answer.stages[0].values[0].source == "model"
    older = answer_of([read_source(paths[2], "b6673")], "b6673")
    assert {v.source for stage in older.stages for v in stage.values} <= {
        "default",
        "default, the context",
    }


def test_biases_are_read_as_pairs_and_by_token(tmp_path: Path) -> None:
    for biases in ([[5, 1.5], [7, False]], {"5": 1.5, "7": False}):
        answer = answer_to(tmp_path, {"logit_bias": biases})
        assert values_of(answer, "logit_bias")["logit_bias"] == [[5, 1.5], [7, float("-inf")]]
        assert answer.notes == []
    (note,) = answer_to(tmp_path, {"logit_bias": [["hello", 1], [5, 1]]}).notes
    assert note.line.startswith("unread   logit_bias: 1 of 2 biases")
    (note,) = answer_to(tmp_path, {"logit_bias": {"5": 1.5}}, "b4753").notes
    assert note.line.startswith("changed  logit_bias: a table: it is passed over")


def test_ignore_eos_bans_the_tokens_that_its_release_bans(tmp_path: Path) -> None:
    vocab = read_vocab(vocab_path("bpe"))
    for release, banned in ((NEW, sorted(vocab.eog)), ("b4753", [vocab.eos])):
        answer = answer_to(tmp_path, {"ignore_eos": True}, release)
        assert chain_spec(answer, vocab)[0] == {
            "logit_bias": {"logit_bias": [[token, float("-inf")] for token in banned]}
        }


def test_a_count_of_the_context_is_the_context_in_the_chain(tmp_path: Path) -> None:
    answer = answer_to(tmp_path, {"dry_multiplier": 0.8}, "b4753")
    assert values_of(answer, "dry")["dry_penalty_last_n"] == -1
    chain = chain_spec(answer, read_vocab(vocab_path("bpe")))
    (dry,) = (stage["dry"] for stage in chain if "dry" in stage)
    assert dry["dry_penalty_last_n"] == 4096


def test_the_command_prints_each_stage_and_ends_with_1_if_strict(tmp_path: Path) -> None:
    path, data = tmp_path / "a.json", tmp_path / "answer.json"
    path.write_text('{"samplers": ["top_k"], "top_k": 5, "typ_p": 1}')
    printed = cli("settings", path, "--json", data)
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout.splitlines() == [
        f"chain    llama-server v0.5.0, 2 stages: {path}: a request of llama-server",
        "1        top_k       k 5 (request)",
        "2        dist        seed random (default)",
        "foreign  typ_p: a name of llama-server's web page, which llama-server passes over;"
        " write typical_p",
    ]
    assert [stage["sampler"] for stage in json.loads(data.read_text())["stages"]] == [
        "top_k",
        "dist",
    ]
    assert cli("settings", path, "--strict").returncode == 1
    path.write_text('{"top_k": 5}')
    assert cli("settings", path, "--strict").returncode == 0


REFUSED = {
    "no file": (None, "cannot be read"),
    "no JSON": ("{", "not JSON: "),
    "a list": ("[]", "a list holds no settings - give a request"),
    "no setting": ('{"topk": 1}', "topk: no setting of llama-server - did you mean top_k"),
    "words": ("hello world", "holds no settings - give a request"),
    "a quote": ("--temp '1", "neither JSON nor start flags: "),
    "no number": ("--temp hot", "--temp hot: not a number - write --temp NUMBER"),
    "no bias": ("-l 5", "-l 5: no bias - write -l 15043+1"),
    "a cut GGUF file": ("GGUF", "not a readable GGUF file: "),
    "props of a text": ('{"default_generation_settings": {"params": 3}}', "params: not a table"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_settings_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    text, message = REFUSED[name]
    if text is not None:
        (tmp_path / "a").write_text(text)
    assert message in refused(cli("settings", "a", folder=tmp_path))


def test_a_release_between_two_that_differ_is_refused_with_both(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("{}")
    line = refused(cli("settings", tmp_path / "a", "--as", "b4300"))
    assert "the parameters changed after b4291 and by b4435 - name b4291 or b4435" in line
    assert cli("settings", tmp_path / "a", "--as", "b4500").returncode == 0
