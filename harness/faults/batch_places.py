"""Batches whose rows are mixed up: by their places, and by what is done to them."""

from typing import Any

from sampler_parity.harness.backends.reference import ReferenceInstance
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.sampling import accept
from sampler_parity.harness.protocol.serving import Occupant, Sample, Serving


def states(row: Occupant, name: str) -> list[Any]:
    """The samplers of a row that have such a state: rng, history."""
    assert isinstance(row.instance, ReferenceInstance)
    return [sampler for sampler in row.instance.chain.samplers if hasattr(sampler, name)]


def exchange(a: Occupant, b: Occupant, name: str) -> None:
    for one, other in zip(states(a, name), states(b, name), strict=False):
        mine, its = getattr(one, name), getattr(other, name)
        setattr(one, name, its)
        setattr(other, name, mine)


class _Places(Serving):
    """live: rows whose operations are done by `do` of this class, one at a time."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        right, serving = self.live, self

        class Wrong(Live[Occupant]):
            def do(self, operations: Any) -> None:
                for operation in operations:
                    serving.do(operation)

        self.live = Wrong(right.join, right.clone, right.reset, right.rows)

    def do(self, operation: p.Operation) -> None:
        Live.do(self.live, [operation])


class SlotKeepsHistory(_Places):
    """Who joins after somebody left has its history, too."""

    left: Occupant | None = None

    def do(self, operation: p.Operation) -> None:
        if operation[0] == "leave":
            self.left = self.live.rows[operation[1]]
        super().do(operation)
        if operation[0] == "join" and self.left is not None:
            for mine, its in zip(
                states(self.live.rows[-1], "history"), states(self.left, "history"), strict=False
            ):
                for token in its.history:
                    mine.history.append(token)


class SlotKeepsGenerator(_Places):
    """Who joins after somebody left goes on with its random numbers."""

    left: Occupant | None = None

    def do(self, operation: p.Operation) -> None:
        if operation[0] == "leave":
            self.left = self.live.rows[operation[1]]
        super().do(operation)
        if operation[0] == "join" and self.left is not None:
            exchange(self.live.rows[-1], self.left, "rng")
            self.left = None


class PlacesOfBefore(_Places):
    """In a step in which a row left, rows are looked up where they stood before."""

    before: list[Occupant] | None = None

    def do(self, operation: p.Operation) -> None:
        if operation[0] == "leave":
            self.before = self.live.rows.copy()
        super().do(operation)

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        now, stale = self.live.rows, self.before
        self.before = None
        if stale is not None and len(stale) >= len(now):
            self.live.rows = stale
        sampled = super().step(wanted)
        self.live.rows = now
        return sampled


class LeaveTakesTheLast(_Places):
    """Whoever leaves, the last row is taken out."""

    def do(self, operation: p.Operation) -> None:
        last = len(self.live.rows) - 1
        super().do(("leave", last) if operation[0] == "leave" else operation)


class _SwapLeaves(_Places):
    """state: what rows that change places leave where they were."""

    state: str

    def do(self, operation: p.Operation) -> None:
        super().do(operation)
        if operation[0] == "swap":
            exchange(self.live.rows[operation[1]], self.live.rows[operation[2]], self.state)


class SwapLeavesGenerators(_SwapLeaves):
    """Rows that change places leave their random numbers where they were."""

    state = "rng"


class SwapLeavesHistories(_SwapLeaves):
    """Rows that change places leave their histories where they were."""

    state = "history"


class _CloneShares(Serving):
    """state: what a clone has in common with its original."""

    state: str

    def clone(self, row: Occupant) -> Occupant:
        twin = super().clone(row)
        for mine, its in zip(states(twin, self.state), states(row, self.state), strict=True):
            setattr(mine, self.state, getattr(its, self.state))
        return twin


class CloneSharesGenerator(_CloneShares):
    """A clone draws from the generator of its original."""

    state = "rng"


class CloneSharesHistory(_CloneShares):
    """A clone has the history of its original, and each adds to it."""

    state = "history"


class CloneBeginsAnew(_Places):
    """A clone is the sequence as it joined."""

    def do(self, operation: p.Operation) -> None:
        super().do(operation)
        if operation[0] == "clone":
            number = self.request.sequences.index(self.live.rows[-1].sequence)
            self.live.rows[-1] = self.join(number)


class ResetsTheLast(_Places):
    """Whichever row is to be reset, the last one is."""

    def do(self, operation: p.Operation) -> None:
        last = len(self.live.rows) - 1
        super().do(("reset", last) if operation[0] == "reset" else operation)


class ResetsAll(_Places):
    """Where one row is reset, all are."""

    def do(self, operation: p.Operation) -> None:
        for at in range(len(self.live.rows)) if operation[0] == "reset" else ():
            super().do(("reset", at))
        if operation[0] != "reset":
            super().do(operation)


class OddPlaces(Serving):
    """At odd places a number is drawn before."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        for one in wanted:
            for sampler in states(self.live.rows[one.at], "rng") if one.at % 2 else []:
                sampler.rng.uniform_double()
        return super().step(wanted)


