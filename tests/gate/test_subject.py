"""`[subject]` of a policy: each of its fields refuses a bundle of another thing or another run."""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import FileInfo, digest_of
from sampler_parity.harness.bundle.machine import digest_of_code
from tests.support.gate_bundles import both, findings, finished, judged
from tests.support.report_bundles import run_info

FILE = FileInfo(path="/opt/mine/adapter.py", size=7, sha256="a" * 64)
SUBJECT = '[subject]\nname = "mine 1"\nbackends = ["mine"]\n{}\n[[parity]]\n{}'


def bundle_of(folder: Path, **changes: Any) -> Bundle:
    """Write a bundle of `mine` and llama.cpp. changes: of the backend mine."""
    info = run_info("mine", "llama.cpp")
    made = {"files": [FILE], "digest": digest_of([FILE])} | changes
    backends = info.backends | {"mine": info.backends["mine"].model_copy(update=made)}
    machine = info.machine.model_copy(update={"code": digest_of_code(), "machine": "x86_64"})
    run = info.model_copy(
        update={"backends": backends, "machine": machine, "started": "2026-11-20T10:00:00+00:00"}
    )
    return finished(folder, [both("a"), both("b")], run)


def test_subject_that_is_met_passes(tmp_path: Path) -> None:
    lines = f"""
sha256 = ["{"a" * 64}", "{digest_of([FILE])}"]
reference = "v0.5.0"
platform = "x86_64"
code = "own"
sandbox = true
max_age_days = 1
"""
    result = judged(bundle_of(tmp_path / "b", sandbox=True), SUBJECT.format(lines, ""))
    assert (result.exit_status, findings(result)) == (0, [])
    assert [rule.met for rule in result.rules if rule.place == "subject"] == [1]


@pytest.mark.parametrize(
    ("line", "figure"),
    [
        (f'sha256 = ["{"b" * 64}"]', "2 other files"),
        ('reference = "b3889"', "judged by v0.5.0"),
        ('platform = "aarch64"', "on x86_64"),
        (f'code = "{"c" * 64}"', f"code {digest_of_code()[:12]} of sampler-parity"),
        ("sandbox = true", "ran without a sandbox"),
        ("max_age_days = 0", "1 days old"),
    ],
)
def test_subject_of_another_run_is_not_judged(line: str, figure: str, tmp_path: Path) -> None:
    result = judged(bundle_of(tmp_path / "b"), SUBJECT.format(line, ""))
    ((rule, state, found),) = findings(result)
    assert (rule, state, result.exit_status) == ("subject (mine 1)", "unjudged", 2)
    assert found.figure.startswith(figure)


def test_subject_whose_backend_did_not_run_is_not_judged(tmp_path: Path) -> None:
    policy = SUBJECT.format("", "").replace('["mine"]', '["mine", "other*"]')
    ((_, state, found),) = findings(judged(bundle_of(tmp_path / "b"), policy))
    assert (state, found.subject, found.figure) == (
        *("unjudged", "backend other*", "only mine, llama.cpp ran"),
    )


def test_results_of_the_subject_that_no_rule_judges_are_named(tmp_path: Path) -> None:
    policy = SUBJECT.format("", 'case = "a"')
    ((_, state, found),) = findings(judged(bundle_of(tmp_path / "b"), policy))
    assert (state, found.subject) == ("unjudged", "b on mine")
    assert found.figure == "no rule judges it, and 0 others"
