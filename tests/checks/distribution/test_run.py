"""Cells of distribution tests on correct and on wrong backends."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.checks.distribution.block import (
    Cell,
    Coupled,
    Frequency,
    Independence,
    Injected,
    Tail,
)
from sampler_parity.harness.checks.distribution.decisions import decisions, unmet
from sampler_parity.harness.checks.distribution.draws import _moved
from sampler_parity.harness.checks.distribution.record import CellOnBackend, DistributionResult
from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.cli.app import app
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.harness.statistics.plan import Budget, Errors
from sampler_parity.harness.suite.file import expand_kind, read_suite

ERRORS = Budget(tests=10).each
COMMON: dict[str, Any] = {
    "id": "c",
    "description": "d",
    "why": "w",
    "chain": [{"dist": {"seed": 1}}],
    "logits": {"family": "normal", "n": 16, "seed": 1},
}


def frequency(**changed: Any) -> Frequency:
    return Frequency.model_validate({**COMMON, "margin": 0.02, **changed})


def coupled(**changed: Any) -> Coupled:
    return Coupled.model_validate({**COMMON, "margin": 0.02, **changed})


INDEPENDENCE = Independence.model_validate(
    {**COMMON, "margin": 0.2, "lags": [1, 2, 8], "seeds": 20}
)


def result_on(cell: Cell, backend: Backend, errors: Errors = ERRORS) -> CellOnBackend:
    return execute_cell(cell, [backend], errors).backends[backend.name]


def decision(cell: Cell, mutant: str) -> str:
    backend = InProcess(mutant)
    try:
        return result_on(cell, backend).decision
    finally:
        backend.scratch.remove()


@pytest.mark.parametrize(
    "cell",
    [
        frequency(),
        frequency(bins=4),
        frequency(
            chain=[{"xtc": {"p": 0.5, "t": 0.1, "seed": 2}}, {"dist": {"seed": 1}}], margin=0.1
        ),
        coupled(),
        Tail.model_validate({**COMMON, "nats": 4.0, "logits": {"values": [6.0, *([0.0] * 60)]}}),
        INDEPENDENCE,
    ],
    ids=["frequency", "frequency by rank", "by chance", "coupled", "tail", "independence"],
)
@pytest.mark.slow
def test_llama_cpp_is_equivalent(cell: Cell, native: BackendProcess) -> None:
    assert result_on(cell, native).decision == "equivalent"


@pytest.mark.parametrize(
    ("fault", "cell"),
    [
        ("dist/frozen-stream", frequency()),
        ("dist/frozen-stream", INDEPENDENCE),
        ("dist/one-word-a-draw", coupled()),
        ("dist/words-swapped", coupled()),
        ("dist/walks-in-sorted-order", coupled()),
        ("dist/seed-ignored", INDEPENDENCE),
    ],
    ids=lambda x: x if isinstance(x, str) else x.kind,
)
@pytest.mark.slow
def test_a_wrong_draw_is_different(fault: str, cell: Cell) -> None:
    assert decision(cell, fault) == "different"


@pytest.mark.slow
def test_a_walk_in_another_order_has_the_right_distribution() -> None:
    assert decision(frequency(), "dist/walks-in-sorted-order") == "equivalent"


class Planted:
    """Answers draws by a function of the request's seed and size; no process."""

    def __init__(self, tokens: Any, capabilities: tuple[str, ...] = ("draws",)) -> None:
        self.name, self.scratch = "planted", Scratch()
        self._tokens, self._capabilities = tokens, capabilities

    def hello(self) -> Any:
        from sampler_parity.harness.protocol.messages import HelloReply

        return HelloReply.model_validate(
            {
                "name": "planted",
                "version": "1",
                "capabilities": list(self._capabilities),
                "samplers": ["dist", "temp"],
            }
        )

    def ask(self, request: Any, reply: Any, timeout_s: float | None = None) -> Any:
        seed = request.chain[-1]["dist"]["seed"]
        self.scratch.write(request.out, self._tokens(seed, request.n).astype(np.int32))
        return reply(ns=1)

    def violation(self, message: str) -> BackendFailure:
        return BackendFailure("crashed", message)

    def close(self) -> None:
        self.scratch.remove()


Plant = Callable[..., Planted]


