"""Faults between a check and a server, each wrong in one way, and the required verdict."""

import itertools
import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sampler_parity.programs.servers.values import log_softmax
from tests.support.fake_server import TABLE, Answered, Answering, Sent

Faulty = Callable[[Answering], Answering]


@dataclass(frozen=True)
class Fault:
    """result, verdict: the result that reports it."""

    name: str
    result: str
    verdict: str
    between: Faulty


def _request(change: Callable[[Sent], Sent]) -> Faulty:
    return lambda server: lambda sent: server(change(dict(sent)))


def _answer(change: Callable[[Sent, Any], Any]) -> Faulty:
    def between(server: Answering) -> Answering:
        def answering(sent: Sent) -> Answered:
            status, data = server(sent)
            if status != 200 or "content" in sent:
                return status, data
            several = [change(sent, one) for one in (data if isinstance(data, list) else [data])]
            return status, several if isinstance(data, list) else several[0]

        return answering

    return between


def drops(name: str) -> Faulty:
    return _request(lambda sent: {k: v for k, v in sent.items() if k != name})


def renames(name: str, other: str) -> Faulty:
    return _request(lambda sent: {other if k == name else k: v for k, v in sent.items()})


def makes(name: str, change: Callable[[Any], Any]) -> Faulty:
    return _request(lambda sent: sent | ({name: change(sent[name])} if name in sent else {}))


def _default(name: str, value: Any) -> Faulty:
    return _request(lambda sent: {name: value, **sent})


def _refuses(name: str, status: int) -> Faulty:
    def between(server: Answering) -> Answering:
        def answering(sent: Sent) -> Answered:
            return (status, {"error": "no"}) if sent.get(name) == 1 else server(sent)

        return answering

    return between


def _remembers(server: Answering) -> Answering:
    """Keep the slot's repeat_penalty for requests that do not set one."""
    slot: Sent = {}

    def answering(sent: Sent) -> Answered:
        slot.update({k: v for k, v in sent.items() if k == "repeat_penalty"})
        return server({**slot, **sent})

    return answering


def _remembers_one_that_left(server: Answering) -> Answering:
    """Ban tokens for the next request after a stream."""
    left: list[int] = []

    def answering(sent: Sent) -> Answered:
        ban = {"logit_bias": [[i, -100.0] for i in range(0, 300, 2)]} if left else {}
        left.clear()
        if sent.get("stream") and sent.get("n_predict") == 200:
            left.append(1)
        return server({**sent, **ban})

    return answering


def _next_after(which: Callable[[Sent], bool], change: Callable[[Sent, Sent], Sent]) -> Faulty:
    """Change the one request that follows such a one: the first argument, then the second."""

    def between(server: Answering) -> Answering:
        before: list[Sent] = []

        def answering(sent: Sent) -> Answered:
            changed = change(before[0], sent) if before and which(before[0]) else sent
            before[:] = [sent]
            return server(changed)

        return answering

    return between


def _in_streams(fault: Faulty) -> Faulty:
    def between(server: Answering) -> Answering:
        faulty = fault(server)
        return lambda sent: faulty(sent) if sent.get("stream") else server(sent)

    return between


def _without_seed(_: Sent, sent: Sent) -> Sent:
    return {**sent, "seed": next(_LOST)}


_LOST = itertools.count(5000)
_SAMPLING = ("temperature", "top_k", "top_p", "repeat_penalty", "frequency_penalty", "logit_bias")


def _pools(server: Answering) -> Answering:
    """Sample for a client that comes while others are served with the parameters of the first."""
    lock = threading.Lock()
    running: list[Sent] = []

    def answering(sent: Sent) -> Answered:
        with lock:
            running.append(sent)
            first = running[0]
        time.sleep(0.002)
        kept = {k: v for k, v in sent.items() if k not in _SAMPLING}
        try:
            return server({**kept, **{k: first[k] for k in _SAMPLING if k in first}})
        finally:
            with lock:
                running.remove(sent)

    return answering


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


