"""Random batches: what they contain, and that a planted fault is caught and minimized."""

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from sampler_parity.harness.checks.batch import random_batches
from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.batch.random_batches import RandomBatches
from sampler_parity.harness.checks.batch.run import prepare, reference_batch
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.failures.shrink import shrink
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.messages import BatchSequence
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.registry import ROWS

BLOCK: dict[str, Any] = {
    "id": "r",
    "description": "Rows at random",
    "why": "To test.",
    "count": 60,
    "quick": 5,
    "families": ["normal", "flat"],
    "sizes": [6, 12],
    "steps": 10,
}


def block(**changed: Any) -> RandomBatches:
    return RandomBatches.model_validate(BLOCK | changed)


@cache
def drawn_cases() -> list[BatchCase]:
    return list(block().items(quick=False, shift=0))


def kind(sequence: BatchSequence) -> list[str]:
    names = [name for stage in sequence.chain for name in stage]
    return [name for name in names if name not in ("temp", "top_k", "top_p", "min_p")]


def followers(case: BatchCase) -> Iterator[tuple[BatchSequence, BatchSequence]]:
    """Yield a sequence, and the next one that joins at its place."""
    sequences, left = case.batch.sequences, dict[int, int]()
    live = Live(lambda s: s, lambda s: s, lambda s: None)
    for step in case.batch.steps:
        for operation in step.before:
            name, at = operation[:2]
            if name == "leave":
                left[at] = live.rows[at]
            live.do([operation])
            if name == "join" and (place := len(live.rows) - 1) in left:
                yield sequences[left.pop(place)], sequences[at]


@pytest.mark.slow
@pytest.mark.parametrize("drawing", ["mirostat", "mirostat_v2", "adaptive_p", "dist"])
@pytest.mark.parametrize("memory", [[], ["penalties"], ["dry"], ["penalties", "dry"]])
def test_a_sequence_follows_another_of_its_kind_at_the_same_place(
    memory: list[str], drawing: str
) -> None:
    pairs = [pair for case in drawn_cases() for pair in followers(case)]
    assert all(kind(before) == kind(after) for before, after in pairs)
    assert any(kind(after) == [*memory, drawing] and before != after for before, after in pairs)


def test_batches_have_2_to_8_rows_windows_of_1_and_3_to_8_drafts() -> None:
    rows = {sum(op[0] == "join" for op in case.batch.steps[0].before) for case in drawn_cases()}
    assert rows == set(range(2, 9))
    stages = [stage for case in drawn_cases() for chain in case.chains for stage in chain]
    assert {s["penalties"]["penalty_last_n"] for s in stages if "penalties" in s} == {
        1,
        2,
        3,
        4,
        64,
    }
    clones = [op for case in drawn_cases() for step in case.batch.steps for op in step.before]
    assert {"clone", "reset", "swap", "leave"} <= {op[0] for op in clones}


def test_a_row_with_adaptive_p_is_never_cloned_since_its_clone_draws_other_numbers() -> None:
    def clone(sequence: BatchSequence) -> BatchSequence:
        assert "adaptive_p" not in kind(sequence)
        return sequence

    for case in drawn_cases():
        live = Live(case.batch.sequences.__getitem__, clone, lambda sequence: None)
        for step in case.batch.steps:
            live.do(step.before)


def test_a_case_depends_on_its_number_and_the_seed_alone() -> None:
    assert list(block().items(quick=True, shift=0)) == drawn_cases()[:5]
    moved = next(block().items(quick=True, shift=1))
    assert moved.id == "r/1-0000"
    assert moved.batch != drawn_cases()[0].batch
    assert next(block(seed=1).items(quick=True, shift=0)) == moved


@pytest.mark.slow
def test_the_reference_refuses_no_shipped_case() -> None:
    (path,) = find_suites(["batch/generated"])
    for case in expand(path, "quick"):
        assert reference_batch(prepare(case)).refusal == ""


@pytest.mark.slow
def test_a_mu_that_stays_at_a_place_is_minimized_to_two_sequences() -> None:
    backend = InProcess("batch/place-keeps-mu")

    def fails(case: BatchCase) -> bool:
        if [kind(each) for each in case.batch.sequences].count(["mirostat"]) < 2:
            return False
        result = execute(case, [backend]).backends[backend.name]
        return (result.verdict, result.stage) == ("diverged", "mirostat")

    try:
        by_size = sorted(drawn_cases(), key=lambda case: case.batch.samples)
        found = next(case for case in by_size if fails(case))
        small = shrink(found, fails, seconds=120)
    finally:
        backend.close()
    assert len(found.batch.sequences) > 4
    assert found.batch.samples > 30
    assert [kind(each) for each in small.batch.sequences] == [["mirostat"]] * 2
    assert small.batch.samples <= 3
    assert all(not each.prompt and not each.output for each in small.batch.sequences)


MIXED = list(block(mixed=True, count=40).items(quick=False, shift=0))


def test_mixed_batches_have_every_filter_also_off_and_rows_of_greedy() -> None:
    stages = [
        {name: {key: v for key, v in given.items() if key != "min_keep"}}
        for case in MIXED
        for chain in case.chains
        for stage in chain
        for name, given in stage.items()
    ]
    for off in [
        {"temp": {"temp": 0.0}},
        {"temp": {"temp": 1.0}},
        {"top_k": {"k": 0}},
        {"top_p": {"p": 1.0}},
        {"min_p": {"p": 0.0}},
        {"typical_p": {"p": 1.0}},
        {"top_n_sigma": {"n": -1.0}},
        {"logit_bias": {"logit_bias": []}},
        {"greedy": {}},
    ]:
        assert off in stages
    assert {s["xtc"]["p"] for s in stages if "xtc" in s} == {0.0, 0.3, 0.5, 1.0}
    for case in MIXED:
        for chain in case.chains:
            names = [name for stage in chain for name in stage]
            assert "logit_bias" not in names[names.count("logit_bias") :]


