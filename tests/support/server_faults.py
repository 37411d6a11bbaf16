"""Faults between a check and a server, each wrong in one way, and the required verdict."""

import itertools
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from sampler_parity.programs.servers.values import log_softmax
from tests.support.fake_server import TABLE, Answered, Answering, Sent

Faulty = Callable[[Answering], Answering]
T = TypeVar("T")


@dataclass(frozen=True)
class Fault:
    """result, verdict: the result that reports it."""

    name: str
    result: str
    verdict: str
    between: Faulty


def _keeping(make: Callable[[], T]) -> Callable[[Callable[[Answering, Sent, T], Answered]], Faulty]:
    """Return a decorator: a function of the server, a request and a state becomes a fault.

    make: makes the state, once for each server.
    """

    def fault(answer: Callable[[Answering, Sent, T], Answered]) -> Faulty:
        def between(server: Answering) -> Answering:
            state = make()
            return lambda sent: answer(server, sent, state)

        return between

    return fault


def _request(change: Callable[[Sent], Sent]) -> Faulty:
    return lambda server: lambda sent: server(change(dict(sent)))


def _answers(change: Callable[[Sent, Any], Any]) -> Faulty:
    """Change a copy of what is answered: a list, if there were several prompts."""

    def answering(server: Answering, sent: Sent) -> Answered:
        status, data = server(sent)
        if status != 200 or "content" in sent:
            return status, data
        return status, change(sent, deepcopy(data))

    return lambda server: lambda sent: answering(server, sent)


def _answer(change: Callable[[Sent, Any], Any]) -> Faulty:
    """Change a copy of each answer."""

    def changed(sent: Sent, data: Any) -> Any:
        if isinstance(data, list):
            return [change(sent, one) for one in data]
        return change(sent, data)

    return _answers(changed)


def _sets(fields: Callable[[Any], Sent]) -> Faulty:
    """Change fields of each answer. fields: returns their values for an answer."""
    return _answer(lambda _, data: data | fields(data))


def drops(name: str) -> Faulty:
    return _request(lambda sent: {k: v for k, v in sent.items() if k != name})


def renames(name: str, other: str) -> Faulty:
    return _request(lambda sent: {other if k == name else k: v for k, v in sent.items()})


def makes(name: str, change: Callable[[Any], Any], of: type | tuple[type, ...] = object) -> Faulty:
    """Change a parameter where it is sent. of: only values of this type."""

    def changed(sent: Sent) -> Sent:
        if name in sent and isinstance(sent[name], of):
            sent[name] = change(sent[name])
        return sent

    return _request(changed)


def _default(name: str, value: Any) -> Faulty:
    return _request(lambda sent: {name: value, **sent})


def _refuses(name: str, status: int) -> Faulty:
    refusal = status, {"error": "no"}
    return lambda server: lambda sent: refusal if sent.get(name) == 1 else server(sent)


@_keeping(dict[str, Any])
def _remembers(server: Answering, sent: Sent, slot: Sent) -> Answered:
    """Keep the slot's repeat_penalty for requests that do not set one."""
    slot.update({k: v for k, v in sent.items() if k == "repeat_penalty"})
    return server({**slot, **sent})


@_keeping(list[int])
def _remembers_one_that_left(server: Answering, sent: Sent, left: list[int]) -> Answered:
    """Ban tokens for the next request after a stream."""
    ban = {"logit_bias": [[i, -100.0] for i in range(0, 300, 2)]} if left else {}
    left.clear()
    if sent.get("stream") and sent.get("n_predict") == 200:
        left.append(1)
    return server({**sent, **ban})


def _next_after(which: Callable[[Sent], bool], change: Callable[[Sent, Sent], Sent]) -> Faulty:
    """Change the one request that follows such a one: the first argument, then the second."""

    @_keeping(list[Sent])
    def fault(server: Answering, sent: Sent, before: list[Sent]) -> Answered:
        changed = change(before[0], sent) if before and which(before[0]) else sent
        before[:] = [sent]
        return server(changed)

    return fault


def _in_streams(fault: Faulty) -> Faulty:
    def between(server: Answering) -> Answering:
        faulty = fault(server)
        return lambda sent: faulty(sent) if sent.get("stream") else server(sent)

    return between


