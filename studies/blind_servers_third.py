"""Define the third blind list of faults of a server, for `python -m studies.blind_servers third`.

It was written before any check ran on it, from docs/check-a-server.md, the dialects, and public
documentation of llama-server. No check, test, planted fault or earlier result was read. The first
3 faults of the first list and the names in the second list were. 66 faults were noted by name
(NOTED), and `random.Random(11).sample(NOTED.split(), 45)` chose. The first 40 are the list, in the
order of NOTED. The last five are the reserve: they replace faults that a planted fault repeats, or
that no request shows.

Each docstring states the fault and how it shows. Each one was seen to show on requests through the
proxy in front of a real llama-server.
"""

import copy
import html
import json
import math
import re
import time
from typing import Any

from studies.blind_servers_again import greedy, pairs, put, stops, unseeded
from studies.faulty_proxy import Body, Exchange, Fault, Faults, number, told

FAULTS = Faults()
MAIN = 40  # The faults after these are the reserve.
fault, edit = FAULTS.fault, FAULTS.edit

NOTED = """
seed-lost-with-grammar seed-counts-on-connection seed-salted left-stream-moves-seed
stops-first-four-only stop-ignores-case stop-of-ascii-only stop-longer-than-buffer
limit-reported-as-eos plain-keeps-stop
bias-clamped-to-hundred bias-object-lost bias-last-of-token-wins bias-of-neighbour
strong-negative-bias-bans greedy-skips-bias
repeat-penalty-at-least-one presence-and-frequency-swapped negative-penalties-are-zero
repeat-last-n-of-whole-context dry-allowed-length-plus-one dry-lost-without-base
dry-breakers-default-lost
penalties-moved-first samplers-of-last-year empty-samplers-are-default
temperature-first-by-default min-keep-raises-top-k dynatemp-within-temperature
xtc-lost-without-threshold mirostat-tau-as-integer temperature-as-float16
typical-p-renamed top-p-at-least-a-hundredth
schema-required-lost schema-refs-lost schema-keys-sorted grammar-in-ascii left-grammar-stays
top-logprobs-without-chosen n-probs-at-most-twenty logprobs-after-temperature
logprobs-floored probabilities-skip-first
cache-key-of-scalars cache-key-of-stripped-prompt connection-keeps-parameters
left-stream-cancels-next empty-prompt-is-last-prompt
neighbours-share-seed stops-of-neighbours coalesced-by-prompt
indexes-all-zero token-prompt-gets-bos prompt-newlines-normalised prompt-in-nfc
prompt-cut-at-nul
n-predict-at-most-two-hundred tokens-evaluated-without-bos limit-is-truncated
content-html-escaped stream-mojibake blank-lines-collapsed
stream-sends-pairs stream-ends-with-whole-text stream-of-openai-parameters
"""


def constrained(body: Body) -> bool:
    """Return whether a grammar or a JSON schema is asked for."""
    return bool(body.get("grammar") or body.get("json_schema"))


def as_asked(answer: Body, exchange: Exchange) -> Body:
    """Return a copy of another request's answer with the settings that this request gave."""
    answer = copy.deepcopy(answer)
    settings = answer.get("generation_settings") or {}
    settings |= {k: v for k, v in exchange.asked.items() if k in settings}
    return answer


def value(bias: Any) -> float | None:
    """Return the value of a logit bias if it is a number."""
    return number({"bias": bias}, "bias")


# Seeds


@edit
def seed_lost_with_grammar(body: Body) -> None:
    """Drop the seed of a request with a grammar or a JSON schema. It shows when such a request
    with a seed is sent twice: two texts."""
    if constrained(body):
        body.pop("seed", None)


@edit
def seed_salted(body: Body) -> None:
    """Mix each seed with a number of the server. It shows in any drawn text with a seed: it
    repeats, but it is not the text of that seed."""
    seed = body.get("seed")
    if isinstance(seed, int) and 0 <= seed < 2**32 - 1:
        body["seed"] = seed ^ 0x5A17


