"""harness/suite/blocks/timing.py and harness/timing/throughput.py: suites of timings expand."""

from pathlib import Path

import numpy as np
import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.suite.blocks.timing import read_suite
from sampler_parity.harness.suite.file import suites_folder
from sampler_parity.harness.timing.throughput import read_widths

GRID = """
name = "mine"
sizes = [10, 20]
[[grid]]
id = "p"
sampler = "penalties"
chain = [{ penalties = { penalty_last_n = "$last_n", penalty_repeat = "$r" } }]
last_n = [2, 4]
vary = { r = [1.5] }
masked = [0.5]
steady = ["n_vocab"]
quick = { sizes = [20], vary = { last_n = [4] } }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_grid_takes_every_size_and_history(tmp_path: Path) -> None:
    found = read_suite(write(tmp_path, GRID), quick=False)
    names = [f"p-r1.5-masked0.5/V{v}-n{n}" for v in (10, 20) for n in (2, 4)]
    assert [chain.id for chain in found] == names
    assert found[1].chain == [{"penalties": {"penalty_last_n": 4, "penalty_repeat": 1.5}}]
    assert (found[1].history, found[1].group) == ([0, 5, 0, 5], "p-r1.5-masked0.5")


def test_quick_profile_takes_its_part_of_the_grid(tmp_path: Path) -> None:
    (chain,) = read_suite(write(tmp_path, GRID), quick=True)
    assert chain.id == "p-r1.5-masked0.5/V20-n4"


def test_masked_share_bans_tokens_and_never_the_largest(tmp_path: Path) -> None:
    text = GRID.replace("[10, 20]", "[20, 4000]").replace("masked = [0.5]", "masked = [0.999]")
    row = read_suite(write(tmp_path, text), quick=False)[-1].row()
    assert np.isneginf(row).mean() > 0.99
    assert row.max() == read_suite(write(tmp_path, text), quick=False)[-1].logits.row(0).max()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("sizes = [20]", "sizes = [30]", "30 is not in the grid"),
        ('"$r"', '"$q"', "'\\$q' in the chain is not in vary"),
        ("steady", "stedy", "grid.0.stedy: Extra inputs are not permitted"),
        ("[[grid]]", "[[grid", "Expected ']]'"),
    ],
)
def test_mistake_in_a_suite_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_suite(write(tmp_path, GRID.replace(old, new)), quick=True)


def test_committed_suites_expand_and_quick_is_part_of_full() -> None:
    for path in (suites_folder() / "timing").glob("*.toml"):
        quick, full = ({c.id for c in read_suite(path, q)} for q in (True, False))
        assert quick < full, path
    for path in (suites_folder() / "throughput").glob("*.toml"):
        few, all_ = ({w.id for w in read_widths(path, q)} for q in (True, False))
        assert few < all_, path


def test_sizes_asked_for_are_all_timed() -> None:
    sizes = {4096, 32_000, 65_536, 128_256, 151_936, 262_144}
    by_group: dict[str, set[int]] = {}
    for path in (suites_folder() / "timing").glob("*.toml"):
        for chain in read_suite(path, quick=False):
            if "masked" not in chain.group and not chain.vocab:
                by_group.setdefault(chain.group, set()).add(chain.logits.n)
    assert {group for group, found in by_group.items() if not sizes <= found} == set()


def test_chain_that_the_throughput_suite_lacks_is_named(tmp_path: Path) -> None:
    text = (
        'name = "x"\n[chains]\na = [{ greedy = {} }]\n[[grid]]\nid = "g"\nmodel = "small"\n'
        'prompt = [1]\ntokens = 2\nsizes = [1]\nchains = ["b"]\n'
    )
    with pytest.raises(InputError, match="no chain 'b'"):
        read_widths(write(tmp_path, text), quick=True)