def _without_seed(_: Sent, sent: Sent) -> Sent:
    return {**sent, "seed": next(_LOST)}


_LOST = itertools.count(5000)
_SAMPLING = ("temperature", "top_k", "top_p", "repeat_penalty", "frequency_penalty", "logit_bias")


@_keeping(list[Sent])
def _pools(server: Answering, sent: Sent, running: list[Sent]) -> Answered:
    """Sample for a client that comes while others are served with the parameters of the first."""
    running.append(sent)
    first = running[0]
    time.sleep(0.002)
    kept = {k: v for k, v in sent.items() if k not in _SAMPLING}
    try:
        return server({**kept, **{k: first[k] for k in _SAMPLING if k in first}})
    finally:
        running.remove(sent)


def _swaps(server: Answering) -> Answering:
    """Swap the texts of two clients that ask at once."""
    waiting: list[tuple[threading.Event, list[Answered], Answered]] = []
    lock, active = threading.Lock(), itertools.count()
    running: list[int] = []

    def answering(sent: Sent) -> Answered:
        own = next(active)
        with lock:
            running.append(own)
        reply = server(sent)
        with lock:
            crowded = len(running) > 1
            if crowded and waiting:
                event, box, other = waiting.pop()
                box.append(reply)
                running.remove(own)
                event.set()
                return other
            if not crowded:
                running.remove(own)
                return reply
            event, box = threading.Event(), []
            waiting.append((event, box, reply))
        event.wait(0.05)
        with lock:
            running.remove(own)
            if not box:
                waiting[:] = [one for one in waiting if one[0] is not event]
        return box[0] if box else reply

    return answering


@_keeping(threading.Lock)
def _one_at_a_time(server: Answering, sent: Sent, busy: Any) -> Answered:
    """Refuse a client that comes while another is served."""
    if not busy.acquire(blocking=False):
        return 503, {"error": "busy"}
    time.sleep(0.002)
    reply = server(sent)
    busy.release()
    return reply


@_keeping(lambda: itertools.count(1000))
def _new_seed(server: Answering, sent: Sent, seeds: Iterator[int]) -> Answered:
    return server({**sent, "seed": next(seeds)})


def _places(change: Callable[[Any], Any]) -> Faulty:
    def changed(_: Sent, data: Any) -> Any:
        for place in data.get("completion_probabilities", ()):
            change(place)
        return data

    return _answer(changed)


def _rounds(place: Any) -> None:
    for one in (place, *place.get("top_logprobs", ())):
        if "logprob" in one:
            one["logprob"] = round(one["logprob"], 2)


def _tempered(sent: Sent, data: Any) -> Any:
    for place in data.get("completion_probabilities", ()):
        for one in (place, *place.get("top_logprobs", ())):
            one["logprob"] = one.get("logprob", 0.0) / (sent.get("temperature") or 1.0)
    return data


def _cut(sent: Sent, data: Any) -> Any:
    for place in data.get("completion_probabilities", ()):
        del place.get("top_logprobs", [])[sent.get("top_k") or 99 :]
    return data


def _logprobs(change: Callable[[Sent, list[float]], list[float]]) -> Faulty:
    """Change the logprobs of each place: the chosen token's, then those of the list."""

    def changed(sent: Sent, data: Any) -> Any:
        for place in data.get("completion_probabilities", ()):
            key = "logprob" if "logprob" in place else "prob"
            ones = [place, *place["top_logprobs" if key == "logprob" else "top_probs"]]
            for one, value in zip(ones, change(sent, [o[key] for o in ones]), strict=True):
                one[key] = value
        return data

    return _answer(changed)


def _after_temperature(sent: Sent, data: Any) -> Any:
    """Apply the temperature to the logprobs.

    In a table model each token determines the next logits.
    """
    tokens = [sent["prompt"][-1], *data["tokens"]]
    for before, place in zip(tokens, data.get("completion_probabilities", ()), strict=False):
        logprobs = log_softmax(TABLE[before], sent.get("temperature") or 1.0)
        for one in (place, *place.get("top_logprobs", ())):
            if "logprob" in one:
                one["logprob"] = float(logprobs[one["id"]])
    return data


