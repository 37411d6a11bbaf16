"""The chain that `record` sees in a real program is the chain that `settings` prints."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sampler_parity.harness.backends import environments
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.programs.settings.chain import answer_of, chain_spec
from sampler_parity.programs.settings.facts import LLAMA, engine_facts
from sampler_parity.programs.settings.files import Source
from sampler_parity.programs.upgrade.cases import recorded, seeded
from tests.support.command_line import COMMAND, ROOT

MODEL = model_path(GOLDEN)
FILES = 14  # of a program; `recorded` reads 16 texts


def random_settings(draw: Random, engine: str) -> dict[str, Any]:
    """Return a request with values that suit every sampler; some put another one in the order."""
    rows = engine_facts(engine).parameters.values()
    numeric = [row for row in rows if row.type in ("number", "integer") and not row.fixed]
    values: dict[str, Any] = {}
    for row in draw.sample(numeric, draw.randint(0, 9)):
        values[row.name] = draw.choice([0, 1, 2] if row.type == "integer" else [0, 0.25, 1, 1.5])
    if engine == LLAMA and draw.random() < 0.7:
        names = draw.sample([*engine_facts(LLAMA).parameters["samplers"].default], 5)
        values["samplers"] = draw.choice([names, "".join(draw.choices("edskypmxta", k=5))])
    values.pop("last_n_tokens_size", None)  # of the model, not of a request
    return values | {"seed": draw.randint(1, 99)}


def chain_of(request: dict[str, Any], engine: str, release: str) -> Any:
    """Return the chain; None if the engine refuses the settings."""
    answer = answer_of([Source(Path("a"), "", "request", request, engine)], release)
    refused = any(note.kind == "refused" for note in answer.notes)
    return None if refused else seeded(chain_spec(answer, read_vocab(MODEL)))


@pytest.mark.nightly
@pytest.mark.parametrize(("engine", "release"), [("llama-cpp-python", "v0.5.0"), (LLAMA, "b11549")])
def test_a_recorded_chain_is_that_of_its_settings(
    tmp_path: Path, engine: str, release: str
) -> None:
    if (engine == LLAMA and environments.missing("xllamacpp")) or not shutil.which("c++"):
        pytest.skip("unavailable: xllamacpp or a C++ compiler")
    draw, path, recording = Random(engine), tmp_path / "requests.json", tmp_path / "recording"
    tried = [random_settings(draw, engine) for _ in range(4 * FILES)]
    requests = [request for request in tried if chain_of(request, engine, release)][:FILES]
    path.write_text(json.dumps(requests))
    program = [sys.executable, "-m", "tests.programs.settings.recorded_program", engine]
    words = [*COMMAND, "record", "-o", str(recording), "--", *program, str(MODEL), str(path)]
    subprocess.run(words, check=True, cwd=ROOT, capture_output=True)
    cases = recorded(recording, str(MODEL))
    assert len(cases) == len(requests) == FILES
    for request, case in zip(requests, cases, strict=True):
        expected = chain_of(request, engine, release)
        assert [[*stage] for stage in case.chain] == [[*stage] for stage in expected], request
        for got, stage in zip(case.chain, expected, strict=True):
            ((name, values),) = stage.items()
            breakers = values.pop("seq_breakers", None)
            assert got[name].pop("seq_breakers", None) == breakers
            assert got[name] == pytest.approx(values, rel=1e-6), request
