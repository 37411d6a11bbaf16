"""The sixth blind list of faults of a server: `python -m studies.blind_servers sixth`.

An author who had not seen the checks, their tests or the other lists wrote NAMES first: 154
mistakes of servers, gateways and clients. The list is the first 45 names of this draw:

    numpy.random.default_rng(20261127).permutation(NAMES)

The first MAIN of them count, the others are the reserve. Each of them gave another answer than the
faithful proxy to a request as in its docstring, so none was replaced.
"""

import itertools
import json
import re
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from studies.faulty_proxy import Answers, Body, Exchange, Fault, Faults, number, told

NAMES = (
    # Values that are read wrong.
    "temperature-rounded-to-tenths",
    "temperature-capped-at-one",
    "temperature-zero-raised",
    "temperature-one-omitted",
    "temperature-applied-twice",
    "top-k-zero-means-one",
    "top-k-negative-means-forty",
    "top-p-zero-means-one",
    "top-p-one-omitted",
    "min-p-zero-means-default",
    "typical-p-dropped",
    "top-n-sigma-dropped",
    "top-n-sigma-truncated",
    "min-keep-dropped",
    "seed-through-float",
    "seed-clamped-to-signed",
    "seed-sixteen-bits",
    "seed-zero-is-random",
    "zeros-omitted",
    "decimal-comma",
    "exponents-lost",
    "numbers-rounded-to-hundredths",
    "whole-floats-dropped",
    "wrong-types-dropped",
    "aliases-dropped",
    # Penalties and samplers with settings of their own.
    "frequency-presence-swapped",
    "negative-penalties-zeroed",
    "presence-penalty-capped-at-two",
    "frequency-penalty-repeats-presence",
    "repeat-penalty-below-one-raised",
    "repeat-last-n-zero-means-default",
    "repeat-last-n-capped",
    "repeat-window-for-dry",
    "penalties-dropped-when-greedy",
    "dry-length-off-by-one",
    "dry-base-dropped",
    "dry-breakers-joined-with-defaults",
    "dry-first-breaker-only",
    "dry-breakers-stripped",
    "xtc-settings-swapped",
    "xtc-probability-is-switch",
    "xtc-threshold-dropped",
    "mirostat-two-is-one",
    "mirostat-settings-swapped",
    "mirostat-tau-default",
    "mirostat-eta-zeroed",
    "dynatemp-range-halved",
    "dynatemp-exponent-dropped",
    "dynatemp-without-temperature",
    "adaptive-target-zero-dropped",
    "adaptive-decay-dropped",
    # Defaults and nulls.
    "missing-temperature-is-one",
    "missing-temperature-is-greedy",
    "missing-top-k-is-off",
    "missing-min-p-is-zero",
    "missing-seed-is-constant",
    "missing-length-is-sixteen",
    "missing-repeat-penalty-is-old-default",
    "null-is-zero",
    "null-stop-is-newline",
    # Lengths and stops.
    "length-zero-is-unlimited",
    "length-one-more",
    "length-capped-at-thirty-two",
    "stops-limited-to-four",
    "stop-string-split",
    "stops-stripped",
    "stops-ignore-case",
    "stop-kept-in-text",
    "stops-are-patterns",
    "last-stop-only",
    "newlines-in-stops-escaped",
    "ignore-eos-dropped",
    "ignore-eos-replaces-biases",
    # Biases.
    "false-bias-is-zero",
    "bias-object-dropped",
    "bias-text-keys-dropped",
    "bias-duplicates-collapsed",
    "bias-token-zero-skipped",
    "bias-capped-at-ten",
    "first-bias-only",
    "negative-biases-ban",
    "biases-halved-by-temperature",
    # Grammars and schemas.
    "grammar-dropped-in-streams",
    "grammar-lowercased",
    "grammar-comments-cut-in-strings",
    "grammar-backslashes-lost",
    "schema-required-dropped",
    "schema-enum-first-only",
    "schema-bounds-dropped",
    "schema-numbers-are-integers",
    "schema-patterns-dropped",
    "schema-first-alternative",
    # Lists of samplers.
    "sampler-letters-dropped",
    "samplers-sorted",
    "sampler-repeats-removed",
    "sampler-order-ignored",
    "empty-samplers-mean-default",
    "temperature-sampler-appended",
    "penalty-sampler-dropped",
    # Probabilities and tokens of the answer.
    "probabilities-capped-at-five",
    "post-sampling-ignored",
    "logprobs-in-base-two",
    "logprobs-rounded",
    "logprobs-floored",
    "logprobs-cumulative",
    "probabilities-shifted",
    "probabilities-renormalised",
    "top-tokens-sorted-by-id",
    "chosen-takes-top-probability",
    "token-texts-stripped",
    "token-bytes-lost-outside-ascii",
    "final-probabilities-dropped",
    "returned-tokens-lack-last",
    "returned-tokens-sorted",
    # Text, statistics and streams.
    "content-leading-space-stripped",
    "content-repeats-prompt",
    "content-outside-ascii-dropped",
    "content-newlines-collapsed",
    "content-cut-to-last-sentence",
    "content-escaped-for-html",
    "predicted-counts-prompt",
    "predicted-counts-words",
    "limit-reported-as-eos",
    "word-reported-as-eos",
    "stopping-word-stripped",
    "evaluated-without-bos",
    "blank-pieces-dropped",
    "pieces-accumulate",
    "pieces-stripped",
    "first-piece-lost",
    "repeated-pieces-dropped",
    # Prompts.
    "prompt-stripped",
    "prompt-escapes-read",
    "prompt-carriage-returns-dropped",
    "prompt-cut-to-characters",
    "prompt-tokens-lack-first",
    "mixed-prompt-strings-only",
    "prompts-joined",
    "prompts-answered-in-reverse",
    "repeated-prompts-answered-once",
    # State and neighbours.
    "answers-cached-by-prompt",
    "answers-cached-without-temperature",
    "omitted-settings-from-last-request",
    "stops-pile-up",
    "biases-pile-up",
    "grammar-left-for-next",
    "seed-advanced-each-request",
    "seed-of-neighbour",
    "temperature-of-neighbour",
    "stops-of-neighbour",
    "neighbours-share-answer",
    "busy-server-shortens",
    "refusal-leaves-greedy",
    "abandoned-stream-leaves-text",
)
FAULTS = Faults()

