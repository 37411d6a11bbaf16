"""Define the fourth blind list of faults of a server, for `python -m studies.blind_servers fourth`.

It was written before any check ran on it, from docs/check-a-server.md, the dialects, a list of
public defects of samplers, and public threads on llama-server. No check, test, planted fault or
earlier result was read. The names in the earlier lists were, and some of their faults: the last 11
of the first list, the first 9 of the second and the first 12 of the third. 66 faults were noted by
name (NOTED), and `random.Random(23).sample(NOTED.split(), 45)` chose. The first 40 are the list, in
the order of NOTED. The last five are the reserve: they replace faults that a planted fault repeats,
or that no request shows.

Each docstring states the fault and how it shows. Each one was seen to show on requests through the
proxy in front of a real llama-server. None was replaced.
"""

import math
import re
from typing import Any

from studies.blind_servers_again import greedy, pairs, put, stops
from studies.blind_servers_third import constrained
from studies.faulty_proxy import Answers, Body, Exchange, Fault, Faults, number, told

FAULTS = Faults()
MAIN = 40  # The faults after these are the reserve.
fault, edit = FAULTS.fault, FAULTS.edit

NOTED = """
seed-modulo-million seed-mixed-with-length seed-moves-with-n-probs stream-seed-plus-one
unseeded-by-the-second seed-lost-for-token-prompts
stop-of-blanks-lost stop-cut-to-eight stop-is-regex-escaped stop-split-at-commas
stream-shows-start-of-stop stops-lost-with-grammar stopping-word-is-first-of-list
bias-of-token-zero-lost biases-of-first-sixteen bias-text-stripped bias-zero-is-ban
ban-lost-in-object
window-within-length openai-penalties-clamped dry-multiplier-is-a-switch
dry-breakers-of-one-character dry-lost-with-repeat-penalty
samplers-of-letters-lost penalties-always-on top-k-widened-to-n-probs top-p-zero-is-off
top-n-sigma-as-integer xtc-always-fires
temperature-at-least-a-fifth negative-temperature-is-absolute dynatemp-exponent-as-integer
mirostat-without-temperature
long-grammar-lost schema-enum-is-its-first schema-any-of-is-its-first schema-without-type-lost
grammar-lost-in-stream json-answers-compacted
logprobs-rounded top-lists-shifted probabilities-of-first-thirty-two token-texts-stripped
small-probs-are-zero
stream-drops-repeats stream-trims-start stream-tokens-pile-up stream-loses-after-hundred
stream-length-capped tabs-expanded astral-characters-lost
cache-ignores-case cache-key-of-openai-parameters popular-prompts-are-cached
slots-keep-samplers neighbours-share-bias ignore-eos-stays busy-server-shortens
prompt-end-trimmed mixed-prompt-loses-tokens prompt-braces-unescaped special-tokens-stripped
prompt-cut-to-thousand prompt-escapes-processed
n-predict-at-least-four tokens-predicted-is-limit
"""


def move_seed(body: Body, by: float) -> None:
    """Count up the seed of a request, if it has one."""
    seed = body.get("seed")
    if isinstance(seed, int) and 0 <= seed < 2**32 - 1:
        body["seed"] = (seed + int(by)) % (2**32 - 1)


def edit_prompt(body: Body, old: str, new: str) -> None:
    """Replace a pattern in a prompt that is one string."""
    if isinstance(prompt := body.get("prompt"), str):
        body["prompt"] = re.sub(old, new, prompt)


# Seeds


@edit
def seed_modulo_million(body: Body) -> None:
    """Take the last six digits of a seed. It shows when seeds 1000007 and 7 have one text."""
    if isinstance(seed := body.get("seed"), int) and seed >= 0:
        body["seed"] = seed % 1_000_000


@edit
def seed_mixed_with_length(body: Body) -> None:
    """Mix the seed with n_predict. It shows when the drawn text of 8 tokens is not the beginning
    of the one of 16 tokens with the same seed."""
    if (length := number(body, "n_predict")) is not None and length > 0:
        move_seed(body, length)


@edit
def seed_moves_with_n_probs(body: Body) -> None:
    """Draw once for each of the n_probs before the text. It shows when n_probs changes a drawn
    text with a seed."""
    move_seed(body, number(body, "n_probs") or 0)


