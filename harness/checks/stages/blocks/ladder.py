"""Ladders: every size that a sampler has, at 2**k - 1, 2**k and 2**k + 1 up to its limit in use.

A table, a counter or an index that is too small gives correct results up to its size; a [[ladder]]
block exceeds it. The row of a sampler in reference/registry.py has its sizes and their limits.
Cheap by construction: many rungs are stages or steps of one case, vocabularies are large only if
they are the size under test, and few tokens of a large one are likely.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import Field

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import NamedBlock, fill
from sampler_parity.harness.llama_cpp.signatures import has
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize.near import meant
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.registry import ROWS, Row, Size

Built = Iterator[tuple[str, dict[str, Any]]]  # the end of an id, and fields of the case

_LOW = 3  # 7, 8, 9: no table is smaller.
_BYTE = 8  # Other suites test few larger values.
_COUNTED = 12  # Larger numbers of candidates have a case each.
_PAST_16_BITS = 2**16 + 1  # Quick profile: neither its size nor its ids fit 16 bits.
_FRONT = {"min_p": {"p": 1e-4}}  # Leaves the likely tokens of `rungs`, in order.
_SETTINGS = {"logit_bias": {"logit_bias": [["V-1", -1.5], [0, 1.0]]}}  # A likely token.
_STAGES = 8  # Chains of up to 2**8 stages.


def rungs(top: int, low: int = _LOW) -> list[int]:
    """Return 2**k - 1, 2**k, 2**k + 1 for low <= k <= top."""
    return sorted({2**k + d for k in range(low, top + 1) for d in (-1, 0, 1)})


class Ladder(NamedBlock):
    """Every size of a sampler at 2^k - 1, 2^k and 2^k + 1."""

    size: str
    """the size to climb: `candidates`, `k`, `penalty_last_n`, `accepted`, `stages` and others"""
    samplers: list[str] = Field(default=[])
    """samplers to climb; none: all of v0.5.0 that have the size"""
    quick: bool = True

    def items(self, quick: bool) -> Iterator[Case]:
        """Yield the cases. Raises ValueError for an unknown size."""
        if quick and not self.quick:
            return
        if self.size in OF_CHAINS:
            yield from (self._case(*built) for built in OF_CHAINS[self.size](quick))
            return
        if self.size not in SIZES:
            valid = ", ".join([*SIZES, *OF_CHAINS])
            raise ValueError(f"size {self.size!r} is not one of {valid}")
        for name in self.samplers or of_newest():
            refuse_unknown(name)
            size = ROWS[name].sizes.get(self.size)
            if size is not None:
                for end, built in SIZES[self.size](name, ROWS[name], size, quick):
                    yield self._case(f"{name}{end}", built)
            elif self.samplers:
                raise ValueError(f"{name} has no size {self.size!r} in reference/registry.py")

    def _case(self, end: str, built: dict[str, Any]) -> Case:
        return case_from(self.about(end), tags=["noop"], **built)


def refuse_unknown(name: str) -> None:
    """Raise ValueError for a name that is not a sampler of the reference."""
    if name not in ROWS:
        raise ValueError(f"unknown sampler {name!r}: {meant(name, ROWS)}")


def of_newest() -> list[str]:
    return [name for name in ROWS if has(name, NEWEST)]


def _stage(name: str, row: Row, size: Size, n: int, **changed: Any) -> dict[str, dict[str, Any]]:
    setting = {**row.smallest, **_SETTINGS.get(name, {}), **size.setting, **changed}
    return {name: fill(setting, {}, n)}


def _selecting(row: Row) -> ChainSpec:
    return [] if row.kind == "select" else [{"dist": {"seed": 5}}]


def _candidates(name: str, row: Row, size: Size, quick: bool) -> Built:
    """Vary the number of candidates, and the size of their ids. The last id and 0 have the same low
    bits, so a repetition is longer if only those are compared."""

    def case(n: int, front: bool, counts: list[int]) -> dict[str, Any]:
        chain = [_FRONT] if front else []
        chain = [*chain, _stage(name, row, size, n), *_selecting(row)]
        last, previous = n - 1, n - 2
        history = [last, previous, last, 0, previous, 1, last, previous]
        logits = {"rungs": n, "counts": counts}
        return {"chain": chain, "logits": logits, "history": history, "steps": max(1, len(counts))}

    if row.vocab:
        for n in [257, 1025, 2049] if quick else rungs(size.top, _BYTE)[:-1]:
            yield f"/V{n}", case(n, False, []) | {"vocab": "small", "history": []}
        return
    counts = rungs(min(_COUNTED, size.top), _BYTE)
    counts = counts[:3] + counts[-6:] if quick else counts
    yield "/counts", case(counts[-1], True, counts)
    yield "/ids", case(2**size.top + 1, True, [])
    for n in [_PAST_16_BITS] if quick else rungs(size.top, _BYTE):
        yield f"/V{n}", case(n, False, [])


def _count(parameter: str) -> Callable[[str, Row, Size, bool], Built]:
    """Vary a parameter that is a number of survivors: each stage leaves one rung of those before
    it."""

    def build(name: str, row: Row, size: Size, quick: bool) -> Built:
        down = rungs(size.top)[::-1]
        n = down[0] + 1
        chain = [_stage(name, row, size, n, **{parameter: rung}) for rung in down]
        yield "", {"chain": [*chain, {"dist": {"seed": 5}}], "logits": {"rungs": n}}

    return build


def _min_keep(name: str, row: Row, size: Size, quick: bool) -> Built:
    """Vary min_keep. xtc keeps all or removes: one more than min_keep stay if one goes, one fewer
    if two go."""
    if name != "xtc":
        for end, half, seed in _halves(rungs(size.top)[::-1]):
            n = half[0] + 1
            chain = [_stage(name, row, size, n, min_keep=rung) for rung in half]
            yield end, {"chain": [*chain, {"dist": {"seed": 5}}], "logits": {"rungs": n, **seed}}
        return
    for rung in rungs(10 if quick else size.top, _BYTE):
        one_goes, two_go = ([9.0] * k + [0.0] * (rung + 1 - k) for k in (2, 3))
        chain = [_stage(name, row, size, rung + 1, min_keep=rung), {"greedy": {}}]
        yield f"-{rung}", {"chain": chain, "logits": {"rows": [one_goes, two_go]}, "steps": 2}


def _m(name: str, row: Row, size: Size, quick: bool) -> Built:
    for rung in rungs(size.top if not quick else 9, 6):
        n = rung + 2
        yield f"-{rung}", {"chain": [_stage(name, row, size, n, m=rung)], "logits": {"rungs": n}}


def _halves(up: list[int]) -> Iterator[tuple[str, list[int], dict[str, Any]]]:
    """Share the rungs between two cases of other rows and tokens: each limit is passed in both.
    Yields the end of the id, the rungs, and the seed of the row."""
    for seed, end in enumerate(("", "/others")):
        yield end, up[seed::2], {"seed": seed} if seed else {}


def _window(name: str, row: Row, size: Size, quick: bool) -> Built:
    """Vary the window. Tokens are all distinct if they are counted; else three in turn, because dry
    looks for repetitions."""
    distinct = "occurrences" in row.sizes
    return _windows(name, row, size, quick, lambda n: [i if distinct else i % 3 for i in range(n)])


def _occurrences(name: str, row: Row, size: Size, quick: bool) -> Built:
    return _windows(name, row, size, quick, lambda n: [1] * n)


def _windows(
    name: str, row: Row, size: Size, quick: bool, history: Callable[[int], list[int]]
) -> Built:
    """Yield a stage for the window of each rung, on a history that is longer."""
    (window,) = {"penalty_last_n", "dry_penalty_last_n"} & row.sizes.keys()
    up = rungs(10 if quick else size.top, 6)
    tokens = history(up[-1] + 1)
    vocabulary = max(tokens) + 2
    for end, half, seed in _halves(up):
        chain = [_stage(name, row, size, vocabulary, **{window: rung}) for rung in half]
        yield (
            end,
            {
                "chain": [*chain, {"dist": {"seed": 5}}],
                "logits": {"rungs": vocabulary, **seed},
                "history": tokens[::-1] if seed else tokens,
            },
        )


def _allowed(name: str, row: Row, size: Size, quick: bool) -> Built:
    """Repeat 2**top + 8 tokens; each stage allows one rung of them."""
    up = rungs(size.top)
    n = up[-1] + 16
    chain = [
        _stage(name, row, size, 4, dry_allowed_length=rung, dry_penalty_last_n=n) for rung in up
    ]
    logits = {"rungs": 4}
    history = [i % 3 for i in range(n)]
    yield "", {"chain": [*chain, {"dist": {"seed": 5}}], "logits": logits, "history": history}


def _breakers(name: str, row: Row, size: Size, quick: bool) -> Built:
    """Use each character twice: the last of n breakers is nearest to the end, and the repetition
    after it is one token longer for each breaker that is lost."""
    up = rungs(5 if quick else size.top)
    once = list(range(33, 33 + up[-1]))  # in this vocabulary a byte is its token's id
    for end, half, seed in _halves(up):
        tokens = once[::-1] if seed else once
        letters, history = [chr(i) for i in tokens], [*tokens, 120, *tokens]
        # 120 is penalized; it is not a breaker
        chain = [
            _stage(name, row, size, 303, seq_breakers=letters[:n], dry_penalty_last_n=len(history))
            for n in half
        ]
        fields = {"chain": [*chain, {"dist": {"seed": 5}}], "logits": {"rungs": 303, **seed}}
        yield end, fields | {"vocab": "bpe", "history": history}


def _biases(name: str, row: Row, size: Size, quick: bool) -> Built:
    """Give biases in lists that each name other tokens first, so a short table loses the last."""
    up = rungs(9 if quick else size.top)
    n = up[-1] + 1
    for end, half, seed in _halves(up):
        tokens = list(range(n))[:: -1 if seed else 1]
        chain = [
            _stage(name, row, size, n, logit_bias=[[token, 0.5] for token in tokens[:rung]])
            for rung in half
        ]
        yield end, {"chain": [*chain, {"dist": {"seed": 5}}], "logits": {"rungs": n, **seed}}


def _draws(name: str, row: Row, size: Size, quick: bool) -> Built:
    chain = [_stage(name, row, size, 4), *_selecting(row)]
    top = (
        size.top if name == "dist" or not quick else 9
    )  # parity/draws has a thousand of the others
    yield "", {"chain": chain, "logits": {"rungs": 4}, "draws": 2**top + 1}


def _accepted(quick: bool) -> Built:
    """Accept tokens in all samplers with a state, until a few steps past a power of two. If the
    counter belongs to a window, the window is as long."""
    names = [name for name in of_newest() if "accepted" in ROWS[name].sizes]
    for k in (12, 16) if quick else (_BYTE, 12, 16):  # parity/state goes past 8 bits
        chain = [_stage(n, ROWS[n], ROWS[n].sizes["accepted"], 8) for n in names]
        history = [i % 5 for i in range(2**k - 2)]
        fields = {"chain": chain, "logits": {"rungs": 8}, "history": history, "steps": 4}
        yield f"{2**k}", fields


def _stages(quick: bool) -> Built:
    for n in [2**k + d for k in (4, 5, 8) for d in (0, 1)] if quick else rungs(_STAGES):
        temps = [{"temp": {"temp": (0.8, 1.25)[i % 2]}} for i in range(n - 1)]
        yield f"{n}", {"chain": [*temps, {"dist": {"seed": 5}}], "logits": {"rungs": 4}}


SIZES: dict[str, Callable[[str, Row, Size, bool], Built]] = {
    "candidates": _candidates,
    "k": _count("k"),
    "min_keep": _min_keep,
    "m": _m,
    "penalty_last_n": _window,
    "dry_penalty_last_n": _window,
    "occurrences": _occurrences,
    "dry_allowed_length": _allowed,
    "seq_breakers": _breakers,
    "logit_bias": _biases,
    "draws": _draws,
}
OF_CHAINS: dict[str, Callable[[bool], Built]] = {"accepted": _accepted, "stages": _stages}