fault, edit = FAULTS.fault, FAULTS.edit

NUMBERS = [
    "temperature",
    "dynatemp_range",
    "dynatemp_exponent",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "top_n_sigma",
    "xtc_probability",
    "xtc_threshold",
    "repeat_last_n",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "dry_penalty_last_n",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "adaptive_target",
    "adaptive_decay",
    "seed",
    "min_keep",
    "n_probs",
    "n_predict",
    "max_tokens",
    "max_completion_tokens",
    "n_keep",
    "n_cmpl",
]
SWITCHES = ["stream", "cache_prompt", "return_tokens", "ignore_eos", "post_sampling_probs"]
LENGTHS = ("n_predict", "max_tokens", "max_completion_tokens")


class Texts:
    """The texts of streams so far, one for each prompt of a request."""

    def __init__(self) -> None:
        self._texts: WeakKeyDictionary[Exchange, dict[int, str]] = WeakKeyDictionary()

    def add(self, piece: Body, exchange: Exchange) -> str:
        """Return the text with this piece."""
        texts = self._texts.setdefault(exchange, {})
        index = piece.get("index", 0)
        texts[index] = texts.get(index, "") + piece.get("content", "")
        return texts[index]


def prompts(body: Body) -> list[Any] | None:
    """Return the prompts of a request for several, else None."""
    prompt = body.get("prompt")
    if not isinstance(prompt, list):
        return None
    strings = bool(prompt) and all(isinstance(part, str) for part in prompt)
    return prompt if strings or any(isinstance(part, list | dict) for part in prompt) else None


def rewrite_prompt(body: Body, change: Callable[[str], str]) -> None:
    """Change each text of the prompt."""

    def changed(prompt: Any) -> Any:
        if isinstance(prompt, list):
            return [changed(part) for part in prompt]
        return change(prompt) if isinstance(prompt, str) else prompt

    if "prompt" in body:
        body["prompt"] = changed(body["prompt"])


def stops(body: Body) -> list[str]:
    """Return the stops of a request, in either form."""
    given = body.get("stop")
    words = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [word for word in words if isinstance(word, str)]


