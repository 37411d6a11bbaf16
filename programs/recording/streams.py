"""Rules on the random numbers of a text: they do not begin again, and two chains have their own."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sampler_parity.programs.recording.decoded import Row
from sampler_parity.programs.recording.misuse import Breach

_PROOF = 3  # numbers in a row: each has 53 bits, so that none comes again by chance


@dataclass
class _Numbers:
    """The numbers of a text while it goes on. places: of each three in a row. last: the newest
    draw: its row, token, number and chain. repeats: whether that was reported."""

    numbers: list[float] = field(default_factory=list)
    chains: list[int] = field(default_factory=list)
    places: dict[tuple[float, ...], int] = field(default_factory=dict)
    last: tuple[Row, int, float, int] | None = None
    repeats: bool = False


class Streams:
    """The random numbers that were drawn so far."""

    def __init__(self) -> None:
        self.twins: list[dict[str, list[float]]] = []  # of a sampler and its clone

    def clone(self, origin: str, address: str) -> None:
        self.forget(address)
        self.twins.append({origin: [], address: []})

    def forget(self, address: str) -> None:
        """Leave a sampler that is freed or reset."""
        self.twins = [twins for twins in self.twins if address not in twins]

    def draw(self, row: Row, token: int, u: float, chain: int, address: str) -> Iterator[Breach]:
        """Take in a draw and its random number. chain: its identity, as its address may be used
        again."""
        yield from self._twin(address, u)
        draws = row.text.draws = _continued(row.text.draws, row)
        draws.last = (row, token, u, chain)
        yield from _again(draws, u, chain)

    def _twin(self, address: str, u: float) -> Iterator[Breach]:
        for twins in self.twins:
            if len(twins.get(address, [0] * _PROOF)) < _PROOF:
                twins[address].append(u)
                first, second = twins.values()
                if first == second and len(first) == _PROOF:
                    yield Breach("same-clone", {"numbers": first})


def _continued(draws: _Numbers | None, row: Row) -> _Numbers:
    """Return the numbers of a text that goes on by the token drawn last, else none."""
    if draws is None or draws.last is None:
        return _Numbers()
    earlier, drawn, u, chain = draws.last
    if (row.batch, row.at) == (earlier.batch, earlier.at):  # the program draws again instead
        return draws
    if row.since(earlier) != [drawn]:
        return _Numbers()
    draws.numbers.append(u)
    draws.chains.append(chain)
    return draws


def _again(text: _Numbers, u: float, chain: int) -> Iterator[Breach]:
    """Yield a breach, once for a text, if its newest numbers were there before."""
    numbers, n = [*text.numbers[1 - _PROOF :], u], len(text.numbers)
    if len(numbers) < _PROOF or text.repeats:
        return
    first = text.places.setdefault(tuple(numbers), n)
    text.repeats = len(set(numbers)) == 1 or first != n
    if len(set(numbers)) == 1:
        yield Breach("same-number", {"number": u, "tokens": _PROOF})
    elif text.repeats:
        rule = "stream-again" if text.chains[first] == chain else "stream-repeated"
        yield Breach(rule, {"numbers": numbers, "tokens between": n - first})
