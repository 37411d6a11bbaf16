"""harness/gate/gate.py: every rule fails for its reason, and missing results never pass."""

import dataclasses
import json
from collections.abc import Callable
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import BaseModel

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.bundle.machine import digest_of_code
from sampler_parity.harness.checks.distribution.record import CellOnBackend
from sampler_parity.harness.checks.timed_records import Check
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.gate.gate import gate
from sampler_parity.harness.gate.labels import MOST_FINDINGS, markdown, terminal_lines, verdict_line
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.gate.records import GateResult
from tests.support.command_line import cli
from tests.support.gate_bundles import (
    TODAY,
    both,
    cell,
    findings,
    finished,
    judged,
    on_mine,
    saved,
    timed,
)
from tests.support.report_bundles import HOSTILE, case, diverged, got, run_info
from tests.support.schema_text import schema_text

FINE = CellOnBackend(decision="equivalent", low=0.0, high=0.001)
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
    wrong = on_mine("top_p/a", diverged(), samplers=stages)
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
    wrong = on_mine("a", flaky)
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
    typical_p, top_p = (on_mine("a", got("close"), samplers=[n]) for n in ("typical_p", "top_p"))
    fine = finished(tmp_path / "fine", [typical_p, both("b")])
    assert judged(fine, policy).exit_status == 0
    wrong = finished(tmp_path / "wrong", [top_p, both("b")])
    states = [(rule, state) for rule, state, _ in findings(judged(wrong, policy))]
    assert states == [("parity.*.typical_p", "unjudged"), ("parity", "failed")]


def test_rule_that_finds_nothing_is_not_judged(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "b", [both("a")])
    result = judged(bundle, '[[parity]]\nsampler = "min_p"\n[[parity]]')
    ((rule, state, finding),) = findings(result)
    assert (rule, state, result.exit_status) == ("parity.*.min_p", "unjudged", 2)
    assert finding.figure == "0 results that the rule can judge"


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
    records = [both("a"), timed("t", 1.0), cell("c", FINE), saved("w@mine", 0.5)]
    bundle = finished(tmp_path / "b", records)
    path = bundle.folder / "results.jsonl"
    path.write_text("".join(without(kind)(path.read_text().splitlines(keepends=True))))
    with pytest.raises(InputError, match="footer"):
        read_finished(bundle.folder)


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
    wrong = on_mine("top_p/a", diverged())
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


def test_a_finding_is_allowed_or_ignored_by_its_id_alone(tmp_path: Path) -> None:
    crash = on_mine("top_p/b", got("crashed"))
    wrong = on_mine("top_p/a", diverged())
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
    many = [on_mine(f"a/{i}", got("crashed")) for i in range(9)]
    few = on_mine("top_p/z", diverged())
    lines = list(terminal_lines(judged(finished(tmp_path / "b", [*many, few]), "[[parity]]")))
    assert [line for line in lines if line.startswith("FAILED")][:3] == [
        "FAILED parity   a/0 on mine",
        "FAILED parity   top_p/z on mine",
        "FAILED parity   a/1 on mine",
    ]


def test_what_would_let_an_accepted_verdict_pass_is_named(tmp_path: Path) -> None:
    right = on_mine("top_p/a", got("correct"))
    ((_, _, failed),) = findings(judged(finished(tmp_path / "b", [right]), "[[parity]]"))
    assert failed.id == "run/correct"
    assert failed.mend == 'if this is right for you, write accept = "correct" in the policy'


def test_an_ignored_finding_is_noted_and_an_empty_pattern_is_refused(tmp_path: Path) -> None:
    wrong = on_mine("top_p/a", diverged())
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
    now = on_mine("a", got("reordered"), required=both_pass)
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


OF_MIN_P = '[[parity]]\nsampler = "min_p"\n[[parity]]'
LEAST = "[[parity]]\nat_least = {}"
SKIP_RATIO = '[[skip_ratio]]\nworkload = "{}"\nmin_skip_ratio = {}'
IN_A_SUITE = saved("s/w@mine", 0.5, [RIGHT])
CRASHED = on_mine("top_p/a", got("crashed"))
WITHOUT_MINE = cell("c", FINE).model_copy(update={"backends": {"llama.cpp": FINE}})
DECIDED: dict[str, tuple[BaseModel, str, int]] = {
    "as many cases as asked": (both("a"), LEAST.format(2), 0),
    "fewer cases than asked": (both("a"), LEAST.format(3), 2),
    "a failure, and a rule without results": (CRASHED, OF_MIN_P, 1),
    "an outcome that is not allowed": (CRASHED, ALLOW.format(case="top_p/*", expires=TODAY), 1),
    "a cell without the backend": (WITHOUT_MINE, "[[distribution]]", 2),
    "enough skipped": (saved("w@mine", 0.5, [RIGHT]), SKIP_RATIO.format("w", 0.4), 0),
    "too little skipped": (saved("w@mine", 0.3, [RIGHT]), SKIP_RATIO.format("w", 0.4), 1),
    "a check missed": (saved("w@mine", 0.5, [RIGHT, WRONG]), SKIP_RATIO.format("w", 0.4), 1),
    "nothing checked": (saved("w@mine", 0.5), SKIP_RATIO.format("w", 0.4), 2),
    "a workload that crashed": (saved("w@mine", None), SKIP_RATIO.format("w", 0.0), 1),
    "another workload": (saved("other@mine", 0.9, [RIGHT]), SKIP_RATIO.format("w", 0.1), 2),
    "as the gate prints it": (IN_A_SUITE, SKIP_RATIO.format("s/w@mine", 0.1), 0),
    "as its page prints it": (IN_A_SUITE, SKIP_RATIO.format("s/w", 0.1), 0),
    "a pattern": (IN_A_SUITE, SKIP_RATIO.format("s/*", 0.1), 0),
    "another backend": (IN_A_SUITE, SKIP_RATIO.format("s/w@other", 0.1), 2),
    "a part of the name": (IN_A_SUITE, SKIP_RATIO.format("w", 0.1), 2),
}


@pytest.mark.parametrize(("record", "policy", "exit_status"), DECIDED.values(), ids=DECIDED)
def test_a_record_and_the_rules_about_it_decide(
    tmp_path: Path, record: BaseModel, policy: str, exit_status: int
) -> None:
    assert judged(finished(tmp_path / "b", [record]), policy).exit_status == exit_status


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
    wrong = on_mine("top_p/a", diverged())
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
    wrong = [on_mine(name, diverged()) for name in names]
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
    wrong = on_mine("a", got("crashed", detail=HOSTILE))
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


@pytest.mark.slow
def test_command_says_pass_fail_and_could_not_judge_by_its_exit_status(tmp_path: Path) -> None:
    wrong = on_mine("a", diverged())
    bundle = finished(tmp_path / "b", [wrong]).folder
    out, md = tmp_path / "gate.json", tmp_path / "gate.md"
    done = cli("gate", bundle, "--no-recompute", "--json", out, "--md", md)
    assert done.returncode == 1, done.stderr
    assert json.loads(out.read_text())["exit_status"] == 1
    assert md.read_text().startswith("## Gate: FAILED\n")
    (bundle / "results.jsonl").write_text(
        "".join(without("footer")((bundle / "results.jsonl").read_text().splitlines(True)))
    )
    done = cli("gate", bundle)
    assert done.returncode == 2
    assert "has no footer: the run did not finish" in done.stderr
