"""Check each parameter of a server's dialect: the server honours it, ignores it, or does something
else.

Every request states all documented parameters at values without effect, except those that are
tested, so an undocumented default cannot interfere. Texts are compared, so the model may be
unknown. A verdict is about the visible effect; only the oracle shows that the values are right
(programs/servers/oracle/check.py).
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sampler_parity.harness.processes.phase import phase
from sampler_parity.harness.verdicts import ServerVerdict
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import (
    EOS,
    ITS_OWN,
    UNKNOWN,
    WORD,
    ServerParameter,
)
from sampler_parity.programs.servers.effects import EFFECTS
from sampler_parity.programs.servers.fingerprint.counting import COUNTING
from sampler_parity.programs.servers.fingerprint.trait import LENGTH as COUNTED
from sampler_parity.programs.servers.fingerprint.trait import Trait
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.ladders import climb, streamed
from sampler_parity.programs.servers.observation import Observation, failed, result_of
from sampler_parity.programs.servers.probe import (
    LENGTH,
    PROMPTS,
    SEEDS,
    Probe,
    Undetermined,
    later_words,
)
from sampler_parity.programs.servers.server_record import ServerResult

_HINT = "; pass --flags or --model-file if they set another"
STATUS_500 = "nonsense is answered with status 500"


def check_parameters(client: Client) -> Iterator[ServerResult]:
    """Return a result for each parameter, and for a name that no server has."""
    probe = Probe(client)
    try:
        prepare(probe)
    except ServerFailure as failure:
        yield _result(client, "seed", Observation("error", failure.line), [])
        return
    if client.selects("unknown name"):
        yield _unknown_name(probe)
    for row in client.dialect.parameters:
        if client.selects(row.name):
            with phase(f"parameter {row.name}"):
                result = check_parameter(probe, row)
            yield result


def prepare(probe: Probe) -> None:
    """Choose the prompt, and find out whether seeds repeat. Raises ServerFailure."""
    choose_prompt(probe)
    probe.seeds = probe.again(probe.hot()).text == probe.hot().text


Climb = Callable[[Probe, ServerParameter, Answer], Observation | None]


def check_parameter(
    probe: Probe, row: ServerParameter, further: Climb = climb, nonsense: bool = True
) -> ServerResult:
    """Return the result for a parameter: its effect, then further values, its default and null, and
    nonsense. nonsense: also what may be accepted, and not only what must be refused."""
    before = probe.client.traffic.requests
    silent: list[str] = []
    try:
        row = fill(probe, row)
        observed = EFFECTS[row.effect](probe, row)
        if row.constrains and _alone_refused(probe, observed):
            observed = replace(observed, verdict="refused")
        if not row.documented:
            observed = _silent_default(probe, row, observed) or _undocumented(observed)
        elif observed.verdict == "honoured":
            assert observed.answer is not None
            quick = probe.client.quick
            wrong = None if quick else further(probe, row, observed.answer)
            wrong = wrong or _default(probe, row)
            if not quick:
                wrong = wrong or _null(probe, row) or _dropped(probe, row, silent)
                wrong = wrong or _counted(probe, row)
                wrong = wrong or (_nonsense(probe, row, silent) if nonsense else None)
            observed = wrong or observed
        if row.constrains and observed.verdict == "ignored":
            observed = replace(observed, verdict="silently ignored")
    except ServerFailure as failure:
        return _result(probe.client, row.name, failed(failure), [])
    except Undetermined as why:
        return _result(probe.client, row.name, Observation("skipped", str(why)), [])
    required: list[ServerVerdict] = ["honoured", "refused"] if row.constrains else ["honoured"]
    if not row.documented:  # a note, not a failure
        required = ["honoured", "ignored", "undocumented"]
    if silent and row.documented:  # the clamped value is nonsense
        required.append("clamped")
    if probe.refused:  # not offered
        observed = replace(observed, evidence=f"{observed.evidence}; refused: {probe.refused}")
        probe.refused = []
    requests = probe.client.traffic.requests - before
    result = _result(probe.client, row.name, observed, silent)
    return result.model_copy(update={"required": required, "requests": requests})


def _alone_refused(probe: Probe, observed: Observation) -> bool:
    """Return whether a request is refused, and the same without the parameter is not."""
    refused = observed.answer is not None and observed.answer.refusal
    return bool(refused) and not probe.greedy().refusal


def fill(probe: Probe, row: ServerParameter) -> ServerParameter:
    """Put a word of the greedy text, and the token that ends texts, in their places. Raises
    Undetermined."""
    text = json.dumps([row.effective, row.also])
    if WORD in text:
        text = text.replace(json.dumps(WORD), json.dumps(_word(probe)))
    if EOS in text:
        if (eos := probe.client.eos) is None:
            raise Undetermined("the token that ends a text is unknown: give it with --eos")
        text = text.replace(f'"{EOS}":', f'"{eos}":').replace(f'"{EOS}"', str(eos))
    effective, also = json.loads(text)
    return replace(row, effective=effective, also=also)


def choose_prompt(probe: Probe) -> None:
    """Take the first prompt whose greedy text goes on long enough and has a word to stop at."""
    for prompt in PROMPTS:
        probe.prompt = prompt
        text = probe.greedy().text
        if later_words(text) and len(text) > LENGTH:
            return
    probe.prompt = PROMPTS[0]


def _word(probe: Probe) -> str:
    words = later_words(probe.greedy().text)
    if not words:
        raise Undetermined("the greedy text has no word to look for")
    return words[0]


def _default(probe: Probe, row: ServerParameter) -> Observation | None:
    """Return None if the default is as documented, or cannot be determined."""
    if row.default is None or not probe.seeds or row.effect in ("length", "seed"):
        return None
    for seed in SEEDS:
        unstated = probe.hot(seed, **row.at(None))
        stated = probe.hot(seed, **row.at(row.default))
        if stated.refusal and row.origin != ITS_OWN:
            return None  # llama-server refuses a repeat_last_n of -1 that its flag takes
        if why := unstated.refusal or stated.refusal:
            line = f"without {row.name}, or at its default: {why}"
            return Observation("error", line, unstated if unstated.refusal else stated)
        if unstated.text != stated.text:
            line = f"without {row.name} the text is not that of {row.origin} {row.default}"
            line += _HINT if row.origin == ITS_OWN else ""
            return Observation("other meaning", line, unstated)
    return streamed(probe, row, unstated)


def _silent_default(
    probe: Probe, row: ServerParameter, observed: Observation
) -> Observation | None:
    """Require that a penalty outside the dialect has no effect unless a request states it."""
    stated = row.name in probe.client.dialect.always
    if observed.verdict != "honoured" or row.effect != "spreads" or stated:
        return None
    return _default(probe, replace(row, default=row.default or row.neutral))


def _counted(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require of a penalty that it counts the tokens of the prompt, or that it does not."""
    trait = next(_traits_of_prompts(probe, row), None) if row.prompt else None
    if trait is None or trait.value == row.prompt:
        return None
    line = f"{row.name}: the prompt {trait.value}, documented is that it {row.prompt}"
    return Observation("other meaning", f"{line}: {trait.evidence}", trait.answer)


