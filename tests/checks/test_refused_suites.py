"""A wrong suite file is refused, with a message of what is wrong: refused_suites.toml."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.suite.file import checks_of, read_suite

FILE = tomllib.loads(Path(__file__).with_name("refused_suites.toml").read_text(encoding="utf-8"))
ROWS = [
    pytest.param(table["text"], row, id=f"{name}-{row['name']}")
    for name, table in FILE.items()
    for row in table["rows"]
]


@pytest.mark.parametrize(("text", "row"), ROWS)
def test_a_suite_that_is_wrong_is_refused(tmp_path: Path, text: str, row: dict[str, str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    expand(path)
    assert row["old"] in text
    path.write_text(text.replace(row["old"], row["new"], 1))
    with pytest.raises(InputError, match=re.escape(row["message"])):
        expand(path)


def expand(path: Path) -> None:
    """Make every check of a suite, in both profiles."""
    for profile in get_args(Profile):
        list(checks_of(read_suite(path), profile))
