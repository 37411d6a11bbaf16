"""Define the second blind list of faults of a server, for `python -m studies.blind_servers again`.

It was written before any check ran on it, from docs/check-a-server.md, the dialects, and public
documentation of llama-server. No check, test, planted fault or earlier result was read. The first
8 faults of the first list were. 60 faults were noted by name (NOTED), and
`random.Random(5).sample(NOTED.split(), 45)` chose. The first 40 are the list. The last five are the
reserve: they replace faults that a planted fault repeats, or that no request shows.

Each docstring states the fault and how it shows. Each one was seen to show on requests through the
proxy in front of a real llama-server.
"""

import copy
import json
import math
from typing import Any

from studies.faulty_proxy import Body, Exchange, Fault, Faults, number, told

FAULTS = Faults()
MAIN = 40  # The faults after these are the reserve.
fault, edit = FAULTS.fault, FAULTS.edit

NOTED = """
seed-taken-is-moved seed-kept-for-unseeded unseeded-of-four-workers xtc-draws-unseeded
stops-of-the-stream-before breakers-stay left-stream-prefixes-next refused-leaves-temperature
grammar-cached-by-head schema-cached-by-keys greedy-cached-without-length cache-key-rounds-floats
cache-key-sorts-lists cache-key-without-probabilities
stream-probabilities-of-the-next stream-last-piece-lost stream-splits-utf8 stream-escapes-newlines
stream-loses-blank-pieces stream-keeps-stop
plain-text-trimmed stop-stripped stop-matches-prompt stop-string-is-letters first-stop-of-list-wins
stop-word-reported-as-eos
bias-by-text-lost bias-as-int bias-after-temperature bias-lost-with-grammar bias-replaces-ignore-eos
window-minus-one-is-none dry-window-of-repeat-last-n one-penalty-at-a-time
openai-penalties-over-everything window-capped-at-64 greedy-skips-penalties
samplers-once-each temperature-always-applies top-k-of-at-most-1024 shares-rounded-to-hundredths
temperature-rounded-to-tenths ones-are-omitted mirostat-one-is-two dynatemp-is-a-width
filters-need-temperature integer-temperature-lost null-is-zero schema-limits-dropped
newlines-in-grammar-lost n-probs-of-at-most-five logprobs-in-base-two renormalized-over-top
post-sampling-probs-lost bytes-of-decoded-token n-predict-default-of-openai
completions-share-a-text answers-in-order-of-end batch-takes-largest-top-k greedy-lost-beside-others
"""


def unseeded(body: Body) -> bool:
    """Return whether the seed is left to the server."""
    return body.get("seed") in (None, -1)


def greedy(body: Body) -> bool:
    """Return whether the likeliest token is asked for by the temperature."""
    temperature = number(body, "temperature")
    return temperature is not None and temperature <= 0


def pairs(body: Body) -> list[list[Any]]:
    """Return the logit biases in either form as pairs of a token and a value."""
    biases = body.get("logit_bias")
    if isinstance(biases, dict):
        return [[key, value] for key, value in biases.items()]
    if isinstance(biases, list) and all(isinstance(b, list) and len(b) == 2 for b in biases):
        return biases
    return []


def put(body: Body, biases: list[list[Any]]) -> None:
    """Send pairs as the logit biases, in the form that the client took."""
    if pairs(body):
        form = dict if isinstance(body["logit_bias"], dict) else list
        body["logit_bias"] = form(biases)


def stops(body: Body) -> list[str]:
    """Return the stop strings of a list."""
    found = body.get("stop")
    return [s for s in found if isinstance(s, str)] if isinstance(found, list) else []


# Seeds


@fault
class SeedTakenIsMoved(Fault):
    """A seed that another request under way has is counted up. It shows in a request while a stream
    with its seed is under way: it has another text than alone."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        taken = {other.sent.get("seed") for other in exchange.others}
        while not unseeded(body) and isinstance(body["seed"], int) and body["seed"] in taken:
            body["seed"] += 1


@fault
class SeedKeptForUnseeded(Fault):
    """A request without a seed takes the last seed that was sent. It shows after seed 7: two
    requests without a seed have its text."""

    last: Any = None

    def ask(self, body: Body, exchange: Exchange) -> None:
        if not unseeded(body):
            self.last = body["seed"]
        elif number({"seed": self.last}, "seed") is not None:
            body["seed"] = self.last


@fault
class UnseededOfFourWorkers(Fault):
    """Each of four workers starts every request without a seed from its own number. It shows in
    five such requests: two have one text."""

    count = 0

    def ask(self, body: Body, exchange: Exchange) -> None:
        if unseeded(body):
            body["seed"] = 4711 + self.count % 4
            self.count += 1


@edit
def xtc_draws_unseeded(body: Body) -> None:
    """Draw XTC's chance from a generator without a seed. It shows at xtc_probability 0.5: a seed
    does not repeat."""
    if 0 < (number(body, "xtc_probability") or 0) < 1:
        body.pop("seed", None)


# State between requests


@fault
class StopsOfTheStreamBefore(Fault):
    """A plain request without stop strings has those of the last stream. It shows in a text that
    contains one of them."""

    kept: tuple[str, ...] = ()

    def ask(self, body: Body, exchange: Exchange) -> None:
        if exchange.streamed:
            self.kept = tuple(stops(body))
        elif not body.get("stop") and self.kept:
            body["stop"] = list(self.kept)


@fault
class BreakersStay(Fault):
    """The sequence breakers of DRY stay until others are sent. It shows in a request with DRY and
    without breakers, after one with other breakers than the default."""

    kept: tuple[Any, ...] = ()

    def ask(self, body: Body, exchange: Exchange) -> None:
        if isinstance(sent := body.get("dry_sequence_breakers"), list):
            self.kept = tuple(sent)
        elif sent is None and self.kept:
            body["dry_sequence_breakers"] = list(self.kept)


@fault
class LeftStreamPrefixesNext(Fault):
    """The piece that waits when a client leaves a stream comes before the next text. It shows in
    the request after a stream that was left."""

    pending = ""

    def __init__(self) -> None:
        self.waits: dict[Exchange, str] = {}

    def take(self, body: Body) -> None:
        body["content"] = self.pending + body.get("content", "")
        self.pending = ""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        self.take(answer)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.waits[exchange] = piece.get("content", "")
        self.take(piece)
        return True

    def left(self, exchange: Exchange) -> None:
        self.pending = self.waits.get(exchange, "")


@fault
class RefusedLeavesTemperature(Fault):
    """A refused request leaves its temperature to the next one that has none. It shows after a
    refused request at temperature 0: the next text is the greedy one."""

    kept: float | None = None

    def ask(self, body: Body, exchange: Exchange) -> None:
        if body.get("temperature") is None and self.kept is not None:
            body["temperature"] = self.kept
        self.kept = None

    def refused(self, exchange: Exchange) -> None:
        self.kept = number(exchange.asked, "temperature")


# Caches of answers


class Cache(Fault):
    """Answer plain requests from a cache. A subclass gives the key."""

    def __init__(self) -> None:
        self.kept: dict[str, Body] = {}

    def key(self, asked: Body) -> Body | None:
        """Return what distinguishes requests, or None for one that is not cached."""
        return None

    def at_once(self, exchange: Exchange) -> Body | None:
        key = None if exchange.streamed else self.key(exchange.asked)
        return self.kept.get(json.dumps(key, sort_keys=True))

    def answers(self, answers: list[Body], exchange: Exchange) -> None:
        if len(answers) == 1 and (key := self.key(exchange.asked)) is not None:
            self.kept[json.dumps(key, sort_keys=True)] = copy.deepcopy(answers[0])


@fault
class GreedyCachedWithoutLength(Cache):
    """Answers at temperature 0 are cached, and the key has no n_predict. It shows in two greedy
    requests that differ in the length alone."""

    def key(self, asked: Body) -> Body | None:
        return {k: v for k, v in asked.items() if k != "n_predict"} if greedy(asked) else None


@fault
class CacheKeySortsLists(Cache):
    """Answers with a seed are cached, and the key sorts every list. It shows in two requests with
    one seed that differ in the order of the samplers."""

    def key(self, asked: Body) -> Body | None:
        if unseeded(asked):
            return None
        lists = {k: sorted(v, key=json.dumps) for k, v in asked.items() if isinstance(v, list)}
        return asked | lists


@fault
class CacheKeyWithoutProbabilities(Cache):
    """Answers with a seed are cached, and the key leaves out how many probabilities to return. It
    shows in a request with n_probs 5 after the same one without n_probs."""

    def key(self, asked: Body) -> Body | None:
        names = ("n_probs", "post_sampling_probs")
        return None if unseeded(asked) else {k: v for k, v in asked.items() if k not in names}


# Streams


@fault
class StreamLastPieceLost(Fault):
    """A stream ends before the piece of the last token. It shows in a stream that ends by
    n_predict: its text is shorter than the plain one."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        limit = number(exchange.asked, "n_predict")
        return piece.get("stop") is not False or piece.get("tokens_predicted") != limit


