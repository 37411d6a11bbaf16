"""Capture logits of a model: values, order of rows, and every refusal."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.fixtures import Fixture, LogitsEntry, read_manifest
from sampler_parity.maintenance.golden.capture import capture, read_prompts
from sampler_parity.maintenance.golden.job import plan_rows
from tests.support.tiny_model import N_VOCAB, compute_logits, write_tiny_model

BOS = N_VOCAB - 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, two prompts with a common beginning, and their capture in float32."""
    folder = tmp_path_factory.mktemp("capture")
    write_tiny_model(folder / "tiny.gguf")
    (folder / "prompts.txt").write_text("hello there\nhello you\n")
    capture(folder / "tiny.gguf", folder / "prompts.txt", folder / "all.gguf")
    return folder


@pytest.fixture(scope="module")
def captured(folder: Path) -> Fixture:
    return fixtures.read(folder / "all.gguf")


def refusal(model: Path, prompts: Path, out: Path, dtype: str = "float32") -> str:
    with pytest.raises(InputError) as caught:
        capture(model, prompts, out, dtype)
    assert not out.exists()
    assert not list(out.parent.glob("*.rows"))
    return str(caught.value)


@pytest.mark.slow
def test_capture_has_a_row_for_each_distinct_prefix(captured: Fixture) -> None:
    # <|bos|> and 11 bytes; of "hello you" the first 1 + 6 tokens are those of "hello there"
    assert captured.tensors["prompt"].tolist() == [0] * 12 + [1] * 3
    assert captured.tensors["position"].tolist() == [*range(12), 7, 8, 9]
    assert captured.tensors["prompt_tokens"].tolist() == [12, 10]
    assert captured.tensors["tokens"].tolist() == [BOS, *b"hello there", BOS, *b"hello you"]
    assert captured.facts["prompt_ids"] == ["line-1", "line-2"]


@pytest.mark.slow
def test_capture_has_the_logits_of_the_model(captured: Fixture) -> None:
    first = compute_logits([BOS, *b"hello there"])
    second = compute_logits([BOS, *b"hello you"])
    expected = np.concatenate([first, second[7:]])
    rows = captured.tensors["logits"]
    assert rows.dtype == np.float32
    # the logits reach 24; llama.cpp keeps keys and values in float16; neighbours differ by over 3
    assert np.abs(rows - expected).max() < 0.02
    assert np.abs(rows[1:] - expected[:-1]).max(axis=1).min() > 3


@pytest.mark.slow
def test_capture_repeats_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    first = (folder / "all.gguf").read_bytes()
    capture(folder / "tiny.gguf", folder / "prompts.txt", folder / "all.gguf")
    assert (folder / "all.gguf").read_bytes() == first


@pytest.mark.slow
def test_capture_in_float16_rounds_the_float32_logits(
    folder: Path, captured: Fixture, tmp_path: Path
) -> None:
    capture(folder / "tiny.gguf", folder / "prompts.txt", tmp_path / "half.gguf", "float16", 3)
    half = fixtures.read(tmp_path / "half.gguf")
    assert half.tensors["logits"].dtype == np.float16
    # 15 rows, 3 of them: 0, 5, 10
    expected = captured.tensors["logits"][[0, 5, 10]].astype(np.float16)
    assert half.tensors["logits"].tobytes() == expected.tobytes()


