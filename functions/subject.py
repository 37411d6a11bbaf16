"""A function under test: the cases that it can be given, their results, and what is wrong."""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from sampler_parity.functions.calling import (
    Caller,
    Misshapen,
    Result,
    Signature,
    name_of,
    signature_of,
)
from sampler_parity.functions.report import Finding, Report
from sampler_parity.functions.stage import SUPPORTED, FunctionStage, maker, parameters_of
from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.bundle.records import CaseResult, CounterexampleResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.engines.samplers import replaced
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache import of_this_code
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.suite.expansion_cache import Expansions
from sampler_parity.harness.suite.file import checks_of, find_suites, read_unparsed
from sampler_parity.harness.suite.ids import id_fits
from sampler_parity.harness.verdicts import Accept
from sampler_parity.reference import Candidates, Sampler
from sampler_parity.reference.registry import REFERENCE_SAMPLERS

NAME = "function"
DRAWN = "/drawn"  # ends the id of an input that Hypothesis draws
# Rows on which a draw is judged by its distribution, and how many tokens are drawn on each.
ROWS = {
    "logits 0 to 3": np.arange(4, dtype=np.float32),
    "40 equal logits": np.zeros(40, np.float32),
    "logits with -inf": np.array([1, -np.inf, 0, -np.inf, -2, 3], np.float32),
}
DRAWS = 4000
XTC_P = 0.3
LAWS = ("dist", "xtc")  # samplers whose random decisions are judged by their distribution
MINIMIZED = 3  # groups of failures


@dataclass(frozen=True)
class Subject:
    """A function, the sampler that it stands for, and how it is called and judged: as `check`."""

    function: Callable[..., Any]
    sampler: str
    accept: Accept
    caller: Caller
    arithmetic: Arithmetic
    seed: int
    with_own_random: bool

    @cached_property
    def signature(self) -> Signature:
        """Its arguments. Raises InputError if no case can be given to it."""
        defaults = parameters_of(self.sampler)
        signature = signature_of(self.function, defaults)
        needed = [name for name in signature.lacks(defaults) if defaults[name] is ...]
        if needed:
            fix = f"wrap it: lambda logits, {', '.join(defaults)}: ..."
            raise InputError(self.name, f"takes no {' and no '.join(needed)}", fix)
        return signature

    @property
    def name(self) -> str:
        return name_of(self.function)

    @cached_property
    def own_random(self) -> bool:
        """Whether it draws with random numbers of its own: an argument, also one of the object that
        it makes, gets them; or `with_own_random` is set."""
        step = self.signature
        if step.makes:
            values = {k: 1 if v is ... else v for k, v in parameters_of(self.sampler).items()}
            with suppress(Exception):  # a case shows it
                instance = self.caller.make(step, values, np.random.default_rng(self.seed))
                step = signature_of(getattr(instance, "apply", instance), ())
        return self.with_own_random or self.signature.is_random or step.is_random

    @property
    def make(self) -> Callable[..., Sampler]:
        """What builds the stage."""
        return maker(self.sampler, self.signature, self.caller, self.seed, self.own_random)

    @cached_property
    def backend(self) -> "FunctionBackend":
        return FunctionBackend(self)

    def skips(self, case: Case) -> list[str]:
        """Return the parameters that a case sets and the function lacks."""
        defaults = parameters_of(self.sampler)
        chains = case.chains
        stages = [s[self.sampler] for chain in chains for s in chain if self.sampler in s]
        return [
            name
            for name in self.signature.lacks(defaults)
            if any(stage.get(name, defaults[name]) != defaults[name] for stage in stages)
        ]

    def result(self, case: Case) -> CaseResult:
        with accepting(self.accept):
            result = execute(case, [self.backend])
        return result.model_copy(update={"accept": self.accept})

    def judged(self, case: Case) -> tuple[CaseResult, list[Finding]]:
        """Judge one case, and describe its failure."""
        with closing(self.backend):
            result = self.result(case)
            return result, [*self.findings([result], [case])] if not result.ok else []

    def findings(self, results: Sequence[CaseResult], cases: Sequence[Case]) -> Iterator[Finding]:
        """Yield a finding for each group of failures, the worst first; the first are minimized."""
        # loads what only a failure needs
        from sampler_parity.harness.failures.counterexample import looks, to_shrink
        from sampler_parity.harness.failures.format_difference import lines
        from sampler_parity.harness.failures.groups import groups
        from sampler_parity.harness.run.shrinking import EVIDENCE, WRONG, minimized, nearby

        of_id = {case.id: case for case in cases}
        records: list[CounterexampleResult] = []
        with accepting(self.accept):
            for group, smallest in to_shrink(groups(None, results), of_id)[:MINIMIZED]:
                result = next(r for r in results if r.id == group.cases[0]).backends[NAME]
                failing, right, otherwise = nearby(NAME, result, results, of_id, EVIDENCE)
                passing = [case for case, _ in right]
                evidence = (failing, otherwise, passing) if result.verdict in WRONG else ()
                records.append(minimized(smallest, self.backend, looks(result), {}, *evidence))
        for group in groups(None, results, records):
            text, *more = lines(group, NAME)
            more = [line.strip() for line in more if not line.startswith("  required:")]
            drawn = group.example.case.endswith(DRAWN)
            replay = [] if drawn else [self.replay(group.example.case)]
            yield Finding(group.id, text, [*more, *replay], group.cases)

    def replay(self, case: str) -> str:
        name = self.name if self.name.isidentifier() else "..."
        return f'replay: check({name}, "{self.sampler}", cases="{case}")'

    def draws(self, error: float) -> Report:
        """Judge what is drawn by its distribution: tokens of dist on each of `ROWS`, and how often
        xtc acts. error: the probability that a right function is found wrong."""
        from sampler_parity.functions.chains import judge_draws  # loads distributions

        reports = []
        if self.sampler == "xtc":
            cand = Candidates.from_logits([0.0, 0.0, -5.0])
            stage = cast(FunctionStage, self.make(p=XTC_P, t=0.1, seed=0))
            acted = [int(not self._called(stage, cand).stays[:2].all()) for _ in range(DRAWS)]
            chances = np.log([1 - XTC_P, XTC_P])
            reports.append((f"acts (1) or not (0) with p = {XTC_P}", judge_draws(acted, chances)))
        for name, row in ROWS.items() if self.sampler == "dist" else ():
            stage, cand = cast(FunctionStage, self.make(seed=0)), Candidates.from_logits(row)
            tokens = [cast(int, self._called(stage, cand).token) for _ in range(DRAWS)]
            reports.append((name, judge_draws(tokens, row, error=error / len(ROWS))))
        findings = [
            replace(finding, text=f"{name}: {finding.text}", lines=[*finding.lines, *report.notes])
            for name, report in reports
            for finding in report.findings
        ]
        notes = [f"draws: {DRAWS:,} on {name}: {r.notes[0]}" for name, r in reports if r.notes]
        return Report(
            "draws of another distribution" if findings else "", not findings, findings, notes
        )

    @staticmethod
    def _called(stage: FunctionStage, cand: Candidates) -> Result:
        """Call the function once. Raises InputError for what it raises."""
        try:
            return stage.call(cand)
        except Exception as error:
            raise InputError(stage.name, f"a draw fails: {_described(error)}") from error


