"""State what must hold of every answer, whatever was asked. Each function returns what is wrong, or
"". A field that does not come is not looked at."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sampler_parity.programs.servers import consistency
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.dialects import Dialect

OF_LLAMA_SERVER = ("settings", "pieces", "prompt")  # no other dialect has them
OF_OPENAI = ("tokens", "chunks")  # those of llama-server are bytes and pieces
_NOT_REPORTED = ("json_schema",)  # it becomes a grammar
_CUT = 3  # more bytes of a character: a text may go on to its end


def _stated(dialect: Dialect, answer: Answer) -> dict[str, Any]:
    """Return the parameters of a request that are documented values."""
    sent = answer.sent.get(dialect.group, {}) if dialect.group else answer.sent
    nonsense = {row.name: (row.wrong, row.beyond) for row in dialect.parameters}
    return {name: v for name, v in sent.items() if v not in nonsense.get(name, ())}


def _tokens(data: Mapping[str, Any]) -> Any:
    return data.get("tokens_predicted", (data.get("usage") or {}).get("completion_tokens"))


def _sums(answer: Answer) -> bool:
    """Return whether the count of tokens is that of several answers to one request (OpenAI's)."""
    return bool(answer.siblings or answer.index) and "tokens_predicted" not in answer.last


def _stops(stated: Mapping[str, Any]) -> list[str]:
    """Return the stop strings. One that is in no list may be ignored."""
    stop = stated.get("stop") or []
    return [stop] if isinstance(stop, str) else list(stop)


def _ending(dialect: Dialect, answer: Answer) -> str:
    """Require that a text ends by its length there, and else at a stop string that is not in it."""
    stated = _stated(dialect, answer)
    came = None if _sums(answer) and answer.index else _tokens(answer.last)
    length, word = stated.get(dialect.length), answer.last.get("stopping_word", "")
    stops = [stop for stop in _stops(stated) if stop]
    if type(length) is int and length > 0 and came is not None:
        short = came < length and answer.ended in ("limit", "length")  # the context is full
        truncated = answer.last.get("truncated", False)
        further = 0 if "".join(answer.texts).isascii() else _CUT
        most = (length + further) * (len(answer.texts) if _sums(answer) else 1)
        if came > most or (short != truncated and not _sums(answer)):
            line = f"{came} tokens instead of {length}, ended by {answer.ended}"
            return f"{line}, truncated {truncated}"
    # Where the context ends at a stop string, the server reports both.
    both = answer.last.get("truncated", False) and answer.ended == "limit"
    conclusive = not both and answer.ended in ("word", "limit", "eos")
    if conclusive and (word in stops) != (answer.ended == "word"):
        return f"ended by {answer.ended}, at the stop string {word!r}"
    # vLLM looks for a stop string only behind the smallest number of tokens.
    looks_later = (stated.get("min_tokens") or 0) > 0
    listed = [] if looks_later else [stop for stop in stops if stop != stated["stop"]]
    contained = [stop for stop in listed if stop in answer.text]
    return f"the stop string {contained[0]!r} is in the text" if contained else ""


def _counts(dialect: Dialect, answer: Answer) -> str:
    """Require of all counts that they agree."""
    data, usage, prompt = answer.last, answer.last.get("usage") or {}, answer.sent.get("prompt")
    indexes = [item.index for item in (answer, *answer.siblings)]
    several = [n for name, n in dialect.several.items() if answer.sent.get(name) == n]
    if isinstance(prompt, list) and prompt and all(isinstance(item, str) for item in prompt):
        several.append(len(prompt))
    if answer.index == 0 and several and indexes != [*range(max(several))]:
        return f"answers {indexes} come instead of {max(several)}"
    counts = [usage.get(f"{of}_tokens", 0) for of in ("prompt", "completion", "total")]
    came, timings = _tokens(data), data.get("timings") or {}
    equal = {"usage": (counts[0] + counts[1], counts[2])}
    equal["timed"] = (timings.get("predicted_n", came), came)
    # a stream does not name all
    if answer.tokens and not answer.sent.get("stream") and not _sums(answer):
        equal["named"] = (len(answer.tokens), came)
        # A character in several tokens is reported once.
        if answer.reports and answer.ended != "word" and answer.text.isascii():
            equal["reported"] = (len(answer.reports), came)
    if "tokens_evaluated" in data:
        read = data["tokens_evaluated"]
        equal["cached"] = (data.get("tokens_cached", read + came - 1), read + came - 1)
        equal["read"] = (timings.get("cache_n", 0) + timings.get("prompt_n", read), read)
        reads = {event.get("tokens_evaluated", read) for event in answer.events}
        equal["of each event"] = (reads, {read})
        if isinstance(prompt, list) and prompt and all(type(item) is int for item in prompt):
            equal["prompt"] = (read, len(prompt))
        running = [n for event in answer.events if (n := _tokens(event)) is not None]
        equal["in order"] = (running, sorted(running))
    for of in ("prompt", "predicted"):
        per_token, rate = timings.get(f"{of}_per_token_ms"), timings.get(f"{of}_per_second")
        if per_token and rate and not math.isclose(per_token * rate, 1000, rel_tol=1e-3):
            return f"{of}: {per_token} ms each are not {rate} in a second"
    wrong = {name: pair for name, pair in equal.items() if pair[0] != pair[1]}
    return f"counts that differ: {wrong}" if wrong and came is not None else ""


def _settings(dialect: Dialect, answer: Answer) -> str:
    """Require the settings of the request, and else the documented defaults. Other forms of a value
    are reported in one way."""
    settings = answer.last.get("generation_settings") or {}
    stated = {name: v for name, v in _stated(dialect, answer).items() if v is not None}
    for row in dialect.parameters:
        if row.default is not None and answer.sent.get(row.name) is None:
            stated[row.name] = row.default
    lost = [row.name for row in dialect.parameters if row.name in _stated(dialect, answer)]
    lost = [name for name in lost if name in stated and name not in {*settings, *_NOT_REPORTED}]
    if settings and lost:
        return f"{lost[0]} {stated[lost[0]]!r} is not reported"
    for name, value in stated.items():
        echo = settings.get(name, value)
        if type(value) in (int, float):
            form = value < 0 and name in ("temperature", "top_k")
            form |= name == "seed" and (answer.index > 0 or not 0 <= value < 1 << 32)
            right = form or math.isclose(value, echo, rel_tol=1e-6)
        else:
            ignored = name == "logit_bias" or (
                name in ("stop", "samplers") and isinstance(value, str)
            )
            right = ignored or value == echo
        if not right:
            return f"{name} {value!r} is reported as {echo!r}"
    return ""


def _probabilities(dialect: Dialect, answer: Answer) -> str:
    """Require of a list that it is sorted, names no token twice, comes to 1 at most, and has the
    chosen token's own value. After sampling it has p, and as many as are left."""
    after = bool(answer.sent.get("post_sampling_probs"))
    rows = [row for event in answer.events for row in event.get("completion_probabilities", ())]
    if any(("top_probs" in row) != after for row in rows):
        return f"post_sampling_probs {after}: the other kind comes"
    # It changes p, and not the order.
    adapts = after and "adaptive_p" in (_stated(dialect, answer).get("samplers") or ())
    for i, report in enumerate(answer.reports):
        values, chosen = [token.logprob for token in report.top], report.token
        total = sum(values) if after else sum(token.p for token in report.top)
        listed = {token.name: token.logprob for token in report.top}
        least = min(values, default=math.inf)
        of_own = (
            chosen.logprob == listed[chosen.name]
            if chosen.name in listed
            else chosen.logprob <= least
        )
        ordered = adapts or values == sorted(values, reverse=True)
        if not (ordered and of_own and len(listed) == len(values) and total <= 1 + 1e-4):
            return (
                f"token {i}: {chosen.name!r} has {chosen.logprob}, the list {listed}, {total:.6g}"
            )
    return ""


def _held(dialect: Dialect, answer: Answer) -> bool:
    """Return whether a text ends like the beginning of a stop string. llama-server reports such
    tokens without their bytes."""
    stops = _stops(_stated(dialect, answer))
    return any(answer.text.endswith(stop[:n]) for stop in stops for n in range(1, len(stop) + 1))


def _entries(answer: Answer) -> list[Mapping[str, Any]]:
    """Return what an answer reports of each token, in llama-server's form or that of chats."""
    choices = [choice for event in answer.events for choice in event.get("choices", ())]
    rows = [row for event in answer.events for row in event.get("completion_probabilities", ())]
    for choice in choices:
        rows += (choice.get("logprobs") or {}).get("content") or ()
    return rows


def _bytes(dialect: Dialect, answer: Answer) -> str:
    """Require of the bytes of tokens that they are their texts, and together the answer's."""
    rows = _entries(answer)
    likely = [top for row in rows for top in row.get("top_logprobs", row.get("top_probs", ()))]
    for entry in (entry for entry in (*rows, *likely) if entry.get("bytes") is not None):
        spelled = bytes(entry["bytes"])  # a character that is cut is left out, or replaced
        if entry["token"] not in (spelled.decode(errors=how) for how in ("ignore", "replace")):
            return f"{entry['token']!r} has the bytes {entry['bytes']}"
    if dialect.text != "llama-server":
        return ""  # consistency.spelled
    text = b"".join(bytes(row["bytes"]) for row in rows).decode(errors="replace")
    part = answer.ended == "word" or _held(dialect, answer)
    right = text.startswith(answer.text) or (part and text in answer.text)
    if rows and answer.text.isascii() and not right:
        return f"the tokens spell {text!r}, the text is {answer.text!r}"
    return ""


def _prompt(dialect: Dialect, answer: Answer) -> str:
    """Require the prompt as it was sent, and whether the text has a new line."""
    sent, data = answer.sent.get("prompt"), answer.last
    if isinstance(sent, list) and all(isinstance(item, str) for item in sent):
        sent = sent[answer.index : answer.index + 1]
        sent = sent[0] if sent else ""
    # Detokenizing may leave out a blank before a mark.
    echo = str(data.get("prompt", sent)).replace(" ", "")
    if isinstance(sent, str) and not echo.endswith(sent.replace(" ", "")):
        return f"the prompt {sent!r} is reported as {data['prompt']!r}"
    lines = "\n" in answer.text
    hidden = len(answer.tokens or ()) < (_tokens(data) or 0)  # a stream's part of a character
    unsure = _held(dialect, answer) if lines else answer.ended == "word" or hidden
    if data.get("has_new_line", lines) != lines and not unsure:
        return f"has_new_line {data['has_new_line']}: {answer.text!r}"
    return ""


def _pieces(dialect: Dialect, answer: Answer) -> str:
    """Require that the last event, and no other, states that it is the last."""
    ends = [event.get("stop") for event in answer.events]
    return f"stop: {ends}" if ends and ends != [False] * (len(ends) - 1) + [True] else ""


INVARIANTS: dict[str, Callable[[Dialect, Answer], str]] = {
    "ending": _ending,
    "counts": _counts,
    "settings": _settings,
    "probabilities": _probabilities,
    "bytes": _bytes,
    "pieces": _pieces,
    "prompt": _prompt,
    "tokens": consistency.spelled,
    "chunks": consistency.in_chunks,
    "lengths": consistency.lengths,
}


def offered(name: str, dialect: Dialect) -> bool:
    """Return whether answers of the dialect have the fields that an invariant is about."""
    only = {**dict.fromkeys(OF_LLAMA_SERVER, "llama-server"), **dict.fromkeys(OF_OPENAI, "openai")}
    return only.get(name, dialect.text) == dialect.text


# Which answers have what an invariant is about; the others are about every answer.
_CARRIED: dict[str, Callable[[Answer], bool]] = {
    "counts": lambda answer: _tokens(answer.last) is not None,
    "settings": lambda answer: bool(answer.last.get("generation_settings")),
    "probabilities": lambda answer: bool(answer.reports),
    "bytes": lambda answer: any(entry.get("bytes") for entry in _entries(answer)),
    "prompt": lambda answer: "prompt" in answer.last,
    "tokens": lambda answer: bool(answer.reports),
    "chunks": lambda answer: bool(answer.parts and answer.reports),
    "lengths": lambda answer: bool(answer.reports),
}


def carried(answer: Answer) -> Iterator[str]:
    """Yield the name of each invariant that an answer has something to judge by."""
    for name in INVARIANTS:
        if _CARRIED.get(name, bool)(answer):
            yield name


def broken(dialect: Dialect, answer: Answer) -> Iterator[tuple[str, str]]:
    """Give the name of each invariant that an answer breaks, and how."""
    names = {alias: name for name, aliases in dialect.aliases.items() for alias in aliases}
    answer = replace(answer, sent={names.get(k, k): v for k, v in answer.sent.items()})
    for name, wrong in INVARIANTS.items():
        if not offered(name, dialect):
            continue
        try:
            line = wrong(dialect, answer)
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            line = f"not an answer of the dialect: {type(error).__name__}"
        if line:
            yield name, line
