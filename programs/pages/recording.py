"""The page of a recording: the texts, and each token with its stages.

It is one file of HTML with its data as columns, and our script. Candidates are read token by token
and not kept.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, need
from sampler_parity.harness.sanitize.printable import cut, visible
from sampler_parity.programs.recording.info import changed, info_of
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.target import target_of
from sampler_parity.programs.recording.tokens import (
    RecordedToken,
    place_of,
    softmax,
    tokens_of,
    verdict_of,
)
from sampler_parity.reference import Candidates
from sampler_parity.reference.random import DEFAULT_SEED
from sampler_parity.reports.write import write_texts
from sampler_parity.reports.writers.html import Markup, frame, script, script_digest

TOKENS_SHOWN = 20_000  # tokens of a page; a browser shows 10,000 in a second
TOP = 8  # candidates before the chain that a token lists
FIRST = 3  # tokens that a stage lists of those that it removed or changed
PRIVATE = "This page contains what the model wrote. Share it only as you would share that text."
IDS = "This page has the numbers of the tokens that the model wrote: with the model they are text."
_HIDDEN = frozenset({"vocab", "model", "n_vocab", "wholes"})  # addresses, and sizes
_SAME = (
    *("number", "text", "life", "accepted", "p", "before", "model_p", "model_rank", "entropy"),
    *("forced_by", "favourite_removed_by", "differs_from_greedy"),
)
BEGIN = 30  # characters of a text in the list of texts
_REST = {"text", "life", "shown", "stages"}


class Piece(NamedTuple):
    """A token. text: fit to be shown; None with --no-text."""

    id: int
    text: str | None


@dataclass(frozen=True)
class StageRow:
    """A stage of a token, and the candidates after it; None if they are not known.

    mass: the probability that the model gave the survivors. logit, p: the token's; None if it was
    removed. removed: the first tokens with their logits. changes: how many logits it changed.
    changed: the first tokens with their logits before and after.
    """

    name: str
    parameters: str = ""
    n: int | None = None
    mass: float | None = None
    logit: float | None = None
    p: float | None = None
    verdict: str = "identical"
    removed: tuple[tuple[Piece, float], ...] = ()
    changes: int = 0
    changed: tuple[tuple[Piece, float, float], ...] = ()


@dataclass(frozen=True)
class TokenRow:
    """A sampled token. text: the number of its text; life: the text's name in `check`. shown: the
    characters that it completes, None for its piece.

    before, logit, model_rank, model_p, entropy (bits): among the candidates before the chain.
    forced_by, favourite_removed_by: a stage, or "". best: the survivor with the largest logit.
    draw: the random number, and the interval of the token. top: the largest candidates before the
    chain: logit, p, and the stage that removed it, -1 for none.
    """

    number: int
    piece: Piece
    text: int = 1
    life: str = ""
    shown: str | None = None
    accepted: bool = True
    p: float | None = None
    before: int | None = None
    model_rank: int | None = None
    logit: float | None = None
    model_p: float | None = None
    entropy: float | None = None
    differs_from_greedy: bool = False
    forced_by: str = ""
    favourite_removed_by: str = ""
    best: Piece | None = None
    draw: tuple[float, float, float] | None = None
    top: tuple[tuple[Piece, float, float, int], ...] = ()
    stages: tuple[StageRow, ...] = ()


_Logits = NDArray[np.float32]  # by token; -inf for one that is no candidate


def lines_of(folder: Path) -> list[str]:
    """Return the first lines of the page. Raises InputError for files that were changed."""
    recording, info = Recording(folder), info_of(folder)
    for name in changed(folder, info) if info is not None and info.files else []:
        raise InputError(folder / name, "has changed since it was recorded")
    notes: list[str] = []
    targets = sorted({target_of(process, notes) for process in recording.processes})
    texts = any(process.start.text for process in recording.processes)
    return [
        PRIVATE if texts else IDS,
        f"Stages are judged by the reference of llama.cpp {', '.join(targets)}.",
        *(f"Note: {note}." for note in notes),
    ]


def rows_of(folder: Path, lines: list[str]) -> Iterator[TokenRow]:
    """Yield the tokens of a recording in turn. lines: gets one for each misuse, behind the tokens
    of its process. Raises InputError."""
    return map(_row, tokens_of(Recording(folder), misuses=lines))


def _row(token: RecordedToken) -> TokenRow:
    first = token.stages[0].before if token.stages else token.applied.before
    last = token.stages[-1].after if token.stages else None
    draw = token.draw
    states = _states([first, *(stage.after for stage in token.stages)])
    model = states[0]
    model_p = np.zeros(0) if model is None else softmax(model)
    return TokenRow(
        **{name: getattr(token, name) for name in _SAME},
        piece=_piece(token, token.token),
        shown=None if token.piece is None else visible(token.shown),
        logit=None if model is None else _logit(model, token.token),
        best=None if not last else _piece(token, int(last.ids[last.logits.argmax()])),
        draw=None if draw is None else (draw.u, draw.low, draw.high),
        top=tuple(_top(token, states, model_p)),
        stages=tuple(_stages(token, states, model_p)),
    )


def _piece(token: RecordedToken, token_id: int) -> Piece:
    """Return a token of the same vocabulary."""
    has_text = token_id < len(token.pieces)
    text = token.pieces[token_id].decode(errors="backslashreplace") if has_text else None
    return Piece(token_id, visible(text))


def _states(lists: list[Candidates | None]) -> list[_Logits | None]:
    """Return logits by token, of the candidates before the chain and after each stage. Without the
    first nothing is known; where a stage changed nothing the array is the same object."""
    size = 1 + max(
        (int(listed.ids.max(initial=-1)) for listed in lists if listed is not None), default=-1
    )
    states: list[_Logits | None] = []
    before: Candidates | None = None
    for candidates in lists:
        if before is not None and candidates is not None and _same(before, candidates):
            states.append(states[-1])
        elif candidates is None or not lists[0]:
            states.append(None)
        else:
            states.append(np.full(size, -np.inf, np.float32))
            states[-1][candidates.ids] = candidates.logits  # type: ignore[index]
        before = candidates
    return states


def _same(before: Candidates, after: Candidates) -> bool:
    return np.array_equal(before.ids, after.ids) and np.array_equal(before.logits, after.logits)


def _logit(logits: _Logits, token: int) -> float | None:
    """Return a token's logit; None if it cannot be chosen."""
    return float(logits[token]) if token < len(logits) and logits[token] > -np.inf else None