def _without_the_second(place: Any) -> None:
    if "top_logprobs" in place:
        del place["top_logprobs"][1]


def _over_the_list(_: Sent, values: list[float]) -> list[float]:
    total = math.log(sum(math.exp(value) for value in values[1:]))
    return [value - total for value in values]


def _of_the_next(_: Sent, data: Any) -> Any:
    """Replace the list of each token by that of the next token."""
    places = data.get("completion_probabilities", [])
    lists = [place.get("top_logprobs") for place in places]
    for place, other in zip(places, lists[1:], strict=False):
        place["top_logprobs"] = other
    return data


# Faults that only the model's logits show: the fact that names each, and a part of its text.
OF_VALUES = (
    ("rounds", "values", "all are rounded to 3 decimals",
     _logprobs(lambda _, values: [round(value, 3) for value in values])),
    ("takes temperature for granted", "values with samplers", "those after temperature 0.5",
     _answer(_after_temperature)),
    ("normalises over the list", "values of a hot text", "come to 1 over the list alone",
     _logprobs(_over_the_list)),
    ("is off by a thousandth", "values", "the model gives",
     _logprobs(lambda _, values: [value + 1e-3 for value in values])),
    ("sends the list of the next token", "values", "the model gives", _answer(_of_the_next)),
    ("leaves out the second", "values", "is not in the list", _places(_without_the_second)),
    ("sends the best for the chosen one", "values of a hot text", "the model gives",
     _logprobs(lambda _, values: [max(values), *values[1:]])),
)  # fmt: skip


def _loses_a_token(sent: Sent, data: Any) -> Any:
    if not sent.get("stream"):
        return data
    words = data["content"].split(" ")
    return {**data, "content": " ".join(words[:3] + words[4:]), "tokens": data["tokens"][:-1]}


@_keeping(dict[str, Any])
def _caches_grammars(server: Answering, sent: Sent, kept: Sent) -> Answered:
    """Keep compiled grammars by their first letters."""
    text = sent.get("grammar")
    if not isinstance(text, str) or len(text) < 12:
        return server(sent)
    return server({**sent, "grammar": kept.setdefault(text[:12], text)})


def _lists_the_chosen(place: Any) -> None:
    top = place.get("top_logprobs", [])
    if place["id"] not in [one["id"] for one in top]:
        top.insert(0, {k: v for k, v in place.items() if k != "top_logprobs"})


def _ends_twice(sent: Sent, data: Any) -> Any:
    return {**data, "stop": not sent.get("stream")}


def _names_no_stop(_: Sent, data: Any) -> Any:
    return {**data, "stopping_word": ""} if data.get("stop_type") == "word" else data


def _sends_the_stop(sent: Sent, data: Any) -> Any:
    if data["stop_type"] == "word":
        data["content"] += sent["stop"][0]
    return data


@_keeping(list[Any])
def _keeps_the_stops_of_streams(server: Answering, sent: Sent, kept: list[Any]) -> Answered:
    """Keep the stop strings of a stream for the next request without any."""
    if "content" in sent:
        return server(sent)
    if sent.get("stream"):
        kept[:] = [sent["stop"]] if sent.get("stop") else []
    elif kept and not sent.get("stop"):
        return server({**sent, "stop": kept.pop()})
    return server(sent)


@_keeping(dict[str, Any])
def _keeps_prompts_by_length(server: Answering, sent: Sent, kept: Sent) -> Answered:
    """Take a prompt for the last one that was as long and began like it."""
    if not sent.get("cache_prompt") or not isinstance(sent["prompt"], str):
        return server(sent)
    return server({**sent, "prompt": kept.setdefault(sent["prompt"][:12], sent["prompt"])})


def _null_as_0(sent: Sent) -> Sent:
    return {name: 0 if value is None else value for name, value in sent.items()}


def _fixed_seed(sent: Sent) -> Sent:
    return sent if sent.get("seed", -1) != -1 else {**sent, "seed": 99}


def _cold_as_0(temperature: float) -> float:
    return temperature if temperature >= 0.1 else 0.0


