"""Compare what a parameter's values leave to draw from with the reference, whatever the model is.

llama-server lists the logprobs of the model, and with post_sampling_probs the p that it draws from.
So the reference's samplers on those logprobs must give that p, and with the seed the same token.
Each request draws one token, in turn in one answer and in a stream. All samplers are behind top_k,
so that tokens outside the list have no effect.

The prompt consists of tokens of that list, so that penalties and DRY act on it. repeat_penalty
depends on logits: these are the logprobs plus one constant, which one answer determines.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from sampler_parity.engines.xllamacpp.random_requests import check_random
from sampler_parity.engines.xllamacpp.requests import OWN, TEXTS, tokens_of
from sampler_parity.programs.servers.answer import Answer, TokenProbability
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import TOKEN, ServerParameter
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.observation import Observation, ServerTest, honoured_if
from sampler_parity.programs.servers.oracle.samplers import llama_server
from sampler_parity.programs.servers.probabilities import TOLERANCE as OF_BATCHES
from sampler_parity.programs.servers.probe import Probe
from sampler_parity.programs.servers.prompts import ONE_APART, first_token, listed
from sampler_parity.reference.vocab import TokenType, Vocab

LISTED, KEPT = 300, 180  # tokens of the model's list; that top_k leaves of them
NEAR = 1e-3  # of a p. The largest difference on the golden model is 1.5e-5, at temperature 0.05.
_TRIES, _MOST = 6, 2000
_COUNTS = (300, 1, 2, 3, 10, 11, 100, 0)  # of n_probs
_PENALTY = 1.7
_NAMES = ("top_k", "penalties", "dry", "top_n_sigma", "typ_p", "top_p", "min_p", "xtc")
_LETTERS = dict(zip((*_NAMES, "temperature", "adaptive_p"), "kedsypmxta", strict=True))
_BASE = {"samplers": [*_NAMES, "temperature"], "top_k": KEPT, "temperature": 1.0, "seed": 1}
# With the temperature first all tokens are about as likely: each share leaves another number.
_FLAT = {"samplers": ["top_k", "temperature", *_NAMES[1:]], "temperature": 150.0}
# Values of each class: small, with more digits than a float16 has, near 1, whole, and large.
_SHARES = (0.00137, 0.0137, 0.05, 0.1137, 0.25, 0.3137, 0.5, 0.7137, 0.9, 0.97, 0.9951, 0.99951)
_FLOATS = (*_SHARES, 1, 1.0137, 1.37, 2, 2.71, 3.91, 7.3, 17.7, 150.3)
_WHOLE = (0, 1, 2, *(2**n + more for n in range(2, 11) for more in (-1, 0, 1)), 40, 93, 1000)
_BIASES = (5.3, 10.3, 37.7, 100.9, 130.6, 1000.3)
_RANDOM, _SEED = 160, 5  # requests with several values of the classes


@dataclass(frozen=True)
class Known:
    """Hold a prompt and the model's most likely tokens after it. texts: of tokens by id. shift:
    logits less logprobs. neutral: the answer with all neutral, if it is not the reference's."""

    prompt: list[int]
    tokens: tuple[TokenProbability, ...]
    texts: dict[int, str]
    shift: float = math.nan
    neutral: Answer | None = None

    def predicted(self, stated: Mapping[str, Any]) -> tuple[dict[int, float], int]:
        """Return the p of each token that is left, and the one drawn."""
        listed = {one.id: one.logprob + self.shift for one in self.tokens}
        rest = {token: -1e4 for token in self.prompt if token not in listed}
        # Tokens that are not listed have together the mass that is left: mirostat sees all.
        least = min(one.p for one in self.tokens)
        mass = max(1 - sum(one.p for one in self.tokens), 0.0)
        n = min(math.ceil(mass / least), _MOST)
        others = {-1 - i: math.log(mass / n) + self.shift for i in range(n)}
        logits = {**listed, **rest, **others}
        ids = [*logits]
        texts = tuple(self.texts.get(token, "").replace(" ", "▁") for token in ids)
        vocab = Vocab("spm", texts, (TokenType.NORMAL,) * len(ids), (0.0,) * len(ids))
        biases = [[ids.index(token), bias] for token, bias in stated["logit_bias"]]
        sampler = llama_server(
            {**stated, "logit_bias": biases}, [ids.index(token) for token in self.prompt], vocab
        )
        drawn = sampler.sample(np.array([*logits.values()], np.float32))
        return {ids[i]: p for i, p in sampler.candidates().items() if p > 0}, ids[drawn]

    def off(self, answer: Answer, stated: Mapping[str, Any]) -> float:
        """Return the largest difference of a p, of itself; of another token drawn infinity."""
        if stated["mirostat"] and 2 ** (-2 * stated["mirostat_tau"]) < self.tokens[KEPT - 1].p:
            return 0.0  # it keeps more tokens than an answer lists
        if _cut(answer):
            return 0.0
        want, drawn = self.predicted(stated)
        got = {one.id: one.logprob for one in answer.reports[0].top if one.logprob > 0}
        if got.keys() != want.keys() or answer.reports[0].token.id != drawn:
            return math.inf
        return max(abs(got[token] - p) / p for token, p in want.items())


