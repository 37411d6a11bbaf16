"""The moment in which a chain selected a token, and what it selects with parts of another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.programs.recording import masks
from sampler_parity.programs.recording.replay import UNREPORTED, StageOfApply
from sampler_parity.programs.recording.tokens import RecordedToken, place_of
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError
from sampler_parity.reference.platforms import on

Key = tuple[str, int]  # a stage: its name, and its number among those of that name
SEEDS = ("seed", "random_seed")
_SIZES = {"penalty_last_n", "dry_penalty_last_n"}  # of a memory, that fits no other
_MEMORY = {"history", "window", "counts"}  # what a stage with other parameters can take over
_NO_SETTINGS = {"vocab", "model", "n_vocab", *SEEDS}


class Undecided(Exception):  # noqa: N818 - an ordinary outcome
    """No replay decides: the text has the reason."""


@dataclass(frozen=True)
class Moment:
    """A chain that selects a token. name: A or B. read: the tokens that the model had read; None if
    they are not recorded."""

    name: str
    token: RecordedToken
    read: list[int] | None

    @cached_property
    def stages(self) -> dict[Key, StageOfApply]:
        names, stages = self.token.names, self.token.stages
        return {(name, names[:i].count(name)): stages[i] for i, name in enumerate(names)}

    @property
    def chain(self) -> list[tuple[Key, "Moment"]]:
        return [(key, self) for key in self.stages]

    @property
    def row(self) -> Candidates:
        """Its logits. Raises Undecided if they are not recorded."""
        for stage in self.token.stages[:1]:
            if stage.before is not None:
                return stage.before
        why = "; ".join(stage.why for stage in self.token.stages[:1])
        raise Undecided(f"{self.name} has no logits there: {why}")

    def name_of(self, token: int | None) -> str:
        return "no token" if token is None else self.token.name_of(token)

    def parameters(self, key: Key) -> dict[str, Any]:
        """Return the parameters of a stage, without seeds."""
        arguments = self.stages[key].recorded.arguments
        return {name: value for name, value in arguments.items() if name not in _NO_SETTINGS}


class _AsRecorded:
    """A stage that the reference does not compute: it removes and shifts as it did."""

    def __init__(self, stage: StageOfApply) -> None:
        if stage.before is None or stage.after is None:
            why = stage.why or "its candidates are not listed (--detail stages lists all)"
            raise Undecided(f"{stage.recorded.name} cannot be replayed: {why}")
        self.before, self.after = stage.before, stage.after

    def apply(self, cand: Candidates) -> None:
        cand.keep(_places(self.after, cand.ids) >= 0)
        places = _places(self.after, cand.ids)
        then, now = self.before.logits[_places(self.before, cand.ids)], self.after.logits[places]
        cand.logits = np.where(cand.logits == then, now, cand.logits + (now - then))
        cand.keep(np.lexsort((places, -cand.logits)) if self.after.sorted else np.argsort(places))
        cand.sorted = self.after.sorted
        _select(cand, self.after.token)


def _places(cand: Candidates, ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the positions of tokens; -1 for one that is no candidate."""
    table = np.full(1 + max(cand.ids.max(initial=0), ids.max(initial=0)), -1)
    table[cand.ids] = np.arange(len(cand))
    return table[ids]


def _select(cand: Candidates, token: int | None) -> None:
    at = None if token is None else place_of(cand, token)
    cand.selected = -1 if at is None else at


def selected(
    stages: Sequence[tuple[Key, Moment]], stream: Moment, history: Moment, logits: Moment
) -> int | None:
    """Return the token that stages of moments select; None if they select none. history: the state
    of the stages, but for random numbers. Raises Undecided."""
    cand, is_mask = logits.row.copy(), logits.token.applied.event.after.sorted is None
    n = len(cand)
    try:
        with on(logits.token.replayed.platform), np.errstate(all="ignore"):
            for key, owner in stages:
                cand = masks.given(cand, key[0], n) if is_mask else cand
                drawing = stream.stages.get(key)
                forced = drawing is not None and draws_otherwise(drawing)
                if drawing and drawing.before and forced and not _same(cand, drawing.before):
                    raise Undecided(f"{stream.name}'s {key[0]} draws by numbers of its own")
                _sampler(key, owner, drawing, history).apply(cand)
                if drawing and drawing.after and forced:
                    _select(cand, drawing.after.token)
                cand = masks.survivors(cand) if is_mask else cand
            return cand.token
    except (ChainError, UndefinedInputError) as error:
        raise Undecided(str(error)) from None


def _sampler(key: Key, owner: Moment, drawing: StageOfApply | None, history: Moment) -> Any:
    """Return a stage of a moment, with a history, and the random numbers of a stage."""
    stage = owner.stages[key]
    if is_own(stage) or stage.why == UNREPORTED:
        return _AsRecorded(drawing if drawing and stage.why == UNREPORTED else stage)
    sampler = _remembering(key, owner, history)
    if drawing is not None and drawing.earlier is not None:
        origin = today(drawing.earlier.clone())
        for name in vars(origin).keys() & {"rng", *SEEDS}:
            setattr(today(sampler), name, getattr(origin, name))
    return sampler


def _remembering(key: Key, owner: Moment, history: Moment) -> Any:
    """Return a sampler of a moment with the memory of another, unless their sizes differ."""
    sampler: Any = owner.stages[key].earlier
    sampler = sampler.clone()
    state: Any = history.stages[key].earlier if key in history.stages else None
    if type(state) is not type(sampler):
        return sampler
    state, parameters, past_parameters = (
        state.clone(),
        owner.parameters(key),
        history.parameters(key),
    )
    differing = {name for name, value in parameters.items() if value != past_parameters.get(name)}
    for name in vars(state).keys() & _MEMORY if not differing & _SIZES else ():
        setattr(sampler, name, getattr(state, name))
    return sampler if differing else state


def today(sampler: Any) -> Any:
    """Return the sampler that has the state: an older release's wraps one."""
    return getattr(sampler, "today", sampler)


def draws_otherwise(stage: StageOfApply) -> bool:
    """Return whether the program's stage only selects, and not as the reference does, if that knows
    the stage."""
    want = stage.before if stage.earlier is None else stage.want
    if (stage.earlier and not stage.difference) or want is None or stage.after is None:
        return False
    selects = want.token != stage.after.token is not None
    return selects and _same(want, stage.after)


def _same(a: Candidates, b: Candidates) -> bool:
    """Return whether the same tokens survive, with the same logits."""
    a, b = masks.survivors(a), masks.survivors(b)
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.logits, b.logits)


def is_own(stage: StageOfApply) -> bool:
    """Return whether the reference does not compute what the program's stage left."""
    unlike = stage.difference is not None and not draws_otherwise(stage)
    return unlike or (stage.earlier is None and stage.why != UNREPORTED)


def first_other(a: Sequence[object] | None, b: Sequence[object] | None) -> int | None:
    """Return the index of the first different token, or of the end of one text; None if they are
    equal, or one is not recorded."""
    if a is None or b is None or a == b:
        return None
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))