def _largest(logits: _Logits, which: NDArray[np.bool_], most: int) -> list[int]:
    """Return those tokens of a mask that have the largest logits."""
    tokens = np.flatnonzero(which)
    if len(tokens) > most:
        tokens = tokens[np.argpartition(logits[tokens], -most)[-most:]]
    return [int(token) for token in tokens[np.argsort(-logits[tokens], kind="stable")]]


def _stages(
    token: RecordedToken, states: list[_Logits | None], model_p: NDArray[np.float64]
) -> Iterator[StageRow]:
    before, p, mass = states[0], 0.0, 1.0
    for stage, n, after in zip(token.stages, token.survivors, states[1:], strict=True):
        more = stage.why or (stage.difference.what if stage.difference else "")
        verdict = verdict_of(stage) + (f": {visible(cut(more, 120))}" if more else "")
        row = StageRow(
            stage.recorded.name, parameters(stage.recorded.arguments), n, verdict=verdict
        )
        logit = None if after is None else _logit(after, token.token)
        if stage.after is not None and after is not None and (after is not before or not p):
            alive, was = after > -np.inf, after if before is None else before
            gone, moved = (was > -np.inf) & ~alive, alive & (was != after)
            removed, changed = _largest(was, gone, FIRST), _largest(was, moved, FIRST)
            mass = float(model_p[stage.after.ids[stage.after.logits > -np.inf]].sum())
            p = float(softmax(stage.after.logits)[place_of(stage.after, token.token) or 0])
            row = replace(
                row,
                removed=tuple((_piece(token, i), float(was[i])) for i in removed),
                changes=int(moved.sum()),
                changed=tuple((_piece(token, i), float(was[i]), float(after[i])) for i in changed),
            )
        before = after
        yield replace(
            row, mass=None if after is None else mass, logit=logit, p=None if logit is None else p
        )


def _top(
    token: RecordedToken, states: list[_Logits | None], model_p: NDArray[np.float64]
) -> Iterator[tuple[Piece, float, float, int]]:
    """Yield the largest candidates before the chain, with the stage that removed each."""
    model, *lefts = states
    if model is None:
        return
    for token_id in _largest(model, model > -np.inf, TOP):
        gone = (
            i for i, state in enumerate(lefts) if state is not None and state[token_id] == -np.inf
        )
        yield (
            _piece(token, token_id),
            float(model[token_id]),
            float(model_p[token_id]),
            next(gone, -1),
        )


def parameters(arguments: dict[str, Any]) -> str:
    """Return what a sampler was constructed with; long values are cut."""
    values = arguments | ({"seed": "random"} if arguments.get("seed") == DEFAULT_SEED else {})
    return ", ".join(f"{k}={_value(v)}" for k, v in values.items() if k not in _HIDDEN)


