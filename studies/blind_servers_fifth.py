"""The fifth blind list of faults of a server: `python -m studies.blind_servers fifth`.

An author who had not seen the checks, their tests or the other lists wrote NAMES first: 108
mistakes of servers and gateways. The list is the first 45 names of this draw:

    numpy.random.default_rng(20261126).permutation(NAMES)

The first MAIN of them count, the others are the reserve. Each of them gave another answer than the
faithful proxy to a request as in its docstring, so none was replaced.
"""

import math
import unicodedata
from collections.abc import Callable
from typing import Any

from studies.faulty_proxy import Answers, Body, Exchange, Fault, Faults, number, told

NAMES = (
    "seed-without-top-bit",
    "explicit-minus-one-is-fixed",
    "seed-ignored-with-grammar",
    "seed-lost-under-load",
    "cold-temperature-raised",
    "temperature-to-one-decimal",
    "whole-temperature-ignored",
    "whole-top-p-is-percent",
    "null-is-zero",
    "neutral-values-dropped",
    "stream-has-other-default-temperature",
    "own-top-p-turns-min-p-off",
    "top-p-needs-top-k",
    "typical-excludes-top-p",
    "min-p-two-decimals",
    "top-n-sigma-whole",
    "greedy-drops-penalties",
    "adaptive-decay-complement",
    "dynatemp-range-is-width",
    "dynatemp-exponent-inverted",
    "xtc-probability-is-a-switch",
    "xtc-needs-a-threshold",
    "mirostat-one-is-two",
    "mirostat-eta-ignored",
    "penalties-clamped-to-two",
    "frequency-becomes-repeat",
    "penalties-swapped-in-streams",
    "reward-is-no-penalty",
    "whole-context-window-is-off",
    "penalty-window-at-most-64",
    "dry-window-is-repeat-window",
    "dry-base-truncated",
    "dry-breakers-appended",
    "only-first-breaker",
    "dry-allows-one-more",
    "min-keep-raised-by-n-probs",
    "min-keep-needs-top-p",
    "samplers-in-default-order",
    "temperature-always-sampled",
    "samplers-letters-ignored",
    "typ-p-name-unknown",
    "biases-truncated",
    "false-bias-is-zero",
    "text-biases-stripped",
    "object-biases-ignored",
    "ignore-eos-replaces-biases",
    "length-counts-token-prompts",
    "length-zero-is-one",
    "long-streams-cut",
    "endless-is-short",
    "stops-ignore-case",
    "stops-stripped",
    "fifth-stop-ignored",
    "stop-is-in-the-text",
    "stop-found-in-prompt",
    "long-stops-missed-in-streams",
    "stopping-word-is-first",
    "held-back-text-lost",
    "empty-stop-matches",
    "blank-pieces-dropped",
    "first-piece-stripped",
    "four-byte-characters-split",
    "stream-indices-zero",
    "stream-counts-late",
    "final-piece-repeats-text",
    "stream-tokens-empty",
    "stream-probabilities-once",
    "another-grammar-in-flight",
    "stops-of-everyone",
    "greedy-answers-cached",
    "cache-compares-lengths",
    "settings-of-the-connection",
    "grammar-stays-after-left-stream",
    "prompt-nfkc",
    "prompt-line-ends",
    "prompt-escapes",
    "prompt-braces",
    "mixed-prompt-tokens-dropped",
    "token-zero-dropped",
    "long-prompts-lose-middle",
    "grammar-hash-is-comment",
    "schema-keys-sorted",
    "schema-first-type",
    "schema-refs-are-anything",
    "schema-exclusive-is-inclusive",
    "schema-const-is-text",
    "low-logprobs-clamped",
    "chosen-missing-from-top",
    "chosen-replaces-last",
    "bytes-of-the-text",
    "n-probs-at-most-twenty",
    "post-probs-over-the-list",
    "logprobs-half-precision",
    "cached-tokens-not-counted",
    "settings-two-decimals",
    "settings-of-first-request",
    "timings-count-the-prompt",
    "truncated-at-limit",
    "stop-token-not-counted",
    "text-html-escaped",
    "text-stripped-at-stop",
    "text-composed",
    "text-control-characters-lost",
    "equal-prompts-merged",
    "answers-by-prompt-length",
    "completions-at-most-two",
    "completions-share-a-seed",
    "response-fields-ignored",
)
FAULTS = Faults()
MAIN = 40  # The faults after these are the reserve.
fault, edit = FAULTS.fault, FAULTS.edit


def rewrite(part: Any, change: Callable[[Body], object]) -> None:
    """Apply a change to each object of a JSON value, in place."""
    if isinstance(part, dict):
        change(part)
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            rewrite(inner, change)


def in_prompt(body: Body, change: Callable[[str], str]) -> None:
    """Change each text of a prompt."""

    def changed(part: Any) -> Any:
        if isinstance(part, list):
            return [changed(inner) for inner in part]
        return change(part) if isinstance(part, str) else part

    if "prompt" in body:
        body["prompt"] = changed(body["prompt"])


def stops_of(body: Body) -> list[str]:
    """Return the stop strings of a request."""
    stops = body.get("stop")
    return [stop for stop in stops if isinstance(stop, str)] if isinstance(stops, list) else []


class OtherBiases(Fault):
    """Change the values of biases. The settings report them as the client gave them, in the
    server's form."""

    def __init__(self) -> None:
        self.given: dict[Exchange, list[tuple[Any, Any]]] = {}

    def value(self, value: Any, body: Body) -> Any:
        raise NotImplementedError

    def ask(self, body: Body, exchange: Exchange) -> None:
        biases = body.get("logit_bias")
        pairs = [*biases.items()] if isinstance(biases, dict) else biases
        if not isinstance(pairs, list):
            return
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            return
        changed = [[token, self.value(value, body)] for token, value in pairs]
        if changed != [[*pair] for pair in pairs]:
            self.given[exchange] = [(token, value) for token, value in pairs]
            body["logit_bias"] = dict(changed) if isinstance(biases, dict) else changed
            del exchange.asked["logit_bias"]

    def answer(self, answer: Body, exchange: Exchange) -> None:
        reported = (answer.get("generation_settings") or {}).get("logit_bias", [])
        for entry, (token, value) in zip(reported, self.given.get(exchange, []), strict=False):
            if str(entry["token"]) == str(token):
                entry["bias"] = None if value is False else value

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.answer(piece, exchange)
        return True


@edit
def schema_first_type(body: Body) -> None:
    """Take the first type where a schema lists several. It shows in a property of the types
    ["integer", "null"] that never becomes null."""

    def change(schema: Body) -> None:
        if isinstance(schema.get("type"), list) and schema["type"]:
            schema["type"] = schema["type"][0]

    rewrite(body.get("json_schema"), change)


@edit
def min_keep_needs_top_p(body: Body) -> None:
    """Use min_keep only if the request sends top_p, too. It shows in min_keep with min_p."""
    if "top_p" not in body:
        body.pop("min_keep", None)


@fault
class ExplicitMinusOneIsFixed(Fault):
    """A seed of -1 in a request is a seed as any other. It shows when two requests with the seed
    -1 have the same text. A request without a seed is random."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if body.get("seed") == -1:
            body["seed"] = 4294967294
            exchange.asked["seed"] = 4294967295  # The server reports this for -1.


@fault
class FirstPieceStripped(Fault):
    """The blank before the first word of a stream is removed. It shows in a stream whose text
    begins with a blank: the whole answer has it."""

    def __init__(self) -> None:
        self.begun: set[Exchange] = set()

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        if exchange not in self.begun and piece.get("content"):
            self.begun.add(exchange)
            piece["content"] = piece["content"].lstrip(" ")
        return True


@fault
class PostProbsOverTheList(Answers):
    """The probabilities after sampling are divided by the sum of the listed ones. It shows with
    post_sampling_probs if n_probs is less than the number of tokens that filters leave."""

    def change(self, answer: Body, asked: Body) -> None:
        for row in told(answer):
            listed = row.get("top_probs") or []
            total = sum(entry["prob"] for entry in listed)
            if total > 0:
                for entry in listed:
                    entry["prob"] /= total
                row["prob"] = min(1.0, row["prob"] / total)


@edit
def mirostat_eta_ignored(body: Body) -> None:
    """Use the default learning rate of Mirostat. It shows when two values of mirostat_eta give
    one text."""
    body.pop("mirostat_eta", None)


@edit
def schema_const_is_text(body: Body) -> None:
    """Write a constant number of a schema as a string. It shows in {"const": 5}: the text has
    quotation marks."""

    def change(schema: Body) -> None:
        if number(schema, "const") is not None:
            schema["const"] = str(schema["const"])

    rewrite(body.get("json_schema"), change)


@fault
class TypicalExcludesTopP(Fault):
    """A typical_p below 1 switches top_p off. It shows in a request with both, and a small
    top_p."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if (number(body, "typical_p") or 1.0) < 1.0:
            exchange.asked.setdefault("top_p", 0.949999988079071)
            body["top_p"] = 1.0


