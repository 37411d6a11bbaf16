"""Decide why two chains selected different tokens: replay each with parts of the other."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np

from sampler_parity.programs.differences import moment as m
from sampler_parity.programs.differences.moment import Key, Moment, Undecided, first_other, selected
from sampler_parity.programs.differences.settings import Setting, settings_of
from sampler_parity.programs.recording.replay import UNREPORTED, StageOfApply
from sampler_parity.programs.recording.tokens import place_of
from sampler_parity.reference.random import Mt19937

Cause = Literal["sampler", "stream", "history", "logits", "prompt"]
CAUSES: tuple[Cause, ...] = ("sampler", "stream", "history", "logits", "prompt")
_PARTS = CAUSES[:4]  # a prompt acts by the history and the logits
_WORDS = 4  # that identify a position in a stream of random numbers
_MOST = 1 << 22  # words in which a position is searched


@dataclass(frozen=True)
class Decision:
    """Why B selected another token than A. causes: the parts whose exchange undoes the difference,
    each with a sentence. outcomes: by part that has an effect, the token that B selects with A's
    part, and A with B's. undecided: the reason if no replay decides, or ""."""

    causes: dict[Cause, str] = field(default_factory=dict)
    settings: tuple[Setting, ...] = ()
    outcomes: dict[Cause, tuple[str, str]] = field(default_factory=dict)
    undecided: str = ""


def decide(a: Moment, b: Moment) -> Decision:
    """Return the smallest set of parts whose exchange turns one token into the other; several sets
    of one size are all causes."""
    settings = tuple(settings_of(a, b))
    try:
        for moment in (a, b):
            if (token := selected(moment.chain, *[moment] * 3)) != moment.token.token:
                recorded, replayed = moment.name_of(moment.token.token), moment.name_of(token)
                raise Undecided(f"{moment.name} selected {recorded}, and its replay {replayed}")
        causes = _undoing(a, b)
        exchanged = {part: (_exchanged(a, b, {part}), _exchanged(b, a, {part})) for part in _PARTS}
    except Undecided as reason:
        return Decision(settings=settings, undecided=str(reason))
    if causes <= {"history", "logits"} and first_other(a.read, b.read) is not None:
        causes = {"prompt"}
    outcomes = {
        part: (a.name_of(of_b), a.name_of(of_a))
        for part, (of_b, of_a) in exchanged.items()
        if (of_b, of_a) != (b.token.token, a.token.token)
    }
    sentences = {cause: _SENTENCES[cause](a, b) for cause in CAUSES if cause in causes}
    return Decision(sentences, settings, outcomes)


def _exchanged(first: Moment, second: Moment, parts: set[Cause]) -> int | None:
    """Return the token that `second` selects with parts of `first`."""
    sampler, *sources = (first if part in parts else second for part in _PARTS)
    return selected(sampler.chain, *sources)


def _unequal(a: Moment, b: Moment) -> list[Setting]:
    return [setting for setting in settings_of(a, b) if setting.parameter not in m.SEEDS]


def _undoing(a: Moment, b: Moment) -> set[Cause]:
    """Return the smallest sets of parts that undo the difference, joined. Raises Undecided."""
    for size in range(1, len(_PARTS)):
        undo: set[Cause] = set()
        for parts in map(set, combinations(_PARTS, size)):
            if any(_exchanged(x, y, parts) == x.token.token for x, y in ((a, b), (b, a))):
                undo |= parts
        if undo:
            return undo
    raise Undecided("the recordings differ in no part that can be replayed")


def _of_prompts(a: Moment, b: Moment) -> str:
    first = (first_other(a.read, b.read) or 0) + 1
    return f"the model read other tokens: token {first:,} is the first"


def _of_samplers(a: Moment, b: Moment) -> str:
    """Name the stages that decide alone, else all settings; and stages unlike the reference's."""
    differing = _unequal(a, b)
    decisive = [setting for setting in differing if _decides(setting.key, a, b)]
    parts = [str(setting) for setting in decisive or differing]
    releases = [moment.token.replayed.release for moment in (a, b)]
    if releases[0] != releases[1]:
        parts.append(f"A has the samplers of {releases[0]}, B those of {releases[1]}")
    deviating = [
        (x, key[0], stage) for x in (a, b) for key, stage in x.stages.items() if m.is_own(stage)
    ]
    parts += [f"{x.name}'s {n} is not as the reference's" for x, n, s in deviating if s.difference]
    return "; ".join(dict.fromkeys(parts or [stage.why for _, _, stage in deviating]))


