"""The kinds of check: a row each, and a folder each with up to four files.

    block.py   how a block of a suite becomes items
    run.py     how an item is run: `judge` of a case, else `run` and `died`, or `measure`
    record.py  the record that it leaves
    view.py    how its record is shown

What leaves the record of a case is shown as one, and needs neither of the last two. Nothing is
imported until it is asked for: a start takes what it needs.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Profile = Literal["quick", "full"]


@dataclass(frozen=True)
class Kind:
    """seconds: of an item on one backend, for estimates: a guess from the footers of quick runs on
    a busy two-core Xeon. called, noun: its items in a plan, and while a run goes. record: `kind` of
    the record that it leaves. timed: alone on this machine, after all that is judged. each: every
    backend has a result of its own."""

    name: str
    seconds: float
    called: str
    noun: str = "cases"
    record: str = "case"
    timed: bool = False
    each: bool = False

    @property
    def run(self) -> Any:
        """Its run.py."""
        return import_module(f"{__name__}.{self.name}.run")

    @property
    def runner(self) -> Any:
        """What has `run` and `died` for its items."""
        return import_module(f"{__name__}.execute") if self.record == "case" else self.run

    @property
    def view(self) -> Any:
        """The view.py of its record."""
        shown = "stages" if self.record == "case" else self.name
        return import_module(f"{__name__}.{shown}.view")


_ROWS = (
    Kind("stages", 0.01, "stages"),
    Kind("draws", 0.01, "draws"),
    Kind("unseeded", 0.01, "unseeded"),
    Kind("kept", 0.01, "kept"),
    Kind("streams", 0.01, "streams"),
    Kind("batch", 0.1, "batch"),
    Kind("generation", 1.0, "generation"),
    Kind("sequences", 1.0, "sequences"),
    Kind("devices", 0.1, "on_device"),
    Kind("logits", 0.5, "logits", record="decode"),
    Kind("invariance", 10.0, "invariance", record="invariance"),
    Kind("distribution", 1.0, "distribution tests", "distribution tests", "distribution"),
    Kind("skip_ratio", 3.0, "skip ratios", "skip ratios", "skip_ratio", timed=True, each=True),
    Kind("timing", 0.2, "timed chains", "timed chains", "timing", timed=True),
    Kind("throughput", 7.0, "widths", "widths", "throughput", timed=True),
)
KINDS = {kind.name: kind for kind in _ROWS}
NOUNS = tuple(dict.fromkeys(kind.noun for kind in _ROWS))
_LEAVES = {kind.record: kind for kind in reversed(_ROWS)}


def kind_of_record(record: str) -> Kind:
    """The first kind that leaves such a record. Raises KeyError for what no suite asks for."""
    return _LEAVES[record]
