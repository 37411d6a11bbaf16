"""The token trie's calls from TypeScript: their order, by a library that notes what is called."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.tries import SEED
from tests.support.tsampler_node import TRIE_RUNNER, run_js

# A library that notes its calls; `without` names functions that it lacks. Tokens 4 and 5 come
# later, as from another thread.
SPY = Path(__file__).with_name("trie_calls.js").read_text(encoding="utf-8")
PREFILL, GENERATE = ["prefill", "h", [1, 2, 3], -1], ["generate", "h", 10, 0.7, 0.9]
TOKENS, CLEAR = [["token"], ["token"]], ["clear", "h"]
TRIE = {"tokenTreePayload": json.loads(SEED)}


def set_with(mode: int) -> list[Any]:
    return ["set", "h", json.dumps(TRIE["tokenTreePayload"], separators=(",", ":")), mode]


@pytest.mark.slow
@pytest.mark.parametrize(("args", "mode"), [({}, 0), ({"tokenTreeMode": 1}, 1)])
def test_it_sets_behind_the_prompt_and_clears_behind_the_last_token(
    args: dict[str, int], mode: int
) -> None:
    seen = run_js(SPY, {"args": {**TRIE, **args}}, TRIE_RUNNER)
    assert seen["calls"] == [PREFILL, set_with(mode), GENERATE, *TOKENS, CLEAR]
    assert (seen["tokens"], seen["error"]) == ([[4, "a", False], [5, "b", True]], "")
    assert seen["warnings"] == []


def test_without_a_payload_neither_is_called() -> None:
    seen = run_js(SPY, {}, TRIE_RUNNER)
    assert (seen["calls"], seen["warnings"]) == ([PREFILL, GENERATE, *TOKENS], [])


@pytest.mark.slow
@pytest.mark.parametrize("without", [["set"], ["clear"], ["set", "clear"]], ids="-".join)
def test_a_build_that_lacks_a_function_generates_without_a_trie_and_warns(
    without: list[str],
) -> None:
    """One that cannot clear it is given none: it would mask the next text, too."""
    seen = run_js(SPY, {"args": TRIE, "without": without}, TRIE_RUNNER)
    assert seen["calls"] == [PREFILL, GENERATE, *TOKENS]
    assert seen["warnings"] == ["token trie: not in this build; the grammar alone constrains"]
    assert (len(seen["tokens"]), seen["error"]) == (2, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "error", "calls"),
    [
        ({"prefill": -2}, "prefill failed: -2", [PREFILL]),
        ({"status": 7}, "generate failed: 7", [PREFILL, set_with(0), GENERATE, CLEAR]),
        ({"throws": True}, "thrown by the library", [PREFILL, set_with(0), GENERATE, CLEAR]),
    ],
    ids=["prefill", "status", "exception"],
)
def test_where_something_fails_no_trie_stays(
    failing: dict[str, Any], error: str, calls: list[Any]
) -> None:
    seen = run_js(SPY, {"args": TRIE, **failing}, TRIE_RUNNER)
    assert (seen["error"], seen["calls"]) == (error, calls)
