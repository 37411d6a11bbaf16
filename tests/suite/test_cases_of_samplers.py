"""The numbers of harness/suite/cases_of_samplers.toml are those of the suites."""

from collections import Counter

import pytest

from sampler_parity.harness.suite.items import OF_SAMPLERS, files_of, items_of, quick_cases
from sampler_parity.reference.registry import REFERENCE_SAMPLERS


@pytest.mark.slow
def test_the_cases_of_each_sampler_are_those_that_the_suites_have() -> None:
    suites, _ = files_of(OF_SAMPLERS)
    items = items_of(suites, "quick", 0, ())
    counted = Counter(name for i in items for name in {*getattr(i.check, "samplers", ())})
    assert quick_cases() == {n: counted[n] for n in sorted(REFERENCE_SAMPLERS) if counted[n]}
