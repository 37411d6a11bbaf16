"""Cells of distribution tests on correct and on wrong backends."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.backends.reference import Worker as Reference
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
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.suite.file import expand_kind, read_suite
from sampler_parity.harness.suite.ids import shipped
from tests.support.cases import ABOUT
from tests.support.cells import ERRORS, cell_on, decision
from tests.support.command_line import Done, cli

LOGITS = {"family": "normal", "n": 16, "seed": 1}
COMMON = ABOUT | {"chain": [{"dist": {"seed": 1}}], "logits": LOGITS}


def frequency(**changed: Any) -> Frequency:
    return Frequency.model_validate(COMMON | {"margin": 0.02} | changed)


def coupled(**changed: Any) -> Coupled:
    return Coupled.model_validate(COMMON | {"margin": 0.02} | changed)


LAGS = {"margin": 0.2, "lags": [1, 2, 8], "seeds": 20}
INDEPENDENCE = Independence.model_validate(COMMON | LAGS)


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
    result = execute_cell(cell, [native], ERRORS)
    assert result.backends[native.name].decision == "equivalent"


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
    assert decision(cell, InProcess(fault)) == "different"


@pytest.mark.slow
def test_a_walk_in_another_order_has_the_right_distribution() -> None:
    mutant = InProcess("dist/walks-in-sorted-order")
    assert decision(frequency(), mutant) == "equivalent"


class Planted(InPlace):
    """Answers draws by a function of the request's seed and size."""

    def __init__(self, tokens: Any, capability: Any = "draws") -> None:
        self.greeting = p.HelloReply(
            name="planted", version="1", capabilities=[capability], samplers=["dist", "temp"]
        )
        super().__init__("planted", None)
        self.tokens = tokens

    def hello(self) -> p.HelloReply:
        return self.greeting

    def answer(self, request: Any, timeout_s: float | None) -> p.Reply:
        seed = request.chain[-1]["dist"]["seed"]
        self.scratch.write(request.out, self.tokens(seed, request.n).astype(np.int32))
        return p.DrawsReply(ns=1)


def on_planted(cell: Cell, tokens: Any) -> CellOnBackend:
    return cell_on(cell, Planted(tokens)).backends["planted"]


def drawn(p: list[float]) -> Any:
    def tokens(seed: int, n: int) -> Any:
        return np.random.default_rng(seed).choice(len(p), size=n, p=p)

    return tokens


PROBS = {"probs": [0.5, 0.25, 0.25, 0.0]}
RIGHT = drawn(PROBS["probs"])


def test_a_token_of_probability_zero_is_different_at_once() -> None:
    result = on_planted(frequency(logits=PROBS, margin=0.005), drawn([0.5, 0.25, 0.2499, 0.0001]))
    assert (result.decision, result.p_value) == ("different", 0)
    assert "impossible: 3" in result.detail


def test_a_distribution_at_the_margin_is_caught_before_all_draws_are_spent() -> None:
    result = cell_on(frequency(logits=PROBS), Planted(drawn([0.55, 0.2, 0.25, 0.0])))
    outcome = result.backends["planted"]
    assert outcome.decision == "different"
    assert outcome.draws < result.planned
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low <= 0.05 <= outcome.high


def test_too_few_draws_are_undecided() -> None:
    assert on_planted(frequency(logits=PROBS, max_draws=100), RIGHT).decision == "undecided"


def test_few_draws_are_judged_by_the_exact_test() -> None:
    tests = on_planted(frequency(logits=PROBS, max_draws=30), RIGHT).tests
    assert tests["exact"] < 1 == tests["g"]


def test_a_margin_below_rounding_is_refused_with_the_reason() -> None:
    cell = coupled(logits={"family": "normal", "n": 4096, "seed": 1}, margin=1e-6)
    result = cell_on(cell, Planted(drawn([1.0])))
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
    requires: dict[str, Any], require_all: bool, decision: str, met: bool
) -> None:
    backend = Planted(drawn([1.0]), "run")
    result = cell_on(frequency(requires=requires), backend, require_all=require_all)
    got = result.backends["planted"]
    assert (got.decision, got.detail) == (decision, "no draws")
    assert bool(unmet([result])) != met


def test_a_token_beyond_the_vocabulary_is_a_violation() -> None:
    result = on_planted(frequency(logits=PROBS), lambda seed, n: np.full(n, 4))
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
    assert decision(cell, backend) == expected


def test_every_portion_has_a_seed_of_its_own() -> None:
    seeds: list[int] = []

    def tokens(seed: int, n: int) -> Any:
        seeds.append(seed)
        return RIGHT(seed, n)

    for run in (0, 1):
        cell_on(frequency(logits=PROBS), Planted(tokens), seed=run)
    assert len(set(seeds)) == len(seeds) > 2


