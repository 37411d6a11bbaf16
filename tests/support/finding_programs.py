"""studies/findings/programs.toml: the program of each finding, and how one is run here."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.backends import environments
from sampler_parity.harness.backends.llama_cpp.libllama import default_folder
from sampler_parity.harness.backends.llama_cpp.sources import sources
from sampler_parity.harness.inputs.models import model_path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "studies" / "findings"
TABLE = FOLDER / "programs.toml"


@dataclass(frozen=True)
class Program:
    """on: an engine's environment, a module of this Python, or llama.cpp. away: why most machines
    cannot run it, or ""."""

    finding: str
    file: str
    on: str
    away: str = ""


def numbers(page: str) -> list[str]:
    """Of the findings of a page: of its headings `## 7. What it is`."""
    return re.findall(r"^## (\d+)\. ", page, re.MULTILINE)


def missing(page: str, table: dict[str, dict[str, object]]) -> list[str]:
    """Numbers of findings that have neither a program nor a reason for none."""
    return [n for n in numbers(page) if not {"programs", "none"} & set(table.get(n, {}))]


def table() -> dict[str, dict[str, dict[str, object]]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def programs() -> list[Program]:
    """All of them; where several have a finding, `on` may be a list beside theirs."""
    rows = []
    for page, findings in table().items():
        for number, row in findings.items():
            files, on = row.get("programs", []), row.get("on", "")
            assert isinstance(files, list)
            ons = on if isinstance(on, list) else [on] * len(files)
            away = str(row.get("away", ""))
            rows += [
                Program(f"{page}/{number}", file, str(where), away)
                for file, where in zip(files, ons, strict=True)
            ]
    return rows


def compile_line(source: Path) -> str:
    """The third line of a program in C++: how it is compiled."""
    line = source.read_text(encoding="utf-8").splitlines()[2]
    return line.removeprefix("//     ")


def compiled(source: Path, folder: Path) -> list[str]:
    """The words that run it, compiled as it says."""
    line = compile_line(source).replace(source.name, shlex.quote(str(source)))
    line = line.replace("PREFIX", str(default_folder().parent.parent))
    if "SOURCE" in line:
        line = line.replace("SOURCE", str(sources()))
    subprocess.run(shlex.split(line), cwd=folder, check=True)
    return ["./repro", str(model_path("small"))]


MODULES = ("transformers", "llguidance", "xgrammar", "llama_cpp", "numpy")


def in_engine(engine: str, source: Path) -> tuple[list[str], str]:
    """The words that run a script in an engine's environment, or in this Python; and why they
    cannot be run here, or ""."""
    if engine in MODULES:
        away = "" if importlib.util.find_spec(engine) else f"`scripts/install.py {engine}`"
        return [sys.executable, str(source)], away
    there = environments.folder_of(engine).is_dir()
    runner = "node" if source.suffix == ".mjs" else "python"
    cli = [sys.executable, "-m", "sampler_parity.harness.cli", "engines", "exec", engine]
    away = "" if there else f"`sampler-parity engines add {engine}` installs it"
    return [*cli, "--", runner, str(source)], away


def interpreted(program: Program) -> tuple[list[str], str]:
    """As in_engine, with a model for a program that takes one."""
    source = FOLDER / program.file
    words, away = in_engine(program.on, source)
    model = [str(model_path("small"))] if "MODEL" in source.read_text(encoding="utf-8") else []
    return [*words, *model], away


def ran(words: list[str], folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )
