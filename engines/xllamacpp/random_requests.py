"""Compare answers to random requests with the oracle: every field that an answer states.

Texts without a seed are judged by what their tokens were drawn from (free.py). Requests come alone,
on one connection, and several at once. The texts of the last two, and of prompts that are kept,
have logits that a batch moved (concurrency.py): near ties are followed there. A request that fails
is shrunk to the fields that it needs.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from threading import Barrier
from typing import Any

import numpy as np

from sampler_parity.engines.xllamacpp.drawn import TABLE, DrawnRequest, Source, stated
from sampler_parity.engines.xllamacpp.free import FreeDraws
from sampler_parity.engines.xllamacpp.schemas import grammar_of, missing
from sampler_parity.engines.xllamacpp.slot import Slot
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.client import Row
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.programs.servers import http, invariants
from sampler_parity.programs.servers.answer import Answer, TokenReport
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.concurrency import MOVED, moved
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.observation import Observation
from sampler_parity.programs.servers.oracle.decoder import TextLogits
from sampler_parity.programs.servers.oracle.model import DecodedModel, KnownModel, observe_with
from sampler_parity.programs.servers.oracle.samplers import llama_server
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.values import bound, log_softmax
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.pipelines.common_sampler import Output
from sampler_parity.reference.vocab import Vocab

_CHUNK, _TRIES = 8, 120  # requests that one may depend on; requests of a shrinker
_LONGEST = 1000  # tokens of an answer that are predicted
_PLAIN: dict[str, Any] = {"n_predict": 8, "seed": 1}  # fields that are made plain, not left out
# Fields that do not change what a token is drawn from.
_NOT_SAMPLING = ("n_cmpl", "cache_prompt", "json_schema")
_NOT_LAW = ("seed", "n_predict", "stop", "n_probs", "post_sampling_probs", *_NOT_SAMPLING[:2])
_PIECE = {"index", "content", "tokens", "stop", "id_slot", "tokens_predicted", "tokens_evaluated"}
_AT_TIMES = {"completion_probabilities", "timings"}  # the last piece has timings
Ask = Callable[[Sequence[DrawnRequest]], list[Answer | ServerFailure]]


@dataclass(frozen=True)
class Drawn:
    """Hold what a token was drawn from: logits, and the ids and p that the samplers leave."""

    row: Row
    ids: list[int]
    p: list[float]


@dataclass(frozen=True)
class Predictor:
    """Compare an answer with the oracle. size: of the context; 0: unknown."""

    model: DecodedModel
    size: int
    free: FreeDraws = field(default_factory=FreeDraws)

    def read(self, prompt: Any) -> list[int]:
        """Return the tokens that the server makes of a prompt: text or tokens or both."""
        known, parts = self.model.known, [prompt] if isinstance(prompt, str) else prompt
        bos = next(iter(known.prompts.values()))[: known.adds_bos]
        tokens = [*bos] if isinstance(parts[0], str) else []
        for part in parts:
            tokens += known.vocab.tokenize(part.encode()) if isinstance(part, str) else [part]
        return tokens

    def difference(self, request: DrawnRequest, answer: Answer, loose: bool) -> str:
        """Return the first thing that is not as predicted, or "". loose: near ties are followed."""
        if answer.refusal:
            return f"refused: {answer.refusal}"
        several, n = request.several, request.fields.get("n_cmpl", 1)
        prompts = request.prompt if several and n == 1 else [request.prompt] * n
        answers, loose = [answer, *answer.siblings], loose or len(prompts) > 1
        if len(answers) != len(prompts):
            return f"{len(answers)} answers to {len(prompts)}"
        fields = stated(request.fields, self.model.known.vocab)
        for i, (prompt, one) in enumerate(zip(prompts, answers, strict=True)):
            own = fields | ({"seed": fields["seed"] + i} if n > 1 and "seed" in fields else {})
            near = loose or "cache_prompt" in fields
            try:
                line = self._difference(self.read(prompt), own, one, near)
            except (BackendFailure, ChainError, InputError) as failure:
                line = f"not predicted: {failure}"
            if line:
                return line if i == 0 else f"answer {i}: {line}"
        return ""

    def _difference(
        self, prompt: list[int], fields: Mapping[str, Any], answer: Answer, loose: bool
    ) -> str:
        vocab = self.model.known.vocab
        stops = [stop.encode() for stop in fields.get("stop", ())]
        context = self.size - len(prompt) if self.size else 0
        slot = Slot(vocab, fields.get("n_predict", -1), context, stops)
        sampling = {k: v for k, v in fields.items() if k not in _NOT_SAMPLING}
        asked = fields.get("json_schema")
        reported = (answer.last.get("generation_settings") or {}).get("grammar", "")
        grammar = None if asked is None else grammar_of(asked, vocab, reported)
        sampler = llama_server(sampling, prompt, vocab, grammar)
        drawn: list[Drawn] = []
        seeded = "seed" in fields
        # A stream does not name the tokens of a part of a character.
        named_all = len(answer.tokens or ()) == answer.last.get("tokens_predicted")
        whole = not answer.sent.get("stream") or named_all
        if not whole and (loose or not seeded):  # cannot be followed
            return ""
        guess = answer.tokens or ()
        known = min(len(guess), context or len(guess), _LONGEST) - 1
        logits = TextLogits(self.model.logits, prompt, guess[: max(known, 0)])
        while slot.stop_type == "none":
            at, row = len(slot.tokens), np.array(logits.after(slot.tokens))
            before = sampler.sampler.clone() if loose else None
            token = sampler.sampler.sample(Output(row.copy()))
            left = sampler.sampler.get_candidates(do_sort=True)
            drawn.append(Drawn(row, left.ids.tolist(), left.p.tolist()))
            named = guess[at] if whole and at < len(guess) else token
            free = not seeded and named in left.ids[left.p > 0]
            after = None
            if named != token and not free and before is not None:
                after = moved(before, row, named, token)
            if named != token and not free and after is None:
                return f"token {at} is {named}, expected {token}"
            if after is not None:
                sampler = after
            else:
                sampler.sampler.accept(named, is_generated=True)
            slot.add(named)
        line = _reported(answer, slot, prompt)
        line = line or _listed(vocab, answer, slot, drawn, fields, loose)
        if line or seeded:
            return line
        law = {name: value for name, value in fields.items() if name not in _NOT_LAW}
        rows = [dict(zip(one.ids, one.p, strict=True)) for one in drawn]
        return self.free.add(json.dumps([prompt, law]), slot.tokens, rows)


def _reported(answer: Answer, slot: Slot, prompt: list[int]) -> str:
    """Return what an answer states otherwise than the slot: text, pieces, end and counts."""
    last, streamed = answer.last, answer.sent.get("stream")
    want: dict[str, Any] = {
        "stop_type": slot.stop_type,
        "stopping_word": slot.stopping_word,
        "truncated": slot.truncated,
        "tokens_predicted": len(slot.tokens),
        "tokens_evaluated": len(prompt),
        "has_new_line": slot.has_new_line,
    }
    got = {name: last.get(name) for name in want}
    pieces = [*slot.pieces, b""] if streamed else [slot.text]
    want["content"] = [piece.decode(errors="ignore") for piece in pieces]
    got["content"] = [str(event["content"]).replace("\ufffd", "") for event in answer.events]
    places = slot.reported if streamed else range(len(slot.tokens))
    want["tokens"] = [slot.tokens[i] for i in places]
    got["tokens"] = [*(answer.tokens or ())]
    if streamed:
        events = answer.events[:-1]
        want["tokens_predicted of each"] = [place + 1 for place in slot.reported]
        got["tokens_predicted of each"] = [event.get("tokens_predicted") for event in events]
        want["fields of each"] = [sorted(_PIECE)] * len(slot.reported)
        got["fields of each"] = [sorted({*event} - _AT_TIMES) for event in events]
    for name, value in want.items():
        if got[name] != value:
            return f"{name} {json.dumps(got[name])}, expected {json.dumps(value)}"
    return ""


def _listed(
    vocab: Vocab,
    answer: Answer,
    slot: Slot,
    drawn: list[Drawn],
    fields: Mapping[str, Any],
    loose: bool,
) -> str:
    """Return the first report that is not that of its token, or a list of the wrong length."""
    count = fields.get("n_probs", 0)
    places = (slot.reported if answer.sent.get("stream") else slot.listed) if count else []
    if len(answer.reports) != len(places):
        return f"{len(answer.reports)} tokens are reported, expected {len(places)}"
    for place, piece, report in zip(places, slot.pieces, answer.reports, strict=False):
        named = [(report.token, piece)]
        named += [(one, vocab.piece(one.id, special=False)) for one in report.top]
        if report.token.id != slot.tokens[place]:
            return f"token {place} is reported as {report.token.id}"
        for one, spelled in named:
            if one.text.replace("\ufffd", "") != spelled.decode(errors="ignore"):
                return f"token {place}: {one.id} is reported as {one.text!r}, it is {spelled!r}"
        judge = _after if fields.get("post_sampling_probs") else _before
        if line := judge(report, drawn[place], count, loose):
            return f"token {place}: {line}"
    return ""


def _before(report: TokenReport, drawn: Drawn, count: int, loose: bool) -> str:
    """Require the model's logprobs, and a list of the most likely."""
    logprobs, n = log_softmax(drawn.row), len(drawn.row)
    slack = 2 * MOVED * loose
    best = np.sort(logprobs)[::-1][:count]
    for one in (report.token, *report.top):
        right = float(logprobs[one.id])
        if not abs(one.logprob - right) <= bound(n, right) + slack:
            return f"{one.id} has the logprob {one.logprob:.7g}, expected {right:.7g}"
    if len(report.top) != len(best) or len({one.id for one in report.top}) != len(best):
        return f"{len(report.top)} logprobs are listed, expected {len(best)}"
    for one, right in zip(report.top, best, strict=True):
        if not abs(one.logprob - right) <= 2 * (bound(n, right) + slack):
            return f"{one.id} is listed with {one.logprob:.7g}, expected one with {right:.7g}"
    return ""