@pytest.fixture
def plant() -> Iterator[Plant]:
    """Makes Planted backends and removes their scratch files."""
    made: list[Planted] = []

    def make(tokens: Any, capabilities: tuple[str, ...] = ("draws",)) -> Planted:
        made.append(Planted(tokens, capabilities))
        return made[-1]

    yield make
    for backend in made:
        backend.scratch.remove()


def drawn(p: list[float]) -> Any:
    def tokens(seed: int, n: int) -> Any:
        return np.random.default_rng(seed).choice(len(p), size=n, p=p)

    return tokens


PROBS = {"probs": [0.5, 0.25, 0.25, 0.0]}


def test_a_token_of_probability_zero_is_different_at_once(plant: Plant) -> None:
    backend = plant(drawn([0.5, 0.25, 0.2499, 0.0001]))
    result = result_on(frequency(logits=PROBS, margin=0.005), backend)
    assert result.decision == "different"
    assert result.p_value == 0
    assert "impossible: 3" in result.detail


def test_a_distribution_at_the_margin_is_caught_before_all_draws_are_spent(plant: Plant) -> None:
    result = execute_cell(frequency(logits=PROBS), [plant(drawn([0.55, 0.2, 0.25, 0.0]))], ERRORS)
    outcome = result.backends["planted"]
    assert outcome.decision == "different"
    assert outcome.draws < result.planned
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low <= 0.05 <= outcome.high


def test_too_few_draws_are_undecided(plant: Plant) -> None:
    cell = frequency(logits=PROBS, max_draws=100)
    assert result_on(cell, plant(drawn([0.5, 0.25, 0.25, 0.0]))).decision == "undecided"


def test_few_draws_are_judged_by_the_exact_test(plant: Plant) -> None:
    cell = frequency(logits=PROBS, max_draws=30)
    tests = result_on(cell, plant(drawn([0.5, 0.25, 0.25, 0.0]))).tests
    assert tests["exact"] < 1 == tests["g"]


def test_a_margin_below_rounding_is_refused_with_the_reason(plant: Plant) -> None:
    cell = coupled(logits={"family": "normal", "n": 4096, "seed": 1}, margin=1e-6)
    result = execute_cell(cell, [plant(drawn([1.0]))], ERRORS)
    assert "rounding alone moves" in result.refusal
    assert result.backends["planted"].decision == "undecided"


@pytest.mark.parametrize(
    ("requires", "require_all", "decision", "met"),
    [
        ({}, False, "skipped", True),
        ({}, True, "unsupported", False),
        ({"planted": ["unsupported"]}, False, "unsupported", True),
    ],
    ids=["claimed alone", "all", "by the suite"],
)
def test_a_backend_without_draws_is_skipped_but_where_they_are_required(
    plant: Plant, requires: dict[str, Any], require_all: bool, decision: str, met: bool
) -> None:
    backend, cell = plant(drawn([1.0]), ("run",)), frequency(requires=requires)
    result = execute_cell(cell, [backend], ERRORS, require_all=require_all)
    got = result.backends["planted"]
    assert (got.decision, got.detail) == (decision, "no draws")
    assert bool(unmet([result])) != met


def test_a_token_beyond_the_vocabulary_is_a_violation(plant: Plant) -> None:
    result = result_on(frequency(logits=PROBS), plant(lambda seed, n: np.full(n, 4)))
    assert result.decision == "crashed"
    assert "not in the vocabulary" in result.detail


@pytest.mark.parametrize(
    ("logits", "expected"),
    [([1.0, 0.5, "-inf", "-inf"], "equivalent"), (["-inf", 1.0, 0.5], "different")],
    ids=["banned last", "banned first"],
)
def test_injected_uniforms_on_the_reference(logits: list[Any], expected: str) -> None:
    values = [float(x) for x in logits]
    cell = Injected.model_validate({**COMMON, "logits": {"values": values}})
    backend = InProcess("dist/reset-keeps-stream")  # right in everything that is drawn
    try:
        assert result_on(cell, backend).decision == expected
    finally:
        backend.scratch.remove()


def test_every_portion_has_a_seed_of_its_own(plant: Plant) -> None:
    seeds: list[int] = []

    def tokens(seed: int, n: int) -> Any:
        seeds.append(seed)
        return drawn([0.5, 0.25, 0.25, 0.0])(seed, n)

    cell = frequency(logits=PROBS)
    for run in (0, 1):
        execute_cell(cell, [plant(tokens)], ERRORS, seed=run)
    assert len(set(seeds)) == len(seeds) > 2


