"""The texts of a recording, token by token: its probability, its draw, and what each stage left.

A text is the use of a chain from its construction or a reset to the next (replay.ChainUse). Tokens
are yielded one by one, and nothing here keeps their candidates.
"""

import codecs
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording import replay
from sampler_parity.programs.recording.reader import Process, Recording
from sampler_parity.programs.recording.replay import Applied, StageOfApply
from sampler_parity.programs.recording.rules import UsedProcess
from sampler_parity.programs.recording.target import target_of
from sampler_parity.programs.recording.vocabularies import pieces_of
from sampler_parity.reference import Candidates
from sampler_parity.reference.platforms import on
from sampler_parity.reference.random import Mt19937


@dataclass(frozen=True)
class RandomDraw:
    """The random number that chose a token, and the token's part of the line from 0 to 1, where the
    survivors stand side by side in the order of the sampler. u is in it, at its end included."""

    u: float
    low: float
    high: float


@dataclass(frozen=True)
class RecordedToken:
    """A token that a chain selected. Numbers begin at 1; positions in the text at 0.

    text, index: the number of its text, and its own there. life: the text's name in `check`. piece:
    its bytes; None with --no-text. at, shown: where it begins in the text, and the characters that
    it completes there: none for the first half of a character. accepted: False if the program drew
    again instead, so that the token is no part of the text.

    p: the probability that the chain gave it (1 for greedy), or the recorded one. model_p,
    model_rank, entropy: its probability and rank by the model's logits, before every stage, and
    their entropy in bits. favourite: the likeliest token there. rank: its rank among the last
    survivors. All are None if the candidates are not there.

    before: how many tokens were possible (above -inf) at first. survivors: after each stage.
    forced_by: the stage that left a single one, or "". favourite_removed_by: the stage that removed
    the favourite, or "". verdicts: of each stage, or "not judged". stages: of a grammar that was
    applied before the chain, then the chain's. They have all candidates: do not keep them.
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
    pieces: list[bytes] = field(repr=False)
    replayed: UsedProcess = field(repr=False)

    @property
    def surprisal(self) -> float | None:
        """-log2 of p, in bits."""
        return -math.log2(self.p) if self.p else None

    @property
    def differs_from_greedy(self) -> bool:
        return self.favourite is not None and self.favourite != self.token

    def name_of(self, token: int) -> str:
        """Return a token of its vocabulary, quoted: `" blue"`, or `token 17` without a text."""
        if token >= len(self.pieces):
            return f"token {token}"
        try:
            return json.dumps(self.pieces[token].decode(), ensure_ascii=False)
        except UnicodeDecodeError:
            return ascii(self.pieces[token])


def tokens_of(
    recording: Recording,
    reference: str | None = None,
    judged: bool = True,
    misuses: list[str] | None = None,
) -> Iterator[RecordedToken]:
    """Yield every token that a recording's chains selected. reference: release and platform; None:
    the recorded release. judged: False leaves all but the texts out, and is quick. misuses: gets a
    line for each, behind the tokens of its process. Raises InputError for a damaged recording."""
    numbers, texts = count(1), count(1)
    for process in recording.processes:
        tokens = _Tokens(process, reference or target_of(process, []), judged, numbers, texts)
        yield from tokens.run()
        if misuses is not None:
            misuses += [f"{use.id}: {misuse.text}" for use, misuse in tokens.replayed.misuses]


class _Text:
    """A text as far as it was read."""

    def __init__(self, number: int) -> None:
        self.number, self.n, self.length = number, 0, 0
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, piece: bytes | None, accepted: bool) -> tuple[int | None, str]:
        """Return where a piece begins, and the characters that it completes."""
        self.n, at = self.n + 1, self.length
        if piece is None:
            return None, ""
        characters = self.decoder.decode(piece) if accepted else piece.decode(errors="replace")
        self.length += len(characters) if accepted else 0
        return at, characters


class _Tokens:
    """The tokens of a process. waiting: by thread, what was applied to the row before the chain.
    vocabularies: their addresses, by context. pieces: by file."""

    def __init__(self, process: Process, target: str, judged: bool, *numbers: Iterator[int]):
        self.process, self.judged, self.numbers = process, judged, numbers
        self.replayed = UsedProcess(process, target)
        self.left_out = left_out(process)
        self.texts: dict[str, _Text] = {}
        self.waiting: dict[int, list[Applied]] = defaultdict(list)
        self.vocabularies: dict[str, str] = {}
        self.pieces: dict[str, list[bytes]] = {}

    def run(self) -> Iterator[RecordedToken]:
        with on(self.replayed.platform), np.errstate(all="ignore"):
            for event, is_own in self.replayed.events():
                if isinstance(event, e.OfContext):
                    self.vocabularies[event.ctx] = event.m
                if not isinstance(event, e.Apply):
                    self.replayed.follow(event)
                    continue
                rng = self.replayed.rng_of(event.s)  # before the replay below draws from it
                waiting, row = self.waiting[event.th], (event.ctx, event.i, event.before.n)
                # A chain goes on with a grammar's result only on the same row of the same size.
                if waiting and row != (waiting[-1].event.ctx, waiting[-1].event.i,
                                       waiting[-1].event.after.n):  # fmt: skip
                    waiting.clear()
                applied = self.replayed.apply(event, self.judged)
                for stage in waiting[-1].stages[-1:] if waiting else []:
                    if stage.after is None:  # of a grammar engine that is not known
                        stage.after = applied.before
                waiting.append(applied)
                if event.token >= 0:
                    stages = [stage for earlier in waiting for stage in earlier.stages]
                    waiting.clear()
                    if is_own:
                        yield self._token(applied, stages, rng)
            self.replayed.finish()

    def _token(
        self, applied: Applied, stages: Sequence[StageOfApply], rng: Mt19937 | None
    ) -> RecordedToken:
        event, use_id = applied.event, applied.use.id
        if use_id not in self.texts:
            self.texts[use_id] = _Text(next(self.numbers[1]))
        text, pieces, accepted = (
            self.texts[use_id],
            self._pieces(event),
            event.q not in self.left_out,
        )
        piece = pieces[event.token] if pieces else None
        at, characters = text.add(piece, accepted)
        before = stages[0].before if stages else applied.before
        model_p, model_rank, entropy, favourite = _of_model(before, event.token)
        drawing = next(
            (s for s in reversed(stages) if s.recorded.name in {*replay.DRAWN_BY, "greedy"}), None
        )
        n = event.before.n if before is None else possible(before)
        listed = {array.s: array.n for array in event.stages}
        survivors = tuple(
            listed.get(s.recorded.address) if s.after is None else possible(s.after) for s in stages
        )
        names = tuple(stage.recorded.name for stage in stages)
        forced = (name for name, n_left in zip(names, survivors, strict=True) if n_left == 1 < n)
        return RecordedToken(
            number=next(self.numbers[0]), text=text.number, index=text.n,
            process=self.process.name, life=use_id, token=event.token, piece=piece, at=at,
            shown=characters, accepted=accepted, p=_p(drawing, event), model_p=model_p,
            model_rank=model_rank, entropy=entropy, favourite=favourite,
            rank=_rank(stages[-1].after, event.token) if stages else None,
            draw=_draw(drawing, rng, event.token), names=names,
            verdicts=tuple(verdict_of(stage) for stage in stages), before=n, survivors=survivors,
            forced_by=next(forced, ""), favourite_removed_by=_removed_by(stages, favourite),
            applied=applied, stages=tuple(stages), pieces=pieces, replayed=self.replayed,
        )  # fmt: skip

    def _pieces(self, event: e.Apply) -> list[bytes]:
        """Return the bytes of all tokens; none if the vocabulary is not there."""
        models = self.replayed.models
        model = models.get(self.vocabularies.get(event.ctx or "", ""))
        if model is None:  # its context was not seen; it matters only if vocabularies differ
            fits = [candidate for candidate in models.values() if candidate.n_vocab > event.token]
            model = fits[-1] if len({candidate.digest for candidate in fits}) == 1 else None
        if model is None or not model.file:
            return []
        if model.file not in self.pieces:
            self.pieces[model.file] = pieces_of(self.process.folder, model)
        if event.token >= len(self.pieces[model.file]):
            raise InputError(self.process.folder / model.file, f"has no token {event.token}")
        return self.pieces[model.file]


def left_out(process: Process) -> set[int]:
    """Return the numbers of those applies whose token the program did not take: it accepted
    another, or none before it went on. A chain that never accepts takes all."""
    selected: dict[str, e.Apply] = {}
    accepting: set[str] = set()
    refused: dict[str, list[int]] = defaultdict(list)
    for event in process.events():
        if isinstance(event, e.Apply | e.Accept | e.Free | e.Reset):
            last = selected.pop(event.s, None)
            if isinstance(event, e.Accept):
                accepting.add(event.s)
            if last and not (isinstance(event, e.Accept) and event.token == last.token):
                refused[event.s].append(last.q)
            if isinstance(event, e.Apply) and event.token >= 0:
                selected[event.s] = event
    return {q for address in accepting for q in refused[address]}


def verdict_of(stage: StageOfApply) -> str:
    """Return how a stage of the program relates to the reference's."""
    judged = stage.difference.verdict if stage.difference else "identical"
    return "not judged" if stage.why else judged


def softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probabilities of logits, in float64."""
    weights = np.exp(logits.astype(np.float64) - logits.max(initial=-np.inf))
    return np.asarray(weights / weights.sum())


def place_of(candidates: Candidates | None, token: int) -> int | None:
    """Return the position of a token; None if it is no candidate."""
    if candidates is None:
        return None
    places = np.flatnonzero(candidates.ids == token)
    return int(places[0]) if len(places) else None


def possible(candidates: Candidates) -> int:
    """Return how many tokens can be chosen: those above -inf."""
    return len(candidates) - int((candidates.logits == -np.inf).sum())


def _of_model(
    before: Candidates | None, token: int
) -> tuple[float | None, int | None, float | None, int | None]:
    """Return a token's probability and rank, the entropy, and the likeliest token."""
    at = place_of(before, token)
    if before is None or at is None or not np.isfinite(before.logits.max()):
        return None, None, None, None
    p = softmax(before.logits)
    bits = float(-(p[p > 0] * np.log2(p[p > 0])).sum())
    return float(p[at]), _rank(before, token), bits, int(before.ids[before.logits.argmax()])


def _rank(candidates: Candidates | None, token: int) -> int | None:
    """Return 1 for the largest logit; equal ones share a rank."""
    at = place_of(candidates, token)
    if candidates is None or at is None:
        return None
    return int((candidates.logits > candidates.logits[at]).sum()) + 1


