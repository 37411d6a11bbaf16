"""The quick profile's batches have every value of each dimension: a hole is refused here.

A fault that shows at one value of a dimension escapes if no case has it. Each test names what is
missing.
"""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.messages import BatchSample, BatchSequence
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.registry import ROWS
from tests.support.bands import BANDS, missing_bands

# A row with these draws numbers that overflow, or cannot be defined after other stages.
EXTREME = {"huge", "tiny"}
USUAL = [name for name, row in ROWS.items() if row.edges is not None]
WITH_VOCABULARY = ["grammar", "grammar_lazy_patterns", "infill"]


@functools.cache
def cases() -> list[BatchCase]:
    return [
        case
        for path in find_suites(["batch"])
        for case in expand(path, "quick")
        if isinstance(case, BatchCase)
    ]


def generated() -> list[BatchCase]:
    return [case for case in cases() if case.id.startswith("generated/")]


def stages(sequence: BatchSequence) -> Iterator[tuple[str, dict[str, Any]]]:
    for stage in sequence.chain:
        yield from stage.items()


@functools.cache
def drawn() -> dict[tuple[str, str], list[Any]]:
    """Return the values of each parameter of each sampler."""
    values: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for case in generated():
        for sequence in case.batch.sequences:
            for name, given in stages(sequence):
                for key, value in given.items():
                    values[name, key].append((value, case.logits.n))
    return values


@pytest.mark.slow
@pytest.mark.parametrize("name", USUAL)
def test_each_sampler_has_all_its_edges_and_each_count_all_its_sizes(name: str) -> None:
    row = ROWS[name]
    for key, edges in (row.edges or {}).items():
        if key in ("seed", "logit_bias"):
            continue
        there = [value for value, _ in drawn()[name, key]]
        sizes = {"V-1": -1, "V": 0, "V+1": 1}
        relative = {value - n for value, n in drawn()[name, key] if isinstance(value, int)}
        for edge in edges:
            is_there = sizes[edge] in relative if edge in sizes else edge in there
            assert is_there, (name, key, edge)
        if key in row.sizes:
            assert len(missing_bands(there)) <= 1, (name, key)


@pytest.mark.slow
def test_every_sampler_with_and_without_a_vocabulary_has_all_its_parameters() -> None:
    for name in [*USUAL, *WITH_VOCABULARY]:
        needed = parameters_of(ROWS[name].make).keys() - {"seed", "vocab", "n_vocab"}
        needed -= {"trigger_words"}  # deprecated
        assert not needed - {key for of, key in drawn() if of == name}, name
    names = {name for case in generated() for s in case.batch.sequences for name, _ in stages(s)}
    assert {*USUAL, *WITH_VOCABULARY} <= names


def live_rows(case: BatchCase) -> Iterator[tuple[list[tuple[int, int]], list[BatchSample]]]:
    """Yield, for each step, (sequence, number of the join) of each live row, and its samples."""
    count = itertools.count()
    live = Live(lambda s: (s, next(count)), lambda row: row, lambda row: None)
    for step in case.batch.steps:
        live.do(step.before)
        yield live.rows, step.sample


@pytest.mark.slow
def test_steps_have_all_numbers_of_rows_and_some_none_all_or_one_that_sample() -> None:
    sizes, ways = set[int](), set[str]()
    for case in cases():
        for rows, sample in live_rows(case):
            sizes |= {len(rows), len(sample)}
            ways |= {
                {0: "none", 1: "one", len(rows): "all"}.get(len(sample), "some"),
                "one row" if len({s.row for s in sample}) < len(sample) else "own rows",
                "selected" if any(s.accept == "selected" for s in sample) else "no selected",
            }
            ways |= {str(type(s.accept).__name__) for s in sample}
    assert [n for n in [*range(13), *range(15, 18)] if n not in sizes] == []
    assert not missing_bands(sizes, BANDS[:-1])
    everything = "none,one,all,some,one row,own rows,selected,no selected,str,int,NoneType"
    assert ways == {*everything.split(",")}


