"""Audit the tokens that a service sent: do the stated model and settings give such tokens?

Read a recording of the model here, forced along the service's text: at each position its chain
draws, and accepts the service's token in place of its own. The reference then computes the
probabilities p that the settings give each token there.

    impossible  The settings exclude a token, and logits moved by rounding (benign.py) do so, too.
    likelihood  The sum of ln p, with its expectation and standard deviation.
    test        Bets against p: each is a distribution q, whose wealth q/p multiplies at each token.
                The mean wealth e of a right service is a martingale with mean 1, so it ever
                reaches 1/ERROR with probability at most ERROR (Ville 1939). One may stop there.

The bets are p at other temperatures, and p with more weight on a fifth of [0, 1), where the tokens
lie side by side, most likely first. With the service's seed, half of the wealth bets that more than
MISSED of its tokens are not those of the stream: rounding changes fewer.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.statistics.sequential import log_e_bernoulli
from sampler_parity.programs.differences.benign import ROUNDING, Floats
from sampler_parity.programs.recording import masks
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.tokens import RecordedToken, tokens_of
from sampler_parity.programs.recording.what_if import Make
from sampler_parity.reference import Candidates, Chain, ChainError, UndefinedInputError
from sampler_parity.reference.platforms import on

ERROR = 0.01
MISSED = 0.05
_POWERS = (0.4, 0.6, 0.8, 1.25, 1.6, 2.5)  # of p, renormalized: temperatures
_PARTS, _WEIGHT = 5, 0.5
_SIGMAS = 4  # by which rounding moves a logit at most


class Position(NamedTuple):
    """A position. number: its token's, in the recording. p: float64[S], sum 1, in the order of the
    draw. chosen: index of the service's token; -1: rounding let it pass; None: impossible.
    is_drawn: it is the token of the stream."""

    number: int
    name: str
    p: Floats
    chosen: int | None
    is_drawn: bool


def bets(p: Floats) -> Floats:
    """Return ln(q/p) of each bet at each token. p: float64[S], each > 0. Returns: [bets, S]."""
    log_p = np.log(p)
    gains = [(power - 1) * log_p - scipy.special.logsumexp(power * log_p) for power in _POWERS]
    order = np.argsort(-p, kind="stable")
    ends = np.empty_like(p)
    ends[order] = p[order].cumsum()
    for low in np.arange(_PARTS) / _PARTS:
        inside = np.minimum(ends, low + 1 / _PARTS) - np.maximum(ends - p, low)
        share = np.maximum(inside, 0) / p * _PARTS
        gains.append(np.log1p(_WEIGHT * (share - 1)))
    return np.array(gains)


def log_e(wealth: Floats, missed: Any = None, n: int = 0) -> Floats:
    """Return the log e-value. wealth: log [..., bets]. missed: tokens of n that the stream does not
    give; None: the seed is not stated."""
    e = scipy.special.logsumexp(wealth, axis=-1) - np.log(wealth.shape[-1])
    if missed is not None:
        e = np.logaddexp(e, log_e_bernoulli(missed, n, MISSED)) - np.log(2)
    return np.asarray(e)


@dataclass
class Audit:
    """The result so far. impossible: tokens. expected, deviation: of log_p, in nats. accused_at:
    the number of the first token that is proof, None if none is."""

    has_seed: bool
    tokens: int = 0
    drawn: int = 0
    impossible: list[str] = field(default_factory=list)
    log_p: float = 0.0
    expected: float = 0.0
    variance: float = 0.0
    e: float = 1.0
    accused_at: int | None = None
    wealth: Any = field(default=0.0, repr=False)

    def add(self, position: Position) -> None:
        """Take in a token of the service."""
        self.tokens, self.drawn = self.tokens + 1, self.drawn + position.is_drawn
        if position.chosen is None:
            self.impossible.append(f"token {position.number} {position.name}")
        elif position.chosen >= 0:
            log_p = np.log(position.p)
            mean = float((position.p * log_p).sum())
            self.log_p += float(log_p[position.chosen])
            self.expected += mean
            self.variance += float((position.p * (log_p - mean) ** 2).sum())
            self.wealth = self.wealth + bets(position.p)[:, position.chosen]
        missed = self.tokens - self.drawn if self.has_seed else None
        wealth = np.zeros(1) if np.isscalar(self.wealth) else self.wealth
        self.e = float(np.exp(min(700.0, float(log_e(wealth, missed, self.tokens)))))
        if self.accused_at is None and (self.impossible or self.e >= 1 / ERROR):
            self.accused_at = position.number

    @property
    def verdict(self) -> str:
        return "as stated" if self.accused_at is None else "not as stated"

    def data(self) -> dict[str, Any]:
        """Return what JSON has."""
        figures = {name: value for name, value in vars(self).items() if name != "wealth"}
        return {"verdict": self.verdict, **figures}

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield a screen of lines, each with a label."""
        yield "tokens", f"{self.tokens:,}"
        first = f", the first is {self.impossible[0]}" if self.impossible else ""
        yield "excluded", f"{len(self.impossible):,} tokens{first}"
        deviation = self.variance**0.5
        yield "ln p", f"{self.log_p:.1f}, expected {self.expected:.1f} +- {deviation:.1f}"
        if self.has_seed:
            yield "stream", f"the seed gives {self.drawn:,} of {self.tokens:,} tokens"
        yield "test", f"e = {self.e:.3g}; a right service reaches {1 / ERROR:.0f} in {ERROR:.0%}"
        by = "" if self.accused_at is None else f", by token {self.accused_at:,}"
        yield "verdict", self.verdict + by


