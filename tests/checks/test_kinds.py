"""harness/checks/rows.py: each kind has its row, and each row names what exists."""

import inspect
from pathlib import Path

import pytest

from sampler_parity.harness import checks
from sampler_parity.harness.bundle.bundle import model_of
from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.checks import KINDS, NOUNS, kind_of_record
from sampler_parity.harness.checks.rows import CASE
from sampler_parity.harness.rows import CheckKind, every_gate, load

FOLDER = Path(checks.__file__).parent


def missing(kind: CheckKind) -> list[str]:
    """Return everything that a row promises and that does not exist."""
    models = [load(name) for name in (kind.case, *(table.model for table in kind.tables)) if name]
    modules = [inspect.getmodule(model) for model in models]
    made = [getattr(one, "check", "") for m in modules for _, one in inspect.getmembers(m)]
    judged = kind.record is CASE and not kind.timed  # harness/checks/execute.py runs cases
    functions = ["judge"] if judged else ["measure"] if kind.timed else ["run", "died"]
    lacking = [] if kind.name in made else ["a class whose check is its name"]
    lacking += [f"{name} of its module" for name in functions if not hasattr(kind.module, name)]
    for name in (kind.unmet, kind.record.lines, kind.record.page and kind.record.page.page):
        assert not name or load(name)
    model = model_of(kind.record.kind)
    is_record = issubclass(model, Result) and model.model_fields["kind"].default == kind.record.kind
    return lacking + ([] if is_record else ["a record that a bundle knows"])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_has_what_its_row_promises(kind: CheckKind) -> None:
    assert missing(kind) == []
    assert kind_of_record(kind.record.kind).noun == kind.noun


def test_every_rule_of_the_gate_names_what_exists() -> None:
    for gate in every_gate():
        assert all(load(name) for name in (gate.rule, gate.judge, gate.unruled) if name)


def test_every_folder_has_its_row() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/__init__.py")} <= {*KINDS}


def test_planted_row_that_promises_too_much_is_named() -> None:
    wrong = CheckKind("rounds", 0.1, CASE, run=".draws", timed=True)
    assert missing(wrong) == [
        "a class whose check is its name",
        "measure of its module",
    ]


def test_what_is_judged_comes_before_what_is_timed() -> None:
    timed = [any(kind.timed for kind in KINDS.values() if kind.noun == noun) for noun in NOUNS]
    assert timed == sorted(timed)
