"""docs/background/defects.md: it has each planted fault's number, and every name in it exists."""

import re

from sampler_parity.harness.faults import MUTANTS
from sampler_parity.maintenance.selftest.parts import PARTS
from tests.support.command_line import ROOT

PAGE = (ROOT / "docs/background/defects.md").read_text(encoding="utf-8")
ROWS = {
    int(row[0]): row[1] for row in re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE)
}


def test_every_number_that_a_planted_fault_cites_has_a_row() -> None:
    cited = {int(n) for m in MUTANTS.values() for n in re.findall(r"bug zoo (\d+)", m.source)}
    assert cited <= ROWS.keys()
    assert len(ROWS) == PAGE.count("\n| ") - 2


def test_what_a_row_names_exists() -> None:
    blocks = {
        f"{path.stem if path.parent.name != 'timing' else 'timing'}/{block}"
        for path in (ROOT / "suites").glob("*/*.toml")
        for block in re.findall(r'^id = "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    parts = set(PARTS)
    for number, seen_by in ROWS.items():
        names = re.findall(r"`([^`]+)`", seen_by)
        assert names or "](" in seen_by, number
        for name in names:
            assert name in MUTANTS or name in parts or name in blocks, (number, name)