@fault
class HeldBackTextLost(Fault):
    """A whole answer that ends at n_predict lacks the end of its text, if a stop string could
    begin there. It shows if the text ends with the beginning of a stop string."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if answer.get("stop_type") != "limit":
            return
        text = answer.get("content", "")
        starts = [stop[:n] for stop in stops_of(exchange.asked) for n in range(1, len(stop))]
        if held := max((len(start) for start in starts if text.endswith(start)), default=0):
            answer["content"] = text[:-held]


@edit
def equal_prompts_merged(body: Body) -> None:
    """Answer equal prompts of one request once. It shows in a list with the same text twice."""
    prompts = body.get("prompt")
    if isinstance(prompts, list) and all(isinstance(prompt, str) for prompt in prompts):
        body["prompt"] = list(dict.fromkeys(prompts))


@edit
def penalty_window_at_most_64(body: Body) -> None:
    """Keep 64 tokens for penalties, whatever is asked. It shows with a larger repeat_last_n when a
    token was last seen more than 64 tokens ago."""
    window = number(body, "repeat_last_n")
    if window is not None and (window > 64 or window == -1):
        body["repeat_last_n"] = 64


@fault
class StreamCountsLate(Fault):
    """The count of tokens in a piece of a stream leaves its own token out. It shows in the first
    piece: tokens_predicted is 0."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        if not piece.get("stop") and piece.get("tokens_predicted"):
            piece["tokens_predicted"] -= 1
        return True


@fault
class OwnTopPTurnsMinPOff(Fault):
    """The default min_p is off if the request sends top_p. It shows in a request with a top_p of
    1, without min_p, at a high temperature."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if "top_p" in body and "min_p" not in body:
            exchange.asked["min_p"] = 0.05000000074505806
            body["min_p"] = 0.0


@fault
class LowLogprobsClamped(Answers):
    """Logprobs below -10 are -10. It shows in a large n_probs."""

    def change(self, answer: Body, asked: Body) -> None:
        for row in told(answer):
            for entry in [row, *row.get("top_logprobs", [])]:
                if (value := number(entry, "logprob")) is not None:
                    entry["logprob"] = max(-10.0, value)


@edit
def mirostat_one_is_two(body: Body) -> None:
    """Take any mirostat for version 2. It shows when mirostat 1 and 2 give one text."""
    if body.get("mirostat") == 1:
        body["mirostat"] = 2


@edit
def token_zero_dropped(body: Body) -> None:
    """Leave the token 0 out of a prompt, because it is false. It shows in a prompt of tokens with
    a 0: tokens_evaluated is too small."""

    def without(prompt: Any) -> Any:
        if not isinstance(prompt, list):
            return prompt
        return [without(part) for part in prompt if part != 0 or isinstance(part, bool)]

    if "prompt" in body:
        body["prompt"] = without(body["prompt"])


@fault
class GrammarStaysAfterLeftStream(Fault):
    """The grammar of a stream that its client left holds for the next request without one. It
    shows in the text of that request."""

    left_over: Any = None

    def ask(self, body: Body, exchange: Exchange) -> None:
        if self.left_over and not body.get("grammar") and "json_schema" not in body:
            body["grammar"], self.left_over = self.left_over, None
            exchange.asked["grammar"] = ""  # The settings do not report it.

    def left(self, exchange: Exchange) -> None:
        self.left_over = exchange.asked.get("grammar")


@edit
def schema_refs_are_anything(body: Body) -> None:
    """Accept any value in place of a $ref. It shows in a schema whose property refers to a
    definition."""

    def change(schema: Body) -> None:
        if isinstance(schema.get("$ref"), str):
            schema.clear()

    rewrite(body.get("json_schema"), change)


@edit
def reward_is_no_penalty(body: Body) -> None:
    """Take a repeat_penalty below 1 for 1. It shows when 0.5 and 1 give one text."""
    if (number(body, "repeat_penalty") or 1.0) < 1.0:
        body["repeat_penalty"] = 1.0


@fault
class TruncatedAtLimit(Answers):
    """An answer that ends at n_predict is called truncated. It shows in truncated, which is about
    the context only."""

    def change(self, answer: Body, asked: Body) -> None:
        if answer.get("stop_type") == "limit":
            answer["truncated"] = True


@edit
def schema_exclusive_is_inclusive(body: Body) -> None:
    """Allow the limits that a schema excludes. It shows in an integer with exclusiveMinimum 4 and
    exclusiveMaximum 6: the text is 4 or 6 for some seeds."""

    def change(schema: Body) -> None:
        for name in ("Minimum", "Maximum"):
            if number(schema, f"exclusive{name}") is not None:
                schema[name.lower()] = schema.pop(f"exclusive{name}")

    rewrite(body.get("json_schema"), change)


@edit
def stops_stripped(body: Body) -> None:
    """Strip blanks and ends of lines from stop strings, and drop the empty ones. It shows in the
    stop string "\\n", which is never found."""
    if isinstance(body.get("stop"), list):
        body["stop"] = [stop.strip() for stop in stops_of(body) if stop.strip()]


@edit
def cold_temperature_raised(body: Body) -> None:
    """Raise a temperature between 0 and 0.3 to 0.3. It shows when 0.1 and 0.3 give one text."""
    if 0 < (number(body, "temperature") or 0) < 0.3:
        body["temperature"] = 0.3


@edit
def prompt_line_ends(body: Body) -> None:
    """Make each end of a line in a prompt a line feed. It shows in a prompt with "\\r\\n": its
    tokens are fewer."""
    in_prompt(body, lambda text: text.replace("\r\n", "\n"))


@edit
def greedy_drops_penalties(body: Body) -> None:
    """Take the largest logit at temperature 0 before penalties. It shows in a repeat_penalty at
    temperature 0: the text is the one without."""
    if number(body, "temperature") == 0:
        for name in ("repeat_penalty", "presence_penalty", "frequency_penalty"):
            body.pop(name, None)


@fault
class TextComposed(Fault):
    """A whole answer has composed characters (Unicode NFC). It shows in a letter with a combining
    accent, which a grammar can force."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if isinstance(answer.get("content"), str):
            answer["content"] = unicodedata.normalize("NFC", answer["content"])


