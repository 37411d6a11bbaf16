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
    """expected: what the reference leaves there. accepted: the token of each step before."""

    prepared: Prepared
    expected: Candidates
    accepted: list[int]


def asked_of(case: Case, compared: ComparedStage) -> ProgramParts:
    """Return the parts for a stage. Raises InputError with the reason if no program can be
    written."""
    prepared = _prepared(case, compared.reference)
    trace, refusal = reference_trace(prepared)
    if refusal or len(trace) <= compared.step or len(trace[compared.step]) <= compared.stage:
        raise InputError(case.id, f"the reference stops before it: {refusal or 'no such stage'}")
    accepted = [_accepted(prepared, trace, i) for i in range(compared.step)]
    return ProgramParts(prepared, trace[compared.step][compared.stage], accepted)


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
    prepared = prepare(case)
    count = sum(len(row) for row in prepared.rows)
    if count > MOST_LOGITS:
        raise InputError(
            case.id,
            f"has {count:,} logits, more than the {MOST_LOGITS} of a program of {LINES} lines",
            "name a case whose counterexample is small",
        )
    names = {next(iter(stage)) for stage in prepared.chain}
    return replace(prepared, samplers=samplers_of(changes_of(release, names), ALL_SAMPLERS))


def _accepted(prepared: Prepared, trace: Any, step: int) -> int:
    """Return the token that a step accepts. Raises InputError if it accepts none."""
    accept = prepared.steps[step].accept
    token = trace[step][-1].token if accept == "selected" else accept
    if token is None:
        raise InputError(prepared.case.id, f"step {step + 1} accepts no token", "name another case")
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