def _one_at_a_time(server: Answering) -> Answering:
    """Refuse a client that comes while another is served."""
    busy = threading.Lock()

    def answering(sent: Sent) -> Answered:
        if not busy.acquire(blocking=False):
            return 503, {"error": "busy"}
        time.sleep(0.002)
        reply = server(sent)
        busy.release()
        return reply

    return answering


def _new_seed(server: Answering) -> Answering:
    seeds = itertools.count(1000)
    return lambda sent: server({**sent, "seed": next(seeds)})


def _places(change: Callable[[Any], Any]) -> Faulty:
    def changed(_: Sent, data: Any) -> Any:
        data = json.loads(json.dumps(data))
        for place in data.get("completion_probabilities", ()):
            change(place)
        return data

    return _answer(changed)


def _rounds(place: Any) -> None:
    for one in (place, *place.get("top_logprobs", ())):
        if "logprob" in one:
            one["logprob"] = round(one["logprob"], 2)


def _tempered(sent: Sent, data: Any) -> Any:
    data = json.loads(json.dumps(data))
    for place in data.get("completion_probabilities", ()):
        for one in (place, *place.get("top_logprobs", ())):
            one["logprob"] = one.get("logprob", 0.0) / (sent.get("temperature") or 1.0)
    return data


def _cut(sent: Sent, data: Any) -> Any:
    k = sent.get("top_k") or 99
    places = [
        {**place, "top_logprobs": place["top_logprobs"][:k]} if "top_logprobs" in place else place
        for place in data.get("completion_probabilities", ())
    ]
    return {**data, "completion_probabilities": places}


def _logprobs(change: Callable[[Sent, list[float]], list[float]]) -> Faulty:
    """Change the logprobs of each place: the chosen token's, then those of the list."""

    def changed(sent: Sent, data: Any) -> Any:
        data = json.loads(json.dumps(data))
        for place in data.get("completion_probabilities", ()):
            key = "logprob" if "logprob" in place else "prob"
            ones = [place, *place["top_logprobs" if key == "logprob" else "top_probs"]]
            for one, value in zip(ones, change(sent, [o[key] for o in ones]), strict=True):
                one[key] = value
        return data

    return _answer(changed)


def _after_temperature(server: Answering) -> Answering:
    """Apply the temperature to the logprobs.

    In a table model each token determines the next logits.
    """

    def answering(sent: Sent) -> Answered:
        status, data = server(sent)
        data = json.loads(json.dumps(data))
        tokens = [sent["prompt"][-1], *data["tokens"]]
        for before, place in zip(tokens, data.get("completion_probabilities", ()), strict=False):
            logprobs = log_softmax(TABLE[before], sent.get("temperature") or 1.0)
            for one in (place, *place.get("top_logprobs", ())):
                if "logprob" in one:
                    one["logprob"] = float(logprobs[one["id"]])
        return status, data

    return answering


def _without_the_second(place: Any) -> None:
    if "top_logprobs" in place:
        del place["top_logprobs"][1]


def _over_the_list(_: Sent, values: list[float]) -> list[float]:
    total = math.log(sum(math.exp(value) for value in values[1:]))
    return [value - total for value in values]


def _of_the_next(_: Sent, data: Any) -> Any:
    """Replace the list of each token by that of the next token."""
    data = json.loads(json.dumps(data))
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
     _after_temperature),
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


def _caches_grammars(server: Answering) -> Answering:
    """Keep compiled grammars by their first letters."""
    kept: Sent = {}

    def answering(sent: Sent) -> Answered:
        text = sent.get("grammar")
        if not isinstance(text, str) or len(text) < 12:
            return server(sent)
        return server({**sent, "grammar": kept.setdefault(text[:12], text)})

    return answering


def _lists_the_chosen(place: Any) -> None:
    top = place.get("top_logprobs", [])
    if place["id"] not in [one["id"] for one in top]:
        top.insert(0, {k: v for k, v in place.items() if k != "top_logprobs"})


