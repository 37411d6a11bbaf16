"""Inputs that once crashed a command or kept it busy for minutes: each is refused in one line.

cli() fails if main has to handle the error: the refusal belongs where the input is read.
"""

import os
import sqlite3
import struct
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.sanitize import limits
from tests.attack.fuzzing.models import write_gguf
from tests.support.command_line import cli, refused
from tests.support.report_bundles import case, diverged, run_info, write_bundle

SECONDS = 10.0  # for a refusal; on an idle machine hardly one takes a second
_ABOUT = 'description = "d"\nwhy = "w"\n'
_CASE = f'name = "x"\n[[case]]\nid = "a"\n{_ABOUT}chain = [{{greedy = {{}}}}]\n'
_LOGITS = "logits = {values = [1.0, 2.0]}\n"
_FAMILY = 'families = ["normal"]\nsizes = [4]\n'
_RANDOM = f'name = "x"\n[[random_chains]]\nid = "r"\n{_ABOUT}{_FAMILY}seed = 0\n'
_MATRIX = f'name = "x"\n[[matrix]]\nid = "m"\n{_ABOUT}{_FAMILY}'
_GRAMMAR = f'name = "x"\n[[grammar]]\nid = "g"\n{_ABOUT}accepted = ["a"]\n'
_N = list(range(3_000))
_NINES = "9" * 30

# The text of the suite file, and a part of the error line.
SUITES = {
    "brackets": ("a = " + "[" * 100_000, "too many lists and tables"),
    "dotted key": ("[" + "a." * 50_000 + "b]", "a key of over 64 parts"),
    "digits": ("a = " + "9" * 5_000, "not TOML"),
    "not UTF-8": ("\udcff", "not TOML"),
    "steps": (_CASE + _LOGITS + "steps = 2000000000", "steps"),
    "draws": (_CASE + _LOGITS + "draws = 2000000000", "draws"),
    "long id": ((_CASE + _LOGITS).replace('"a"', f'"{"a" * 300}"'), "at most 200 characters"),
    "quick": (_RANDOM + "count = 2147483648\nquick = 2147483648", "count"),
    "size": (_RANDOM.replace("[4]", f"[{_NINES}]") + "count = 1", "sizes"),
    "size 0": (_RANDOM.replace("[4]", "[0]") + "count = 1", "sizes"),
    "seed": (_RANDOM.replace("= 0", f"= {_NINES}") + "count = 1", "seed"),
    "token": (_CASE + _LOGITS + f"history = [{_NINES}]", "history"),
    "log of id": (_CASE + "logits = {log_of_id = 2000000000}", "logits"),
    "long history": (
        _MATRIX + "chain = [{greedy = {}}]\nhistory = {length = 2000000000, alphabet = 4}",
        "history",
    ),
    "grid": (
        _MATRIX + 'chain = [{top_k = {k = "$k"}}, {min_p = {p = "$p"}}]\n'
        f"vary = {{k = {_N}, p = {_N}}}",
        "makes 9,000,000 cases",
    ),
    "many rows at once": (
        f'name = "x"\n[[batch]]\nid = "b"\n{_ABOUT}families = ["normal"]\nsizes = [8]\n'
        'chains = {c = [{greedy = {}}]}\nrows = [2000000000]\nscripts = ["steady"]\nsteps = 1',
        "rows",
    ),
    "twins of nobody": (
        f'name = "x"\n[[twins]]\nid = "t"\n{_ABOUT}samplers = ["top_q"]\nsteps = 1',
        "unknown sampler 'top_q': did you mean",
    ),
    "ladder of nobody": (
        f'name = "x"\n[[ladder]]\nid = "l"\n{_ABOUT}samplers = ["top_q"]\nsize = "candidates"',
        "unknown sampler 'top_q': did you mean",
    ),
    "no stage": ((_CASE + _LOGITS).replace("{greedy = {}}", ""), "case 'a': chain: has no stage"),
    "nothing generates": (
        _CASE.replace("{greedy = {}}", "{}") + 'logits = {decoded = "small", prompt = [1]}\n',
        "the last stage must select a token, none does not",
    ),
    "long vocabulary": (_CASE + _LOGITS + f'vocab = "{"x" * 300}"', "no such vocabulary"),
    "device": (_CASE + _LOGITS + 'vocab = "/dev/zero"', "no such vocabulary"),
    "long grammar": (_GRAMMAR + f'grammar = "{"a" * 70_000}"', "grammar"),
    "optional": (
        _GRAMMAR + "grammar = 'root ::= " + '"a"? ' * 2_000 + "'",
        "can be read in over 10000 ways",
    ),
    "alternatives": (
        _GRAMMAR + r"grammar = 'root ::= (x x x x x x x x) | (" + " | ".join(['"a"? "a"?'] * 200)
        + ")*'",
        "grammar",
    ),
    "token of a text": (
        _GRAMMAR.replace('["a"]', f'[["a", {_NINES}]]') + "grammar = 'root ::= [a]*'",
        "accepted",
    ),
    "deep pattern": (
        _GRAMMAR + "grammar = 'root ::= [a]*'\n"
        f"trigger_patterns = ['{'(' * 5_000}{')' * 5_000}']",
        "trigger_patterns",
    ),
}  # fmt: skip


