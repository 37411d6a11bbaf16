"""The base of every case: it runs on the backends, and it names the verdicts that pass.

A kind of case has a class of its own, with the fields that it needs (harness/checks/rows.py);
harness/checks/cases.py selects the kind. `again` makes a second case: the same behaviour on another
row, so that a defect does not hang on one case. `again = true` reverses the order of the tokens, in
a literal row and in all that is accepted. A generated row gets the next seed, a fixture's the next
row. `again = { field = value }` replaces fields instead. The expected results belong to the first
row: the second case has none, unless they are given anew."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from sampler_parity.harness.backends.engines import without_build
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import Logits
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Id, Strict
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference.registry import ROWS

_ACCEPTED = ("history", "prompt", "output", "accept")
_OF_THE_FIRST = ("expect", "relation", "quick", "again")


def second(case: Mapping[str, Any], changes: bool | Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the second case. Raises ValueError if nothing differs."""
    fields = {name: value for name, value in case.items() if name not in _OF_THE_FIRST}
    changed = dict(changes) if isinstance(changes, Mapping) else _other_tokens(fields)
    if all(case.get(name) == value for name, value in changed.items()):
        raise ValueError("again: the second case equals the first; name fields that differ")
    return {**fields, **changed, "id": f"{case['id']}-again"}


def _other_tokens(fields: Mapping[str, Any]) -> dict[str, Any]:
    logits = dict(fields["logits"])
    for name, row in logits.items():
        if name in ("values", "probs", "rows"):
            rows = [part[::-1] for part in (row if name == "rows" else [row])]
            accepted = {key: fields[key] for key in _ACCEPTED if key in fields}
            last = len(rows[0]) - 1
            # token t of a row is token last - t of the reversed row
            reverse = {key: [last - token for token in of] for key, of in accepted.items()}
            return {"logits": {name: rows if name == "rows" else rows[0]}, **reverse}
    step = "row" if "golden" in logits else "seed"
    return {"logits": {**logits, step: logits.get(step, 0) + 1}}


SELECT = tuple(name for name, row in ROWS.items() if row.kind == "select")


class Case(Strict):
    """A case. check: its kind. chosen_by: fields that make a `[[case]]` one of this kind, such as
    `logits.decoded`. requests: those that a backend must claim. shrinks: whether a smaller case can
    mean the same. quick: false leaves an explicit case to the full profile."""

    check: ClassVar[str]
    chosen_by: ClassVar[tuple[str, ...]] = ()
    requests: ClassVar[tuple[str, ...]] = ("run",)
    shrinks: ClassVar[bool] = True

    id: Id = Field(pattern=r"^[A-Za-z0-9_.+/=,:\-]+$")
    description: str = Field(max_length=70)
    why: str
    logits: Logits
    detail: Literal["stages", "token"] = "stages"
    """`token` compares only the selected token, not every stage"""
    requires: dict[str, list[Verdict]] = {}
    tags: list[str] = []
    """`noop` marks a filter case that removes nothing"""
    quick: bool = True
    again: bool | dict[str, Any] = Field(default=False, exclude=True)
    """makes a second case `ID-again`: `true` for the tokens in reverse order, or other fields"""

    @classmethod
    def fits(cls, data: Any) -> bool:
        """Return whether data describe a case of this kind, rather than of one without its
        fields."""
        return all(has_field(data, name) for name in cls.chosen_by)

    def items(self, quick: bool) -> Iterator[Self]:
        """Yield the case itself if the profile includes it, and its second case."""
        if self.quick or not quick:
            yield self.model_copy(update={"quick": True, "again": False})
            if self.again:
                fields = self.model_dump(exclude_unset=True, by_alias=True)
                yield type(self).model_validate(second(fields, self.again))

    @property
    def chains(self) -> list[ChainSpec]:
        """The chains that a backend runs."""
        return []

    @property
    def samplers(self) -> list[str]:
        """The samplers of its chains, in order; each once if there are several chains."""
        names = [name for chain in self.chains for stage in chain for name in stage]
        return names if len(self.chains) == 1 else list(dict.fromkeys(names))

    @property
    def n_draws(self) -> int:
        """The number of tokens that are drawn from one state."""
        return 0

    @property
    def cost(self) -> int:
        """The number of values that its chain processes, about."""
        return 0

    @property
    def separates_prompt(self) -> bool:
        """Whether there is a prompt and a sampler that separates it from the output."""
        return False

    @property
    def claimed(self) -> list[ChainSpec]:
        """The chains that a backend must claim."""
        return self.chains

    def own_chain(self, backend: str) -> ChainSpec | None:
        """Return the chain in a backend's own samplers; None if it runs the chain of the case."""
        return None

    def required(self, backend: str) -> list[Verdict]:
        """Return the verdicts that pass for a backend; `identical` if nothing else is named."""
        return self.requires.get(backend, self.requires.get(without_build(backend), ["identical"]))

    def validate_input(self, validator: FileValidator, place: str) -> None:
        """Check what can be wrong before it runs. place: of the case in its file. Raises
        InputError."""
        raise NotImplementedError


def has_field(data: Any, name: str) -> bool:
    """Return whether data have a field that is not empty. name: with a dot for one of a field."""
    for part in name.split("."):
        if not isinstance(data, Mapping):
            return part in getattr(type(data), "model_fields", {})
        data = data.get(part)
    return data is not None and data != 0