def _counts_a_stop(sent: Sent, data: Any) -> Any:
    return {**data, "stopping_word": ""} if data.get("stop_type") == "word" else data


def _keeps_the_stops_of_streams(server: Answering) -> Answering:
    """Keep the stop strings of a stream for the next request without any."""
    kept: list[Any] = []

    def answering(sent: Sent) -> Answered:
        if "content" in sent:
            return server(sent)
        if sent.get("stream"):
            kept[:] = [sent["stop"]] if sent.get("stop") else []
        elif kept and not sent.get("stop"):
            return server({**sent, "stop": kept.pop()})
        return server(sent)

    return answering


def _keeps_prompts_by_length(server: Answering) -> Answering:
    """Take a prompt for the last one that was as long and began like it."""
    kept: Sent = {}

    def answering(sent: Sent) -> Answered:
        if not sent.get("cache_prompt") or not isinstance(sent["prompt"], str):
            return server(sent)
        return server({**sent, "prompt": kept.setdefault(sent["prompt"][:12], sent["prompt"])})

    return answering


def _of_ids(biases: list[Any]) -> list[Any]:
    return [pair for pair in biases if isinstance(pair[0], int)]


def _beside(name: str, other: str) -> Faulty:
    """Drop a parameter where another one is sent."""
    return _request(lambda s: {k: v for k, v in s.items() if k != name or not s.get(other)})


def _worker_s_seed(server: Answering) -> Answering:
    """Give requests without a seed one of four in turn."""
    count = itertools.count()
    return lambda sent: server(sent if "seed" in sent else {**sent, "seed": next(count) % 4})


def _keeps_what_it_refused(server: Answering) -> Answering:
    """Keep the temperature of a refused request for the next one that has none."""
    kept: Sent = {}

    def answering(sent: Sent) -> Answered:
        reply = server({**kept, **sent})
        kept.clear()
        if reply[0] == 400 and isinstance(sent.get("temperature"), float):
            kept["temperature"] = sent["temperature"]
        return reply

    return answering


def _splits_characters(sent: Sent, data: Any) -> Any:
    if not sent.get("stream"):
        return data
    split = (c if c.isascii() else "\ufffd" * len(c.encode()) for c in data["content"])
    return {**data, "content": "".join(split)}


_LIMITS = ("minItems", "maxItems", "minLength", "maxLength")


def without(schema: Any, names: tuple[str, ...]) -> Any:
    """Return a schema without such limits, also inside it."""
    if isinstance(schema, dict):
        return {k: without(v, names) for k, v in schema.items() if k not in names}
    return [without(v, names) for v in schema] if isinstance(schema, list) else schema


def _by_end(server: Answering) -> Answering:
    """Answer several prompts in the order in which their texts end."""

    def answering(sent: Sent) -> Answered:
        status, data = server(sent)
        if status != 200 or not isinstance(data, list):
            return status, data
        ordered = sorted(data, key=lambda one: len(one["content"]))
        return status, [{**one, "index": i} for i, one in enumerate(ordered)]

    return answering


def _one_text(server: Answering) -> Answering:
    """Answer each completion of a prompt with the first."""

    def answering(sent: Sent) -> Answered:
        status, data = server(sent)
        return status, [data[0]] * len(data) if sent.get("n_cmpl", 1) > 1 else data

    return answering


def _draws_in_company(server: Answering) -> Answering:
    """Draw for a greedy client that comes while another one is served."""
    running: list[Sent] = []

    def answering(sent: Sent) -> Answered:
        warm = {"temperature": 1.0} if running and sent.get("temperature") == 0 else {}
        running.append(sent)
        time.sleep(0.002)
        try:
            return server({**sent, **warm})
        finally:
            running.remove(sent)

    return answering


def _applies_the_temperature(samplers: Any) -> Any:
    apart = isinstance(samplers, list) and "temperature" not in samplers
    return [*samplers, "temperature"] if apart else samplers


