"""harness/pytest_plugin.py: suites as tests; no effect without its option."""

import shlex
import sys
from typing import Any

import pytest

# pytester forgets what is imported in each of its runs; what is already there, it keeps.
import sampler_parity.harness.backends.registry
import sampler_parity.harness.checks.execute
import sampler_parity.harness.run.judging  # noqa: F401
from sampler_parity.harness.bundle.records import BackendResult, CaseResult

pytest_plugins = ["pytester"]

SUITE = """
name = "two cases of top_p"
[[case]]
id = "crossing"
description = "The token that crosses p is kept"
why = "A port easily drops it."
chain = [{ top_p = { p = 0.5 } }, { greedy = {} }]
logits = { probs = [0.4, 0.3, 0.2, 0.1] }
[[case]]
id = "disabled"
description = "p = 1 keeps everything"
why = "The other side of it."
chain = [{ top_p = { p = 1.0 } }, { greedy = {} }]
logits = { probs = [0.4, 0.3, 0.2, 0.1] }
[[case]]
id = "slow"
description = "p = 1 keeps everything, of the full profile"
why = "Profiles choose."
chain = [{ top_p = { p = 1.0 } }]
logits = { probs = [0.4, 0.3, 0.2, 0.1] }
quick = false
"""
# An adapter that answers hello and nothing else: collecting needs no more.
ADAPTER = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"ok": True, "name": "quick", "version": "1", "build": "", "device": "cpu",
                      "capabilities": ["run"], "samplers": []}), flush=True)
