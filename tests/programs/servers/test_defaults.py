"""The defaults that a server must have: by flags, metadata, its own report, and the program."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.defaults import (
    Default,
    ServerDefaults,
    documented,
    equal,
    fit,
    of_flags,
    of_metadata,
    stating,
)
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.model_metadata import metadata_of
from sampler_parity.programs.settings.facts import engine_facts

LLAMA = DIALECTS["llama-server"]


def values(defaults: dict[str, Default]) -> dict[str, Any]:
    return {name: default.value for name, default in defaults.items()}


def test_flags_of_a_command_set_defaults_and_the_others_are_left_out() -> None:
    flags = "llama-server -m x.gguf --temp 0.6 --top-k 20 --min-p 0 --sampling-seq kt -c 4096 -s -1"
    assert values(of_flags("llama-server", flags)) == {
        "temperature": 0.6,
        "top_k": 20,
        "min_p": 0.0,
        "samplers": ["top_k", "temperature"],
        "seed": -1,
    }


def test_the_last_of_a_repeated_flag_counts_and_a_temperature_below_zero_is_zero() -> None:
    assert values(of_flags("llama-server", "--temp -1 --top-k 5 --top-k=7")) == {
        "temperature": 0.0,
        "top_k": 7,
    }


def test_the_twelve_keys_of_a_model_are_defaults_of_llama_server() -> None:
    keys = {row["metadata"] for row in documented()["llama-server"].values() if "metadata" in row}
    assert len(keys) == 12
    sequence = {"general.sampling.sequence": "top_k;typ-p;temp;nonsense"}
    assert values(of_metadata("llama-server", sequence)) == {
        "samplers": ["top_k", "typ_p", "temperature"]
    }
    metadata = {"general.sampling.temp": "0.7", "general.sampling.top_k": 20.0, "top_p": 0.5}
    assert values(of_metadata("llama-server", metadata)) == {"temperature": 0.7, "top_k": 20}


def test_the_defaults_of_llama_server_are_those_of_the_facts_of_settings() -> None:
    facts = engine_facts("llama-server").parameters
    rows = {row.name: row.default for row in LLAMA.parameters if row.name in facts}
    assert len(rows) > 25
    assert rows == {name: facts[name].default for name in rows}


CONFIG = {
    "do_sample": True,
    "temperature": 0.6,
    "top_k": 20,
    "min_p": None,
    "presence_penalty": 1.5,
    "max_new_tokens": 99,
}


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("vllm", {"temperature", "top_k", "presence_penalty", "max_tokens"}),
        ("sglang", {"temperature", "top_k"}),
        ("transformers", {"temperature", "top_k", "max_tokens"}),
        ("mlx-lm", set()),
        ("llama-server", set()),
    ],
)
def test_each_program_reads_its_own_keys_of_generation_config(
    program: str, names: set[str]
) -> None:
    assert of_metadata(program, CONFIG).keys() == names


def test_transformers_is_greedy_without_do_sample() -> None:
    assert values(of_metadata("transformers", {**CONFIG, "do_sample": False})) == {
        "temperature": 0.0
    }


def test_vllm_overrides_generation_config_by_a_flag() -> None:
    flags = """vllm serve m --override-generation-config '{"temperature": 0.5, "n": 1}'"""
    assert values(of_flags("vllm", flags)) == {"temperature": 0.5}


@pytest.mark.parametrize(
    ("program", "flags", "line"),
    [
        ("llama-server", "--top-k twenty", "--flags: --top-k needs a number, not 'twenty'"),
        ("llama-server", "--temp", "--flags: --temp needs a number, not ''"),
        ("llama-server", "--samplers 'top_k", "--flags: no closing quotation"),
        ("vllm", "--override-generation-config x", "--override-generation-config is no JSON: 'x'"),
    ],
)
def test_flags_that_cannot_be_read_are_refused_in_one_line(
    program: str, flags: str, line: str
) -> None:
    with pytest.raises(InputError) as refusal:
        of_flags(program, flags)
    assert line in str(refusal.value)


@given(st.text())
def test_any_flags_are_read_or_refused(flags: str) -> None:
    with contextlib.suppress(InputError):
        of_flags("llama-server", flags)


def test_a_flag_goes_before_metadata_and_metadata_before_the_program() -> None:
    metadata = {"general.sampling.top_k": 20, "general.sampling.temp": 1.0}
    declared = of_metadata("llama-server", metadata) | of_flags("llama-server", "--top-k 30")
    fitted = fit(LLAMA, ServerDefaults("llama-server", declared))
    rows = {row.name: row for row in fitted.parameters}
    assert (rows["top_k"].default, rows["top_k"].origin) == (30, "the flag --top-k")
    assert rows["temperature"].default == 1.0
    assert rows["temperature"].origin == "the model's general.sampling.temp"
    assert (rows["top_p"].default, rows["top_p"].origin) == (0.95, "the program's default")


def test_what_interferes_is_stated_in_every_request() -> None:
    """Of defaults that take the effect of other parameters the program's is stated."""
    flags = "--repeat-last-n 0 --dry-base 9 --samplers top_k --seed 42 --top-k 3"
    declared = of_flags("llama-server", flags)
    fitted = fit(LLAMA, ServerDefaults("llama-server", declared))
    assert fitted.neutral == LLAMA.neutral | {
        "repeat_last_n": 64,
        "dry_base": 1.75,
        "samplers": next(row.default for row in LLAMA.parameters if row.name == "samplers"),
    }
    assert (LLAMA.random, fitted.random) == (True, False)