def _in_time(arguments: list[str | Path]) -> str:
    before = time.monotonic()
    line = refused(cli(*arguments))
    assert time.monotonic() - before < SECONDS
    assert line.isprintable()
    return line


@pytest.mark.slow
@pytest.mark.parametrize(("text", "message"), SUITES.values(), ids=SUITES)
def test_a_hostile_suite_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    suite = tmp_path / "s.toml"
    suite.write_bytes(text.encode(errors="surrogateescape"))
    line = _in_time(["run", suite, "--plan", "--profile", "full", "-b", "reference"])
    assert message in line
    assert len(line) < 2_100


def test_a_suite_of_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    suite = tmp_path / "s.toml"
    with suite.open("wb") as file:
        file.truncate(1 << 30)
    assert "has more than 1 MiB" in _in_time(["run", suite, "--plan"])


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_what_has_no_end_is_not_waited_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "pipe":
        os.mkfifo(path)
    assert "not a regular file, but" in _in_time(
        ["gate", _bundle(tmp_path / "b"), "--policy", path]
    )


# Since Python 3.14 pathlib reports such a name as missing.
_TOO_LONG = "no such" if sys.version_info >= (3, 14) else "File name too long"

NAMES: dict[str, tuple[list[str | Path], str]] = {
    "quotes": (["run", "parity/greedy", "--plan", "-b", "a='"], "No closing quotation"),
    "nothing": (["run", "parity/greedy", "--plan", "-b", "a= "], "the command is empty"),
    "long suite": (["run", "x" * 300, "--plan"], "no such suite"),
    "long bundle": (["explain", "x" * 300, "a"], "missing"),
    "long history": (["history", "show", "-d", "x" * 300], _TOO_LONG),
    "not UTF-8": (["explain", "\udcff", "a"], r"\udcff/run.json: missing"),
}


@pytest.mark.parametrize(("arguments", "message"), NAMES.values(), ids=NAMES)
def test_a_hostile_name_is_refused_in_one_line(arguments: list[str | Path], message: str) -> None:
    assert message in _in_time(arguments)


def _bundle(folder: Path) -> Path:
    """One case that differs at rank 0."""
    bad = diverged(values={"rank": 0, "got": 1, "expected": 2})
    return write_bundle(folder, run_info("a"), [case("greedy/x", {"a": bad})], [])


LINES = {
    "nested": '{"kind":"case","x":' + "[" * 100_000,
    "digits": '{"kind":"case","steps":1' + "0" * 5_000 + "}",
    "64 bits": '{"kind":"case","steps":9223372036854775808}',
    "half a pair": r'{"kind":"case","id":"\ud800"}',
    "a list": "[]",
    "a kind": '{"kind":[1]}',
}


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("command", ["explain", "gate", "history"])
def test_a_hostile_line_of_a_bundle_is_refused_in_one_line(
    tmp_path: Path, line: str, command: str
) -> None:
    bundle = _bundle(tmp_path / "b")
    results = bundle / "results.jsonl"
    lines = results.read_text().splitlines()
    results.write_text("\n".join([lines[0], line, *lines[1:]]) + "\n")
    arguments: dict[str, list[str | Path]] = {
        "explain": ["explain", bundle, "greedy/x"],
        "gate": ["gate", bundle],
        "history": ["history", "add", bundle, "-d", tmp_path / "h.sqlite"],
    }
    assert "results.jsonl:2: malformed" in _in_time(arguments[command])


def test_a_result_of_a_backend_that_was_not_run_is_refused_in_one_line(tmp_path: Path) -> None:
    records = [case("greedy/x", {"zzz": diverged(values={})})]
    bundle = write_bundle(tmp_path / "b", run_info("a"), records, [])
    message = "backend 'zzz' is not in run.json"
    assert message in _in_time(["explain", bundle, "greedy/x"])
    assert message in _in_time(["history", "add", bundle, "-d", tmp_path / "h.sqlite"])