@edit
def stream_seed_plus_one(body: Body) -> None:
    """Count the seed of a stream up by one. It shows when a stream with a seed has another text
    than the plain answer."""
    if body.get("stream"):
        move_seed(body, 1)


@edit
def seed_lost_for_token_prompts(body: Body) -> None:
    """Drop the seed if the prompt is a list of tokens. It shows when such a request with a seed is
    sent twice: two texts."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and prompt and all(isinstance(t, int) for t in prompt):
        body.pop("seed", None)


# Stop strings


@edit
def stop_of_blanks_lost(body: Body) -> None:
    """Drop stop strings of blanks as empty ones. It shows with a line break as a stop string: the
    text goes on."""
    if stops(body):
        body["stop"] = [s for s in body["stop"] if not isinstance(s, str) or s.strip()]


@edit
def stop_is_regex_escaped(body: Body) -> None:
    """Escape stop strings for a regular expression, where the server compares strings. It shows
    with a stop string that contains a space or a full stop: the text goes on."""
    if stops(body):
        body["stop"] = [re.escape(s) if isinstance(s, str) else s for s in body["stop"]]


@fault
class StreamShowsStartOfStop(Fault):
    """A stream that ends at a stop string contains its first character. It shows with a stop
    string of two characters or more: the plain answer is one character shorter."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        if piece.get("stop_type") == "word" and len(piece["stopping_word"]) > 1:
            piece["content"] += piece["stopping_word"][0]
        return True


@edit
def stops_lost_with_grammar(body: Body) -> None:
    """Drop the stop strings of a request with a grammar or a JSON schema. It shows when a
    constrained text contains a stop string and goes on."""
    if constrained(body):
        body.pop("stop", None)


@fault
class StoppingWordIsFirstOfList(Answers):
    """The stopping word is the first stop string of the request. It shows when the text ends at
    the second one."""

    def change(self, body: Body, asked: Body) -> None:
        if body.get("stop_type") == "word" and stops(asked):
            body["stopping_word"] = stops(asked)[0]


# Logit biases


@edit
def bias_of_token_zero_lost(body: Body) -> None:
    """Drop the bias of token 0, which tests as false. It shows with 1000 for token 0: it is not
    forced."""
    put(body, [pair for pair in pairs(body) if str(pair[0]) != "0"])


@edit
def biases_of_first_sixteen(body: Body) -> None:
    """Keep the first 16 biases. It shows when the 17th one forces no token."""
    put(body, pairs(body)[:16])


@edit
def ban_lost_in_object(body: Body) -> None:
    """Drop the value false of logit biases in the form of an object. It shows when {"300": false}
    bans no token."""
    if isinstance(body.get("logit_bias"), dict):
        put(body, [pair for pair in pairs(body) if pair[1] is not False])


# Penalties


@edit
def window_within_length(body: Body) -> None:
    """Make repeat_last_n at most n_predict. It shows in a short text with a repeat penalty: tokens
    in the early part of the prompt are not penalised."""
    length, window = number(body, "n_predict"), number(body, "repeat_last_n")
    window = 64 if window is None else window
    if length is not None and 0 < length < window:
        body["repeat_last_n"] = length


@edit
def openai_penalties_clamped(body: Body) -> None:
    """Clamp presence and frequency penalties to the range of OpenAI's API, from -2 to 2. It shows
    when 2 and 5 have one text."""
    for name in ("presence_penalty", "frequency_penalty"):
        if (penalty := number(body, name)) is not None:
            body[name] = max(-2.0, min(2.0, penalty))


@edit
def dry_lost_with_repeat_penalty(body: Body) -> None:
    """Switch DRY off in a request with a repeat penalty. It shows when DRY has no effect together
    with a penalty of 1.05."""
    if number(body, "repeat_penalty") not in (None, 1):
        body["dry_multiplier"] = 0.0


# Filters and the chain


@edit
def samplers_of_letters_lost(body: Body) -> None:
    """Drop samplers in the form of one string of letters. It shows when "k" draws from other
    tokens than ["top_k"]."""
    if isinstance(body.get("samplers"), str):
        del body["samplers"]


@edit
def penalties_always_on(body: Body) -> None:
    """Put the penalties first if the samplers do not name them. It shows with a repeat penalty
    and samplers without penalties: words do not repeat."""
    samplers = body.get("samplers")
    if isinstance(samplers, list) and "penalties" not in samplers:
        body["samplers"] = ["penalties", *samplers]


