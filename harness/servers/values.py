"""The values of a server's probabilities against the model's logits, where we have the model.

A logprob is documented as that of the model, before any sampler: log-softmax of the logits. What
llama-server calls post_sampling_probs are the p that it draws from: the reference's, float32 for
float32. Where values are others, the meaning is looked for that they fit.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.protocol.ask import Row
from sampler_parity.harness.servers.client import Alternative, Answer, Client, Place
from sampler_parity.harness.servers.observation import Fact, Told, right_if, rows_of, told
from sampler_parity.harness.servers.oracle import generate
from sampler_parity.harness.servers.oracle.decoder import Logits
from sampler_parity.harness.servers.oracle.model import Known
from sampler_parity.harness.servers.probabilities import TOP

_LENGTH = 12
_UNIT = 2.0**-24  # of a float32: half of its last bit, relative
_ELSEWHERE = 0.05  # of other builds, devices and batches, values were seen to differ by less
_SAMPLED: dict[str, Any] = {"temperature": 0.5, "top_k": 3}
_HOT: dict[str, Any] = {"temperature": 2.0}  # tokens outside the list of the five most likely
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Said:
    """What a server said of a token, and the logits that it was sampled from."""

    place: Place
    row: Row


def bound(n_vocab: int, logprob: float) -> float:
    """How far a log-softmax in float32 may be off: a sum of n terms in any order by n - 1 units, an
    exponential, a division and a logarithm by a few; and the value's own last bit. As text a
    float32 loses nothing."""
    return (n_vocab + 16) * _UNIT + 4 * _UNIT * abs(logprob)


def log_softmax(row: Row, temperature: float = 1.0) -> Values:
    return np.asarray(scipy.special.log_softmax(row.astype(np.float64) / temperature))


def check_values(client: Client, known: Known) -> Iterator[ServerResult]:
    """Raises InputError where nothing decodes the model."""
    with closing(known.logits()) as logits:
        yield from told("probabilities", facts_of(client, known, logits), client)


def facts_of(client: Client, known: Known, logits: Logits) -> dict[str, Fact]:
    facts: dict[str, Fact] = {
        "values": partial(_model, known, logits, {"temperature": 0.0}),
        "values of a hot text": partial(_model, known, logits, _HOT),
        "values with samplers": partial(_model, known, logits, _SAMPLED),
    }
    if client.dialect.text == "llama-server":
        facts["values after sampling"] = partial(_drawn_from, known, logits)
    return facts


def _model(known: Known, logits: Logits, changed: Mapping[str, Any], client: Client) -> Told:
    """Of some texts every value is the model's, and no token that was left out is more likely."""
    count, most, outside = 0, 0.0, 0
    answer = None
    for seed, prompt in enumerate([*known.prompts.values()][:3]):
        answer, said = _asked(client, known, logits, prompt, {"seed": seed, **changed})
        if not said:
            return Told("error", f"no probabilities to compare: {answer.refusal}", answer)
        for i, one in enumerate(said):
            law = log_softmax(one.row)
            if wrong := _wrong(one.place, law, known):
                meaning = _meaning(said, known, dict(answer.sent))
                return right_if(False, "", f"token {i}: {wrong}{meaning}", answer)
            most = max(most, *(abs(v - w) for v, w in _pairs(one.place, law, known)))
            count += len(one.place.top) + 1
            outside += one.place.token.named not in {top.named for top in one.place.top}
    right = f"{count} values the model's, by {most:.1g} at most; {outside} chosen outside the list"
    assert answer is not None
    return Told("honoured", right, answer, {"off": most, "outside": float(outside)})


def _asked(
    client: Client, known: Known, logits: Logits, prompt: list[int], changed: Mapping[str, Any]
) -> tuple[Answer, list[Said]]:
    """An answer, and of each of its tokens what was said and the logits."""
    dialect = client.dialect
    sent = {**dialect.neutral, **dialect.drawn, dialect.length: _LENGTH, **changed}
    answer = client.complete(known.sent(prompt), {**sent, **dialect.probabilities})
    if answer.refusal or not answer.places:
        return answer, []
    places = answer.places
    if dialect.drawn and answer.tokens is None:  # mlx-lm names what it drew where no list is asked
        alone = client.complete(known.sent(prompt), sent).places
        places = tuple(Place(own.token, p.top) for own, p in zip(alone, places, strict=False))
    tokens = _tokens(places, known) if answer.tokens is None else answer.tokens
    rows = rows_of(logits, known.read(prompt), tokens[: len(places) - 1], answer)
    return answer, [Said(place, row) for place, row in zip(places, rows, strict=False)]


