"""The texts of a recording, token by token: its probability, its draw, and what each stage left.

A text is the use of a chain from its construction or a reset to the next (replay.Life). Tokens are
yielded one by one, and nothing here keeps their candidates.
"""

import codecs
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.recording import events as e
from sampler_parity.harness.recording.check import meaning_of
from sampler_parity.harness.recording.reader import Process, Recording
from sampler_parity.harness.recording.replay import (
    Applied,
    RecordedSampler,
    ReplayedProcess,
    StageOfApply,
)
from sampler_parity.harness.recording.vocabularies import pieces_of
from sampler_parity.reference import Candidates
from sampler_parity.reference.platforms import on
from sampler_parity.reference.random import Mt19937

DRAWN_BY = frozenset({"dist", "mirostat", "mirostat_v2", "adaptive_p"})


@dataclass(frozen=True)
class RandomDraw:
    """The random number that chose a token, and the token's part of the line from 0 to 1, where the
    survivors stand side by side in the order of the sampler. u is in it, at its end included."""

    u: float
    low: float
    high: float


@dataclass(frozen=True)
class SampledToken:
    """A token that a chain selected. Numbers begin at 1; positions in the text at 0.

    text, index: the number of its text, and its own there. life: the text's name in `check`. piece:
    its bytes; None with --no-text. at, shown: where it begins in the text, and the characters that
    it completes there: none for the first half of a character. accepted: False if the program drew
    again instead, so that the token is no part of the text.

    p: the probability that the chain gave it (1 for greedy), or the recorded one. model_p,
    model_rank, entropy: its probability and rank by the model's logits, before every stage, and
    their entropy in bits. favourite: the likeliest token there. rank: its rank among the last
    survivors. All are None if the candidates are not there.

    stages: those of a grammar that was applied before the chain, then the chain's, with all
    candidates: do not keep them. verdicts: of each stage, or "not judged". survivors: how many
    tokens each stage left possible (above -inf). forced_by, favourite_removed_by: the stage that
    left a single one; the one that removed the favourite; or "".
    """

    number: int
    text: int
    index: int
    process: str
    life: str
    token: int
    piece: bytes | None
    at: int | None
    shown: str
    accepted: bool
    p: float | None
    model_p: float | None
    model_rank: int | None
    entropy: float | None
    favourite: int | None
    rank: int | None
    draw: RandomDraw | None
    names: tuple[str, ...]
    verdicts: tuple[str, ...]
    before: int
    survivors: tuple[int | None, ...]
    forced_by: str
    favourite_removed_by: str
    applied: Applied = field(repr=False)
    stages: tuple[StageOfApply, ...] = field(repr=False)

    @property
    def surprisal(self) -> float | None:
        """-log2 of p, in bits."""
        return _bits(self.p)

    @property
    def model_surprisal(self) -> float | None:
        """-log2 of the model's p, in bits."""
        return _bits(self.model_p)

    @property
    def differs_from_greedy(self) -> bool:
        return self.favourite is not None and self.favourite != self.token


@dataclass
class _Text:
    """A text as far as it was read. pieces: of its vocabulary."""

    number: int
    n: int = 0
    length: int = 0
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def add(self, piece: bytes | None, accepted: bool) -> tuple[int | None, str]:
        """Return where a piece begins, and the characters that it completes."""
        if piece is None:
            return None, ""
        at = self.length
        if not accepted:
            return at, piece.decode(errors="replace")
        shown = self.decoder.decode(piece)
        self.length += len(shown)
        return at, shown


def tokens_of(recording: Recording, reference: str | None = None) -> Iterator[SampledToken]:
    """Yield every token that a recording's chains selected. reference: release and platform; None:
    the recorded release. Raises InputError for a damaged recording."""
    numbers, texts = count(1), count(1)
    for process in recording.processes:
        yield from _Tokens(process, reference or meaning_of(process, [])).run(numbers, texts)