@edit
def top_p_zero_is_off(body: Body) -> None:
    """Take top_p 0 as unset, because it tests as false. It shows when top_p 0 does not give the
    greedy text."""
    if number(body, "top_p") == 0:
        body["top_p"] = 1.0


@edit
def top_n_sigma_as_integer(body: Body) -> None:
    """Cut the decimals of top_n_sigma. It shows when 1 and 1.9 have one text."""
    if (sigma := number(body, "top_n_sigma")) is not None and math.isfinite(sigma):
        body["top_n_sigma"] = int(sigma)


@edit
def xtc_always_fires(body: Body) -> None:
    """Take every xtc_probability above 0 as 1. It shows at 0.01: the text is the one of 1."""
    if (number(body, "xtc_probability") or 0) > 0:
        body["xtc_probability"] = 1.0


# Temperatures


@edit
def temperature_at_least_a_fifth(body: Body) -> None:
    """Raise temperatures between 0 and 0.2 to 0.2. It shows when 0.02 and 0.2 have one text."""
    if 0 < (number(body, "temperature") or 0) < 0.2:
        body["temperature"] = 0.2


@edit
def negative_temperature_is_absolute(body: Body) -> None:
    """Drop the sign of a temperature. It shows at -1, which asks for the likeliest tokens: texts
    of two seeds differ."""
    if (temperature := number(body, "temperature")) is not None:
        body["temperature"] = abs(temperature)


@edit
def dynatemp_exponent_as_integer(body: Body) -> None:
    """Cut the decimals of dynatemp_exponent. It shows when 1 and 1.9 have one text."""
    if (exponent := number(body, "dynatemp_exponent")) is not None and math.isfinite(exponent):
        body["dynatemp_exponent"] = int(exponent)


@edit
def mirostat_without_temperature(body: Body) -> None:
    """Draw at temperature 1 with mirostat. It shows when temperatures of 0.5 and 1.5 have one text
    with mirostat."""
    if number(body, "mirostat") in (1, 2) and not greedy(body):
        body["temperature"] = 1.0


# Grammars and schemas


@edit
def long_grammar_lost(body: Body) -> None:
    """Drop a grammar of more than 500 characters. It shows when a text does not follow it."""
    if isinstance(grammar := body.get("grammar"), str) and len(grammar) > 500:
        del body["grammar"]


def with_first_of(schema: Any, name: str) -> Any:
    """Return a JSON schema in which each list of this name has its first entry alone."""
    if isinstance(schema, list):
        return [with_first_of(part, name) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: with_first_of(part, name) for key, part in schema.items()}
    if isinstance(found := kept.get(name), list):
        kept[name] = found[:1]
    return kept


@edit
def schema_enum_is_its_first(body: Body) -> None:
    """Take an enum of a JSON schema as its first value. It shows in drawn texts: the other values
    never come."""
    if isinstance(schema := body.get("json_schema"), dict):
        body["json_schema"] = with_first_of(schema, "enum")


@edit
def schema_without_type_lost(body: Body) -> None:
    """Drop a JSON schema whose outermost object has no type. It shows with {"const": "a"}: any
    text comes."""
    schema = body.get("json_schema")
    if isinstance(schema, dict) and "type" not in schema:
        del body["json_schema"]


@edit
def grammar_lost_in_stream(body: Body) -> None:
    """Drop the grammar of a stream. It shows when a stream does not follow it."""
    if body.get("stream"):
        body.pop("grammar", None)


# Probabilities


@fault
class LogprobsRounded(Answers):
    """Logarithms of probabilities have four decimals. It shows in any answer with n_probs."""

    def change(self, body: Body, asked: Body) -> None:
        for row in told(body):
            for entry in [row, *row.get("top_logprobs", [])]:
                if "logprob" in entry:
                    entry["logprob"] = round(entry["logprob"], 4)


