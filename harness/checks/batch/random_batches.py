"""Random batches of rows whose state depends on the order of tokens: `random_batches`.

Each place of a batch has a kind of chain. A sequence that takes a place has this kind, with other
parameters than the one before it: a state that is left behind is one that it can use. Rows are
replaced, reset and cloned. They also verify drafts: a clone accepts drafted tokens and leaves, then
its original goes on with those that were right. A mixed block has filters, and forks that stay.
Its sequences join again, or have the chain of another one in another order and one parameter anew,
the past of another one, or its seed but for a bit.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from sampler_parity.harness.checks import random_block as random
from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.grid import fill
from sampler_parity.harness.checks.random_block import REMEMBERING, Draw, Parameters, RandomBlock
from sampler_parity.harness.checks.stages.own_random import RANDOM
from sampler_parity.harness.sanitize import limits
from sampler_parity.reference.registry import ROWS

Kind = tuple[str, ...]  # samplers with a state, the last of which draws

_DRAWING: dict[str, Parameters] = {
    "dist": {},
    "mirostat": {"tau": [0.5, 2.0, 3.0], "eta": [0.1, 1.0], "m": [2, 100]},
    "mirostat_v2": {"tau": [0.5, 2.0, 3.0], "eta": [0.1, 1.0]},
    "adaptive_p": {"target": [0.1, 0.3, 0.6], "decay": [0.5, 0.9, 0.99]},
}
_BETWEEN: dict[str, Parameters] = {"temp": {"temp": [0.6, 1.5]}, "top_k": {"k": [4, 9]}}
_BREAKERS: Parameters = {"seq_breakers": [[], ["\x01"], ["\x02", "\x03"]]}  # a token each
_PARAMETERS = REMEMBERING | random.FILTERS | _DRAWING | {"greedy": {}}
_FILTERS = random.FILTERS | {  # of a sampler that is new: its smallest parameters
    name: {parameter: [value] for parameter, value in row.smallest.items()}
    for name, row in ROWS.items()
    if row.edges is not None and not row.vocab and name not in _PARAMETERS
}
_ALL = _PARAMETERS | _FILTERS
_WORDS: list[Kind] = [(), (*random.GRAMMARS,), *((name,) for name in random.FIRST[1:])]
_RESTARTS = "adaptive_p"  # its clone begins its random numbers anew (findings 4)
_MEMORIES: list[Kind] = [(), ("penalties",), ("dry",), ("penalties", "dry")]
_EVENTS = ["stay"] * 20 + ["replace"] * 4 + ["reset", "copy", "verify", "verify"]
MOST_ROWS = 8  # of a block that is not wide
_MANY_ROWS = [n for n in random.LADDER if 32 <= n <= 257]  # of a wide block, at times
_BITS = [0, 0, 1 << 0, 1 << 8, 1 << 16, 1 << 31]  # by which two seeds differ
_SPARE = 3  # more rows of logits than live rows, so that the next step gives a row another one


class RandomBatches(RandomBlock):
    """Random batches of 2 to 8 rows; wide: 9 to 64, or up to 257."""

    steps: Annotated[int, Field(ge=1, le=limits.STAGES)]
    """number of steps; each row that verifies drafts adds some"""
    alone: int | None = Field(default=None, ge=0)
    """how many of the rows are also run on their own; null: all"""
    mixed: bool = False
    """chains of any filters, which may be off, and greedy; forks that stay, rows that only leave"""
    wide: bool = False
    """9 to 64 rows, or up to 257; if mixed, of the same samplers in any order, more filters"""
    deep: bool = False
    """counts among the parameters and lengths of histories on a ladder up to 1,025"""

    vocab: str | None = None
    """name of a vocabulary; dry then has sequence breakers, and a mixed block grammars"""

    def case(self, i: int, about: dict[str, Any], seed: int) -> BatchCase:
        draw, drawing = Draw(seed, i), [*_DRAWING] + ["greedy", "temp"] * self.mixed
        n = draw.one_of(self.sizes)
        rows = draw.number(9, 64) if self.wide else draw.number(2, MOST_ROWS)
        if self.wide and not draw.number(0, 2):
            rows = draw.one_of(_MANY_ROWS)
        kinds = [(*draw.one_of(_MEMORIES), draw.one_of(drawing)) for _ in range(rows)]
        if self.mixed:
            words = [draw.one_of(_WORDS if self.vocab else [()]) for _ in range(2)]
            kinds = [_filtered(draw, kind, 5 if self.wide else 3, words) for kind in kinds]
            for at in range(1, rows):
                if self.wide or not draw.number(0, 2):
                    kinds[at] = _ordered(draw, kinds[at - 1])
        writer = _BatchWriter(draw, n, kinds, self, most=max(MOST_ROWS, rows + 1))
        for _ in range(self.steps):
            writer.go_on()
        batch = {"sequences": writer.sequences, "steps": writer.steps, "alone": self.alone}
        logits = {"families": self.families, "n": n, "seed": seed + i}
        dtype = draw.one_of(["float32"] * 3 + ["float16", "bfloat16"] * self.mixed)
        return BatchCase.model_validate(
            about | {"logits": logits, "batch": batch, "vocab": self.vocab, "dtype": dtype}
        )


def _filtered(draw: Draw, kind: Kind, most: int, words: list[Kind]) -> Kind:
    """Return the stages with 1 to `most` filters among them, one of them twice at times."""
    filters = draw.rng.permutation(list(_FILTERS))[: draw.number(1, most)].tolist()
    repeated = [] if draw.number(0, 3) else filters[:1]
    return _ordered(draw, (*draw.one_of(words), *filters, *repeated, *kind))


def _ordered(draw: Draw, kind: Kind) -> Kind:
    """Return the stages in any order; biases and grammars come first, the last stays last."""
    return (*draw.ordered(kind[:-1]), kind[-1])


@dataclass
class _BatchWriter:
    """A script being written. kinds: of each place. most: rows that clones may make."""

    draw: Draw
    n_vocab: int
    kinds: list[Kind]
    block: RandomBatches
    most: int
    seeds: list[int] = field(default_factory=list)
    sequences: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    written: int = 0

    @property
    def mixed(self) -> bool:
        return self.block.mixed

    @property
    def given(self) -> int:
        """The number of tokens that a prompt, a draft or a step may give."""
        return random.CONTROL_TOKENS if self.block.vocab and self.mixed else self.n_vocab

    def go_on(self) -> None:
        """Write a step in which some rows sample, and those of the drafts before it."""
        last = len(self.kinds)
        before = [] if self.steps else [self._join(at) for at in range(last)]
        for at, kind in enumerate(self.kinds if self.steps else []):
            event = self.draw.one_of(_EVENTS)
            behind = ["swap", at, last - 1]
            if event == "replace":
                before += [behind, ["leave", last - 1], self._join(at), behind]
            elif event == "copy" and kind[-1] != _RESTARTS:
                before += [["clone", at], ["swap", at, last], ["leave", last]]
            elif event == "reset":
                before.append(["reset", at])
            elif event == "verify":
                before = self._verify(before, at)
        if self.mixed and self.steps:
            before += self._fork_or_leave()
            before += self._move()
            last = len(self.kinds)
        least = 1 - self.mixed  # of a mixed block a step may be idle
        sampling = self.draw.rng.permutation(last)[: self.draw.number(least, last)]
        self._step(before, sampling.tolist())

    def _verify(self, before: list[Any], at: int) -> list[Any]:
        """Write the steps of 3 to 8 drafts of a row, and return what is left to be done."""
        draft, clone = self.draw.tokens(3, 8, self.given), len(self.kinds)
        if self.kinds[at][-1] != _RESTARTS:
            before = [*before, ["clone", at]]
            for token in draft:
                self._step(before, [clone], token)
                before = []
            before = [["leave", clone]]
        for token in draft[: self.draw.number(0, len(draft))]:
            self._step(before, [at], token)
            before = []
        return before

    def _fork_or_leave(self) -> list[Any]:
        """Return a clone that stays as a row of its own, one or all that leave, or nothing."""
        at, rows = self.draw.number(0, len(self.kinds) - 1), len(self.kinds)
        if self.draw.number(0, 2) and self.kinds[at][-1] != _RESTARTS and rows < self.most:
            self.kinds.append(self.kinds[at])
            return [["clone", at]]
        if self.draw.number(0, 1) and rows > 1:
            del self.kinds[at]
            return [["leave", at]]
        if not self.draw.number(0, 3):
            return [["leave", 0]] * rows + [self._join(at) for at in range(rows)]
        return []

    def _move(self) -> list[Any]:
        """Return operations that few scripts have: in the same step, twice, or with itself."""
        rows = len(self.kinds)
        at, second, what = (self.draw.number(0, most) for most in (rows - 1, rows - 1, 9))
        kind, cloned = self.kinds[at], self.kinds[at][-1] != _RESTARTS
        if what == 0:
            self.kinds[at], self.kinds[second] = self.kinds[second], self.kinds[at]
            return [["swap", at, second]]
        if what == 1:
            return [["reset", at]] * 2
        if what == 2:
            return [self._join(at), ["leave", rows]]
        if what == 3:
            self.kinds.append(self.kinds.pop(at))
            return [["leave", at], self._join(rows - 1)]
        if what == 4 and cloned:  # a clone of a row that has not sampled takes its place
            self.kinds[at] = kind
            return [self._join(at), ["clone", rows], ["swap", at, rows + 1], *[["leave", rows]] * 2]
        if what == 5 and cloned:  # a clone of a clone takes the place of both
            return [["clone", at], ["clone", rows], ["swap", at, rows + 1], *[["leave", rows]] * 2]
        if what == 6:
            return [["swap", at, at]]
        return []

    def _step(self, before: list[Any], places: list[int], accept: int | None = None) -> None:
        sample, quiet = [], self.mixed and not self.draw.number(0, 15)
        for at in places:
            accepts = ["selected"] * 18 + [None, self.draw.number(0, self.given - 1)]
            accepts = [None] if quiet else accepts
            taken = self.draw.one_of(accepts) if accept is None else accept
            self.written += 1
            # two of three rows share a row of logits, as forks of a sequence do
            row = (self.written - self.written % 3 // 2) % (len(self.kinds) + _SPARE)
            sample.append({"at": at, "row": row, "accept": taken})
        self.steps.append({"before": before, "sample": sample})

    def _join(self, at: int) -> list[Any]:
        draw, kind, like = self.draw, self.kinds[at], self.draw.number(0, len(self.sequences))
        chains = [{k: v for stage in s["chain"] for k, v in stage.items()} for s in self.sequences]
        matches = [i for i, chain in enumerate(chains) if chain.keys() == {*kind}]
        if self.mixed and matches and not draw.number(0, 3):
            return ["join", draw.one_of(matches)]
        if matches and draw.number(0, 3) > (0 if self.mixed or self.block.vocab else 2):
            words = [name for name in kind if name in random.GRAMMARS] * 2
            varied, like = draw.one_of([*kind, kind[-1], *words]), draw.one_of(matches)
            chain = [{name: chains[like][name]} for name in kind]
            for stage in (stage for stage in chain if varied in stage):
                new = self._stage(varied)[varied]
                key = draw.one_of(["", *sorted(new)])
                stage[varied] = stage[varied] | {k: v for k, v in new.items() if k == key}
        else:
            chain = [self._stage(name) for name in kind]
        if not self.mixed and draw.number(0, 1):
            name = draw.one_of(list(_BETWEEN))
            chain.insert(draw.number(0, len(kind) - 1), draw.stage(name, _BETWEEN[name]))
        self.sequences.append({"chain": chain} | self._past(self.sequences[like : like + 1]))
        return ["join", len(self.sequences) - 1]

    def _past(self, like: list[dict[str, Any]]) -> dict[str, list[int]]:
        """Return a prompt and an output, at times those of `like`, or nearly so."""
        draw = self.draw
        if self.mixed and like and draw.number(0, 1):
            prompt, both = like[0]["prompt"], like[0]["prompt"] + like[0]["output"]
            border = draw.one_of([len(prompt), len(prompt), 0, len(both), len(both) // 2])
            changed = [both, both, both[1:], both[:-1], both[::-1], [*both[:-1], *both[:1]]]
            tokens = draw.one_of(changed)
            return {"prompt": tokens[:border], "output": tokens[border:]}

        def some() -> list[int]:
            if not draw.number(0, 3):
                return []
            return (
                draw.past(self.given, draw.number(0, 99))
                if self.block.deep
                else draw.tokens(0, 12, self.given)
            )

        return {"prompt": some(), "output": some()}

    def _stage(self, name: str) -> dict[str, dict[str, Any]]:
        draw, deep = self.draw, self.block.deep
        values = (_ALL | random.GRAMMARS | {"infill": {}})[name]
        edges = ROWS[name].edges or {}
        if self.mixed and not draw.number(0, 2):
            values = values | {key: edges[key] for key in values if key in edges}
        values = values | ({"seed": [self._seed()]} if name in RANDOM else {})
        values = values | (_BREAKERS if name == "dry" and self.block.vocab else {})
        return fill(draw.stage(name, values, deep), {}, self.n_vocab)  # type: ignore[no-any-return]

    def _seed(self) -> int:
        """Return a seed of 32 bits: any, an earlier one, or one that differs from it in a bit."""
        seed = self.draw.number(0, (1 << 32) - 2)
        if self.mixed and not self.draw.number(0, 2):
            seed = self.draw.one_of([0, *self.seeds]) ^ self.draw.one_of(_BITS)
        self.seeds.append(min(seed, (1 << 32) - 2))
        return self.seeds[-1]
