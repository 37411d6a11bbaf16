"""A test for each case of a sampler's suite: `@pytest.mark.sampler_parity("top_p")` on a test that
takes `check_case` and calls it with the function. docs/check-a-function.md.
"""

from collections.abc import Callable
from typing import Any

import pytest

FIXTURE = "check_case"
LINES = 10  # of a failure
DRAWS = "draws"  # the test of the distribution, next to those of cases


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "sampler_parity(sampler, cases='*'): a test for each case of the sampler's suite; it takes"
        f" the fixture `{FIXTURE}`",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("sampler_parity")
    if marker is None:
        return
    from sampler_parity.functions.check import patterns_of
    from sampler_parity.functions.subject import LAWS, cases_of
    from sampler_parity.harness.errors import InputError

    mark = "@pytest.mark.sampler_parity"
    if FIXTURE not in metafunc.fixturenames:
        pytest.fail(f"{mark}: the test must take {FIXTURE} and call it", pytrace=False)
    settings = {**dict(zip(("sampler",), marker.args, strict=False)), **marker.kwargs}
    if unknown := settings.keys() - {"sampler", "cases"}:
        pytest.fail(f"{mark}: no setting {', '.join(sorted(unknown))}", pytrace=False)
    sampler, patterns, problem = settings.get("sampler", ""), settings.get("cases", "*"), ""
    try:
        cases = cases_of(sampler, patterns_of(patterns))
    except InputError as error:
        problem = str(error)
    if problem:
        pytest.fail(f"{mark}: {problem}", pytrace=False)
    pairs: list[tuple[str, Any]] = [(sampler, case) for case in cases]
    names = [case.id.partition("/")[2] for case in cases]
    if sampler in LAWS and patterns == "*":
        pairs, names = [*pairs, (sampler, DRAWS)], [*names, DRAWS]
    metafunc.parametrize(FIXTURE, pairs, ids=names, indirect=True)


@pytest.fixture
def check_case(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Judge a function on the case of a test. It takes the options of `check`, but for `cases`."""
    sampler, case = getattr(request, "param", ("", None))
    if case is None:
        pytest.fail("mark the test: @pytest.mark.sampler_parity(SAMPLER)", pytrace=False)

    def judge(function: Callable[..., Any], **options: Any) -> None:
        from sampler_parity.functions.check import ERROR, subject_of

        subject = subject_of(function, sampler, **options)
        if case == DRAWS and not subject.own_random:
            pytest.skip(f"{subject.name} takes no random numbers")
        if case == DRAWS:
            findings = subject.draws(ERROR).findings
        elif lacks := subject.skips(case):
            pytest.skip(f"{subject.name} takes no {', '.join(lacks)}")
        else:
            findings = subject.judged(case)[1]
        for finding in findings:
            lines = str(finding).splitlines()
            pytest.fail("\n".join([*lines[:-1][: LINES - 1], lines[-1]]), pytrace=False)

    return judge
