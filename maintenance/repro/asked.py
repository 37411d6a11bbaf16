"""The parts that every program of a case needs: rows, accepted tokens, the reference's
candidates."""

from dataclasses import dataclass, replace
from typing import Any

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare, reference_trace
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.errors import InputError
from sampler_parity.reference import Candidates
from sampler_parity.reference.releases import changes_of, samplers_of

LINES = 60
MOST_LOGITS = 400  # of all rows; fewer, where they have many digits, fill the lines
_WIDTH = 96


@dataclass(frozen=True)
class ComparedStage:
    """The step and the stage, counted from 0, whose candidates are compared.

    build: the release whose functions are called; reference: the release whose meaning is expected.
    """

    step: int
    stage: int
    build: str
    reference: str


@dataclass(frozen=True)
class ProgramParts:
    """expected: what the reference leaves at the place. accepted: the token of each step before."""

    ready: Prepared
    expected: Candidates
    accepted: list[int]


def asked_of(case: Case, place: ComparedStage) -> ProgramParts:
    """Return the parts for a place. Raises InputError with the reason if no program can be
    written."""
    ready = _prepared(case, place.reference)
    trace, refusal = reference_trace(ready)
    if refusal or len(trace) <= place.step or len(trace[place.step]) <= place.stage:
        raise InputError(case.id, f"the reference stops before it: {refusal or 'no such stage'}")
    accepted = [_accepted(ready, trace, i) for i in range(place.step)]
    return ProgramParts(ready, trace[place.step][place.stage], accepted)


def short(source: str, case: str) -> str:
    """Return the source. Raises InputError if it has too many lines."""
    if (lines := source.count("\n")) > LINES:
        raise InputError(
            case, f"would take {lines} lines, more than {LINES}", "name a smaller case"
        )
    return source


def _prepared(case: Case, release: str) -> Prepared:
    """Prepare a case. Raises InputError unless it is plain stages over few logits."""
    if not isinstance(case, StagesCase) or case.check != "stages":
        raise InputError(case.id, "is not a plain chain on rows of logits", "name another case")
    if case.script != "plain" or case.prompt or case.output:
        raise InputError(case.id, "is not a plain chain on rows of logits", "name another case")
    ready = prepare(case)
    count = sum(len(row) for row in ready.rows)
    if count > MOST_LOGITS:
        raise InputError(
            case.id,
            f"has {count:,} logits, and a program of {LINES} lines holds {MOST_LOGITS}",
            "name a case whose counterexample is small",
        )
    names = {next(iter(stage)) for stage in ready.chain}
    return replace(ready, samplers=samplers_of(changes_of(release, names), ALL_SAMPLERS))


def _accepted(ready: Prepared, trace: Any, step: int) -> int:
    """Return the token that a step accepts. Raises InputError if it accepts none."""
    accept = ready.steps[step].accept
    token = trace[step][-1].token if accept == "selected" else accept
    if token is None:
        raise InputError(ready.case.id, f"step {step + 1} accepts no token", "name another case")
    return int(token)


def in_lines(items: list[str], separator: str = ",", indent: str = "   ") -> str:
    """Join items, as many on a line as _WIDTH allows."""
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) + 2 > _WIDTH and line.strip():
            lines.append(line)
            line = indent
        line += f" {item}{separator}"
    return "\n".join([*lines, line])