def _decides(key: Key, a: Moment, b: Moment) -> bool:
    """Return whether a stage alone turns one token into the other: B gets A's, or one loses it."""
    to, of = (a, b) if key not in b.stages else (b, a)
    common = key in a.stages and key in b.stages
    chain = [(k, of if k == key else to) for k in to.stages if k != key or common]
    try:
        return selected(chain, *[to] * 3) == of.token.token
    except Undecided:
        return False


def _of_streams(a: Moment, b: Moment) -> str:
    """Name the first stage whose random numbers differ, and how."""
    for key in (key for key in a.stages if key in b.stages):
        if difference := _of_numbers(a.stages[key], b.stages[key]):
            return f"{key[0]}: {difference}"
    return "the generators are in other states"


def _of_numbers(a: StageOfApply, b: StageOfApply) -> str:
    """Return how the next random numbers of two stages differ; "" if they are equal."""
    for side, stage in (("A", a), ("B", b)):
        if stage.why == UNREPORTED or (stage.earlier is None and m.draws_otherwise(stage)):
            return f"{side}'s numbers are not recorded: {stage.why}"
        if m.draws_otherwise(stage):
            return f"{side} drew by another number than its seed gives: another generator?"
    rngs: list[Any] = [getattr(m.today(stage.earlier), "rng", None) for stage in (a, b)]
    is_known = all(isinstance(rng, Mt19937) for rng in rngs)
    if not is_known or np.array_equal(*(rng.clone().words(_WORDS) for rng in rngs)):
        return ""
    if rngs[0].seed_cur != rngs[1].seed_cur:
        return f"the seed is {rngs[0].seed_cur} in A and {rngs[1].seed_cur} in B"
    in_a, in_b = (_words_drawn(rng) // (1 if a.recorded.name == "xtc" else 2) for rng in rngs)
    if min(in_a, in_b) < 0:
        return "a generator is in a state that its seed does not lead to"
    more = f"{abs(in_b - in_a):,} {'more' if in_b > in_a else 'fewer'}"
    reset = "" if in_a and in_b else f"; {'B' if in_a else 'A'} was reset"
    return f"A has drawn {in_a:,} numbers, B {in_b:,}: {more}{reset}"


def _words_drawn(rng: Mt19937) -> int:
    """Return how many words a generator has drawn since its seed; -1 if more than 4,194,304."""
    sought, fresh = rng.clone().words(_WORDS), Mt19937(0)
    fresh.seed_exactly(rng.seed_cur)
    words = fresh.words(_MOST + _WORDS)
    places = (i for i in np.flatnonzero(words[:_MOST] == sought[0]).tolist())
    return next((i for i in places if np.array_equal(words[i : i + _WORDS], sought)), -1)


def _of_histories(a: Moment, b: Moment) -> str:
    """Name the first stage that remembers other tokens."""
    for key in (key for key in a.stages if key in b.stages):
        states = (m.today(moment.stages[key].earlier) for moment in (a, b))
        in_a, in_b = ([*getattr(state, "history", ())] for state in states)
        if in_a != in_b:
            return f"{key[0]} saw a window of {len(in_a):,} tokens in A, of {len(in_b):,} in B"
    return "the chains took in other tokens"


def _of_logits(a: Moment, b: Moment) -> str:
    """Return how much the logits differ, the ranks of the two tokens, and how near A's random
    number was to the end of its token's interval."""
    if not np.array_equal(a.row.ids, b.row.ids):
        return "those of other tokens"
    rows = [moment.row.logits.astype(np.float64) for moment in (a, b)]
    finite = np.isfinite(rows[0]) & np.isfinite(rows[1])
    gaps, spread = (rows[1] - rows[0])[finite], rows[0][finite].std() if finite.any() else 0.0
    if not spread:
        return "A's are all equal, or none is finite"
    text = f"they differ by up to {abs(gaps).max():.2g}, {gaps.std() / spread:.1e} of their spread"
    for moment in (a, b):
        at = place_of(a.row, moment.token.token)
        ranks = [int((row > row[at]).sum()) + 1 for row in rows]
        text += f"; {moment.name}'s token has rank {ranks[0]:,} in A and {ranks[1]:,} in B"
    if (draw := a.token.draw) is None:
        return text
    distance = min(draw.u - draw.low, draw.high - draw.u)
    return f"{text}; A's random number is {distance:.1e} from the end of its interval"


_SENTENCES = dict(
    zip(CAUSES, (_of_samplers, _of_streams, _of_histories, _of_logits, _of_prompts), strict=True)
)