def _tokens(places: Sequence[Place], known: Known) -> tuple[int, ...]:
    """Those that are named, or have the texts, up to the first that is not one token's alone."""
    tokens = [place.token for place in places]
    ids = [[one.id] if one.id >= 0 else known.by_text.get(one.text, []) for one in tokens]
    plain = takewhile(lambda one: len(one) == 1, ids)
    return tuple(one for (one,) in plain)


def _value(one: Alternative, law: Values, known: Known) -> float:
    """The law's of the token, or of the token of this text that has the nearest; NaN of none."""
    if one.id >= 0:
        return float(law[one.id]) if one.id < len(law) else math.nan
    ids = known.by_text.get(one.text, ())
    return min((float(law[i]) for i in ids), key=lambda v: abs(v - one.logprob), default=math.nan)


def _pairs(place: Place, law: Values, known: Known) -> list[tuple[float, float]]:
    return [(one.logprob, _value(one, law, known)) for one in (place.token, *place.top)]


def _wrong(place: Place, law: Values, known: Known) -> str:
    """The first value that is not its token's; then a list that is not of the most likely."""
    n = len(law)
    for one, (value, right) in zip(
        (place.token, *place.top), _pairs(place, law, known), strict=True
    ):
        if not abs(value - right) <= bound(n, right) + known.rounding:
            return f"{one.text!r} has {value:.7g}, the model gives {right:.7g}"
    values = sorted((one.logprob for one in place.top), reverse=True)
    best = np.sort(law)[::-1]
    if len({one.named for one in place.top}) < len(place.top):
        return f"a token twice in the list: {[one.named for one in place.top]}"
    for i, value in enumerate(values[:TOP]):  # OpenAI's may have the chosen one behind them
        if best[i] - value > 2 * (bound(n, value) + known.rounding):
            return f"a token with {best[i]:.7g} is not in the list, which has {value:.7g}"
    return ""


def _meaning(said: Sequence[Said], known: Known, sent: Mapping[str, Any]) -> str:
    """What the values are instead, where one of these fits them all."""
    temperature = float(sent.get("temperature") or 1.0)
    laws = [log_softmax(one.row) for one in said]
    scaled = [log_softmax(one.row, temperature) for one in said]
    pairs = [
        pair for one, law in zip(said, laws, strict=True) for pair in _pairs(one.place, law, known)
    ]
    for digits in (4, 3, 2, 1):
        step = 10.0**-digits
        if all(abs(v - w) <= 0.5001 * step and _is_round(v, digits) for v, w in pairs):
            return f"; all are rounded to {digits} decimals"
    if all(not _wrong(one.place, law, known) for one, law in zip(said, scaled, strict=True)):
        return f"; all are those after temperature {temperature:g}"
    sums = [sum(top.p for top in one.place.top) for one in said]
    if all(abs(total - 1) < 1e-3 for total in sums):
        return "; they come to 1 over the list alone"
    most = max(abs(v - w) for v, w in pairs)
    return f"; all are within {most:.2g}: another build's or device's" if most < _ELSEWHERE else ""


def _is_round(value: float, digits: int) -> bool:
    return abs(value - round(value, digits)) < 1e-7


def _drawn_from(known: Known, logits: Logits, client: Client) -> Told:
    """With post_sampling_probs: the p of the reference's chain, of the list and of the chosen."""
    changed = {"temperature": 1.5, "top_k": 40, "top_p": 0.9, "min_p": 0.02}
    count, most = 0, 0.0
    answer = None
    for seed, prompt in enumerate([*known.prompts.values()][:3]):
        request = {**changed, "seed": seed, "post_sampling_probs": True}
        answer, said = _asked(client, known, logits, prompt, request)
        if not said:
            return Told("error", f"no probabilities to compare: {answer.refusal}", answer)
        neutral = {**client.dialect.neutral, **changed, "seed": seed}
        sampling = generate.llama_server(neutral, prompt, known.vocab)
        for i, one in enumerate(said):
            sampling.sample(np.array(one.row))
            left = sampling.left()
            for each in (one.place.token, *one.place.top):
                want = float(left.get(each.id, 0.0))
                off = abs(each.logprob - want)
                if off > 4 * _UNIT * want:
                    wrong = (
                        f"token {i}: {each.text!r} has {each.logprob:.7g}, drawn from {want:.7g}"
                    )
                    return right_if(False, "", wrong, answer)
                most, count = max(most, off), count + 1
            listed = sorted((top.logprob for top in one.place.top), reverse=True)
            best = sorted(left.values(), reverse=True)[: len(listed)]
            if [*map(np.float32, listed[: len(best)])] != [*map(np.float32, best)]:
                wrong = f"token {i}: the list has {listed}, the most likely are {best}"
                return right_if(False, "", wrong, answer)
    assert answer is not None
    right = f"{count} values those that are drawn from, by {most:.1g} at most"
    return Told("honoured", right, answer, {"off": most})
