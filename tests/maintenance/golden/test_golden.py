"""Verify golden fixtures and make them again: refusals and their messages."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.fixtures import (
    LogitsEntry,
    ResultsEntry,
    Tensors,
    read_manifest,
    register,
    write_manifest,
)
from sampler_parity.maintenance.golden import recorded, verify
from sampler_parity.maintenance.golden.configuration import configuration
from tests.support.tiny_model import N_VOCAB, write_tiny_model

NAMES = ("small", "small-f16", "native-results")
# <|bos|>, which both begin with, 44 bytes and 47 bytes: 92 distinct prefixes
PROMPTS = ("0123456789" * 4 + "abcd", "abcdefghij" * 4 + "0123456")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like golden/, made by `regenerate` from a tiny model."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "model").mkdir()
    write_tiny_model(folder / "model" / "small.gguf")
    prompts = [json.dumps({"id": f"p{i}", "text": text}) for i, text in enumerate(PROMPTS)]
    (folder / "prompts.jsonl").write_text("\n".join(prompts) + "\n")
    lines = verify.regenerate(folder, tmp_path_factory.mktemp("first"), accept=True)
    assert lines == [
        f"small: new, 92 rows of {N_VOCAB} logits",
        f"small-f16: new, 92 rows of {N_VOCAB} logits",
        "native-results: new, 16 chains of 40 steps",
    ]
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may damage."""
    return shutil.copytree(made, tmp_path / "golden")


