"""`gate --replay`: ask the backends of a bundle a random part of its cases again.

A record that a run did not write shows here, if its case is among those that are drawn.
"""

import math
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.bundle.replay import backend_option, replay
from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.gate.records import GateFinding, RuleOutcome, state_of
from sampler_parity.harness.gate.rules import finding, ran
from sampler_parity.harness.run.eta import Watch
from sampler_parity.harness.run.plan import RunOptions, plan_of
from sampler_parity.harness.run.run import run
from sampler_parity.harness.verdicts import Accept
from sampler_parity.reference.chronology import NEWEST

_TIMES = {"ns", "wall_s", "reference_s"}  # fields that differ in every run


def share_of(text: str) -> float:
    """Return the share of "1%" as 0.01. Raises InputError."""
    number = text.removesuffix("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = 0.0
    if not (text.endswith("%") and 0 < share <= 1):
        raise InputError(f"--replay {text}", "is not a share of the cases", "use for example 1%")
    return share


def asked_again(
    bundle: Bundle, items: list[CheckItem], share: float, seed: int, watch: Watch
) -> RuleOutcome:
    """Return whether every case that is drawn gives the same record, to the bit, but for times.

    items: as `recomputed` returns them. Raises InputError if a backend does not run here.
    """
    cases = sorted(item.id for item in items if item.kind.record.kind == "case")
    if not cases:
        raise InputError(bundle.folder, "has no case that can be asked again", "omit --replay")
    drawn = sorted(random.Random(seed).sample(cases, math.ceil(share * len(cases))))
    sample = {*drawn}
    before = {case.id: case for case in bundle.cases if case.id in sample}
    with tempfile.TemporaryDirectory() as folder:
        replayed = run(
            plan_of(_options(bundle, items, drawn)), Path(folder) / "b", False, watch, str
        )
    if replayed.bundle is None:
        name, why = next(iter(replayed.unavailable.items()))
        raise InputError(f"backend {name}", f"does not run here: {why}", "omit --replay")
    findings = [*_other_programs(bundle, replayed.bundle)]
    for case in replayed.bundle.cases:
        findings += _differences(bundle, before[case.id], case)
    return RuleOutcome(
        rule=f"replay of {len(drawn):,} of {len(cases):,} cases, seed {seed}",
        place="--replay",
        state=state_of(findings),
        judged=len(drawn),
        met=len(drawn) - len(findings),
        findings=findings,
    )


def _options(bundle: Bundle, items: list[CheckItem], drawn: list[str]) -> RunOptions:
    info = bundle.info
    backends = {name: info.backends[name] for name in ran(bundle)}
    releases = {backend.reference for backend in backends.values()}
    reference = None if releases == {NEWEST} else releases.pop() if len(releases) == 1 else "own"
    suites = dict.fromkeys(item.suite for item in items if item.id in {*drawn})
    return RunOptions(
        suites=[info.paths.get(name, name) for name in suites],
        backends=[backend_option(name, backend) for name, backend in backends.items()],
        profile=cast(Profile, info.profile),
        only=tuple(drawn),
        seed=info.seed,
        timeout_s=float(info.options["timeout"]),
        reference=reference,
        repeat=int(info.options["repeat"]),
        sandbox=any(backend.sandbox for backend in backends.values()),
        accept=cast(Accept, info.options.get("accept", "identical")),
        require_all="require_all" in info.options,
        keep_going=True,
    )


def _other_programs(bundle: Bundle, replayed: Bundle) -> Iterator[GateFinding]:
    for name, now in replayed.info.backends.items():
        was = bundle.info.backends[name]
        if was.digest and was.digest != now.digest:
            fix = "judge the program that was run, or run this one"
            figure = f"digest {now.digest[:12]}"
            yield finding("failed", name, figure, f"digest {was.digest[:12]}", fix=fix)


def _differences(bundle: Bundle, was: CaseResult, now: CaseResult) -> Iterator[GateFinding]:
    for name, got in now.backends.items():
        then = was.backends[name]
        if _timeless(then) != _timeless(got) or was.steps != now.steps:
            command = replay(bundle.info, was.suite, was.id, [name])
            subject = f"{was.id} on {name}"
            limit = f"{then.verdict}, as the bundle has it"
            yield finding("failed", subject, f"{got.verdict} when asked again", limit, command)


def _timeless(result: Any) -> dict[str, object]:
    record: dict[str, object] = result.model_dump(exclude=_TIMES)
    return record