class _Tokens:
    """The tokens of a process. waiting: by thread, what was applied to the row before the chain."""

    def __init__(self, process: Process, meaning: str) -> None:
        self.process = process
        self.replay = ReplayedProcess(process, meaning)
        self.left_out = left_out(process)
        self.texts: dict[str, _Text] = {}
        self.waiting: dict[int, list[Applied]] = {}
        self.vocabularies: dict[str, str] = {}  # address of a context -> of its vocabulary
        self.pieces: dict[str, list[bytes]] = {}  # by file

    def run(self, numbers: Iterator[int], texts: Iterator[int]) -> Iterator[SampledToken]:
        with on(self.replay.platform), np.errstate(all="ignore"):
            for event in self.process.events():
                if isinstance(event, e.Apply):
                    token = self._apply(event, numbers, texts)
                    if token is not None:
                        yield token
                    continue
                if isinstance(event, e.OfContext):
                    self.vocabularies[event.ctx] = event.m
                self.replay.follow(event)

    def _apply(
        self, event: e.Apply, numbers: Iterator[int], texts: Iterator[int]
    ) -> SampledToken | None:
        """Return the token of an apply; None if it selected none."""
        made = self.replay.made.get(event.s)
        rng = _rng_of(made) if made is not None else None
        applied = self.replay.apply(event)
        waiting = self.waiting.setdefault(event.th, [])
        if waiting and not _same_row(waiting[-1].event, event):
            waiting.clear()
        if event.token < 0:
            waiting.append(applied)
            return None
        self.waiting[event.th] = []
        stages = tuple(stage for one in (*waiting, applied) for stage in one.stages)
        life = applied.life
        if life.id not in self.texts:
            self.texts[life.id] = _Text(next(texts))
        return self._token(next(numbers), self.texts[life.id], applied, stages, rng)

    def _token(
        self,
        number: int,
        text: _Text,
        applied: Applied,
        stages: tuple[StageOfApply, ...],
        rng: Mt19937 | None,
    ) -> SampledToken:
        event = applied.event
        text.n += 1
        accepted = event.q not in self.left_out
        piece = self._piece(event)
        at, shown = text.add(piece, accepted)
        before = stages[0].before if stages else applied.before
        model = _of_model(before, event.token)
        drawing = next((s for s in reversed(stages) if s.made.name in {*DRAWN_BY, "greedy"}), None)
        survivors = _survivors(stages, applied)
        n = _possible(before) if before is not None else event.before.n
        names = tuple(stage.made.name for stage in stages)
        return SampledToken(
            number=number,
            text=text.number,
            index=text.n,
            process=self.process.name,
            life=applied.life.id,
            token=event.token,
            piece=piece,
            at=at,
            shown=shown,
            accepted=accepted,
            p=_p(drawing, event),
            model_p=model.p,
            model_rank=model.rank,
            entropy=model.entropy,
            favourite=model.favourite,
            rank=_rank(stages[-1].left, event.token) if stages else None,
            draw=_draw(drawing, rng, event.token),
            names=names,
            verdicts=tuple(verdict_of(stage) for stage in stages),
            before=n,
            survivors=survivors,
            forced_by=_forced_by(n, survivors, names),
            favourite_removed_by=_removed_by(stages, model.favourite),
            applied=applied,
            stages=stages,
        )

    def _piece(self, event: e.Apply) -> bytes | None:
        """Return the bytes of a token; None if its vocabulary is not there."""
        models = self.replay.models
        model = models.get(self.vocabularies.get(event.ctx or "", ""))
        if model is None:  # its context was not seen; it matters only if vocabularies differ
            fits = [one for one in models.values() if one.n_vocab > event.token]
            model = fits[-1] if len({one.digest for one in fits}) == 1 else None
        if model is None or not model.file:
            return None
        if model.file not in self.pieces:
            self.pieces[model.file] = pieces_of(self.process.folder, model)
        pieces = self.pieces[model.file]
        if event.token >= len(pieces):
            raise InputError(self.process.folder / model.file, f"has no token {event.token}")
        return pieces[event.token]


def left_out(process: Process) -> set[int]:
    """Return the numbers of those applies whose token the program did not take: it accepted
    another, or applied the chain again first. A chain that never accepts takes all."""
    selected: dict[str, e.Apply] = {}
    again: dict[str, list[int]] = {}
    accepts: set[str] = set()
    result: set[int] = set()
    for event in process.events():
        if isinstance(event, e.Apply) and event.token >= 0:
            if event.s in selected:
                again.setdefault(event.s, []).append(selected[event.s].q)
            selected[event.s] = event
        elif isinstance(event, e.Accept):
            accepts.add(event.s)
            last = selected.pop(event.s, None)
            if last is not None and last.token != event.token:
                result.add(last.q)
        elif isinstance(event, e.Free | e.Reset):
            result.update(again.pop(event.s, []) if event.s in accepts else [])
            selected.pop(event.s, None)
    for address in accepts:
        result.update(again.get(address, []))
    return result


def verdict_of(stage: StageOfApply) -> str:
    """Return how a stage of the program relates to the reference's."""
    if stage.why:
        return "not judged"
    return stage.difference.verdict if stage.difference else "identical"