@pytest.mark.slow
def test_capture_shows_its_progress(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture(folder / "tiny.gguf", folder / "prompts.txt", tmp_path / "some.gguf", max_rows=2)
    # rows 0 and 7: eight tokens of the first prompt
    assert "8/8 tokens" in capsys.readouterr().err


@pytest.mark.slow
def test_capture_is_listed_in_the_manifest_next_to_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text("[fixture]\n")
    capture(folder / "tiny.gguf", folder / "prompts.txt", tmp_path / "mine.gguf", max_rows=4)
    entry = read_manifest(tmp_path)["mine"]
    assert isinstance(entry, LogitsEntry)
    assert (entry.rows, entry.n_vocab, entry.dtype, entry.threads) == (4, N_VOCAB, "float32", 1)
    assert entry.sha256 == sha256_of(tmp_path / "mine.gguf")
    assert (tmp_path / entry.model).resolve() == (folder / "tiny.gguf").resolve()
    assert entry.command.startswith("sampler-parity capture --model ")
    assert fixtures.check(tmp_path, "mine") == tmp_path / "mine.gguf"


@pytest.mark.slow
def test_capture_without_a_manifest_makes_none(folder: Path) -> None:
    assert not (folder / "manifest.toml").exists()


def test_plan_takes_rows_evenly_spaced() -> None:
    tokens = [[1, 2, 3], [1, 2, 4, 5]]
    plan = plan_rows(tokens, None)
    assert (plan.prompt_of, plan.position_of) == ([0, 0, 0, 1, 1], [0, 1, 2, 2, 3])
    plan = plan_rows(tokens, 2)
    assert (plan.prompt_of, plan.position_of) == ([0, 0], [0, 2])
    assert plan.decodes == 3


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b'{"id": "a", "text": "x"}\nnonsense\n', ":2", "not a prompt"),
        (b'{"id": "a"}\n', ":1", "not a prompt"),
        (b'{"id": 7, "text": "x"}\n', ":1", "not a prompt"),
        (b'{"id": "a", "text": "x"}\n{"id": "b", "text": ""}\n', ":2", "id or text is empty"),
        (
            b'{"id": "a", "text": "x"}\n\n{"id": "a", "text": "y"}\n',
            ":3",
            "line 1 has the id 'a', too",
        ),
        (b'{"id": "a", "text": "x"}\n{"id": "b", "text": "\xff"}\n', ":2", "not UTF-8"),
        (b"\n", "", "holds no prompts"),
    ],
    ids=["no-json", "no-text", "id-no-text", "empty", "same-id", "no-utf-8", "none"],
)
def test_prompts_are_refused_with_the_line(
    tmp_path: Path, content: bytes, line: str, says: str
) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_prompts(path)
    assert str(caught.value).startswith(f"{path}{line}: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [("missing.jsonl", "cannot be read: No such file"), ("prompts.csv", "neither .jsonl nor .txt")],
)
def test_prompts_of_no_use_are_refused(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_prompts(tmp_path / name)


def test_prompts_in_text_files_are_lines(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes(b"one \r\n\n two\n")
    prompts = read_prompts(tmp_path / "p.txt")
    assert [(p.id, p.text) for p in prompts] == [("line-1", "one "), ("line-3", " two")]


@pytest.mark.slow
def test_capture_refuses_what_is_no_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("this is no model")
    message = refusal(tmp_path / "text.gguf", folder / "prompts.txt", tmp_path / "o.gguf")
    assert message.endswith("text.gguf: llama.cpp cannot load this model - check the GGUF file")


def test_capture_names_a_missing_model_before_an_output_that_will_not_do(
    folder: Path, tmp_path: Path
) -> None:
    message = refusal(tmp_path / "none.gguf", folder / "prompts.txt", tmp_path / "o")
    assert "none.gguf: cannot be read: No such file or directory" in message


@pytest.mark.slow
def test_capture_survives_a_model_that_llama_cpp_dies_of(folder: Path, tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "m.gguf", heads=32)  # heads of one value: no pair to rotate
    message = refusal(tmp_path / "m.gguf", folder / "prompts.txt", tmp_path / "o.gguf")
    assert "m.gguf: llama.cpp crashed on this model with SIGABRT: " in message
    assert "GGML_ASSERT" in message


@pytest.mark.slow
def test_capture_refuses_nan_logits(folder: Path, tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "m.gguf", scale=float("nan"))
    message = refusal(tmp_path / "m.gguf", folder / "prompts.txt", tmp_path / "o.gguf")
    assert message.endswith("m.gguf: gives NaN for token 0 at prompt 'line-1', position 0")


@pytest.mark.slow
def test_capture_refuses_logits_too_large_for_float16(folder: Path, tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "m.gguf", scale=1e5)
    message = refusal(tmp_path / "m.gguf", folder / "prompts.txt", tmp_path / "o.gguf", "float16")
    assert "prompt 'line-1', position 0, too large for float16 - use --dtype float32" in message


@pytest.mark.slow
def test_capture_refuses_a_prompt_longer_than_the_context(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 64)
    message = refusal(folder / "tiny.gguf", tmp_path / "long.txt", tmp_path / "o.gguf")
    assert "prompt 'line-1' has 65 tokens, the model's context 64 - shorten" in message


def test_capture_refuses_bad_options(folder: Path, tmp_path: Path) -> None:
    model, prompts = folder / "tiny.gguf", folder / "prompts.txt"
    assert refusal(model, prompts, tmp_path / "o.gguf", "int8").startswith("--dtype int8: unknown")
    assert "no fixture can be written there" in refusal(model, prompts, tmp_path / "o.bin")
    assert "no fixture can be written there" in refusal(model, prompts, tmp_path / "no" / "o.gguf")
    with pytest.raises(InputError, match="--max-rows 0: must be at least 1"):
        capture(model, prompts, tmp_path / "o.gguf", max_rows=0)


@pytest.mark.slow
def test_capture_that_fails_keeps_the_old_file(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "all.gguf", tmp_path / "o.gguf")
    write_tiny_model(tmp_path / "m.gguf", scale=float("nan"))
    with pytest.raises(InputError, match="gives NaN"):
        capture(tmp_path / "m.gguf", folder / "prompts.txt", tmp_path / "o.gguf")
    assert (tmp_path / "o.gguf").read_bytes() == (folder / "all.gguf").read_bytes()
