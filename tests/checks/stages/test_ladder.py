"""Ladders: each size of each sampler is tested, past its powers of two."""

import inspect
from typing import Any

import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.blocks.ladder import OF_CHAINS, SIZES, Ladder, rungs
from sampler_parity.harness.inputs.logits import Rungs
from sampler_parity.harness.suite.file import find_suites, read_suite
from sampler_parity.reference.registry import ROWS, Row

_WITHOUT_STATE = {"grammar", "grammar_lazy_patterns"}  # whose state has a grammar's size


def _quick(size: str, sampler: str) -> list[Case]:
    block = Ladder(id="x", description="x", why="x", size=size, samplers=[sampler])
    return list(block.items(quick=True))


def test_rungs_are_each_power_of_two_and_its_neighbours() -> None:
    assert rungs(4) == [7, 8, 9, 15, 16, 17]


@pytest.mark.slow
def test_every_size_of_every_sampler_is_in_a_suite_of_the_quick_profile() -> None:
    climbed = set()
    for path in find_suites(["parity", "removed"]):
        for block in read_suite(path).suite.blocks("ladder"):
            names = {name for case in block.items(quick=True) for name in case.samplers}
            climbed |= {(name, block.size) for name in block.samplers or names}
    wanted = {(name, size) for name, row in ROWS.items() for size in row.sizes}
    assert sorted(wanted - climbed) == []


def _counts(row: Row) -> set[str]:
    """The parameters of a sampler that are whole numbers or lists, but for seeds."""
    names = set()
    for name, parameter in inspect.signature(row.make).parameters.items():
        edges = [*(row.edges or {}).get(name, []), *(row.edges_with_vocab or {}).get(name, [])]
        values = [*edges, row.smallest.get(name, parameter.default)]
        if any(isinstance(value, int | list) for value in values) and name != "seed":
            names.add(name)
    return names


@pytest.mark.parametrize("name", ROWS)
def test_a_row_declares_every_size_of_its_sampler(name: str) -> None:
    row = ROWS[name]
    assert "candidates" in row.sizes
    assert row.sizes.keys() <= SIZES.keys() | OF_CHAINS.keys()
    if name not in _WITHOUT_STATE:
        assert _counts(row) <= row.sizes.keys()
    if "seed" in inspect.signature(row.make).parameters:
        assert "draws" in row.sizes
    if name not in _WITHOUT_STATE and _takes_tokens(name, row):
        assert "accepted" in row.sizes


def _takes_tokens(name: str, row: Row) -> bool:
    """Return whether accepting a token has an effect (for `temp` it has none)."""
    return _code(row.make) != _code(ROWS["temp"].make)


def _code(make: Any) -> bytes:
    return bytes(make.accept.__code__.co_code)


def test_the_quick_profile_goes_past_16_bits_in_candidates_and_past_18_in_ids() -> None:
    cases = {case.id: case for case in _quick("candidates", "top_p")}
    assert cases["x/top_p/V65537"].logits.n == 65537
    assert cases["x/top_p/ids"].logits.n == 262145
    assert isinstance(counted := cases["x/top_p/counts"].logits, Rungs)
    assert counted.counts[:3] == [255, 256, 257]
    assert counted.counts[-1] == 4097
