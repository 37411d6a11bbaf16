"""harness/checks/timing/block.py and throughput.py: blocks that are timed expand."""

from pathlib import Path

import numpy as np

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.suite.file import expand, expand_kind, read_suite, suites_folder

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


def chains(path: Path, profile: Profile) -> list[TimedChain]:
    return expand_kind("timing", read_suite(path), profile)


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_grid_takes_every_size_and_history(tmp_path: Path) -> None:
    timed = chains(write(tmp_path, GRID), "full")
    names = [f"p-r1.5-masked0.5/V{v}-n{n}" for v in (10, 20) for n in (2, 4)]
    assert [chain.id for chain in timed] == names
    assert timed[1].chain == [{"penalties": {"penalty_last_n": 4, "penalty_repeat": 1.5}}]
    assert (timed[1].history, timed[1].group) == ([0, 5, 0, 5], "p-r1.5-masked0.5")


def test_quick_profile_takes_its_part_of_the_grid(tmp_path: Path) -> None:
    (chain,) = chains(write(tmp_path, GRID), "quick")
    assert chain.id == "p-r1.5-masked0.5/V20-n4"


def test_sizes_asked_for_are_all_timed() -> None:
    sizes = {4096, 32_000, 65_536, 128_256, 151_936, 262_144}
    by_group: dict[str, set[int]] = {}
    for path in (suites_folder() / "timing").glob("*.toml"):
        for chain in chains(path, "full"):
            if "masked" not in chain.group and not chain.vocab:
                by_group.setdefault(chain.group, set()).add(chain.logits.n)
    assert {group for group, timed in by_group.items() if not sizes <= timed} == set()


def test_one_file_holds_cases_and_what_is_timed_wherever_it_lies(tmp_path: Path) -> None:
    text = (
        'name = "x"\n[chains]\na = [{ greedy = {} }]\n[[case]]\nid = "c"\ndescription = "d"\n'
        'why = "w"\nchain = [{ greedy = {} }]\nlogits = { values = [1.0] }\n[[grid]]\nid = "g"\n'
        'model = "small"\nprompt = [1]\ntokens = 2\nsizes = [1]\nchains = ["a"]\n[[grid]]\n'
        'id = "t"\nsampler = "greedy"\nchain = [{ greedy = {} }]\nsizes = [8]\n'
    )
    file = read_suite(write(tmp_path, text))
    assert [case.id for case in expand(file, "quick")] == ["mine/c"]
    assert [chain.result_id for chain in expand_kind("timing", file, "quick")] == ["timing/t/V8"]
    assert [width.id for width in expand_kind("throughput", file, "quick")] == ["throughput/g/a/1"]


def test_masked_share_bans_tokens_and_never_the_largest(tmp_path: Path) -> None:
    text = GRID.replace("[10, 20]", "[20, 4000]").replace("masked = [0.5]", "masked = [0.999]")
    row = chains(write(tmp_path, text), "full")[-1].row()
    assert np.isneginf(row).mean() > 0.99
    assert row.max() == chains(write(tmp_path, text), "full")[-1].logits.row(0).max()