def _after(report: TokenReport, drawn: Drawn, count: int, loose: bool) -> str:
    """Require the p that the samplers leave, float32 for float32. A batch moves them: then only
    the sum is judged, by the invariants."""
    if loose:
        return ""
    ids = [token for token, p in zip(drawn.ids, drawn.p, strict=True) if p > 0][:count]
    right = dict(zip(drawn.ids, drawn.p, strict=True))
    for one in (report.token, *report.top):
        p = right.get(one.id, 0.0)
        if not abs(one.logprob - p) <= 4 * 2.0**-24 * p:
            return f"{one.id} has p {one.logprob:.7g}, expected {p:.7g}"
    got = [one.id for one in report.top]
    if [right[token] for token in got] != [right[token] for token in ids] or len({*got}) < len(ids):
        return f"p of {got[:9]} are listed, expected {ids[:9]}"
    return ""


@dataclass(frozen=True)
class Asker:
    """Ask requests in one way, and compare. loose: as in Predictor."""

    client: Client
    predictor: Predictor
    ask: Ask
    loose: bool

    def wrong(self, requests: Sequence[DrawnRequest]) -> tuple[int, str, Answer] | None:
        """Return the place of the first request whose answer is not as predicted, and how."""
        came, left = self.ask(requests), False
        for i, (request, answer) in enumerate(zip(requests, came, strict=False)):
            loose, left = self.loose or left, request.leaves is not None
            if left or _nonsense(self.client, request):
                continue
            if isinstance(answer, ServerFailure):
                return i, answer.line, Answer(answer.sent, refusal=answer.line)
            broken = [] if answer.refusal else [*self._broken(answer)]
            if line := self.predictor.difference(request, answer, loose) or "".join(broken[:1]):
                return i, line, answer
        return None

    def _broken(self, answer: Answer) -> Iterator[str]:
        for one in (answer, *answer.siblings):
            for name, line in invariants.broken(self.client.dialect, one):
                yield f"{name}: {line}"

    def shrunk(self, requests: list[DrawnRequest], at: int) -> str:
        """Return in one line the fields that a failure needs, of the requests that it needs."""
        left = iter(range(_TRIES))

        def fails(several: Sequence[DrawnRequest]) -> bool:
            return next(left, None) is not None and self.wrong(several) is not None

        if self.loose:
            starts = [requests[at : at + 1], requests]
        else:
            starts = [requests[max(0, at - n) : at + 1] for n in (0, 1, 3, at)]
        kept = next((several for several in starts if fails(several)), None)
        if kept is None:
            return f"seen once, {_named(requests[at])}: "
        for one in [*kept]:
            if len(kept) > 1 and fails(fewer := [other for other in kept if other is not one]):
                kept = fewer
        for i in reversed(range(len(kept))):
            for simpler in _simpler(kept[i]):
                tried = [*kept[:i], simpler(kept[i]), *kept[i + 1 :]]
                if tried[i] != kept[i] and fails(tried):
                    kept = tried
        return " then ".join(map(_named, kept)) + ": "


