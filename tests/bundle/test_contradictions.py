"""A record that contradicts itself is refused when a bundle is read, before any page uses it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.artifacts import stage_file
from sampler_parity.harness.bundle.bundle import read
from sampler_parity.harness.errors import InputError
from tests.support.filled import filled_bundle

Change = Callable[[dict[str, Any]], object]


def _plain(place: str) -> str:
    return "v0.5.0" if place == "BackendInfo.reference" else place


def _curve(record: dict[str, Any]) -> None:
    next(iter(record["curves"].values()))[0]["runs"] = 0


# For each kind of record: its change, and a part of the error.
CHANGES: dict[str, tuple[str, Change, str]] = {
    "a backend of which nothing is required": (
        "case",
        lambda record: record["required"].pop("first"),
        "backend first has no required verdict",
    ),
    "a cell's backend of which nothing is required": (
        "distribution",
        lambda record: record["required"].pop("first"),
        "backend first has no required decision",
    ),
    "the first backend has no logits": (
        "decode",
        lambda record: record.update(first="other"),
        "first: no logits of 'other'",
    ),
    "the baseline was not measured": (
        "throughput",
        lambda record: record.update(baseline="other"),
        "baseline: no measurement of 'other'",
    ),
    "a curve of no runs": ("calibration", _curve, "runs at least 1"),
    "peers of other rules": (
        "calibration",
        lambda record: record["peers"][0]["tv"].clear(),
        "not of the same rules",
    ),
    "a check of fewer rounds": (
        "timing_check",
        lambda record: record["curves"][0]["seconds"].pop(),
        "all lists must be as long as rounds",
    ),
    "a way that pages look up": (
        "skip_ratio",
        lambda record: record["measured"]["ways"].pop("trie"),
        "ways lacks trie",
    ),
    "grammars alone": (
        "skip_ratio",
        lambda record: record["measured"].update(mode="strict-guided"),
        "mode is 'strict-guided', expected 'strict-trie-ffi'",
    ),
    "a ratio that is divided by": (
        "skip_ratio",
        lambda record: record["measured"].update(tokens_per_second_vs_grammar=0.0),
        "tokens_per_second_vs_grammar is not above 0",
    ),
    "a cost that is divided by": (
        "skip_ratio",
        lambda record: record["measured"]["own_us_per_step"].update(grammar=0.0),
        "own_us_per_step.grammar is not above 0",
    ),
    "other times of a forward pass": (
        "skip_ratio",
        lambda record: record["measured"]["modelled"]["by_decode_ms"].clear(),
        "modelled.by_decode_ms must have the times",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "change", "message"), CHANGES.values(), ids=CHANGES)
def test_a_record_that_contradicts_itself_is_refused_with_its_line(
    tmp_path: Path, kind: str, change: Change, message: str
) -> None:
    bundle = filled_bundle(tmp_path / "b", _plain)
    path = bundle.folder / "results.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    place = next(i for i, record in enumerate(records) if record["kind"] == kind)
    change(records[place])
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(InputError) as refused:
        read(bundle.folder)
    assert f"results.jsonl:{place + 1}: malformed" in str(refused.value)
    assert message in str(refused.value)


def test_a_release_that_is_none_is_refused(tmp_path: Path) -> None:
    bundle = filled_bundle(tmp_path / "b", _plain)
    path = bundle.folder / "run.json"
    path.write_text(path.read_text().replace('"v0.5.0"', '"b' + "9" * 5_000 + '"'))
    with pytest.raises(InputError, match=r"run.json: malformed: .* is not a release of llama.cpp"):
        read(bundle.folder)


def test_a_file_of_long_names_has_a_short_one() -> None:
    long = stage_file("x" * 200, "node adapter.js --option " * 20)
    assert len(long) < 120
    assert long != stage_file("x" * 200, "node adapter.js --option " * 21)
    assert stage_file("top_p/a", "llama.cpp@b1") == "top_p_a.llama.cpp_b1.npz"
