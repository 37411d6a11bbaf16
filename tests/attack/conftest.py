"""Fixtures of the attacks."""

from collections.abc import Iterator

import pytest

from tests.attack.killing import Starter


@pytest.fixture(scope="module")
def starter() -> Iterator[Starter]:
    made = Starter()
    yield made
    made.close()