def _p(drawing: StageOfApply | None, event: e.Apply) -> float | None:
    """Return the probability that a token had where it was chosen."""
    if event.q == replay.IN_GRAPH:
        return event.p or None
    if drawing is not None and drawing.recorded.name == "greedy":
        return 1.0
    if drawing is None or drawing.want is None:
        return event.p or None
    at = place_of(drawing.want, event.token)
    return None if at is None else float(drawing.want.p[at])


def _draw(drawing: StageOfApply | None, rng: Mt19937 | None, token: int) -> RandomDraw | None:
    """Return the random number and the interval of a token; None if nothing was drawn."""
    want = None if drawing is None or drawing.recorded.name == "greedy" else drawing.want
    at = place_of(want, token)
    if drawing is None or rng is None or want is None or at is None or len(want) < 2:
        return None
    weights = want.weights() if drawing.recorded.name == "dist" else want.p
    steps = weights.astype(np.float64).cumsum()
    low = float(steps[at - 1] / steps[-1]) if at else 0.0
    return RandomDraw(rng.uniform_double(), low, float(steps[at] / steps[-1]))


def _removed_by(stages: Sequence[StageOfApply], favourite: int | None) -> str:
    """Return the stage that made the favourite impossible, or ""."""
    for stage in stages:
        if favourite is None or stage.after is None:
            break
        at = place_of(stage.after, favourite)
        if at is None or stage.after.logits[at] == -np.inf:
            return stage.recorded.name
    return ""