def _value(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        return f"{len(value):,} values"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return str(visible(cut(" ".join(text.split()), 60)))


class RecordingColumns:
    """The data of the page, as its script reads it: pieces, chains and verdicts stand once."""

    def __init__(self) -> None:
        self.pieces: dict[Piece, int] = {}
        self.chains: dict[tuple[tuple[str, str], ...], int] = {}
        self.verdicts = {"identical": 0}
        self.texts: dict[int, dict[str, Any]] = {}

    def add(self, token: TokenRow) -> None:
        """Add a token to its text."""
        empty = {"title": token.life, "begin": "", "shown": {}, "columns": {}}
        text = self.texts.setdefault(token.text, empty)
        if token.shown is not None and token.shown != token.piece.text:
            text["shown"][len(text["columns"].get("piece", ()))] = token.shown
        for name, value in self._row(token).items():
            text["columns"].setdefault(name, []).append(value)
        if len(text["begin"]) < BEGIN:
            more = token.piece.text if token.shown is None else token.shown
            text["begin"] = (text["begin"] + " ".join(f"-{more or ''}-".split())[1:-1])[:BEGIN]

    def json(self) -> str:
        """Return the data. No character of it ends a script."""
        data = {
            "ids": [piece.id for piece in self.pieces],
            "texts_of_pieces": [piece.text for piece in self.pieces],
            "chains": list(self.chains),
            "verdicts": list(self.verdicts),
            "texts": list(self.texts.values()),
        }
        written = json.dumps(data, separators=(",", ":"), allow_nan=False)
        return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def _row(self, token: TokenRow) -> dict[str, Any]:
        row = {k: self._short(v) for k, v in vars(token).items() if k not in _REST}
        before = StageRow("", "", token.before, 1, token.logit, token.model_p)
        chain = tuple((stage.name, stage.parameters) for stage in token.stages)
        row["chain"] = self.chains.setdefault(chain, len(self.chains))
        row["survivors"] = (token.stages or [before])[-1].n
        pairs = zip((before, *token.stages), token.stages, strict=False)
        row["stages"] = [self._stage(*pair) for pair in pairs]
        return row

    def _stage(self, before: StageRow, stage: StageRow) -> int | list[Any]:
        """Return a stage; of one that changed nothing only the verdict."""
        verdict = self.verdicts.setdefault(stage.verdict, len(self.verdicts))
        old, new = ([self._short(x) for x in (s.n, s.mass, s.logit, s.p)] for s in (before, stage))
        if old == new and not stage.changes:
            return verdict
        lists = self._short(stage.removed), self._short(stage.changed)
        return [*new, verdict, stage.changes, *lists]

    def _short(self, value: Any) -> Any:
        """Return a value as the page has it: the number of a piece, five digits, a flat list."""
        match value:
            case Piece():
                return self.pieces.setdefault(value, len(self.pieces))
            case tuple():
                rows = [row if isinstance(row, tuple) else (row,) for row in value]
                return [self._short(item) for row in rows for item in row]
            case float():
                return float(f"{value:.5g}") if math.isfinite(value) else str(value)
            case _:
                return value


def recording_page(title: str, lines: Sequence[str], tokens: Iterable[TokenRow], most: int) -> str:
    """Return the page. lines: above the texts, the first one on privacy; the tokens may add to
    them. most: tokens shown."""
    columns, n = RecordingColumns(), 0
    for n, token in enumerate(tokens, 1):
        if n > most:
            break
        columns.add(token)
    lines = [*lines, *([f"Only the first {most:,} tokens are shown."] if n > most else [])]
    head = [f"<h1>{_text(title)}</h1>", f'<p class="state fair">{_text(lines[0])}</p>']
    return frame("recording.html.j2").render(
        title=visible(title),
        head=Markup("\n".join([*head, *(f"<p>{_text(line)}</p>" for line in lines[1:])])),
        data=Markup(columns.json()),
        script=script("recording.js"),
        script_digest=script_digest("recording.js"),
    )


def _text(text: str) -> str:
    return escape(visible(text))


def write_recording(recording: Path, folder: Path) -> list[Path]:
    """Write the page of a recording. Raises InputError for a damaged recording, and for a folder
    that cannot be written."""
    need("report", "HTML")
    title = f"Recording: {recording.resolve().name}"
    lines = lines_of(recording)
    text = recording_page(title, lines, rows_of(recording, lines), TOKENS_SHOWN)
    return write_texts(folder, {"recording.html": text})
