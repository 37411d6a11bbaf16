"""Real programs of others print the same under the recorder, and every token is judged."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.backends import environments
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.recording.events import Init
from sampler_parity.programs.recording.reader import Recording
from tests.support.command_line import COMMAND, problems
from tests.support.recorded_programs import compile_program

HERE = Path(__file__).parent / "programs"
MODEL = str(model_path(GOLDEN))
SERVER = [sys.executable, str(HERE / "server_texts.py"), MODEL]
# Programs with the environments that they need: `sampler-parity engines add` installs them.
PROGRAMS = {
    "llama-server": ("xllamacpp", SERVER),
    "llama-server with drafts": ("xllamacpp", [*SERVER, "draft"]),
    "llama-server with the graph": ("xllamacpp", [*SERVER, "graph"]),
    "Llama": ("", [sys.executable, str(HERE / "llama_texts.py"), MODEL]),
    "node-llama-cpp": ("node_llama_cpp", ["node", str(HERE / "node_texts.mjs"), "{folder}", MODEL]),
    "simple": ("", ["{simple}", MODEL]),
}

RECORDED = {
    "llama-server": {
        "adaptive_p", "dist", "dry", "grammar", "grammar_lazy_patterns", "logit_bias", "min_p",
        "mirostat", "mirostat_v2", "penalties", "temp_ext", "top_k", "top_n_sigma", "top_p",
        "typical_p", "xtc",
    },
    "llama-server with the graph": {"dist", "temp_ext", "top_k", "typical_p"},
    "simple": {"dist", "dry", "grammar", "mirostat_v2", "top_k", "top_p", "xtc"},
}  # fmt: skip


def samplers_of(recording: Path) -> set[str]:
    """Return the names of the samplers that were constructed."""
    events = (event for process in Recording(recording).processes for event in process.events())
    return {event.sampler for event in events if isinstance(event, Init) and event.sampler}


def words_of(name: str, scratch: Path) -> list[str]:
    """Return the command of a program; skip the test where its environment is not there."""
    environment, words = PROGRAMS[name]
    if environment and (why := environments.missing(environment)):
        pytest.skip(f"unavailable: {why}")
    if not shutil.which("c++"):
        pytest.skip("unavailable: no C++ compiler")
    folder = str(environments.folder_of(environment)) if environment else ""
    binary = scratch / "simple"
    if "{simple}" in words:
        compile_program("simple", binary)
    return [word.format(folder=folder, simple=binary) for word in words]


def output_of(words: list[str]) -> str:
    return subprocess.run(words, check=True, capture_output=True, encoding="utf-8").stdout


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_real_program_prints_the_same_and_every_token_is_judged(
    name: str, tmp_path: Path
) -> None:
    words = words_of(name, tmp_path)
    recording, bundle = tmp_path / "recording", tmp_path / "bundle"
    alone = output_of(words)
    assert output_of([*COMMAND, "record", "-o", str(recording), "--", *words]) == alone
    check = [*COMMAND, "check", str(recording), "-o", str(bundle)]
    done = subprocess.run(check, capture_output=True, encoding="utf-8")
    print(done.stdout)
    assert (done.returncode, problems(done.stderr)) == (0, [])
    assert samplers_of(recording) >= RECORDED.get(name, {"top_k", "dist"})