@edit
def penalties_clamped_to_two(body: Body) -> None:
    """Bring presence_penalty and frequency_penalty into OpenAI's range, -2 to 2. It shows when 2
    and 5 give one text."""
    for name in ("presence_penalty", "frequency_penalty"):
        if (value := number(body, name)) is not None:
            body[name] = max(-2.0, min(2.0, value))


@edit
def neutral_values_dropped(body: Body) -> None:
    """Send no temperature of 1 and no top_p of 1 on, as OpenAI's defaults. It shows because the
    server's defaults are others: temperature 1 is 0.8, and top_p 1 is 0.95."""
    for name in ("temperature", "top_p"):
        if number(body, name) == 1:
            del body[name]


@edit
def min_p_two_decimals(body: Body) -> None:
    """Round min_p to two decimals. It shows in a min_p of 0.004, which is off."""
    if (value := number(body, "min_p")) is not None:
        body["min_p"] = round(value, 2)


@fault
class StopIsInTheText(Answers):
    """The stop string stays at the end of the text. It shows in every text that ends there."""

    def change(self, answer: Body, asked: Body) -> None:
        if answer.get("stop_type") == "word" and "content" in answer:
            answer["content"] += answer.get("stopping_word", "")


@edit
def prompt_nfkc(body: Body) -> None:
    """Apply Unicode NFKC to a prompt. It shows in a prompt with a ligature, a superscript or
    a full-width letter: the tokens are others."""
    in_prompt(body, lambda text: unicodedata.normalize("NFKC", text))


@fault
class IgnoreEosReplacesBiases(OtherBiases):
    """The list of biases is replaced by the one for the end if ignore_eos is set. It shows in a
    request with both: its biases have no effect."""

    def value(self, value: Any, body: Body) -> Any:
        return 0.0 if body.get("ignore_eos") is True else value


@fault
class SamplersLettersIgnored(Fault):
    """The short form of samplers is ignored. It shows in samplers "k" at a high temperature: the
    text is the one of the default order."""

    LETTERS = {
        "e": "penalties",
        "d": "dry",
        "s": "top_n_sigma",
        "k": "top_k",
        "y": "typ_p",
        "p": "top_p",
        "m": "min_p",
        "x": "xtc",
        "t": "temperature",
    }

    def ask(self, body: Body, exchange: Exchange) -> None:
        if isinstance(letters := body.get("samplers"), str):
            del body["samplers"]
            exchange.asked["samplers"] = [
                self.LETTERS[letter] for letter in letters if letter in self.LETTERS
            ]