def _of_ids(biases: list[Any]) -> list[Any]:
    return [pair for pair in biases if isinstance(pair[0], int)]


def _in_ascii(biases: list[Any]) -> list[Any]:
    return [pair for pair in biases if str(pair[0]).isascii()]


def _without_bans(biases: list[Any]) -> list[Any]:
    return [pair for pair in biases if pair[1] is not False and pair[1] > -50]


def _beside(name: str, other: str) -> Faulty:
    """Drop a parameter where another one is sent."""
    return _request(lambda s: {k: v for k, v in s.items() if k != name or not s.get(other)})


@_keeping(itertools.count)
def _worker_s_seed(server: Answering, sent: Sent, count: Iterator[int]) -> Answered:
    """Give requests without a seed one of four in turn."""
    return server(sent if "seed" in sent else {**sent, "seed": next(count) % 4})


@_keeping(dict[str, Any])
def _keeps_what_it_refused(server: Answering, sent: Sent, kept: Sent) -> Answered:
    """Keep the temperature of a refused request for the next one that has none."""
    reply = server({**kept, **sent})
    kept.clear()
    if reply[0] == 400 and isinstance(sent.get("temperature"), float):
        kept["temperature"] = sent["temperature"]
    return reply


def _splits_characters(sent: Sent, data: Any) -> Any:
    if not sent.get("stream"):
        return data
    split = (c if c.isascii() else "\ufffd" * len(c.encode()) for c in data["content"])
    return {**data, "content": "".join(split)}


_LIMITS = ("minItems", "maxItems", "minLength", "maxLength")


def _unlimited(schema: Any) -> Any:
    """Return a schema without limits, also inside it."""
    if isinstance(schema, dict):
        return {k: _unlimited(v) for k, v in schema.items() if k not in _LIMITS}
    return [_unlimited(v) for v in schema] if isinstance(schema, list) else schema


def _by_end(_: Sent, data: Any) -> Any:
    """Answer several prompts in the order in which their texts end."""
    if not isinstance(data, list):
        return data
    ordered = sorted(data, key=lambda one: len(one["content"]))
    return [{**one, "index": i} for i, one in enumerate(ordered)]


def _one_text(sent: Sent, data: Any) -> Any:
    """Answer each completion of a prompt with the first."""
    return [data[0]] * len(data) if sent.get("n_cmpl", 1) > 1 else data


@_keeping(list[Sent])
def _draws_in_company(server: Answering, sent: Sent, running: list[Sent]) -> Answered:
    """Draw for a greedy client that comes while another one is served."""
    warm = {"temperature": 1.0} if running and sent.get("temperature") == 0 else {}
    running.append(sent)
    time.sleep(0.002)
    try:
        return server({**sent, **warm})
    finally:
        running.remove(sent)


def _bans_large_biases(biases: list[Any]) -> list[Any]:
    """Ban a token for a bias that is large and negative."""
    return [[t, False if b is not True and b and b <= -10 else b] for t, b in biases]


def _with_temperature(samplers: list[str]) -> list[str]:
    return samplers if "temperature" in samplers else [*samplers, "temperature"]


def _min_keep_for_top_k(sent: Sent) -> Sent:
    if isinstance(sent.get("top_k"), int) and sent["top_k"] > 0:
        sent["top_k"] = max(sent["top_k"], sent.get("min_keep") or 0)
    return sent


@_keeping(list[str])
def _left_grammar_stays(server: Answering, sent: Sent, left: list[str]) -> Answered:
    """Keep the grammar of a long stream for the next request."""
    kept = {"grammar": left.pop()} if left and "grammar" not in sent else {}
    if sent.get("stream") and sent.get("n_predict") == 200 and sent.get("grammar"):
        left.append(sent["grammar"])
    return server({**kept, **sent})


def _ascii_only(schema: Any) -> Any:
    text = json.dumps(schema, ensure_ascii=False)
    return json.loads(text.encode("ascii", "ignore").decode())


_NUMBER = (int, float)
_STREAMED = ("repeat_penalty", "presence_penalty", "frequency_penalty", "dry_multiplier")
Row = tuple[str, str, Faulty]  # the parameter, the name of the fault