def _bans_below(least: float) -> Callable[[Any], Any]:
    """Ban a token for a bias that is large and negative."""

    def change(biases: Any) -> Any:
        return [[t, False if b is not True and b and b <= least else b] for t, b in biases]

    return lambda biases: change(biases) if isinstance(biases, list) else biases


def _left_grammar_stays(server: Answering) -> Answering:
    """Keep the grammar of a long stream for the next request."""
    left: list[str] = []

    def answering(sent: Sent) -> Answered:
        kept = {"grammar": left.pop()} if left and "grammar" not in sent else {}
        if sent.get("stream") and sent.get("n_predict") == 200 and sent.get("grammar"):
            left.append(sent["grammar"])
        return server({**kept, **sent})

    return answering


def ascii_only(text: str) -> str:
    return text.encode("ascii", "ignore").decode()


_STREAMED = ("repeat_penalty", "presence_penalty", "frequency_penalty", "dry_multiplier")
# By the verdict of the result that reports each: the result, the name of the fault. Half of them
# were listed before any check was read.
_BY_VERDICT: dict[str, dict[tuple[str, str], Faulty]] = {
    "other meaning": {
        ("parameter/top_p", "rounds top_p to two decimals"): makes(
            "top_p", lambda p: round(p, 2) if isinstance(p, float) else p
        ),
        ("parameter/repeat_last_n", "has a window of at most 64"): makes(
            "repeat_last_n", lambda n: min(n, 64) if isinstance(n, int) else n
        ),
        ("parameter/temperature", "takes null for 0"): _request(
            lambda sent: {k: 0 if v is None else v for k, v in sent.items()}
        ),
        ("parameter/top_k", "loses whole numbers with a point"): makes(
            "top_k", lambda k: 40 if isinstance(k, float) else k
        ),
        ("parameter/logit_bias", "loses biases of texts"): makes(
            "logit_bias", lambda b: _of_ids(b) if isinstance(b, list) else b
        ),
        ("state/parameters together", "loses typical_p beside top_p"): _beside(
            "typical_p", "top_p"
        ),
        ("parameter/grammar", "loses stop strings with a grammar"): _beside("stop", "grammar"),
        ("state/prompts that differ", "strips prompts"): makes(
            "prompt", lambda p: p.strip() if isinstance(p, str) else p
        ),
        ("state/a kept prompt", "keeps prompts by their beginning"): _keeps_prompts_by_length,
        ("state/after another stream", "keeps the stops of streams"): _keeps_the_stops_of_streams,
        ("state/every answer: ending", "does not name the stop string"): _answer(_counts_a_stop),
        ("state/every answer: counts", "counts one token more"): _answer(
            lambda _, data: {**data, "tokens_predicted": data.get("tokens_predicted", 0) + 1}
        ),
        ("state/every answer: bytes", "sends other bytes"): _places(
            lambda place: place.update(bytes=[65])
        ),
        ("state/every answer: settings", "tells other settings"): _answer(
            lambda _, data: {**data, "generation_settings": {"temperature": 0.7}}
        ),
        ("state/every answer: pieces", "ends a stream twice"): _answer(
            lambda sent, data: {**data, "stop": not sent.get("stream")}
        ),
        ("state/nothing left", "has four seeds"): _worker_s_seed,
        ("state/nothing left", "keeps the temperature that it refused"): _keeps_what_it_refused,
        ("state/32 answered", "takes the second for a seed"): _request(
            lambda sent: {"seed": int(time.time()), **sent}
        ),
        ("state/texts of a grammar", "splits characters in streams"): _answer(_splits_characters),
        ("parameter/stop", "takes a stop string for its letters"): makes(
            "stop", lambda stops: [*stops] if isinstance(stops, str) else stops
        ),
        ("state/ranks", "has no top_k above 250"): makes(
            "top_k", lambda k: k if isinstance(k, str) or 0 < k < 250 else 250
        ),
        ("state/limits of schemas", "drops the limits of schemas"): makes(
            "json_schema", lambda schema: without(schema, _LIMITS)
        ),
        ("state/several prompts", "answers in the order of ends"): _by_end,
        ("state/three answers", "has one text for completions"): _one_text,
        ("state/kinds at once", "draws in company"): _draws_in_company,
        ("parameter/samplers", "applies a temperature that is not listed"): makes(
            "samplers", _applies_the_temperature
        ),
        ("parameter/logit_bias", "bans tokens of negative biases"): makes(
            "logit_bias", _bans_below(-10)
        ),
        ("parameter/top_p", "has a top_p of a hundredth at least"): makes(
            "top_p", lambda p: p if isinstance(p, str) or p is None else max(p, 0.01)
        ),
        ("state/parameters together", "lets min_keep hold for top_k"): _request(
            lambda sent: (
                sent | {"top_k": max(sent["top_k"] or 0, sent.get("min_keep") or 0)}
                if isinstance(sent.get("top_k"), int) and sent["top_k"] > 0
                else sent
            )
        ),
        ("state/every answer: ending", "reports a limit as truncated"): _answer(
            lambda _, data: {**data, "truncated": data["stop_type"] == "limit"}
        ),
        ("state/every answer: prompt", "reports another prompt"): _answer(
            lambda _, data: {**data, "prompt": str(data.get("prompt", "")).strip(",")}
        ),
        ("state/every answer: counts", "counts one prompt token less"): _answer(
            lambda _, data: {**data, "tokens_evaluated": data.get("tokens_evaluated", 9) - 1}
        ),
        ("state/every answer: settings", "reports its own default"): _answer(
            lambda _, data: {**data, "generation_settings": {"min_p": 0.1}}
        ),
        ("state/texts of a grammar", "collapses blank lines"): _answer(
            lambda _, data: {**data, "content": data["content"].replace("\n\n\n", "\n\n")}
        ),
        ("state/long stop strings", "drops long stop strings"): makes(
            "stop", lambda stops: [s for s in stops if len(s) < 40] if stops != 5 else stops
        ),
        ("state/a prompt as tokens", "normalizes prompts"): makes(
            "prompt", lambda p: p.replace("\r\n", "\n") if isinstance(p, str) else p
        ),
        ("state/nothing left", "keeps the grammar of one that left"): _left_grammar_stays,
        ("state/texts of schemas", "reads schemas as ASCII"): makes(
            "json_schema", lambda s: json.loads(ascii_only(json.dumps(s, ensure_ascii=False)))
        ),
        ("state/biases of texts", "loses biases of texts above ASCII"): makes(
            "logit_bias",
            lambda biases: (
                [b for b in biases if str(b[0]).isascii()] if isinstance(biases, list) else biases
            ),
        ),
        ("parameter/logit_bias", "takes 256 biases"): makes(
            "logit_bias", lambda biases: biases[:256] if isinstance(biases, list) else biases
        ),
        ("parameter/logit_bias", "takes the last five biases"): makes(
            "logit_bias", lambda biases: biases[-5:] if isinstance(biases, list) else biases
        ),
        ("parameter/n_predict", "ends a text after 200 tokens"): makes(
            "n_predict", lambda n: min(n, 200)
        ),
        ("state/a seed repeats", "draws a new seed"): _new_seed,
        ("parameter/top_p", "has a top_p of its own"): _default("top_p", 0.5),
        ("parameter/temperature", "has a temperature of its own"): _default("temperature", 0.3),
        ("parameter/top_k", "keeps one more"): makes("top_k", lambda k: k + 1),
        ("parameter/min_p", "takes the reciprocal of min_p"): makes(
            "min_p", lambda p: p / 3 if isinstance(p, float) else p
        ),
        ("parameter/n_predict", "sends a token too much"): makes(
            "n_predict", lambda n: n + 1 if n == 5 else n
        ),
        ("parameter/stop", "sends the stop word, too"): _answer(
            lambda sent, data: (
                {**data, "content": data["content"] + sent["stop"][0]}
                if data["stop_type"] == "word"
                else data
            )
        ),
        ("parameter/presence_penalty", "takes the presence penalty for a reward"): makes(
            "presence_penalty", lambda x: -x if isinstance(x, float) else x
        ),
        ("parameter/seed", "has a fixed seed without one"): _request(
            lambda sent: sent if sent.get("seed", -1) != -1 else {**sent, "seed": 99}
        ),
        ("parameter/logit_bias", "loses biases of an object"): makes(
            "logit_bias", lambda biases: [] if isinstance(biases, dict) else biases
        ),
        ("parameter/stop", "takes four stop strings"): makes(
            "stop", lambda stops: stops[:4] if isinstance(stops, list) else stops
        ),
        ("parameter/n_predict", "takes a length of 0 for the default"): makes(
            "n_predict", lambda n: 16 if n == 0 else n
        ),
        ("parameter/n_predict", "reports of each text that it ended"): _answer(
            lambda _, data: {**data, "stop_type": "eos"}
        ),
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
        **{
            (f"parameter/{name}", f"ignores {name} in streams"): _in_streams(drops(name))
            for name in _STREAMED
        },
    },
    "clamped": {
        ("parameter/seed", "has one seed for two"): makes(
            "seed", lambda s: s & ~(1 << 20) if isinstance(s, int) else s
        ),
        ("parameter/mirostat_tau", "cuts tau to a whole number"): makes(
            "mirostat_tau", lambda tau: int(tau) if isinstance(tau, float) else tau
        ),
        ("parameter/seed", "keeps 16 bits of a seed"): makes("seed", lambda s: s % 65536),
        ("parameter/seed", "keeps 31 bits of a seed"): makes("seed", lambda s: s % 2**31),
        ("parameter/temperature", "rounds a low temperature to 0"): makes(
            "temperature", lambda t: t if t == "a word" or t >= 0.1 else 0.0
        ),
        ("parameter/temperature", "clamps the temperature"): makes(
            "temperature", lambda t: min(t, 1.0)
        ),
        ("parameter/top_p", "clamps nonsense"): makes(
            "top_p", lambda p: min(p, 1.0) if isinstance(p, float) else p
        ),
        ("parameter/temperature", "has no temperature above 2"): makes(
            "temperature", lambda t: t if t == "a word" else min(t, 2.0)
        ),
        ("parameter/top_k", "has no top_k above 100"): makes(
            "top_k", lambda k: k if k == "a word" else min(k, 100)
        ),
        ("parameter/grammar", "keeps grammars by their beginning"): _caches_grammars,
    },
    "ignored": {
        ("parameter/min_p", "drops min_p"): drops("min_p"),
        ("parameter/top_k", "drops top_k"): drops("top_k"),
        ("parameter/stop", "drops the stop words"): drops("stop"),
        ("parameter/logit_bias", "ignores logit_bias"): drops("logit_bias"),
        ("parameter/grammar", "ignores the grammar"): drops("grammar"),
        ("parameter/dry_multiplier", "ignores DRY"): drops("dry_multiplier"),
        ("parameter/mirostat", "ignores mirostat"): drops("mirostat"),
        ("parameter/samplers", "ignores the order"): drops("samplers"),
        ("parameter/ignore_eos", "forgets ignore_eos"): drops("ignore_eos"),
        ("parameter/repeat_penalty", "renames repeat_penalty"): renames(
            "repeat_penalty", "repetition_penalty"
        ),
        ("parameter/seed", "keeps the seed"): makes("seed", lambda _: 1),
        ("probabilities/how many", "sends no logprobs"): drops("n_probs"),
    },
    "error": {
        ("parameter/top_k", "refuses top_k"): _refuses("top_k", 400),
        ("parameter/top_k", "fails at top_k"): _refuses("top_k", 500),
        ("state/32 at once", "pools the parameters of clients"): _pools,
        ("state/32 answered", "answers one at a time"): _one_at_a_time,
        ("state/32 at once", "swaps two texts"): _swaps,
    },
}
FAULTS = tuple(
    Fault(name, result, verdict, between)
    for verdict, rows in _BY_VERDICT.items()
    for (result, name), between in rows.items()
)