"""
MUTANT = "mutant/top_p/crossing-token-dropped"
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist")


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.mkdir("suites") / "top_p.toml").write_text(SUITE)
    (pytester.path / "adapter.py").write_text(ADAPTER)
    return pytester


def adapter(name: str) -> tuple[str, str]:
    return "--sampler-backend", f"{name}={shlex.join([sys.executable, 'adapter.py'])}"


def test_without_the_option_a_suite_is_no_test(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_own(): pass")
    result = suite.runpytest_inprocess(*OPTIONS)
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_wrong_backend_fails_with_the_first_stage_and_the_replay(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess(*OPTIONS, "-v", "--sampler-backend", MUTANT, "suites")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            f"suites/top_p.toml::crossing?{MUTANT}? FAILED*",
            f"suites/top_p.toml::disabled?{MUTANT}? PASSED*",
            f"DIVERGED top_p/crossing   {MUTANT} * vs reference, step 1 of 1, stage 1 of 2 (top_p)",
            "  first difference: * (*survivors: got 1, expected 2)",
            "  required: identical",
            f"  replay: sampler-parity run *top_p.toml --case top_p/crossing -b {MUTANT}",
            "*= sampler-parity: groups of failures =*",
            f"1 case diverges at top_p: keeps * p allows   {MUTANT}, such as top_p/crossing",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_every_backend_gets_its_tests_and_the_full_profile_more(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess(
        *OPTIONS,
        *("--collect-only", "-q", "--sampler-profile", "full"),
        *adapter("one"),
        *adapter("two"),
        "suites",
    )
    result.stdout.fnmatch_lines(
        [
            *(f"suites/top_p.toml::{case}?one?" for case in ("crossing", "disabled", "slow")),
            *(f"suites/top_p.toml::{case}?two?" for case in ("crossing", "disabled", "slow")),
        ]
    )


def configured(suite: pytest.Pytester, *lines: str) -> None:
    suite.makeini("\n".join(["[pytest]", *lines]))
    suite.makepyfile("def test_own(): pass")


def test_configuration_names_the_backend_and_the_suites(suite: pytest.Pytester) -> None:
    command = adapter("one")[1]
    configured(suite, f"sampler_backend = {command}", "sampler_suites = suites/top_p.toml",
               "testpaths = test_*.py")  # fmt: skip
    result = suite.runpytest_inprocess(*OPTIONS)
    result.assert_outcomes(passed=1, skipped=2)  # it claims nothing
    result = suite.runpytest_inprocess(*OPTIONS, "-rs", "suites")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*not claimed: *top_p*"])


@pytest.mark.slow
def test_one_suite_is_collected_alone_by_its_name(suite: pytest.Pytester) -> None:
    configured(suite, "sampler_suites = parity")
    alone = (*OPTIONS, "--co", "-q", *adapter("one"), "--sampler-suite", "distribution/tail")
    lines = suite.runpytest_inprocess(*alone).outlines
    assert [line for line in lines if "::" in line] == ["distribution/tail.toml::15-nats[one]"]
    lines = suite.runpytest_inprocess(*alone, "suites").outlines  # next to a path that is named
    assert {line.partition("::")[0] for line in lines if "::" in line} == {
        "distribution/tail.toml",
        "suites/top_p.toml",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sampler-suite", "parity/topp"], "*sampler suite parity/topp: *did you mean parity/*"),
        (["--sampler-accept", "all"], "*invalid choice: 'all'*"),
    ],
)
def test_wrong_option_is_a_usage_error(
    suite: pytest.Pytester, options: list[str], message: str
) -> None:
    result = suite.runpytest_inprocess(*OPTIONS, *adapter("one"), *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_suite_without_a_backend_is_a_usage_error(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess(*OPTIONS, "--sampler-suite", "parity/top_p")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--sampler-suite: name a backend, too*"])


@pytest.mark.parametrize(("accept", "failed"), [("identical", 1), ("tied", 0)])
def test_ties_pass_where_they_are_accepted(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, accept: str, failed: int
) -> None:
    def tied(case: Any, backends: Any) -> CaseResult:
        verdict = BackendResult(verdict="tied" if case.id.endswith("crossing") else "identical")
        return CaseResult(id=case.id, suite="s", samplers=["top_p"], steps=1,
                          backends={"one": verdict}, required={"one": ["identical"]})  # fmt: skip

    monkeypatch.setattr("sampler_parity.harness.checks.execute.execute", tied)
    configured(suite, f"sampler_accept = {accept}")
    result = suite.runpytest_inprocess(*OPTIONS, *adapter("one"), "suites")
    result.assert_outcomes(passed=2 - failed, failed=failed)
    assert ("groups of failures" in result.stdout.str()) == bool(failed)


@pytest.mark.slow
def test_the_end_has_one_line_for_each_group_of_failures_also_in_parallel(
    suite: pytest.Pytester,
) -> None:
    command = ("--sampler-backend", MUTANT, "--sampler-suite", "parity/top_p", "-n", "2")
    result = suite.runpytest_subprocess("-p", "no:cacheprovider", *command)
    *_, text = result.stdout.str().partition("= sampler-parity: groups of failures =")
    groups = [line for line in text.splitlines() if f"   {MUTANT}, such as " in line]
    assert groups[0].startswith("123 cases diverge at top_p: keeps one fewer than p allows")
    counts = [int(line.split()[0]) for line in groups]
    result.assert_outcomes(failed=sum(counts), passed=242)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine=no-such-program --fast", "*mine=*does not run here: cannot start no-such-program*"),
        ("no_such_backend", "*--sampler-backend: backend 'no_such_backend': unknown*"),
    ],
    ids=["unavailable", "unknown"],
)
def test_backend_that_does_not_run_is_a_usage_error(
    suite: pytest.Pytester, name: str, message: str
) -> None:
    result = suite.runpytest_inprocess(*OPTIONS, "--sampler-backend", name, "suites")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.slow
def test_malformed_suite_is_an_error_in_one_line(suite: pytest.Pytester) -> None:
    (suite.path / "suites" / "wrong.toml").write_text(SUITE.replace("quick =", "quik ="))
    result = suite.runpytest_inprocess(*OPTIONS, *adapter("one"), "suites")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*wrong.toml: case 'slow': quik: Extra inputs*"])


def test_toml_that_is_no_suite_is_left_alone(suite: pytest.Pytester) -> None:
    (suite.path / "suites" / "other.toml").write_text('[project]\nname = "x"\n')
    result = suite.runpytest_inprocess(*OPTIONS, "--collect-only", "-q", *adapter("one"), "suites")
    assert result.ret == pytest.ExitCode.OK
    assert "other.toml" not in result.stdout.str()
