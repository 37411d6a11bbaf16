"""What a server does with each parameter of its dialect: honoured, ignored, or another thing.

Every request states all that the dialect documents, without effect, but for what it asks about; so
a default that nobody documents cannot hide behind it. Texts are compared, so nothing of the model
need be known. What a verdict says is how the effect looks from outside; that the values are
right, only the exact check shows (harness/servers/oracle/check.py).
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sampler_parity.harness.bundle.records.server import ServerResult, ServerVerdict
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.dialects import EOS, UNKNOWN, WORD, Parameter
from sampler_parity.harness.servers.http import Failure

# They repeat themselves, so that penalties and DRY have something to act on. The first is taken
# whose greedy text goes on long enough and has a word to stop at.
PROMPTS = (
    "The list of names: one, two, three, one, two, three, one, two,",
    "for line in file:\n    print(line)\nfor line in file:\n    print(",
    "alpha beta gamma delta alpha beta gamma delta alpha beta gamma delta alpha beta",
)
LENGTH = 24
SEEDS = (7, 8, 9)
STATUS_500 = "nonsense is answered with status 500"


@dataclass(frozen=True)
class Seen:
    """What shows a verdict."""

    verdict: ServerVerdict
    evidence: str
    answer: Answer


@dataclass
class Texts:
    """Asks once for what is asked often. seeds: whether a seed repeats a text."""

    client: Client
    answers: dict[str, Answer] = field(default_factory=dict)
    seeds: bool = True
    prompt: str = PROMPTS[0]

    def ask(self, **changed: Any) -> Answer:
        """All neutral but for these; None: not sent at all. Raises Failure."""
        dialect = self.client.dialect
        everything = {**dialect.neutral, dialect.length: LENGTH, **changed}
        sent = {name: value for name, value in everything.items() if value is not None}
        key = json.dumps([self.prompt, sent], sort_keys=True)
        if key not in self.answers:
            self.answers[key] = self.client.complete(self.prompt, sent)
        return self.answers[key]

    def greedy(self, **changed: Any) -> Answer:
        return self.ask(**{"temperature": 0.0, **changed})

    def hot(self, seed: int = SEEDS[0], **changed: Any) -> Answer:
        return self.ask(**{"temperature": self.client.dialect.hot, "seed": seed, **changed})

    def again(self, answer: Answer) -> Answer:
        """The same request, sent once more."""
        return self.client.complete(self.prompt, self.client.parameters_of(answer.sent))


def check_parameters(client: Client) -> Iterator[ServerResult]:
    """A result for each parameter, and for a name that no server has."""
    texts = Texts(client)
    try:
        _choose_prompt(texts)
        texts.seeds = texts.again(texts.hot()).text == texts.hot().text
    except Failure as failure:
        yield _result(client, "seed", "error", failure.line, None, [])
        return
    yield _unknown(texts)
    for row in client.dialect.parameters:
        yield one(texts, row)


def one(texts: Texts, row: Parameter) -> ServerResult:
    """The result for a parameter: its effect, then its default, then nonsense."""
    before = texts.client.asked[0]
    silent: list[str] = []
    try:
        row = _filled(texts, row)
        seen = _EFFECTS[row.effect](texts, row)
        if not row.documented:
            seen = _undocumented(seen)
        elif seen.verdict == "honoured":
            seen = _default(texts, row) or _nonsense(texts, row, silent) or seen
    except Failure as failure:
        answer = Answer(failure.sent, refusal=failure.line)
        return _result(texts.client, row.name, "error", failure.line, answer, [])
    except _Unknowable as why:
        return _result(texts.client, row.name, "skipped", str(why), None, [])
    done = _result(texts.client, row.name, seen.verdict, seen.evidence, seen.answer, silent)
    required: list[ServerVerdict] = ["honoured"]
    if not row.documented:  # told, and no fault either way
        required = ["honoured", "ignored", "undocumented"]
    if silent and row.documented:  # what is clamped is nonsense
        required.append("clamped")
    requests = texts.client.asked[0] - before
    return done.model_copy(update={"required": required, "requests": requests})


class _Unknowable(Exception):  # noqa: N818 - an answer
    """Why nothing can be said of a parameter."""


def _filled(texts: Texts, row: Parameter) -> Parameter:
    """With a word of the greedy text, and the token that ends texts, in their places."""
    text = json.dumps([row.effective, row.also])
    if WORD in text:
        text = text.replace(json.dumps(WORD), json.dumps(_word(texts)))
    if EOS in text:
        if texts.client.eos is None:
            raise _Unknowable("which token ends a text is not known: --eos")
        as_key = texts.client.dialect.text != "llama-server"
        text = text.replace(
            f'"{EOS}"', f'"{texts.client.eos}"' if as_key else str(texts.client.eos)
        )
    effective, also = json.loads(text)
    return replace(row, effective=effective, also=also)


def _choose_prompt(texts: Texts) -> None:
    for prompt in PROMPTS:
        texts.prompt = prompt
        text = texts.greedy().text
        if _later(text) and len(text) > LENGTH:
            return
    texts.prompt = PROMPTS[0]


def _word(texts: Texts) -> str:
    words = _later(texts.greedy().text)
    if not words:
        raise _Unknowable("the greedy text has no word to look for")
    return words[0]


def _later(text: str) -> list[str]:
    """The words of a text that it does not begin with."""
    return [w for w in re.findall(r"\w{2,}", text)[1:] if not text.lstrip().startswith(w)]


def _greedy(texts: Texts, row: Parameter) -> Seen:
    greedy, hot = texts.greedy(), texts.hot(**{row.name: row.neutral}, **row.also)
    answer = texts.hot(**{row.name: row.effective}, **row.also)
    said = f"{row.name} {row.effective} at temperature {texts.client.dialect.hot:g}"
    if row.name == "temperature":
        again = texts.ask(temperature=0.0, seed=SEEDS[1])
        if again.refusal or again.text != greedy.text:
            return Seen("other meaning", f"{said}: another text with another seed", again)
        if seen := _clamped(texts):
            return seen
        return _effect(hot.text != greedy.text, True, "0 gives the same text to all seeds", answer)
    return _effect(
        answer.text != hot.text or hot.text == greedy.text,
        answer.text == greedy.text,
        f"{said}: the greedy text",
        answer,
        f"{said}: not the greedy text",
    )


def _clamped(texts: Texts) -> Seen | None:
    """A high temperature that means a lower one: by three texts of the same seeds."""
    hot = texts.client.dialect.hot
    if not texts.seeds:
        return None
    for lower in (1.0, 1.5):
        pairs = [(texts.hot(seed), texts.hot(seed, temperature=lower)) for seed in SEEDS]
        if all(a.text == b.text for a, b in pairs):
            return Seen(
                "clamped", f"temperature {hot:g} is taken in silence as {lower}", pairs[0][0]
            )
    return None


def _constant(texts: Texts, row: Parameter) -> Seen:
    answers = [texts.hot(seed, **{row.name: row.effective}, **row.also) for seed in SEEDS]
    hot = [texts.hot(seed, **{row.name: row.neutral}, **row.also) for seed in SEEDS]
    said = f"{row.name} {row.effective}: "
    return _effect(
        [a.text for a in answers] != [a.text for a in hot],
        len({a.text for a in answers}) == 1,
        f"{said}one text of {len(SEEDS)} seeds",
        answers[0],
        f"{said}several texts of {len(SEEDS)} seeds",
    )


def _moves(texts: Texts, row: Parameter) -> Seen:
    base = texts.greedy(**{row.name: row.neutral, **row.also})
    answer = texts.greedy(**{row.name: row.effective, **row.also})
    said = f"{row.name} {row.effective}: another greedy text"
    return _effect(answer.text != base.text, True, said, answer)


def _spreads(texts: Texts, row: Parameter) -> Seen:
    base = texts.greedy(**{row.name: row.neutral, **row.also})
    answer = texts.greedy(**{row.name: row.effective, **row.also})
    more, few = len(_words(answer.text)), len(_words(base.text))
    said = f"{row.name} {row.effective}: {more} different words in {LENGTH} tokens, without {few}"
    return _effect(answer.text != base.text, more >= few, said, answer, said)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+|\W", text))


def _forces(texts: Texts, row: Parameter) -> Seen:
    base, answer = texts.greedy(), texts.greedy(**{row.name: row.effective, **row.also})
    text = answer.text  # a blank at its beginning may be left out
    period = round((len(text) + 1) / LENGTH)
    one_token = 0 < period < len(text) and text[period:] == text[:-period]
    said = f"{row.name} {json.dumps(row.effective)}: "
    return _effect(
        answer.text != base.text,
        one_token,
        f"{said}that token alone",
        answer,
        f"{said}other tokens, too",
    )


def _changes(texts: Texts, row: Parameter) -> Seen:
    if not texts.seeds:
        raise _Unknowable("no seed repeats a text, so two cannot be compared")
    base = texts.hot(**{row.name: row.neutral, **row.also})
    answer = texts.hot(**{row.name: row.effective, **row.also})
    said = f"{row.name} {json.dumps(row.effective)}: another text of the same seed"
    return _effect(answer.text != base.text, True, said, answer)


def _seed(texts: Texts, row: Parameter) -> Seen:
    first, other = texts.hot(SEEDS[0]), texts.hot(SEEDS[1])
    again = texts.again(first)
    said = f"seed {SEEDS[0]} twice: " + ("one text" if again.text == first.text else "two texts")
    if first.refusal:
        return _effect(False, False, said, first)
    if again.text == first.text and other.text == first.text:
        return Seen("ignored", f"seeds {SEEDS[0]} and {SEEDS[1]}: one text", other)
    return Seen("honoured" if again.text == first.text else "ignored", said, again)


def _length(texts: Texts, row: Parameter) -> Seen:
    whole = texts.greedy()
    answer = texts.greedy(**{row.name: row.effective, **row.also})
    shorter = len(answer.text) < len(whole.text) and whole.text.startswith(answer.text.rstrip("�"))
    exact = answer.tokens is None or len(answer.tokens) == row.effective
    n = f"{len(answer.tokens)} tokens" if answer.tokens is not None else "a shorter text"
    said = f"{row.name} {row.effective}: {n}"
    return _effect(answer.text != whole.text, shorter and exact, said, answer, said)


def _stops(texts: Texts, row: Parameter) -> Seen:
    whole = texts.greedy()
    answer = texts.greedy(**{row.name: row.effective, **row.also})
    word = row.effective[0]
    expected = whole.text[: whole.text.index(word)]
    said = f"{row.name} {json.dumps(word)}: "
    return _effect(
        answer.text != whole.text,
        answer.text == expected,
        f"{said}the text ends before it",
        answer,
        f"{said}the text does not end before it",
    )


def _shape(texts: Texts, row: Parameter) -> Seen:
    answer = texts.greedy(**{row.name: row.effective, **row.also})
    text = answer.text.strip().strip('"')
    whole = text == "abacus"
    said = f"{row.name} that allows one word: "
    return _effect(
        answer.text != texts.greedy().text, whole, f"{said}that", answer, f"{said}another text"
    )


_EFFECTS: dict[str, Callable[[Texts, Parameter], Seen]] = {
    "greedy": _greedy,
    "constant": _constant,
    "moves": _moves,
    "spreads": _spreads,
    "forces": _forces,
    "changes": _changes,
    "seed": _seed,
    "length": _length,
    "stops": _stops,
    "shape": _shape,
}


def _effect(moved: bool, right: bool, said: str, answer: Answer, wrong: str = "") -> Seen:
    if answer.refusal:
        return Seen("error", f"a documented value is refused: {answer.refusal}", answer)
    if not moved:
        return Seen("ignored", f"{said.partition(':')[0]}: the text stays as it was", answer)
    return Seen("honoured", said, answer) if right else Seen("other meaning", wrong or said, answer)


def _default(texts: Texts, row: Parameter) -> Seen | None:
    """None where the default is as documented, or nothing can be said of it."""
    if row.default is None or not texts.seeds or row.effect in ("length", "seed"):
        return None
    for seed in SEEDS:
        absent = texts.hot(seed, **{row.name: None}, **row.also)
        stated = texts.hot(seed, **{row.name: row.default}, **row.also)
        if absent.refusal or stated.refusal:
            said = f"without {row.name}, or at its default: {absent.refusal or stated.refusal}"
            return Seen("error", said, absent if absent.refusal else stated)
        if absent.text != stated.text:
            said = f"without {row.name} the text is not that of its default {row.default}"
            return Seen("other meaning", said, absent)
    return None


def _nonsense(texts: Texts, row: Parameter, silent: list[str]) -> Seen | None:
    """What is taken in silence goes into `silent`; a value that becomes another is a verdict."""
    wrong = _refused_or_not(texts, silent, **{row.name: row.wrong, **row.also})
    if wrong is not None:
        silent.append(f"wrong type {json.dumps(row.wrong)}")
    if row.beyond is None:
        return None
    beyond = _refused_or_not(texts, silent, **{row.name: row.beyond, **row.also})
    if beyond is None:
        return None
    silent.append(f"out of range {json.dumps(row.beyond)}")
    if row.bound is None or not texts.seeds:
        return None
    bound = texts.hot(**{row.name: row.bound, **row.also})
    if bound.text != beyond.text:
        return None
    return Seen("clamped", f"{row.name} {row.beyond} is taken in silence as {row.bound}", beyond)


def _refused_or_not(texts: Texts, silent: list[str], **nonsense: Any) -> Answer | None:
    """The answer to nonsense; None where it is refused. With a status of 500 a server calls the
    client's mistake its own, and goes on."""
    try:
        answer = texts.hot(**nonsense)
    except Failure as failure:
        if not (failure.verdict == "crashed" and "status 5" in failure.line):
            raise
        if STATUS_500 not in silent:
            silent.append(STATUS_500)
        return None
    return None if answer.refusal else answer


