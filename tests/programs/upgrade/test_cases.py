"""The cases of an upgrade, and the settings that they come from (programs/upgrade)."""

import json
from pathlib import Path

import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.programs.upgrade.cases import generated, seeded
from sampler_parity.programs.upgrade.settings import UserSettings
from sampler_parity.reference.random import DEFAULT_SEED


def made(chain: list[dict[str, dict[str, object]]]) -> list[StagesCase]:
    return generated(Path("my chain.toml"), chain)


def test_rows_of_each_kind_and_size_meet_histories_and_operations() -> None:
    cases = made([{"greedy": {}}])
    assert all(isinstance(case, StagesCase) and case.chain == [{"greedy": {}}] for case in cases)
    sizes = {case.logits.n for case in cases}
    assert {1, 2, 127, 128, 129, 1025} <= sizes
    families = {getattr(case.logits, "family", "") for case in cases}
    assert {"zipf", "ties", "masked", "peaked", "flat", "equal"} <= families
    assert {case.script for case in cases} == {"plain", "reset", "clone", "interleaved", "turns"}
    assert any(case.operations for case in cases)
    assert len({case.id for case in cases}) == len(cases)
    assert not any(case.id.startswith("my chain") for case in cases)


def test_a_seed_is_compared_with_another_one() -> None:
    seeds = {case.chain[-1]["dist"]["seed"] for case in made([{"dist": {"seed": 7}}])}
    assert seeds == {7, 8}


@pytest.mark.parametrize("given", [{}, {"seed": DEFAULT_SEED}])
def test_a_chain_that_would_draw_its_seed_gets_one(given: dict[str, int]) -> None:
    assert seeded([{"dist": given}, {"greedy": {}}]) == [{"dist": {"seed": 42}}, {"greedy": {}}]


def test_a_sampler_that_reads_a_vocabulary_meets_two_and_all_their_tokens() -> None:
    cases = made([{"infill": {}}, {"dist": {"seed": 1}}])
    assert {case.vocab for case in cases} == {"bpe", "spm"}
    assert {case.logits.n for case in cases if "vocabulary/" in case.id} >= {303}
    assert {case.vocab for case in made([{"dry": {"dry_multiplier": 0.8}}])} == {None}


def test_a_request_of_llama_server_becomes_its_chain(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    request = {"prompt": "a", "temperature": 0.5, "top_k": 5, "samplers": ["top_k", "temperature"]}
    path.write_text(json.dumps(request | {"seed": 3, "logit_bias": {"5": 1.0}}))
    assert UserSettings(path).chain("reference") == [
        {"logit_bias": {"logit_bias": [[5, 1.0]]}},
        {"top_k": {"k": 5}},
        {"temp_ext": {"temp": 0.5, "delta": 0.0, "exponent": 1.0}},
        {"dist": {"seed": 3}},
    ]
    assert UserSettings(path).notes("reference") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "chain = [{ top_k = { k = 5 } }]"),
        ("a.json", '{"chain": [{"top_k": {"k": 5}}]}'),
        ("b.json", '[{"top_k": {"k": 5}}]'),
    ],
)
def test_a_chain_may_be_toml_or_json(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert UserSettings(tmp_path / name).chain("reference") == [{"top_k": {"k": 5}}]


def test_the_defaults_of_llama_server_are_settings(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    chain = UserSettings(tmp_path / "a.json").chain("reference")
    names = [name for stage in chain for name in stage]
    assert names[:3] == ["penalties", "dry", "top_n_sigma"]
    assert names[-1] == "dist"
