"""Command lines split into words, as in a shell and as on Windows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.harness.backends.registry import command_of
from sampler_parity.harness.processes import shell

WORDS = st.lists(st.text(alphabet="ab \\\"\t'", max_size=8), max_size=5)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "WINDOWS", True)


@given(WORDS)
def test_what_was_joined_has_the_same_words(words: list[str]) -> None:
    assert shell.split(shell.join(words)) == words


@given(WORDS)
def test_what_was_joined_has_the_same_words_on_windows(words: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell, "WINDOWS", True)
        assert shell.split(shell.join(words)) == words


# From Microsoft's page "Parsing C command-line arguments".
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r'"a b c" d e', ["a b c", "d", "e"]),
        (r'"ab\"c" "\\" d', ['ab"c', "\\", "d"]),
        (r'a\\\b d"e f"g h', [r"a\\\b", "de fg", "h"]),
        (r"a\\\"b c d", [r"a\"b", "c", "d"]),
        (r'a\\\\"b c" d e', [r"a\\b c", "d", "e"]),
    ],
)
@pytest.mark.usefixtures("windows")
def test_windows_reads_a_command_as_its_c_runtime(text: str, words: list[str]) -> None:
    assert shell.split(text) == words


@pytest.mark.usefixtures("windows")
def test_a_quote_that_is_not_closed_is_refused_on_windows() -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        shell.split(r'node "C:\my adapter.js')


@pytest.mark.usefixtures("windows")
def test_an_adapter_with_backslashes_is_started_by_its_path_on_windows() -> None:
    name, command = command_of(r'mine=C:\tools\node.exe "C:\my project\adapter.js" --fast')
    assert name == "mine"
    assert command == [r"C:\tools\node.exe", r"C:\my project\adapter.js", "--fast"]