@pytest.mark.slow
def test_prompts_outputs_and_vocabularies_have_all_sizes_and_tokens_all_widths() -> None:
    every = [sequence for case in cases() for sequence in case.batch.sequences]
    assert not missing_bands(len(s.prompt) for s in every)
    assert not missing_bands(len(s.output) for s in every)
    assert any(len(s.prompt) + len(s.output) > 1025 for s in every)
    assert not {6, 24, 257, 303, 1030, 65537} - {case.logits.n for case in cases()}
    tokens = {token for s in every for token in [*s.prompt, *s.output]}
    assert {0, 1, 2, 3} <= tokens
    assert max(tokens) > 1023
    given = {s.accept for case in cases() for step in case.batch.steps for s in step.sample}
    assert {0, 1, 255, 256} & given
    assert max(token for token in given if isinstance(token, int)) > 256


def test_all_families_and_formats_of_logits_are_there() -> None:
    families = {family for case in cases() for family in case.logits.families}  # type: ignore[union-attr]
    assert families >= set(FAMILIES) - EXTREME
    assert {case.dtype for case in cases()} == {"float32", "float16", "bfloat16"}


def seed_of(sequence: BatchSequence) -> int | None:
    seeds = [given["seed"] for _, given in stages(sequence) if "seed" in given]
    return seeds[-1] if seeds else None


def test_seeds_are_equal_neighbours_and_differ_in_one_bit_beside_each_other() -> None:
    apart, seeds = set[int](), set[int]()
    for case in generated():
        own = [seed_of(sequence) for sequence in case.batch.sequences]
        seeds |= {seed for seed in own if seed is not None}
        for rows, _ in live_rows(case):
            beside = {row: own[row[0]] for row in rows if own[row[0]] is not None}
            apart |= {a ^ b for a, b in itertools.combinations(beside.values(), 2)}  # type: ignore[operator]
            if len(rows) > 64:
                break
    assert {0, 1, 1 << 8, 1 << 16, 1 << 31} <= apart
    assert 0 in seeds
    assert max(seeds) > 2**32 - 2**24


@pytest.mark.slow
def test_two_sequences_differ_in_any_one_thing_alone() -> None:
    """A key of a cache that lacks something needs two that differ in just that."""
    found = set[str]()
    pairs = (itertools.combinations(case.batch.sequences[:120], 2) for case in generated())
    for a, b in itertools.chain.from_iterable(pairs):
        past = (a.prompt, a.output) == (b.prompt, b.output)
        if a.chain == b.chain:
            found.add("the same" if past else "past")
        names = [[name for name, _ in stages(each)] for each in (a, b)]
        if names[0] != names[1]:
            if sorted(names[0]) == sorted(names[1]) and len({*names[0]}) == len(names[0]):
                same = all(dict(stages(b))[name] == given for name, given in stages(a))
                found |= {"order"} if same else set()
            continue
        changed = [
            (name, key)
            for (name, one), (_, other) in zip(stages(a), stages(b), strict=True)
            for key in one
            if one[key] != other[key]
        ]
        if len({*changed}) == 1:
            found.add(".".join(changed[0]))
    assert {"the same", "past", "order"} <= found
    left = set[str]()
    for name in [*USUAL, *WITH_VOCABULARY]:
        needed = parameters_of(ROWS[name].make).keys() - {"vocab", "n_vocab", "trigger_words"}
        left |= {f"{name}.{key}" for key in needed} - found
    assert len(left) <= 3  # of 43, by chance
    assert not left & {"grammar.grammar_str", "grammar.grammar_root", "dry.seq_breakers"}


def test_biases_have_none_one_or_several_tokens_also_minus_infinity_twice_and_beyond() -> None:
    biases = drawn()["logit_bias", "logit_bias"]
    assert {len(pairs) for pairs, _ in biases} >= {0, 1, 2, 3}
    assert any(value == -math.inf for pairs, _ in biases for _, value in pairs)
    assert any(token > n for pairs, n in biases for token, _ in pairs)
    assert any(len({t for t, _ in pairs}) < len(pairs) for pairs, _ in biases)