@fault
class LeftStreamMovesSeed(Fault):
    """The request after a stream that its client left has the next seed. It shows in the text of
    that request: it is another one than alone."""

    moved = False

    def left(self, exchange: Exchange) -> None:
        self.moved = True

    def ask(self, body: Body, exchange: Exchange) -> None:
        if self.moved and isinstance(body.get("seed"), int) and not unseeded(body):
            body["seed"] += 1
            self.moved = False


# Stop strings


@edit
def stops_first_four_only(body: Body) -> None:
    """Keep the first four stop strings, as OpenAI's API does. It shows when the fifth one comes
    up in the text."""
    if stops(body):
        body["stop"] = body["stop"][:4]


@fault
class StopIgnoresCase(Fault):
    """Stop strings match in any case. It shows with a stop string in upper case whose letters the
    text has in lower case: the text ends there."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if found := stops(body):
            forms = [form for s in found for form in (s, s.lower(), s.upper(), s.capitalize())]
            body["stop"] = list(dict.fromkeys(forms))

    def answer(self, answer: Body, exchange: Exchange) -> None:
        word = answer.get("stopping_word") or ""
        for stop in stops(exchange.asked):
            if word and word.lower() == stop.lower():
                answer["stopping_word"] = stop

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.answer(piece, exchange)
        return True


@edit
def stop_of_ascii_only(body: Body) -> None:
    """Drop stop strings that are not ASCII. It shows when "ü" is a stop string and comes up."""
    if stops(body):
        body["stop"] = [s for s in body["stop"] if not isinstance(s, str) or s.isascii()]


@fault
class PlainKeepsStop(Fault):
    """A whole answer ends with the stop string. It shows in any answer that ends at one, other
    than in a stream."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if answer.get("stop_type") == "word":
            answer["content"] += answer["stopping_word"]


# Logit biases


@edit
def bias_clamped_to_hundred(body: Body) -> None:
    """Clamp each bias to the range of OpenAI's API, from -100 to 100. It shows with biases of 105
    and 100 for two tokens: they come about as often as without."""
    biases = [[k, v if value(v) is None else max(-100, min(100, v))] for k, v in pairs(body)]
    put(body, biases)


@edit
def bias_object_lost(body: Body) -> None:
    """Drop logit biases in the form of an object. It shows when {"300": 1000} forces no token."""
    if isinstance(body.get("logit_bias"), dict):
        del body["logit_bias"]


@edit
def bias_last_of_token_wins(body: Body) -> None:
    """Keep the last of several biases of a token, where the server adds them. It shows with 500
    and -490 for one token, which still comes up at the end."""
    put(body, list({str(pair[0]): pair for pair in pairs(body)}.values()))


@edit
def strong_negative_bias_bans(body: Body) -> None:
    """Take a bias of -10 or less as a ban. It shows at a high temperature: the token is never
    among the probabilities after sampling."""
    put(body, [[k, False if (value(v) or 0) <= -10 else v] for k, v in pairs(body)])


@edit
def greedy_skips_bias(body: Body) -> None:
    """Drop the biases at temperature 0. It shows when a forced token does not come."""
    if greedy(body):
        body.pop("logit_bias", None)


# Penalties and the chain


@edit
def repeat_last_n_of_whole_context(body: Body) -> None:
    """Let penalties see the whole context by default, not 64 tokens. It shows with a penalty
    and a prompt that has a likely token more than 64 tokens back."""
    if body.get("repeat_last_n") is None:
        body["repeat_last_n"] = -1


@edit
def samplers_of_last_year(body: Body) -> None:
    """Drop newer names, top_n_sigma and adaptive_p, of a list of samplers. It shows with
    ["top_n_sigma"] and a small top_n_sigma: the text is drawn from all tokens."""
    if isinstance(body.get("samplers"), list):
        body["samplers"] = [s for s in body["samplers"] if s not in ("top_n_sigma", "adaptive_p")]


@edit
def empty_samplers_are_default(body: Body) -> None:
    """Take an empty list of samplers as none given. It shows in the probabilities after
    sampling: at most 40 tokens are left, where all should be."""
    if body.get("samplers") == []:
        del body["samplers"]


