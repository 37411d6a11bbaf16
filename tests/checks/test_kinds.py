"""harness/checks/__init__.py: each folder of a kind has its row, and each row its files."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from sampler_parity.harness import checks
from sampler_parity.harness.bundle.bundle import _RECORDS
from sampler_parity.harness.checks import KINDS, NOUNS, CheckKind, kind_of_record

FOLDER = Path(checks.__file__).parent


def missing(kind: CheckKind) -> list[str]:
    """Return everything that a row promises and its folder lacks."""
    block = import_module(f"sampler_parity.harness.checks.{kind.name}.block")
    made = [getattr(one, "check", "") for _, one in inspect.getmembers(block, inspect.isclass)]
    functions = ["measure"] if kind.timed else ["run", "died"]
    lacking = [] if kind.name in made else ["a class of block.py with its name"]
    lacking += [f"{name} of its runner" for name in functions if not hasattr(kind.runner, name)]
    if kind.record == "case" and not hasattr(kind.run, "judge"):
        lacking.append("judge of run.py")
    lacking += [] if hasattr(kind.view, "lines") else ["lines of view.py"]
    lacking += ["measured of view.py"] if kind.timed and not hasattr(kind.view, "measured") else []
    return lacking + ([] if kind.record in _RECORDS else ["a record that a bundle knows"])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_has_what_its_row_promises(kind: CheckKind) -> None:
    assert missing(kind) == []
    assert kind_of_record(kind.record).noun == kind.noun


def test_every_folder_has_its_row() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/__init__.py")} == {*KINDS}


def test_planted_row_that_promises_too_much_is_named() -> None:
    wrong = CheckKind("draws", 0.1, "draws", timed=True)
    assert missing(wrong) == ["measure of its runner", "measured of view.py"]


def test_what_is_judged_comes_before_what_is_timed() -> None:
    timed = [any(kind.timed for kind in KINDS.values() if kind.noun == noun) for noun in NOUNS]
    assert timed == sorted(timed)
