"""harness/cli/colour.py: colours only on a terminal that shows them."""

import io
import sys

import pytest

from sampler_parity.harness.cli import output
from sampler_parity.harness.cli.colour import coloured
from tests.support.command_line import Terminal

RED = "\x1b[31m"
YELLOW = "\x1b[33m"
GREEN = "\x1b[32m"
DIM = "\x1b[2m"
PLAIN = "\x1b[0m"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  DIVERGED a   mine 1.0", f"  {RED}DIVERGED{PLAIN} a   mine 1.0"),
        ("8 cases diverge at top_p: x", f"{RED}8 cases diverge{PLAIN} at top_p: x"),
        ("1 case differs near the cut at x", f"{YELLOW}1 case differs{PLAIN} near the cut at x"),
        ("3 cases are skipped: x", f"{DIM}3 cases are skipped{PLAIN}: x"),
        ("cases    1/2 as required   FAILED", f"cases    1/2 as required   {RED}FAILED{PLAIN}"),
        ("cases    2/2 as required   ok", f"cases    2/2 as required   {GREEN}ok{PLAIN}"),
        ("COULD NOT JUDGE parity", f"{YELLOW}COULD NOT JUDGE{PLAIN} parity"),
        ("  replay: run x", f"  {DIM}replay: run x{PLAIN}"),
        ("the adapter wrote DIVERGED, FAILED and ok", "the adapter wrote DIVERGED, FAILED and ok"),
    ],
)
def test_what_is_wrong_is_red_and_only_our_own_words_are_coloured(line: str, shown: str) -> None:
    assert coloured(line) == shown


@pytest.mark.parametrize(
    ("stream", "environment", "colours"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True),  # as https://no-color.org has it
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
    ids=["a terminal", "an empty NO_COLOR", "NO_COLOR", "a dumb one", "a pipe"],
)
@pytest.mark.skipif(sys.platform == "win32", reason="older consoles print the codes")
def test_colours_are_for_a_terminal_whose_user_wants_them(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, environment: dict[str, str], colours: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", stream)
    output.print_line("FAILED x")
    output.print_line("\x1b[31mthe colours of others\x1b[0m")
    first, second = stream.getvalue().splitlines()
    assert (RED in first) == colours
    assert second == "\\x1b[31mthe colours of others\\x1b[0m"


def test_lines_go_where_data_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with output.lines_to(output.line_target(output.STDOUT)):
        output.print_line("a line")
        output.write_data(output.STDOUT, "{}")
    assert capsys.readouterr() == ("{}\n", "a line\n")
    with output.lines_to(output.line_target(None, quiet=True)):
        output.print_line("nothing")
    output.print_line("again")
    assert capsys.readouterr() == ("again\n", "")
