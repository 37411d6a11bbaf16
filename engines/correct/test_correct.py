"""The correct engines: what they state, where they differ from float32, and where they must not."""

import importlib
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.correct.ascending import Ascending
from sampler_parity.engines.correct.blocked import Blocked
from sampler_parity.engines.correct.compensated import Compensated
from sampler_parity.engines.correct.float64 import Float64
from sampler_parity.engines.correct.ops import Ops
from sampler_parity.engines.correct.pairwise import Pairwise
from sampler_parity.harness.engines.engine_file import engine_file
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference import Candidates, build_chain
from sampler_parity.reference.registry import ROWS
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)

ENGINES = [row.name for row in engine_file("correct").backend if not row.environment]
# sums and quotients that every format holds
STAIRS = np.array([0.0, -np.inf, 0.0, 0.0, -np.inf, 0.0], np.float32)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    module = importlib.import_module(f"sampler_parity.engines.{request.param.replace('/', '.')}")
    try:
        worker = module.Worker()
    except InputError as error:
        pytest.skip(str(error))
    yield worker
    process = getattr(worker.ops, "process", None)
    if process is not None:
        process.stdin.close()
        process.stdout.close()
        assert process.wait() == 0


def applied(worker: Any, chain: list[dict[str, Any]], logits: Any) -> tuple[Any, ...]:
    instance = worker.build(chain, len(logits), None)
    cand = worker.candidates(np.array(logits, np.float32))
    for stage in range(len(chain)):
        instance.apply(stage, cand)
    return worker.result(cand)  # type: ignore[no-any-return]


def test_every_engine_claims_every_sampler_and_states_its_arithmetic(
    engine: Any, native: BackendProcess
) -> None:
    hello = engine.hello()
    assert HelloReply.model_validate_json(hello.model_dump_json()) == hello
    assert hello.name in ENGINES
    assert set(hello.samplers) == set(native.hello().samplers)
    assert hello.arithmetic.stable_sort


@pytest.mark.parametrize(
    "chain", CASES["chains"], ids=lambda chain: "+".join(name for stage in chain for name in stage)
)
def test_exact_rows_are_the_references_to_the_bit(engine: Any, chain: Any) -> None:
    """Quarters need no rounding. Equal tokens stand in the order of their ids."""
    ids, logits, p, _, selected = applied(engine, chain, STAIRS)
    cand = Candidates.from_logits(STAIRS)
    build_chain(chain, n_vocab=len(STAIRS)).apply(cand)
    by_id = np.argsort(cand.ids)
    mine = np.argsort(ids)
    if chain[0].keys() & {"min_p", "penalties", "logit_bias", "dist", "top_n_sigma"}:
        assert ids.tolist() == cand.ids.tolist()
        assert selected == cand.selected
    assert len(ids) == len(cand)
    assert logits[mine].tobytes() == cand.logits[by_id].tobytes()
    assert p[mine].tobytes() == cand.p[by_id].tobytes()


@pytest.mark.parametrize("name", ["dist", "mirostat", "mirostat_v2", "adaptive_p", "xtc"])
def test_a_clone_draws_as_the_original_and_a_reset_begins_anew(engine: Any, name: str) -> None:
    logits = np.log(np.array([0.4, 0.3, 0.2, 0.1])).astype(np.float32)
    chain = [{name: dict(ROWS[name].smallest)}]
    instance = engine.build(chain, 4, None)

    def drawn(of: Any) -> list[tuple[int, int]]:
        steps = []
        for _ in range(8):
            cand = engine.candidates(logits)
            of.apply(None, cand)
            steps.append((len(cand.ids), cand.selected))
            of.accept(int(cand.ids[cand.selected]))
        return steps

    first = drawn(instance)
    instance.reset()
    twin = instance.clone()
    assert drawn(instance) == first
    assert drawn(twin) == first


def test_sums_differ_where_an_engine_says_so() -> None:
    """2^24 and 64 ones: in sequence float32 loses every one."""
    x = np.array([2.0**24, *[1.0] * 64], np.float32)
    exact = 2.0**24 + 64
    assert Ops().total(x) == 2.0**24
    assert Float64().total(x.astype(np.float64)) == exact
    assert Compensated().total(x) == exact
    assert Ascending().total(x) == exact
    assert 2.0**24 < Blocked().total(x) < exact
    assert Pairwise().total(x) == exact  # the ones are added to each other first


@pytest.mark.parametrize("ops", [Pairwise(), Blocked(), Compensated(), Ascending()])
@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 1000])
def test_sums_of_whole_numbers_are_exact(ops: Ops, n: int) -> None:
    x = np.arange(n, dtype=np.float32)
    assert ops.total(x) == n * (n - 1) // 2
    assert ops.running(x).tolist() == [i * (i + 1) // 2 for i in range(n)]


def test_a_weight_of_zero_is_picked_only_by_zero() -> None:
    """A parallel sum may rise at a weight of 0."""

    class Rising(Ops):
        def running(self, x: Any) -> Any:
            return np.array([0.0, 0.5, 0.75, 1.0], np.float32)

    weights = np.array([0.0, 0.5, 0.0, 0.5], np.float32)
    assert Rising().pick(weights, 0.7, lost=0) == 3
    assert Rising().pick(weights, 0.0, lost=0) == 0


def test_pivot_keeps_the_lowest_ids_of_equal_tokens() -> None:
    from sampler_parity.engines.correct.pivot import Worker

    logits = [1.0, 3.0, 2.0, 2.0, 2.0, -np.inf]
    assert applied(Worker(), [{"top_k": {"k": 3}}], logits)[0].tolist() == [1, 2, 3]
    assert applied(Worker(), [{"top_k": {"k": 6}}], logits)[0].tolist() == [1, 2, 3, 4, 0, 5]
    denormal = np.array([1e-45, 2.8e-45, 0.0, 4.2e-45], np.float32)
    assert applied(Worker(), [{"top_k": {"k": 2}}], denormal)[0].tolist() == [3, 1]


def test_a_limited_power_of_dry_may_exceed_float32(engine: Any) -> None:
    """4 ** 64 = 2 ** 128 exceeds float32, and 1e-30 times it does not."""
    chain = [{"dry": {"dry_multiplier": 1e-30, "dry_base": 4.0, "dry_penalty_last_n": 200}}]
    instance = engine.build(chain, 3, None)
    for _ in range(150):
        instance.accept(1)
    cand = engine.candidates(np.zeros(3, np.float32))
    instance.apply(0, cand)
    assert cand.logits[1] == pytest.approx(-1e-30 * 2.0**128, rel=1e-6)


def test_the_programs_say_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    from sampler_parity.engines.correct import c, javascript

    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match=r"needs Node\.js"):
        javascript.Worker()
    with pytest.raises(InputError, match="needs a C\\+\\+ compiler"):
        c.Worker()
