"""Rules on what a chain accepts, next to what the program decodes.

A step is judged when the chain draws again in the same text. Only then is it known that the token
was decoded: a program may draw again, take another token, or roll a draft back.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sampler_parity.programs.recording.decoded import Row
from sampler_parity.programs.recording.misuse import Breach
from sampler_parity.programs.recording.order import WITH_HISTORY, StageSpec, is_off

_TWICE, _DIFFERENT, _NEVER = 2, 3, 4  # steps that prove it
_PROMPT = 4  # tokens of a prompt; fewer may come again by chance


@dataclass
class _Step:
    """A draw. n: tokens that the chain had accepted by then. number: from 0."""

    token: int
    row: Row
    n: int
    number: int


@dataclass
class History:
    """What a chain accepted since its construction or reset. counts, firsts: judged steps and the
    first one, by kind. last: its newest draw of each text, by the identity of the text. crossed: by
    text, its draws behind one of another text."""

    tokens: list[int] = field(default_factory=list)
    steps: int = 0
    judged: int = 0
    by_members: bool = False
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    firsts: dict[str, int] = field(default_factory=dict)
    last: dict[int, _Step] = field(default_factory=dict)
    newest: _Step | None = None
    crossed: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def draw(self, token: int, row: Row, chain: Sequence[StageSpec]) -> Iterator[Breach]:
        """Take in a draw, and yield what the draw before it breaks."""
        active = [name for name, args in chain if name in WITH_HISTORY and not is_off(name, args)]
        earlier = self.last.get(id(row.text))
        if active and not self.by_members:
            yield from self._prompt(row, active)
            if earlier is not None:
                yield from self._judged(earlier, row)
        step = _Step(token, row, len(self.tokens), self.steps)
        self.last[id(row.text)] = self.newest = step
        self.steps += 1

    def _judged(self, earlier: _Step, row: Row) -> Iterator[Breach]:
        accepted = self.tokens[earlier.n :]
        decoded = row.since(earlier.row)
        if not decoded or decoded[0] != earlier.token:
            return
        if self.newest is not earlier:
            yield from self._crossed(row, decoded)
            return
        self.judged += 1
        kind = _kind(accepted, decoded)
        self.counts[kind] += 1
        first = self.firsts.setdefault(kind, earlier.number)
        proof = {"drawn": self.judged, "decoded": decoded, "accepted": accepted}
        if kind == "twice" and self.counts[kind] == _TWICE:
            yield Breach("accepted-twice", proof, first)
        if kind == "other" and self.counts[kind] >= max(_DIFFERENT, self.judged / 2):
            yield Breach("other-history", proof, first)
        if kind == "none":
            yield from self._gap()

    def _gap(self) -> Iterator[Breach]:
        """Yield a breach if drawn tokens are decoded and not accepted."""
        gaps = self.counts["none"]
        proof = {"decoded": self.judged, "accepted": self.judged - gaps}
        if gaps == self.judged == _NEVER:
            yield Breach("never-accepted", proof, self.firsts["none"])
        if gaps >= _DIFFERENT and gaps < self.judged:
            yield Breach("history-gaps", proof, self.firsts["none"])

    def _crossed(self, row: Row, decoded: list[int]) -> Iterator[Breach]:
        """Count a text that goes on behind the draw of another one in the same context."""
        if len(decoded) != 1 or not self.newest or self.newest.row.text.ctx != row.text.ctx:
            return
        self.crossed[id(row.text)] += 1
        often = [text for text, n in self.crossed.items() if n >= 2]
        if len(often) == 2:
            proof = {"sequences": len(self.last), "accepted": len(self.tokens)}
            yield Breach("shared-chain", proof)

    def _prompt(self, row: Row, active: list[str]) -> Iterator[Breach]:
        """Judge what was accepted since the last draw, if that is as long as a prompt."""
        new = len(self.tokens) - (self.newest.n if self.newest else 0)
        if not {"penalties", "dry"}.intersection(active):
            return
        if new >= _PROMPT and self._is_longer(row.text.tokens[: row.n]):
            yield Breach("prompt-twice", {"decoded": row.n, "accepted": len(self.tokens)})
        if self.steps == 1 and self.newest and self.newest.n == 0 and new and row.n > _PROMPT:
            yield Breach("prompt-not-accepted", {"decoded": row.n, "accepted": new})

    def _is_longer(self, text: list[int]) -> bool:
        """Return whether the history is the text, behind tokens of its beginning."""
        for part in (text, text[1:]):  # without the token that begins a text
            extra = len(self.tokens) - len(part)
            if extra >= _PROMPT and self.tokens == part[:extra] + part:
                return True
        return False


def _kind(accepted: list[int], decoded: list[int]) -> str:
    """Return how the accepted tokens relate to the decoded ones; "" if that proves nothing."""
    if not accepted:
        return "none"
    if len(decoded) != 1:
        return ""
    if accepted == decoded * 2:
        return "twice"
    return "other" if len(accepted) == 1 and accepted != decoded else ""
