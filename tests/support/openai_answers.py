"""Answers of OpenAI's completions: a right one with lists, whole and in chunks, to be spoiled."""

import json
from copy import deepcopy
from typing import Any

Data = dict[str, Any]
WORDS = ("one", " two", " three", " four")


def lists(words: tuple[str, ...]) -> Data:
    """Return the logprobs of words in four lists."""
    chosen = [-0.1 * len(word) for word in words]
    top = [{word: value, "z": -3.0} for word, value in zip(words, chosen, strict=True)]
    return {"tokens": list(words), "token_logprobs": chosen, "top_logprobs": top}


def whole(choices: int = 2) -> Data:
    """Return an answer to a request for four tokens."""
    choice = {"text": "".join(WORDS), "finish_reason": "length", "logprobs": lists(WORDS)}
    usage = {"prompt_tokens": 3, "completion_tokens": 4 * choices, "total_tokens": 3 + 4 * choices}
    return {"choices": [{"index": i, **deepcopy(choice)} for i in range(choices)], "usage": usage}


def chunks() -> list[Data]:
    """Return a stream: two words a chunk, the end, and the counts alone."""
    pairs = (WORDS[:2], WORDS[2:])
    parts = [
        {"index": 0, "text": "".join(pair), "finish_reason": None, "logprobs": lists(pair)}
        for pair in pairs
    ]
    end = {"index": 0, "text": "", "finish_reason": "length", "logprobs": None}
    return [*({"choices": [part]} for part in (*parts, end)), whole(1) | {"choices": []}]


def body(events: list[Data]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