@edit
def only_first_breaker(body: Body) -> None:
    """Use the first of dry_sequence_breakers only. It shows if the text repeats across the second
    one with a dry_multiplier."""
    if isinstance(breakers := body.get("dry_sequence_breakers"), list):
        body["dry_sequence_breakers"] = breakers[:1]


@fault
class LengthCountsTokenPrompts(Fault):
    """The tokens of a prompt count in n_predict if the prompt comes as tokens. It shows when the
    answer to such a prompt is shorter than n_predict."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        prompt, length = body.get("prompt"), number(body, "n_predict")
        tokens = isinstance(prompt, list) and all(isinstance(part, int) for part in prompt)
        if tokens and length is not None and length > 0:
            body["n_predict"] = max(1, length - len(body["prompt"]))
            exchange.asked["max_tokens"] = length


@fault
class StopTokenNotCounted(Answers):
    """A text that ends at a stop string counts one token less. It shows in tokens_predicted: the
    timings count one more."""

    def change(self, answer: Body, asked: Body) -> None:
        if answer.get("stop_type") == "word" and "tokens_predicted" in answer:
            answer["tokens_predicted"] -= 1


@fault
class AnotherGrammarInFlight(Fault):
    """There is one grammar at a time, of the request that came first. It shows in two requests at
    once with two grammars: the second text obeys the first grammar."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        others = [other.sent.get("grammar") for other in exchange.others]
        if body.get("grammar") and (first := next(filter(None, others), None)):
            body["grammar"] = first


@edit
def dynatemp_exponent_inverted(body: Body) -> None:
    """Raise the entropy to the inverse of dynatemp_exponent. It shows in the probabilities with a
    dynatemp_range and an exponent other than 1."""
    if exponent := number(body, "dynatemp_exponent"):
        body["dynatemp_exponent"] = 1 / exponent


@fault
class StoppingWordIsFirst(Answers):
    """The stop string that is reported is the first of the list. It shows if another one ended
    the text."""

    def change(self, answer: Body, asked: Body) -> None:
        if answer.get("stop_type") == "word" and (stops := stops_of(asked)):
            answer["stopping_word"] = stops[0]


@edit
def response_fields_ignored(body: Body) -> None:
    """Ignore response_fields. It shows when an answer has fields that were not asked for."""
    body.pop("response_fields", None)


@fault
class AnswersByPromptLength(Fault):
    """The answers to several prompts come in the order of the prompts' lengths. It shows if the
    first prompt is the longest one."""

    def answers(self, answers: list[Body], exchange: Exchange) -> None:
        prompts = exchange.asked.get("prompt")
        if not isinstance(prompts, list) or not all(isinstance(p, str | list) for p in prompts):
            return
        if len(prompts) == len(answers) > 1:
            order = sorted(range(len(answers)), key=lambda i: len(prompts[i]))
            answers[:] = [answers[i] | {"index": place} for place, i in enumerate(order)]


@fault
class TextStrippedAtStop(Fault):
    """Blanks at the end of a whole answer that a stop string ended are removed. It shows if a
    blank or an end of a line precedes the stop string."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if answer.get("stop_type") == "word" and "content" in answer:
            answer["content"] = answer["content"].rstrip()


@edit
def schema_keys_sorted(body: Body) -> None:
    """Sort the keys of a schema. It shows in an object whose properties are not in the order of
    the alphabet: they come in another order."""

    def change(schema: Body) -> None:
        for name in sorted(schema):
            schema[name] = schema.pop(name)

    rewrite(body.get("json_schema"), change)


@fault
class BiasesTruncated(OtherBiases):
    """Biases are whole numbers. It shows in the probabilities with a bias of 1.9, which is 1."""

    def value(self, value: Any, body: Body) -> Any:
        return math.trunc(value) if isinstance(value, float) else value


@fault
class ChosenMissingFromTop(Answers):
    """The list of probabilities lacks the chosen token. It shows in n_probs: the list is shorter
    by one if the token is among the most probable ones."""

    def change(self, answer: Body, asked: Body) -> None:
        for row in told(answer):
            for name in ("top_logprobs", "top_probs"):
                if name in row:
                    row[name] = [entry for entry in row[name] if entry["id"] != row["id"]]
