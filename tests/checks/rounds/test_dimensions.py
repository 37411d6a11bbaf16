"""The quick profile's rounds have every value of each dimension: a hole is refused here."""

import functools
import itertools
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.random_block import FILTERS, GRAMMARS, REMEMBERING
from sampler_parity.harness.checks.rounds import RoundsCase, ends_of, target_of
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support.bands import missing_bands


@functools.cache
def cases() -> list[RoundsCase]:
    (path,) = find_suites(["speculative/rounds"])
    return [case for case in expand(path, "quick") if isinstance(case, RoundsCase)]


def stages(case: RoundsCase) -> dict[str, dict[str, Any]]:
    return {name: given for stage in case.chain for name, given in stage.items()}


@pytest.mark.slow
def test_drafts_rounds_histories_and_vocabularies_have_all_sizes() -> None:
    assert {case.steps - 1 for case in cases()} >= {1, 2, 3, 4, 5, 6, 7, 8}
    assert max(case.steps - 1 for case in cases()) > 32
    assert {len(case.drafts) for case in cases()} >= {2, 64}
    histories = {len(case.history) for case in cases()}
    assert {0, 1, 2} & histories
    assert len(missing_bands(histories)) <= 5  # four lengths of the ladder, and short ones
    assert max(histories) > 256
    assert {case.logits.n for case in cases()} == {4, 8, 24, 257, 303, 1030}
    tokens = {token for case in cases() for draft in case.drafts for token in draft}
    assert {0, 1} <= tokens
    assert max(tokens) > 1023


@pytest.mark.slow
def test_chains_have_every_filter_every_memory_and_grammars_of_two_roots() -> None:
    names = {name for case in cases() for name in stages(case)}
    assert {*REMEMBERING, *GRAMMARS, "dist"} <= names
    assert len({*FILTERS} - {"xtc"} - names) <= 1  # by chance
    for name, key in [("penalties", "penalty_last_n"), ("dry", "dry_penalty_last_n")]:
        windows = [stages(case)[name][key] for case in cases() if name in stages(case)]
        assert {4, 64} <= {*windows}
        assert max(windows) > 64
    grammars = [given for case in cases() for n, given in stages(case).items() if n in GRAMMARS]
    assert len({(given["grammar_str"], given["grammar_root"]) for given in grammars}) > 1


@pytest.mark.slow
def test_each_number_of_drafts_is_accepted_by_either_rule_for_certain_or_by_chance() -> None:
    found = set[Any]()
    for case in cases():
        target = target_of(prepare(case))
        for draft in case.verified:
            ends = ends_of(case, target, draft)
            ways = [at for at, end in enumerate(ends) if end.any()]
            tokens = np.count_nonzero(ends[ways[-1]])
            whole = "bonus" if ways[-1] == case.steps - 1 else "rejected"
            found |= {(case.rule, whole), (case.rule, "chance" if len(ways) > 1 else "certain")}
            found |= {(case.rule, "several" if tokens > 1 else "one")}
            found |= {(case.rule, min(ways[-1], 7))}
    every = ["bonus", "rejected", "chance", "certain", "several", "one", *range(8)]
    assert found == {(rule, way) for rule in ("rejection", "matching") for way in every}


def test_two_cases_are_the_same_but_for_their_logits_or_for_their_history() -> None:
    """A row that is kept from one request to the next needs two that differ in just that."""
    found = set[str]()
    for one, other in itertools.pairwise(cases()):
        if one.chain == other.chain and one.rule == other.rule:
            found |= {"logits"} if one.history == other.history else set()
            same = one.logits == other.logits and one.history == other.history[::-1]
            found |= {"history"} if same and one.history != other.history else set()
    assert found == {"logits", "history"}


def test_a_request_has_equal_drafts_with_other_seeds_and_equal_seeds_with_other_drafts() -> None:
    equal = [len(case.drafts) - len({*map(tuple, case.drafts)}) for case in cases()]
    assert max(equal) > 1
    assert max(len(case.drafts) for case in cases()) > 8  # the seeds of run.py come again
