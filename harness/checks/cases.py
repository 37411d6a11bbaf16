"""Every kind of case, selected by its fields."""

import functools
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Tag, TypeAdapter

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.devices.block import DeviceCase
from sampler_parity.harness.checks.draws.block import DrawsCase
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.invariance.block import InvarianceCase
from sampler_parity.harness.checks.kept.block import KeptCase
from sampler_parity.harness.checks.logits.block import LogitsCase
from sampler_parity.harness.checks.logprobs.block import LogprobsCase
from sampler_parity.harness.checks.rounds.block import RoundsCase
from sampler_parity.harness.checks.sequences.block import SequencesCase
from sampler_parity.harness.checks.stages.block import StagesCase, unseeded
from sampler_parity.harness.checks.streams.block import StreamsCase
from sampler_parity.harness.checks.unseeded.block import UnseededCase

_OF_LOGITS = {"decoded": "generation", "together": "sequences", "crowded": "invariance"}


def kind_of(data: Any) -> str:
    """Return the kind of the case that data describe. Its model reports mistakes in them."""
    if isinstance(data, Case):
        return data.check
    if not isinstance(data, Mapping):
        return "stages"
    logits = data.get("logits")
    names = logits if isinstance(logits, Mapping) else getattr(type(logits), "model_fields", {})
    for name, kind in _OF_LOGITS.items():
        if name in names:
            return kind
    if "computed" in names:
        return "devices" if data.get("chain") else "logits"
    for name in ("batch", "streams", "drafts", "mode"):
        if data.get(name) is not None:
            return {"drafts": "rounds", "mode": "logprobs"}.get(name, name)
    expect = data.get("expect")
    if isinstance(expect, Mapping) and expect.get("kept") is not None:
        return "kept"
    if _draws_a_seed(data.get("chain")):
        return "unseeded"
    return "draws" if data.get("draws") else "stages"


def _draws_a_seed(chain: Any) -> bool:
    try:
        return bool(unseeded(chain or []))
    except AttributeError:  # no chain: its model reports it
        return False


AnyCase = Annotated[
    Annotated[StagesCase, Tag("stages")]
    | Annotated[DrawsCase, Tag("draws")]
    | Annotated[UnseededCase, Tag("unseeded")]
    | Annotated[KeptCase, Tag("kept")]
    | Annotated[StreamsCase, Tag("streams")]
    | Annotated[LogprobsCase, Tag("logprobs")]
    | Annotated[BatchCase, Tag("batch")]
    | Annotated[RoundsCase, Tag("rounds")]
    | Annotated[GenerationCase, Tag("generation")]
    | Annotated[SequencesCase, Tag("sequences")]
    | Annotated[DeviceCase, Tag("devices")]
    | Annotated[LogitsCase, Tag("logits")]
    | Annotated[InvarianceCase, Tag("invariance")],
    Discriminator(kind_of),
]


@functools.cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(AnyCase)


# Neutral values that blocks give to every case; some kinds have no such field.
_NEUTRAL: dict[str, Any] = {
    "chain": [], "history": [], "prompt": [], "output": [], "accept": [], "steps": 1,
    "script": "plain", "operations": [], "draws": 0, "dtype": "float32", "expect": None,
    "relation": None, "streams": None, "instead": {}, "batch": None, "vocab": None,
}  # fmt: skip


def case_from(data: Mapping[str, Any] | None = None, **fields: Any) -> Case:
    """Return the case that data describe, of its own kind. Fields with neutral values are allowed
    for every kind. Raises ValueError."""
    given = {**(data or {}), **fields}
    given = {k: v for k, v in given.items() if k not in _NEUTRAL or v != _NEUTRAL[k]}
    case: Case = _adapter().validate_python(given)
    return case