def biases(body: Body) -> list[Any]:
    """Return the biases of a request, in either form, as pairs."""
    given = body.get("logit_bias")
    if isinstance(given, dict):
        return [[int(key) if key.isdecimal() else key, value] for key, value in given.items()]
    return list(given) if isinstance(given, list) else []


def entries(answer: Body) -> list[Body]:
    """Return the chosen and the top tokens of the probabilities."""
    rows = told(answer)
    tops = [row.get(name) or [] for row in rows for name in ("top_logprobs", "top_probs")]
    return [*rows, *itertools.chain.from_iterable(tops)]


@fault
class ReturnedTokensSorted(Answers):
    """The tokens of an answer are a set in order. It shows in return_tokens: they ascend."""

    def change(self, answer: Body, asked: Body) -> None:
        if isinstance(answer.get("tokens"), list):
            answer["tokens"] = sorted(answer["tokens"])


@fault
class StopsArePatterns(Fault):
    """A client cuts the text again, at its stops as regular expressions. It shows with a stop of
    "." or "a|b": the text ends where the pattern matches."""

    def __init__(self) -> None:
        self.texts = Texts()

    def begins(self, text: str, body: Body) -> int:
        """Return where the first match begins, else the length of the text."""
        first = len(text)
        for stop in stops(body):
            try:
                match = re.search(stop, text) if stop else None
            except re.error:
                continue
            if match:
                first = min(first, match.start())
        return first

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if "content" in answer:
            text = answer["content"]
            answer["content"] = text[: self.begins(text, exchange.asked)]

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        if "content" not in piece:
            return True
        content = piece["content"]
        text = self.texts.add(piece, exchange)
        left = self.begins(text, exchange.asked) - (len(text) - len(content))
        piece["content"] = content[: max(0, left)]
        return True


@edit
def wrong_types_dropped(body: Body) -> None:
    """Drop values of the wrong type. It shows with a temperature of "hot": the answer has the
    default, and is no error."""
    right: dict[str, type | tuple[type, ...]] = dict.fromkeys(NUMBERS, (int, float))
    right |= dict.fromkeys(SWITCHES, bool)
    right |= {"grammar": str, "json_schema": dict, "dry_sequence_breakers": list}
    right |= {"stop": (str, list), "samplers": (str, list), "logit_bias": (dict, list)}
    for name, kinds in right.items():
        if body.get(name) is not None and not isinstance(body[name], kinds):
            del body[name]


@edit
def bias_capped_at_ten(body: Body) -> None:
    """Limit biases to -10 and 10. It shows with a bias of 30: other tokens remain possible."""
    if "logit_bias" in body:
        for pair in (pairs := biases(body)):
            match pair:
                case [_, int() | float() as bias] if not isinstance(bias, bool):
                    pair[1] = max(-10, min(10, bias))
        body["logit_bias"] = pairs


@edit
def length_zero_is_unlimited(body: Body) -> None:
    """Take a length of 0 for no limit. It shows with n_predict of 0: the text goes on
    to its end."""
    for name in LENGTHS:
        if number(body, name) == 0:
            body[name] = -1


@edit
def empty_samplers_mean_default(body: Body) -> None:
    """Take an empty list of samplers for none given. It shows with samplers of [] and a top_k of
    1: the text is the most probable one."""
    if body.get("samplers") in ([], ""):
        del body["samplers"]


