"""Compare the numbers in docs/background/releasing.md, which 1.0 promises, with the code."""

import re
import typing

import pytest

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.comparison import history
from sampler_parity.harness.gate.policy import Policy
from sampler_parity.harness.gate.records import GateResult
from sampler_parity.harness.protocol.messages import PROTOCOL_VERSION
from tests.support.command_line import COMMANDS, ROOT

PAGE = (ROOT / "docs" / "background" / "releasing.md").read_text(encoding="utf-8")


def promised(what: str) -> list[int]:
    """The numbers in the second cell of a row of the page."""
    (row,) = re.findall(rf"^\| {re.escape(what)} \| ([^|]*) \|", PAGE, re.MULTILINE)
    return [int(number) for number in re.findall(r"\d+", row)]


def only(model: type, field: str) -> int:
    """Return the single value of a literal field."""
    (number,) = typing.get_args(typing.get_type_hints(model)[field])
    return int(number)


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert promised("the adapter protocol") == [PROTOCOL_VERSION, 1]
    assert promised("a bundle") == [only(RunInfo, "format")]
    assert promised("a history") == [history.FORMAT]
    schema = [only(model, "schema_version") for model in (Policy, GateResult)]
    assert promised("a gate's policy, and its JSON") * 2 == schema


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_ends_with_a_status_that_is_promised(name: str) -> None:
    (text,) = re.findall(r"Exit status:? ([^\n]*(?:\n +[^\n]*)*)", COMMANDS[name].help)
    named = {int(number) for number in re.findall(r"(?:^|[ ,;])(\d+)(?=[ ,:;.]|$)", text)}
    assert named
    assert named <= {
        *promised("exit statuses of every command"),
        *([255] * (name == "engines exec")),
    }
