"""Models of bundles with something in every field, by their types: a new field is in, too."""

import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from pydantic import BaseModel

from sampler_parity.harness.bundle import artifacts
from sampler_parity.harness.bundle.bundle import Bundle, Result
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.checks.logits.record import DecodeResult
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.protocol.measured import DECODE_MS
from tests.support.gate_bundles import finished

Say = Callable[[str], str]

BACKENDS = ("first", "second")
# Keys of these are names of backends, and so are these texts: run.json must know them.
BY_BACKEND = {"backends", "required", "ns", "setup_ns", "failed", "instructions", "uncounted"}
BY_BACKEND |= {"ChangeResult.cases"}
KEYS: dict[str, tuple[str, ...]] = {"Measured.ways": ("grammar_first", "trie")}
KEYS |= {"Modelled.by_decode_ms": tuple(f"{ms:g}" for ms in DECODE_MS)}
OF_BACKEND = {"backend", "first", "baseline", "server"}
# Of a choice, the one that has most to be said about it.
_TELLING = ("diverged", "different", "strict-trie-ffi", "crashed")


def filled(model: type[BaseModel], say: Say) -> dict[str, Any]:
    """Data of the model. say: the text of a field, by its place "CaseResult.suite"."""
    return {
        name: _value(field.annotation, f"{model.__name__}.{name}", say)
        for name, field in model.model_fields.items()
    }


def _value(kind: Any, place: str, say: Say) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    model, _, name = place.partition(".")
    if origin in (Union, types.UnionType):
        return _value(next(part for part in parts if part is not type(None)), place, say)
    if origin is Literal:
        return next((part for part in _TELLING if part in parts), parts[0])
    if origin is dict:
        if BY_BACKEND & {name, place} and parts[0] is str:
            keys = [say(of) for of in BACKENDS]
        else:
            keys = list(KEYS.get(place, ())) or [_value(parts[0], f"{model} key", say)]
        return {key: _value(parts[1], f"{place} of", say) for key in keys}
    if origin is list:
        return [_value(parts[0], place, say) for _ in range(4)]
    if origin is tuple:
        return [_value(part, place, say) for part in parts]
    if hasattr(kind, "__metadata__"):
        return _value(parts[0], place, say)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return filled(kind, say)
    plain = {bool: True, int: 1, float: 0.5}
    if kind in plain:
        return plain[kind]
    assert kind in (str, Any), f"{place}: no value of {kind} is known here"
    return say("first" if name in OF_BACKEND else place)


def texts_of(model: type[BaseModel]) -> Iterator[str]:
    """The places of all texts of a model."""
    said: list[str] = []
    filled(model, lambda place: said.append(place) or place)  # type: ignore[func-returns-value]
    return iter(dict.fromkeys(said))


def filled_bundle(folder: Path, say: Say) -> Bundle:
    """A finished bundle with a result of each kind and arrays beside them."""
    run = filled(RunInfo, say)
    run["backends"][say("absent")] = dict(run["backends"][say("first")])
    for name in BACKENDS:
        run["backends"][say(name)]["unavailable"] = ""
    info = RunInfo.model_validate(run)
    records = [kind.model_validate(filled(kind, say)) for kind in get_args(Result)]
    (folder / "artifacts").mkdir(parents=True)
    for record in records:
        if isinstance(record, CaseResult):
            ids, row = np.arange(3, dtype=np.int32), np.ones(3, np.float32)
            arrays = {"ids": ids, "logits": row, "p": row}
            arrays |= {f"got_{name}": array for name, array in arrays.items()}
            for backend in record.backends:
                path = folder / "artifacts" / artifacts.stage_file(record.id, backend)
                artifacts.write_arrays(path, **arrays)
        if isinstance(record, DecodeResult):
            for backend in record.backends:
                path = folder / "artifacts" / artifacts.row_file(record.id, backend)
                artifacts.write_row(path, np.ones(3, np.float32))
    return finished(folder, records, info)