@edit
def dynatemp_within_temperature(body: Body) -> None:
    """Clamp the range of the dynamic temperature to the temperature. It shows with temperature
    0.5 and range 2: the probabilities after sampling are those of range 0.5."""
    width, temperature = number(body, "dynatemp_range"), number(body, "temperature")
    if width is not None:
        body["dynatemp_range"] = min(width, 0.8 if temperature is None else max(0, temperature))


@edit
def mirostat_tau_as_integer(body: Body) -> None:
    """Cut tau to an integer. It shows when tau 3.9 has the text of 3."""
    if (tau := number(body, "mirostat_tau")) is not None:
        body["mirostat_tau"] = int(tau)


@edit
def typical_p_renamed(body: Body) -> None:
    """Pass typical_p on by a name that the server does not know. It shows when typical_p has no
    effect."""
    if "typical_p" in body:
        body["typical"] = body.pop("typical_p")


@edit
def top_p_at_least_a_hundredth(body: Body) -> None:
    """Raise top_p to 0.01. It shows when the temperature comes first and is high: top_p 0.001
    leaves several tokens."""
    if (share := number(body, "top_p")) is not None:
        body["top_p"] = max(share, 0.01)


# Grammars and schemas


def optional(schema: Any) -> Any:
    """Return a schema in which no property is required."""
    if isinstance(schema, list):
        return [optional(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if not (k == "required" and isinstance(v, list))}
    return {k: optional(v) for k, v in kept.items()}


@edit
def schema_required_lost(body: Body) -> None:
    """Drop `required` of a JSON schema. It shows when an object lacks a required property."""
    if "json_schema" in body:
        body["json_schema"] = optional(body["json_schema"])


@edit
def grammar_in_ascii(body: Body) -> None:
    """Drop characters of a grammar that are not ASCII. It shows when a text that must be "Tür"
    is "Tr"."""
    if isinstance(body.get("grammar"), str):
        body["grammar"] = body["grammar"].encode("ascii", "ignore").decode()


@fault
class LeftGrammarStays(Fault):
    """The grammar or schema of a stream that its client left applies to the next request. It
    shows in the text of that request if it has no grammar."""

    kept: Body

    def __init__(self) -> None:
        self.kept = {}

    def left(self, exchange: Exchange) -> None:
        names = ("grammar", "json_schema")
        self.kept = {k: exchange.asked[k] for k in names if exchange.asked.get(k)}

    def ask(self, body: Body, exchange: Exchange) -> None:
        if not constrained(body):
            body.update(self.kept)
        self.kept = {}


# Probabilities


class Told(Fault):
    """A fault in the probabilities of a token, in whole answers and streams."""

    def entry(self, entry: Body, exchange: Exchange) -> None:
        """Change the entry of a token in place."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        for entry in told(answer):
            self.entry(entry, exchange)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.answer(piece, exchange)
        return True


@fault
class TopLogprobsWithoutChosen(Told):
    """The chosen token is not among the top tokens. It shows in any answer with probabilities:
    one of n_probs is missing."""

    def entry(self, entry: Body, exchange: Exchange) -> None:
        for name in {"top_logprobs", "top_probs"} & set(entry):
            entry[name] = [top for top in entry[name] if top["id"] != entry["id"]]


@edit
def n_probs_at_most_twenty(body: Body) -> None:
    """Report the probabilities of 20 tokens at most, as OpenAI's API does. It shows with 25."""
    if (count := number(body, "n_probs")) is not None:
        body["n_probs"] = min(count, 20)


@fault
class LogprobsAfterTemperature(Told):
    """Logprobs are those after the temperature. It shows when those of two temperatures
    differ."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if (number(body, "n_probs") or 0) > 0:
            body["n_probs"] = max(body["n_probs"], 5000)  # all tokens of the golden model

    def entry(self, entry: Body, exchange: Exchange) -> None:
        count = int(number(exchange.asked, "n_probs") or 0)
        temperature = number(exchange.asked, "temperature")
        temperature = 0.8 if temperature is None else temperature
        tops = entry.get("top_logprobs")
        if tops and temperature > 0:
            whole = math.log(sum(math.exp(top["logprob"] / temperature) for top in tops))
            for each in (entry, *tops):
                each["logprob"] = each["logprob"] / temperature - whole
        for name in {"top_logprobs", "top_probs"} & set(entry):
            entry[name] = entry[name][:count]


@fault
class LogprobsFloored(Told):
    """Logprobs are -10 at least. It shows when n_probs reaches unlikely tokens: many have one
    value."""

    def entry(self, entry: Body, exchange: Exchange) -> None:
        for each in (entry, *entry.get("top_logprobs", ())):
            if "logprob" in each:
                each["logprob"] = max(each["logprob"], -10.0)


# State between requests


@fault
class CacheKeyOfScalars(Fault):
    """Whole answers that must repeat are cached, and the key has no lists or objects. It shows in
    two requests with a seed that differ in stop, samplers, biases or a schema only."""

    kept: dict[str, Body]

    def __init__(self) -> None:
        self.kept = {}

    def key(self, body: Body) -> str | None:
        if not isinstance(body.get("prompt"), str) or (unseeded(body) and not greedy(body)):
            return None
        if body.get("stream") or number(body, "n_cmpl") not in (None, 1):
            return None
        return json.dumps({k: v for k, v in sorted(body.items()) if not isinstance(v, list | dict)})

    def at_once(self, exchange: Exchange) -> Body | None:
        key = self.key(exchange.asked)
        return as_asked(self.kept[key], exchange) if key in self.kept and key else None

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if key := self.key(exchange.asked):
            self.kept[key] = copy.deepcopy(answer)


@fault
class EmptyPromptIsLastPrompt(Fault):
    """An empty prompt takes the prompt of the request before. It shows in two requests with an
    empty prompt and a seed after different prompts: two texts."""

    last: Any = ""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if body.get("prompt") in ("", []):
            body["prompt"] = self.last
        elif "prompt" in body:
            self.last = body["prompt"]


# Requests at once


@fault
class NeighboursShareSeed(Fault):
    """A request that joins others takes the seed of the one that is longest under way. It shows
    next to a stream with another seed: the text is not the one alone."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if exchange.others and not unseeded(exchange.others[0].sent) and not unseeded(body):
            body["seed"] = exchange.others[0].sent["seed"]


@fault
class StopsOfNeighbours(Fault):
    """The stop strings of requests under way stop a new request, too. It shows next to a stream
    with a stop string that the new text has."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        more = [stop for other in exchange.others for stop in stops(other.asked)]
        if more:
            body["stop"] = stops(body) + more


@fault
class CoalescedByPrompt(Fault):
    """A request whose prompt is that of one under way gets its answer. It shows in two requests at
    once with one prompt and different seeds: one text. Streams are not concerned."""

    failed: list[Exchange]

    def __init__(self) -> None:
        self.failed = []

    def refused(self, exchange: Exchange) -> None:
        self.failed.append(exchange)

    def at_once(self, exchange: Exchange) -> Body | None:
        prompt, until = exchange.asked.get("prompt"), time.monotonic() + 20
        same = [o for o in exchange.others if o.asked.get("prompt") == prompt and not o.streamed]
        if not same or exchange.streamed or not isinstance(prompt, str):
            return None
        while same[0].answer is None and same[0] not in self.failed and time.monotonic() < until:
            time.sleep(0.002)
        if same[0].answer is None:
            self.failed.append(exchange)
            return None
        exchange.answer = same[0].answer
        return as_asked(same[0].answer, exchange)


# Prompts, lengths and counts


@edit
def prompt_newlines_normalised(body: Body) -> None:
    """Turn the ends of lines in a prompt into newlines. It shows when a prompt with "\\r\\n" has
    fewer tokens than alone."""
    if isinstance(body.get("prompt"), str):
        body["prompt"] = body["prompt"].replace("\r\n", "\n")


class Final(Fault):
    """A fault in what ends an answer, in whole answers and in the last piece of a stream."""

    def end(self, end: Body, exchange: Exchange) -> None:
        """Change the end in place."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        self.end(answer, exchange)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        if piece.get("stop"):
            self.end(piece, exchange)
        return True


@fault
class NPredictAtMostTwoHundred(Final):
    """A text has 200 tokens at most. It shows with n_predict 250."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        length = number(body, "n_predict")
        if length is None or not 0 <= length <= 200:
            body["n_predict"] = 200

    def end(self, end: Body, exchange: Exchange) -> None:
        settings = end.get("generation_settings")
        if isinstance(settings, dict) and exchange.asked != exchange.sent:
            settings["max_tokens"] = settings["n_predict"] = exchange.asked.get("n_predict", -1)


@fault
class TokensEvaluatedWithoutBos(Fault):
    """The count of a text's tokens in tokens_evaluated leaves out the one that begins the prompt.
    It shows when /tokenize with add_special counts one more."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if isinstance(exchange.asked.get("prompt"), str) and "tokens_evaluated" in answer:
            answer["tokens_evaluated"] -= 1

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.answer(piece, exchange)
        return True


@fault
class LimitIsTruncated(Final):
    """`truncated` is true when a text ends at n_predict, though the context was not exceeded. It
    shows in any such answer."""

    def end(self, end: Body, exchange: Exchange) -> None:
        if end.get("stop_type") == "limit":
            end["truncated"] = True


# Texts and streams


@fault
class ContentHtmlEscaped(Fault):
    """The characters &, < and > of a text are escaped for HTML. It shows when a text has one."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        answer["content"] = html.escape(answer.get("content", ""), quote=False)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.answer(piece, exchange)
        return True


@fault
class StreamMojibake(Fault):
    """The text of a stream is decoded as Latin-1. It shows when a streamed text has an "ü"."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        piece["content"] = piece.get("content", "").encode().decode("latin-1")
        return True


@fault
class BlankLinesCollapsed(Fault):
    """Two or more blank lines of a whole answer become one. It shows when a text has three
    newlines in a row: a stream has more of them than a whole answer."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        answer["content"] = re.sub("\n{3,}", "\n\n", answer.get("content", ""))


@fault
class StreamEndsWithWholeText(Fault):
    """The last piece of a stream has the whole text again. It shows when a client joins the
    pieces: the text comes twice."""

    texts: dict[tuple[Exchange, int], str]

    def __init__(self) -> None:
        self.texts = {}

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        which = (exchange, piece.get("index", 0))
        self.texts[which] = self.texts.get(which, "") + piece.get("content", "")
        if piece.get("stop"):
            piece["content"] = self.texts.pop(which)
        return True


@edit
def stream_of_openai_parameters(body: Body) -> None:
    """Pass on only the parameters of OpenAI's API in a stream. It shows when top_k 1 draws another
    text in a stream than in a whole answer."""
    if body.get("stream"):
        passed = """prompt stream temperature top_p n_predict n_cmpl stop seed presence_penalty
        frequency_penalty logit_bias n_probs json_schema return_tokens cache_prompt"""
        for name in set(body) - set(passed.split()):
            del body[name]


# The reserve


@edit
def min_keep_raises_top_k(body: Body) -> None:
    """Let min_keep hold for top_k, too. It shows with top_k 2 and min_keep 5: five tokens are
    left."""
    least, most = number(body, "min_keep"), number(body, "top_k")
    if least is not None and 0 < (40 if most is None else most) < least:
        body["top_k"] = least


@edit
def negative_penalties_are_zero(body: Body) -> None:
    """Take a negative presence or frequency penalty as 0. It shows when -2 does not repeat words
    more often."""
    for name in ("presence_penalty", "frequency_penalty"):
        if (number(body, name) or 0) < 0:
            body[name] = 0.0


@fault
class IndexesAllZero(Fault):
    """Each of several answers has index 0. It shows with two prompts or n_cmpl 2."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        answer["index"] = 0

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        piece["index"] = 0
        return True


@edit
def repeat_penalty_at_least_one(body: Body) -> None:
    """Raise a repeat_penalty below 1 to 1. It shows when 0.5 does not repeat words more often."""
    if (penalty := number(body, "repeat_penalty")) is not None:
        body["repeat_penalty"] = max(penalty, 1.0)


@edit
def stop_longer_than_buffer(body: Body) -> None:
    """Drop stop strings of more than 16 bytes. It shows when one comes up in the text."""
    if stops(body):
        body["stop"] = [s for s in body["stop"] if len(str(s).encode()) <= 16]