def refusal(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        verify.verify(folder)
    return str(caught.value)


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def rewrite(folder: Path, name: str, change: Callable[[Tensors], None]) -> None:
    """Change a fixture's tensors and update the manifest to match."""
    path = folder / read_manifest(folder)[name].file
    fixture = fixtures.read(path)
    tensors = {key: np.array(value) for key, value in fixture.tensors.items()}
    change(tensors)
    fixtures.write(path, fixture.facts, tensors)
    relist(folder, name)


def unlist(folder: Path, name: str) -> None:
    entries = read_manifest(folder)
    del entries[name]
    write_manifest(folder, entries)


def relist(folder: Path, name: str, **changes: object) -> None:
    entry = read_manifest(folder)[name]
    digest = sha256_of(folder / entry.file)
    register(folder, name, entry.model_copy(update={"sha256": digest} | changes))


@pytest.mark.slow
def test_verify_has_a_line_for_each_fixture(folder: Path) -> None:
    assert verify.verify(folder) == [
        "native-results: 16 chains of 40 steps, equal to the reference to the bit",
        f"small: 92 rows of {N_VOCAB} logits, float32",
        f"small-f16: 92 rows of {N_VOCAB} logits, float16",
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.slow
def test_verify_refuses_a_flipped_bit(folder: Path, name: str, place: str) -> None:
    path = folder / f"{name}.gguf"
    size = path.stat().st_size
    flip(path, {"first": 0, "middle": size // 2, "last": size - 1}[place])
    message = refusal(folder)
    assert message.startswith(f"{path}: SHA-256 is ")
    assert ": altered or truncated - restore it, or run `sampler-parity golden regen" in message


@pytest.mark.slow
def test_verify_names_the_fixture_that_was_swapped_in(folder: Path) -> None:
    one, other = folder / "small.gguf", folder / "small-f16.gguf"
    one.rename(folder / "x")
    other.rename(one)
    (folder / "x").rename(other)
    with pytest.raises(InputError, match=r"small\.gguf: .*it is the file of fixture 'small-f16'"):
        fixtures.check(folder, "small")
    assert "it is the file of fixture 'small" in refusal(folder)


@pytest.mark.slow
def test_verify_refuses_fixtures_swapped_together_with_their_digests(folder: Path) -> None:
    unlist(folder, "native-results")
    (folder / "native-results.gguf").unlink()
    small, half = (read_manifest(folder)[name] for name in ("small", "small-f16"))
    for name, entry, other in (("small", small, half), ("small-f16", half, small)):
        swapped = {"file": other.file, "sha256": other.sha256}
        register(folder, name, entry.model_copy(update=swapped))
    assert "small-f16.gguf: has command 'sampler-parity capture" in refusal(folder)


def test_verify_refuses_a_file_that_is_not_listed(folder: Path) -> None:
    unlist(folder, "small-f16")
    path = folder / "small-f16.gguf"
    fix = "capture it again, or delete it"
    assert refusal(folder) == f"{path}: not listed in manifest.toml - {fix}"


@pytest.mark.parametrize("name", ["small.gguf", "manifest.toml"])
def test_verify_refuses_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert refusal(folder).startswith(f"{folder / name}: missing")


def test_check_refuses_a_name_that_is_not_listed(folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        fixtures.check(folder, "smal")
    where = folder / "manifest.toml"
    known = "known: native-results, small, small-f16"
    assert str(caught.value) == f"{where}: no fixture 'smal' - {known}"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "native-results"', 'kind = "other"', "malformed: "),
        ("rows = 92", 'rows = "92"', "malformed: logits.rows: Input should be a valid integer"),
        ("rows = 92", "", "malformed: logits.rows: Field required"),
        ("rows = 92", "rows =", "malformed: "),
        ("rows = 92", "rows = 92\ncolour = 1", "malformed: logits.colour: Extra inputs"),
        ("[fixture.", "[fixtures.", "malformed: 'fixture'"),
    ],
    ids=["kind", "type", "missing", "syntax", "unknown", "table"],
)
def test_verify_refuses_a_malformed_manifest(folder: Path, old: str, new: str, says: str) -> None:
    path = folder / "manifest.toml"
    path.write_text(path.read_text().replace(old, new))
    message = refusal(folder)
    assert message.startswith(f"{path}: {says}")
    assert message.endswith(" - restore it from the repository")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda t: t.update(logits=t["logits"][:-1]),
            f"`logits` is float16[91, {N_VOCAB}], the manifest has float16[92, {N_VOCAB}] -",
        ),
        (
            lambda t: t.update(logits=t["logits"].reshape(-1)),
            f"tensor `logits` is float16[{92 * N_VOCAB}] - it must be float32 or float16 with two",
        ),
        (
            lambda t: t["logits"].__setitem__((3, 7), np.nan),
            "row 3 has a NaN at token 7 - capture it again",
        ),
        (lambda t: t.update(logit=t.pop("logits")), "has no tensor `logits` - make it with"),
    ],
    ids=["shape", "one dimension", "nan", "no logits"],
)
def test_verify_refuses_logits_that_are_not_those_of_the_manifest(
    folder: Path, change: Callable[[Tensors], None], says: str
) -> None:
    rewrite(folder, "small-f16", change)
    assert refusal(folder).startswith(f"{folder / 'small-f16.gguf'}: {says}")


def test_verify_refuses_what_is_no_gguf(folder: Path) -> None:
    (folder / "small-f16.gguf").write_text("this is no GGUF file, but it is listed\n")
    relist(folder, "small-f16")
    assert "small-f16.gguf: not a readable GGUF file: GGUF magic invalid" in refusal(folder)


@pytest.mark.parametrize("name", ["model/small.gguf", "prompts.jsonl"])
def test_verify_refuses_another_source(folder: Path, name: str) -> None:
    unlist(folder, "native-results")
    (folder / "native-results.gguf").unlink()
    flip(folder / name, 100)
    says = f"{folder / name}: is not the file that small.gguf was made with"
    assert refusal(folder).startswith(says)
    (folder / name).unlink()
    assert refusal(folder).startswith(f"{folder / name}: missing: small.gguf was made with it")


