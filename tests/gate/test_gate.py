"""harness/gate/gate.py: every rule fails for its reason, and missing results never pass."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.bundle.machine import digest_of_code
from sampler_parity.harness.checks.distribution.record import CellOnBackend
from sampler_parity.harness.checks.timed_records import Check
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.gate.gate import gate
from sampler_parity.harness.gate.labels import MOST_FINDINGS, markdown, terminal_lines, verdict_line
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.gate.records import GateResult
from tests.support.gate_bundles import (
    TODAY,
    both,
    cell,
    findings,
    finished,
    judged,
    saved,
    timed,
)
from tests.support.report_bundles import HOSTILE, case, diverged, got, run_info
from tests.support.schema_text import schema_text

RIGHT = Check(what="token_accuracy", found=1.0, relation="=", limit=1.0)
WRONG = Check(what="token_accuracy", found=0.9, relation="=", limit=1.0)

ALLOW = """
[[parity]]
[[allow]]
case = "{case}"
backend = "mine"
outcomes = ["diverged"]
reason = "known"
issue = "#7"
expires = {expires}
"""


def test_bundle_that_is_as_its_suites_require_passes(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [both("a"), both("b")])
    result = gate(bundle, read_policy(None), None, TODAY)
    assert result.exit_status == 0
    assert [rule.judged for rule in result.rules if rule.rule == "parity"] == [4]


def test_divergence_fails_with_stage_limit_and_replay(tmp_path: Path) -> None:
    stages = ["penalties", "top_k", "top_p", "temp", "dist"]
    wrong = case("top_p/a", {"mine": diverged(), "llama.cpp": got()}, samplers=stages)
    result = judged(finished(tmp_path / "b", [wrong, both("b")]), '[[parity]]\nbackend = "mine"')
    ((rule, state, finding),) = findings(result)
    assert (rule, state, result.exit_status) == ("parity.mine", "failed", 1)
    assert finding.subject == "top_p/a on mine"
    assert finding.figure == "diverged at stage 3 of 5 (top_p): p"
    assert finding.limit == "identical"
    assert finding.replay == "sampler-parity run parity/top_p --case top_p/a -b mine"


def test_a_case_that_is_right_at_times_only_fails_with_its_rate(tmp_path: Path) -> None:
    detail = "asked 10 times: 9 identical, 1 diverged"
    flaky = got().model_copy(
        update={"verdict": "flaky", "detail": detail, "asked": {"identical": 9}}
    )
    wrong = case("a", {"mine": flaky, "llama.cpp": got()})
    result = judged(finished(tmp_path / "b", [wrong]), '[[parity]]\nbackend = "mine"')
    ((rule, state, finding),) = findings(result)
    assert (rule, state, result.exit_status) == ("parity.mine", "failed", 1)
    assert finding.figure == f"flaky: {detail}"


@pytest.mark.parametrize(
    ("fields", "figure"),
    [
        ({"refusal": "logits are empty"}, "logits are empty"),
        ({"unmet": "n: expected 3, got 4"}, "n: expected 3, got 4"),
        ({"steps": 0}, "no step was taken"),
    ],
    ids=["refusal", "unmet", "no-step"],
)
def test_case_that_shows_nothing_fails_even_if_all_verdicts_pass(
    tmp_path: Path, fields: dict[str, object], figure: str
) -> None:
    result = judged(finished(tmp_path / "b", [both("a", **fields)]), "[[parity]]")
    assert {f.figure for _, _, f in findings(result)} == {figure}
    assert result.exit_status == 1


def test_first_rule_that_fits_judges(tmp_path: Path) -> None:
    policy = """
    [[parity]]
    sampler = "typical_p"
    verdicts = ["identical", "close"]
    [[parity]]
    """
    near = {"mine": got("close"), "llama.cpp": got()}
    fine = finished(tmp_path / "fine", [case("a", near, samplers=["typical_p"]), both("b")])
    assert judged(fine, policy).exit_status == 0
    wrong = finished(tmp_path / "wrong", [case("a", near, samplers=["top_p"]), both("b")])
    states = [(rule, state) for rule, state, _ in findings(judged(wrong, policy))]
    assert states == [("parity.*.typical_p", "unjudged"), ("parity", "failed")]


def test_rule_that_finds_nothing_is_not_judged(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [both("a")])
    result = judged(bundle, '[[parity]]\nsampler = "min_p"\n[[parity]]')
    ((rule, state, finding),) = findings(result)
    assert (rule, state, result.exit_status) == ("parity.*.min_p", "unjudged", 2)
    assert finding.figure == "0 results that the rule can judge"


def test_fewer_cases_than_asked_are_not_judged(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [both("a")])
    assert judged(bundle, "[[parity]]\nat_least = 2").exit_status == 0
    assert judged(bundle, "[[parity]]\nat_least = 3").exit_status == 2


def test_failure_weighs_more_than_what_cannot_be_judged(tmp_path: Path) -> None:
    wrong = case("a", {"mine": got("crashed"), "llama.cpp": got()})
    policy = '[[parity]]\nsampler = "min_p"\n[[parity]]'
    assert judged(finished(tmp_path / "b", [wrong]), policy).exit_status == 1


def test_result_taken_out_of_a_case_is_not_judged(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [both("a"), case("b", {"llama.cpp": got()})])
    ((_, state, finding),) = findings(judged(bundle, "[[parity]]"))
    assert (state, finding.subject, finding.figure) == ("unjudged", "b on mine", "no result")


def without(kind: str) -> Callable[[list[str]], list[str]]:
    def remove(lines: list[str]) -> list[str]:
        at = next(i for i, line in enumerate(lines) if json.loads(line)["kind"] == kind)
        return lines[:at] + lines[at + 1 :]

    return remove


@pytest.mark.parametrize("kind", ["case", "timing", "distribution", "skip_ratio", "footer"])
def test_bundle_with_a_line_taken_out_is_refused(tmp_path: Path, kind: str) -> None:
    fine = CellOnBackend(decision="equivalent", low=0.0, high=0.001)
    records = [both("a"), timed("t", 1.0), cell("c", fine), saved("w@mine", 0.5)]
    bundle = finished(tmp_path / "b", records)
    path = bundle.folder / "results.jsonl"
    path.write_text("".join(without(kind)(path.read_text().splitlines(keepends=True))))
    with pytest.raises(InputError, match="footer"):
        read_finished(bundle.folder)


@pytest.mark.parametrize(
    ("skip_ratio", "checks", "least", "exit_status"),
    [
        (0.5, [RIGHT], 0.4, 0),
        (0.3, [RIGHT], 0.4, 1),
        (0.5, [RIGHT, WRONG], 0.4, 1),
        (0.5, [], 0.4, 2),
        (None, [], 0.0, 1),
    ],
    ids=["enough", "too-little", "a-check-missed", "nothing-checked", "crashed"],
)
def test_skip_ratio_and_its_checks_decide(
    tmp_path: Path, skip_ratio: float | None, checks: list[Check], least: float, exit_status: int
) -> None:
    bundle = finished(tmp_path / "b", [saved("w@mine", skip_ratio, checks)])
    policy = f'[[skip_ratio]]\nworkload = "w"\nmin_skip_ratio = {least}'
    assert judged(bundle, policy).exit_status == exit_status


@pytest.mark.parametrize(
    ("pattern", "exit_status"),
    [("s/w@mine", 0), ("s/w", 0), ("s/*", 0), ("s/w@other", 2), ("w", 2)],
    ids=["as the gate prints it", "as its page does", "a pattern", "another backend", "a part"],
)
def test_workload_is_named_as_it_is_printed(tmp_path: Path, pattern: str, exit_status: int) -> None:
    bundle = finished(tmp_path / "b", [saved("s/w@mine", 0.5, [RIGHT])])
    policy = f'[[skip_ratio]]\nworkload = "{pattern}"\nmin_skip_ratio = 0.1'
    assert judged(bundle, policy).exit_status == exit_status


def test_workload_that_was_not_measured_is_not_judged(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [saved("other@mine", 0.9, [RIGHT])])
    policy = '[[skip_ratio]]\nworkload = "w"\nmin_skip_ratio = 0.1'
    assert judged(bundle, policy).exit_status == 2


def test_run_of_single_cases_is_not_judged_unless_the_policy_says_so(tmp_path: Path) -> None:
    info = run_info("mine", "llama.cpp").model_copy(update={"only": ["top_p/a*"]})
    bundle = finished(tmp_path / "b", [both("a")], info)
    ((rule, _, finding),) = findings(judged(bundle, "[[parity]]"))
    assert (rule, finding.figure) == ("run", "only top_p/a*")
    assert judged(bundle, "partial = true\n[[parity]]").exit_status == 0


def test_backend_that_did_not_run_is_not_judged_unless_it_is_optional(tmp_path: Path) -> None:
    info = run_info("mine", "llama.cpp")
    gone = info.backends["mine"].model_copy(update={"unavailable": "no such device"})
    info = info.model_copy(update={"backends": info.backends | {"mine": gone}})
    bundle = finished(tmp_path / "b", [case("a", {"llama.cpp": got()})], info)
    ((_, state, finding),) = findings(judged(bundle, "[[parity]]"))
    assert (state, finding.figure) == ("unjudged", "did not run: no such device")
    assert judged(bundle, 'optional_backends = ["mi*"]\n[[parity]]').exit_status == 0


def test_suite_and_profile_that_the_policy_names_must_have_run(tmp_path: Path) -> None:
    info = run_info("mine", "llama.cpp", suites={"parity/top_p": "0"})
    bundle = finished(tmp_path / "b", [both("a")], info)
    assert judged(bundle, 'suites = ["parity/*"]\n[[parity]]').exit_status == 0
    result = judged(bundle, 'suites = ["timing/*"]\nprofile = "full"\n[[parity]]')
    assert [f.subject for _, _, f in findings(result)] == ["suite timing/*", "the run"]
    assert result.exit_status == 2


def test_known_divergence_passes_until_its_date(tmp_path: Path) -> None:
    wrong = case("top_p/a", {"mine": diverged(), "llama.cpp": got()})
    bundle = finished(tmp_path / "b", [wrong, both("b")])
    result = judged(bundle, ALLOW.format(case="top_p/*", expires=TODAY))
    assert (result.exit_status, result.allowances[0].used) == (0, 1)
    past = ALLOW.format(case="top_p/*", expires=date(2026, 11, 20))
    late = judged(bundle, past)
    assert late.exit_status == 1
    named = {rule: f.figure for rule, _, f in findings(late)}
    assert named["allow[1] (#7)"] == "expired on 2026-11-20"
    assert "parity" in named
    owned = judged(bundle, past + 'owner = "Ada"')
    assert owned.allowances[0].owner == "Ada"
    lines = "\n".join(terminal_lines(owned))
    assert "FAILED allow[1] (#7, owner: Ada)" in lines
    assert "fix: resolve #7, owner: Ada, or set a later date" in lines


def test_known_divergence_covers_no_other_outcome(tmp_path: Path) -> None:
    worse = case("top_p/a", {"mine": got("crashed"), "llama.cpp": got()})
    bundle = finished(tmp_path / "b", [worse])
    assert judged(bundle, ALLOW.format(case="top_p/*", expires=TODAY)).exit_status == 1


def test_a_finding_is_allowed_or_ignored_by_its_id_alone(tmp_path: Path) -> None:
    crash = case("top_p/b", {"mine": got("crashed"), "llama.cpp": got()})
    wrong = case("top_p/a", {"mine": diverged(), "llama.cpp": got()})
    bundle = finished(tmp_path / "b", [wrong, crash])
    ids = {f.subject: f.id for _, _, f in findings(judged(bundle, "[[parity]]"))}
    assert ids == {"top_p/a on mine": "top_p/fewer", "top_p/b on mine": "run/crashed"}
    text = ALLOW.replace("case = ", "finding = ").format(case="top_p/f*", expires=TODAY)
    ((_, _, left),) = findings(judged(bundle, text))
    assert left.id == "run/crashed"
    file = read_policy(None)
    for ignored, exit_status in (["top_p/*"], 1), (["top_p/*", "run/crashed"], 0):
        policy = dataclasses.replace(file, policy=file.policy.ignoring(ignored))
        result = gate(bundle, policy, None, TODAY)
        assert result.exit_status == exit_status
        assert [used.finding for used in result.allowances] == ignored


def test_each_kind_of_failure_is_printed_before_the_second_of_any(tmp_path: Path) -> None:
    many = [case(f"a/{i}", {"mine": got("crashed"), "llama.cpp": got()}) for i in range(9)]
    few = case("top_p/z", {"mine": diverged(), "llama.cpp": got()})
    lines = list(terminal_lines(judged(finished(tmp_path / "b", [*many, few]), "[[parity]]")))
    assert [line for line in lines if line.startswith("FAILED")][:3] == [
        "FAILED parity   a/0 on mine",
        "FAILED parity   top_p/z on mine",
        "FAILED parity   a/1 on mine",
    ]


def test_what_would_let_an_accepted_verdict_pass_is_named(tmp_path: Path) -> None:
    right = case("top_p/a", {"mine": got("correct"), "llama.cpp": got()})
    ((_, _, failed),) = findings(judged(finished(tmp_path / "b", [right]), "[[parity]]"))
    assert failed.id == "run/correct"
    assert failed.mend == 'if this is right for you, write accept = "correct" in the policy'


def test_an_ignored_finding_is_noted_and_an_empty_pattern_is_refused(tmp_path: Path) -> None:
    wrong = case("top_p/a", {"mine": diverged(), "llama.cpp": got()})
    bundle = finished(tmp_path / "b", [wrong])
    file = read_policy(None)
    policy = dataclasses.replace(file, policy=file.policy.ignoring(["*"]))
    assert gate(bundle, policy, None, TODAY).notes[0] == "allow[1] (--ignore) let 1 pass: * on *"
    with pytest.raises(InputError, match="--ignore: is empty"):
        file.policy.ignoring([""])


def test_known_divergence_that_is_no_longer_needed_is_reported_or_fails(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [both("a")])
    policy = ALLOW.format(case="top_p/*", expires=TODAY)
    result = judged(bundle, policy)
    assert result.exit_status == 0
    assert result.notes[0] == "allow[1] (#7) matched nothing: top_p/* on mine"
    assert judged(bundle, 'unused_allowances = "fail"' + policy).exit_status == 1


def test_verdict_worse_than_in_the_last_release_fails(tmp_path: Path) -> None:
    both_pass = {"mine": ["identical", "reordered"], "llama.cpp": ["identical"]}
    last = finished(tmp_path / "last", [both("a"), both("b")])
    now = case("a", {"mine": got("reordered"), "llama.cpp": got()}, required=both_pass)
    bundle = finished(tmp_path / "b", [now, both("b")])
    policy = "[[parity]]\n[[not_worse]]"
    ((rule, state, finding),) = findings(judged(bundle, policy, last))
    assert (rule, state, finding.limit) == ("not_worse", "failed", "not worse than identical")
    assert judged(last, policy, bundle).exit_status == 0
    assert judged(bundle, policy).exit_status == 2


def test_case_that_the_last_release_had_must_still_be_there(tmp_path: Path) -> None:
    last = finished(tmp_path / "last", [both("a"), both("b")])
    bundle = finished(tmp_path / "b", [both("a")])
    judgements = findings(judged(bundle, "[[not_worse]]", last))
    assert [(state, f.subject) for _, state, f in judgements] == [
        ("unjudged", "b on mine"),
        ("unjudged", "b on llama.cpp"),
    ]


@pytest.mark.parametrize(
    ("decision", "low", "high", "margin", "exit_status"),
    [
        ("equivalent", 0.0, 0.001, None, 0),
        ("different", 0.0005, 0.001, None, 1),
        ("undecided", 0.0, 0.01, None, 2),
        ("crashed", None, None, None, 1),
        ("different", 0.0005, 0.001, 0.001, 0),
        ("different", 0.003, 0.004, 0.002, 1),
        ("equivalent", 0.0, 0.0015, 0.001, 2),
        ("different", None, None, 0.5, 1),
    ],
)
def test_distribution_is_judged_by_its_decision_or_by_a_margin(
    tmp_path: Path,
    decision: str,
    low: float | None,
    high: float | None,
    margin: float | None,
    exit_status: int,
) -> None:
    on_mine = CellOnBackend.model_validate(
        {"decision": decision, "low": low, "high": high, "draws": 1000}
    )
    bundle = finished(tmp_path / "b", [cell("c", on_mine)])
    rule = f"margin = {margin}" if margin else ""
    assert judged(bundle, f"[[distribution]]\n{rule}").exit_status == exit_status


def test_cell_without_the_backend_is_not_judged(tmp_path: Path) -> None:
    fine = CellOnBackend(decision="equivalent", low=0.0, high=0.001)
    whole = cell("c", fine)
    less = whole.model_copy(update={"backends": {"llama.cpp": fine}})
    bundle = finished(tmp_path / "b", [less])
    assert judged(bundle, "[[distribution]]").exit_status == 2


def test_what_no_rule_is_about_is_reported(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [both("a"), timed("t", 1.0)])
    notes = judged(bundle, '[[parity]]\nbackend = "mine"').notes
    assert [note for note in notes if note.startswith("no ")] == [
        "no rule is about the 1 timed chains of this bundle",
        "no parity rule is about backend llama.cpp",
    ]
    assert "the bundle does not state the files of mine, llama.cpp" in notes


def test_suites_of_the_user_and_other_code_are_reported(tmp_path: Path) -> None:
    info = run_info("mine", "llama.cpp", suites={"parity/top_k": "f00", "mine/own": "f00"})
    other = "the run was made with other code of sampler-parity (0.0.0)"
    for code, said in ((digest_of_code(), []), ("of another version", [other])):
        machine = info.machine.model_copy(update={"code": code})
        run = info.model_copy(update={"machine": machine, "version": "0.0.0"})
        notes = judged(finished(tmp_path / code, [both("a")], run), "[[parity]]").notes
        assert [note for note in notes if "code" in note] == said
        assert "suite mine/own is not shipped: it defines what its cases require" in notes
        assert not any("parity/top_k" in note for note in notes)


def test_without_a_subject_the_gate_says_what_it_judged(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [both("a")])
    (note,) = (n for n in judged(bundle, "[[parity]]").notes if n.startswith("judged "))
    assert note == "judged mine 1.0, llama.cpp 1.0 only; no [subject] names what is released"
    subject = '[subject]\nname = "mine 1"\nbackends = ["mine"]\n[[parity]]'
    assert not any(n.startswith("judged ") for n in judged(bundle, subject).notes)


def test_words_name_rule_figure_limit_and_replay(tmp_path: Path) -> None:
    wrong = case("top_p/a", {"mine": diverged(), "llama.cpp": got()})
    result = judged(finished(tmp_path / "b", [wrong]), "[[parity]]")
    lines = list(terminal_lines(result))
    assert lines[:3] == [
        "FAILED parity   top_p/a on mine",
        "  found: diverged at stage top_p: p   asked: identical   id: top_p/fewer",
        "  replay: sampler-parity run parity/top_p --case top_p/a -b mine",
    ]
    assert lines[-1] == "gate     FAILED   1 failed: parity (first: top_p/a on mine)   exit 1"
    assert verdict_line(result) in lines


def test_what_two_rules_find_of_a_case_is_said_once(tmp_path: Path) -> None:
    names = [f"top_p/{i}" for i in range(7)]
    wrong = [case(name, {"mine": diverged(), "llama.cpp": got()}) for name in names]
    before = finished(tmp_path / "before", [both(name) for name in names])
    after = finished(tmp_path / "after", wrong)
    result = judged(after, "[[parity]]\n[[not_worse]]", before)
    lines = list(terminal_lines(result))
    assert lines[:3] == [
        "FAILED parity, not_worse   top_p/0 on mine",
        "  found: diverged at stage top_p: p   asked: identical; not worse than identical   "
        "id: top_p/fewer",
        "  replay: sampler-parity run parity/top_p --case top_p/0 -b mine",
    ]
    assert len([line for line in lines if line.startswith("FAILED")]) == MOST_FINDINGS
    assert lines[15] == "... and 2 more of parity, not_worse"
    text = markdown(result)
    assert text.count("/0 on mine</code>") == 1
    assert "2 more are in the JSON" in text


def test_markdown_escapes_what_an_adapter_says(tmp_path: Path) -> None:
    wrong = case("a", {"mine": got("crashed", detail=HOSTILE), "llama.cpp": got()})
    text = markdown(judged(finished(tmp_path / "b", [wrong]), "[[parity]]"))
    row = next(line for line in text.splitlines() if "crashed" in line)
    assert row.count("|") - row.count("\\|") == 6
    assert "\x1b" not in text
    assert "`|" not in row.replace("` |", "")


def test_committed_schema_is_the_one_of_the_model() -> None:
    committed = files("sampler_parity.harness") / "schemas" / "gate.schema.json"
    assert committed.read_text() == schema_text(GateResult), (
        'write it again: python -c "'
        "from sampler_parity.harness.gate.records import GateResult; "
        "from tests.support.schema_text import schema_text; "
        "open('harness/schemas/gate.schema.json', 'w').write(schema_text(GateResult))\""
    )


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from sampler_parity.harness.cli.app import main; main()"]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.slow
def test_command_says_pass_fail_and_could_not_judge_by_its_exit_status(tmp_path: Path) -> None:
    wrong = case("a", {"mine": diverged(), "llama.cpp": got()})
    bundle = finished(tmp_path / "b", [wrong]).folder
    out, md = tmp_path / "gate.json", tmp_path / "gate.md"
    done = run("gate", bundle, "--no-recompute", "--json", out, "--md", md)
    assert done.returncode == 1, done.stderr
    assert json.loads(out.read_text())["exit_status"] == 1
    assert md.read_text().startswith("## Gate: FAILED\n")
    (bundle / "results.jsonl").write_text(
        "".join(without("footer")((bundle / "results.jsonl").read_text().splitlines(True)))
    )
    done = run("gate", bundle)
    assert done.returncode == 2
    assert "has no footer: the run did not finish" in done.stderr
