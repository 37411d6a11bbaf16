"""Two logs of answers that differ: what their log-probabilities show of the cause."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.differences.comparison import Comparison
from sampler_parity.programs.differences.logs import compare_logs, texts_of_log

WORDS = " a", " b", " c", " d"
LOGITS = ((3.0, 1.0, 0.5, -2.0), (2.0, 1.9995, 0.0, -1.0), (1.0, 2.5, 1.8, -2.0))
REQUEST = {"prompt": "once", "temperature": 0.8, "seed": 1}
Answer = dict[str, Any]


def chat(tokens: str, scale: float = 1, noise: float = 0, **request: Any) -> Answer:
    """Return an answer with its request. noise: added to the second logit."""
    content = []
    for token, logits in zip(tokens, LOGITS, strict=False):
        values = [scale * (x + noise * (i == 1)) for i, x in enumerate(logits)]
        top = [{"token": word, "logprob": x} for word, x in zip(WORDS, values, strict=True)]
        content.append({**top["abcd".index(token)], "top_logprobs": top})
    choice = {"message": {"content": ""}, "logprobs": {"content": content}}
    return {"request": REQUEST | request, "response": {"choices": [choice]}}


def compared(folder: Path, a: Answer, b: Answer) -> Comparison:
    for name, answer in ("a", a), ("b", b):
        (folder / name).write_text(json.dumps(answer))
    return compare_logs(folder / "a", folder / "b")


@pytest.mark.parametrize(
    ("a", "b", "cause", "words"),
    [
        (chat("aab"), chat("aab"), "", ""),
        (chat("aab"), chat("aac", prompt="twice"), "prompt", "other prompts"),
        (chat("aab"), chat("aac", scale=0.5, temperature=1.6), "sampler", "scaled by 0.5"),
        (chat("aab"), chat("aac", scale=1.05), "logits", "scaled by 1.05"),
        (chat("aab"), chat("aac", noise=0.3), "logits", "up to 0.3 (lists: 3), more than rounding"),
        (chat("aa"), chat("ab", noise=1e-3), "logits", "likeliest token, which are 0.0005 apart"),
        (chat("aab"), chat("aac", top_p=0.5), "sampler", "request.top_p is None in A and 0.5 in B"),
        (chat("aab"), chat("aac", seed=2), "stream", "request.seed is 1 in A and 2 in B"),
        (chat("aab"), chat("aac"), "", "not the model, but settings or random numbers"),
        (chat("aab"), chat("aac", seed=2, top_p=0.5), "", "not the model, but settings"),
        (chat("aab"), chat("aa"), "", "B's text ends there"),
        (chat("ab"), chat("ac", model="other"), "", "not the model"),
    ],
)
def test_log_probabilities_show_the_cause_or_that_they_cannot(
    tmp_path: Path, a: Answer, b: Answer, cause: str, words: str
) -> None:
    comparison = compared(tmp_path, a, b)
    decision = comparison.decision
    assert comparison.is_equal == (words == "")
    assert [*decision.causes] == ([cause] if cause else [])
    assert words in "".join([*decision.causes.values(), decision.undecided])
    assert [*compared(tmp_path, b, a).decision.causes] == [*decision.causes]


def test_the_first_different_token_is_named_with_the_text_before(tmp_path: Path) -> None:
    rows = dict(compared(tmp_path, chat("aab"), chat("aac", seed=2)).rows())
    assert rows["same"] == "2 tokens: ... a a"
    assert rows["parts"] == "A goes on with ' b', B with ' c'"
    assert (rows["prompt"], "next" in rows) == ("equal", False)


COMPLETIONS = {
    "choices": [
        {
            "text": " a b",
            "logprobs": {"tokens": [" a", " b"], "token_logprobs": [-0.1, None]},
        }
    ]
}
LLAMA = {
    "content": " a b",
    "completion_probabilities": [
        {"id": i, "token": text, "logprob": -0.1, "top_logprobs": []}
        for i, text in enumerate((" a", " b"))
    ],
}
TOKENS = '{"token": " a", "logprob": -0.1}\n\n{"token": " b", "logprob": -2, "top_logprobs": null}'


ONE_TOKEN = {"tokens": [" a b"], "token_logprobs": [-1]}
FORMS: dict[str, Answer] = {
    "words": COMPLETIONS,
    "ids": LLAMA,
    "characters": {"content": " a b"},
    "other tokens": {"choices": [{"text": " a b", "logprobs": ONE_TOKEN}]},
}


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_equal_texts_are_equal_in_each_form(tmp_path: Path, first: str, second: str) -> None:
    assert compared(tmp_path, FORMS[first], FORMS[second]).is_equal
    other = json.loads(json.dumps(FORMS[second]).replace(" b", " c").replace('"id": 1', '"id": 9'))
    comparison = compared(tmp_path, FORMS[first], other)
    assert not comparison.is_equal
    assert comparison.before in ("", " a", " a ")


@pytest.mark.parametrize(
    ("lines", "tokens"),
    [
        (json.dumps(COMPLETIONS), [[" a", " b"]]),
        (json.dumps(LLAMA), [[0, 1]]),
        (TOKENS, [[" a", " b"]]),
        ('{"content": "a b", "tokens": [5, 6]}', [[5, 6]]),
        ('{"prompt": "x", "response": {"content": "ab"}}', [["a", "b"]]),
        ('{"choices": [{"text": "a"}, {"text": "b"}]}', [["a"], ["b"]]),
    ],
)
def test_answers_of_each_kind_and_single_tokens_are_read(
    tmp_path: Path, lines: str, tokens: list[list[Any]]
) -> None:
    (tmp_path / "log").write_text(lines)
    assert [text.tokens for text in texts_of_log(tmp_path / "log")] == tokens


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", "has no token"),
        ('{"content": "a"}\n{"content"', ":2"),
        ("[1]", ":1"),
        ('{"choices": 3}', ":1"),
        ('{"token": 3, "logprob": 1}', ":1"),
    ],
)
def test_a_line_that_is_no_answer_is_refused_with_its_place(
    tmp_path: Path, lines: str, words: str
) -> None:
    (tmp_path / "log").write_text(lines)
    with pytest.raises(InputError, match=words):
        texts_of_log(tmp_path / "log")


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "logprobs", "content", "token", "logprob", "tokens", "text"]
            )
            | st.sampled_from(["response", "request", "prompt", "top_logprobs", "message", "id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(a=VALUES, b=VALUES)
def test_any_json_is_compared_or_refused(
    tmp_path_factory: pytest.TempPathFactory, a: Any, b: Any
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    with suppress(InputError):
        assert all(label or text for label, text in compared(folder, a, b).rows())