@fault
class StreamSplitsUtf8(Fault):
    """A stream decodes each token alone, so each byte of a longer character becomes U+FFFD. It
    shows in a stream with the grammar `root ::= "é"`."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        split = (c if ord(c) < 128 else "\ufffd" * len(c.encode()) for c in piece["content"])
        piece["content"] = "".join(split)
        return True


@fault
class StreamEscapesNewlines(Fault):
    """A stream carries a newline as a backslash and an n. It shows in a stream of a text with a
    newline."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        piece["content"] = piece["content"].replace("\n", "\\n")
        return True


@fault
class StreamKeepsStop(Fault):
    """A stream sends the stop string. It shows in a stream with a stop string, whose text is longer
    than the plain one."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        if piece.get("stop_type") == "word":
            piece["content"] += piece.get("stopping_word", "")
        return True


# Stop strings


@edit
def stop_stripped(body: Body) -> None:
    """Strip blanks from stop strings, and drop those that are empty then. It shows with the stop
    string "\\n\\n", which stops nothing."""
    if stops(body):
        body["stop"] = [s.strip() for s in stops(body) if s.strip()]


@fault
class StopMatchesPrompt(Fault):
    """Stop strings are looked for in the prompt, too. It shows with a stop string that is a word
    of the prompt: the text is empty."""

    def found(self, asked: Body) -> str:
        prompt = asked.get("prompt")
        return next((s for s in stops(asked) if isinstance(prompt, str) and s in prompt), "")

    def ask(self, body: Body, exchange: Exchange) -> None:
        if self.found(body):
            body["n_predict"] = 1

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if found := self.found(exchange.asked):
            answer |= {"content": "", "tokens": [], "tokens_predicted": 0}
            answer |= {"stop_type": "word", "stopping_word": found}
            answer.pop("completion_probabilities", None)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        if self.found(exchange.asked) and not piece.get("stop"):
            return False
        self.answer(piece, exchange)
        return True


@edit
def stop_string_is_letters(body: Body) -> None:
    """Take a stop string that is not in a list as a list of its letters. It shows with such a
    string: the text ends at its first letter."""
    if isinstance(body.get("stop"), str):
        body["stop"] = list(body["stop"])


@fault
class FirstStopOfListWins(Fault):
    """The whole text is cut at the first stop string of the list that is in it, though another one
    comes earlier. It shows in a plain request with two stop strings."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if len(stops(body)) > 1 and not exchange.streamed:
            del body["stop"]

    def answer(self, answer: Body, exchange: Exchange) -> None:
        found = stops(exchange.asked)
        hit = next((s for s in found if s in answer["content"]), None) if len(found) > 1 else None
        if hit is not None:
            answer["content"] = answer["content"].partition(hit)[0]
            answer |= {"stop_type": "word", "stopping_word": hit}


# Logit biases


@edit
def bias_by_text_lost(body: Body) -> None:
    """Drop the biases whose token is given as text. It shows with [[" the", false]]: the word still
    comes."""
    put(body, [p for p in pairs(body) if not isinstance(p[0], str) or p[0].isdigit()])


@edit
def bias_as_int(body: Body) -> None:
    """Cut biases to whole numbers. It shows in the probabilities or the text with a bias of 0.9."""
    put(body, [[t, int(b) if isinstance(b, float) else b] for t, b in pairs(body)])