def _nonsense(client: Client, request: DrawnRequest) -> bool:
    """Return whether a request has a value that may be refused."""
    rows = client.dialect.parameters
    return any(row.beyond and request.fields.get(row.name) == row.wrong for row in rows)


_SHORT = "The list of names: one, two, three, one, two,"


def _simpler(request: DrawnRequest) -> Iterator[Callable[[DrawnRequest], DrawnRequest]]:
    """Give functions that each make a request simpler: all fields at once, then one by one."""
    yield lambda one: replace(one, fields=dict(_PLAIN))
    yield lambda one: replace(one, streamed=False)
    yield lambda one: replace(one, names={})
    yield lambda one: replace(one, parts=())
    yield lambda one: replace(one, prompt=_SHORT)
    for name in request.fields:
        yield partial(_without, name)
    if isinstance(stops := request.fields.get("stop"), list):
        for stop in stops:
            yield partial(_with_stop, stop)


def _without(name: str, request: DrawnRequest) -> DrawnRequest:
    rest = {k: v for k, v in request.fields.items() if k != name}
    return replace(request, fields=rest | ({name: _PLAIN[name]} if name in _PLAIN else {}))


def _with_stop(stop: str, request: DrawnRequest) -> DrawnRequest:
    alone = {"stop": [stop]} if stop in request.fields.get("stop", ()) else {}
    return replace(request, fields=request.fields | alone)