class LastReadsTheOneBefore(Serving):
    """The last of several rows that sample reads the logits of the one before it."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        if len(wanted) > 1:
            last = wanted[-1].model_copy(update={"row": wanted[-2].row})
            wanted = [*wanted[:-1], last]
        return super().step(wanted)


class ByPlace(Serving):
    """Tokens are returned in the order of the places, not as rows were named."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        sampled = super().step(wanted)
        ordered = sorted(range(len(wanted)), key=lambda i: wanted[i].at)
        return [(sampled[j][0], sampled[i][1]) for i, j in enumerate(ordered)]


class From32On(Serving):
    """From place 32 on a row accepts what the row 32 places before it selects."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        rows = [self.live.rows[one.at] for one in wanted]
        sampled = [
            self.sample(row, self.rows[one.row]) for row, one in zip(rows, wanted, strict=True)
        ]
        of_place = {one.at: token for one, (token, _) in zip(wanted, sampled, strict=True)}
        for row, one in zip(rows, wanted, strict=True):
            accept(row.instance, one.accept, of_place.get(one.at % 32, of_place[one.at]))
        return sampled


_SIZES, _SLOTS = "rows/sizes/V24-x", "rows/moves/V24-x5-slots"
_CLONES = "rows/moves/V24-x8-clones"
MUTANTS = [
    Mutant("batch/slot-keeps-history", SlotKeepsHistory, at="penalties", case=_SLOTS),
    Mutant("batch/slot-keeps-generator", SlotKeepsGenerator, at="dist", case=_SLOTS),
    Mutant("batch/places-of-before", PlacesOfBefore, at="penalties", case=_SLOTS),
    Mutant("batch/leave-takes-the-last", LeaveTakesTheLast, at="penalties", case=_SLOTS),
    Mutant("batch/swap-leaves-generators", SwapLeavesGenerators, at="dist", case="rows/moves"),
    Mutant("batch/swap-leaves-histories", SwapLeavesHistories, at="penalties", case="rows/moves"),
    Mutant("batch/clone-shares-generator", CloneSharesGenerator, at="dist", case=_CLONES),
    Mutant("batch/clone-shares-history", CloneSharesHistory, at="penalties", case=_CLONES),
    Mutant("batch/clone-begins-anew", CloneBeginsAnew, at="penalties", case=_CLONES),
    Mutant("batch/resets-the-last", ResetsTheLast, at="dist", case=f"{_SIZES}8-serving"),
    Mutant("batch/resets-all", ResetsAll, at="dist", case=f"{_SIZES}17-serving"),
    Mutant("batch/odd-places", OddPlaces, at="dist", case="rows/sizes/V24-x5-s"),
    Mutant(
        "batch/last-reads-the-one-before",
        LastReadsTheOneBefore,
        at="dist",
        case=f"{_SIZES}5-steady",
    ),
    Mutant("batch/by-place", ByPlace, at="token", case="rows/sizes/V24-x5-serving"),
    Mutant("batch/from-32-on", From32On, at="penalties", case="rows/sizes/V24-x64-steady"),
]
