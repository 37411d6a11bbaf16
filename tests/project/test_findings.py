"""docs/findings.md: its table, its commands, and the findings that no case of a suite can hold."""

import re
import signal
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.run.plan import RunOptions, plan_of
from scripts.site.findings import SEVERITIES, problems

FINDINGS = Path(__file__).parent.parent.parent / "docs" / "findings.md"


def _tokens_after_clone(chain: list[dict[str, dict[str, object]]]) -> tuple[list[int], list[int]]:
    """Eight tokens of the original and of its clone, after eight steps."""
    worker = Worker()
    logits = np.random.default_rng(1).normal(size=64).astype(np.float32)

    def draw(instance: object) -> int:
        candidates = worker.candidates(logits)
        instance.apply(0, candidates)  # type: ignore[attr-defined]
        ids, _, _, _, selected = worker.result(candidates)
        instance.accept(int(ids[selected]))  # type: ignore[attr-defined]
        return int(ids[selected])

    original = worker.build(chain, 64, None)
    for _ in range(8):
        draw(original)
    clone = original.clone()
    return [draw(original) for _ in range(8)], [draw(clone) for _ in range(8)]


INFILL = """
import sys
from pathlib import Path
import numpy as np
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.inputs import vocabularies

vocabularies._MERGED = ["q" * int(sys.argv[2])]
path = Path(sys.argv[1])
vocabularies.write_bpe(path)
worker = Worker()
row = np.zeros(len(vocabularies.read_vocab(path)), np.float32)
row[-3:] = -np.inf  # the ends of generation, which would be all that is left
candidates = worker.candidates(row)
worker.build([{"infill": {}}], len(candidates.data), str(path)).apply(0, candidates)
print("alive")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("longest", "ends"), [(512, False), (513, True)])
def test_infill_ends_the_process_on_a_token_of_more_than_512_bytes(
    tmp_path: Path, longest: int, ends: bool
) -> None:
    command = [sys.executable, "-c", INFILL, str(tmp_path / "vocab.gguf"), str(longest)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ("std::length_error" in done.stderr, done.stdout.strip()) == (
        ends,
        "" if ends else "alive",
    )


def test_adaptive_p_clone_draws_other_tokens_than_its_original() -> None:
    original, clone = _tokens_after_clone(
        [{"adaptive_p": {"target": 0.1, "decay": 0.9, "seed": 7}}]
    )
    assert original != clone


ADAPTIVE_P = """
import sys
import numpy as np
from sampler_parity.harness.llama_cpp.worker import Worker

worker = Worker()
original = worker.build([{"adaptive_p": {"target": 0.3, "decay": 0.9, "seed": 7}}], 64, None)
candidates = worker.candidates(np.random.default_rng(1).normal(size=64).astype(np.float32))
original.apply(0, candidates)
drawn = int(candidates.current()["id"][candidates.array.selected])
clone, accept = original.clone(), worker.library.llama_sampler_accept
accept(original.stages[0], drawn)
accept(clone.stages[0], drawn if sys.argv[1] == "drawn" else drawn + 1)
print("alive")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGSEGV is of POSIX")
@pytest.mark.parametrize(("token", "ends"), [("another", False), ("drawn", True)])
def test_adaptive_p_cloned_between_apply_and_accept_ends_the_process(
    token: str, ends: bool
) -> None:
    command = [sys.executable, "-c", ADAPTIVE_P, token]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = (-signal.SIGSEGV, "") if ends else (0, "alive")
    assert (done.returncode, done.stdout.strip()) == expected


def test_dist_clone_draws_the_same_tokens_as_its_original() -> None:
    original, clone = _tokens_after_clone([{"dist": {"seed": 7}}])
    assert original == clone


def _ids(suite: str) -> set[str]:
    """Return all ids that `run SUITE --case` may name."""
    return {item.id for item in plan_of(RunOptions([suite], ["llama.cpp"], profile="full")).items}


@pytest.mark.slow
def test_every_case_that_the_findings_name_exists() -> None:
    named = set(re.findall(r"run (\S+) --case ['\"]?([^\s'\"]+)", FINDINGS.read_text()))
    assert {suite for suite, _ in named} >= {"parity/findings", "graph/findings"}
    ids = {suite: _ids(suite) for suite, _ in named}
    for suite, pattern in named:
        assert any(fnmatchcase(name, pattern) for name in ids[suite]), f"{suite} {pattern}"


PAGE = """# Findings

| number | project | summary | severity |
| --- | --- | --- | --- |
| [1](#1-a-first) | llama.cpp | It draws 1.5 times. | wrong |
| [2](#2-a-second) | vLLM | It ends. | crash |

## 1. A first

Text.

## 2. A second

Text.
"""


def test_every_finding_has_a_severity_and_a_summary_in_the_table() -> None:
    page = FINDINGS.read_text(encoding="utf-8")
    assert problems(page) == []
    assert [one for one in SEVERITIES if f"- **{one}**: " not in page] == []
    assert page.count("\n| [") == len(re.findall(r"(?m)^## \d+\. ", page)) >= 63


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", []),
        ("crash", "bad", ["finding 2: severity 'bad'"]),
        ("It ends.", "It ends. It hangs.", ["finding 2: the summary is not one sentence"]),
        ("It ends.", "It ends", ["finding 2: the summary is not one sentence"]),
        ("| [2](#2-a-second) | vLLM | It ends. | crash |\n", "", ["finding 2: has no row"]),
        (" vLLM |", "", ["finding 2: has no row"]),
        ("## 2. A second", "## 2. A third", ["finding 2: its row leads to no entry"]),
        ("## 2. A second\n", "", ["finding 2: its row leads to no entry"]),
    ],
    ids=["right", "unknown", "two", "no end", "no row", "no project", "title", "no entry"],
)
def test_a_page_whose_entries_and_table_do_not_fit_is_reported(
    old: str, new: str, found: list[str]
) -> None:
    assert old in PAGE
    lines = problems(PAGE.replace(old, new))
    assert [line[: len(start)] for line, start in zip(lines, found, strict=True)] == found


def test_rows_in_another_order_are_reported() -> None:
    first, second = re.findall(r"(?m)^\| \[.*\n", PAGE)
    (line,) = problems(PAGE.replace(first + second, second + first))
    assert "not in the order" in line