def _named(request: DrawnRequest) -> str:
    """Name the fields of a request that are not plain."""
    plain = (
        {k: v for k, v in _PLAIN.items() if request.fields.get(k) == v} if not request.names else {}
    )
    named = {k: v for k, v in request.sent.items() if k not in plain}
    named |= {"prompt": request.prompt} if request.prompt != _SHORT else {}
    named |= {"stream": True} if request.streamed else {}
    named |= {"leaves": request.leaves} if request.leaves is not None else {}
    named |= {"response_fields": [*request.parts]} if request.parts else {}
    line = json.dumps(named, ensure_ascii=False)
    return line if len(line) < 200 else f"{line[:160]}... ({len(named)} fields)"


def check_random(
    client: Client, known: KnownModel, size: int = 0, seed: int = TABLE["seed"]
) -> Iterator[ServerResult]:
    """Return a result for each way to ask. size: of the context; 0: unknown. Raises InputError if
    nothing decodes the model."""
    tests = {
        f"random requests, {way}": partial(_random, way, size, seed)
        for way in ("alone", "on one connection", "at once")
    }
    yield from observe_with(known, "exact", tests, client)


def _random(way: str, size: int, seed: int, model: DecodedModel, client: Client) -> Observation:
    predictor = Predictor(model, size)
    prompts = [*model.known.prompts.values()]
    rng = Random(f"{seed} {way}")
    lacks = missing()
    source = Source(
        rng, client.dialect, model.known.vocab, prompts, predictor.read, size, not lacks
    )
    ask = {"alone": _alone, "on one connection": _kept, "at once": _at_once}[way]
    asker = Asker(client, predictor, partial(ask, client), way == "at once")
    count = 0
    for requests in _chunks(way, source, asker):
        count += len(requests)
        if (wrong := asker.wrong(requests)) is not None:
            at, line, answer = wrong
            fields = asker.shrunk(requests, at)
            line = f"seed {seed}, request {count - len(requests) + at}: {fields}{line}"
            return Observation("other meaning", line, answer)
    if line := predictor.free.wrong:
        return Observation("other meaning", f"seed {seed}: {line}")
    done = f"{count} requests of seed {seed}, each as predicted"
    return Observation("honoured", f"{done}; no JSON schemas: {lacks}" if lacks else done)


