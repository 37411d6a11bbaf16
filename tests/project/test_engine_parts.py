"""The table of docs/check-an-engine.md is complete and made from the folders of engines/."""

import pytest

from sampler_parity.harness.engines.engine_file import Engine
from scripts.engines_index import PAGE, cells, engines_of_others, readme_of, with_table


@pytest.mark.parametrize("row", engines_of_others(), ids=lambda row: row.name)
def test_an_engine_has_each_part(row: Engine) -> None:
    parts = cells(row, readme_of(row))
    assert "" not in parts
    assert int(parts[5]) >= 3


def test_the_table_of_the_page_is_that_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_table(text) == text, "run python -m scripts.engines_index"
    assert with_table(text.replace("| `draws/vllm` |", "| |")) == text
