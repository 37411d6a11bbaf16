"""Every sampler by its name: llama.cpp's of the reference, and the stages of all engines' models.

A model is imported when its row is asked for, so that llama.cpp's samplers load no engine.
"""

import functools
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import cast

from sampler_parity.harness.engines.engine_file import (
    NAMESPACE,
    SamplerRow,
    engine_file,
    engine_names,
)
from sampler_parity.reference import chain as reference_chain
from sampler_parity.reference.chain import Chain
from sampler_parity.reference.registry import REFERENCE_ROWS, Row
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.vocab import Vocab


class SamplerRows(Mapping[str, Row]):
    """Map the names of all samplers to their rows; an engine's is loaded when it is asked for."""

    def __getitem__(self, name: str) -> Row:
        return REFERENCE_ROWS[name] if name in REFERENCE_ROWS else _row_of_engine(name)

    def __contains__(self, name: object) -> bool:
        return name in REFERENCE_ROWS or name in engine_samplers()

    def __iter__(self) -> Iterator[str]:
        return iter((*REFERENCE_ROWS, *engine_samplers()))

    def __len__(self) -> int:
        return len(REFERENCE_ROWS) + len(engine_samplers())


class Makers(Mapping[str, Callable[..., Sampler]]):
    """Map the names of all samplers to what makes one."""

    def __getitem__(self, name: str) -> Callable[..., Sampler]:
        return ALL_ROWS[name].make

    def __contains__(self, name: object) -> bool:
        return name in ALL_ROWS

    def __iter__(self) -> Iterator[str]:
        return iter(ALL_ROWS)

    def __len__(self) -> int:
        return len(ALL_ROWS)


ALL_ROWS = SamplerRows()
ALL_SAMPLERS = Makers()


def replaced(name: str, make: Callable[..., Sampler]) -> Mapping[str, Callable[..., Sampler]]:
    """Return all samplers with another one under a name; loads no model."""
    return ChainMap({name: make}, cast(dict[str, Callable[..., Sampler]], ALL_SAMPLERS))


@functools.cache
def engine_samplers() -> dict[str, tuple[str, SamplerRow]]:
    """Return the engine and the row of each engine's sampler, by the sampler's name."""
    return {row.name: (name, row) for name in engine_names() for row in engine_file(name).sampler}


@functools.cache
def _row_of_engine(name: str) -> Row:
    engine, row = engine_samplers()[name]
    stages = import_module(f"{NAMESPACE}.{engine}.model").STAGES
    return Row(
        stages[name],
        row.smallest,
        threshold=row.threshold,
        boundary=row.boundary,
        sorts=row.sorts,
        vocab=row.vocab,
    )


def threshold_of(name: str) -> str:
    """Return the parameter that a filter's cut is at, or ""; loads no model."""
    row = REFERENCE_ROWS.get(name)
    if row is not None:
        return row.threshold
    return engine_samplers()[name][1].threshold if name in engine_samplers() else ""


def build_chain(
    spec: reference_chain.Spec,
    *,
    n_vocab: int | None = None,
    vocab: Vocab | None = None,
    samplers: Mapping[str, Callable[..., Sampler]] = ALL_SAMPLERS,
    release: str | None = None,
    platform: str | None = None,
) -> Chain:
    """Build a chain in which stages of engines may stand. As `reference.build_chain`."""
    return reference_chain.build_chain(
        spec, n_vocab=n_vocab, vocab=vocab, samplers=samplers, release=release, platform=platform
    )


def separates_prompt(chain: Iterable[Iterable[str]]) -> bool:
    """Return whether a stage of a chain treats the prompt and the output differently."""
    names = (name for stage in chain for name in stage)
    return any(hasattr(ALL_SAMPLERS.get(name), "accept_prompt") for name in names)
