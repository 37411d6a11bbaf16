"""Minimize a failing case: fewer steps, stages, tokens and history, simpler numbers.

Greedy: each simpler case that still fails replaces the case. The caller defines what "fails" is.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.draws import DrawsCase
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.rounds import RoundsCase
from sampler_parity.harness.checks.sequences.block import SequencesCase
from sampler_parity.harness.checks.stages.block import ChainCase, StagesCase
from sampler_parity.harness.checks.stages.operations import simpler
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures import shrink_batch
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.protocol.messages import plain
from sampler_parity.reference import ChainError

SCREEN_TOKENS = 24  # lines of a terminal, by convention

TRIES = 400  # simpler cases, each a run of a backend; a large one counts as several
_OF_A_TRY = 4000  # cost of a case: tokens x steps x stages
_MOST_TOKENS = 1 << 16  # beyond, logits are not written out as literals

C = TypeVar("C", bound=Case)
Fails = Callable[[Any], bool]
Simplify = Callable[[Any], Iterator[Any]]


def shrink(case: C, fails: Fails, tries: int = TRIES, cut: Callable[[bool], object] = bool) -> C:
    """Return the smallest case found that still fails; the case itself if none is. tries: the most
    cases that are tried, whatever the time. cut: called if they were not enough."""
    if not case.shrinks:
        return case
    if isinstance(case, StagesCase):
        case = case.model_copy(update={"expect": None, "relation": None})
    if not _holds(case, fails):
        return case
    smaller = True
    while smaller:
        smaller = False
        for simplify in _BATCHED if isinstance(case, BatchCase) else _PLAIN:
            if simplify is _parameters and smaller:
                continue  # last: a simpler parameter can make other parts necessary
            for candidate in simplify(case):
                if tries <= 0:
                    cut(True)
                    return case
                tries -= 1 + candidate.cost // _OF_A_TRY
                if _holds(candidate, fails):
                    case, smaller = candidate, True
                    break
    return case


def _batch(case: BatchCase) -> Iterator[Case]:
    for batch in shrink_batch.simpler(case.batch):
        with suppress(ValueError):  # a script that names a removed row
            yield _with(case, batch=batch)
    if isinstance(case.logits, LiteralRows):
        few = shrink_batch.without_unused_logits(case.batch)
        if few is not None:
            batch, rows = few
            of_rows = [case.logits.row(i).tolist() for i in rows]
            yield _with(case, batch=batch, logits={"rows": of_rows})


def shown(case: Case) -> dict[str, Any]:
    """Return the fields of a case that are not defaults, as JSON data for people to read."""
    data = plain(case.model_dump(by_alias=True, exclude_defaults=True))
    return {key: _short(value) for key, value in data.items()}


def _short(value: Any) -> Any:
    """Return the shortest decimals that mean the same float32."""
    if isinstance(value, float):
        return float(str(np.float32(value)))
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, list) else value


def _holds(case: Case, fails: Fails) -> bool:
    try:
        case.validate_input(FileValidator(Path("shrunk")), case.id)
        return fails(case)
    except (ChainError, InputError, ValueError):
        return False


def _with(case: Case, **changes: Any) -> Case:
    return type(case).model_validate(case.model_dump(by_alias=True) | changes)


def _steps(case: Case) -> Iterator[Case]:
    if isinstance(case, SequencesCase):
        yield from _script(case)
    if isinstance(case, RoundsCase):
        drafts = case.verified
        fewer = [drafts[:i] + drafts[i + 1 :] for i in range(len(drafts)) if len(drafts) > 1]
        yield from (_with(case, drafts=few) for few in [*fewer, drafts] if few != case.drafts)
        if case.excluded or case.likely:
            yield _with(case, excluded=[], likely=[])
    if not isinstance(case, ChainCase | GenerationCase):
        return
    for steps in (1, case.steps // 2, case.steps - 1):
        if 0 < steps < case.steps:
            yield _with(case, steps=steps)
    if isinstance(case, DrawsCase) and case.draws > 1:
        for draws in (1, case.draws // 2, case.draws - 1):
            yield _with(case, draws=draws)
    if isinstance(case, StagesCase) and case.script != "plain":
        yield _with(case, script="plain")
    if isinstance(case, StagesCase) and case.operations:
        for operations in simpler(case.operations):
            with suppress(ValueError):  # the second instance is gone
                yield _with(case, operations=operations)
    if isinstance(case.logits, LiteralRows) and len(case.logits.rows) > 1:
        for i in range(len(case.logits.rows)):
            yield _with(case, logits={"rows": [case.logits.rows[i]]})


def _script(case: SequencesCase) -> Iterator[Case]:
    """Yield the first steps: a sequence does the same in them, however many steps follow."""
    logits = case.logits
    for steps in (1, case.steps // 2, case.steps - 1):
        if 0 < steps < case.steps:
            yield _with(
                case,
                steps=steps,
                logits=logits.model_copy(update={"script": logits.script[:steps]}),
            )


def _stages(case: Case) -> Iterator[Case]:
    if not isinstance(case, ChainCase | GenerationCase):
        return
    selects = isinstance(case, GenerationCase | RoundsCase)  # its last stage must select a token
    for i in range(len(case.chain) - selects):
        if len(case.chain) > 1:
            yield _with(case, chain=case.chain[:i] + case.chain[i + 1 :])


def _literal(case: Case) -> Iterator[Case]:
    if isinstance(case.logits, LiteralRows) or not isinstance(case, ChainCase | BatchCase):
        return
    count = case.batch.rows if isinstance(case, BatchCase) else case.steps
    if case.logits.n * count > _MOST_TOKENS:
        return
    yield _with_rows(case, [case.logits.row(i) for i in range(count)])


def _with_rows(case: Case, rows: list[Any]) -> Case:
    return _with(case, logits={"rows": [np.asarray(row, np.float32).tolist() for row in rows]})


def _tokens(case: Case) -> Iterator[Case]:
    if not isinstance(case.logits, LiteralRows):
        return
    n, rows = case.logits.n, [np.array(row) for row in case.logits.rows]
    size = n // 2
    while size > 0:
        for start in range(0, n, size):
            if n - size > 0 and size * 16 >= n:
                yield _with_rows(case, [np.delete(r, slice(start, start + size)) for r in rows])
        size //= 2


def _history(case: Case) -> Iterator[Case]:
    if not isinstance(case, ChainCase):
        return
    for name in ("history", "prompt", "output"):
        tokens: list[int] = getattr(case, name)
        n = len(tokens)
        for cut in (n, n // 2, 1):
            if 0 < cut <= n:
                yield _with(case, **{name: tokens[cut:]})
                yield _with(case, **{name: tokens[: n - cut]})


def _numbers(case: Case) -> Iterator[Case]:
    if not isinstance(case.logits, LiteralRows) or case.logits.n > SCREEN_TOKENS:
        return
    for digits in (0, 1, 2, 3):
        rows = [np.round(row, digits) for row in case.logits.rows]
        if any((a != np.array(b)).any() for a, b in zip(rows, case.logits.rows, strict=True)):
            yield _with_rows(case, rows)


def _parameters(case: Case) -> Iterator[Case]:
    if isinstance(case, BatchCase):
        simpler_ones = shrink_batch.with_simpler_parameters(case.batch)
        yield from (_with(case, batch=batch) for batch in simpler_ones)
    if not isinstance(case, ChainCase | GenerationCase):
        return
    yield from (_with(case, chain=chain) for chain in shrink_batch.simpler_parameters(case.chain))


_PLAIN: tuple[Simplify, ...] = (_steps, _stages, _literal, _tokens, _history, _numbers, _parameters)
_BATCHED: tuple[Simplify, ...] = (_batch, _literal, _tokens, _numbers, _parameters)
