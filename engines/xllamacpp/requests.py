"""Ask for what llama-server alone offers: texts that a grammar determines, limits of schemas, ranks
up to the vocabulary's size, several prompts, and kinds of requests at once."""

import json
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations, takewhile
from pathlib import Path
from string import punctuation
from typing import Any

from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.observation import Observation, ServerTest, honoured_if
from sampler_parity.programs.servers.probe import LENGTH, PROMPTS

_TABLE = tomllib.loads(Path(__file__).with_name("requests.toml").read_text(encoding="utf-8"))
# Each of the characters, once and again.
KINDS_OF_TEXT: dict[str, str] = {
    f"{c}x{c}{c} y{c}{c}{c}z {c}q": c for c in (*_TABLE["characters"], *punctuation)
}
TEXTS: list[str] = [*_TABLE["texts"], *KINDS_OF_TEXT]
SCHEMAS: list[tuple[dict[str, Any], str]] = [
    (json.loads(row["schema"]), row["obeys"]) for row in _TABLE["schemas"]
]
AT_ONCE: dict[str, dict[str, Any]] = _TABLE["at_once"]
_HOT = 1e9  # A temperature at which all tokens that are left are equally likely.
_MOST = 1 << 24  # Tokens of a vocabulary, above any.
_LIST = 5000  # The longest list of probabilities that is asked for.
_SEEDS, _ENDED = 24, 2  # Tries of a schema; different texts of it that must end.
_CUTS = 10  # Lengths of a text, some of which end inside a character.
_NEVER = "§"  # No text here has it.
_LARGEST = 15  # The exponent of the size of a field.
_STOPS = 100  # Stop strings at once.
_BACKGROUND = 150  # Tokens of the stream that is under way.
_NEAR = 0.1  # Sum of differences of p. Batches change about 0.001 of it.


def tokens_of(client: Client, text: str, **more: Any) -> list[int]:
    """Return the server's tokens of a text. Raises ServerFailure."""
    body = {"content": text, **more}
    reply = http.ask(client.address, "/tokenize", body, client.seconds)
    tokens = reply.data.get("tokens") if isinstance(reply.data, dict) else None
    if reply.refused or not isinstance(tokens, list) or not {*map(type, tokens)} <= {int}:
        raise http.ServerFailure("rejected", "/tokenize answers without tokens")
    return tokens


def _stated(client: Client, **changed: Any) -> dict[str, Any]:
    return {**client.dialect.neutral, "temperature": 0.0, "seed": 3, "n_predict": LENGTH, **changed}


def _wrong(line: str, answer: Answer) -> Observation:
    return honoured_if(False, "", line, answer)


def _determined(client: Client) -> Observation:
    """Require each known text whole, cut by a length inside a character, and cut by stop strings of
    which a part came before: plain and in streams."""
    asked = 0
    for text in TEXTS:
        sent = _stated(client, grammar=quoted(text), n_predict=2 * len(text.encode()))
        stops = [*overlapping(text), text[-1], KINDS_OF_TEXT.get(text, text[:1])]
        wanted: list[tuple[dict[str, Any], str]] = [({}, text), ({"n_probs": 3}, text)]
        wanted += [({"stop": [stop]}, text[: text.find(stop)]) for stop in stops]
        for i, (more, want) in enumerate(wanted):
            both = (client.complete, client.streamed)
            for ask in both if i == 0 or text in _TABLE["texts"] else both[i % 2 :][:1]:
                answer, asked = ask(PROMPTS[0], sent | more), asked + 1
                named = answer.last.get("stopping_word", "") == "".join(more.get("stop", ()))
                if answer.refusal or answer.text != want or not named:
                    return _wrong(f"{text!r}, {more}: {answer.got}, not {want!r}", answer)
        shorter = ""
        for n in range(1, 1 if text.isascii() or text in KINDS_OF_TEXT else _CUTS):
            cut, streamed = (
                ask(PROMPTS[0], sent | {"n_predict": n})
                for ask in (client.complete, client.streamed)
            )
            whole = text.startswith(cut.plain) and cut.plain.startswith(shorter) and cut.has_all(n)
            for answer in (cut, streamed):
                if not whole or answer.refusal or answer.plain != cut.plain:
                    return _wrong(f"{n} tokens of {text!r}: {answer.got}, {cut.got}", answer)
            shorter, asked = cut.plain, asked + 2
    return Observation("honoured", f"{asked} parts of {len(TEXTS)} texts, each as determined")


