"""Each parser on random input: it takes it, or refuses it in one line."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.harness.backends.registry import command_of
from sampler_parity.harness.bundle.bundle import read
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.parity.explanations import read_explanations
from sampler_parity.harness.suite.file import expand
from sampler_parity.reference import ChainError
from sampler_parity.reference.grammar import parse

_WORDS = st.sampled_from(
    [
        *("[[case]]", "[[matrix]]", "[[parity]]", "[[explanation]]", 'id = "a"', 'name = "x"', "9"),
        *(
            "schema_version = 1",
            "steps = ",
            "chain = [",
            "{greedy = {}}",
            "]",
            '"',
            "\n",
            "= ",
            "{",
        ),
        *("}", "[", "-1", "nan", "\0", '"kind":', '"case"', ",", ":", "root ::= ", '"a"', "*", "("),
        *(")", "@", "llama.cpp", "reference", "mutant/", "slow/", "="),
    ]
)
TEXTS = st.lists(_WORDS | st.text(max_size=3), max_size=25).map("".join)


def _grammar(path: Path) -> None:
    with contextlib.suppress(ChainError):
        parse(path.read_bytes())


def _bundle(path: Path) -> None:
    (path.parent / "run.json").write_bytes(path.read_bytes())
    (path.parent / "results.jsonl").write_bytes(path.read_bytes())
    read(path.parent)


PARSERS: dict[str, Callable[[Path], object]] = {
    "suite": lambda path: expand(path, "quick"),
    "policy": read_policy,
    "explanations": read_explanations,
    "bundle": _bundle,
    "grammar": _grammar,
    "name of a backend": lambda path: command_of(path.read_bytes().decode(errors="replace")),
}


@pytest.mark.parametrize("reads", PARSERS.values(), ids=PARSERS)
def test_random_input_is_taken_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, reads: Callable[[Path], object]
) -> None:
    path = tmp_path_factory.mktemp("fuzzed") / "input.toml"

    @settings(max_examples=40, deadline=None)
    @given(TEXTS | st.binary(max_size=40))
    def fuzz(content: str | bytes) -> None:
        if isinstance(content, str):
            content = content.encode(errors="surrogatepass")
        path.write_bytes(content)
        said = ""
        try:
            reads(path)
        except InputError as refusal:
            said = str(refusal)
        assert said.isprintable()

    fuzz()
