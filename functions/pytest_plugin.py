"""A test for each case of a sampler's suite: `@pytest.mark.sampler_parity("top_p")` on a test that
takes `check_case` and calls it with the function. docs/check-a-function.md.
"""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

FIXTURE = "check_case"
LINES = 10  # of a failure


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "sampler_parity(sampler, cases='*'): a test for each case of the sampler's suite; it takes"
        f" the fixture `{FIXTURE}`",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("sampler_parity")
    if marker is None or FIXTURE not in metafunc.fixturenames:
        return
    from sampler_parity.functions.subject import cases_of
    from sampler_parity.harness.errors import InputError

    sampler, patterns = (*marker.args, "")[0], marker.kwargs.get("cases", "*")
    try:
        cases = cases_of(sampler, [patterns] if isinstance(patterns, str) else patterns)
    except InputError as error:
        pytest.fail(f"@pytest.mark.sampler_parity: {error}", pytrace=False)
    pairs = [(sampler, case) for case in cases]
    names = [case.id.partition("/")[2] for case in cases]
    metafunc.parametrize(FIXTURE, pairs, ids=names, indirect=True)


@pytest.fixture
def check_case(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Judge a function on the case of a test. It takes the options of `check`, but for `cases`."""
    sampler, case = getattr(request, "param", ("", None))
    if case is None:
        pytest.fail("mark the test: @pytest.mark.sampler_parity(SAMPLER)", pytrace=False)

    def judge(function: Callable[..., Any], **options: Any) -> None:
        from sampler_parity.functions.check import subject_of

        subject = subject_of(function, sampler, **options)
        if lacks := subject.skips(case):
            pytest.skip(f"{subject.name} takes no {', '.join(lacks)}")
        with closing(subject.backend):
            result = subject.result(case)
            findings = [*subject.findings([result], [case])] if not result.ok else []
        for finding in findings:
            lines = str(finding).splitlines()
            pytest.fail("\n".join([*lines[:-1][: LINES - 1], lines[-1]]), pytrace=False)

    return judge