def quoted(text: str) -> str:
    """Return a grammar of one text. Characters above ASCII stand as they are."""
    plain = (c if c.isalnum() or c == " " or ord(c) > 255 else f"\\x{ord(c):02x}" for c in text)
    return f'root ::= "{"".join(plain)}"'


def _long_stops(client: Client) -> Observation:
    """Require a text that ends at stop strings of each length, alone and behind many others."""
    text = " ".join(map(str, range(100, 190)))
    sent = _stated(client, grammar=quoted(text), n_predict=2 * len(text))
    lengths = sorted({1, 2} | {2**n + more for n in range(2, 9) for more in (-1, 0, 1)})
    for i, n in enumerate(lengths):
        never = [f"{text[j : j + 4]}?" for j in range(0 if i % 3 else _STOPS)]
        ask = client.streamed if i % 2 else client.complete
        answer = ask(PROMPTS[0], sent | {"stop": [*never, text[9 : 9 + n]]})
        named = answer.last.get("stopping_word") == text[9 : 9 + n]
        if answer.refusal or answer.text != text[: text.find(text[9 : 9 + n])] or not named:
            return _wrong(f"a stop string of {n} characters: {answer.got}", answer)
    return Observation("honoured", f"stop strings of 1 to {lengths[-1]} characters")


def _sizes(client: Client) -> Observation:
    """Require the effect of each field whose size is not bounded, up to a large one."""
    forced, word = [300, 1000.0], 'root ::= "abacus"'
    for size in (2**n + 1 for n in range(4, _LARGEST)):
        few = min(size, 1 << 10)
        rest = [[n % 256, 0.001] for n in range(few)]
        stops, names = [f"{_NEVER}{n}" for n in range(few)], ["top_k"] * min(size, 60)
        sent: dict[str, dict[str, Any]] = {
            "grammar": {"grammar": f'{word}\nother ::= "{"x" * size}"'},
            "json_schema": {"json_schema": {"const": "abacus", "description": "x" * size}},
            "logit_bias": {"logit_bias": [*rest, forced]},
            "stop": {"grammar": word, "stop": [*stops, "c"]},
            "samplers": {"samplers": names, "top_k": 1, "temperature": 2.0, "grammar": word},
            "dry_sequence_breakers": {"dry_sequence_breakers": stops[:60], "grammar": word},
        }
        for name, more in sent.items():
            answer = client.complete(PROMPTS[0], _stated(client, n_predict=10, **more))
            text, want = answer.text.strip('"'), "aba" if name == "stop" else "abacus"
            right = text == want
            if name == "logit_bias":
                right = len({*(answer.tokens or ())}) == 1 and (answer.tokens or ())[0] == forced[0]
            if answer.refusal or not right:
                return _wrong(f"{name} of size {size}: {answer.got}", answer)
    return Observation("honoured", f"fields of up to {size:,} characters or {few:,} entries")


def _in_schemas(client: Client) -> Observation:
    """Require each kind of text as the constant of a schema. llama-server itself loses parts of one
    that JSON writes with a backslash and u, and of one with a blank before a mark."""
    for text in KINDS_OF_TEXT:
        if {*".!?,'"} & {*text} or "\\u" in json.dumps(text, ensure_ascii=False):
            continue
        sent = _stated(client, json_schema={"const": text}, n_predict=6 * len(text.encode()))
        answer = client.complete(PROMPTS[0], sent)
        try:
            right = not answer.refusal and json.loads(answer.text) == text
        except ValueError:
            right = False
        if not right:
            return _wrong(f"the constant {text!r}: {answer.got}", answer)
    return Observation("honoured", "the constants come as they are")


