"""Judge the log-probabilities that an engine returns by the kind that its suite declares."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from pydantic import Field

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.by_tokens import result_of_each
from sampler_parity.harness.checks.grid import NamedBlock
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.inputs.logits import Logits
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.messages import ChainSpec, Step
from sampler_parity.harness.strict import Steps, Tokens
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference import Candidates

Kind = Literal["raw_logits", "raw", "adjusted", "tempered", "cut_logits", "cut", "renormalized"]


class LogprobsCase(GivenCase):
    """A chain, and a last stage that reports log-probabilities in a mode of the engine."""

    check: ClassVar[str] = "logprobs"
    chosen_by = ("mode",)
    block: "LogprobsBlock"
    mode: str

    @property
    def claimed(self) -> list[ChainSpec]:
        return [[*self.chain, {f"logprobs/{self.mode}": {"top": self.block.top}}]]

    def required(self, backend: str) -> list[Verdict]:
        return ["correct"]

    def plan(self) -> tuple[list[Step], int]:
        return [Step(row=i, accept=None) for i in range(self.steps)], 1


class LogprobsBlock(NamedBlock):
    """Every mode with every chain of the file on all logits."""

    modes: dict[str, Kind] = Field(min_length=1)
    """the kind of value that each mode of the engine returns"""
    rank: Literal["first", "last", ""] = ""
    """the place that counts among tokens of equal value; left out: the engine returns no rank"""
    logits: dict[str, Logits] = Field(min_length=1)
    """logits by name"""
    rows: Steps
    """rows of each"""
    top: int = Field(ge=0)
    """how many of the most likely tokens are asked for"""
    history: Tokens = []
    """tokens to accept before the first row"""

    def items(self, shared: dict[str, ChainSpec]) -> Iterator[LogprobsCase]:
        fixed = {"block": self, "history": self.history, "steps": self.rows}
        combinations = product(self.modes, shared.items(), self.logits.items())
        for mode, (name, chain), (of, logits) in combinations:
            fields = {"mode": mode, "chain": chain, "logits": logits}
            yield LogprobsCase.model_validate(self.about(f"{mode}/{name}/{of}") | fixed | fields)


KINDS: tuple[str, ...] = get_args(Kind)
Rows = list[list[Any]]  # float64[n_vocab] of each row by kind


def judge(case: LogprobsCase, backends: Sequence[Backend], _: Any, releases: Any) -> CaseResult:
    prepared = prepare(case)
    judging = partial(_on, prepared, [exact(prepared, row) for row in prepared.rows])
    return result_of_each(case, case.steps, releases, backends, judging)


def exact(prepared: Prepared[Any], row: client.Row) -> list[Any]:
    """Return float64[n_vocab] by kind, in the order of KINDS. Penalties and bias stand first."""
    from scipy.special import log_softmax  # it is slow to load

    cand, adjusted, temperature = Candidates.from_logits(row), row.astype(np.float64), 1.0
    for stage, sampler in zip(prepared.chain, prepared.build().samplers, strict=True):
        ((name, parameters),) = stage.items()
        sampler.apply(cand)
        logits = np.full(len(row), -np.inf)
        logits[cand.ids] = cand.logits
        if name.endswith(("penalties", "penalty", "bias")):
            adjusted = logits
        elif name.endswith(("temp", "temperature")):
            temperature *= next(iter(parameters.values()))
    raw, x = row.astype(np.float64), adjusted / temperature
    of_all, cut = log_softmax(x), np.where(logits > -np.inf, 0, -np.inf)
    unfiltered = [raw, log_softmax(raw), log_softmax(adjusted), of_all]
    return [*unfiltered, x + cut, of_all + cut, log_softmax(x + cut)]


def _on(prepared: Prepared[LogprobsCase], rows: Rows, backend: Backend) -> BackendResult:
    setting = replace(prepared.setting, chain=[*prepared.chain, prepared.case.claimed[0][-1]])
    ran = client.run(backend, setting, prepared.rows, prepared.steps, whole_chain=False)
    for step, (*_, drawn, got) in enumerate(ran.stages):
        if problem := _problem(prepared.case, rows, step, drawn.token, got):
            stage = f"logprobs/{prepared.case.mode}"
            return BackendResult(verdict="diverged", step=step, stage=stage, detail=problem)
    return BackendResult(verdict="correct", ns=ran.ns)


def _problem(case: LogprobsCase, rows: Rows, step: int, drawn: Any, got: Any) -> str:
    means, ids, top = case.block.modes[case.mode], got.ids, case.block.top
    values = rows[step][KINDS.index(means)]
    if not len(ids) or ids.min() < 0 or ids.max() >= len(values) or drawn not in (None, ids[0]):
        return f"lists tokens {ids.tolist()}, but {drawn} was drawn"
    if not near(got.logits, values[ids], rows[step][0]):
        return f"{means} is declared, the values are {_kind_of(rows, step, got)}"
    listed, best = (of[of > -np.inf] for of in (values[ids[1:]], -np.sort(-values)[:top]))
    same = len(listed) == len(best) and near(listed, best, rows[step][0])
    if not same or len({*ids[1:].tolist()}) < len(ids) - 1:
        return f"lists {ids[1:].tolist()}, not the {len(best)} most likely tokens in their order"
    first = case.block.rank == "first"
    rank = int((values > values[ids[0]] if first else values >= values[ids[0]]).sum()) + first
    right = not case.block.rank or rank == got.p[0]
    return "" if right else f"the rank of token {ids[0]} is {got.p[0]:g}, and not {rank}"


def near(got: Any, want: Any, logits: Any, rounding: float = 0) -> bool:
    """Return whether values are exact but for what a log-softmax in float32 loses, and rounding."""
    with np.errstate(invalid="ignore"):
        bound = rounding + (len(logits) + 16 + 4 * (np.abs(logits).max() + np.abs(want))) * 2.0**-24
        return bool(np.where(np.isfinite(want), np.abs(got - want) <= bound, got == want).all())


def _kind_of(rows: Rows, step: int, got: Any) -> str:
    for number in sorted(range(len(rows)), key=lambda index: index != step):
        for kind, values in zip(KINDS, rows[number], strict=True):
            if near(got.logits, values[got.ids], rows[number][0]):
                return kind + (f" of row {number}" if number != step else "")
    return "of no known kind"
