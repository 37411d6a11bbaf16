"""Try a release out (docs/background/releasing.md): `python -m scripts.release.dry_run -o FOLDER`.

Three candidates, llama.cpp as it is and with one planted fault each, run the same suites as
llama.cpp; each is then judged by the same policy. The clean one must pass; the others must fail,
each by its own rule and by no other. An undecided result is measured again with more rounds.
"""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.gate.gate import gate
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.gate.records import GateResult
from sampler_parity.harness.gate.speed_rules import ratio_in_run
from sampler_parity.harness.processes import shell

# Candidate -> the rule that must fail, the only one; None: all must be met.
EXPECTED = {"clean": None, "wrong-penalties": "parity", "slower": "speed"}
ROUNDS = (120, 480, 1920)
MAX_RATIO, CONFIDENCE = 1.05, 0.99
POLICY = """schema_version = 1
suites = ["parity/release", "timing/release"]

[[parity]]
backend = "{name}"
at_least = 3

[[speed]]
backend = "{name}"
baseline = "llama.cpp"
max_ratio = {max_ratio}
confidence = {confidence}
"""
PARITY = """name = "what the release is checked by"

[[case]]
id = "penalties"
description = "Frequency and presence are distinguished"
why = "A build that exchanges them."
chain = [{ penalties = { penalty_last_n = 8, penalty_freq = 0.5, penalty_present = 0.1 } },
    { greedy = {} }]
logits = { family = "normal", n = 1000, seed = 1 }
history = [1, 2, 2, 3]
steps = 4

[[case]]
id = "default"
description = "llama.cpp's usual filters and a draw"
why = "The most common use of a release."
chain = [{ top_k = { k = 40 } }, { top_p = { p = 0.95 } }, { min_p = { p = 0.05 } },
    { temp = { temp = 0.8 } }, { dist = { seed = 1 } }]
logits = { family = "normal", n = 32000, seed = 1 }
steps = 8

[[case]]
id = "reset"
description = "mirostat_v2 starts again after a reset"
why = "A reset that forgets mu."
chain = [{ mirostat_v2 = { seed = 1 } }]
logits = { family = "normal", n = 1000, seed = 2 }
steps = 8
script = "reset"
"""
TIMING = """name = "what the release is timed by"

[[chain]]
id = "default-V128256"
sampler = "top_k"
chain = [{ top_k = { k = 40 } }, { top_p = { p = 0.95 } }, { min_p = { p = 0.05 } },
    { temp = { temp = 0.8 } }, { dist = { seed = 1 } }]
logits = { family = "normal", n = 128256, seed = 1 }

[[chain]]
id = "top_p-V32000"
sampler = "top_p"
chain = [{ top_p = { p = 0.95 } }]
logits = { family = "normal", n = 32000, seed = 1 }
"""


class CandidateResult(BaseModel):
    """A candidate in one rehearsal. right: passed, or failed by the rule of its fault alone."""

    candidate: str
    exit_status: int
    failed: list[str]
    first: str
    right: bool


class DryRun(BaseModel):
    """rounds: of the measurement that decided, or of the last one. ratios: by chain and candidate.
    load: how many processes wanted a processor when it began, on average over a minute."""

    number: int
    rounds: int
    candidates: list[CandidateResult]
    ratios: dict[str, dict[str, str]]
    load: float
    wall_s: float

    @property
    def right(self) -> bool:
        return all(candidate.right for candidate in self.candidates)


def dry_run(number: int, folder: Path) -> DryRun:
    """Run all candidates once, again with more rounds as long as one cannot be judged."""
    suites = []
    for group, text in (("parity", PARITY), ("timing", TIMING)):
        (folder / group).mkdir(parents=True)
        suites.append(folder / group / "release.toml")
        suites[-1].write_text(text)
    start, load = time.monotonic(), os.getloadavg()[0]
    for rounds in ROUNDS:
        bundle = _run(folder / f"bundle-{rounds}", suites, rounds, number)
        results = {name: _gate(bundle, folder, name) for name in EXPECTED}
        if all(result.exit_status != 2 for result in results.values()):
            break
    return DryRun(
        number=number,
        rounds=rounds,
        candidates=[result_of(name, result, name) for name, result in results.items()],
        ratios={
            timing.id: {
                name: str(ratio_in_run(timing, name, "llama.cpp", CONFIDENCE)) for name in EXPECTED
            }
            for timing in bundle.of(TimingResult)
        },
        load=round(load, 1),
        wall_s=round(time.monotonic() - start, 1),
    )


def _run(folder: Path, suites: list[Path], rounds: int, seed: int) -> Bundle:
    """Run the commands that a maintainer types. Raises InputError where the run itself failed."""
    adapter = [sys.executable, "-m", "sampler_parity.maintenance.selftest.candidates"]
    command = [
        sys.executable,
        "-c",
        "from sampler_parity.harness.cli.app import main; main()",
        "run",
    ]
    command += [*map(str, suites), "-b", "llama.cpp", "-o", str(folder), "-j", "1"]
    command += ["--rounds", str(rounds), "--seed", str(seed)]
    for name in EXPECTED:
        command += ["-b", f"{name}={shell.join([*adapter, name])}"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode > 1:
        raise InputError(folder, f"run: {done.stderr.strip()}")
    return read_finished(folder)


def _gate(bundle: Bundle, folder: Path, name: str) -> GateResult:
    policy = folder / f"{name}.toml"
    policy.write_text(POLICY.format(name=name, max_ratio=MAX_RATIO, confidence=CONFIDENCE))
    return gate(bundle, read_policy(policy), None, datetime.now(UTC).date())


def result_of(name: str, result: GateResult, backend: str) -> CandidateResult:
    """Return what the gate reported of a candidate, which ran as this backend."""
    failed = [rule.rule for rule in result.rules if rule.state == "failed"]
    kind = EXPECTED[name]
    expected = [f"{kind}.{backend}"] if kind else []
    findings = [f for rule in result.rules for f in rule.findings]
    return CandidateResult(
        candidate=name,
        exit_status=result.exit_status,
        failed=failed,
        first=f"{findings[0].subject}: {findings[0].figure}" if findings else "",
        right=result.exit_status == (1 if kind else 0) and failed == expected,
    )


def main(
    output: Annotated[Path, typer.Option("--output", "-o", help="a new folder")],
    times: Annotated[int, typer.Option(min=1)] = 10,
) -> None:
    """Try a release: the clean candidate passes, each other fails for its fault."""
    done = []
    for number in range(1, times + 1):
        one = dry_run(number, output / str(number))
        done.append(one)
        for c in one.candidates:
            state = "right" if c.right else "WRONG"
            what = ", ".join(c.failed) or "nothing failed"
            print(f"{number:>3} {c.candidate:<16} {state} exit {c.exit_status}, {what} {c.first}")
        facts = {
            "machine": machine.describe().model_dump(exclude={"cpu_flags"}),
            "date": datetime.now(UTC).date().isoformat(),
            "right": sum(r.right for r in done),
            "rehearsals": [r.model_dump() for r in done],
        }
        (output / "rehearsal.json").write_text(json.dumps(facts, indent=2) + "\n")
        sys.stdout.flush()
    right = sum(r.right for r in done)
    print(f"{right}/{times} rehearsals as they must be")
    if right < times:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
