"""Find breaches of the rules of use (misuse.py) in the events of a process, next to its replay."""

from typing import Any

import numpy as np

from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording.decoded import DecodedTexts
from sampler_parity.programs.recording.histories import History
from sampler_parity.programs.recording.misuse import Misuse
from sampler_parity.programs.recording.order import behind_the_draw, without_effect
from sampler_parity.programs.recording.reader import Process
from sampler_parity.programs.recording.replay import (
    DRAWN_BY,
    NULL,
    Applied,
    ChainUse,
    RecordedSampler,
    ReplayedProcess,
)
from sampler_parity.programs.recording.streams import Streams
from sampler_parity.reference.registry import SELECTING

_BY_LLAMA_CPP = "(llama.cpp"  # a refusal of the reference that is llama.cpp's, too


class UsedProcess(ReplayedProcess):
    """A replayed process, and what it does with its samplers. members: a freed
    member, by the chain that is still there. null: what returned NULL last. misuses: the first
    breach of each rule by each use. aborts: texts of aborts outside of samplers."""

    def __init__(self, process: Process, target: str) -> None:
        super().__init__(process, target)
        self.texts, self.streams = DecodedTexts(), Streams()
        self.histories: dict[str, History] = {}
        self.members: dict[str, str] = {}
        self.null: e.Init | None = None
        self.in_python = False  # an engine frees by itself, members first
        self.misuses: list[tuple[ChainUse, Misuse]] = []
        self.aborts: list[str] = []

    def follow(self, event: e.Event) -> None:
        """Judge an event other than an apply, and follow it."""
        self._judge(event)
        super().follow(event)

    def apply(self, event: e.Apply, judged: bool = True) -> Applied:
        """Judge an apply by its stages and by the rules of use."""
        number = self._number(event)
        applied = super().apply(event, judged)
        if judged:
            self._drawn(applied, number)
        return applied

    def drop(self, event: e.Apply) -> int:
        """Count an apply without judging it, and forget what it was part of."""
        self._new(event.s)
        row = self.texts.row(event)
        if row is not None:
            row.text.draws = None
        return super().drop(event)

    def finish(self) -> None:
        """Judge the end of the process: one that crashes writes no event of its last call."""
        for chain in list(self.members):
            self._broken_by_member(chain)

    def _judge(self, event: e.Event) -> None:
        match event:
            case e.OfEngine():
                self.in_python = True
            case e.Decode():
                self.texts.follow(event)
            case e.Removed():
                self.texts.remove(event)
            case e.Init() if event.s == NULL:
                self.null = event
            case e.Init() | e.MadeChain():
                self._new(event.s)
            case e.Clone():
                self._new(event.s)
                self._cloned(event)
            case e.Add():
                self._added(event)
            case e.Free():
                self._broken_by_member(event.s)
                self._freed(event)
            case e.Reset() if event.d == 0:
                self._broken_by_member(event.s)
                self._new(event.s)
            case e.Accept():
                self._broken_by_member(event.s)
                self._accepted(event)
            case e.End() | e.Stopped():
                self.members.clear()  # leaked, and not used
            case e.Aborted():
                self._aborted(event)

    def _number(self, event: e.Apply) -> float | None:
        """Return the next random number of the stage that draws; None if it is not known."""
        rng = self.rng_of(event.s)
        return None if rng is None else rng.uniform_double()

    def _drawn(self, applied: Applied, before: float | None) -> None:
        """Judge an apply. before: the random number that was next before it."""
        event, use = applied.event, applied.use
        self._broken_by_member(event.s)
        recorded = self.samplers[event.s]
        if applied.step == 0:
            self._order(use, recorded)
        row = self.texts.row(event)
        if event.token < 0 or row is None:
            return
        chain = [(part.name, part.arguments) for part in recorded.parts]
        breaches = [*self._history(event.s).draw(event.token, row, chain)]
        if before is not None and self._number(event) not in (None, before) and _matters(applied):
            breaches += self.streams.draw(row, event.token, before, id(recorded), event.s)
        for rule, numbers, first in breaches:
            self._breach(use, applied.step if first is None else first, rule, numbers)
        row.text.awaited = event.token

    def refused(self, use: ChainUse, name: str, token: int, why: str, awaiting: bool) -> None:
        """Judge a token that the reference's grammar refuses and the program accepted. awaiting:
        whether the grammar waited for its trigger before."""
        if _BY_LLAMA_CPP not in why or not name.startswith("grammar"):
            return
        tokens = self._history(use.address).tokens
        twice = tokens[-2:] == [token, token] and use.steps > 0
        rule = "trigger-refused" if awaiting else "accepted-twice" if twice else "token-refused"
        self._breach(use, max(use.steps - 1, 0), rule, {"token": token, "accepted": len(tokens)})

    def _new(self, address: str) -> None:
        self.histories.pop(address, None)
        self.streams.forget(address)

    def _history(self, address: str) -> History:
        return self.histories.setdefault(address, History())

    def _cloned(self, event: e.Clone) -> None:
        self.histories[event.s] = History(list(self._history(event.origin).tokens))
        if event.d == 0:
            self.streams.clone(event.origin, event.s)

    def _added(self, event: e.Add) -> None:
        if event.s == NULL:
            proof: dict[str, Any] = {} if self.null is None else {"initializer": self.null.symbol}
            self._breach(self._use(event.c), None, "null-sampler", proof)

    def _freed(self, event: e.Free) -> None:
        recorded = self.samplers.get(event.s)
        if recorded is None or self.in_python:
            return
        for chain in self._chains_of(recorded) if event.d == 0 else []:
            self.members[chain.address] = recorded.name
        self._new(event.s)

    def _broken_by_member(self, address: str) -> None:
        member = self.members.pop(address, None)
        if member is not None:
            self._breach(self._use(address), None, "freed-member", {"member": member})

    def _accepted(self, event: e.Accept) -> None:
        self._history(event.s).tokens.append(event.token)
        recorded = self.samplers.get(event.s)
        if recorded is not None and recorded.members is None:
            for chain in self._chains_of(recorded):
                self._history(chain.address).by_members = True

    def _aborted(self, event: e.Aborted) -> None:
        recorded = self.samplers.get(event.s or "")
        if recorded is None:
            self.aborts.append(event.why)
            return
        use = self._use(recorded.address)
        use.aborted = event.why
        self._order(use, recorded)
        has_own = any(part.sampler is None for part in recorded.parts)
        selects = any(part.name in SELECTING for part in recorded.parts)
        if "selected" in event.why and not selects and not has_own:
            self._breach(use, None, "nothing-selects", {"stages": use.names})
        if not any(misuse.fails for misuse in use.misuses.values()):
            self._breach(use, None, "aborted", {})

    def _order(self, use: ChainUse, recorded: RecordedSampler) -> None:
        """Judge the order of a chain."""
        chain = [(part.name, part.arguments) for part in recorded.parts]
        names = [name for name, _ in chain]
        if behind := behind_the_draw(chain):
            proof = {"draws": names[behind[0]], "behind it": [names[i] for i in behind[1]]}
            self._breach(use, 0, "behind-the-draw", proof)
        for single, i in without_effect(chain):
            self._breach(use, 0, "no-effect", {"stage": names[i], "behind": names[single]})

    def _chains_of(self, recorded: RecordedSampler) -> list[RecordedSampler]:
        """Return the chains that have a sampler as a member."""
        chains = [chain for chain in self.samplers.values() if chain.members]
        return [chain for chain in chains if any(part is recorded for part in chain.parts)]

    def _use(self, address: str) -> ChainUse:
        return self.use_of(self.sampler_at(address))

    def _breach(self, use: ChainUse, step: int | None, rule: str, numbers: dict[str, Any]) -> None:
        """Keep the first breach of a rule by a use."""
        if rule not in use.misuses:
            use.misuses[rule] = Misuse(rule, step, numbers)
            self.misuses.append((use, use.misuses[rule]))


def _matters(applied: Applied) -> bool:
    """Return whether the stage that draws had several tokens to choose from."""
    drawing = [stage for stage in applied.stages if stage.recorded.name in DRAWN_BY]
    before = drawing[-1].before if drawing else None
    return before is not None and int((before.logits > -np.inf).sum()) > 1
