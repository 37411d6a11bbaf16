"""`run --sandbox`: the verdicts of a run without it, recorded as sandboxed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.backends import engines
from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import shell
from sampler_parity.harness.run.plan import RunOptions, plan_of
from sampler_parity.harness.run.started import Intent, absent_of, describe
from tests.support.command_line import ROOT, cli, refused
from tests.support.sandboxed import need_sandbox
from tests.support.timeless import timeless

ADAPTER = f"mine={sys.executable} -I {ROOT / 'examples' / 'adapter.py'}"
CASES = ["parity/greedy", "-b", ADAPTER, "-j", "1"]
CASES += ["--case", "greedy/first-of-equals", "--case", "greedy/a*", "--case", "greedy/not-by-p"]


def results(folder: Path) -> list[Any]:
    lines = (folder / "results.jsonl").read_text().splitlines()
    return [timeless(json.loads(line)) for line in lines if '"footer"' not in line]


@pytest.mark.slow
def test_the_results_inside_are_those_outside_but_for_times(tmp_path: Path) -> None:
    need_sandbox()
    outside = cli("run", *CASES, "-o", tmp_path / "outside")
    inside = cli("run", *CASES, "-o", tmp_path / "inside", "--sandbox")
    assert inside.returncode == outside.returncode, inside.stderr
    assert len(results(tmp_path / "inside")) > 3
    assert results(tmp_path / "inside") == results(tmp_path / "outside")
    info = bundle.read_info(tmp_path / "inside")
    assert info.backends["mine"].sandbox
    assert not bundle.read_info(tmp_path / "outside").backends["mine"].sandbox
    assert "--sandbox" in replay(info, "parity/greedy", "x", ["mine"])
    line = refused(cli("run", *CASES, "-o", tmp_path / "inside", "--resume"))
    assert line.endswith("inside: ran mine in a sandbox - use --sandbox")


RUNTIMES = {  # what makes code, starts threads or asks the kernel in its own way
    "numba": ["parity/top_k", "-b", "reference"],
    "llama.cpp": ["parity/top_k", "-b", "llama.cpp"],
    "compiler": ["parity/top_k", "-b", "token_trie/compiled"],
    "c": ["parity/top_k", "-b", "correct/c"],
    "javascript": ["parity/top_k", "-b", "correct/javascript"],
    "torch": ["parity/top_k", "-b", "correct/torch", "--accept", "correct"],
    "typescript": ["tsampler", "-b", "tsampler"],
    "mlx": ["mlx_lm", "-b", "mlx_lm"],
    "node-llama-cpp": ["node_llama_cpp", "-b", "node_llama_cpp"],
    "xllamacpp": ["parity/top_k", "-b", "xllamacpp"],
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_has_the_same_results_inside(name: str, tmp_path: Path) -> None:
    need_sandbox()
    asked = [*RUNTIMES[name], "-j", "1"]
    outside = cli("run", *asked, "-o", tmp_path / "outside")
    if "does not run here" in outside.stderr:
        pytest.skip(outside.stderr)
    inside = cli("run", *asked, "-o", tmp_path / "inside", "--sandbox")
    assert inside.returncode == outside.returncode, inside.stderr
    assert len(results(tmp_path / "inside")) > 10
    assert results(tmp_path / "inside") == results(tmp_path / "outside")


def test_times_are_not_taken_in_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "refuse_missing_sandbox", lambda: None)
    with pytest.raises(InputError, match="--sandbox: times are measured outside a sandbox"):
        plan_of(RunOptions(["timing/disabled"], ["llama.cpp"], sandbox=True))
    assert not plan_of(RunOptions(["parity/greedy"], ["llama.cpp"], "full", sandbox=True)).ruled


def test_without_namespaces_nothing_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(InputError, match="--sandbox: needs Linux"):
        plan_of(RunOptions(["parity/greedy"], ["null"], sandbox=True))


@pytest.mark.parametrize("name", ["null", "llama.cpp", "mine=node a.js", "node a.js", "a=null"])
def test_a_backend_has_one_name_inside_and_outside(name: str) -> None:
    inside, outside = engines.parse(engines.in_sandbox(name)), engines.parse(name)
    assert inside is not None
    assert outside is not None
    assert (inside.sandbox, outside.sandbox) == (True, False)
    assert inside.short == outside.short
    assert engines.in_sandbox(engines.in_sandbox(name)) == engines.in_sandbox(name)


def test_a_backend_that_cannot_have_a_sandbox_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not run even if it was tried before and went well.

    The test stays in this process, because a pool started next to threads would not see the
    replaced program.
    """
    program = tmp_path / "sandbox.py"
    program.write_text("import sys; sys.stderr.write('no sandbox: unshare: no'); sys.exit(125)")
    monkeypatch.setattr(shell, "_PROGRAM", program)
    monkeypatch.setattr(shell, "refuse_missing_sandbox", lambda: None)
    name = engines.in_sandbox(ADAPTER)
    info = describe(Intent({name: None}))
    why = absent_of(info.backends, [name])[name]
    assert why.endswith("exit status 125: no sandbox: unshare: no")
