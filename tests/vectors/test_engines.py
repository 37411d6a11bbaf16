"""Two engines run the vectors by a runner: llama.cpp in C++, tsampler in TypeScript."""

import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import read
from sampler_parity.harness.llama_cpp import libllama
from sampler_parity.vectors.kit import SAMPLERS, SUITES, WITH_SCRIPTS, Script, Vector, kit_of
from sampler_parity.vectors.written import Contents, write
from tests.support.command_line import ROOT, cli

HERE = Path(__file__).parent
RUNNERS = ROOT / "vectors" / "runners"
# Their numbers cannot be injected into llama.cpp; dry needs a vocabulary.
BY_SEED = {"vectors/dist", "vectors/xtc"}
SKIPPED = BY_SEED | {"vectors/dry", "scripts/dry"}
OF_TSAMPLER = ["top_k", "top_p", "min_p", "top_n_sigma", "temp", "penalties", "greedy"]
OF_ITS_SUITES = Contents([f"parity/{name}" for name in OF_TSAMPLER], "quick", 40)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
def test_llama_cpp_passes_every_vector_and_script_to_the_bit(tmp_path: Path) -> None:
    write(Contents(SUITES, "quick", 40), tmp_path / "kit")
    libraries = libllama.default_folder()
    include = next(parent / "include" for parent in libraries.parents if _has_header(parent))
    program = tmp_path / "run_vectors"
    paths = [f"-I{RUNNERS / 'cpp'}", f"-I{include}", f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
    link = ["-lllama", "-lggml", "-lggml-base", "-o", str(program)]
    source = str(HERE / "llama_cpp.cpp")
    subprocess.run(["g++", "-std=c++17", source, *paths, *link], check=True)
    for exact in ("0", "1"):
        here = {**os.environ, "VECTORS": str(tmp_path / "kit"), "EXACT": exact}
        done = subprocess.run([str(program)], env=here, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stdout
        lines = dict(line.split(": ") for line in done.stdout.splitlines())
        kinds = [*(f"vectors/{name}" for name in SAMPLERS), *(f"scripts/{n}" for n in WITH_SCRIPTS)]
        assert lines.keys() == {*kinds}
        assert {kind for kind in lines if "skipped" in lines[kind]} == SKIPPED


def _has_header(folder: Path) -> bool:
    return (folder / "include" / "llama.h").is_file()


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / "engines/tsampler/dist/ready").exists(), reason="tsampler is not compiled"
)
def test_tsampler_fails_the_vectors_of_the_cases_that_its_adapter_fails(tmp_path: Path) -> None:
    cli(
        "run",
        *OF_ITS_SUITES.suites,
        "-b",
        "tsampler",
        "--accept",
        "correct",
        "-o",
        tmp_path / "bundle",
    )
    results = {case.id: case.backends["tsampler"] for case in read(tmp_path / "bundle").cases}
    tests = defaultdict[str, list[Vector | Script]](list)
    for vector in kit_of(OF_ITS_SUITES.suites, OF_ITS_SUITES.profile, OF_ITS_SUITES.max_vocab):
        tests[vector.id.rsplit("/", 1)[0]].append(vector)
    wrong, of_order = set[str](), set[str]()
    for id in tests:
        if results[id].verdict == "diverged":
            at_order = "a larger logit comes after it" in str(results[id].values)
            (of_order if at_order else wrong).add(id)
    right = [test for id in tests if id not in wrong for test in tests[id]]
    assert len(right) > 1000
    assert not _fails(tmp_path / "right", right)
    assert of_order  # they are among the right ones: the kit does not judge the order of a result
    passing = {id for i, id in enumerate(wrong) if not _fails(tmp_path / str(i), tests[id])}
    assert len(wrong - passing) > 10
    # tsampler removes what llama.cpp leaves at -inf; the kit takes both for removed.
    assert {id.split("/")[0] for id in passing} == {"top_n_sigma"}
    assert {results[id].what for id in passing} == {"survivors"}


def _fails(folder: Path, tests: list[Vector | Script]) -> bool:
    """Return whether tsampler fails one of these tests."""
    write(OF_ITS_SUITES, folder, tests)
    shutil.copy(RUNNERS / "javascript" / "run_vectors.test.mjs", folder)
    here = {**os.environ, "VECTORS": str(folder), "SAMPLER": str(HERE / "tsampler.mjs")}
    here.pop("NODE_TEST_CONTEXT", None)
    command = ["node", "--test", "run_vectors.test.mjs"]
    return subprocess.run(command, cwd=folder, env=here, capture_output=True).returncode != 0
