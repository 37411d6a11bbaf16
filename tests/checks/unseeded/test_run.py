"""Chains without a seed: two of them differ, and so does one after its reset."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.blocks.ladder import of_newest
from sampler_parity.harness.checks.unseeded import wrong
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference.registry import ROWS


def _cases() -> dict[str, Case]:
    (path,) = find_suites(["parity/unseeded"])
    return {case.id.rpartition("-")[2]: case for case in expand(path, "quick")}


def test_every_sampler_that_has_a_seed_is_asked_without_one() -> None:
    def has_seed(name: str) -> bool:
        make: Any = ROWS[name].make
        return "seed" in inspect.signature(make).parameters

    assert {name for name in of_newest() if has_seed(name)} == _cases().keys()


def test_chains_that_are_right_differ() -> None:
    backend = InProcess("temp/last-parameter")
    assert all(execute(case, [backend]).ok for case in _cases().values())
    backend.close()


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        ("dist/largest-seed-taken", "two chains without a seed select the same 64 tokens"),
        ("adaptive_p/drawn-once", "selects the same 64 tokens after its reset"),
    ],
)
def test_what_is_alike_is_a_divergence(mutant: str, message: str) -> None:
    backend = InProcess(mutant)
    result = execute(_cases()[mutant.partition("/")[0]], [backend]).backends[backend.name]
    backend.close()
    assert (result.verdict, result.stage) == ("diverged", mutant.partition("/")[0])
    assert message in result.detail


def test_a_chain_that_selects_nothing_is_wrong() -> None:
    assert wrong([1, None], [2, 3], [3, 4]) == "no token was selected"


@pytest.mark.parametrize("script", ["reset", "clone", "interleaved", "turns"])
def test_a_chain_without_a_seed_refuses_a_script(tmp_path: Path, script: str) -> None:
    """Its check has a plan of its own, and more steps than a script has rows."""
    file = tmp_path / "own.toml"
    chain = "{dist = {seed = 4294967295}}"
    case = (
        f"id = 'a'\ndescription = 'a'\nwhy = 'a'\nchain = [{chain}]\nlogits = {{values = [1, 2]}}"
    )
    file.write_text(f"name = 'own'\n[[case]]\n{case}\nscript = '{script}'\nsteps = 4\n")
    with pytest.raises(InputError, match="remove the script"):
        expand(file, "quick")
    file.write_text(file.read_text().replace(script, "plain"))
    assert [case.check for case in expand(file, "quick")] == ["unseeded"]
