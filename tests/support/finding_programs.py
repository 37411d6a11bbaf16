"""studies/findings/programs.toml: the program of each finding, and how one is run here."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.backends import environments
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.llama_cpp.sources import sources
from tests.support.native_common import stub_of_python

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "studies" / "findings"
TABLE = FOLDER / "programs.toml"
LATER, VULKAN = "b11549", "v0.5.0-vulkan"


@dataclass(frozen=True)
class Program:
    """on: an engine's environment, a module of this Python, llama.cpp, a build of it
    (`llama.cpp@NAME`) or `em++`. away: why most machines cannot run it, or "". until_gcc: the first
    whose llama.cpp shows it no more, or None."""

    finding: str
    file: str
    on: str
    away: str = ""
    until_gcc: int | None = None

    def shown_by(self, gcc: int) -> bool:
        return self.until_gcc is None or gcc < self.until_gcc


def numbers(page: str) -> list[str]:
    """Return the numbers of the findings of a page, from its headings `## 7. Title`."""
    return re.findall(r"^## (\d+)\. ", page, re.MULTILINE)


def missing(page: str, table: dict[str, dict[str, object]]) -> list[str]:
    """Return the numbers of findings that have neither a program nor a reason for none."""
    return [n for n in numbers(page) if not {"programs", "none"} & set(table.get(n, {}))]


def table() -> dict[str, dict[str, dict[str, object]]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def programs() -> list[Program]:
    """Return all programs; if a finding has several, `on` may be a list in the same order."""
    rows = []
    for page, findings in table().items():
        for number, row in findings.items():
            files, on = row.get("programs", []), row.get("on", "")
            assert isinstance(files, list)
            ons = on if isinstance(on, list) else [on] * len(files)
            away = str(row.get("away", ""))
            until_gcc = row.get("until_gcc")
            assert until_gcc is None or isinstance(until_gcc, int)
            rows += [
                Program(f"{page}/{number}", file, str(where), away, until_gcc)
                for file, where in zip(files, ons, strict=True)
            ]
    return rows


def compile_line(source: Path) -> str:
    """Return the third line of a program in C++, which compiles it."""
    line = source.read_text(encoding="utf-8").splitlines()[2]
    return line.removeprefix("//     ")


def compiled(source: Path, folder: Path) -> list[str]:
    """Compile a program as its third line states, and return the words of its fourth line, which
    run it.
    """
    run = source.read_text(encoding="utf-8").splitlines()[3].removeprefix("//     ")
    line = compile_line(source).replace(source.name, shlex.quote(str(source)))
    if "b11549" in source.read_text(encoding="utf-8").splitlines()[0]:
        line = of_one_library(line, folder)
    line = line.replace("PREFIX", str(default_folder().parent.parent))
    if "SOURCE" in line:
        line = line.replace("SOURCE", str(sources()))
    if "VULKAN" in line:
        line, run = (text.replace("VULKAN", str(built(VULKAN))) for text in (line, run))
    subprocess.run(shlex.split(line), cwd=folder, check=True)
    return shlex.split(run.replace("MODEL.gguf", str(model_path("small"))))


def lacking(program: Program) -> str:
    """Return why a program in C++ cannot be compiled and run here, or ""."""
    if program.on == "em++":
        return (
            "" if shutil.which("em++") and shutil.which("node") else "`apt-get install emscripten`"
        )
    _, _, build = program.on.partition("@")
    package = {LATER: "xllamacpp@2026.10.11549", VULKAN: "@node-llama-cpp/linux-x64-vulkan@3.22.1"}
    if not build or built(build):
        return ""
    return f"`sampler-parity builds add {package[build]}` fetches it"


MODULES = ("transformers", "llguidance", "xgrammar", "llama_cpp", "numpy")


def of_one_library(line: str, folder: Path) -> str:
    """Return the line for a build that holds all of llama.cpp in one library.

    The library is a Python extension and has the strings of manylinux2014.
    """
    build = built(LATER)
    assert build is not None
    (folder / "libpython_stub.so").unlink(missing_ok=True)
    stub_of_python(folder, build / "libllama.so")
    line = line.replace(
        "-L PREFIX/lib -lllama-common -lllama -lggml-base", f"-L {build} -lllama -L . -lpython_stub"
    )
    return line.replace("-std=c++17", "-std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0").replace(
        "-rpath,PREFIX/lib", f"-rpath,{build}:{folder}"
    )


def built(name: str) -> Path | None:
    """Return the folder of a build, if it exists."""
    build = recorded.find(name)
    return Path(build.folder) if build else None


def in_engine(engine: str, source: Path) -> tuple[list[str], str]:
    """Return the words that run a script in an engine's environment, or in this Python.

    The second value is the reason why they cannot be run here, or "".
    """
    if engine in MODULES:
        away = "" if importlib.util.find_spec(engine) else f"`scripts/install.py {engine}`"
        return [sys.executable, str(source)], away
    there = environments.folder_of(engine).is_dir()
    if engine == "llama_cpp_server":  # the packages of a server, without llama_cpp, which is ours
        return ["env", f"PYTHONPATH={_packages(engine)}", sys.executable, str(source)], (
            "" if there else f"`sampler-parity engines add {engine}` installs it"
        )
    runner = "node" if source.suffix == ".mjs" else "python"
    cli = [sys.executable, "-m", "sampler_parity.harness.cli", "engines", "exec", engine]
    away = "" if there else f"`sampler-parity engines add {engine}` installs it"
    return [*cli, "--", runner, str(source)], away


def _packages(engine: str) -> str:
    return ":".join(map(str, environments.folder_of(engine).glob("lib/python*/site-packages")))


def interpreted(program: Program) -> tuple[list[str], str]:
    """Return the same as in_engine, with a model for a program that takes one."""
    source = FOLDER / program.file
    words, away = in_engine(program.on, source)
    model = [str(model_path("small"))] if "MODEL" in source.read_text(encoding="utf-8") else []
    return [*words, *model], away


def ran(words: list[str], folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    # a software device is one if it is named
    of_ggml = {"GGML_NO_BACKTRACE": "1", "GGML_VK_VISIBLE_DEVICES": "0"}
    return subprocess.run(
        words,
        cwd=folder,
        env={**of_ggml, **os.environ},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )
