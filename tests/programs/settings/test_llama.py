"""The chain of llama-server, from requests, start flags, /props and the metadata of a model.

Expected chains are those of common_sampler_init in the source of each release.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.programs.settings.answer import SettingsAnswer
from sampler_parity.programs.settings.files import read_source
from sampler_parity.programs.settings.llama import chain_spec, llama_answer
from tests.support.command_line import cli, refused

NEW = "v0.5.0"
DEFAULT = "penalties dry top_n_sigma top_k typical_p top_p min_p xtc temp_ext dist"
B4435 = "penalties dry top_k typical_p top_p min_p xtc temp_ext dist"
AS_TEXT = "dry typical_p temp_ext top_p top_k temp_ext penalties min_p top_p penalties temp_ext"


def answer_of(folder: Path, content: Any, release: str = NEW) -> SettingsAnswer:
    path = folder / "settings"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return llama_answer([read_source(path, release)], release)


def values_of(answer: SettingsAnswer, sampler: str) -> dict[str, Any]:
    stage = next(stage for stage in answer.stages if stage.sampler == sampler)
    return {value.name: value.value for value in stage.values}


class Row(NamedTuple):
    """samplers: of the chain. notes: each the beginning of a line, with any spaces as one."""

    settings: Any
    samplers: str
    notes: tuple[str, ...] = ()
    release: str = NEW


ROWS = {
    "letters": Row(
        {"samplers": "dkpt", "dry_multiplier": 0.8},
        "dry top_k top_p temp_ext dist",
        ("changed samplers: a text is read letter by letter: 4 samplers",),
    ),
    "letters of which two are none": Row(
        {"samplers": "kqz"},
        "top_k dist",
        ("unknown samplers: letters 'qz': passed over", "changed samplers: a text"),
    ),
    "letters in b3995, which passes a text over": Row(
        {"samplers": "dkpt"},
        "logit_bias penalties dry top_k typical_p top_p min_p xtc temp_ext dist",
        ("changed samplers: a text, not a list: the default order stands",),
        "b3995",
    ),
    "names as JSON text": Row(
        {"samplers": '["dry", "top_k", "temperature"]'},
        f"{AS_TEXT} penalties adaptive_p",
        (
            "unknown samplers: letters '[\"r, o_u]': passed over",
            "changed samplers: a text is read letter by letter: 13 samplers",
            "changed samplers: adaptive_p comes last",
        ),
    ),
    "names with semicolons": Row(
        {"samplers": "top_k;temp"},
        "temp_ext top_p top_k temp_ext penalties min_p top_p dist",
        ("unknown samplers: letters 'o_;': passed over", "changed samplers: a text is read"),
    ),
    "one name as text": Row(
        {"samplers": "top_k"},
        "temp_ext top_p top_k dist",
        ("unknown samplers: letters 'o_'", "changed samplers: a text is read letter by"),
    ),
    "a misspelled sampler": Row(
        {"samplers": ["top_k", "tempreature"], "temperature": 5.0},
        "top_k dist",
        (
            "unknown samplers: tempreature: passed over; did you mean temperature?",
            "inert temperature: 5.0 has no effect: the chain has no temp_ext",
        ),
    ),
    "a sampler that was removed": Row(
        {"samplers": ["tfs_z", "top_k"]}, "top_k dist", ("unknown samplers: tfs_z: passed over",)
    ),
    "another spelling, which a request of b4753 may not have": Row(
        {"samplers": ["top-k", "top_p"]},
        "logit_bias top_p dist",
        ("unknown samplers: top-k: passed over; did you mean top_k",),
        "b4753",
    ),
    "any spelling": Row({"samplers": ["Top-K", "nucleus", "MINP"]}, "top_k top_p min_p dist"),
    "stages that are not listed": Row(
        {"samplers": ["top_k"], "repeat_penalty": 1.15, "xtc_probability": 0.5, "top_p": 1.0},
        "top_k dist",
        (
            "inert repeat_penalty: 1.15 has no effect: the chain has no penalties",
            "inert xtc_probability: 0.5 has no effect: the chain has no xtc",
        ),
    ),
    "DRY, not listed": Row(
        {"samplers": ["temperature"], "dry_multiplier": 0.8},
        "temp_ext dist",
        ("inert dry_multiplier: 0.8 has no effect: the chain has no dry",),
    ),
    "a base without DRY": Row(
        {"dry_base": 2.0},
        DEFAULT,
        ("inert dry_base: 2.0 has no effect: dry does nothing, dry_multiplier is 0.0",),
    ),
    "temperature 0 before the filters": Row(
        {"temperature": 0, "samplers": ["temperature", "top_p"], "top_p": 0.5, "seed": 3},
        "temp_ext top_p dist",
        (
            "inert top_p: 0.5 has no effect: top_p does nothing, temperature 0 leaves one",
            "inert seed: 3 has no effect: temperature 0 leaves one candidate",
        ),
    ),
    "top_k 1": Row(
        {"top_k": 1, "temperature": 2.0},
        DEFAULT,
        ("inert temperature: 2.0 has no effect: temp_ext does nothing, top_k 1 leaves one",),
    ),
    "mirostat": Row(
        {"mirostat": 2, "top_k": 5, "samplers": ["top_k"]},
        "temp mirostat_v2",
        (
            "inert top_k: 5 has no effect: the chain has no top_k",
            "inert samplers: the order has no effect: mirostat is set",
            "changed mirostat: 2: temperature and mirostat replace the other stages",
        ),
    ),
    "a text for the breakers": Row(
        {"dry_sequence_breakers": '["\\n"]'},
        DEFAULT,
        ("refused dry_sequence_breakers: a text: the server answers 400; write a list of",),
    ),
    "no breakers": Row(
        {"dry_sequence_breakers": []},
        DEFAULT,
        ("refused dry_sequence_breakers: a list: the server answers 400",),
    ),
    "numbers for the breakers, of b3995": Row(
        {"dry_sequence_breakers": [1]},
        "logit_bias penalties dry top_k typical_p top_p min_p xtc temp_ext dist",
        ("refused dry_sequence_breakers: a list: the server answers 400",),
        "b3995",
    ),
    "a text for a number": Row(
        {"temperature": "0.7"}, DEFAULT, ("refused temperature: a text: the server answers 400",)
    ),
    "a text for a number, of b4753": Row(
        {"top_k": "5"},
        f"logit_bias {B4435}",
        ("changed top_k: a text: the server uses its default; write a whole number",),
        "b4753",
    ),
    "a number for a truth": Row(
        {"ignore_eos": 1}, DEFAULT, ("refused ignore_eos: a number: the server answers 400",)
    ),
    "names of others, all at once": Row(
        {"typ_p": 0.5, "rep_pen_range": 64, "input_prefix": "a", "grammar_triggers": [], "topk": 3},
        DEFAULT,
        (
            "unknown topk: llama-server passes it over; did you mean top_k",
            "foreign typ_p: a name of llama-server's web page, which llama-server passes over;",
            "foreign rep_pen_range: a name of KoboldCpp and SillyTavern, which llama-server pas",
            "unread grammar_triggers: it limits the tokens, and is no stage of a chain",
        ),
    ),
    "values that are moved": Row(
        {"top_p": 1.5, "top_k": -1, "temperature": -2, "seed": 4294967303, "dry_base": 0.5},
        DEFAULT,
        (
            "changed top_p: 1.5 counts as 1.0",
            "changed top_k: -1 counts as 0",
            "changed temperature: -2.0 counts as 0.0",
            "changed dry_base: 0.5 is below 1: the default stands",
            "inert seed: 7",
        ),
    ),
    "values that are refused": Row(
        {"repeat_last_n": -1, "repeat_penalty": 0, "adaptive_decay": 1},
        DEFAULT,
        (
            "refused repeat_last_n: -1: must not be below 0; the server answers 400",
            "refused repeat_penalty: 0.0: must be above 0, with a finite reciprocal",
            "refused adaptive_decay: 1.0: must not be above 0.99; the server answers 400",
        ),
    ),
    "a fraction": Row({"top_k": 3.7}, DEFAULT, ("changed top_k: 3.7 counts as 3",)),
    "temperature 0 of b3889": Row(
        {"temperature": 0, "top_k": 5},
        "logit_bias penalties greedy",
        (
            "inert top_k: 5 has no effect: the chain has no top_k",
            "changed temperature: 0: greedy replaces the other stages",
        ),
        "b3889",
    ),
    "b3889": Row(
        {},
        "logit_bias penalties top_k tail_free typical_p top_p min_p temp_ext softmax dist",
        release="b3889",
    ),
    "b7836": Row({}, DEFAULT, release="b7836"),
    "b7347": Row({}, f"logit_bias {DEFAULT}", release="b7347"),
    "top_n_sigma as a flag of b4753": Row(
        "--top-nsigma 1.5 --top-p 0.5",
        "logit_bias top_k temp top_n_sigma dist",
        (
            "inert top_p: 0.5 has no effect: the chain has no top_p",
            "changed top_n_sigma: the chain is top_k, temp and top_n_sigma alone",
        ),
        "b4753",
    ),
    "top_n_sigma in a request of b4753": Row(
        {"top_n_sigma": 1.5},
        f"logit_bias {B4435}",
        ("unknown top_n_sigma: llama.cpp b4753 does not read it",),
        "b4753",
    ),
    "adaptive_p of an older release": Row(
        {"adaptive_target": 0.3},
        DEFAULT.replace("penalties", "logit_bias penalties", 1),
        ("unknown adaptive_target: llama.cpp b6673 does not read it",),
        "b6673",
    ),
    "flags": Row(
        'llama-server -m a.gguf --samplers "top_k;temp;penalty" --temp -3 --top-kk 3',
        "top_k temp_ext dist",
        (
            "unknown --top-kk: no sampling flag of llama.cpp v0.5.0; did you mean --top-k",
            "unknown samplers: penalty: passed over; did you mean penalties?",
            "changed temperature: -3.0 counts as 0.0",
        ),
    ),
    "flags over two lines": Row("--sampler-seq kt \\\n --temp 0.3", "top_k temp_ext dist"),
    "the last flag of an order": Row("--samplers top_p --sampler-seq kt", "top_k temp_ext dist"),
    "a bias as a flag": Row("-l 5-inf --mirostat 1", "logit_bias temp mirostat",
        ("changed mirostat: 1: temperature",)),
    "the defaults of a server": Row(
        {"default_generation_settings": {"params": {"top_k": 7, "samplers": ["top_k"], "id": 0}}},
        "top_k dist",
    ),
    "the defaults of an older server": Row(
        {"default_generation_settings": {"top_k": 7, "samplers": ["top_k", "min_p"]}},
        "logit_bias top_k min_p dist",
        release="b4753",
    ),
    "a server with no sampler": Row(
        {"default_generation_settings": {"params": {"samplers": []}}}, "dist"
    ),
    "a server that bans tokens": Row(
        {"default_generation_settings": {"params": {"logit_bias": [{"token": 3, "bias": -1.0}]}}},
        f"logit_bias {DEFAULT}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_settings_become_the_chain_that_their_release_builds(tmp_path: Path, name: str) -> None:
    row = ROWS[name]
    answer = answer_of(tmp_path, row.settings, row.release)
    assert " ".join(stage.sampler for stage in answer.stages) == row.samplers
    lines = sorted(" ".join(note.line.split()) for note in answer.notes)
    assert len(lines) == len(row.notes), lines
    assert all(
        line.startswith(note) for line, note in zip(lines, sorted(row.notes), strict=True)
    ), lines


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
    answer = llama_answer([read_source(path, NEW) for path in paths], NEW)
    sources = {v.name: (v.value, v.source) for stage in answer.stages for v in stage.values}
    assert [stage.sampler for stage in answer.stages] == ["min_p", "top_p", "temp_ext", "dist"]
    assert sources["temp"] == (1.5, "request")
    assert answer.stages[1].values[0].model_dump() == {
        "name": "p", "value": 0.75, "setting": "top_p", "source": "flag"}  # fmt: skip
    assert answer.stages[0].values[0].source == "model"
    older = llama_answer([read_source(paths[2], "b6673")], "b6673")
    assert {v.source for stage in older.stages for v in stage.values} <= {
        "default",
        "default, the context",
    }


def test_biases_are_read_as_pairs_and_by_token(tmp_path: Path) -> None:
    for biases in ([[5, 1.5], [7, False]], {"5": 1.5, "7": False}):
        answer = answer_of(tmp_path, {"logit_bias": biases})
        assert values_of(answer, "logit_bias")["logit_bias"] == [[5, 1.5], [7, float("-inf")]]
        assert answer.notes == []
    (note,) = answer_of(tmp_path, {"logit_bias": [["hello", 1], [5, 1]]}).notes
    assert note.line.startswith("unread   logit_bias: 1 of 2 biases")
    (note,) = answer_of(tmp_path, {"logit_bias": {"5": 1.5}}, "b4753").notes
    assert note.line.startswith("changed  logit_bias: a table: it is passed over")


def test_ignore_eos_bans_the_tokens_that_its_release_bans(tmp_path: Path) -> None:
    vocab = read_vocab(vocab_path("bpe"))
    for release, banned in ((NEW, sorted(vocab.eog)), ("b4753", [vocab.eos])):
        answer = answer_of(tmp_path, {"ignore_eos": True}, release)
        assert chain_spec(answer, vocab)[0] == {
            "logit_bias": {"logit_bias": [[token, float("-inf")] for token in banned]}
        }


def test_a_count_of_the_context_is_the_context_in_the_chain(tmp_path: Path) -> None:
    answer = answer_of(tmp_path, {"dry_multiplier": 0.8}, "b4753")
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
