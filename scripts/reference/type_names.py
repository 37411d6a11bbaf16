"""Name the type of a field in plain words: "list of integers, at most 32 long"."""

import json
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Interval, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel

from sampler_parity.harness.bundle.records import Shallow
from sampler_parity.harness.checks.cases import AnyCase
from sampler_parity.harness.checks.distribution.record import CellKind, Decision
from sampler_parity.harness.checks.grid import Axes
from sampler_parity.harness.inputs.logits import Family, Logits
from sampler_parity.harness.protocol.arithmetic import Dtype
from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.protocol.messages import ChainSpec, Operation, Words
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Token
from sampler_parity.harness.verdicts import ServerVerdict, Verdict
from scripts.reference.tables import alternatives, code

# Types that the pages explain once, under these names.
NAMED: Mapping[Any, str] = {
    Any: "any value",
    Axes: "axes",
    CellKind: "kind of test",
    ChainSpec: "chain",
    Decision: "decision",
    Dtype: "dtype",
    Family: "family",
    Logits: "[logits](#logits)",
    get_args(Logits)[0]: "[logits](#logits)",
    AnyCase: "[case](#case)",
    Measured: "`Measured`",
    Operation: "operation",
    ServerVerdict: "server verdict",
    Shallow: "object",
    Token: "token id",
    Verdict: "verdict",
    Words: "string",
    bool: "boolean",
    float: "number",
    int: "integer",
    str: "string",
    type(None): "null",
}
# Largest values of many fields and options, which the page limits.md lists.
LISTED = {
    *(limits.ID, limits.RULES, limits.STEPS, limits.GRAMMAR, limits.RANDOM, limits.ROUNDS),
    *(limits.RUNS, limits.SECONDS, limits.DELAY_MS, limits.TOKENS, limits.VOCAB),
    *(limits.DRAWS_OF_CASE, limits.DRAWS, limits.WHOLE),
}
_COUNTED = {*NAMED.values()} - {"axes", "null", "[logits](#logits)", "`Measured`"}


def type_name(kind: Any, constraints: Iterable[Any] = ()) -> str:
    """Return the name of a type with its constraints, as Markdown."""
    name = _base(kind)
    return ", ".join([name, *_limits([*constraints])])


def _base(kind: Any) -> str:
    if (named := _named(kind)) is not None:
        return named
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        page = "protocol.md" if of_protocol(kind) else ""
        return f"[{kind.__name__}]({page}#{kind.__name__.lower()})"
    arguments = get_args(kind)
    match get_origin(kind):
        case origin if origin is Annotated:
            return type_name(arguments[0], arguments[1:])
        case origin if origin is Literal:
            return alternatives([code(json.dumps(value)) for value in arguments])
        case origin if origin in (Union, types.UnionType):
            return alternatives([type_name(one) for one in arguments])
        case origin if origin is list:
            return f"list of {_plural(type_name(arguments[0]))}"
        case origin if origin is dict:
            return f"map of {_plural(type_name(arguments[1]))}"
        case origin if origin is tuple:
            return f"[{', '.join(map(type_name, arguments))}]"
    return code(getattr(kind, "__name__", str(kind)))


def of_protocol(model: type) -> bool:
    """Return whether the page of the protocol describes a model."""
    return model.__module__.startswith("sampler_parity.harness.protocol.")


def _plural(name: str) -> str:
    if " or " in name:
        return f"({name})"
    first, *rest = name.split(", ", 1)
    if first.startswith("list of "):
        first = f"lists{first.removeprefix('list')}"
    elif first in _COUNTED:
        first = f"{first.removesuffix('y')}ies" if first.endswith("y") else f"{first}s"
    return ", ".join([first, *rest])


def _named(kind: Any) -> str | None:
    try:
        return NAMED.get(kind)
    except TypeError:  # not hashable, so none of them
        return None


def _limits(constraints: Sequence[Any]) -> Iterator[str]:
    """Yield what constraints allow, apart from the limits that docs/reference/limits.md lists."""
    ends: dict[str, Any] = {}
    for one in constraints:
        match one:
            case Interval() | Ge() | Gt() | Le() | Lt():
                names = ("ge", "le", "gt", "lt")
                ends |= {key: end for key in names if (end := getattr(one, key, None)) is not None}
            case MinLen(1):
                yield "not empty"
            case MaxLen(most) if most not in LISTED:
                yield f"at most {figure(most)} long"
    yield from between(**ends)


def between(ge: Any = None, le: Any = None, gt: Any = None, lt: Any = None) -> Iterator[str]:
    """Yield a range of numbers: "0 to 8", "≥ 0", "> 0", "< 1"."""
    if le in LISTED:
        le = None
    if ge is not None and le is not None:
        yield f"{figure(ge)} to {figure(le)}"
        ge = le = None
    for sign, value in (("≥", ge), (">", gt), ("≤", le), ("<", lt)):
        if value is not None:
            yield f"{sign} {figure(value)}"


def figure(value: Any) -> str:
    """Format a number: a large power of two, and one less, as such."""
    if isinstance(value, int) and value >= 1 << 31:
        for less, text in ((0, ""), (1, " - 1")):
            if (value + less).bit_count() == 1:
                return f"2^{(value + less).bit_length() - 1}{text}"
    return f"{value:,}"