@edit
def bias_after_temperature(body: Body) -> None:
    """Add biases to the logits that the temperature has divided. It shows at temperature 6, where
    a bias has a larger effect than documented."""
    temperature = number(body, "temperature")
    factor = 0.8 if temperature is None else temperature
    if factor > 0:
        given = pairs(body)
        put(body, [[t, b if isinstance(b, bool | str) else b * factor] for t, b in given])


@edit
def bias_lost_with_grammar(body: Body) -> None:
    """Drop the biases of a request with a grammar or a schema. It shows in a grammar of two words
    with a bias that forces the less likely one."""
    if body.get("grammar") or body.get("json_schema"):
        body.pop("logit_bias", None)


@edit
def bias_replaces_ignore_eos(body: Body) -> None:
    """Let the biases of the request overwrite the one of ignore_eos. It shows with ignore_eos and
    any bias: the text still ends."""
    if pairs(body):
        body.pop("ignore_eos", None)


# Penalties


@edit
def one_penalty_at_a_time(body: Body) -> None:
    """Drop the presence and frequency penalties where repeat_penalty is used. It shows in a request
    with repeat_penalty 1.1 and frequency_penalty 2."""
    if (number(body, "repeat_penalty") or 1) != 1:
        body.pop("presence_penalty", None)
        body.pop("frequency_penalty", None)


@edit
def openai_penalties_over_everything(body: Body) -> None:
    """Let the presence and frequency penalties count the whole context. It shows with repeat_last_n
    1, which should let a token return after another one."""
    if number(body, "presence_penalty") or number(body, "frequency_penalty"):
        body["repeat_last_n"] = 4096


@edit
def greedy_skips_penalties(body: Body) -> None:
    """Take the likeliest token before any penalty at temperature 0. It shows in two requests at
    temperature 0, with a penalty and without."""
    if greedy(body):
        for name in ("repeat_penalty", "presence_penalty", "frequency_penalty", "dry_multiplier"):
            body.pop(name, None)


# Values


@edit
def top_k_of_at_most_1024(body: Body) -> None:
    """Keep 1024 tokens where top_k is 0 or larger. It shows in a text at top_k 0 and temperature 6,
    which has no token of a higher rank."""
    if (top_k := number(body, "top_k")) is not None and not 0 < top_k <= 1024:
        body["top_k"] = 1024


@edit
def shares_rounded_to_hundredths(body: Body) -> None:
    """Round top_p, min_p and typical_p to two places. It shows with min_p 0.004, which has the text
    of min_p 0."""
    for name in ("top_p", "min_p", "typical_p"):
        if (share := number(body, name)) is not None:
            body[name] = round(share, 2)


@edit
def temperature_rounded_to_tenths(body: Body) -> None:
    """Round the temperature to one place. It shows at temperatures 0.75 and 0.84, which give
    one text."""
    if (temperature := number(body, "temperature")) is not None:
        body["temperature"] = round(temperature, 1)


@edit
def dynatemp_is_a_width(body: Body) -> None:
    """Take dynatemp_range as the whole width, so that the temperature moves by half of it. It shows
    in the probabilities after sampling, or the text."""
    if (width := number(body, "dynatemp_range")) is not None:
        body["dynatemp_range"] = width / 2


@edit
def integer_temperature_lost(body: Body) -> None:
    """Take the default where the temperature is written without a point. It shows at temperature 2,
    which has another text than 2.0."""
    if type(body.get("temperature")) is int:
        del body["temperature"]


@edit
def null_is_zero(body: Body) -> None:
    """Take 0 for a null. It shows with a temperature of null: the text is the greedy one and not
    that of the default."""
    for name in ("temperature", "top_k", "top_p", "min_p", "typical_p", "seed"):
        if name in body and body[name] is None:
            body[name] = 0


# Schemas


@edit
def schema_limits_dropped(body: Body) -> None:
    """Drop the limits of lengths from a schema. It shows with an array of three items: the text has
    another number of them."""
    limits = ("minLength", "maxLength", "minItems", "maxItems")

    def without(part: Any) -> Any:
        if isinstance(part, dict):
            return {k: without(v) for k, v in part.items() if k not in limits}
        return [without(v) for v in part] if isinstance(part, list) else part

    if "json_schema" in body:
        body["json_schema"] = without(body["json_schema"])


# Probabilities