def test_a_place_in_a_fixed_sequence_moves_by_more_than_a_portion() -> None:
    chain = _moved([{"akunu_gumbel": {"seed_offset": 1}}, {"dist": {"seed": 0xFFFFFFFE}}], 1)
    assert chain == [{"akunu_gumbel": {"seed_offset": 1 + (1 << 22)}}, {"dist": {"seed": 0}}]


def test_a_distribution_of_another_chain_judges(plant: Plant) -> None:
    hotter = [{"temp": {"temp": 2.0}}, {"dist": {"seed": 1}}]
    backend = plant(drawn([0.5, 0.25, 0.25, 0.0]))
    assert result_on(frequency(logits=PROBS), backend).decision == "equivalent"
    assert result_on(frequency(logits=PROBS, law=hotter), backend).decision == "different"


def test_a_failure_of_the_backend_is_its_decision(plant: Plant) -> None:
    def never(seed: int, n: int) -> Any:
        raise BackendFailure("timeout", "no reply within 1 s")

    assert result_on(frequency(), plant(never)).decision == "timeout"


def outcome(decision: str, p: float) -> DistributionResult:
    return DistributionResult.model_validate(
        {
            "id": f"c{p}",
            "what": "frequency",
            "samplers": ["dist"],
            "n_vocab": 2,
            "alpha": 1e-7,
            "beta": 1e-4,
            "planned": 1,
            "backends": {"b": {"decision": decision, "p_value": p}},
            "required": {"b": ["equivalent"]},
        }
    )


def test_holm_over_the_run_adds_alarms_that_a_cell_alone_does_not_raise() -> None:
    # 2 tests share 2e-7: the first is below 1e-7; after it the second needs 2e-7 only
    decided = decisions([outcome("different", 1e-9), outcome("equivalent", 1.5e-7)])
    assert [d for d, _ in decided.values()] == ["different", "different"]
    alone = decisions([outcome("equivalent", 1.5e-7), outcome("equivalent", 1.6e-7)])
    assert [d for d, _ in alone.values()] == ["equivalent", "equivalent"]


SUITE = """
name = "s"
[[frequency]]
id = "f"
description = "d"
why = "w"
chain = [{ dist = { seed = 1 } }]
logits = { probs = [0.5, 0.25, 0.25] }
margin = 0.05
[[coupled]]
id = "u"
description = "e"
why = "w"
chain = [{ dist = { seed = 1 } }]
logits = { probs = [0.5, 0.25, 0.25] }
margin = 0.05
"""


@pytest.mark.slow
def test_a_run_ends_well_and_its_bundle_holds_every_cell(tmp_path: Path) -> None:
    suite = tmp_path / "s.toml"
    suite.write_text(SUITE)
    folder = tmp_path / "bundle"
    done = CliRunner().invoke(
        app, ["run", str(suite), "-b", "reference", "-j", "1", "-o", str(folder)]
    )
    assert done.exit_code == 0, done.output
    assert "2/2 equivalent" in done.output
    assert "budget   1e-06" in done.output
    assert "s/f: 0.05 over 3 bins" in done.output
    assert [cell.id for cell in read_finished(folder).of(DistributionResult)] == ["s/f", "s/u"]


@pytest.mark.slow
def test_a_run_on_a_wrong_sampler_fails_with_the_command_that_replays_it(tmp_path: Path) -> None:
    suite = tmp_path / "s.toml"
    suite.write_text(SUITE.replace("margin = 0.05", "margin = 0.2"))
    backend = "mutant/dist/frozen-stream"
    options = ["run", str(suite), "-b", backend, "-j", "1", "-o", str(tmp_path / "b")]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 1
    assert "DIFFERENT s/f" in done.output
    assert "replay: sampler-parity run" in done.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("margin = 0.05", "margin = 0", "frequency 'f': margin"),
        ('id = "u"', 'id = "f"', "coupled 'f': duplicate id 's/f'"),
        ("dist = { seed = 1 }", "dust = { seed = 1 }", "frequency 'f': chain"),
    ],
)
def test_a_bad_block_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SUITE.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        expand_kind("distribution", read_suite(path), "full")
