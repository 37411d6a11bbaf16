"""The committed schemas in reports/schemas: one for every page, made of its model."""

from importlib.resources import files
from typing import Any

import pytest

from sampler_parity.reports.page import Page, every_page
from sampler_parity.reports.pages.history import HISTORY
from sampler_parity.reports.pages.index.index_page import INDEX
from tests.support.schema_text import schema_text

ALL: tuple[Page[Any, Any], ...] = (*every_page(), INDEX, HISTORY)


def package_of(page: Page[Any, Any]) -> str:
    """Return where a page's schema is: sampler_parity.reports, or a folder next to the core."""
    return ".".join(page.model.__module__.split(".")[:2])


@pytest.mark.slow
@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_committed_schema_of_a_page_is_the_one_of_its_model(page: Page[Any, Any]) -> None:
    committed = files(package_of(page)) / "schemas" / f"{page.stem}.schema.json"
    where = f"{page.model.__module__} import {page.model.__name__}"
    assert committed.read_text() == schema_text(page.model), (
        f'write it again: python -c "from tests.support.schema_text import schema_text; '
        f"from {where}; open('{committed}', 'w')"
        f'.write(schema_text({page.model.__name__}))"'
    )


def test_every_committed_schema_is_that_of_a_page() -> None:
    committed = {
        (package, path.name)
        for package in {*map(package_of, ALL)}
        for path in (files(package) / "schemas").iterdir()
    }
    assert committed == {(package_of(page), f"{page.stem}.schema.json") for page in ALL}


def test_pages_answer_different_questions_under_names_of_their_own() -> None:
    assert len({page.stem for page in ALL}) == len({page.answers for page in ALL}) == len(ALL)
    assert all(page.answers.endswith("?") for page in ALL)