def _same_row(earlier: e.Apply, event: e.Apply) -> bool:
    """Return whether two applies of a thread saw the same row, one after the other."""
    return (earlier.ctx, earlier.i, earlier.after.n) == (event.ctx, event.i, event.before.n)


def _rng_of(made: RecordedSampler) -> Mt19937 | None:
    """Return a copy of the random numbers of the member that draws, as they go on."""
    for part in reversed(made.parts):
        if part.name in DRAWN_BY and part.sampler is not None:
            sampler: Any = getattr(part.sampler, "today", part.sampler)
            return sampler.rng.clone()  # type: ignore[no-any-return]
    return None


@dataclass(frozen=True)
class _OfModel:
    """What the model's own logits say about a token."""

    p: float | None = None
    rank: int | None = None
    entropy: float | None = None
    favourite: int | None = None


def _of_model(before: Candidates | None, token: int) -> _OfModel:
    """Return what the softmax of the logits says, in float64."""
    if before is None or len(before) == 0 or np.isnan(before.logits).any():
        return _OfModel()
    logits = before.logits.astype(np.float64)
    favourite = int(before.ids[logits.argmax()])
    p = softmax(logits)
    if np.isnan(p).any():
        return _OfModel(favourite=favourite)
    bits = -p[p > 0] * np.log2(p[p > 0])
    at = place_of(before, token)
    if at is None:
        return _OfModel(entropy=float(bits.sum()), favourite=favourite)
    return _OfModel(float(p[at]), _rank(before, token), float(bits.sum()), favourite)


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def place_of(candidates: Candidates, token: int) -> int | None:
    """Return the position of a token; None if it is no candidate."""
    places = np.flatnonzero(candidates.ids == token)
    return int(places[0]) if len(places) else None


def _rank(candidates: Candidates | None, token: int) -> int | None:
    """Return 1 for the largest logit; equal ones share a rank."""
    at = None if candidates is None else place_of(candidates, token)
    if candidates is None or at is None:
        return None
    return int((candidates.logits > candidates.logits[at]).sum()) + 1


def _p(drawing: StageOfApply | None, event: e.Apply) -> float | None:
    """Return the probability that a token had where it was chosen."""
    if drawing is not None and drawing.made.name == "greedy":
        return 1.0
    if drawing is not None and drawing.want is not None:
        at = place_of(drawing.want, event.token)
        return None if at is None else float(drawing.want.p[at])
    return event.p or None


def _draw(drawing: StageOfApply | None, rng: Mt19937 | None, token: int) -> RandomDraw | None:
    """Return the random number and the interval of a token; None if nothing was drawn."""
    want = None if drawing is None else drawing.want
    if drawing is None or drawing.made.name == "greedy" or rng is None or want is None:
        return None
    at = place_of(want, token)
    if at is None or len(want) < 2:
        return None
    weights = want.weights() if drawing.made.name == "dist" else want.p
    steps = weights.astype(np.float64).cumsum()
    if not steps[-1] > 0:
        return None
    low = float(steps[at - 1] / steps[-1]) if at else 0.0
    return RandomDraw(rng.uniform_double(), low, float(steps[at] / steps[-1]))


def _possible(candidates: Candidates) -> int:
    """Return how many tokens can be chosen: those above -inf."""
    return len(candidates) - int((candidates.logits == -np.inf).sum())


def _survivors(stages: Sequence[StageOfApply], applied: Applied) -> tuple[int | None, ...]:
    """Return how many tokens each stage left possible; of candidates that are not listed, all."""
    arrays = applied.event.stages
    first = len(stages) - len(arrays)  # those before the chain are no part of its event
    return tuple(
        _possible(stage.left)
        if stage.left is not None
        else arrays[i - first].n
        if arrays and len(arrays) == len(applied.stages)
        else None
        for i, stage in enumerate(stages)
    )


def _forced_by(n: int, survivors: Sequence[int | None], names: Sequence[str]) -> str:
    """Return the stage that left a single token, or ""."""
    for left, name in zip(survivors, names, strict=True):
        if left == 1:
            return name if n > 1 else ""
    return ""


def _removed_by(stages: Sequence[StageOfApply], favourite: int | None) -> str:
    """Return the stage that made the favourite impossible, or ""."""
    for stage in stages if favourite is not None else ():
        if stage.left is None:
            return ""
        at = place_of(stage.left, favourite or 0)
        if at is None or stage.left.logits[at] == -np.inf:
            return stage.made.name
    return ""


def _bits(p: float | None) -> float | None:
    return -math.log2(p) if p else None