@fault
class StopsIgnoreCase(Fault):
    """Stops match in any case. It shows with a stop in capitals: the text ends at the same word
    in small letters."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if stops(body):
            body["stop"] = [form for stop in stops(body) for form in self.forms(stop)]

    def forms(self, stop: str) -> list[str]:
        """Return the stop in all cases, or in the usual ones if they are many."""
        if sum(c.lower() != c.upper() for c in stop) > 6:
            usual = [stop, stop.lower(), stop.upper(), stop.capitalize(), stop.title()]
            return list(dict.fromkeys(usual))
        letters = [list(dict.fromkeys((c, c.lower(), c.upper()))) for c in stop]
        return ["".join(form) for form in itertools.product(*letters)]

    def answer(self, answer: Body, exchange: Exchange) -> None:
        found = answer.get("stopping_word") or ""
        for stop in stops(exchange.asked):
            if found.lower() == stop.lower():
                answer["stopping_word"] = stop

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.answer(piece, exchange)
        return True


@fault
class TokenTextsStripped(Answers):
    """The texts of tokens lose their spaces at both ends. It shows in n_probs: " the" is "the"."""

    def change(self, answer: Body, asked: Body) -> None:
        for entry in entries(answer):
            if isinstance(entry.get("token"), str):
                entry["token"] = entry["token"].strip()


@fault
class LogprobsRounded(Answers):
    """Log-probabilities have two decimals. It shows in n_probs."""

    def change(self, answer: Body, asked: Body) -> None:
        for entry in entries(answer):
            if number(entry, "logprob") is not None:
                entry["logprob"] = round(entry["logprob"], 2)


@edit
def penalty_sampler_dropped(body: Body) -> None:
    """Drop penalties from a list of samplers, as if it were unknown. It shows with samplers that
    have it and a repeat_penalty of 2: there is no penalty."""
    samplers = body.get("samplers")
    if isinstance(samplers, list):
        body["samplers"] = [name for name in samplers if name != "penalties"]
    elif isinstance(samplers, str):
        body["samplers"] = samplers.replace("e", "")


@fault
class EvaluatedWithoutBos(Answers):
    """The first token of a text is not counted. It shows in tokens_evaluated, which is lower by
    one."""

    def change(self, answer: Body, asked: Body) -> None:
        prompt = asked.get("prompt")
        first = prompt[0] if isinstance(prompt, list) and prompt else prompt
        if isinstance(first, str) and number(answer, "tokens_evaluated"):
            answer["tokens_evaluated"] -= 1


@fault
class TemperatureOfNeighbour(Fault):
    """A request has the temperature of the one in flight with it. It shows with two requests at
    once, one of temperature 0 and one of 2: the later one is as the earlier one."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        for other in exchange.others:
            if (temperature := number(other.asked, "temperature")) is not None:
                body["temperature"] = temperature


@edit
def top_k_zero_means_one(body: Body) -> None:
    """Raise a top_k of 0 to 1. It shows with top_k of 0 at a high temperature: the text is the
    most probable one."""
    if number(body, "top_k") == 0:
        body["top_k"] = 1


@fault
class PredictedCountsWords(Fault):
    """The number of tokens is that of words. It shows in tokens_predicted of a text with a word
    of several tokens, whole or streamed."""

    def __init__(self) -> None:
        self.texts = Texts()

    def answer(self, answer: Body, exchange: Exchange) -> None:
        if "tokens_predicted" in answer and "content" in answer:
            answer["tokens_predicted"] = len(answer["content"].split())

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        text = self.texts.add(piece, exchange)
        if "tokens_predicted" in piece:
            piece["tokens_predicted"] = len(text.split())
        return True


@edit
def top_p_zero_means_one(body: Body) -> None:
    """Take a top_p of 0 for none given, and so for 1. It shows with top_p of 0 at a high
    temperature: the text is not the most probable one."""
    if number(body, "top_p") == 0:
        body["top_p"] = 1.0


@fault
class GrammarLeftForNext(Fault):
    """A grammar or a schema stays for the next request. It shows in a request without one
    right after one with it: its text has the same form."""

    def __init__(self) -> None:
        self.kept: Body = {}

    def ask(self, body: Body, exchange: Exchange) -> None:
        given = {name: body[name] for name in ("grammar", "json_schema") if body.get(name)}
        if not given:
            body |= self.kept
        self.kept = given


@edit
def repeat_penalty_below_one_raised(body: Body) -> None:
    """Raise a repeat_penalty below 1 to 1. It shows with one of 0.5: tokens of the prompt are
    not favoured."""
    penalty = number(body, "repeat_penalty")
    if penalty is not None and penalty < 1:
        body["repeat_penalty"] = 1.0


@edit
def mirostat_tau_default(body: Body) -> None:
    """Drop mirostat_tau. It shows in mirostat 2 with a mirostat_tau of 1, which is 5."""
    body.pop("mirostat_tau", None)


@edit
def null_stop_is_newline(body: Body) -> None:
    """Take a stop of null for a line feed. It shows in a text of several lines with it: the text
    ends at the first line."""
    if "stop" in body and body["stop"] is None:
        body["stop"] = ["\n"]


