"""The output of a program before it died, as interpreters really print it."""

import tomllib
from pathlib import Path

import pytest

from sampler_parity.harness.sanitize.crash_output import LINES, error_line, last_lines
from tests.support.script_backend import backend, failure

PRINTED = tomllib.loads(Path(__file__).with_name("crash_output.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PRINTED)
def test_the_line_with_the_error_is_found_in_what_an_interpreter_prints(name: str) -> None:
    assert error_line(last_lines(PRINTED[name]["printed"].encode())) == PRINTED[name]["error"]


def test_a_crash_has_its_error_first_and_the_last_twenty_lines_behind_it() -> None:
    act = (
        "sys.stderr.write('\\n'.join(map(str, range(99))) + '\\nValueError: no k\\n'); sys.exit(3)"
    )
    with backend(act) as process:
        caught = failure(process)
    assert str(caught) == "exit status 3: ValueError: no k"
    first, *rest = caught.whole.splitlines()
    assert first == str(caught)
    assert rest == [*map(str, range(80, 99)), "ValueError: no k"]
    assert len(rest) == LINES