@fault
class TopListsShifted(Fault):
    """In a whole answer each list of likeliest tokens is the one of the token before. It shows
    when the chosen token has another value in its list, or when a stream has other lists."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        rows = told(answer)
        for name in ("top_logprobs", "top_probs"):
            lists = [row[name] for row in rows if name in row]
            if len(lists) == len(rows):
                for row, entries in zip(rows, [*lists[:1], *lists], strict=False):
                    row[name] = entries


# Streams and answers


@fault
class StreamTokensPileUp(Fault):
    """Each piece of a stream has the tokens of all the pieces up to it. It shows in the second
    piece of any stream."""

    def __init__(self) -> None:
        self.seen: dict[Exchange, list[int]] = {}

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        if piece.get("tokens"):
            self.seen[exchange] = piece["tokens"] = self.seen.get(exchange, []) + piece["tokens"]
        return True


@fault
class StreamLosesAfterHundred(Fault):
    """A stream loses the pieces after the hundredth, other than the last one. It shows in a stream
    of 120 tokens."""

    def __init__(self) -> None:
        self.count: dict[Exchange, int] = {}

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.count[exchange] = self.count.get(exchange, 0) + 1
        return bool(piece.get("stop")) or self.count[exchange] <= 100


@fault
class TabsExpanded(Answers):
    """A tab in a text becomes four spaces. It shows in a text with a tab, as a grammar asks for."""

    def change(self, body: Body, asked: Body) -> None:
        if isinstance(text := body.get("content"), str):
            body["content"] = text.replace("\t", "    ")


# Concurrency


@fault
class BusyServerShortens(Fault):
    """A request that comes while eight others are under way gets at most 16 tokens. It shows in
    nine requests at once for 32 tokens each."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        length = number(body, "n_predict")
        if len(exchange.others) >= 8 and (length in (None, -1) or length > 16):
            body["n_predict"] = 16


# Prompts


@edit
def prompt_end_trimmed(body: Body) -> None:
    """Trim the end of a prompt. It shows when "the " and "the" have one text."""
    edit_prompt(body, r"\s+\Z", "")


@edit
def mixed_prompt_loses_tokens(body: Body) -> None:
    """Keep the strings of a prompt that mixes strings and tokens. It shows when ["the", 300] has
    the text of "the"."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and {type(part) for part in prompt} == {str, int}:
        body["prompt"] = "".join(part for part in prompt if isinstance(part, str))


@edit
def prompt_braces_unescaped(body: Body) -> None:
    """Format a prompt as a template, which makes a brace of two. It shows when "{{" has the text
    of "{"."""
    edit_prompt(body, r"([{}])\1", r"\1")


@edit
def prompt_escapes_processed(body: Body) -> None:
    """Take a backslash and an n in a prompt as a line break, as llama-cli does. It shows when such
    a prompt has the text of one with a line break."""
    edit_prompt(body, r"\\n", "\n")


# Fields


@fault
class TokensPredictedIsLimit(Answers):
    """The answer gives n_predict as the number of its tokens. It shows in a text that ends before,
    at a stop string."""

    def change(self, body: Body, asked: Body) -> None:
        if body.get("stop") and (length := number(asked, "n_predict") or 0) > 0:
            body["tokens_predicted"] = length


# The reserve


@edit
def stop_split_at_commas(body: Body) -> None:
    """Join stop strings with commas and split them again. It shows with ", the" as a stop string:
    the text ends at the first "the" without a comma, or at a comma."""
    if stops(body):
        body["stop"] = [part for part in ",".join(stops(body)).split(",") if part]


@edit
def dry_breakers_of_one_character(body: Body) -> None:
    """Keep the first character of each sequence breaker of DRY. It shows when the breakers "the"
    and "t" have one text."""
    if isinstance(breakers := body.get("dry_sequence_breakers"), list):
        body["dry_sequence_breakers"] = [b[:1] if isinstance(b, str) else b for b in breakers]


@edit
def n_predict_at_least_four(body: Body) -> None:
    """Raise n_predict to four. It shows when n_predict 1 gives four tokens."""
    if 0 < (number(body, "n_predict") or 0) < 4:
        body["n_predict"] = 4


@fault
class SmallProbsAreZero(Answers):
    """Probabilities after sampling below a thousandth are 0. It shows in those of a text at a high
    temperature."""

    def change(self, body: Body, asked: Body) -> None:
        for row in told(body):
            for entry in [row, *row.get("top_probs", [])]:
                if entry.get("prob", 1) < 1e-3:
                    entry["prob"] = 0.0


@edit
def schema_any_of_is_its_first(body: Body) -> None:
    """Take anyOf in a JSON schema as its first schema. It shows in drawn texts: the other schemas
    never come."""
    if isinstance(schema := body.get("json_schema"), dict):
        body["json_schema"] = with_first_of(schema, "anyOf")