def values_of(row: ServerParameter) -> list[Any]:
    """Return the values to compare: those of the dialect, and of each class that it allows."""
    if row.name == "logit_bias":
        near = [[[0, bias * sign], [0, 0.37 - bias * sign]] for bias in _BIASES for sign in (1, -1)]
        return [*row.exact, *near]
    low, high = row.span or (1, 0)
    numbers = _WHOLE if type(row.default) is int else _FLOATS
    classes = [sign * n for n in numbers for sign in (1, -1) if low <= sign * n <= high]
    return [*row.exact, *dict.fromkeys(classes)]


def exactly(probe: Probe, row: ServerParameter) -> Observation | None:
    """Return the first value of a parameter that leaves something else than the reference. If all
    are neutral and it does, other parameters are not judged: "parameters together" reports that."""
    if not (values := values_of(row)):
        return None
    known = known_of(probe, long=row.name.endswith("last_n"))
    if known.neutral is not None and row.name not in _BASE:
        return None
    # null stands for the default, which of a seed is random
    values += [None] * (row.default is not None and row.effect != "seed")
    # At a high temperature mirostat keeps more tokens than an answer lists.
    other = {"temperature": 0.5} if "mirostat" in row.also else _FLAT
    bases = [_BASE, _BASE | other] if row.span else [_BASE]
    for i, (value, base) in enumerate((value, base) for base in bases for value in values):
        stated, form = _stated(probe, row, known, value, i, base)
        answer = _asked(probe, known.prompt, {**stated, row.name: form}, i % 2 == 1)
        if answer.refusal and form != stated[row.name]:
            probe.refused.append(f"{row.name} {json.dumps(form)}")
        elif answer.refusal or not (answer.reports or _cut(answer)):
            return Observation("error", f"{row.name} {json.dumps(form)}: {answer.got}", answer)
        elif (off := known.off(answer, stated)) > NEAR:
            line = f"{row.name} {json.dumps(form)}: what is drawn from is not the reference's"
            line += "" if off == math.inf else f", by {off:.2g} of a p"
            return Observation("other meaning", line, answer)
    return None