def audit(recording: Recording, has_seed: bool, make: Make | None = None) -> Audit:
    """Audit a recording. has_seed: the service draws with the chain's seed. make: the chain of the
    stated settings; None: the recorded one. Raises InputError."""
    result = Audit(has_seed)
    try:
        for position in _positions(recording, make):
            result.add(position)
    except (ChainError, UndefinedInputError) as error:
        raise InputError(recording.folder, str(error)) from None
    if not result.tokens:
        raise InputError(recording.folder, "has no accepted token", "accept the service's tokens")
    return result


def _positions(recording: Recording, make: Make | None) -> Iterator[Position]:
    """Yield the positions whose token was accepted, after it was."""
    waiting: dict[int, tuple[RecordedToken, int, Callable[[int], Position]]] = {}
    chains: dict[int, tuple[Chain, int]] = {}
    for token in tokens_of(recording):
        yield from _accepted(waiting)
        accepted = token.applied.use.tokens
        chain, fed = chains.get(token.text) or (make(token) if make else None, len(accepted))
        if chain is not None:
            for accepted_token in accepted[fed:]:
                chain.accept(accepted_token)
            chains[token.text] = chain, len(accepted)
        waiting[token.text] = token, len(accepted), _reader(token, chain)
    yield from _accepted(waiting)


def _accepted(
    waiting: dict[int, tuple[RecordedToken, int, Callable[[int], Position]]],
) -> Iterator[Position]:
    for text, (token, n, position) in [*waiting.items()]:
        if len(token.applied.use.tokens) > n:
            del waiting[text]
            yield position(token.applied.use.tokens[n])


def _reader(token: RecordedToken, chain: Chain | None) -> Callable[[int], Position]:
    """Apply the chain, and return what reads a service's token there. Raises InputError."""
    stages = token.stages
    row = stages[0].before if stages else token.applied.before
    lost = [stage.why for stage in stages if chain is None and stage.earlier is None]
    if row is None or lost:
        problem = (lost or ["its logits are not recorded"])[0]
        raise InputError(f"token {token.number}", problem, "record --detail survivors")
    recorded = [stage.earlier.clone() for stage in stages if stage.earlier is not None]
    before = Chain(recorded) if chain is None else chain.clone()
    drawn = _apply(token, before.clone() if chain is None else chain, row)
    if drawn.token is None:
        raise InputError(f"token {token.number}", "its chain draws none", "end it with dist")
    p = _shares(drawn)

    def read(service: int) -> Position:
        possible = np.flatnonzero(p > 0)
        places = np.flatnonzero(drawn.ids[possible] == service)
        chosen = int(places[0]) if len(places) else None
        if chosen is None and _is_rounding(token, before, row, service):
            chosen = -1
        shares, is_drawn = p[possible] / p.sum(), drawn.token == service
        return Position(token.number, token.name_of(service), shares, chosen, is_drawn)

    return read


def _apply(token: RecordedToken, chain: Chain, row: Candidates) -> Candidates:
    """Return what the chain leaves of a row of logits."""
    candidates, n = row.copy(), len(row)
    is_mask = token.applied.event.after.sorted is None
    with on(token.replayed.platform), np.errstate(all="ignore"):
        for sampler in chain.samplers:
            candidates = masks.given(candidates, sampler.name, n) if is_mask else candidates
            sampler.apply(candidates)
            candidates = masks.survivors(candidates) if is_mask else candidates
    return candidates


def _is_rounding(token: RecordedToken, chain: Chain, row: Candidates, service: int) -> bool:
    """Return whether logits moved by rounding let a token pass: those above it become less."""
    places: NDArray[np.intp] = np.flatnonzero(row.ids == service)
    finite = row.logits[np.isfinite(row.logits)]
    if not len(places) or not np.isfinite(row.logits[places[0]]):
        return False
    by = np.float32(_SIGMAS * ROUNDING * finite.std())
    moved = row.copy()
    moved.logits = np.where(row.logits > row.logits[places[0]], row.logits - by, row.logits + by)
    left = _apply(token, chain.clone(), moved)
    return bool(service in left.ids[_shares(left) > 0])


def _shares(drawn: Candidates) -> NDArray[np.float64]:
    """Return the shares of what a chain leaves; greedy selects a token and sets none."""
    return drawn.p.astype(np.float64) if drawn.p.any() else 1.0 * (drawn.ids == drawn.token)