def _traits_of_prompts(probe: Probe, row: ServerParameter) -> Iterator[Trait]:
    """Yield what a penalty counts, of each prompt whose text shows it."""
    for prompt in PROMPTS:
        counting = Probe(probe.client, prompt, length=COUNTED, until=probe.until)
        with suppress(Undetermined):
            yield COUNTING[f"prompt, for {row.name}"](counting)


def _null(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require of null what a request without the parameter gets: llama-server's json_value."""
    if probe.client.dialect.family != "llama-server" or row.effect == "length":
        return None
    unstated = probe.hot(**row.at(None))
    sent = probe.client.parameters_of(unstated.sent)
    answer = probe.send(probe.prompt, {**sent, row.name: None})
    random = row.effect == "seed" and probe.client.dialect.random
    if not answer.refusal and (answer.text == unstated.text or random or not probe.seeds):
        return None
    line = f"{row.name} null: {answer.got}, without it {unstated.got}"
    return Observation("error" if answer.refusal else "other meaning", line, answer)


def _nonsense(probe: Probe, row: ServerParameter, silent: list[str]) -> Observation | None:
    """Add nonsense that is accepted to `silent`; return a verdict if a value becomes another."""
    if _accepted(probe, silent, row.at(row.wrong)) is not None:
        silent.append(f"wrong type {json.dumps(row.wrong)}")
    if row.beyond is None:
        return None
    beyond = _accepted(probe, silent, row.at(row.beyond))
    if beyond is None:
        return None
    silent.append(f"out of range {json.dumps(row.beyond)}")
    if row.bound is None or not probe.seeds:
        return None
    if probe.hot(**row.at(row.bound)).text != beyond.text:
        return None
    line = f"{row.name} {row.beyond} is silently changed to {row.bound}"
    return Observation("clamped", line, beyond)


def _dropped(probe: Probe, row: ServerParameter, silent: list[str]) -> Observation | None:
    """Return a verdict if what must be refused is answered, as if it had not been sent."""
    value = row.wrong if row.beyond is None else row.beyond
    answer = None if row.invalid != "refused" else _accepted(probe, silent, row.at(value))
    if answer is None:
        return None
    line = f"{row.name} {json.dumps(value)} is not refused: {answer.got}"
    return Observation("silently ignored", line, answer)


def _accepted(probe: Probe, silent: list[str], nonsense: dict[str, Any]) -> Answer | None:
    """Return the answer to nonsense; None if it is refused. A status of 500 counts as a refusal:
    the server reports the client's mistake as its own, and continues."""
    try:
        answer = probe.hot(**nonsense)
    except ServerFailure as failure:
        if not (failure.verdict == "crashed" and "status 5" in failure.line):
            raise
        if STATUS_500 not in silent:
            silent.append(STATUS_500)
        return None
    return None if answer.refusal else answer


def _undocumented(observed: Observation) -> Observation:
    """Judge a parameter that the dialect does not have."""
    if observed.verdict in ("honoured", "other meaning"):
        line = f"not in the dialect, but {observed.evidence}"
        return replace(observed, verdict="undocumented", evidence=line)
    if observed.verdict == "error" and observed.answer is not None:
        line = f"not in the dialect, and refused: {observed.answer.refusal}"
        return replace(observed, verdict="honoured", evidence=line)
    return observed


def _unknown_name(probe: Probe) -> ServerResult:
    """Send a name that no server has: it is refused, or accepted silently."""
    name = "unknown name"
    try:
        answer = probe.greedy(**{UNKNOWN: 1})
    except ServerFailure as failure:
        return _result(probe.client, name, Observation("error", failure.line), [])
    if answer.refusal:
        refused = Observation("honoured", f"refused: {answer.refusal}", answer)
        return _result(probe.client, name, refused, [])
    line = "a name that no server has is accepted silently, so typing errors are, too"
    result = _result(probe.client, name, Observation("ignored", line, answer), [name])
    return result.model_copy(update={"required": ["honoured", "ignored"]})


def _result(client: Client, name: str, observed: Observation, silent: list[str]) -> ServerResult:
    result = result_of(client, "parameter", name, observed, limit=300)
    return result.model_copy(update={"silent": silent})
