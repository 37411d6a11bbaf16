"""Each sampler and engine has every part that its page asks for; missing parts are named."""

import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from sampler_parity.harness.backends.engines import ENGINES, OWN
from sampler_parity.harness.engines.engine_file import NAMESPACE, Engine, engine_file, engine_names
from sampler_parity.harness.engines.samplers import ALL_ROWS, engine_samplers
from sampler_parity.harness.suite.ids import shipped
from sampler_parity.reference.registry import ROWS

ROOT = Path(__file__).resolve().parent.parent.parent
NO_MUTANTS = {"softmax", "tail_free"}  # they left llama.cpp; two lines of reference each
TESTED_IN = {"softmax": "removed_samplers", "tail_free": "removed_samplers"}
# Their workers run text of ours, an extra or a grammar: their models' faults stand for them.
# The engines of `correct` are the mirror of the faults: each must pass.
NO_WORKER_FAULTS = {
    "akunu", "correct", "llguidance", "power_law", "tsampler", "xgrammar",
}  # fmt: skip
FAULTS = 3  # of each sampler and of each other engine


def lacking(root: Path) -> list[str]:
    """Return one line for each thing that is missing, with the place where it belongs.

    The faults of engines import their files: they are looked at once those are complete.
    """
    files = [*_engines(root)]
    return [*_samplers(root), *files] if files else [*_samplers(root), *_stages(), *_faults()]


def _samplers(root: Path) -> Iterator[str]:
    files = {path.stem for path in (root / "reference" / "samplers").glob("[!_]*.py")}
    for name in sorted(files - {*ALL_ROWS}):
        yield f"sampler {name}: no row in reference/registry.py"
    about = [tomllib.loads(path.read_text()) for path in (root / "suites").glob("*/*.toml")]
    suites = {suite.get("sampler") for suite in about}
    for name, row in ROWS.items():
        if not row.sizes:
            yield f"sampler {name}: no sizes in its row of reference/registry.py"
        if name not in suites:
            yield f"sampler {name}: no suite suites/parity/{name}.toml with its name"
        if not (root / "tests" / "reference" / f"test_{TESTED_IN.get(name, name)}.py").is_file():
            yield f"sampler {name}: no test tests/reference/test_{name}.py"
        if not (root / "docs" / "reference" / "samplers" / f"{name}.md").is_file():
            page = f"docs/reference/samplers/{name}.md"
            yield f"sampler {name}: no page {page}; python -m scripts.reference makes it"


def _engines(root: Path) -> Iterator[str]:
    """Yield the files that engines lack."""
    for folder in sorted((root / "engines").glob("[!_]*/")):
        if folder.name != "shared" and any(path.is_file() for path in folder.iterdir()):
            for problem in _files(folder):
                yield f"engine {folder.name}: {problem}"


def _files(folder: Path) -> Iterator[str]:
    name = folder.name
    if name not in engine_names():
        yield f"no engines/{name}/engine.toml"
        return
    file = engine_file(name)
    for module in ["__init__", *(["model"] if file.sampler else [])]:
        if not any((folder / path).is_file() for path in (f"{module}.py", f"{module}/__init__.py")):
            yield f"no engines/{name}/{module}.py"
    faults = ["model_faults"] if file.sampler else []
    faults += ["worker_faults"] if file.backend and name not in NO_WORKER_FAULTS else []
    for part in faults:
        if not [*folder.glob(f"{part}.toml"), *folder.glob(f"{part}.py")]:
            yield f"no engines/{name}/{part}.toml"
    shared = "".join(path.read_text() for path in folder.parent.glob("shared/test_*.py"))
    if not any(folder.glob("test_*.py")) and f'"{name}"' not in shared:
        yield f"no test engines/{name}/test_{name}.py"
    for row in file.backend:
        yield from _of_backend(folder, row)
    if file.sampler and not file.model_suites:
        yield f"no model_suites in engines/{name}/engine.toml"
    for environment in file.environment:
        if not environment.locked.is_file():
            locked = environment.locked.relative_to(ROOT)
            yield f"no {locked} - python scripts/lock.py {environment.name}"


def _of_backend(folder: Path, row: Engine) -> Iterator[str]:
    worker = row.command[1] if row.command else f"{row.worker}.py"
    if not (folder / worker).is_file():
        yield f"no adapter engines/{folder.name}/{worker}"
    for suite in (*row.suites, *row.draws):
        if not any(one == suite or one.startswith(f"{suite}/") for one in shipped()):
            yield f"no suite {suite}: engines/{folder.name}/suites/{suite}"
    if row.in_make_engines and "properties" not in row.suites:
        yield f"{row.name} does not name the suite properties in engine.toml"
    if not (folder.parent.parent / row.documented).is_file():
        yield f"no page {row.documented}"


def _stages() -> Iterator[str]:
    """Yield the differences between an engine.toml and the model next to it."""
    for name in engine_names():
        named = {row.name for row in engine_file(name).sampler}
        model = f"{NAMESPACE}.{name}.model"
        made = {*import_module(model).STAGES} if find_spec(model) else set()
        if named != made:
            odd = ", ".join(sorted(named ^ made))
            yield f"engine {name}: {odd} is not in both engine.toml and STAGES of its model"


def _faults() -> Iterator[str]:
    from sampler_parity.harness.faults import MUTANTS
    from sampler_parity.maintenance.selftest.engine_faults import faults

    counts = Counter(mutant.sampler for mutant in MUTANTS.values())
    for name in sorted({*ALL_ROWS} - NO_MUTANTS):
        own = f"engines/{engine_samplers()[name][0]}" if name in engine_samplers() else ""
        where = f"{own}/model_faults.toml" if own else f"harness/faults/{name}.toml"
        if counts[name] < FAULTS:
            yield f"sampler {name}: {counts[name]} of {FAULTS} faults in {where}"
    counts = Counter(fault.engine for fault in faults().values())
    for name, row in ENGINES.items():
        if name not in OWN and row.folder not in NO_WORKER_FAULTS and counts[name] < FAULTS:
            where = f"engines/{row.folder}/worker_faults.toml"
            yield f"engine {name}: {counts[name]} of {FAULTS} faults in {where}"


@pytest.mark.slow
def test_every_sampler_and_every_engine_has_all_its_parts() -> None:
    lines = lacking(ROOT)
    assert not lines, "\n".join(lines)
