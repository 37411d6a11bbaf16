"""Results of servers are judged by rule, and compared with the last release."""

from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.gate.labels import markdown
from sampler_parity.harness.verdicts import ServerVerdict
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.gate_bundles import both, findings, finished, judged
from tests.support.report_bundles import run_info

RULE = '[[server]]\nresult = "parameter/*"\nverdicts = ["honoured"]\n'
NOT_WORSE = "[[server_not_worse]]\n"
CURL = "curl http://127.0.0.1:8080/completion -d '{\"top_k\": 1}'"


def checked(name: str, verdict: ServerVerdict = "honoured", **fields: Any) -> ServerResult:
    group = "parameter"
    shown = {"evidence": "the greedy text", "curl": CURL, **fields}
    return ServerResult(
        id=f"{group}/{name}", server="mine", group="parameter", name=name, verdict=verdict, **shown
    )


def bundle(folder: Path, *results: ServerResult) -> Bundle:
    return finished(folder, results, run_info("mine"))


def test_results_that_are_honoured_pass(tmp_path: Path) -> None:
    done = judged(bundle(tmp_path / "b", checked("top_k"), checked("min_p")), RULE)
    assert done.exit_status == 0
    assert [(rule.rule, rule.met) for rule in done.rules if rule.place == "server[1]"] == [
        ("server.*.parameter/*", 2)
    ]


def test_an_ignored_parameter_fails_with_its_evidence_and_the_request(tmp_path: Path) -> None:
    wrong = checked("top_k", "ignored", evidence="top_k 1: the text stays")
    done = judged(bundle(tmp_path / "b", wrong, checked("min_p")), RULE)
    ((rule, state, finding),) = findings(done)
    assert (done.exit_status, rule, state) == (1, "server.*.parameter/*", "failed")
    assert finding.subject == "parameter/top_k on mine"
    assert (finding.figure, finding.limit) == ("ignored: top_k 1: the text stays", "honoured")
    assert finding.replay == CURL
    assert "| <code>ignored" in markdown(done)


def test_without_verdicts_it_is_what_the_check_requires(tmp_path: Path) -> None:
    known = checked("stop", "other meaning", required=["other meaning"])
    assert judged(bundle(tmp_path / "b", known), "[[server]]").exit_status == 0
    assert judged(bundle(tmp_path / "c", known), RULE).exit_status == 1


def test_a_rule_that_no_result_fits_cannot_be_judged(tmp_path: Path) -> None:
    rule = '[[server]]\nresult = "exact/*"'
    done = judged(bundle(tmp_path / "b", checked("top_k")), rule)
    assert done.exit_status == 2
    assert (
        judged(bundle(tmp_path / "c", checked("top_k")), "[[server]]\nat_least = 2").exit_status
        == 2
    )


def test_what_was_skipped_fails_unless_the_policy_lets_it(tmp_path: Path) -> None:
    asked = bundle(tmp_path / "b", checked("ignore_eos", "skipped"), checked("top_k"))
    assert judged(asked, RULE).exit_status == 1
    assert judged(asked, 'skipped = "allow"\n' + RULE).exit_status == 0
    named = RULE.replace('["honoured"]', '["honoured", "skipped"]')
    assert judged(asked, named).exit_status == 0


def test_a_verdict_worse_than_before_fails_and_a_better_one_passes(tmp_path: Path) -> None:
    good, bad = checked("top_k"), checked("top_k", "clamped", required=["clamped"])
    before, after = bundle(tmp_path / "good", good), bundle(tmp_path / "bad", bad)
    assert judged(before, NOT_WORSE, after).exit_status == 0
    assert judged(after, NOT_WORSE, after).exit_status == 0
    done = judged(after, NOT_WORSE, before)
    ((rule, state, finding),) = findings(done)
    assert (rule, state, finding.limit) == ("server_not_worse", "failed", "not worse than honoured")


def test_what_is_missing_or_skipped_now_cannot_be_judged(tmp_path: Path) -> None:
    before = bundle(tmp_path / "a", checked("top_k"), checked("min_p"), checked("seed", "skipped"))
    now = bundle(tmp_path / "b", checked("top_k", "skipped"))
    done = judged(now, NOT_WORSE, before)
    assert done.exit_status == 2
    assert [f.subject for _, _, f in findings(done)] == [
        *("parameter/top_k on mine", "parameter/min_p on mine")
    ]
    assert judged(now, NOT_WORSE).exit_status == 2


def test_a_note_says_that_no_rule_is_about_servers(tmp_path: Path) -> None:
    done = judged(finished(tmp_path / "b", [both("a"), checked("top_k")]), "[[parity]]")
    assert "no rule is about the 1 results of servers of this bundle" in done.notes
