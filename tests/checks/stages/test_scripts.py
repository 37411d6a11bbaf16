from typing import Any

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.scripts import Scripts
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference.registry import ROWS


def block(**fields: Any) -> Scripts:
    about = {"id": "x", "description": "d", "why": "w"}
    chains = {"dist": [{"dist": {"seed": 1}}]}
    return Scripts.model_validate(about | {"chains": chains} | fields)


def test_a_block_packs_every_script_into_cases() -> None:
    cases = list(block(length=3, quick_length=2).items(quick=True))
    assert [case.id for case in cases] == ["x/dist/length-2/1", "x/dist/length-2/2"]
    assert sum(len(case.operations) for case in cases if isinstance(case, StagesCase)) == 31


def test_draws_are_one_script_in_their_profile() -> None:
    cases = list(block(draws=[3, 9], quick_draws=[3]).items(quick=True))
    assert [case.id for case in cases] == ["x/dist/draws"]
    assert isinstance(cases[0], StagesCase)
    assert cases[0].operations == ["s3cSsRS"]


def test_every_sampler_with_a_state_has_scripts() -> None:
    with_state = {name for name, row in ROWS.items() if {"draws", "accepted"} & row.sizes.keys()}
    cases = expand(find_suites(["parity/scripts"])[0], "quick")
    assert with_state - {name for case in cases for name in case.samplers} == set()
