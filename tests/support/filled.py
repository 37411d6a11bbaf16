"""Models of bundles with a value in every field, made from their types."""

import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from pydantic import BaseModel

from sampler_parity.harness.bundle import artifacts
from sampler_parity.harness.bundle.bundle import Bundle, result_types
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.logits import DecodeResult
from sampler_parity.harness.protocol.measured import DECODE_MS
from tests.support.gate_bundles import finished

TextOf = Callable[[str], str]

BACKENDS = ("first", "second")
# Keys of these are names of backends, and so are these texts: run.json must know them.
BY_BACKEND = {"backends", "required", "ns", "setup_ns", "failed", "instructions", "uncounted"}
BY_BACKEND |= {"ChangeResult.cases"}
KEYS: dict[str, tuple[str, ...]] = {"Measured.ways": ("grammar_first", "trie")}
KEYS |= {"Modelled.by_decode_ms": tuple(f"{ms:g}" for ms in DECODE_MS)}
OF_BACKEND = {"backend", "first", "baseline", "server"}
# If a choice has one of these, take it: its reports are the longest.
_DETAILED = ("diverged", "different", "strict-trie-ffi", "crashed")


def filled(model: type[BaseModel], text_of: TextOf) -> dict[str, Any]:
    """Return data of the model. text_of: the text of a field, by its place "CaseResult.suite"."""
    return {
        name: _value(field.annotation, f"{model.__name__}.{name}", text_of)
        for name, field in model.model_fields.items()
    }


def _value(kind: Any, place: str, text_of: TextOf) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    model, _, name = place.partition(".")
    if origin in (Union, types.UnionType):
        return _value(next(part for part in parts if part is not type(None)), place, text_of)
    if origin is Literal:
        return next((part for part in _DETAILED if part in parts), parts[0])
    if origin is dict:
        if BY_BACKEND & {name, place} and parts[0] is str:
            keys = [text_of(of) for of in BACKENDS]
        else:
            keys = list(KEYS.get(place, ())) or [_value(parts[0], f"{model} key", text_of)]
        return {key: _value(parts[1], f"{place} of", text_of) for key in keys}
    if origin is list:
        return [_value(parts[0], place, text_of) for _ in range(4)]
    if origin is tuple:
        return [_value(part, place, text_of) for part in parts]
    if hasattr(kind, "__metadata__"):
        return _value(parts[0], place, text_of)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return filled(kind, text_of)
    plain = {bool: True, int: 1, float: 0.5}
    if kind in plain:
        return plain[kind]
    assert kind in (str, Any), f"{place}: no value of {kind} is known here"
    return text_of("first" if name in OF_BACKEND else place)


def texts_of(model: type[BaseModel]) -> Iterator[str]:
    places: list[str] = []
    filled(model, lambda place: places.append(place) or place)  # type: ignore[func-returns-value]
    return iter(dict.fromkeys(places))


def filled_bundle(folder: Path, text_of: TextOf) -> Bundle:
    """Write a finished bundle with a result of each kind and their arrays."""
    run = filled(RunInfo, text_of)
    run["backends"][text_of("absent")] = dict(run["backends"][text_of("first")])
    for name in BACKENDS:
        run["backends"][text_of(name)]["unavailable"] = ""
    info = RunInfo.model_validate(run)
    records = [kind.model_validate(filled(kind, text_of)) for kind in result_types()]
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