def _stated(
    probe: Probe, row: ServerParameter, known: Known, value: Any, i: int, base: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Return the parameters of a request, and the form in which its value is sent. JSON has one
    kind of number. A bias is of an id, as a pair or in an object, or of a text. Samplers may be
    letters."""
    form = value
    if row.name == "logit_bias" and value is not None:
        value = [[known.tokens[place].id, bias] for place, bias in value]
        object_of = {str(token): bias for token, bias in value}
        form = object_of if i % 3 == 1 and len(object_of) == len(value) else value
        if i % 3 == 2:
            form = [[known.texts[token], bias] for token, bias in value]
            spelled = [(tokens_of(probe.client, text), bias) for text, bias in form]
            value = [[token, bias] for tokens, bias in spelled for token in tokens]
    elif row.name == "dry_sequence_breakers" and value is not None:
        form = value = [known.texts[known.prompt[place - 3]] for place in value]
    elif type(value) is int and i % 3 == 2:
        form = float(value)
    several = value if isinstance(value, dict) else row.at(row.default if value is None else value)
    stated = {**probe.neutral, **base, **several}
    if stated["samplers"][:1] != ["top_k"]:
        stated["samplers"] = ["top_k", *stated["samplers"]]
    if isinstance(value, dict):
        form = stated[row.name]
    if row.name == "samplers" and form is not None:
        form = stated["samplers"]
        form = "".join(_LETTERS[name] for name in form) if i % 3 == 2 else form
    return stated, form


def _asked(probe: Probe, prompt: list[int], stated: Mapping[str, Any], streams: bool) -> Answer:
    more = {"n_probs": KEPT, "post_sampling_probs": True, "n_predict": 1}
    answer = probe.client.streamed(prompt, {**stated, **more}) if streams else None
    if answer is None or not answer.reports:  # it has none of a token without a text
        answer = probe.client.complete(prompt, {**stated, **more})
    return answer


def _cut(answer: Answer) -> bool:
    """Return whether the token is a part of a character, of which no probabilities come."""
    return not answer.reports and "\ufffd" in answer.text


def known_of(probe: Probe, long: bool = False) -> Known:
    """Find a prompt whose tokens the model lists after it, once for a probe. long: longer than the
    default windows."""
    if long not in probe.oracle_prompts:
        probe.oracle_prompts[long] = _known(probe, 70 if long else 2)
    known: Known = probe.oracle_prompts[long]
    return known


def _known(probe: Probe, between: int) -> Known:
    prompt, texts = [TOKEN], {TOKEN: ""}
    for tried in range(_TRIES):
        answer = probe.ask(prompt, length=1, temperature=1.0, seed=1, n_probs=LISTED)
        tokens = answer.reports[0].top if answer.reports else ()
        if len(tokens) < LISTED or not all(0 < one.p <= 1 for one in tokens):
            line = f"no probabilities to compare: {answer.got}"
            raise ServerFailure("rejected", line, answer.sent)
        texts |= {one.id: one.text for one in tokens}
        ids = [one.id for one in tokens]
        likely = {*ids[: KEPT // 2]} & {*prompt[:4], *prompt[-4:]}
        if len(likely) >= 5 or tried + 1 == _TRIES:
            break
        z = prompt[-1] if tried else ids[0]  # its list is nearly the same next time
        u, q, v, w, x, y, *rest = [token for token in ids if token != z]
        prompt = [x, y, z, u, *rest[:between], z, q, y, z, v, x, y, z, w, x, y, z]
    known = _with_shift(probe, Known(prompt, tokens, texts, 0.0))
    stated = {**probe.neutral, **_BASE}
    answer = _asked(probe, prompt, stated, False)
    sound = answer.reports and known.off(answer, stated) <= NEAR
    return known if sound else replace(known, neutral=answer)


def _with_shift(probe: Probe, known: Known) -> Known:
    """Solve for the constant by what a penalty does to each token of the prompt: it divides a
    logit above 0, and multiplies another."""
    stated = {**probe.neutral, **_BASE, "repeat_penalty": _PENALTY}
    answer = _asked(probe, known.prompt, stated, False)
    if not answer.reports:
        return known
    p = {one.id: math.log(one.logprob) for one in answer.reports[0].top if one.logprob > 0}
    rows = {one.id: one.logprob for one in known.tokens if one.id in p}
    free = next((token for token in rows if token not in known.prompt), None)
    if free is None:
        return known
    shifts = [0.0]
    for token in [token for token in rows if token in known.prompt]:
        moved = p[token] - p[free] - (rows[token] - rows[free])
        shifts += [moved / by - rows[token] for by in (1 / _PENALTY - 1, _PENALTY - 1)]
    tried = [replace(known, shift=shift) for shift in shifts]
    return min(tried, key=lambda one: one.off(answer, stated))


def _as_tokens(client: Client) -> Observation:
    """Compare prompts with their tokens: each kind of character at both ends, once and again."""
    for i, prompt in enumerate((ONE_APART[0], ONE_APART[-1], *TEXTS)):
        ids = tokens_of(client, prompt, add_special=True)
        ask = client.streamed if i % 2 else client.complete
        want, got = first_token(client, ids), first_token(client, prompt, ask)
        if wrong := _far(want, got):
            return honoured_if(False, "", f"{prompt[-40:]!r} as tokens: {wrong}", got)
        mixed = first_token(client, [*ids[:3], prompt], ask)
        if wrong := _far(first_token(client, [*ids[:3], *tokens_of(client, prompt)]), mixed):
            return honoured_if(False, "", f"{prompt[-40:]!r} behind tokens: {wrong}", mixed)
        if got.last.get("tokens_evaluated", len(ids)) != len(ids):
            line = f"{got.last['tokens_evaluated']} tokens of {prompt[-40:]!r}, it has {len(ids)}"
            return honoured_if(False, "", line, got)
    return Observation("honoured", f"{i + 1} texts and their tokens have the same probabilities")


def _kept(client: Client) -> Observation:
    several = [ONE_APART[0], f"{ONE_APART[0]} three", ONE_APART[0][:20]]
    alone = [first_token(client, prompt) for prompt in several]
    client.streamed(several[0], {"cache_prompt": True, "temperature": 1.0}, leave_after=3)
    for i in (0, 1, 0, 2, 1, 0):
        kept = first_token(client, several[i], cache_prompt=True)
        if wrong := _far(alone[i], kept):
            return honoured_if(False, "", f"a kept prompt: {wrong}", kept)
    return Observation("honoured", f"the probabilities of {len(several)} prompts stay")


def _far(one: Answer, other: Answer) -> str:
    want, got = listed(one), listed(other)
    far = [name for name in want if not abs(want[name] - got.get(name, 1e9)) <= OF_BATCHES]
    lost = not want or len(far) > 1  # the last of a list may be another at a near tie
    return f"{other.got}, {len(far)} of {len(want)} probabilities differ" if lost else ""


def _together(client: Client) -> Observation:
    """Set several parameters at once, and compare what is drawn from with the reference. Each two
    of `together` are set in one request of them, and either of them without the other; then any,
    with values of each class. A grammar that allows everything, and a stop string that never comes,
    have no effect."""
    probe = Probe(client)
    several = [(dict.fromkeys(names), False) for names in sets_of([*client.dialect.together])]
    rng = Random(_SEED)
    for i, (names, long) in enumerate([({}, False), *several, *_drawn_sets(client, rng)]):
        known = known_of(probe, long)
        values = {name: _set(probe, known, name, value) for name, value in names.items()}
        stated = {**probe.neutral, **_BASE, **values}
        answer = _asked(probe, known.prompt, stated, i % 2 == 1)
        if answer.refusal or not (answer.reports or _cut(answer)):
            return Observation("error", f"{answer.got}: {values}", answer)
        if (off := known.off(answer, stated | {"grammar": ""})) > NEAR:
            line = f"{values}: what is drawn from is not the reference's, by {off:.2g} of a p"
            return honoured_if(False, "", line, answer)
    return Observation(
        "honoured",
        f"{len(client.dialect.together)} parameters, each with each other one, in {i + 1} sets",
    )


def _drawn_sets(client: Client, rng: Random) -> Iterator[tuple[dict[str, Any], bool]]:
    """Return sets of parameters with values of each class, and whether the prompt is long."""
    rows = {row.name: row for row in client.dialect.parameters}
    for i in range(_RANDOM):
        names: dict[str, Any] = {}
        for name in rng.sample([*client.dialect.together], rng.randint(2, 9)):
            if name == "samplers":
                rest = [*_NAMES[1:], "temperature"]
                names[name] = ["top_k", *rng.sample(rest, rng.randint(1, len(rest)))]
            elif values := values_of(rows[name]):
                names[name] = rng.choice(values)
        yield names, i % 2 == 1


def _set(probe: Probe, known: Known, name: str, value: Any) -> Any:
    """Return the value of a parameter as it is sent; None: that of `together`."""
    row = probe.required_row(name)
    value = probe.client.dialect.together[name] if value is None else value
    return _stated(probe, row, known, value, 0, _BASE)[0][name]


def sets_of(names: list[str]) -> list[list[str]]:
    """Return sets of names: all, and for each bit of their places those that have it and those
    that have not, twice with other places."""
    orders = [[names[i * step % len(names)] for i in range(len(names))] for step in (1, 5)]
    return [names] + [
        [name for i, name in enumerate(order) if i >> bit & 1 == wanted]
        for order in orders
        for bit in range((len(names) - 1).bit_length())
        for wanted in (0, 1)
    ]


def _alike(
    one: list[tuple[TokenProbability, ...]], other: list[tuple[TokenProbability, ...]]
) -> bool:
    """Return whether the tokens are the same, and the values but for the order of a sum."""
    if [[a.id for a in row] for row in one] != [[b.id for b in row] for row in other]:
        return False
    pairs = [pair for rows in zip(one, other, strict=True) for pair in zip(*rows, strict=True)]
    return all(math.isclose(a.logprob, b.logprob, rel_tol=NEAR, abs_tol=1e-6) for a, b in pairs)


def _listed_in_streams(client: Client) -> Observation:
    """Require the same probabilities of an answer and a stream, and of a shorter list those that a
    longer one begins with. No length of the list changes the text."""
    for after in ({}, {"post_sampling_probs": True}):
        sent = {**client.dialect.neutral, "n_predict": 3, "temperature": 2.0, "seed": 3, **after}
        long = client.complete(ONE_APART[0], sent | {"n_probs": _COUNTS[0]})
        for i, count in enumerate(_COUNTS):
            ask = client.complete if i % 2 else client.streamed
            answer = ask(ONE_APART[0], sent | {"n_probs": count})
            begins = [(one.token, *one.top[:count]) for one in long.reports if count]
            lists = [(one.token, *one.top) for one in answer.reports]
            if not long.same(answer) or not _alike(begins, lists):
                line = f"n_probs {count}, {after}: not what {_COUNTS[0]} lists: {answer.got}"
                return honoured_if(False, "", line, answer)
            if any(len({one.logprob for one in several}) < 0.9 * count for several in lists):
                return honoured_if(False, "", f"n_probs {count}: many have one value", answer)
    return Observation("honoured", f"{len(_COUNTS)} lengths of a list, also in streams")


RANDOM = check_random
STATE: dict[str, ServerTest] = {
    "lists of each length": _listed_in_streams,
    "a prompt as tokens": _as_tokens,
    "a kept prompt": _kept,
    "parameters together": _together,
    **OWN,
}
