"""The table of docs/engines.md of what each engine of others has here: nothing of it is missing."""

import re
import tomllib
from pathlib import Path

import pytest

from sampler_parity.harness.backends.engines import ENGINES, Engine
from sampler_parity.harness.mutants.engines import faults

ROOT = Path(__file__).resolve().parent.parent.parent
OTHERS = [row for row in ENGINES.values() if row.documented.startswith("docs/engines/")]
PROGRAMS = tomllib.loads((ROOT / "studies/findings/programs.toml").read_text(encoding="utf-8"))
# What a program of a finding is run on, where it is no environment.
ON = {"llama_cpp_python": "llama_cpp"}


def parts(row: Engine, page: str) -> list[str]:
    """Its cells in the table; "" is a hole."""
    own = [suite for suite in row.suites if suite != "properties"]
    timed = re.search(rf"run (timing/\w+) [^`]*-b {row.name}\b", page)
    not_timed = "the same" if "Not timed apart" in page else ""
    return [
        ", ".join(f"`{suite}`" for suite in own),
        ", ".join(f"`{suite}`" for suite in row.draws),
        _judged_by(row),
        f"`{timed[1]}`" if timed else not_timed,
        str(sum(fault.engine == row.name for fault in faults().values())),
        ", ".join(_findings(row)) or ("none" if "None was found" in page else ""),
    ]


def _judged_by(row: Engine) -> str:
    pipelines = ROOT / "reference" / "pipelines"
    if (pipelines / f"{row.name}.py").is_file() or (pipelines / row.name).is_dir():
        return "its own"
    return "llama.cpp's" if "parity" in row.suites else ""


def _findings(row: Engine) -> list[str]:
    """Those that a program shows."""
    on = ON.get(row.name, row.environment)
    return [
        number
        for number, of in PROGRAMS["findings"].items()
        if "programs" in of and on in ([of["on"]] if isinstance(of["on"], str) else of["on"])
    ]


@pytest.mark.parametrize("row", OTHERS, ids=lambda row: row.name)
def test_an_engine_has_each_part_and_the_table_names_it(row: Engine) -> None:
    page = " ".join((ROOT / row.documented).read_text(encoding="utf-8").split())
    cells = parts(row, page)
    assert "" not in cells
    assert int(cells[4]) >= 3
    line = " | ".join([f"| `{row.name}`", *cells]) + " |"
    assert line in (ROOT / "docs" / "engines.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("page", "cell"),
    [
        ("`sampler-parity run timing/engines -b llama.cpp -b vllm`", "`timing/engines`"),
        ("`sampler-parity run timing/engines -b llama.cpp -b vllm_too`", ""),
        ("Not timed apart: the chain is llama.cpp's.", "the same"),
        ("", ""),
    ],
    ids=["a command", "of another", "a reason", "neither"],
)
def test_a_page_without_a_timing_and_without_a_reason_is_a_hole(page: str, cell: str) -> None:
    assert parts(ENGINES["vllm"], page)[3] == cell