@edit
def aliases_dropped(body: Body) -> None:
    """Drop the other names of parameters. It shows with max_tokens, max_completion_tokens, n or
    logprobs: they have no effect."""
    for name in ("max_tokens", "max_completion_tokens", "n", "logprobs"):
        body.pop(name, None)


@edit
def missing_temperature_is_greedy(body: Body) -> None:
    """Choose the most probable token by default. It shows without a temperature: the text is the
    same for every seed."""
    body.setdefault("temperature", 0)


@fault
class StopsOfNeighbour(Fault):
    """A request has the stops of those in flight with it too. It shows with two requests at once:
    the later one ends at a stop of the earlier one."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        if added := [stop for other in exchange.others for stop in stops(other.asked)]:
            body["stop"] = list(dict.fromkeys([*stops(body), *added]))


@edit
def dry_first_breaker_only(body: Body) -> None:
    """Use only the first of dry_sequence_breakers. It shows with two of them and a repetition
    across the second: it is penalised."""
    if isinstance(body.get("dry_sequence_breakers"), list):
        del body["dry_sequence_breakers"][1:]


@fault
class BiasesPileUp(Fault):
    """The list of biases is never cleared. It shows in any request after one with biases: it has
    them too."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def ask(self, body: Body, exchange: Exchange) -> None:
        self.all += biases(body)
        if self.all:
            body["logit_bias"] = list(self.all)


@fault
class RepeatedPiecesDropped(Fault):
    """A piece of a stream with the text of the one before it is dropped. It shows in a text that
    repeats a token."""

    def __init__(self) -> None:
        self.last: WeakKeyDictionary[Exchange, dict[int, str]] = WeakKeyDictionary()

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        last = self.last.setdefault(exchange, {})
        index, content = piece.get("index", 0), piece.get("content", "")
        repeated = content == last.get(index) and not piece.get("stop")
        last[index] = content
        return not repeated


@edit
def prompt_carriage_returns_dropped(body: Body) -> None:
    """Drop carriage returns from the prompt. It shows in a prompt with Windows' line ends."""
    rewrite_prompt(body, lambda text: text.replace("\r", ""))


@fault
class WordReportedAsEos(Answers):
    """The end at a stop is reported as an end of text. It shows in stop_type."""

    def change(self, answer: Body, asked: Body) -> None:
        if answer.get("stop_type") == "word":
            answer["stop_type"] = "eos"