def _biases_of_texts(client: Client) -> Observation:
    """Require of a bias on a text what one on each of its tokens does."""
    more = {"n_probs": 20, "post_sampling_probs": True, "n_predict": 1, "temperature": 1.0}
    for i, text in enumerate(KINDS_OF_TEXT.values()):
        bias = (7.7, -0.7, False)[i % 3]
        of_tokens = [[token, bias] for token in tokens_of(client, text)]
        want, got = (
            client.complete(PROMPTS[0], _stated(client, logit_bias=biases, **more))
            for biases in (of_tokens, [[text, bias]])
        )
        if got.refusal or _apart(want, got) > _NEAR:
            return _wrong(f"a bias of {bias} on {text!r} is not one on its tokens", got)
    return Observation("honoured", f"{len(KINDS_OF_TEXT)} texts, each as its tokens")


def overlapping(text: str) -> list[str]:
    """Return a stop string of each of some lengths. Its first half comes before it does, too, and
    it does not begin like the end of the text."""
    found = {}
    for n in (2, 3, 4, 6):
        for i in range(2, len(text) - n):
            stop, half = text[i : i + n], text[i : i + (n + 1) // 2]
            first = text.find(stop) == i and text.find(half) < i
            if first and not any(text.endswith(stop[:m]) for m in range(1, n)):
                found[n] = stop
    return [*found.values()]


def _limited(client: Client) -> Observation:
    """Require of each schema that a text which comes to its end obeys it, and that two differ."""
    for schema, obeys in SCHEMAS:
        texts = set[str]()
        for seed in range(_SEEDS):
            sent = _stated(client, temperature=2.0, seed=seed, n_predict=60, json_schema=schema)
            answer = client.complete(PROMPTS[0], sent)
            if answer.refusal:
                return _wrong("", answer)
            if answer.ended == "eos":
                texts.add(answer.text)
                if not obeys_pattern(answer.text, obeys):
                    return _wrong(f"{json.dumps(schema)}: {answer.got}", answer)
            if len(texts) == _ENDED:
                break
        if len(texts) < _ENDED:
            return _wrong(f"{json.dumps(schema)}: {_SEEDS} seeds, {sorted(texts)} end", answer)
    return Observation("honoured", f"{len(SCHEMAS)} schemas, each obeyed")


def obeys_pattern(text: str, pattern: str) -> bool:
    try:
        written = json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return False
    return re.fullmatch(pattern, written) is not None


def _ranks(client: Client) -> Observation:
    """Count the tokens that top_k leaves by their p, which is one share for all at a temperature
    without end. Then force tokens up to the last one, and list all."""

    def one(**changed: Any) -> Answer:
        more = {"n_predict": 1, "n_probs": 1, "temperature": _HOT, **changed}
        return client.complete(PROMPTS[0], _stated(client, **more))

    def left(answer: Answer) -> int:
        p = answer.reports[0].token.logprob if answer.reports else 0.0
        return round(1 / p) if p > 1 / _MOST else 0

    every = one(post_sampling_probs=True)
    if not (size := left(every)):
        return _wrong(f"no share of the first token comes: {every.got}", every)
    for k in [1, *(4**n + n for n in range(2, 10) if 4**n + n < size), size - 1, size + 1]:
        answer = one(top_k=k, post_sampling_probs=True)
        if left(answer) != min(k, size):
            return _wrong(f"top_k {k} leaves {left(answer)} tokens of {size}", answer)
    ids = [0, 1, 2, *(4**n - 1 for n in range(2, 10) if 4**n < size), size - 1, size]
    for token in ids:
        answer = one(logit_bias=[[token, 1000.0]], temperature=0.0)
        ended = answer.ended == "eos"  # a token that ends a text is not reported
        came = ended or (bool(answer.reports) and answer.reports[0].token.id == token)
        if came != (token < size):
            return _wrong(f"of {size} tokens {token} is forced: {answer.got}", answer)
    answer = one(n_probs=min(size, _LIST))
    if not answer.reports or len(answer.reports[0].top) != min(size, _LIST):
        return _wrong(f"n_probs {min(size, _LIST)}: another number comes", answer)
    return Observation("honoured", f"top_k, biases and lists up to {size} tokens", every)


def _prompts(client: Client) -> Observation:
    """Require the texts of several prompts in their order, whichever ends first."""
    sent = _stated(client)
    whole = [client.complete(prompt, sent).plain for prompt in PROMPTS]
    # The first prompt's text is cut late, the last one's early.
    sent["stop"] = [text[len(text) * (3 - i) // 4 :][:5] for i, text in enumerate(whole)]
    alone = [client.complete(prompt, sent).text for prompt in PROMPTS]
    if len({*alone}) < len(alone):
        return Observation("skipped", f"texts are alike: {alone}")
    for order in [*permutations(range(len(PROMPTS)))][::2]:
        prompts = [PROMPTS[i] for i in order]
        answer = client.complete(prompts, sent)
        for texts in (answer.texts, client.streamed(prompts, sent).texts):
            # A batch may change a token, so that the text goes on otherwise.
            alike = [[_common(text, one) for one in alone] for text in texts]
            if [row.index(max(row)) for row in alike] != [*order]:
                return _wrong(
                    f"several prompts: {texts}, alone {[alone[i] for i in order]}", answer
                )
    return Observation("honoured", f"{len(PROMPTS)} prompts, each first once")


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _completions(client: Client) -> Observation:
    """Require another text of each completion of a prompt."""
    if client.dialect.slots < 3:
        return Observation("skipped", f"the server has slots for {client.dialect.slots}")
    sent = _stated(client, temperature=2.0)
    for seed in (3, 4):
        answer = client.complete(PROMPTS[0], sent | {"n_cmpl": 3, "seed": seed})
        texts = answer.texts
        if len({*texts}) < 3:
            return _wrong(f"three completions: {texts}", answer)
    return Observation("honoured", "three completions are three texts")


def _at_once(client: Client) -> Observation:
    """Send requests of every kind at once, while a stream of each kind in turn is under way.
    Compare what they are drawn from with what it is alone."""
    more = {"n_probs": 20, "post_sampling_probs": True}
    requests = [_stated(client, n_predict=2, **more, **one) for one in AT_ONCE.values()]
    asks = [(client.complete, client.streamed)[i % 2] for i in range(len(requests))]
    prompts = [PROMPTS[0]] * len(requests)
    alone = [ask(PROMPTS[0], sent) for ask, sent in zip(asks, requests, strict=True)]
    for other, kind in AT_ONCE.items():
        long = _stated(client, n_predict=_BACKGROUND, ignore_eos=True, **kind)
        with ThreadPoolExecutor(1 + len(requests)) as pool:
            stream = pool.submit(client.streamed, PROMPTS[1], long)
            came = [*pool.map(lambda ask, *one: ask(*one), asks, prompts, requests)]
            stream.result()
        for name, want, got in zip(AT_ONCE, alone, came, strict=True):
            if got.refusal or _apart(want, got) > _NEAR:
                line = f"{name} at once with a stream of {other}: not drawn from what it is alone"
                return _wrong(line, got)
    return Observation("honoured", f"{len(AT_ONCE)} kinds, each at once with each")


def _apart(one: Answer, other: Answer) -> float:
    """Return the sum of differences of what the first token is drawn from."""
    want, got = ({o.id: o.logprob for o in a.reports[0].top} if a.reports else {}
                 for a in (one, other))  # fmt: skip
    return sum(abs(want.get(i, 0.0) - got.get(i, 0.0)) for i in want.keys() | got.keys())


OWN: dict[str, ServerTest] = {
    "texts of a grammar": _determined,
    "long stop strings": _long_stops,
    "sizes": _sizes,
    "texts of schemas": _in_schemas,
    "biases of texts": _biases_of_texts,
    "limits of schemas": _limited,
    "ranks": _ranks,
    "several prompts": _prompts,
    "three answers": _completions,
    "kinds at once": _at_once,
}
