"""Read the JSON of an answer: llama-server's, OpenAI's completions and chat, Ollama's."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sampler_parity.programs.servers.answer import Answer, TokenProbability, TokenReport
from sampler_parity.programs.servers.dialects import Dialect


def read_answer(dialect: Dialect, sent: Mapping[str, Any], data: Any) -> Answer:
    """Read an answer. Raises LookupError, TypeError, ArithmeticError, ValueError or AttributeError
    for JSON that is not a completion."""
    if dialect.text == "llama-server" and isinstance(data, list):  # several completions
        first, *rest = (_of_llama_server(sent, completion) for completion in data)
        return replace(first, siblings=tuple(rest))
    if dialect.text == "llama-server":
        return _of_llama_server(sent, data)
    if dialect.text == "ollama":
        ended = str(data.get("done_reason", ""))
        return Answer(sent, str(data["response"]), ended=ended, events=(data,))
    return _of_openai(sent, data)


def _of_llama_server(sent: Mapping[str, Any], data: Any) -> Answer:
    """Read logprob, or with post_sampling_probs prob; the top tokens have the same keys."""
    return Answer(
        sent,
        _text(data["content"]),
        tuple(int(token) for token in data.get("tokens", ())),
        tuple(
            TokenReport(_probability(entry), tuple(map(_probability, _tops(entry))))
            for entry in data.get("completion_probabilities", ())
        ),
        str(data.get("stop_type", "")),
        index=int(data.get("index", 0)),
        events=(data,),
    )


def _tops(entry: Mapping[str, Any]) -> Sequence[Any]:
    tops: Sequence[Any] = entry["top_logprobs" if "top_logprobs" in entry else "top_probs"]
    return tops


def _probability(entry: Mapping[str, Any]) -> TokenProbability:
    value = entry["logprob"] if "logprob" in entry else entry["prob"]
    text = (
        entry["token"] if "id" not in entry else entry.get("token", "")
    )  # mlx-lm's have the id alone
    return TokenProbability(int(entry.get("id", -1)), _text(text), float(value))


def _of_openai(sent: Mapping[str, Any], data: Any) -> Answer:
    """Read an answer of OpenAI's: a choice each, in the order of their indexes. The last event of a
    stream may have the counts alone."""
    choices = [_choice(sent, choice, i) for i, choice in enumerate(data["choices"])]
    if not choices:
        return Answer(sent, events=(data,))
    first, *rest = sorted(choices, key=lambda choice: choice.index)
    return replace(first, siblings=tuple(rest), events=(data,))


def _choice(sent: Mapping[str, Any], choice: Mapping[str, Any], position: int) -> Answer:
    """Read one completion with its own event. position: its index if it names none."""
    drawn = choice.get("token_ids")  # vLLM's, where they are asked for
    return Answer(
        sent,
        _content(choice),
        None if drawn is None else tuple(int(token) for token in drawn),
        _reports(choice.get("logprobs") or {}),
        str(choice.get("finish_reason") or ""),
        index=int(choice.get("index", position)),
        events=({"choices": [choice]},),
    )


def _reports(logprobs: Mapping[str, Any]) -> tuple[TokenReport, ...]:
    """Read logprobs in four lists, or as chat has them (`content`)."""
    if "content" in logprobs:
        return tuple(
            TokenReport(
                _probability(entry), tuple(map(_probability, entry.get("top_logprobs", ())))
            )
            for entry in logprobs["content"] or ()
        )
    return tuple(
        TokenReport(
            _by_text(_text(text), math.nan if value is None else float(value)),
            _of_map(top or {}),
        )
        for text, value, top in zip(
            logprobs.get("tokens") or (),
            logprobs.get("token_logprobs") or (),
            logprobs.get("top_logprobs") or [{}] * len(logprobs.get("tokens") or ()),
            strict=True,
        )
    )


def _of_map(top: Mapping[str, Any]) -> tuple[TokenProbability, ...]:
    """Read a map of tokens, the most likely first: a map has no order, and vLLM's begins with the
    chosen token."""
    listed = (_by_text(str(word), float(p)) for word, p in top.items())
    return tuple(sorted(listed, key=lambda token: -token.logprob))


def _by_text(text: str, logprob: float) -> TokenProbability:
    """Read a token that is named by its text. vLLM writes ids as texts where it is asked to."""
    match = re.fullmatch(r"token_id:(\d+)", text)
    return TokenProbability(int(match[1]) if match else -1, text, logprob)


def _content(choice: Mapping[str, Any]) -> str:
    """Return the text of a completion, a message, or a part of one, which may have none."""
    if "text" in choice:
        return _text(choice["text"])
    message = choice["message"] if "message" in choice else choice["delta"]
    return _text(message.get("content") or "")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    return value