def add_ulp(tensors: Tensors) -> None:
    tensors["usual/p"][0] = np.nextafter(tensors["usual/p"][0], np.float32(0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (add_ulp, "chain usual, step 0 (row 0): p at rank 0: the reference has "),
        (
            lambda t: t["top-k/ids"].__setitem__(5, t["top-k/ids"][5] ^ 1),
            "chain top-k, step 0 (row 0): id at rank 5: the reference has ",
        ),
        (
            lambda t: t["mirostat/tokens"].__setitem__(39, t["mirostat/tokens"][39] ^ 1),
            # row 89: 39 * 92 // 40
            "chain mirostat, step 39 (row 89): token: the reference has ",
        ),
        (lambda t: t.pop("usual/p"), "is not a recording: 'usual/p' is missing"),
        (lambda t: t.update({"dry/p": t["dry/p"][:-1]}), "chain dry: ids, p and survivors differ"),
        (lambda t: t.update({"dry/tokens": t["dry/tokens"][:-1]}), "chain dry: a step is missing"),
        (lambda t: t["dry/p"].__setitem__(2, np.nan), "chain dry: p has a NaN at position 2"),
        (lambda t: t["rows"].__setitem__(0, 92), "names row 92, the logits have 92"),
    ],
    ids=["p-by-one-ulp", "id", "token", "no tensor", "length", "steps", "nan", "row"],
)
def test_verify_refuses_a_recording_that_the_reference_does_not_meet_or_that_is_not_whole(
    folder: Path, change: Callable[[Tensors], None], says: str
) -> None:
    rewrite(folder, "native-results", change)
    assert f"native-results.gguf: {says}" in refusal(folder)


def test_verify_refuses_a_recording_of_another_vocabulary(folder: Path) -> None:
    path = folder / "native-results.gguf"
    fixture = fixtures.read(path)
    fixtures.write(path, fixture.facts | {"n_vocab": 4096}, fixture.tensors)
    relist(folder, "native-results")
    assert f"recorded with 4096 tokens, the logits have {N_VOCAB}" in refusal(folder)


def test_verify_refuses_a_recording_of_other_logits(folder: Path) -> None:
    rewrite(folder, "small", lambda t: t["logits"].__setitem__((0, 0), 1))
    says = "native-results.gguf: was recorded on other logits than those of small.gguf"
    assert says in refusal(folder)


@pytest.mark.slow
def test_regenerate_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    manifest = (folder / "manifest.toml").read_bytes()
    assert verify.regenerate(folder, tmp_path / "out") == [
        f"small: equal, 92 rows of {N_VOCAB} logits",
        f"small-f16: equal, 92 rows of {N_VOCAB} logits",
        "native-results: equal, 16 chains of 40 steps",
    ]
    assert (folder / "manifest.toml").read_bytes() == manifest


@pytest.mark.slow
def test_regenerate_says_what_differs_and_keeps_the_old(folder: Path, tmp_path: Path) -> None:
    def change(tensors: Tensors) -> None:
        tensors["logits"][[2, 5], 0] += np.float32(0.25)

    rewrite(folder, "small", change)
    relist(folder, "small", cpu="Another Processor", libc="glibc 2.0")
    old = (folder / "small.gguf").read_bytes()
    line = verify.regenerate(folder, tmp_path / "out")[0]
    configured = configuration()
    assert line == (
        "small: differs: logits: 2/92 rows differ, by at most 0.25;"
        f" cpu here {configured.cpu!r}, recorded 'Another Processor';"
        f" libc here {configured.libc!r}, recorded 'glibc 2.0'"
    )
    assert (folder / "small.gguf").read_bytes() == old


@pytest.mark.slow
def test_regenerate_accepts_on_request(made: Path, folder: Path, tmp_path: Path) -> None:
    write_tiny_model(folder / "model" / "small.gguf", seed=1)
    lines = verify.regenerate(folder, tmp_path / "out", accept=True)
    assert lines[0].startswith("small: differs: model_sha256 is ")
    assert "logits: 92/92 rows differ, by at most " in lines[0]
    assert lines[0].endswith("; the same configuration")
    assert "whole-vocabulary/p: " in lines[2]
    assert len(verify.verify(folder)) == 3
    assert (folder / "small.gguf").read_bytes() != (made / "small.gguf").read_bytes()


