"""Every kind of case, selected by its fields."""

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Union

from pydantic import Discriminator, Tag, TypeAdapter

from sampler_parity.harness.checks import KINDS
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.rows import load

_CASES: dict[str, type[Case]] = {k.name: load(k.case) for k in KINDS.values() if k.case}


def kind_of(data: Any) -> str:
    """Return the kind of the case that data describe: the last one that they fit. Its model reports
    mistakes in them."""
    if isinstance(data, Case):
        return data.check
    if not isinstance(data, Mapping):
        return "stages"
    return [name for name, case in _CASES.items() if case.fits(data)][-1]


AnyCase: Any = Annotated[
    Union[tuple(Annotated[case, Tag(name)] for name, case in _CASES.items())],  # noqa: UP007
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
    values = {**(data or {}), **fields}
    values = {k: v for k, v in values.items() if k not in _NEUTRAL or v != _NEUTRAL[k]}
    case: Case = _adapter().validate_python(values)
    return case
