"""Compare two recordings: texts in pairs, the first pair that parts, and the cause."""

from collections.abc import Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.phase import phase
from sampler_parity.programs.differences.benign import ERROR, ROUNDING, Likelihood, Noise
from sampler_parity.programs.differences.causes import Decision, decide
from sampler_parity.programs.differences.moment import Moment, first_other
from sampler_parity.programs.differences.settings import facts_of
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.tokens import RecordedToken, tokens_of

AROUND = 12  # tokens of the text that are listed before the parting
_MOST = 6  # settings and facts that are listed


@dataclass(eq=False)
class Text:
    """A text of a chain. A reset in the middle does not end it. prompt: its tokens; None if not
    recorded. numbers: of its tokens in the recording."""

    prompt: Any
    tokens: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


T = TypeVar("T", bound=Text)


def read_by(token: RecordedToken) -> list[int] | None:
    """Return the tokens that the model had read before the newest token; None if they are not
    recorded."""
    contexts, event = token.replayed.contexts, token.applied.event
    prompt = contexts.prompts.get(event.s)
    return [*prompt, *token.applied.use.tokens] if prompt else contexts.tokens(event.ctx, event.i)


def texts_of(recording: Recording) -> list[Text]:
    """Return the texts of a recording, in their order. Raises InputError."""
    texts: dict[int, Text] = {}
    newest: dict[tuple[str, str], Text] = {}  # by process and chain
    with phase(f"reading {recording.folder}"):
        for token in tokens_of(recording, judged=False):
            chain = token.process, token.applied.event.s
            if token.text not in texts:
                text, earlier = Text(read_by(token)), newest.get(chain)
                if earlier and earlier.prompt and text.prompt == earlier.prompt + earlier.tokens:
                    text = earlier
                texts[token.text] = newest[chain] = text
            if token.accepted:
                texts[token.text].tokens.append(token.token)
                texts[token.text].numbers.append(token.number)
    if not texts:
        raise InputError(recording.folder, "has no token", "record a program that samples")
    return [*dict.fromkeys(text for text in texts.values() if text.tokens)]


def pairs_of(a: Sequence[T], b: Sequence[T]) -> list[tuple[T, T]]:
    """Pair the texts of two recordings or logs in order: those of one prompt, and those without
    another of their prompt."""
    rest, prompts, pairs = list(b), [text.prompt for text in a], []
    for text in a:
        same = [candidate for candidate in rest if candidate.prompt == text.prompt]
        for partner in (
            same or [candidate for candidate in rest if candidate.prompt not in prompts]
        )[:1]:
            rest.remove(partner)
            pairs.append((text, partner))
    return pairs


