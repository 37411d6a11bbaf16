"""The difference between a backend and the reference, as one of few kinds: what the failures of a
group have in common, and its text.

All of it is read off the result: how many survive, which values differ first, the backend's
message.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.engines.samplers import threshold_of
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.harness.verdicts import Verdict

_NO_SAMPLER = "no sampler "  # as in harness/protocol/client.py
_LONGEST = 120  # characters of a backend's message: with the text before it, a line or two
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[-+]?\d[\d.,_]*(?:e[-+]?\d+)?")

# The text of each kind. Others have one made of their results.
WORDS = {
    "nothing": "no reason was given",
    "none": "keeps no token",
    "more": "keeps more tokens",  # of a group: how many, and than what
    "fewer": "keeps fewer tokens",
    "order": "keeps the right tokens in another order",
    "tokens": "keeps as many tokens, but others",
    "ids": "keeps other tokens, or in another order",
    "survivors": "keeps other tokens",
    "not-masked": "leaves a logit that the reference makes -inf",
    "masked": "makes a logit -inf that the reference leaves",
    "logits-nan": "gives NaN as a logit",
    "p-nan": "gives NaN as a probability",
    "logits": "gives other logits",
    "p": "gives other probabilities",
    "p-written": "writes probabilities where the reference leaves 0",
    "p-missing": "leaves probabilities at 0 that the reference writes",
    "selected-none": "selects no token",
    "selected-some": "selects a token where the reference selects none",
    "selected": "selects another token",
    "drawn": "draws other tokens",
    "sorted": "reports unsorted candidates as sorted",
    "unsorted": "reports sorted candidates as unsorted",
}


@dataclass(frozen=True)
class DifferenceKind:
    """name: short, the same from run to run, fit for an anchor. `said`: the words common to
    the backend's messages of this kind, without their numbers; or ""."""

    name: str
    said: str = ""


LACKS = DifferenceKind("lacks")
# Nothing came back, or a line per backend is enough.
FOLDED: tuple[Verdict, ...] = ("unsupported", "skipped")
ENDED: tuple[Verdict, ...] = ("crashed", "timeout", "rejected", *FOLDED)


def kind_of(result: BackendResult) -> DifferenceKind:
    """Return what differs in a result that is not as required."""
    if not result.what:
        first = result.detail.strip().partition("\n")[0]
        return (
            DifferenceKind("said", _NUMBER.sub("N", first)) if first else DifferenceKind("nothing")
        )
    survivors = _survivors(result)
    if survivors and survivors[0] != survivors[1]:
        got, expected = survivors
        return DifferenceKind("none" if got == 0 else "more" if got > expected else "fewer")
    return DifferenceKind(_kind_of_value(result.what, result.values))


def id_of(result: BackendResult) -> str:
    """Return the id of what differs, for policies and SARIF: the sampler where it differs first and
    the kind, "top_p/fewer". Where nothing came back or differs: "run/" and the verdict."""
    if result.verdict in ENDED or not (result.what or result.detail):
        return f"run/{result.verdict}"
    return f"{result.stage or 'chain'}/{kind_of(result).name}"


def _kind_of_value(what: str, values: dict[str, Any]) -> str:
    got, expected = values.get("got"), values.get("expected")
    if what == "ids" and "others" in values:
        return "tokens" if values["others"] else "order"
    if what in ("logits", "p") and got == "nan":
        return f"{what}-nan"
    if what == "logits" and "-inf" in (got, expected):
        return "masked" if got == "-inf" else "not-masked"
    if what == "p" and 0 in (got, expected):
        return "p-missing" if got == 0 else "p-written"
    if what in ("selected", "token"):
        return (
            "selected-none" if got is None else "selected-some" if expected is None else "selected"
        )
    if what == "sorted":
        return "sorted" if got else "unsorted"
    return what


def words(kind: DifferenceKind, stage: str, results: Sequence[BackendResult]) -> str:
    """Describe what the results of a kind at a stage have in common."""
    if kind.name == "said" or results[0].verdict == "misused":
        longest = _LONGEST if kind.name == "said" else 5 * _LONGEST  # a rule, and what to do
        return one_line(results[0].detail.strip().partition("\n")[0], longest)
    if kind == LACKS:
        return _lacks(results)
    if kind.name in ("more", "fewer"):
        than = f"{_than(stage)}{_how_near(results)}"
        return f"keeps {_how_many(results)} {kind.name} {than}{_later(results)}"
    return WORDS.get(kind.name, f"differs in {kind.name}") + _later(results)


def _survivors(result: BackendResult) -> tuple[int, int] | None:
    counts = result.values.get("survivors")
    if not isinstance(counts, dict):
        return None
    got, expected = counts.get("got"), counts.get("expected")
    return (got, expected) if isinstance(got, int) and isinstance(expected, int) else None


def _how_many(results: Sequence[BackendResult]) -> str:
    """Return by how many too many or too few survive: "one", "2", "1 to 57"."""
    off = [abs(pair[0] - pair[1]) for pair in map(_survivors, results) if pair]
    fewest, most = min(off), max(off)
    if fewest == most:
        return "one" if most == 1 else f"{most:,}"
    return f"{fewest:,} to {most:,}"


def _than(stage: str) -> str:
    threshold = "k" if stage == "top_k" else threshold_of(stage)
    return f"than {threshold} allows" if threshold else "than the reference"


def _how_near(results: Sequence[BackendResult]) -> str:
    """Return how near to the cut the results are."""
    margins = [result.values["margin"] for result in results if "margin" in result.values]
    numbers = [margin for margin in margins if isinstance(margin, int | float)]
    if not numbers or len(numbers) < len(results):
        return ""
    return f", up to {max(numbers):.1g} from the cut" if any(numbers) else ", exactly at the cut"


def _later(results: Sequence[BackendResult]) -> str:
    """Return the first wrong step, unless it is the first of all: the cause is in an earlier
    step."""
    first = min((result.step or 0) for result in results)
    return f", never before step {first + 1}" if first else ""


def _lacks(results: Sequence[BackendResult]) -> str:
    """Return what a backend reports as missing, the most frequent first: "no sampler xtc, dry"."""
    reasons = Counter(result.detail.strip().partition("\n")[0] for result in results)
    samplers: Counter[str] = Counter()
    texts = []
    for reason, n in reasons.most_common():
        names = reason.removeprefix(_NO_SAMPLER)
        if names != reason:
            samplers.update(dict.fromkeys(names.split(", "), n))
        elif reason:
            texts.append(reason)
    if samplers:
        texts.insert(0, _NO_SAMPLER + ", ".join(name for name, _ in samplers.most_common()))
    return one_line("; ".join(texts), 2 * _LONGEST) or WORDS["nothing"]
