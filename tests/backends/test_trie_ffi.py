"""The token trie from TypeScript on the compiled library itself, through bun:ffi."""

import shutil
from typing import Any

import pytest

from sampler_parity.harness.backends import environments
from studies import trie_ffi

PRELUDE, TOKEN = ["prefill", "set", "generate"], "token"


@pytest.fixture(scope="module")
def output() -> dict[str, Any]:
    if not environments.folder_of("bun").is_dir():
        pytest.skip("`sampler-parity engines add bun` installs it")
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    return trie_ffi.output()


@pytest.mark.nightly
def test_a_text_with_a_trie_keeps_to_a_leaf_and_the_next_one_is_free(
    output: dict[str, Any],
) -> None:
    """100, 101, 102 is the leaf whose first token is the likelier; 7 is the likeliest of all."""
    with_trie, without = output["trie"]
    assert with_trie["calls"] == [*PRELUDE, *[TOKEN] * 5, "clear"]
    assert with_trie["tokens"] == [100, 101, 102, 7, 7]
    assert without == {"calls": ["prefill", "generate", *[TOKEN] * 5], "tokens": [7] * 5}


@pytest.mark.nightly
def test_a_payload_that_is_refused_leaves_the_text_free(output: dict[str, Any]) -> None:
    with_trie, without = output["refused"]
    assert with_trie["calls"] == [*PRELUDE, *[TOKEN] * 2, "clear"]
    assert with_trie["tokens"] == without["tokens"] == [7, 7]


@pytest.mark.nightly
def test_inside_a_span_a_step_does_not_depend_on_the_vocabulary(output: dict[str, Any]) -> None:
    """Not on its size but by what its caches hold: 31 times as many candidates, not 31 times."""
    small, large = output["costs"]
    assert large["step"] < 10 * small["step"]
    assert large["no_trie"] > 10 * small["no_trie"]