def _chunks(way: str, source: Source, asker: Asker) -> Iterator[list[DrawnRequest]]:
    """Give requests that come together. Some are like an earlier one, with its text's stop strings
    or another value; some are left, or refused."""
    rng, before = source.rng, source.request()
    earlier = [before]
    sizes = {"alone": TABLE["alone"] // _CHUNK, "on one connection": TABLE["kept"] // _CHUNK}
    for _ in range(sizes.get(way, TABLE["batches"])):
        requests: list[DrawnRequest] = []
        for _ in range(_CHUNK if way != "at once" else rng.randint(2, _CHUNK)):
            kind = rng.random()
            other = rng.choice(earlier) if rng.random() < 0.3 else before
            one = source.variant(other) if kind < 0.3 else source.request()
            if not before.seeded and rng.random() < 0.6:
                one, kind = source.again(before), 0.5
            if way == "on one connection":
                one = replace(one, streamed=False)
            if 0.3 <= kind < 0.45 and not before.several and way == "alone":
                text = asker.ask([before])[0]
                plain = text.plain if isinstance(text, Answer) else ""
                one = source.with_stops(before, plain) if plain else one
            elif kind > 0.97:
                one = source.broken(one)
            elif kind > 0.94 and way == "alone" and not one.several and len(requests) < _CHUNK - 1:
                one = replace(one, streamed=True, leaves=rng.randint(1, 4))
            left = bool(requests) and requests[-1].leaves is not None
            if way == "at once" or left or one.several or "cache_prompt" in one.fields:
                one = source.beside(one)
            if way == "at once":  # several answers to one spoil a kept prompt (finding 76)
                one = replace(one, fields={k: v for k, v in one.fields.items() if k != "n_cmpl"})
            if way != "alone" or one.several or not one.seeded or "cache_prompt" in one.fields:
                one = replace(one, parts=())  # two answers may differ
            requests.append(one)
            if one.leaves is None and kind <= 0.97:
                before = one
                earlier.append(one)
        yield requests


def _one(client: Client, request: DrawnRequest) -> Answer | ServerFailure:
    try:
        if request.streamed:
            answer = client.streamed(request.prompt, request.sent, request.leaves)
        else:
            answer = client.complete(request.prompt, request.sent)
        if request.parts and request.leaves is None and not answer.refusal:
            _require_parts(client, request, answer)
        return answer
    except ServerFailure as failure:
        return failure


def _require_parts(client: Client, request: DrawnRequest, answer: Answer) -> None:
    """Ask again for some fields of an answer alone. Raises ServerFailure if others come."""
    sent = {**request.sent, "response_fields": [*request.parts]}
    body, path = client.body(request.prompt, sent), client.dialect.path
    if request.streamed:
        body["stream"] = True
        events = http.stream(client.address, path, body, client.seconds, client.most(body))
        got = None if isinstance(events, http.Reply) else [event.data for event in events][-1]
    else:
        got = http.ask(client.address, path, body, client.seconds, client.most(body)).data
    whole: Mapping[str, Any] = answer.last
    nested = {
        f"{k}/{n}": v for k, of in whole.items() if isinstance(of, dict) for n, v in of.items()
    }
    want = {name: v for name, v in {**whole, **nested}.items() if name in request.parts}
    if got != want:
        line = f"response_fields {json.dumps(request.parts)}: {json.dumps(got)[:200]} comes"
        raise ServerFailure("rejected", f"{line}, expected {json.dumps(want)[:200]}")


def _alone(client: Client, requests: Sequence[DrawnRequest]) -> list[Answer | ServerFailure]:
    return [_one(client, request) for request in requests]


def _kept(client: Client, requests: Sequence[DrawnRequest]) -> list[Answer | ServerFailure]:
    """Ask on one connection, and on a new one when the server closes it."""
    answers: list[Answer | ServerFailure] = []
    while rest := requests[len(answers) :]:
        try:
            answers += client.in_turn([(one.prompt, one.sent) for one in rest])
        except ServerFailure as failure:
            answers.append(failure)
    return answers


def _at_once(client: Client, requests: Sequence[DrawnRequest]) -> list[Answer | ServerFailure]:
    gate = Barrier(len(requests), timeout=client.seconds)
    with ThreadPoolExecutor(len(requests)) as pool:
        return [*pool.map(lambda one: (gate.wait(), _one(client, one))[1], requests)]
