"""Judge a recording while it grows: `python live.py FOLDER ACCEPT`.

It runs at the lowest priority next to the recorded program, until its standard input has a byte or
ends. It only reads files, so the program never waits for it. It drops what is older than BEHIND_S:
it counts such an apply, and does not judge it. It prints a line where a stage of a chain first
differs, and a summary at the end.
"""

import os
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.differing import kind_of, words
from sampler_parity.harness.sanitize.printable import line
from sampler_parity.harness.verdicts import Accept, passing
from sampler_parity.programs.recording.check import result_of_stage
from sampler_parity.programs.recording.events import Apply, Event, Start
from sampler_parity.programs.recording.reader import GrowingEvents, Process
from sampler_parity.programs.recording.replay import Applied
from sampler_parity.programs.recording.rules import UsedProcess
from sampler_parity.programs.recording.target import target_of
from sampler_parity.reference.platforms import on

BEHIND_S = 10.0  # as soon as a person looks; the start of a process is recorded to the second
_PAUSE_S = 0.2


@dataclass
class FollowedProcess:
    """A process that still writes. begun: the time of its event 0, in seconds since 1970."""

    growing: GrowingEvents
    replay: UsedProcess
    begun: float


@dataclass
class LiveCheck:
    """What was judged so far of the processes of a folder. printed: the stages with a line."""

    folder: Path
    accept: Accept = "identical"
    behind_s: float = BEHIND_S
    followed: dict[str, FollowedProcess | None] = field(default_factory=dict)
    applies: int = 0
    dropped: int = 0
    stages: int = 0
    judged: int = 0
    differ: Counter[str] = field(default_factory=Counter)
    printed: set[tuple[str, int]] = field(default_factory=set)

    def new(self) -> Iterator[str]:
        """Judge what was written since the last time, and yield the lines to print."""
        for path in sorted(self.folder.glob("*.events")):
            try:
                if path.stem not in self.followed and not self._begin(path):
                    continue
                process = self.followed[path.stem]
                if process is not None:
                    yield from self._judged(process)
            except (InputError, OSError) as error:
                self.followed[path.stem] = None
                yield f"the checker leaves process {path.stem}: {error}"

    def _begin(self, path: Path) -> bool:
        """Follow a process as soon as it has named its libllama."""
        process = Process(self.folder, path.stem)
        first: list[Event] = [event for event, _ in zip(process.events(), range(2), strict=False)]
        if len(first) < 2 or not isinstance(first[0], Start):
            return False
        replay = UsedProcess(process, target_of(process, []))
        for event, is_own in replay.events():  # first of those that it was forked from
            if is_own:
                break
            replay.apply(event) if isinstance(event, Apply) else replay.follow(event)
        begun = first[0].time - first[0].t / 1000
        self.followed[path.stem] = FollowedProcess(GrowingEvents(path), replay, begun)
        return True

    def _judged(self, process: FollowedProcess) -> Iterator[str]:
        replay = process.replay
        with on(replay.platform), np.errstate(all="ignore"):
            for event in replay.with_graph(process.growing.new()):
                if not isinstance(event, Apply):
                    replay.follow(event)
                elif time.time() - process.begun - event.t / 1000 > self.behind_s:
                    self.stages += replay.drop(event)
                    self.dropped += 1
                else:
                    applied = replay.apply(event)
                    self.applies += 1
                    self.stages += len(applied.stages)
                    self.judged += sum(not stage.why for stage in applied.stages)
                    yield from self._differing(applied)
        yield from self._misused(replay)
        replay.uses.clear()  # of a program that runs for weeks

    def _misused(self, replay: UsedProcess) -> Iterator[str]:
        while replay.misuses:
            use, misuse = replay.misuses.pop(0)
            if misuse.fails:
                self.differ["use"] += 1
                yield f"MISUSED {use.id}: {misuse.text}"

    def _differing(self, applied: Applied) -> Iterator[str]:
        ok, use = passing(["identical"], self.accept), applied.use
        for i, stage in enumerate(applied.stages):
            if stage.difference is None or stage.difference.verdict in ok:
                continue
            result, name = result_of_stage(applied, i), stage.recorded.name
            self.differ[name] += 1
            if (use.id, i) not in self.printed:
                self.printed.add((use.id, i))
                what = words(kind_of(result), name, [result.model_copy(update={"step": 0})])
                position = f"token {applied.step + 1:,}, stage {i + 1} of {len(applied.stages)}"
                yield f"{result.verdict.upper()} {use.id} {position}: {name} {what}"

    def summary(self) -> str:
        """Return the last line."""
        differ = ", ".join(f"{count:,} of {name}" for name, count in self.differ.most_common())
        text = (
            f"checked {self.judged:,} of {self.stages:,} stages of {self.applies:,} applications: "
        )
        text += f"{differ} differ" if differ else "none differs"
        if not self.dropped:
            return text
        advice = f"`sampler-parity check {self.folder}` judges what is recorded of them"
        return f"{text}; {self.dropped:,} applications dropped: {advice}"


def main() -> None:
    folder, accept = sys.argv[1:]
    os.nice(19)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    live = LiveCheck(Path(folder), accept)  # type: ignore[arg-type]
    with suppress(OSError):  # `record` was killed
        os.write(1, b".")
    over = False
    while not over:
        over = bool(select.select([0], [], [], _PAUSE_S)[0])
        for text in live.new():
            _say(text)
    _say(live.summary())


def _say(text: str) -> None:
    with suppress(OSError):  # nobody reads it
        print(f"sampler-parity: {line(text)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
