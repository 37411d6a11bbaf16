"""The texts that a program decodes: the tokens of each sequence of each context.

Most programs give no positions. A batch then goes on with the text of its sequence, unless the text
has a drawn token and the batch begins with another one.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sampler_parity.programs.recording import events as e


@dataclass
class Text:
    """A text. tokens: those decoded. last: those of its newest batch. before: the number of the one
    before. awaited: the token that was drawn last since. draws: the numbers of streams.py."""

    ctx: str
    tokens: list[int] = field(default_factory=list)
    batch: int = 0
    before: int = 0
    last: list[int] = field(default_factory=list)
    awaited: int | None = None
    draws: Any = None

    def ends_before(self, token: int, position: int | None) -> bool:
        """Return whether a batch that begins so is another text's."""
        return position == 0 if position is not None else self.awaited not in (None, token)


@dataclass(frozen=True)
class Row:
    """The end of a text, whose logits are sampled. n: its tokens. at: those of its batch."""

    text: Text
    batch: int
    n: int
    at: int

    def since(self, earlier: "Row") -> list[int] | None:
        """Return the tokens that were decoded since another row of the text; None if unknown. A
        draft that was refused is left out."""
        if self.batch == earlier.batch:
            return self.text.last[earlier.at : self.at]
        return self.text.last[: self.at] if self.text.before == earlier.batch else None


class _Batch(NamedTuple):
    """The newest batch of a context. rows: of each token, in its first sequence."""

    number: int
    rows: list[Row]
    out: list[int]


class DecodedTexts:
    """What was decoded so far, by context and sequence."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, int], Text] = {}
        self.batches: dict[str, _Batch] = {}
        self.of_thread: dict[int, str] = {}
        self.count = 0

    def follow(self, event: e.Decode) -> None:
        """Take in a batch, or a further part of it; one that failed changes nothing."""
        if event.result:
            return
        self.of_thread[event.th] = event.ctx
        if event.at == 0 or event.ctx not in self.batches:
            self.count += 1
            self.batches[event.ctx] = _Batch(self.count, [], [])
        batch = self.batches[event.ctx]
        batch.out.extend(event.out)
        for i, token in enumerate(event.tokens):
            seq = event.seq[i] if event.seq else 0
            position = event.pos[i] if event.pos else None
            sequences = seq if isinstance(seq, list) else [seq]
            rows = [self._take((event.ctx, s), batch.number, token, position) for s in sequences]
            batch.rows.append(rows[0])

    def _take(self, key: tuple[str, int], batch: int, token: int, position: int | None) -> Row:
        text = self.texts.get(key)
        if text is None or (text.batch != batch and text.ends_before(token, position)):
            text = self.texts[key] = Text(key[0])
        if text.batch != batch:
            text.before, text.batch, text.last, text.awaited = text.batch, batch, [], None
        if position is not None:  # the program removed what came after it
            del text.tokens[position:]
        text.tokens.append(token)
        text.last.append(token)
        return Row(text, batch, len(text.tokens), len(text.last))

    def remove(self, event: e.Removed) -> None:
        """Leave the texts that a program removes whole; what it decodes next begins others."""
        keys = [key for key in self.texts if key[0] == event.ctx and event.seq in (-1, key[1])]
        for key in keys:
            del self.texts[key]

    def row(self, event: e.Apply) -> Row | None:
        """Return the text whose logits an apply samples; None if that is not known."""
        ctx = event.ctx or self.of_thread.get(event.th)
        batch = self.batches.get(ctx or "")
        if batch is None:
            return None
        at = -1 if event.i is None else event.i
        if at < 0:
            at = batch.out[at] if -at <= len(batch.out) else -1
        return batch.rows[at] if 0 <= at < len(batch.rows) else None
