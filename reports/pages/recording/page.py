"""Writes the page of a recording: one file of HTML with its data as columns, and our script."""

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.recording.rows import Piece, StageRow, TokenRow
from sampler_parity.reports.writers.html import Markup, frame, script, script_digest

BEGIN = 30  # characters of a text in the list of texts
_REST = {"text", "life", "shown", "stages"}


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


def page(title: str, lines: Sequence[str], tokens: Iterable[TokenRow], most: int) -> str:
    """Return the page. lines: above the texts, the first one on privacy. most: tokens shown."""
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