def _value(
    parameter: str, name: str, change: Callable[[Any], Any], of: type | tuple[type, ...] = object
) -> Row:
    """Return a fault that changes the values of a parameter that are of this type."""
    return parameter, name, makes(parameter, change, of)


# By the verdict of the result that reports each. Half of these and of those below were listed
# before any check was read.
def _fails_open(*names: str) -> Faulty:
    """Send a refused request again without these, as llama.cpp #24144 does."""

    def between(server: Answering) -> Answering:
        def answering(sent: Sent) -> Answered:
            reply = server(sent)
            kept = {k: v for k, v in sent.items() if k not in names}
            return server(kept) if reply[0] >= 400 and kept != sent else reply

        return answering

    return between


def _without_settings(*names: str) -> Faulty:
    """Report all settings but these."""

    def change(_: Sent, data: Any) -> Any:
        settings = data.get("generation_settings", {})
        return data | {"generation_settings": {k: v for k, v in settings.items() if k not in names}}

    return _answer(change)


_OF_PARAMETERS: dict[str, list[Row]] = {
    "silently ignored": [
        ("grammar", "drops a grammar that it cannot parse", _fails_open("grammar")),
        ("stop", "drops stop strings that are none", _fails_open("stop")),
        ("ignore_eos", "drops ignore_eos that is no boolean", _fails_open("ignore_eos")),
        ("stop", "drops the stop words", drops("stop")),
        ("logit_bias", "ignores logit_bias", drops("logit_bias")),
        ("grammar", "ignores the grammar", drops("grammar")),
        ("ignore_eos", "forgets ignore_eos", drops("ignore_eos")),
        _value("seed", "keeps the seed", lambda _: 1),
        _value("logit_bias", "takes no bans", _without_bans, list),
    ],
    "other meaning": [
        _value("top_p", "rounds top_p to two decimals", lambda p: round(p, 2), float),
        _value("repeat_last_n", "has a window of at most 64", lambda n: min(n, 64), int),
        ("temperature", "takes null for 0", _request(_null_as_0)),
        _value("top_k", "loses whole numbers with a point", lambda _: 40, float),
        _value("logit_bias", "loses biases of texts", _of_ids, list),
        ("grammar", "loses stop strings with a grammar", _beside("stop", "grammar")),
        _value("stop", "takes a stop string for its letters", lambda stop: [*stop], str),
        _value("samplers", "applies a temperature that is not listed", _with_temperature, list),
        _value("logit_bias", "bans tokens of negative biases", _bans_large_biases, list),
        _value("top_p", "has a top_p of a hundredth at least", lambda p: max(p, 0.01), _NUMBER),
        _value("logit_bias", "takes 256 biases", lambda biases: biases[:256], list),
        _value("logit_bias", "takes the last five biases", lambda biases: biases[-5:], list),
        _value("n_predict", "ends a text after 200 tokens", lambda n: min(n, 200)),
        ("top_p", "has a top_p of its own", _default("top_p", 0.5)),
        ("temperature", "has a temperature of its own", _default("temperature", 0.3)),
        _value("top_k", "keeps one more", lambda k: k + 1),
        _value("min_p", "takes the reciprocal of min_p", lambda p: p / 3, float),
        _value("n_predict", "sends a token too much", lambda n: n + 1 if n == 5 else n),
        ("stop", "sends the stop word, too", _answer(_sends_the_stop)),
        _value("presence_penalty", "takes the presence penalty for a reward", lambda x: -x, float),
        ("seed", "has a fixed seed without one", _request(_fixed_seed)),
        _value("logit_bias", "loses biases of an object", lambda _: [], dict),
        _value("stop", "takes four stop strings", lambda stops: stops[:4], list),
        _value("n_predict", "takes a length of 0 for the default", lambda n: 16 if n == 0 else n),
        ("n_predict", "reports of each text that it ended", _sets(lambda _: {"stop_type": "eos"})),
        *((name, f"ignores {name} in streams", _in_streams(drops(name))) for name in _STREAMED),
    ],
    "clamped": [
        _value("seed", "has one seed for two", lambda seed: seed & ~(1 << 20), int),
        _value("mirostat_tau", "cuts tau to a whole number", int, float),
        _value("seed", "keeps 16 bits of a seed", lambda seed: seed % 65536),
        _value("seed", "keeps 31 bits of a seed", lambda seed: seed % 2**31),
        _value("temperature", "rounds a low temperature to 0", _cold_as_0, _NUMBER),
        _value("temperature", "clamps the temperature", lambda t: min(t, 1.0)),
        _value("top_p", "clamps nonsense", lambda p: min(p, 1.0), float),
        _value("temperature", "has no temperature above 2", lambda t: min(t, 2.0), _NUMBER),
        _value("top_k", "has no top_k above 100", lambda k: min(k, 100), _NUMBER),
        ("grammar", "keeps grammars by their beginning", _caches_grammars),
    ],
    "ignored": [
        ("min_p", "drops min_p", drops("min_p")),
        ("top_k", "drops top_k", drops("top_k")),
        ("dry_multiplier", "ignores DRY", drops("dry_multiplier")),
        ("mirostat", "ignores mirostat", drops("mirostat")),
        ("samplers", "ignores the order", drops("samplers")),
        (
            "repeat_penalty",
            "renames repeat_penalty",
            renames("repeat_penalty", "repetition_penalty"),
        ),
    ],
    "error": [
        ("top_k", "refuses top_k", _refuses("top_k", 400)),
        ("top_k", "fails at top_k", _refuses("top_k", 500)),
    ],
}
_OF_ANSWERS: dict[str, dict[tuple[str, str], Faulty]] = {
    "other meaning": {
        ("state/parameters together", "loses typical_p beside top_p"): _beside(
            "typical_p", "top_p"
        ),
        ("state/prompts that differ", "strips prompts"): makes("prompt", str.strip, str),
        ("state/a kept prompt", "keeps prompts by their beginning"): _keeps_prompts_by_length,
        ("state/after another stream", "keeps the stops of streams"): _keeps_the_stops_of_streams,
        ("state/every answer: ending", "does not name the stop string"): _answer(_names_no_stop),
        ("state/every answer: counts", "counts one token more"): _sets(
            lambda data: {"tokens_predicted": data.get("tokens_predicted", 0) + 1}
        ),
        ("state/every answer: bytes", "sends other bytes"): _places(
            lambda place: place.update(bytes=[65])
        ),
        ("state/every answer: settings", "tells other settings"): _sets(
            lambda _: {"generation_settings": {"temperature": 0.7}}
        ),
        ("state/every answer: settings", "leaves out a setting"): _without_settings("top_p"),
        ("state/every answer: pieces", "ends a stream twice"): _answer(_ends_twice),
        ("state/nothing left", "has four seeds"): _worker_s_seed,
        ("state/nothing left", "keeps the temperature that it refused"): _keeps_what_it_refused,
        ("state/32 answered", "takes the second for a seed"): _request(
            lambda sent: {"seed": int(time.time()), **sent}
        ),
        ("state/texts of a grammar", "splits characters in streams"): _answer(_splits_characters),
        ("state/ranks", "has no top_k above 250"): makes(
            "top_k", lambda k: k if 0 < k < 250 else 250, _NUMBER
        ),
        ("state/limits of schemas", "drops the limits of schemas"): makes(
            "json_schema", _unlimited
        ),
        ("state/several prompts", "answers in the order of ends"): _answers(_by_end),
        ("state/three answers", "has one text for completions"): _answers(_one_text),
        ("state/kinds at once", "draws in company"): _draws_in_company,
        ("state/parameters together", "lets min_keep hold for top_k"): _request(
            _min_keep_for_top_k
        ),
        ("state/every answer: ending", "reports a limit as truncated"): _sets(
            lambda data: {"truncated": data["stop_type"] == "limit"}
        ),
        ("state/every answer: prompt", "reports another prompt"): _sets(
            lambda data: {"prompt": str(data.get("prompt", "")).strip(",")}
        ),
        ("state/every answer: counts", "counts one prompt token less"): _sets(
            lambda data: {"tokens_evaluated": data.get("tokens_evaluated", 9) - 1}
        ),
        ("state/every answer: settings", "reports its own default"): _sets(
            lambda _: {"generation_settings": {"min_p": 0.1}}
        ),
        ("state/texts of a grammar", "collapses blank lines"): _sets(
            lambda data: {"content": data["content"].replace("\n\n\n", "\n\n")}
        ),
        ("state/long stop strings", "drops long stop strings"): makes(
            "stop", lambda stops: [stop for stop in stops if len(stop) < 40], (list, str)
        ),
        ("state/a prompt as tokens", "normalizes prompts"): makes(
            "prompt", lambda prompt: prompt.replace("\r\n", "\n"), str
        ),
        ("state/nothing left", "keeps the grammar of one that left"): _left_grammar_stays,
        ("state/texts of schemas", "reads schemas as ASCII"): makes("json_schema", _ascii_only),
        ("state/biases of texts", "loses biases of texts above ASCII"): makes(
            "logit_bias", _in_ascii, list
        ),
        ("state/a seed repeats", "draws a new seed"): _new_seed,
        ("probabilities/how many", "lists the chosen token, too"): _places(_lists_the_chosen),
        ("state/after another request", "reuses a slot's penalty"): _remembers,
        ("state/after a client that left", "remembers who left"): _remembers_one_that_left,
        ("state/after a stream", "loses the seed after a stream"): _next_after(
            lambda before: bool(before.get("stream")), _without_seed
        ),
        ("state/after a refusal", "loses the seed after a refusal"): _next_after(
            lambda before: before.get("temperature") == "a word", _without_seed
        ),
        ("state/after a grammar", "keeps the grammar for the next request"): _next_after(
            lambda before: "grammar" in before,
            lambda before, sent: {"grammar": before["grammar"], **sent},
        ),
        ("state/after a client that left", "keeps the parameters of one that left"): _next_after(
            lambda before: before.get("n_predict") == 200,
            lambda before, sent: {"repeat_penalty": before["repeat_penalty"], **sent},
        ),
        ("state/after a plain request", "loses a token of a stream"): _answer(_loses_a_token),
        ("state/without a seed", "draws alike without a seed"): _request(_fixed_seed),
        ("state/choices", "answers each choice with the first"): _answers(_one_text),
        ("state/choices with a seed", "has one seed for all choices"): _answers(
            lambda sent, data: _one_text(sent, data) if "seed" in sent else data
        ),
        ("probabilities/digits", "has a logprob of 0 for each token"): _logprobs(
            lambda _, values: [0.0] * len(values)
        ),
        ("probabilities/in a stream", "has other logprobs in streams"): _in_streams(
            _logprobs(lambda _, values: [value - 0.1 for value in values])
        ),
        ("probabilities/digits", "rounds logprobs"): _places(_rounds),
        ("state/every answer: probabilities", "sends the list unsorted"): _places(
            lambda place: place.get("top_logprobs", []).reverse()
        ),
        ("probabilities/how many", "sends one too few"): _places(
            lambda place: place.get("top_logprobs", [0]).pop()
        ),
        ("probabilities/before temperature", "sends logprobs after the temperature"): _answer(
            _tempered
        ),
        ("probabilities/before filters", "sends logprobs after the filters"): _answer(_cut),
        ("probabilities/the chosen token", "sends the wrong token's logprob"): _places(
            lambda place: place.update(logprob=place.get("logprob", 0.0) - 0.1)
        ),
    },
    "ignored": {("probabilities/how many", "sends no logprobs"): drops("n_probs")},
    "error": {
        ("state/32 at once", "pools the parameters of clients"): _pools,
        ("state/32 answered", "answers one at a time"): _one_at_a_time,
        ("state/32 at once", "swaps two texts"): _swaps,
    },
}
FAULTS = (
    *(
        Fault(name, f"parameter/{parameter}", verdict, between)
        for verdict, rows in _OF_PARAMETERS.items()
        for parameter, name, between in rows
    ),
    *(
        Fault(name, result, verdict, between)
        for verdict, faults in _OF_ANSWERS.items()
        for (result, name), between in faults.items()
    ),
)