def case_of(
    id: str,
    sampler: str,
    logits: Sequence[float],
    parameters: Mapping[str, Any],
    tokens: Sequence[int] = (),
) -> StagesCase:
    """Return a case of one row. tokens: accepted before."""
    return StagesCase.model_validate(
        {
            "id": id,
            "description": "",
            "why": "",
            "logits": {"values": [*logits]},
            "chain": [{sampler: {**parameters}}],
            "history": [*tokens],
        }
    )


def cases_of(sampler: str, patterns: Sequence[str] = ("*",)) -> list[Case]:
    """Return the quick cases of a sampler's suite whose ids fit a pattern. Raises InputError for a
    sampler that no function can be checked as, and where no id fits."""
    if sampler not in SUPPORTED:
        sampler = str(sampler)
        fix = did_you_mean(sampler, SUPPORTED) or f"supported: {', '.join(SUPPORTED)}"
        raise InputError(sampler, "no function can be checked as this sampler", fix)
    expansions = Expansions(of_this_code())
    (path,) = find_suites([f"parity/{sampler}"])
    checks = checks_of(read_unparsed(path, expansions), "quick", expansions=expansions)
    cases = [check for check in checks if isinstance(check, Case)]
    fitting = [case for case in cases if any(id_fits(case.id, pattern) for pattern in patterns)]
    if not fitting:
        raise InputError(f"cases={patterns!r}", f"no case of parity/{sampler} has such an id")
    return fitting


class FunctionBackend(InPlace):
    """The reference with a function in place of one of its samplers."""

    shows_order = False

    def __init__(self, of: Subject) -> None:
        worker = Worker()
        worker.samplers = replaced(of.sampler, of.make)
        hello = HelloReply(
            name=NAME, version="", capabilities=["run", "no_vocab"],
            samplers=sorted(REFERENCE_SAMPLERS), arithmetic=of.arithmetic,
            random="own" if of.own_random else "mt19937",
        )  # fmt: skip
        vars(worker)["hello"] = lambda: hello
        # a row has no flag `sorted`
        vars(worker)["result"] = lambda c: (c.ids, c.logits, c.p, None, c.selected)
        super().__init__(NAME, worker)

    def answer(self, request: Any, timeout_s: float | None) -> Any:
        try:
            return super().answer(request, timeout_s)
        except (Misshapen, BackendFailure) as error:
            raise BackendFailure("rejected", str(error)) from None
        except (Exception, SystemExit) as error:
            raise BackendFailure("rejected", _described(error)) from error


def _described(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    path, folder = Path(frame.filename), Path.cwd()
    file = path.relative_to(folder) if path.is_relative_to(folder) else path.name
    text = "an exception whose text cannot be read"
    with suppress(Exception):
        text = str(error)
    return f"{type(error).__name__}: {text} ({file}:{frame.lineno})"
