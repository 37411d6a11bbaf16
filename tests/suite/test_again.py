"""`again`: a case has a second row, which is another one."""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.suite.file import expand

SUITE = """
name = "x"

[[case]]
id = "a"
description = "two of three stay"
why = "a defect"
chain = [{ top_k = { k = 2 } }]
%s
"""


def expanded(tmp_path: Path, lines: str) -> list[Any]:
    path = tmp_path / "x.toml"
    path.write_text(SUITE % lines)
    return expand(path, "quick")


def fields(case: Any, *names: str) -> dict[str, Any]:
    return {name: case.model_dump(by_alias=True)[name] for name in names}


def test_the_tokens_of_a_literal_row_and_of_the_past_are_reversed(tmp_path: Path) -> None:
    lines = """
logits = { values = [0.5, 3.0, 3.0] }
history = [0, 1, 1]
expect = { ids = [1, 2] }
again = true
"""
    first, second = expanded(tmp_path, lines)
    assert [first.id, second.id] == ["x/a", "x/a-again"]
    assert first.expect.ids == [1, 2]
    assert second.expect is None
    assert second.logits.values == [3.0, 3.0, 0.5]
    assert second.history == [2, 1, 1]


@pytest.mark.parametrize(
    ("logits", "wanted"),
    [
        ("{ probs = [0.5, 0.3, 0.2] }", {"values": [], "probs": [0.2, 0.3, 0.5]}),
        ("{ rows = [[1, 2, 3], [4, 5, 6]] }", {"rows": [[3, 2, 1], [6, 5, 4]]}),
        ('{ family = "normal", n = 8, seed = 4 }', {"family": "normal", "n": 8, "seed": 5}),
        ('{ family = "normal", n = 8 }', {"family": "normal", "n": 8, "seed": 1}),
        ("{ rungs = 9 }", {"rungs": 9, "counts": [], "seed": 1}),
        ('{ golden = "small", row = 3 }', {"golden": "small", "row": 4}),
    ],
    ids=["probs", "rows", "generated", "without-a-seed", "rungs", "golden"],
)
def test_every_form_of_logits_gets_another_row(
    tmp_path: Path, logits: str, wanted: dict[str, Any]
) -> None:
    _, second = expanded(tmp_path, f"logits = {logits}\nagain = true")
    assert fields(second, "logits") == {"logits": wanted}


def test_given_fields_replace_those_of_the_first(tmp_path: Path) -> None:
    lines = """
logits = { values = [1.0, 3.0, 2.0] }
steps = 2
expect = { n = 2 }
again = { chain = [{ top_k = { k = 1 } }], expect = { n = 1 } }
"""
    _, second = expanded(tmp_path, lines)
    assert second.chain == [{"top_k": {"k": 1}}]
    assert second.expect.n == 1
    assert second.steps == 2
    assert second.logits.values == [1.0, 3.0, 2.0]


def test_without_again_there_is_one_case_and_no_such_field_in_its_record(tmp_path: Path) -> None:
    (only,) = expanded(tmp_path, "logits = { values = [1.0, 3.0, 2.0] }")
    assert "again" not in only.model_dump()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("logits = { values = [1.0, 1.0] }\nagain = true", "equals the first"),
        ("logits = { values = [1.0, 2.0, 1.0] }\nagain = true", "equals the first"),
        ("logits = { values = [1.0, 2.0] }\nagain = { steps = 0 }", "greater than"),
        ("logits = { values = [1.0, 2.0] }\nagain = { stps = 2 }", "stps"),
        ("logits = { log_of_id = 9 }\nagain = true", "seed"),
    ],
    ids=["equal", "palindrome", "wrong-value", "unknown-field", "no-seed"],
)
def test_a_second_case_that_is_none_is_refused(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        expanded(tmp_path, lines)


def test_a_case_of_a_kind_keeps_its_kind() -> None:
    case = case_from(
        id="a", description="d", why="w", chain=[{"dist": {"seed": 1}}],
        logits={"values": [0.0, 1.0]}, draws=3, again=True,
    )  # fmt: skip
    first, second = case.items(quick=True)
    assert type(first) is type(second)
    assert second.n_draws == 3