def test_a_place_in_a_fixed_sequence_moves_by_more_than_a_portion() -> None:
    chain = _moved([{"akunu_gumbel": {"seed_offset": 1}}, {"dist": {"seed": 0xFFFFFFFE}}], 1)
    assert chain == [{"akunu_gumbel": {"seed_offset": 1 + (1 << 22)}}, {"dist": {"seed": 0}}]


def test_a_distribution_of_another_chain_judges() -> None:
    hotter = [{"temp": {"temp": 2.0}}, {"dist": {"seed": 1}}]
    assert on_planted(frequency(logits=PROBS), RIGHT).decision == "equivalent"
    assert on_planted(frequency(logits=PROBS, law=hotter), RIGHT).decision == "different"


def test_a_failure_of_the_backend_is_its_decision() -> None:
    def never(seed: int, n: int) -> Any:
        raise BackendFailure("timeout", "no reply within 1 s")

    assert on_planted(frequency(), never).decision == "timeout"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "cell", "mutant"),
    [
        ("akunu", "filters-V64", "akunu/lost-renormalization"),
        ("akunu_gumbel", "float32-V32", "akunu_gumbel/exponential-noise"),
        ("akunu_gumbel", "positions-V32", "akunu_gumbel/same-for-every-position"),
        ("tsampler", "filtered", "tsampler_sample/not-renormalized"),
        ("tsampler", "strategy", "tsampler/temperature-first"),
    ],
)
def test_a_cell_of_an_engine_is_different_on_a_faulty_one(
    suite: str, cell: str, mutant: str
) -> None:
    assert decision(cell_of(f"draws/{suite}", f"{suite}/{cell}"), InProcess(mutant)) == "different"


@pytest.mark.nightly
def test_a_fault_that_leaves_the_distribution_alone_is_equivalent() -> None:
    cell = cell_of("draws/tsampler", "tsampler/filtered")
    assert decision(cell, InProcess("tsampler_sample/not-reset")) == "equivalent"


def cell_of(suite: str, id: str) -> Cell:
    cells: list[Cell] = expand_kind("distribution", read_suite(shipped()[suite]), "full")
    return next(cell for cell in cells if cell.id == id)


class Unrounded(Reference):
    """Samples from the row as it was in float32."""

    def __init__(self, row: NDArray[np.float32]) -> None:
        super().__init__()
        self.row = row

    def candidates(self, logits: NDArray[np.float32]) -> Any:
        return super().candidates(self.row)


OF_16_BITS = expand_kind("distribution", read_suite(shipped()["distribution/dtypes"]), "quick")


@pytest.mark.slow
@pytest.mark.parametrize("cell", OF_16_BITS, ids=[cell.id for cell in OF_16_BITS])
def test_draws_follow_the_distribution_of_the_rounded_row_and_of_no_other(cell: Cell) -> None:
    coarse = cell.model_copy(update={"margin": 0.05})  # fewer draws, but enough here
    assert decision(coarse, InPlace("right", Reference())) == "equivalent"
    assert decision(coarse, InPlace("wrong", Unrounded(cell.logits.row(0)))) == "different"


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


SUITE = Path(__file__).with_name("two_cells.toml").read_text(encoding="utf-8")


def run(folder: Path, backend: str, suite: str) -> Done:
    (folder / "s.toml").write_text(suite)
    return cli("run", folder / "s.toml", "-b", backend, "-j", "1", "-o", folder / "bundle")


@pytest.mark.slow
def test_a_run_ends_well_and_its_bundle_holds_every_cell(tmp_path: Path) -> None:
    done = run(tmp_path, "reference", SUITE)
    assert done.returncode == 0, done.stdout
    assert "2/2 equivalent" in done.stdout
    assert "budget   1e-06" in done.stdout
    assert "s/f: 0.05 over 3 bins" in done.stdout
    cells = read_finished(tmp_path / "bundle").of(DistributionResult)
    assert [cell.id for cell in cells] == ["s/f", "s/u"]


@pytest.mark.slow
def test_a_run_on_a_wrong_sampler_fails_with_the_command_that_replays_it(tmp_path: Path) -> None:
    coarse = SUITE.replace("margin = 0.05", "margin = 0.2")
    done = run(tmp_path, "mutant/dist/frozen-stream", coarse)
    assert done.returncode == 1
    assert "DIFFERENT s/f" in done.stdout
    assert "replay: sampler-parity run" in done.stdout
