"""The possible rounds of speculative sampling, and their distribution.

The tokens of a round that accepts x_0 ... x_(j-1) and then takes y have the probability

    accepted_0(x_0) ... accepted_(j-1)(x_(j-1)) * replaced_j(y)

accepted and replaced are those of reference/speculative/rules.py; each row depends on the tokens
before it. After a whole draft y has the target's distribution."""

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.reference_speculative import looks_at_history
from sampler_parity.harness.checks.distribution import exact
from sampler_parity.harness.checks.distribution.block import Speculative
from sampler_parity.harness.checks.distribution.speculative_stages import Stage, cause_of
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.client_serving import speculative
from sampler_parity.harness.protocol.interface import Backend, Rounds
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.statistics import tv
from sampler_parity.reference.speculative.chance import Row
from sampler_parity.reference.speculative.rules import RULES, split_of

MOST_OUTCOMES = 20_000
Tokens = tuple[int, ...]


def prepared(cell: Speculative) -> Prepared:
    """Prepare a cell, with a row of the target for each position."""
    base = prepare(cell.case())
    return Prepared(**vars(base) | {"rows": _rows(cell.logits, cell.drafted + 1)})


def _rows(logits: Any, count: int) -> list[Any]:
    return [logits.row(i) for i in range(count)]


@dataclass(frozen=True)
class Models:
    """The rows of target and draft, by the tokens drafted so far. Raises Unsupported for a chain
    that acts at random before it draws, or a draft that looks at the history."""

    cell: Speculative
    prepared: Prepared

    def __post_init__(self) -> None:
        for chain in self.cell.chain, self.cell.draft_chain, self.cell.stated or self.cell.chain:
            if not exact.filters_once(chain):
                raise Unsupported("rounds: only the last stage of a chain may be random")
        if looks_at_history([*self.cell.draft_chain, *self.cell.stated]):
            raise Unsupported("the draft's chain looks at the history")

    @cached_property
    def _cache(self) -> dict[Any, Row]:
        return {}

    def target(self, past: Tokens) -> Row:
        key = past if looks_at_history(self.cell.chain) else (len(past),)
        if key not in self._cache:
            history = [*self.cell.history, *past]
            case = self.prepared.case.model_copy(update={"history": history})
            row = self.prepared.rows[len(past)]
            self._cache[key] = exact.exact(
                Prepared(**vars(self.prepared) | {"case": case, "rows": [row]})
            )
        row_of: Row = self._cache[key]
        return row_of

    @cached_property
    def draft(self) -> NDArray[np.float32]:
        """The draft's rows, float32[drafted, n_vocab]: the drafts follow them."""
        return self._rows_of(self.cell.draft_chain)

    @cached_property
    def stated(self) -> NDArray[np.float32]:
        """The rows that the backend gets as those of the drafts."""
        return self._rows_of(self.cell.stated) if self.cell.stated else self.draft

    def _rows_of(self, chain: ChainSpec) -> NDArray[np.float32]:
        base = prepare(self.cell.case().model_copy(update={"chain": chain}))
        rows = _rows(self.cell.draft, self.cell.drafted)
        exact_rows = [exact.exact(Prepared(**vars(base) | {"rows": [row]})) for row in rows]
        return np.array(exact_rows, np.float32)

    def drafted_from(self, i: int) -> Row:
        return _normed(self.draft[i])

    def split(self, i: int, p: Row) -> tuple[Row, Row]:
        """Return the parts of a position's distribution from accepted drafts and replacements."""
        rule, drawn = RULES[self.cell.rule], self.drafted_from(i)
        if not self.cell.stated:
            return rule.split(p, drawn)
        return split_of(rule, p, _normed(self.stated[i]), drawn)

    def of_stage(self, stage: Stage) -> dict[Hashable, float]:
        """Return the correct distribution of a round at a stage: its values with their
        probabilities."""
        name, tokens = stage
        kind, _, position = name.partition(" ")
        if kind == "bonus":
            return dict(enumerate(self.target(tokens)))
        if kind == "draft":
            return dict(enumerate(self.drafted_from(int(position))))
        *before, token = tokens
        p, q = self.target(tuple(before)), _normed(self.stated[int(position)])
        accepted, replaced = RULES[self.cell.rule].given(p, q, token)
        if kind == "accept":
            return {"accepted": accepted, "rejected": 1 - accepted}
        return dict(enumerate(replaced))