def _undocumented(seen: Seen) -> Seen:
    if seen.verdict in ("honoured", "other meaning"):
        return Seen("undocumented", f"not in the dialect, but {seen.evidence}", seen.answer)
    if seen.verdict == "error":
        return Seen(
            "honoured", f"not in the dialect, and refused: {seen.answer.refusal}", seen.answer
        )
    return seen


def _unknown(texts: Texts) -> ServerResult:
    """A name that no server has: an error, or silence."""
    try:
        answer = texts.greedy(**{UNKNOWN: 1})
    except Failure as failure:
        return _result(texts.client, "unknown name", "error", failure.line, None, [])
    if answer.refusal:
        line = f"refused: {answer.refusal}"
        return _result(texts.client, "unknown name", "honoured", line, answer, [])
    line = "a name that no server has is taken in silence: so is a typing error"
    done = _result(texts.client, "unknown name", "ignored", line, answer, ["unknown name"])
    return done.model_copy(update={"required": ["honoured", "ignored"]})


def _result(
    client: Client,
    name: str,
    verdict: ServerVerdict,
    evidence: str,
    answer: Answer | None,
    silent: list[str],
) -> ServerResult:
    return ServerResult(
        id=f"parameter/{name}",
        server="",
        group="parameter",
        name=name,
        verdict=verdict,
        evidence=evidence[:300],
        silent=silent,
        sent=json.dumps(answer.sent, ensure_ascii=False) if answer else "",
        got=answer.got if answer else "",
        curl=client.curl(answer.sent) if answer else "",
    )