@dataclass(frozen=True)
class Comparison:
    """How two recordings differ.

    texts: how many each has. equal: how many pairs are equal. same: the equal tokens of the first
    pair that parts, None if none does. before: the end of their text. tokens: the first different
    ones, or `its end`. numbers: theirs in the recordings; 0: in a log. prompt: how the prompts
    differ. facts: what else the programs differ in. likelihood: of rounding; None if nothing
    decides the cause, or the prompts differ.
    """

    texts: tuple[int, int]
    equal: int
    same: int | None = None
    before: str = ""
    tokens: tuple[str, str] = ("", "")
    numbers: tuple[int, int] = (0, 0)
    prompt: str = ""
    decision: Decision = field(default_factory=Decision)
    facts: tuple[str, ...] = ()
    likelihood: Likelihood | None = None

    @property
    def is_equal(self) -> bool:
        return self.same is None and self.texts[0] == self.texts[1]

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield a screen of lines, each with a label."""
        yield "texts", "{:,} in A, {:,} in B; {:,} pairs are equal".format(*self.texts, self.equal)
        if self.same is None:
            yield "result", "the texts are equal" if self.is_equal else "a recording has more texts"
            return
        yield "prompt", self.prompt
        yield from _listed("settings", [*map(str, self.decision.settings)])
        yield from _listed("facts", [*self.facts])
        yield "same", f"{self.same:,} tokens: ...{self.before}"
        yield "parts", "A goes on with {}, B with {}".format(*self.tokens)
        if self.decision.undecided:
            yield "cause", f"not decided: {self.decision.undecided}"
        for cause, sentence in self.decision.causes.items():
            yield "cause", f"{cause}: {sentence}"
        for part, (of_b, of_a) in self.decision.outcomes.items():
            yield "replay", f"with A's {part} B selects {of_b}, with B's A {of_a}"
        yield from _of_rounding(self.likelihood)
        if any(self.numbers):
            yield "next", "sampler-parity why A {}; sampler-parity why B {}".format(*self.numbers)


def _listed(label: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    rest = [f"and {len(texts) - _MOST:,} more (--json lists all)"] if len(texts) > _MOST else []
    for i, text in enumerate(texts[:_MOST] + rest or ["equal"]):
        yield "" if i else label, text


def _of_rounding(likelihood: Likelihood | None) -> Iterator[tuple[str, str]]:
    if likelihood is None:
        return
    positions, least = likelihood.positions, likelihood.least
    if least == "replay":
        yield "verdict", f"{likelihood.verdict}: with equal logits the texts part, too"
        return
    yield "noise", f"{likelihood.noise:.1e} of the logits' spread, at {positions:,} positions"
    flips = f"{likelihood.expected:.2g} expected by such noise, {likelihood.chance:.2g} at the last"
    yield "flips", f"{flips}; 1 found"
    reason = f"p = {likelihood.p:.2g} by {least}"
    yield (
        "verdict",
        f"{likelihood.verdict}: {reason}; {ERROR:.0%} of benign pairs get {ERROR} or less",
    )


def compare(a: Recording, b: Recording, rounding: float = ROUNDING) -> Comparison:
    """Compare two recordings. rounding: the largest size of benign differences, of the spread of
    the logits. Raises InputError for a damaged recording, or one without a token."""
    texts = texts_of(a), texts_of(b)
    pairs = pairs_of(*texts)
    parted = [(x, y) for x, y in pairs if x.tokens != y.tokens]
    comparison = Comparison((len(texts[0]), len(texts[1])), len(pairs) - len(parted))
    return _explained(comparison, (a, b), *parted[0], rounding) if parted else comparison


def _explained(
    comparison: Comparison, recordings: tuple[Recording, Recording], a: Text, b: Text, size: float
) -> Comparison:
    at = first_other(a.tokens, b.tokens) or 0
    in_a, in_b, noise = _moments(recordings, (a.numbers[: at + 1], b.numbers[: at + 1]))
    ended = "A" if at >= len(a.tokens) else "B" if at >= len(b.tokens) else ""
    end = Decision(undecided=f"{ended}'s text ends there; no recording has the reason")
    tokens = [m.name_of(m.token.token) if m.name != ended else "its end" for m in (in_a, in_b)]
    decision = end if ended else decide(in_a, in_b)
    is_common = {*decision.causes} - {"prompt"} and first_other(in_a.read, in_b.read) is None
    before = [in_a.token.pieces[token] for token in a.tokens[:at] if in_a.token.pieces]
    return replace(
        comparison,
        same=at,
        before=b"".join(before[-AROUND:]).decode(errors="replace"),
        tokens=(tokens[0], tokens[1]),
        numbers=(in_a.token.number, in_b.token.number),
        prompt=_prompt((a.prompt, b.prompt), in_a, in_b),
        decision=decision,
        facts=tuple(facts_of(in_a, in_b)),
        likelihood=noise.likelihood(size, "logits" in decision.causes) if is_common else None,
    )


def _moments(
    recordings: tuple[Recording, Recording], numbers: tuple[list[int], list[int]]
) -> tuple[Moment, Moment, Noise]:
    """Replay both recordings up to the last of these tokens, in step, each on its platform."""
    noise, a, b = Noise(), *map(_tokens, recordings, numbers)
    of_a, of_b = copy_context(), copy_context()
    with phase(f"replaying {recordings[0].folder} and {recordings[1].folder}"):
        last: dict[str, Moment] = {}
        while any(tokens := (of_a.run(next, a, None), of_b.run(next, b, None))):
            last |= {n: Moment(n, t, read_by(t)) for n, t in zip("AB", tokens, strict=True) if t}
            in_a, in_b = tokens
            if in_a and in_b:
                noise.add(in_a, in_b)
    return last["A"], last["B"], noise


def _tokens(recording: Recording, numbers: list[int]) -> Iterator[RecordedToken]:
    """Yield the tokens of these numbers."""
    rest = set(numbers)
    for token in tokens_of(recording) if rest else ():
        if token.number in rest:
            yield token
            rest.remove(token.number)
        if not rest:
            return


def _prompt(prompts: tuple[list[int] | None, list[int] | None], a: Moment, b: Moment) -> str:
    """Return how the prompts differ, in words."""
    x, y = prompts
    if not x or not y or (at := first_other(x, y)) is None:
        return f"equal, {len(x):,} tokens" if x and y else "not recorded"
    names = [m.name_of(p[at]) if at < len(p) else "its end" for m, p in ((a, x), (b, y))]
    return f"token {at + 1:,} differs: A {names[0]}, B {names[1]}"
