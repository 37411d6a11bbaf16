"""Batches served wrongly in one way each: every chain is right, alone.

What is modelled on public engines: one generator for a batch, a greedy row that makes all greedy,
slots that keep what their last occupant left, indices from before a row moved, penalties of the
neighbour, parameters by place, the largest k of all rows. batch_places.py has those of places and
operations.
"""

from typing import Any

import numpy as np

from sampler_parity.harness.backends.reference import ReferenceInstance
from sampler_parity.harness.faults.batch_places import MUTANTS as OF_PLACES
from sampler_parity.harness.faults.batch_prompts import MUTANTS as OF_PROMPTS
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.sampling import accept
from sampler_parity.harness.protocol.serving import Occupant, Sample, Serving
from sampler_parity.reference.random import DEFAULT_SEED
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.logit_bias import LogitBias
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK


def of(row: Occupant, kind: type) -> list[Any]:
    """The samplers of a kind in a row's chain."""
    assert isinstance(row.instance, ReferenceInstance)
    return [sampler for sampler in row.instance.chain.samplers if isinstance(sampler, kind)]


class SeedOfTheOneBefore(Serving):
    """A row draws with the seed of the row that joined before it."""

    last: int | None = None

    def join(self, number: int) -> Occupant:
        row = super().join(number)
        for dist in of(row, Dist):
            seed, self.last = self.last, dist.seed
            if seed is not None:
                dist.rng.seed(seed)
        return row


class OneGenerator(Serving):
    """All rows draw from one generator."""

    rng: Any = None

    def join(self, number: int) -> Occupant:
        row = super().join(number)
        for dist in of(row, Dist):
            self.rng = dist.rng if self.rng is None else self.rng
            dist.rng = self.rng
        return row


class UnseededReseedsAll(Serving):
    """Beside a row without a seed no row keeps to its own."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        dists = [dist for row in self.live.rows for dist in of(row, Dist)]
        if any(dist.seed == DEFAULT_SEED for dist in dists):
            for i, dist in enumerate(dists):
                dist.rng.seed(i)
        return super().step(wanted)


class GreedyForAll(Serving):
    """Where one row is greedy, all select the likeliest token."""

    def sample(self, row: Occupant, logits: Any) -> Sample:
        greedy = any(of(other, Greedy) for other in self.live.rows)
        for dist in of(row, Dist) if greedy else []:
            dist.rng.uniform_double = lambda: 0.0
        return super().sample(row, logits)


class NeighboursToken(Serving):
    """Each row accepts what the next one selected."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        rows = [self.live.rows[one.at] for one in wanted]
        sampled = [
            self.sample(row, self.rows[one.row]) for row, one in zip(rows, wanted, strict=True)
        ]
        for i, one in enumerate(wanted):
            accept(rows[i].instance, one.accept, sampled[(i + 1) % len(wanted)][0])
        return sampled


class HistoryOfAll(Serving):
    """The penalties of a row count what every row selected."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        sampled = super().step(wanted)
        for i, (token, _) in enumerate(sampled):
            for j, one in enumerate(wanted):
                if i != j and token is not None:
                    self.live.rows[one.at].instance.accept(token)
        return sampled


class PromptOfTheFirst(Serving):
    """Only the row that joins first is given its prompt."""

    joined = 0

    def join(self, number: int) -> Occupant:
        row = super().join(number)
        self.joined += 1
        if self.joined > 1:
            row.instance.reset()
            for token in row.sequence.output:
                row.instance.accept(token)
        return row


class OutputForgotten(Serving):
    """A sequence that joins with an output is given its prompt alone."""

    def join(self, number: int) -> Occupant:
        row = super().join(number)
        row.instance.reset()
        for token in row.sequence.prompt:
            row.instance.accept(token)
        return row


class TemperatureOfTheFirst(Serving):
    """All rows have the temperature of the first that has one."""

    def sample(self, row: Occupant, logits: Any) -> Sample:
        first = next((t for other in self.live.rows for t in of(other, Temp)), None)
        own = [(temp, temp.temp) for temp in of(row, Temp)]
        for temp, _ in own:
            temp.temp = first.temp if first else temp.temp
        sampled = super().sample(row, logits)
        for temp, value in own:
            temp.temp = value
        return sampled


class LargestK(Serving):
    """All rows keep as many tokens as the one that keeps most."""

    def sample(self, row: Occupant, logits: Any) -> Sample:
        most = max((k.k for other in self.live.rows for k in of(other, TopK)), default=0)
        own = [(top_k, top_k.k) for top_k in of(row, TopK)]
        for top_k, _ in own:
            top_k.k = most
        sampled = super().sample(row, logits)
        for top_k, k in own:
            top_k.k = k
        return sampled


class ParametersByPlace(Serving):
    """k of top_k and p of min_p are those of the row that samples at the place across."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        rows = [self.live.rows[one.at] for one in wanted]
        given = [[[vars(s).copy() for s in of(row, kind)] for kind in (TopK, MinP)] for row in rows]

        def give(parameters: Any) -> None:
            for row, of_row in zip(rows, parameters, strict=True):
                for kind, values in zip((TopK, MinP), of_row, strict=True):
                    for sampler, value in zip(of(row, kind), values, strict=False):
                        vars(sampler).update(value)

        give(reversed(given))
        sampled = super().step(wanted)
        give(given)
        return sampled


