"""Explain why a token of a recording was chosen: what each stage did, and what drew it."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.sanitize.printable import cut, visible
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.replay import IN_GRAPH, StageOfApply
from sampler_parity.programs.recording.tokens import RecordedToken, place_of, softmax, tokens_of

TOP = 3  # tokens shown of those that a stage removed or changed
_NUMBER = re.compile(r"(?:(\d{1,9}):)?(@?)(\d{1,9})")
_HIDDEN = frozenset({"vocab", "model", "n_vocab"})
_NOT_DATA = frozenset({"piece", "pieces", "applied", "stages", "replayed"})


class TokenPlace(NamedTuple):
    """The position of a token. nth: its number in its text. at: character position; None with
    --no-text, and for a token outside the text."""

    number: int
    text: int
    nth: int
    at: int | None
    characters: str


@dataclass(frozen=True)
class StageEffect:
    """The effect of a stage. removed, changed: numbers of tokens. top: the likeliest of each,
    with their logits before and after (None: removed). logit, p: the chosen token's afterwards."""

    name: str
    parameters: dict[str, Any]
    before: int | None
    after: int | None
    removed: int
    changed: int
    top: list[tuple[str, float, float | None]]
    logit: float | None
    p: float | None
    verdict: str
    detail: str


@dataclass(frozen=True)
class TokenExplanation:
    """Why a token was chosen. start, end: the text around it. runner_up: with its p. elsewhere: the
    numbers of other tokens with the text that was asked for."""

    token: RecordedToken
    start: str
    end: str
    stages: list[StageEffect]
    runner_up: tuple[str, float] | None
    elsewhere: list[int]
    sentence: str

    def data(self) -> dict[str, Any]:
        """Return it for a machine, without the text."""
        token = {key: value for key, value in vars(self.token).items() if key not in _NOT_DATA}
        rest = ("stages", "runner_up", "elsewhere", "sentence")
        return token | {key: getattr(self, key) for key in rest}


def why(recording: Recording, token: str, reference: str | None = None) -> TokenExplanation:
    """Explain a token: `17`, `2:17`, `@120`, `2:@120` or a text. reference: release and platform;
    None: the recorded ones. Raises InputError."""
    unjudged = tokens_of(recording, judged=False)
    places = [
        TokenPlace(t.number, t.text, t.index, t.at if t.accepted else None, t.shown)
        for t in unjudged
    ]
    match, *further = _named(places, token)
    explained = next(t for t in tokens_of(recording, reference) if t.number == match.number)
    same_text = [item for item in places if item.text == match.text and item.at is not None]
    stages, before = [], explained.before
    for stage, after, verdict in zip(
        explained.stages, explained.survivors, explained.verdicts, strict=True
    ):
        stages.append(_change(explained, stage, before, after, verdict))
        before = before if after is None else after
    return TokenExplanation(
        explained,
        start="".join(item.characters for item in same_text if item.number < match.number),
        end="".join(item.characters for item in same_text if item.number > match.number),
        stages=stages,
        runner_up=_runner_up(explained),
        elsewhere=[item.number for item in further],
        sentence=_sentence(explained),
    )


def _named(places: Sequence[TokenPlace], token: str) -> list[TokenPlace]:
    """Return the tokens that are asked for. Raises InputError if there is none."""
    match = _NUMBER.fullmatch(token)
    if match is None:
        matches = list(_with_text(places, token))
    else:
        text, number = match[1] and int(match[1]), int(match[3])
        matches = [
            item
            for item in places
            if text in (None, item.text)
            and (
                _holds(item, number) if match[2] else number == (item.nth if text else item.number)
            )
        ][:1]
    if not matches:
        texts = len({item.text for item in places})
        problem = f"no such token: there are {len(places):,} in {texts:,} texts"
        raise InputError(cut(token, 80), problem, "write 17, 2:17, @120, 2:@120 or '\" blue\"'")
    return matches


def _holds(token: TokenPlace, position: int) -> bool:
    return token.at is not None and token.at <= position < token.at + len(token.characters)