def test_deep_values_are_refused_in_one_line(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path / "b")
    results = bundle / "results.jsonl"
    deep = "[" * 400 + "]" * 400
    results.write_text(results.read_text().replace('"rank":0', f'"x":{deep}'))
    assert "over 64 lists and tables" in _in_time(["explain", bundle, "greedy/x"])


def _bomb(path: Path) -> None:
    """A thousandth of what it unpacks to."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("ids.npy", bytes(limits.ARRAYS + limits.MIB))


def _packed(header: bytes, compression: int = 0) -> Callable[[Path], None]:
    """An archive whose arrays have this header, and nothing more. compression: what it states."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as members:
            for name in ("ids", "logits", "p", "got_ids", "got_logits", "got_p"):
                content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
                members.writestr(f"{name}.npy", content)
        if compression:
            packed = path.read_bytes()
            for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
                first = packed.index(mark) + at
                packed = packed[:first] + bytes([compression]) + packed[first + 1 :]
            path.write_bytes(packed)

    return write


ARRAYS: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(b"garbage"),
    "a pickle": lambda path: path.write_bytes(b"\x80\x04N."),
    "a bomb": _bomb,
    "a lie": _packed(b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }\n"),
    "an open header": _packed(b"{'descr': ("),
    "an archive in it": _packed(b"PK\x03\x04"),
    "a packing of nobody's": _packed(b"x", compression=99),
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("write", ARRAYS.values(), ids=ARRAYS)
def test_hostile_arrays_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(limits, "ARRAYS", 1 << 20)
    bundle = _bundle(tmp_path / "b")
    write(bundle / "artifacts" / "greedy_x.a.npz")
    assert "greedy_x.a.npz" in _in_time(["explain", bundle, "greedy/x"])


VOCABULARIES: dict[str, tuple[dict[str, Any], str]] = {
    "no tokens": ({"tokens": None}, "tokens is not a list of str"),
    "no merges, but a number": ({"merges": 7}, "merges is not a list of str"),
    "a type too few": ({"token_type": [1]}, "unequal numbers of texts, types, scores: 2, 1, 0"),
    "a number for an end": ({"eos_token_id": 1 << 31}, "eos_token_id is not a token"),
    "a text for an end": ({"eos_token_id": "a"}, "eos_token_id is not a token"),
    "a byte by no name": ({"token_type": [1, 6]}, "a byte token must be written as <0x0A>"),
    "no scores": ({"model": "llama"}, "scores is not a list of float"),
}


@pytest.mark.parametrize(("change", "message"), VOCABULARIES.values(), ids=VOCABULARIES)
def test_a_hostile_vocabulary_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    facts = {"model": "gpt2", "tokens": ["a", "b"], "token_type": [1, 1], "eos_token_id": 1}
    facts |= change
    facts = {f"tokenizer.ggml.{key}": fact for key, fact in facts.items() if fact is not None}
    write_gguf(tmp_path / "v.gguf", "llama", facts, {})
    with pytest.raises(InputError) as refused:
        read_vocab(tmp_path / "v.gguf")
    assert str(refused.value).startswith(f"{tmp_path}/v.gguf: not a readable GGUF file: ")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE figure ADD COLUMN x",
        "DROP TABLE verdict",
        "UPDATE run SET name = x'00'",
        "UPDATE figure SET value = 'x'",
        "UPDATE figure SET run = 7",
        "UPDATE verdict SET run = 7",
        "UPDATE run SET name = CAST(x'ff' AS TEXT)",
        "CREATE TRIGGER t BEFORE INSERT ON run BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT 1",
    ],
)
def test_a_history_of_another_shape_is_refused(tmp_path: Path, change: str) -> None:
    database = tmp_path / "h.sqlite"
    assert cli("history", "add", _bundle(tmp_path / "b"), "-d", database).returncode == 0
    row = "INSERT INTO figure VALUES (1, 'a', 'b', 'c', 'ns', 1.0, NULL, NULL, NULL)"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(row)
        connection.execute(change)
    assert "h.sqlite" in _in_time(["history", "show", "-d", database, "-o", tmp_path / "o"])


def test_the_page_of_limits_states_the_figures() -> None:
    page = (Path(__file__).resolve().parent.parent.parent / "docs/reference/limits.md").read_text()
    for figure in (
        *(limits.CASES, limits.RANDOM, limits.STEPS, limits.VOCAB, limits.STAGES),
        *(limits.DRAWS_OF_CASE, limits.JOBS, limits.ROUNDS, limits.RUNS, int(limits.SECONDS)),
        int(limits.DELAY_MS),
    ):
        assert f"{figure:,}" in page, figure
    for size in (limits.RUN_JSON, limits.RECORD, limits.ARRAYS, limits.PROMPTS):
        assert f"{size // limits.MIB} MiB" in page