class HistoriesFromTheFirst(Serving):
    """Histories are listed from the first row with a penalty on, but looked up from row 0."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        own = [of(self.live.rows[one.at], Penalties) for one in wanted]
        on = [any(s.penalty_repeat != 1 or s.penalty_freq for s in row) for row in own]
        histories = [[s.history for s in row] for row in own]
        listed = histories[on.index(True) :] if True in on else []
        for row, its in zip(own, listed, strict=False):
            for sampler, history in zip(row, its, strict=False):
                sampler.history = history.copy()
        sampled = [self.sample(self.live.rows[one.at], self.rows[one.row]) for one in wanted]
        for row, its in zip(own, histories, strict=True):
            for sampler, history in zip(row, its, strict=True):
                sampler.history = history
        for one, (token, _) in zip(wanted, sampled, strict=True):
            accept(self.live.rows[one.at].instance, one.accept, token)
        return sampled


class BiasOfTheNeighbour(Serving):
    """Tokens that one row bans are banned in every row."""

    def sample(self, row: Occupant, logits: Any) -> Sample:
        banned = logits.copy()
        for other in self.live.rows:
            for bias in of(other, LogitBias) if other is not row else []:
                for token, value in bias.logit_bias:
                    banned[token] = value if value == -np.inf else banned[token]
        return super().sample(row, banned)


class IdleRowsDraw(Serving):
    """A row that does not sample draws a number all the same."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        sampled = super().step(wanted)
        sampling = {one.at for one in wanted}
        for at, row in enumerate(self.live.rows):
            for dist in of(row, Dist) if at not in sampling else []:
                dist.rng.uniform_double()
        return sampled


class PaddingSampled(Serving):
    """A batch is filled up to a power of two with the first row, which samples again."""

    def step(self, wanted: list[p.Sampled]) -> list[Sample]:
        sampled = super().step(wanted)
        n = len(wanted)
        for _ in range((1 << (n - 1).bit_length()) - n if n else 0):
            for dist in of(self.live.rows[wanted[0].at], Dist):
                dist.rng.uniform_double()
        return sampled


class ChangesItsInput(Serving):
    """The token that was selected is masked in the row of logits itself."""

    def sample(self, row: Occupant, logits: Any) -> Sample:
        token, results = super().sample(row, logits)
        if token is not None:
            logits[token] = -np.inf
        return token, results


class TokensOf16Bits(Serving):
    """In a batch of several rows a token is returned in 16 bits."""

    def sample(self, row: Occupant, logits: Any) -> Sample:
        token, results = super().sample(row, logits)
        return (token & 0xFFFF if token and len(self.live.rows) > 1 else token), results


class RowAlone(Serving):
    """A batch of one row goes another way: it draws a number first."""

    def sample(self, row: Occupant, logits: Any) -> Sample:
        if len(self.live.rows) == 1:
            for dist in of(row, Dist):
                dist.rng.uniform_double()
        return super().sample(row, logits)


class GoesOnWhereItWas(Serving):
    """The same batch, asked again, goes on with the random numbers of the first time."""

    generators: dict[str, Any] = {}

    def join(self, number: int) -> Occupant:
        row = super().join(number)
        for i, dist in enumerate(of(row, Dist)):
            key = f"{self.request.steps}{number}/{i}/{len(self.live.rows)}"
            dist.rng = self.generators.setdefault(key, dist.rng)
        return row


_ROWS = "rows/sizes/V24-x5-s"
MUTANTS = [
    *OF_PLACES,
    *OF_PROMPTS,
    Mutant("batch/seed-of-the-one-before", SeedOfTheOneBefore, at="dist", case=_ROWS),
    Mutant("batch/one-generator", OneGenerator, at="dist", case=_ROWS),
    Mutant("batch/unseeded-reseeds-all", UnseededReseedsAll, at="dist", case=_ROWS),
    Mutant("batch/greedy-for-all", GreedyForAll, at="dist", case=_ROWS),
    Mutant("batch/neighbours-token", NeighboursToken, at="penalties", case=_ROWS),
    Mutant("batch/history-of-all", HistoryOfAll, at="penalties", case=_ROWS),
    Mutant("batch/prompt-of-the-first", PromptOfTheFirst, at="penalties", case=_ROWS),
    Mutant("batch/output-forgotten", OutputForgotten, at="penalties", case=_ROWS),
    Mutant("batch/temperature-of-the-first", TemperatureOfTheFirst, at="temp", case=_ROWS),
    Mutant("batch/largest-k", LargestK, at="top_k", case=_ROWS),
    Mutant(
        "batch/parameters-by-place",
        ParametersByPlace,
        "bug zoo 29, FI #5339",
        at="min_p",
        case="rows/values-min_p/",
    ),
    Mutant(
        "batch/histories-from-the-first",
        HistoriesFromTheFirst,
        "bug zoo 42, VL #5607",
        at="penalties",
        case="rows/values-penalties/",
    ),
    Mutant("batch/bias-of-the-neighbour", BiasOfTheNeighbour, at="penalties", case=_ROWS),
    Mutant("batch/idle-rows-draw", IdleRowsDraw, at="dist", case="rows/sizes/V24-x3-serving"),
    Mutant("batch/padding-sampled", PaddingSampled, at="dist", case=_ROWS),
    Mutant("batch/changes-its-input", ChangesItsInput, at="relation", case=_ROWS),
    Mutant("batch/tokens-of-16-bits", TokensOf16Bits, at="token", case="rows/large"),
    Mutant("batch/row-alone", RowAlone, at="dist", case="rows/sizes/V24-x1-"),
    Mutant("batch/goes-on-where-it-was", GoesOnWhereItWas, at="relation", case=_ROWS),
]