def _with_text(places: Sequence[TokenPlace], token: str) -> Iterator[TokenPlace]:
    """Yield the tokens at which a text begins; it may stand in quotes, as JSON has them."""
    try:
        searched = json.loads(token) if token.startswith('"') else token
    except ValueError:
        searched = token
    for number in dict.fromkeys(item.text for item in places if searched):
        same_text = [item for item in places if item.text == number and item.at is not None]
        text, at = "".join(item.characters for item in same_text), -1
        while (at := text.find(searched, at + 1)) >= 0:
            yield next(item for item in same_text if _holds(item, at))


def _change(
    token: RecordedToken, stage: StageOfApply, n: int, after: int | None, verdict: str
) -> StageEffect:
    """Return what a stage did."""
    before, remaining, at = stage.before, stage.after, place_of(stage.after, token.token)
    top: list[tuple[str, float, float | None]] = []
    removed = changed = 0
    if before is not None and remaining is not None:
        highest = max(before.ids.max(initial=0), remaining.ids.max(initial=0))
        now = np.full(1 + highest, -np.inf, np.float32)
        now[remaining.ids] = remaining.logits
        now = now[before.ids]
        gone = (now == -np.inf) & (before.logits > -np.inf)
        moved = (now != before.logits) & ~gone
        removed, changed = int(gone.sum()), int(moved.sum())
        for rows in map(np.flatnonzero, (gone, moved)):
            for row in rows[np.argsort(-before.logits[rows], kind="stable")[:TOP]]:
                name, logit = token.name_of(int(before.ids[row])), float(before.logits[row])
                top.append((name, logit, None if gone[row] else float(now[row])))
    difference = stage.difference
    values = visible(difference.values) if difference is not None else ""
    return StageEffect(
        name=stage.recorded.name,
        parameters={k: v for k, v in stage.recorded.arguments.items() if k not in _HIDDEN},
        before=n, after=after, removed=removed, changed=changed, top=top,
        logit=None if remaining is None or at is None else float(remaining.logits[at]),
        p=None if remaining is None or at is None else float(softmax(remaining.logits)[at]),
        verdict=verdict,
        detail=f"{difference.what} {values}" if difference is not None else stage.why,
    )  # fmt: skip


def _runner_up(token: RecordedToken) -> tuple[str, float] | None:
    """Return the likeliest other token where this one was chosen."""
    after = token.stages[-1].after if token.stages else None
    if after is None or len(after) < 2:
        return None
    p = np.where(after.ids == token.token, -1.0, softmax(after.logits))
    best = int(p.argmax())
    return (token.name_of(int(after.ids[best])), float(p[best])) if p[best] > 0 else None


def _sentence(token: RecordedToken) -> str:
    """Return in one sentence why a token was chosen; in others what is wrong with it."""
    parts: list[str] = []
    n = token.before
    for name, after in zip(token.names, token.survivors, strict=True):
        if after is not None and after < n:
            parts.append(f"{name} {after:,}" if parts else f"{name} kept {after:,} of {n:,}")
            n = after
    parts = parts[:-1] if token.forced_by else parts
    listed = " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)
    after_all = f", after {listed}" if parts else ""
    survivors = f" of {n:,} survivors{after_all}" if None not in token.survivors else ""
    why = "the program chose it" + (f" with p = {token.p:.4g}{survivors}" if token.p else "")
    if token.applied.event.q == IN_GRAPH:
        why = "the graph sampled it" + (f" with p = {token.p:.4g}" if token.p else "")
    elif token.forced_by:
        why = f"{token.forced_by} left no other token{after_all or f' of {token.before:,}'}"
    elif token.draw is not None:
        u, low, high = distinct(token.draw.u, token.draw.low, token.draw.high)
        why = f"the random number {u} fell into its interval, {low} to {high}:"
        why += f" it had p = {token.p:.4g}{survivors}"
    elif "greedy" in token.names[-1:]:
        why = f"greedy takes the largest logit{survivors}"
    differing = (stage.recorded.name for stage in token.stages if stage.difference)
    end = [f" {name} is not as the reference's." for name in differing]
    end += [] if token.accepted else [" The program left it out of the text, and chose again."]
    return f"{token.name_of(token.token)} was chosen because {why}.{''.join(end)}"


def distinct(*numbers: float) -> list[str]:
    """Format numbers with so many digits that they differ, 4 or more."""
    for digits in range(4, 18):
        texts = [f"{number:.{digits}g}" for number in numbers]
        if len({*texts}) == len({*numbers}):
            break
    return texts