def test_every_parameter_of_every_sampler_without_a_vocabulary_is_drawn() -> None:
    """A parameter that no batch has cannot be shown to be its row's own."""
    usual = {name for name, row in ROWS.items() if row.edges is not None and not row.vocab}
    assert random_batches._ALL.keys() == usual
    for name, values in random_batches._PARAMETERS.items():
        drawn = {*values, *(random_batches._BREAKERS if name == "dry" else ())}
        needed = parameters_of(ROWS[name].make).keys() - {"seed", "vocab", "n_vocab"}
        assert drawn == needed, name
    seeds = [
        v["seed"]
        for c in drawn_cases()
        for chain in c.chains
        for s in chain
        for v in s.values()
        if "seed" in v
    ]
    assert max(seeds) > 2**32 - 2**28
    assert min(seeds) < 2**28


def test_rows_have_breakers_of_their_own_with_a_vocabulary_alone() -> None:
    cases = list(block(vocab="bpe", sizes=[303], count=10).items(False, 0))
    dry = [s["dry"] for c in cases for chain in c.chains for s in chain if "dry" in s]
    assert len({tuple(stage["seq_breakers"]) for stage in dry}) == 3
    assert not [
        s for c in drawn_cases() for n in c.chains for s in n if "seq_breakers" in s.get("dry", {})
    ]


def test_sequences_join_again_and_have_the_chain_of_another_but_for_a_stage() -> None:
    again, turned, changed = 0, 0, 0
    for case in MIXED:
        joins = [op[1] for step in case.batch.steps for op in step.before if op[0] == "join"]
        again += len({*joins}) < len(joins)
        chains = [{k: v for s in chain for k, v in s.items()} for chain in case.chains]
        for a, b in itertools.combinations(chains, 2):
            if a.keys() == b.keys():
                turned += [*a] != [*b]
                changed += sum(a[name] != b[name] for name in a) == 1 < len(a) - 1
    assert min(again, turned, changed) > len(MIXED) / 4


def test_all_rows_leave_at_times_and_some_sequences_have_no_past() -> None:
    emptied = 0
    for case in MIXED:
        rows = 0
        for operation in (op for step in case.batch.steps for op in step.before):
            rows += {"join": 1, "clone": 1, "leave": -1}.get(operation[0], 0)
            emptied += rows == 0
    assert emptied > 3
    assert any(not (s.prompt or s.output) for case in drawn_cases() for s in case.batch.sequences)


@pytest.mark.slow
def test_a_wide_batch_has_9_to_257_rows_of_the_same_samplers_in_several_orders() -> None:
    for case in block(mixed=True, wide=True, count=20, steps=2).items(False, 0):
        chains = [[name for stage in chain for name in stage] for chain in case.chains]
        assert len({frozenset(names) for names in chains}) == 1
        assert 9 <= sum(op[0] == "join" for op in case.batch.steps[0].before) <= 257
        assert len(chains[0]) < 4 or len({*map(tuple, chains)}) > 1


def test_a_row_of_a_mixed_batch_is_followed_by_one_with_the_same_samplers() -> None:
    def names(sequence: BatchSequence) -> list[str]:
        return sorted(name for stage in sequence.chain for name in stage)

    def biases(sequence: BatchSequence) -> list[Any]:
        return [s["logit_bias"]["logit_bias"] for s in sequence.chain if "logit_bias" in s]

    pairs = [pair for case in MIXED for pair in followers(case)]
    alike = [pair for pair in pairs if names(pair[0]) == names(pair[1])]
    assert len(alike) > 0.8 * len(pairs)  # the others come where a row has left for good
    assert any(biases(before) != biases(after) for before, after in alike)


def test_forks_stay_and_sample_beside_their_original_from_the_same_row() -> None:
    together = 0
    for case in MIXED:
        live = Live(lambda s: s, lambda s: s, lambda s: None)
        sizes = set()
        for step in case.batch.steps:
            live.do(step.before)
            sizes.add(len(live.rows))
            asked = [(live.rows[one.at], one.row) for one in step.sample]
            together += len(set(asked)) < len(asked)
        assert max(sizes) <= 10  # nine rows, and the clone of one that verifies a draft
    assert together > len(MIXED) / 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "stage"),
    [
        ("batch/greedy-takes-the-last-tie-beside-a-sort", "greedy"),
        ("batch/entries-of-the-last-bias-stay", "logit_bias"),
        ("batch/top-k-off-takes-the-largest", "top_k"),
    ],
)
def test_parameters_of_a_neighbour_or_of_the_row_before_are_caught(fault: str, stage: str) -> None:
    backend = InProcess(fault)
    (path,) = find_suites(["batch/generated"])
    cases = [case for case in expand(path, "quick") if "/mixed/" in case.id]
    try:
        results = (execute(case, [backend]).backends[backend.name] for case in cases)
        found = next(result for result in results if result.verdict != "identical")
    finally:
        backend.close()
    assert (found.verdict, found.stage) == ("diverged", stage)
