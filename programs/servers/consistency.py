"""State what must hold between the text, the tokens and the counts of an answer of OpenAI's form.

Each function returns what is wrong, or "". Blanks are left out: servers write those of a token in
several ways, and a chat may leave out the first.
"""

import re

from sampler_parity.programs.servers.answer import FULL, Answer
from sampler_parity.programs.servers.dialects import Dialect

_BLANKS = re.compile(r"[\s\u0120\u010a\u2581]+")  # the last three are those of vocabularies
_HIDDEN = ("reasoning", "reasoning_content", "tool_calls")  # fields with tokens outside the text
_SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z_]+\]")  # a text may leave out such a token
_CUT = 4  # bytes of a character: its tokens may be one report


def spelled(dialect: Dialect, answer: Answer) -> str:
    """Require that the tokens are the text, or at a stop that one of both goes on."""
    if not _comparable(dialect, answer):
        return ""
    tokens, text = _joined(answer), _plain(answer.text)
    goes_on = tokens.startswith(text) or text.startswith(tokens)
    if tokens == text or (goes_on and answer.ended not in FULL):
        return ""
    return f"choice {answer.index}: the tokens spell {tokens[:60]!r}, the text is {text[:60]!r}"


def in_chunks(dialect: Dialect, answer: Answer) -> str:
    """Require of each chunk of a stream that the tokens of the lists so far have the text so far. A
    server may hold back the beginning of a stop string, and then no list comes."""
    if not _comparable(dialect, answer) or answer.sent.get("stop"):
        return ""
    for i in range(1, len(answer.parts) + 1):
        text = _plain("".join(part.text for part in answer.parts[:i]))
        tokens = "".join(map(_joined, answer.parts[:i]))
        if not tokens.startswith(text):
            return f"chunk {i}: the lists are of {tokens[-30:]!r}, the text is {text[-30:]!r}"
    return ""


def lengths(dialect: Dialect, answer: Answer) -> str:
    """Require no more tokens of a choice than asked for, and of the count that it is the sum over
    all choices, if each ends at its length."""
    length, choices = answer.sent.get(dialect.length), (answer, *answer.siblings)
    listed = [len(choice.reports) for choice in choices]
    if type(length) is int and length > 0 and max(listed) >= length + _CUT:
        return f"{max(listed)} tokens are listed, {length} are asked for"
    came = (answer.last.get("usage") or {}).get("completion_tokens")
    are_full = all(choice.ended == "length" and choice.text.isascii() for choice in choices)
    if dialect.text != "openai" or answer.index or came is None or not (are_full and all(listed)):
        return ""
    # llama-server counts the first choice alone (b11549).
    right = (sum(listed), *listed[: dialect.family == "llama-server"])
    return f"{came} tokens are counted, {listed} are listed" if came not in right else ""


def _comparable(dialect: Dialect, answer: Answer) -> bool:
    """Return whether the tokens have texts, and all of them are in the answer's text."""
    if dialect.text != "openai" or not answer.text.isascii():
        return False
    tokens = [report.token for report in answer.reports]
    messages = [
        choice.get("message") or choice.get("delta") or {}
        for event in answer.events
        for choice in event.get("choices", ())
    ]
    hidden = any(message.get(name) for message in messages for name in _HIDDEN)
    hidden |= any(_SPECIAL.fullmatch(token.text) for token in tokens)
    return any(token.text for token in tokens) and all(t.id < 0 for t in tokens) and not hidden


def _joined(answer: Answer) -> str:
    return _plain("".join(report.token.text for report in answer.reports))


def _plain(text: str) -> str:
    return _BLANKS.sub("", text)
