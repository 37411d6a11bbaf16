"""Second cases: the same behaviour on another row, so that a defect does not hang on one case.

`again = true` reverses the order of the tokens, in a literal row and in all that is accepted. A
generated row gets the next seed, a fixture's the next row. `again = { field = value }` replaces
fields instead. The expected results belong to the first row: the second case has none, unless they
are given anew.
"""

from collections.abc import Mapping
from typing import Any

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
