"""A printed line is one line, printable, and never a command to the log of a CI."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.harness.cli.output import print_data, print_line
from sampler_parity.harness.errors import LONGEST, InputError
from sampler_parity.harness.sanitize.printable import LONGEST_LINE, line

ROOT = Path(__file__).resolve().parent.parent.parent
# what a terminal, a page or the log of a CI would act on
_BAD = [*"\x1b\x00\x9b\x85\u2028\u202e\ud800\r\na ", "::", "##["]
untrusted = st.text(st.characters() | st.sampled_from("\x1b\x9b\u202e:#[ \n\r"), max_size=60)
hostile = st.lists(st.sampled_from(_BAD), max_size=12).map("".join) | untrusted


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("a\r\nb\tc", "a\\r b c"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\udcff", "\\udcff"),
        ("::set-output name=x::y", "\\x3a:set-output name=x::y"),
        ("  ::error::x", "  \\x3a:error::x"),
        ("a::b", "a::b"),
        ("x ##[error]y", "x #\\x23[error]y"),
    ],
    ids=["escape", "line ends", "direction", "surrogate", "command", "indented", "inside", "old"],
)
def test_a_line_shows_what_would_be_obeyed(text: str, printed: str) -> None:
    assert line(text) == printed


@pytest.mark.slow
@given(hostile)
def test_whatever_a_line_holds_one_harmless_line_is_printed(text: str) -> None:
    shown = line(text)
    assert shown.isprintable()
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown


def test_a_long_line_says_how_much_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("x" * (LONGEST_LINE + 12_345))
    assert capsys.readouterr().out == f"{'x' * LONGEST_LINE}... (12,345 more characters)\n"


def test_data_keeps_its_lines_and_shows_what_does_not_print(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_data("{\n \x7f\n}")
    assert capsys.readouterr().out == "{\n \\x7f\n}\n"


@pytest.mark.slow
@given(hostile, hostile, hostile)
def test_a_refusal_is_one_line_that_prints(where: str, problem: str, fix: str) -> None:
    assert str(InputError(where, problem, fix)).isprintable()


def test_a_long_refusal_is_cut_with_its_length() -> None:
    text = str(InputError("x" * 5_000, "no such file"))
    assert text.endswith("more characters)")
    assert len(text) < LONGEST + 50


def printing(root: Path) -> list[str]:
    """Return the calls of print outside cli/output.py, in packages that print for a user."""
    return [
        f"{path.relative_to(root)}:{node.lineno}"
        for folder in ("harness/cli", "harness/run", "reports")
        for path in sorted((root / folder).rglob("*.py"))
        if path.name != "output.py" and path.parent.name != "templates"  # programs of their own
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and node.id == "print"
    ]


@pytest.mark.slow
def test_only_the_output_module_prints() -> None:
    assert printing(ROOT) == []


def test_a_planted_print_is_named(tmp_path: Path) -> None:
    path = tmp_path / "harness" / "cli" / "new.py"
    path.parent.mkdir(parents=True)
    path.write_text("from functools import partial\n\nsay = partial(print, flush=True)\n")
    assert printing(tmp_path) == ["harness/cli/new.py:3"]