def test_openais_paths_of_llama_server_have_its_defaults_and_state_what_openai_lacks() -> None:
    reported = {"temperature": 0.6, "top_p": 0.949999988079071, "top_k": 1, "min_p": 0.05}
    fitted = fit(DIALECTS["openai"], ServerDefaults("llama-server", reported=reported))
    rows = {row.name: row.default for row in fitted.parameters}
    assert (rows["temperature"], rows["top_p"], rows["top_k"]) == (0.6, 0.95, 1)
    assert fitted.always == {"cache_prompt": False, "top_k": 0}
    assert fitted.family == "llama-server"


def test_one_slot_offers_one_answer() -> None:
    fitted = fit(LLAMA, ServerDefaults("llama-server", slots=1))
    assert (fitted.several, fitted.slots) == ({}, 1)
    assert fitted.unavailable == {"two answers": "the server has one slot"}


def test_values_are_compared_as_a_server_reads_them() -> None:
    assert equal(0.95, 0.949999988079071)
    assert not equal(0.95, 0.9501)
    assert equal(-1, 4294967295)
    assert not equal(True, False)


def test_the_metadata_of_a_gguf_file_and_of_generation_config_are_read(tmp_path: Path) -> None:
    assert metadata_of(model_path(GOLDEN))["general.architecture"] == "llama"
    assert metadata_of(tmp_path) == {}
    (tmp_path / "generation_config.json").write_text(json.dumps(CONFIG))
    assert metadata_of(tmp_path) == CONFIG
    assert metadata_of(tmp_path / "generation_config.json") == CONFIG


@pytest.mark.parametrize("name", ["x.json", "x.gguf", "list.json", "none.gguf"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, name: str) -> None:
    for bad, text in (("x.json", "{"), ("x.gguf", "no"), ("list.json", "[]")):
        (tmp_path / bad).write_text(text)
    with pytest.raises(InputError, match="generation_config"):
        metadata_of(tmp_path / name)


@pytest.mark.parametrize("family", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_prediction_states_a_default_of_each_program_in_each_dialect(
    family: str, dialect: str
) -> None:
    fitted = fit(DIALECTS[dialect], ServerDefaults(family))
    always = stating(Client(Address("http", "127.0.0.1", 1), fitted)).dialect.always
    assert None not in always.values()
