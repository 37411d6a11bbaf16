"""The kinds of check: a row each, and a folder each with up to four files.

    block.py   how a block of a suite becomes items
    run.py     how an item is run: `judge` of a case, else `run` and `died`, or `measure`
    record.py  the record of a result
    view.py    how its record is shown

A kind whose record is that of a case needs neither of the last two. Modules are imported when they
are first used, so a start loads only the ones that it needs.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Profile = Literal["quick", "full"]


@dataclass(frozen=True)
class CheckKind:
    """A kind of check. seconds: estimate for an item on one backend, from quick runs on a busy
    two-core Xeon. called, noun: the name of its items in a plan, and during a run. record: `kind`
    of its record. timed: runs alone on this machine, after all judged items. each: every backend
    has a result of its own.
    """

    name: str
    seconds: float
    called: str
    noun: str = "cases"
    record: str = "case"
    timed: bool = False
    each: bool = False

    @property
    def run(self) -> Any:
        """Return its run.py."""
        return import_module(f"{__name__}.{self.name}.run")

    @property
    def runner(self) -> Any:
        """Return the module with `run` and `died` for its items."""
        return import_module(f"{__name__}.execute") if self.record == "case" else self.run

    @property
    def view(self) -> Any:
        """Return the view.py of its record."""
        shown = "stages" if self.record == "case" else self.name
        return import_module(f"{__name__}.{shown}.view")


_ROWS = (
    CheckKind("stages", 0.01, "stages"),
    CheckKind("draws", 0.01, "draws"),
    CheckKind("unseeded", 0.01, "unseeded"),
    CheckKind("kept", 0.01, "kept"),
    CheckKind("streams", 0.01, "streams"),
    CheckKind("logprobs", 0.01, "logprobs"),
    CheckKind("batch", 0.1, "batch"),
    CheckKind("rounds", 0.01, "rounds"),
    CheckKind("generation", 1.0, "generation"),
    CheckKind("sequences", 1.0, "sequences"),
    CheckKind("devices", 0.1, "on_device"),
    CheckKind("logits", 0.5, "logits", record="decode"),
    CheckKind("invariance", 10.0, "invariance", record="invariance"),
    CheckKind("accuracy", 0.1, "accuracy", "measurements", "accuracy"),
    CheckKind("distribution", 1.0, "distribution tests", "distribution tests", "distribution"),
    CheckKind("skip_ratio", 3.0, "skip ratios", "skip ratios", "skip_ratio", timed=True, each=True),
    CheckKind("timing", 0.2, "timed chains", "timed chains", "timing", timed=True),
    CheckKind("throughput", 7.0, "widths", "widths", "throughput", timed=True),
)
KINDS = {kind.name: kind for kind in _ROWS}
NOUNS = tuple(dict.fromkeys(kind.noun for kind in _ROWS))
_LEAVES = {kind.record: kind for kind in reversed(_ROWS)}


def kind_of_record(record: str) -> CheckKind:
    """Return the first kind with this record. Raises KeyError if no kind of suite item has it."""
    return _LEAVES[record]
