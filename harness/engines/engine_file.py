"""Read `engines/NAME/engine.toml`: all that the project knows of an engine by name.

An engine is a folder of `engines/` with that file. Nothing else lists engines: add a folder, and
`run -b`, `make engines`, the self-test and the reports know it. The first part of a backend's name
is the name of its folder, so that one engine is found without reading the others.
"""

import functools
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_table
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Accept, ServerVerdict, Verdict

NAMESPACE = "sampler_parity.engines"


class Engine(Strict):
    """Describe a backend of an engine: `[[backend]]`.

    name: as in `-b`. what: one line about it.
    worker: the module of the folder with a class `Worker`.
    command: in place of a worker, a program and a file of the folder. "{environment}" stands for
    the folder of its packages.
    needs: what must be installed. device: what it is bound to.
    builds: it takes BUILD or BUILD:DEVICE behind an @.
    environment: the `[[environment]]` with its packages, if it has one. A version may then follow
    an @.
    suites: those that it is checked with next to the reference, "properties" among them.
    draws: those that the reference need not repeat.
    in_make_engines: `make engines` runs both. accept: what else passes there, as `run --accept`.
    grammars: the verdicts that pass in [[grammar]] blocks.
    correct: it computes every sampler correctly in another arithmetic; the self-test requires it
    to pass `--accept correct`.
    page: of docs/, if the engine's README.md is not its page.
    module: full name of the worker's module, filled in here.
    """

    name: str
    what: str
    suites: list[str]
    worker: str = "worker"
    command: list[str] = []
    needs: str = ""
    device: str = ""
    builds: bool = False
    draws: list[str] = []
    in_make_engines: bool = False
    accept: Accept = "identical"
    environment: str = ""
    grammars: list[Verdict] = []
    correct: bool = False
    page: str = ""
    module: str = ""

    @property
    def folder(self) -> str:
        """The folder of engines/, which its name begins with."""
        return self.name.partition("/")[0]

    @property
    def documented(self) -> str:
        """The page of what it means, from the top of the repository, or ""."""
        ours = self.module and not self.module.startswith(NAMESPACE)
        readme = "" if ours else f"engines/{self.folder}/README.md"
        return self.page or readme


class Environment(Strict):
    """Describe packages of an engine that never meet ours: `[[environment]]`.

    name: that of `engines add`. needs: its packages as NAME==VERSION, of Node NAME@VERSION; the
    first is the engine's and names the version.
    whole: install what those need, too. Else they alone are installed, for an engine that asks for
    more than its samplers do; with Node, all but the optional packages.
    without: packages that are left out. folder: of engines/, filled in here.
    """

    name: str
    kind: Literal["python", "node"]
    needs: list[str] = Field(min_length=1)
    whole: bool = True
    without: list[str] = []
    folder: str = ""

    @property
    def version(self) -> str:
        return self.needs[0].rpartition("==" if self.kind == "python" else "@")[2]

    @property
    def locked(self) -> Path:
        """The file with the digest of every package."""
        file = f"{self.name}.txt" if self.kind == "python" else f"{self.name}/package-lock.json"
        return engines_folder() / self.folder / "locked" / file


class SamplerRow(Strict):
    """Describe a stage that the engine's model offers: `[[sampler]]`, in STAGES of its module
    `model`. The fields are those of `Row` in reference/registry.py."""

    name: str
    smallest: dict[str, Any]
    threshold: str = ""
    boundary: bool = False
    sorts: bool = False
    vocab: bool = False


class Server(Strict):
    """Describe a server that we can start: `[[server]]`, by the folder's server.py.

    environment: the one that has its packages. ready: a path that answers once it is up.
    ours: it runs on this Python, with those packages behind.
    reads_folder: it reads a model as a folder of Hugging Face's.
    known: verdicts that it is known for, by id of the result. folder: of engines/, filled in here.
    """

    name: str
    dialect: str
    environment: str
    ready: str
    ours: bool = False
    reads_folder: bool = False
    known: dict[str, tuple[ServerVerdict, ...]] = {}
    folder: str = ""

    @property
    def script(self) -> Path:
        return engines_folder() / self.folder / "server.py"


class EngineFile(Strict):
    """Hold an engine.toml. script: the name that its backend gives itself, where script.py writes
    a case as a program. probes: modules with a class `Worker` that sample nothing.
    model_suites: suites whose cases have stages of the model, for the self-test."""

    backend: list[Engine] = []
    environment: list[Environment] = []
    sampler: list[SamplerRow] = []
    server: list[Server] = []
    model_suites: list[str] = []
    script: str = ""
    probes: list[str] = []


def engines_folder() -> Path:
    """Return the folder `engines/` of the checkout or of the installed wheel."""
    return Path(str(files(NAMESPACE)))


@functools.cache
def engine_names() -> tuple[str, ...]:
    """Return the names of all engines, in their order."""
    return tuple(sorted(path.parent.name for path in engines_folder().glob("*/engine.toml")))


@functools.cache
def engine_file(name: str) -> EngineFile:
    """Read one engine's file. Raises InputError for one that is missing or not valid."""
    path = engines_folder() / name / "engine.toml"
    read = read_table(path, EngineFile)
    for row in read.backend:
        if row.folder != name:
            problem = f"backend {row.name!r} does not begin with the folder's name"
            raise InputError(path, problem, f"name it {name} or {name}/...")
    return read.model_copy(
        update={
            "backend": [_with_module(row) for row in read.backend],
            "environment": [row.model_copy(update={"folder": name}) for row in read.environment],
            "server": [row.model_copy(update={"folder": name}) for row in read.server],
        }
    )


def _with_module(row: Engine) -> Engine:
    module = "" if row.command else f"{NAMESPACE}.{row.folder}.{row.worker}"
    return row.model_copy(update={"module": module})