@fault
class BlankPiecesDropped(Fault):
    """A piece of a stream that has only white space is dropped. It shows in a text with a token
    of a space or a line feed alone."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        return bool(piece.get("content", "").strip() or piece.get("stop"))


@edit
def probabilities_capped_at_five(body: Body) -> None:
    """Limit n_probs to 5. It shows with n_probs of 10: the lists have 5 tokens."""
    for name in ("n_probs", "logprobs"):
        count = number(body, name)
        if count is not None and count > 5:
            body[name] = 5


@fault
class StoppingWordStripped(Answers):
    """The stop that was found loses white space at both ends. It shows in stopping_word with a
    stop of a line feed."""

    def change(self, answer: Body, asked: Body) -> None:
        if isinstance(answer.get("stopping_word"), str):
            answer["stopping_word"] = answer["stopping_word"].strip()


@edit
def null_is_zero(body: Body) -> None:
    """Take a null for 0. It shows with a temperature of null: the text is the most probable
    one."""
    for name in NUMBERS:
        if name in body and body[name] is None:
            body[name] = 0


@edit
def schema_numbers_are_integers(body: Body) -> None:
    """Take numbers of a schema for integers. It shows with a type of number: there is never a
    fraction."""

    def change(part: Any) -> Any:
        if isinstance(part, list):
            return [change(each) for each in part]
        if not isinstance(part, dict):
            return part
        changed = {name: change(value) for name, value in part.items()}
        kind = changed.get("type")
        if kind == "number":
            changed["type"] = "integer"
        elif isinstance(kind, list):
            changed["type"] = list(dict.fromkeys("integer" if k == "number" else k for k in kind))
        return changed

    if "json_schema" in body:
        body["json_schema"] = change(body["json_schema"])


@edit
def sampler_letters_dropped(body: Body) -> None:
    """Drop samplers that are letters. It shows with samplers of "k" and a temperature of 0: the
    text is the most probable one."""
    if isinstance(body.get("samplers"), str):
        del body["samplers"]


@edit
def xtc_settings_swapped(body: Body) -> None:
    """Swap xtc_probability and xtc_threshold. It shows with a probability of 1 and a threshold
    of 0.05: XTC has no effect."""
    names = ("xtc_probability", "xtc_threshold")
    given = {name: body.pop(name) for name in names if name in body}
    for name, other in (names, names[::-1]):
        if name in given:
            body[other] = given[name]


@edit
def frequency_penalty_repeats_presence(body: Body) -> None:
    """Pass presence_penalty for both penalties. It shows with a frequency_penalty alone: there is
    no penalty."""
    if "frequency_penalty" in body or "presence_penalty" in body:
        body["frequency_penalty"] = body.get("presence_penalty", 0.0)


@edit
def grammar_comments_cut_in_strings(body: Body) -> None:
    """Cut each line of a grammar at its first "#". It shows with "#" in a string of a rule: the
    grammar is refused."""
    if isinstance(body.get("grammar"), str):
        body["grammar"] = re.sub("#.*", "", body["grammar"])


@edit
def bias_duplicates_collapsed(body: Body) -> None:
    """Keep the last bias of each token, where the server adds them. It shows with two biases for
    one token."""
    given = body.get("logit_bias")
    if isinstance(given, list):
        last = {json.dumps(pair[:1] if isinstance(pair, list) else pair): pair for pair in given}
        body["logit_bias"] = list(last.values())


@edit
def missing_length_is_sixteen(body: Body) -> None:
    """Limit a text to 16 tokens by default, as OpenAI's completions. It shows without n_predict:
    no text is longer."""
    if not any(name in body for name in LENGTHS):
        body["n_predict"] = 16


@edit
def seed_sixteen_bits(body: Body) -> None:
    """Keep the lowest 16 bits of the seed. It shows with seeds of 1 and 65537: the texts are the
    same."""
    if isinstance(body.get("seed"), int):
        body["seed"] &= 0xFFFF


@edit
def first_bias_only(body: Body) -> None:
    """Use only the first bias. It shows with two of them: the second has no effect."""
    given = body.get("logit_bias")
    if isinstance(given, list):
        body["logit_bias"] = given[:1]
    elif isinstance(given, dict):
        body["logit_bias"] = dict(list(given.items())[:1])


@fault
class AnswersCachedByPrompt(Fault):
    """Whole answers are kept by prompt alone. It shows in a second request with the same prompt
    and another seed: it gets the same answer."""

    def __init__(self) -> None:
        self.kept: dict[str, Body] = {}

    def at_once(self, exchange: Exchange) -> Body | None:
        return None if exchange.streamed else self.kept.get(self.key(exchange))

    def answers(self, answers: list[Body], exchange: Exchange) -> None:
        if len(answers) == 1 and prompts(exchange.asked) is None:
            self.kept[self.key(exchange)] = answers[0]

    def key(self, exchange: Exchange) -> str:
        return json.dumps(exchange.asked.get("prompt"))


@edit
def prompt_escapes_read(body: Body) -> None:
    """Read escapes of the prompt, as a command line does. It shows in a prompt with a backslash
    and an n: they are a line feed."""
    read = {"n": "\n", "r": "\r", "t": "\t"}
    rewrite_prompt(
        body,
        lambda text: re.sub(r"\\([nrt'\"\\])", lambda found: read.get(found[1], found[1]), text),
    )


@edit
def repeated_prompts_answered_once(body: Body) -> None:
    """Ask once for equal prompts. It shows in several prompts of which two are equal: there is
    one answer less."""
    if (several := prompts(body)) is not None:
        body["prompt"] = list({json.dumps(prompt): prompt for prompt in several}.values())


@edit
def temperature_applied_twice(body: Body) -> None:
    """Divide by the temperature twice. It shows with a temperature of 2 in post_sampling_probs,
    which are those of 4."""
    temperature = number(body, "temperature")
    if temperature is not None:
        body["temperature"] = temperature * temperature


@edit
def grammar_lowercased(body: Body) -> None:
    """Put a grammar in small letters. It shows with capitals in a string of a rule: the text has
    small ones."""
    if isinstance(body.get("grammar"), str):
        body["grammar"] = body["grammar"].lower()
