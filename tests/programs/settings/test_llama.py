"""The chain of an engine, from requests, start flags, /props, presets and metadata of a model."""

import json
from pathlib import Path
from typing import Any

import gguf
import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.programs.settings.chain import answer_of, chain_spec
from sampler_parity.programs.settings.files import read_source
from tests.support.command_line import cli, refused
from tests.support.settings import NEW, TABLE, answer_to


@pytest.mark.parametrize("name", TABLE["chain"])
def test_settings_become_the_chain_that_their_release_builds(tmp_path: Path, name: str) -> None:
    row = TABLE["chain"][name]
    answer = answer_to(tmp_path, row["text"], row.get("release", NEW))
    assert " ".join(stage.sampler for stage in answer.stages) == row["samplers"]
    notes = sorted(f"{note.kind} {note.name}: {note.text}" for note in answer.notes)
    begins = sorted(row.get("notes", []))
    assert [note[: len(text)] for note, text in zip(notes, begins, strict=True)] == begins
    values = {(s.sampler, v.name): v.value for s in answer.stages for v in s.values}
    for sampler, expected in row.get("values", {}).items():
        assert {name: values[sampler, name] for name in expected} == expected


def model_with(path: Path, **values: Any) -> Path:
    """Write a GGUF file with values of general.sampling."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in values.items():
        add = {float: writer.add_float32, int: writer.add_int32, str: writer.add_string}[
            type(value)
        ]
        add(f"general.sampling.{name}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_a_value_comes_from_the_request_before_a_flag_before_the_model(tmp_path: Path) -> None:
    names = {"sequence": "min_p;top_p;temperature"}
    model = model_with(tmp_path / "a.gguf", top_p=0.5, temp=0.25, min_p=0.125, **names)
    (tmp_path / "flags").write_text("--top-p 0.75 --temp 0.875")
    (tmp_path / "request").write_text('{"temperature": 1.5}')
    paths = [tmp_path / "request", tmp_path / "flags", model]
    stages = answer_of([read_source(path, NEW) for path in paths], NEW).stages
    first = [(s.sampler, s.values[0].value, s.values[0].source) for s in stages[:3]]
    assert first == [
        ("min_p", 0.125, "model"),
        ("top_p", 0.75, "flag"),
        ("temp_ext", 1.5, "request"),
    ]
    older = answer_of([read_source(model, "b6673")], "b6673")
    assert {v.source.partition(",")[0] for s in older.stages for v in s.values} == {"default"}


@pytest.mark.parametrize(
    ("values", "samplers"),
    [
        ({"sequence": "top_k;tempreature"}, "top_k dist"),
        ({"mirostat": 2, "mirostat_tau": 3.0}, "temp mirostat_v2"),
        ({"sequence": "Top-K;temp", "top_k": 7}, "top_k temp_ext dist"),
        ({"sequence": "typical-p;min_p"}, "min_p dist"),
        ({"sequence": "dry;xtc", "xtc_probability": 0.5, "xtc_threshold": 0.2}, "dry xtc dist"),
        ({"sequence": "penalties", "penalty_repeat": 1.5, "penalty_last_n": 9}, "penalties dist"),
        ({"sequence": "top_k;top_k;adaptive_p"}, "top_k top_k adaptive_p"),
        ({"mirostat": 1, "mirostat_eta": 0.5, "sequence": "top_k"}, "temp mirostat"),
        ({"sequence": "MIN-P;top_n_sigma;infill"}, "min_p top_n_sigma infill dist"),
        ({"sequence": "nonsense", "temp": 0.5}, "dist"),
    ],
)
def test_the_defaults_of_a_model_are_a_chain(tmp_path: Path, values: Any, samplers: str) -> None:
    answer = answer_of([read_source(model_with(tmp_path / "a.gguf", **values), NEW)], NEW)
    assert " ".join(stage.sampler for stage in answer.stages) == samplers


def test_the_reference_gets_the_context_and_the_banned_tokens(tmp_path: Path) -> None:
    vocab = read_vocab(vocab_path("bpe"))
    for release, banned in ((NEW, sorted(vocab.eog)), ("b4753", [vocab.eos])):
        answer = answer_to(tmp_path, '{"ignore_eos": true, "samplers": ["dry"]}', release)
        biases, dry, _ = chain_spec(answer, vocab)
        assert biases == {
            "logit_bias": {"logit_bias": [[token, float("-inf")] for token in banned]}
        }
        assert dry["dry"]["dry_penalty_last_n"] == (64 if release == NEW else 4096)


def test_the_command_prints_each_stage_and_what_it_does_not_read(tmp_path: Path) -> None:
    path, data = tmp_path / "a.json", tmp_path / "answer.json"
    path.write_text('{"samplers": ["top_k"], "top_k": 5, "typ_p": 1}')
    printed = cli("settings", path, "--json", data)
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout.splitlines() == [
        f"chain    llama-server v0.5.0, 2 stages: {path}: a request of llama-server",
        "1        top_k       k 5 (request)",
        "2        dist        seed random (default)",
        "unknown  typ_p: a name of llama-server's web page, which llama-server passes over;"
        " write typical_p",
    ]
    assert [stage["sampler"] for stage in json.loads(data.read_text())["stages"]] == [
        "top_k",
        "dist",
    ]


@pytest.mark.parametrize("text", TABLE["refused"])
def test_what_is_no_settings_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    assert TABLE["refused"][text] in refused(cli("settings", "a", folder=tmp_path))


def test_a_release_between_two_that_differ_is_refused_with_both(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("{}")
    line = refused(cli("settings", tmp_path / "a", "--as", "b4300"))
    assert "the parameters changed after b4291 and by b4435 - name b4291 or b4435" in line
    assert cli("settings", tmp_path / "a", "--as", "b4500").returncode == 0