def test_regenerate_refuses_to_work_in_the_folder_itself(folder: Path) -> None:
    with pytest.raises(InputError, match="is the folder of the fixtures"):
        verify.regenerate(folder, folder)


def write_small(path: Path) -> None:
    facts = {"kind": "logits", "threads": 1, "prompt_ids": ["a", "b"]}
    fixtures.write(path, facts, {"logits": np.array([[1.5, -2, 3]], np.float32)})


@pytest.mark.slow
def test_read_refuses_every_flipped_bit_that_would_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    write_small(path)
    content = path.read_bytes()
    tensor = content.index(np.array([1.5, -2, 3], np.float32).tobytes())
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            fixture = fixtures.read(path)
        except InputError:
            continue
        # padding, the version and the architecture: nothing of it is used
        assert fixture.facts == {"kind": "logits", "threads": 1, "prompt_ids": ["a", "b"]}
        assert fixture.tensors["logits"].tolist() == [[1.5, -2, 3]]
        assert not tensor <= at < tensor + 12


@pytest.mark.slow
def test_read_refuses_every_truncation(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    write_small(path)
    content = path.read_bytes()
    for n in range(len(content) - 20):  # 20 bytes of padding follow the tensor
        path.write_bytes(content[:n])
        with pytest.raises(InputError):
            fixtures.read(path)


def test_read_takes_a_gguf_file_made_by_others(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "other")
    writer.add_tensor("logits", np.array([[1, 2]], np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert fixtures.read_logits(tmp_path / "x.gguf").tolist() == [[1, 2]]


def test_read_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.gguf: no such file"):
        fixtures.read(tmp_path / "x.gguf")


# The tests below read the fixtures of the repository.


@pytest.mark.slow
def test_repository_fixtures_are_in_order() -> None:
    assert verify.verify() == [
        "native-results: 16 chains of 40 steps, equal to the reference to the bit",
        "small: 320 rows of 4096 logits, float32",
        "small-f16: 320 rows of 4096 logits, float16",
    ]


def test_repository_float16_rows_are_the_float32_rows_rounded() -> None:
    small, half = fixtures.load("small"), fixtures.load("small-f16")
    assert half.tobytes() == small.astype(np.float16).tobytes()


def test_repository_rows_are_all_different() -> None:
    assert len({row.tobytes() for row in fixtures.load("small")}) == 320


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chain", "stage"),
    [(c, i) for c in recorded.CHAINS for i in range(len(c.chain))],
    ids=lambda value: value if isinstance(value, int) else value.id,
)
def test_repository_recording_depends_on_every_stage(chain: recorded.Recorded, stage: int) -> None:
    folder = fixtures.golden_folder()
    entry = read_manifest(folder)["native-results"]
    assert isinstance(entry, ResultsEntry)
    path = fixtures.check(folder, "native-results")
    fixture = fixtures.read(path)
    without = chain.model_copy(update={"chain": chain.chain[:stage] + chain.chain[stage + 1 :]})
    changed = fixtures.Fixture(
        fixture.facts | {"chains": [without.model_dump_json()]}, fixture.tensors
    )
    logits = fixtures.load(entry.logits)
    assert len(recorded.compare(path, changed, logits, folder / entry.model)) == 1


@pytest.mark.slow
def test_repository_fixtures_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    entry = read_manifest(fixtures.golden_folder())["small"]
    assert isinstance(entry, LogitsEntry)
    configured = configuration()
    differing = [key for key, value in vars(configured).items() if value != getattr(entry, key)]
    if differing:
        pytest.skip(f"another configuration: {', '.join(differing)}")
    lines = verify.regenerate(fixtures.golden_folder(), tmp_path / "out")
    assert [line.split(",")[0] for line in lines] == [f"{name}: equal" for name in NAMES]