@edit
def n_probs_of_at_most_five(body: Body) -> None:
    """Return at most 5 probabilities, as OpenAI's API. It shows with n_probs 10."""
    if (number(body, "n_probs") or 0) > 5:
        body["n_probs"] = 5


class Logprobs(Fault):
    """Change the logprobs of each token. A subclass states how."""

    def change(self, entry: Body) -> None:
        """Change an entry with its `top_logprobs` in place."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        for entry in told(answer):
            if entry.get("top_logprobs"):
                self.change(entry)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.answer(piece, exchange)
        return True


@fault
class LogprobsInBaseTwo(Logprobs):
    """Logprobs are logarithms to base 2. It shows with n_probs 4096: the probabilities do not add
    up to 1."""

    def change(self, entry: Body) -> None:
        for one in [entry, *entry["top_logprobs"]]:
            one["logprob"] /= math.log(2)


@fault
class RenormalizedOverTop(Logprobs):
    """The probabilities that are returned add up to 1. It shows with n_probs 2 and 5: they give one
    token two values."""

    def change(self, entry: Body) -> None:
        total = math.log(sum(math.exp(one["logprob"]) for one in entry["top_logprobs"]))
        for one in [entry, *entry["top_logprobs"]]:
            one["logprob"] -= total


@edit
def post_sampling_probs_lost(body: Body) -> None:
    """Leave post_sampling_probs out. It shows in a request with it: the probabilities are those
    before the filters and have the other form."""
    body.pop("post_sampling_probs", None)


# Several texts, and clients at once


@fault
class AnswersInOrderOfEnd(Fault):
    """The answers to several prompts come in the order in which they end. It shows with two prompts
    of which the second one ends first."""

    def answers(self, answers: list[Body], exchange: Exchange) -> None:
        answers.sort(key=lambda answer: answer.get("tokens_predicted", 0))
        if len(answers) > 1:
            for place, answer in enumerate(answers):
                answer["index"] = place


@fault
class GreedyLostBesideOthers(Fault):
    """A greedy request that joins a batch of drawn ones is drawn at temperature 1. It shows in a
    request at temperature 0 while a stream at temperature 1 is under way."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if greedy(body) and any(not greedy(other.asked) for other in exchange.others):
            body["temperature"] = 1.0


# The reserve


@fault
class StreamProbabilitiesOfTheNext(Fault):
    """A stream holds one piece of text back and sends the probabilities at once. It shows in a
    stream with n_probs: each piece has the probabilities of the next token."""

    def __init__(self) -> None:
        self.held: dict[Exchange, Body] = {}

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        before = self.held.pop(exchange, {"content": "", "tokens": []})
        if piece.get("stop"):
            piece["content"] = before["content"] + piece["content"]
        else:
            self.held[exchange] = {name: piece[name] for name in before}
            piece |= before
        return True


@fault
class CompletionsShareAText(Fault):
    """The completions of one prompt have one generator's state. It shows with n_cmpl 2: both have
    one text."""

    def answers(self, answers: list[Body], exchange: Exchange) -> None:
        count = int(number(exchange.asked, "n_cmpl") or 1)
        for place, answer in enumerate(answers):
            first = answers[place - place % count]
            answer |= {name: first[name] for name in ("content", "tokens")}


@fault
class StreamLosesBlankPieces(Fault):
    """A stream leaves pieces out that are blanks alone. It shows in a stream of a text with empty
    lines."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        return bool(piece.get("stop")) or not piece["content"].isspace()


@edit
def temperature_always_applies(body: Body) -> None:
    """Add the temperature to a list of samplers without it. It shows with samplers ["top_k"] at two
    temperatures, which should have one text."""
    if isinstance(samplers := body.get("samplers"), list) and "temperature" not in samplers:
        body["samplers"] = [*samplers, "temperature"]


@fault
class BatchTakesLargestTopK(Fault):
    """The requests of a batch have the largest top_k of them. It shows at top_k 1 while a stream
    with top_k 40 is under way."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        counts = [number(other.asked, "top_k") for other in exchange.others]
        known = [40 if count is None else count for count in [number(body, "top_k"), *counts]]
        body["top_k"] = 0 if any(count <= 0 for count in known) else int(max(known))
