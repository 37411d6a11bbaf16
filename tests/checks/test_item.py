"""harness/checks/item.py: packed checks are what they were, and take little memory."""

import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.checks import item
from sampler_parity.harness.checks.item import CheckItem, Checks, packed
from sampler_parity.harness.suite import file as suite

MANY = Path(__file__).with_name("many.toml")
PER_CHECK = 1500  # bytes of an item; as a model each takes over 5,000
MIXED = ["parity/top_p", "distribution/tail", "timing/samplers", "skip_ratio/skip_ratio"]


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXED)
def test_an_item_is_as_if_its_check_were_not_packed(name: str) -> None:
    file = suite.read_suite(*suite.find_suites([name]))
    checks = [*suite.checks_of(file, "quick")]
    items = [*packed(name, checks)]
    assert len(items) == len(checks) > 0
    for check, one in zip(checks, items, strict=True):
        plain = CheckItem(name, check)
        for each in (one, pickle.loads(pickle.dumps(one))):
            assert repr(each.check) == repr(check) == repr(plain.check)  # with NaN, too
            assert (each.id, each.kind, each.suite) == (plain.id, plain.kind, plain.suite)
            assert each.cost == plain.cost == getattr(check, "cost", 0)
    by_id = {one.id: check for one, check in zip(items, checks, strict=True)}
    assert repr(dict(Checks(items))) == repr(by_id)


@pytest.mark.slow
def test_a_plan_of_many_checks_takes_little_memory() -> None:
    file = suite.read_suite(MANY)
    assert bytes_of(packed("many", suite.checks_of(file, "quick"))) < PER_CHECK
    assert bytes_of(CheckItem("many", one) for one in suite.checks_of(file, "quick")) > PER_CHECK


def bytes_of(items: Iterator[CheckItem]) -> float:
    """Return the bytes that an item takes, with its check, at most while they are made."""
    item._unpacked.cache_clear()
    tracemalloc.start()
    kept = [*items]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / len(kept)
