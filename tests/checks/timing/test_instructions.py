"""harness/checks/timing/instructions.py: counts if a tool is installed, else the reason."""

import shutil

import pytest

from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.checks.timing import instructions
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.inputs.logits import GeneratedLogits


def chain_of(chain: list[dict[str, dict[str, object]]], n: int = 1000) -> TimedChain:
    logits = GeneratedLogits(family="normal", n=n, seed=1)
    return TimedChain(id="t", sampler=next(iter(chain[0])), chain=chain, logits=logits)


def result_of(*names: str) -> TimingResult:
    return TimingResult(id="timing/t", sampler="temp", n_vocab=9, ns={name: [1] for name in names})


def test_machine_without_a_tool_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    instructions.counter.cache_clear()
    timed = chain_of([{"temp": {"temp": 0.8}}])
    counted = instructions.counted(result_of("llama.cpp"), timed)
    instructions.counter.cache_clear()
    why = "instructions not counted: perf is not installed, valgrind is not installed"
    assert (counted.instructions, counted.uncounted) == ({}, {"llama.cpp": why})


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_what_cannot_be_counted_says_why() -> None:
    timed = chain_of([{"logit_bias": {"logit_bias": [[1, 2.0]]}}])
    counted = instructions.counted(result_of("llama.cpp", "null"), timed)
    assert counted.uncounted == {
        "llama.cpp": "instructions not counted: logit_bias takes a vocabulary or arrays",
        "null": "instructions not counted: only builds of llama.cpp",
    }


def test_ended_program_is_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "counter", lambda: ("false",))
    with pytest.raises(Unsupported, match="false ended with status 1: no word"):
        instructions.count("llama.cpp", chain_of([{"temp": {"temp": 0.8}}]))


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.nightly
def test_temperature_takes_some_instructions_for_every_token() -> None:
    """temp divides each logit: more than one instruction a token, and not 50."""
    n = 10_000
    count = instructions.count("llama.cpp", chain_of([{"temp": {"temp": 0.8}}], n))
    assert n <= count <= 50 * n