class Outcomes:
    """The bins of rounds. p: float64[K], their distribution. whole: the probability that the whole
    draft is accepted. length: the mean number of tokens in a round. Raises Unsupported."""

    def __init__(self, cell: Speculative, target: Prepared) -> None:
        self.cell, self.models = cell, Models(cell, target)
        if cell.bins:
            self._by_rank()
        else:
            self._every()

    def _every(self) -> None:
        drafted = self.cell.drafted
        chance_of = dict(itertools.islice(self._rounds((), 1.0), MOST_OUTCOMES + 1))
        if len(chance_of) > MOST_OUTCOMES:
            raise Unsupported(f"more than {MOST_OUTCOMES:,} outcomes of a round: set bins")
        p = np.array(list(chance_of.values()))
        self.p = p / p.sum()
        self.length = sum(len(tokens) * chance for tokens, chance in chance_of.items())
        self.whole = sum(chance for tokens, chance in chance_of.items() if len(tokens) > drafted)
        rounds = np.array([_padded(tokens, drafted) for tokens in chance_of])
        self._places = {code: i for i, code in enumerate(self._code(rounds))}

    def _rounds(self, past: Tokens, chance: float) -> Iterator[tuple[Tokens, float]]:
        i = len(past)
        p = self.models.target(past)
        if i == self.cell.drafted:
            yield from (((*past, y), chance * p[y]) for y in np.flatnonzero(p).tolist())
            return
        accepted, replaced = self.models.split(i, p)
        for y in np.flatnonzero(replaced).tolist():
            yield (*past, y), chance * replaced[y]
        for x in np.flatnonzero(accepted).tolist():
            yield from self._rounds((*past, x), chance * accepted[x])

    def _by_rank(self) -> None:
        if looks_at_history(self.cell.chain):
            raise Unsupported("bins by rank need a chain that does not look at the history")
        self.length = 0.0
        chance, parts, self._of_last = 1.0, list[Row](), list[NDArray[Any]]()
        for i in range(self.cell.drafted + 1):
            p = self.models.target((0,) * i)
            # behind the last draft stands the bonus, which is always drawn from p
            accepted, last = p * 0, p
            if i < self.cell.drafted:
                accepted, last = self.models.split(i, p)
            total = last.sum()
            chosen = tv.by_rank(last / total, self.cell.bins) if total > 0 else tv.by_token(p)
            before = sum(len(part) for part in parts)
            self._of_last.append(np.where(chosen.of_token < 0, -1, chosen.of_token + before))
            parts.append(chance * total * chosen.p)
            self.length += chance
            chance *= accepted.sum()
        self.whole = float(sum(parts[-1]))
        p = np.concatenate(parts)
        self.p = p / p.sum()

    def places(self, tokens: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the bin of each round; -1 for an impossible one."""
        if self.cell.bins:
            last = (tokens >= 0).sum(axis=1) - 1
            at: NDArray[np.int64] = np.array(self._of_last)
            places: NDArray[np.int64] = at[last, tokens[np.arange(len(tokens)), last]]
            return places
        return np.array([self._places.get(code, -1) for code in self._code(tokens)], np.int64)

    def _code(self, tokens: NDArray[np.int32]) -> list[int]:
        base = self.cell.logits.n + 1
        code = np.zeros(len(tokens), np.int64)
        for column in tokens.T:
            # a round is a number in base n + 1; -1, no token, is the digit 0
            code = code * base + column + 1
        codes: list[int] = code.tolist()
        return codes


def _normed(row: NDArray[np.float32]) -> Row:
    normed: Row = row.astype(np.float64)
    normed /= normed.sum()
    return normed


def _padded(tokens: Tokens, drafted: int) -> list[int]:
    return [*tokens, *[-1] * (drafted + 1 - len(tokens))]


_MOST_ROUNDS = 1 << 16  # of one request
_MOST_WORK = 1 << 25  # rounds x tokens of one request: seconds of the reference


class RoundSource:
    """Rounds of a backend, with drafts and seeds of their own.

    counts: of each draft with its tokens, if every round is a bin of its own.
    """

    def __init__(self, cell: Speculative, prepared: Prepared, backend: Backend, seed: int) -> None:
        self.cell, self.prepared, self.backend, self.ns = cell, prepared, backend, 0
        self.outcomes = Outcomes(cell, prepared)
        self._rng = np.random.default_rng([seed, 0x5BEC])
        self.asked = 0
        self.lengths = np.zeros(cell.drafted + 1, np.int64)
        self.impossible = ""
        self.counts: Counter[tuple[Tokens, Tokens]] = Counter()

    def draw(self, n: int) -> NDArray[np.int64]:
        """Return the bins of n rounds. Raises BackendFailure."""
        most = max(1, min(_MOST_ROUNDS, _MOST_WORK // self.cell.logits.n))
        sizes = [min(most, n - start) for start in range(0, n, most)]
        return np.concatenate([self._ask(size) for size in sizes])

    def _ask(self, n: int) -> NDArray[np.int64]:
        models = self.outcomes.models
        columns = [
            np.cumsum(models.drafted_from(i)).searchsorted(self._rng.random(n), side="right")
            for i in range(self.cell.drafted)
        ]
        drafts = np.minimum(np.array(columns).T, self.cell.logits.n - 1).astype(np.int32)
        seeds = self._rng.integers(0, 2**32 - 1, n, dtype=np.uint32)
        request = Rounds(np.array(self.prepared.rows), models.stated, drafts, seeds)
        tokens, ns = speculative(self.backend, self.prepared.setting, self.cell.rule, request)
        self.ns += ns
        self.lengths += np.bincount((tokens >= 0).sum(axis=1) - 1, minlength=len(self.lengths))
        places = self.outcomes.places(tokens)
        if not self.cell.bins:
            both = zip(drafts.tolist(), tokens.tolist(), strict=True)
            self.counts.update((tuple(d), tuple(t for t in e if t >= 0)) for d, e in both)
        bad = np.flatnonzero(places < 0)
        if len(bad) and not self.impossible:
            emitted = [t for t in tokens[bad[0]].tolist() if t >= 0]
            self.impossible = f"the draft {drafts[bad[0]].tolist()} gives {emitted}"
        return places

    def describe(self) -> str:
        """Return a message with the mean length of the rounds and the expected one."""
        n, lengths = int(self.lengths.sum()), 1 + np.arange(len(self.lengths))
        mean = (self.lengths * lengths).sum() / max(1, n)
        return f"{mean:.4f} tokens a round, {self.outcomes.length:.4f} expected"

    def cause(self, alpha: float) -> str:
        """Return the first stage that is wrong, by the rounds so far; "" if none is known."""
        n = int(self.lengths.sum())
        if self.lengths[-1] == 0 and (1 - self.outcomes.whole) ** n <= alpha:
            return f"bonus: 0 of {n:,} rounds have {len(self.lengths)} tokens"
        return cause_of(self.counts, self.outcomes.models.of_stage, alpha)
