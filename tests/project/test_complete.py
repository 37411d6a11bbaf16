"""Each sampler and each engine has all that CONTRIBUTING.md asks for: what is missing is named."""

import tomllib
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from sampler_parity.harness.backends.engines import ENGINES, OWN
from sampler_parity.harness.backends.environments import known
from sampler_parity.harness.engines.engine_file import NAMESPACE, Engine, engine_file, engine_names
from sampler_parity.harness.engines.samplers import ALL_ROWS
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.faults.engine_faults import faults
from sampler_parity.harness.suite.shipped import shipped
from sampler_parity.reference.registry import ROWS

ROOT = Path(__file__).resolve().parent.parent.parent
NO_MUTANTS = {"softmax", "tail_free"}  # they left llama.cpp; two lines of reference each
TESTED_IN = {"softmax": "removed_samplers", "tail_free": "removed_samplers"}


def lacking(root: Path) -> list[str]:
    """One line for each thing that is missing, with the place where it belongs."""
    return [*_samplers(root), *_engines(root), *_environments(root)]


def _samplers(root: Path) -> list[str]:
    files = {path.stem for path in (root / "reference" / "samplers").glob("[!_]*.py")}
    lines = [
        f"sampler {name}: no row in reference/registry.py" for name in sorted(files - {*ALL_ROWS})
    ]
    about = [tomllib.loads(path.read_text()) for path in (root / "suites").glob("*/*.toml")]
    suites = {suite.get("sampler") for suite in about}
    mutants = Counter(mutant.sampler for mutant in MUTANTS.values())
    for name, row in ROWS.items():
        if not row.sizes:
            lines.append(f"sampler {name}: no sizes in its row of reference/registry.py")
        if name not in suites:
            lines.append(f"sampler {name}: no suite suites/parity/{name}.toml with its name")
        if not (root / "tests" / "reference" / f"test_{TESTED_IN.get(name, name)}.py").is_file():
            lines.append(f"sampler {name}: no test tests/reference/test_{name}.py")
    return lines + [
        f"sampler {name}: {mutants[name]} of 3 mutants in harness/faults/{name}.toml"
        for name in sorted({*ALL_ROWS} - NO_MUTANTS)
        if mutants[name] < 3
    ]


def _engines(root: Path) -> list[str]:
    lines = []
    for name in engine_names():
        folder = root / "engines" / name
        stages = {row.name for row in engine_file(name).sampler}
        if stages != (made := _stages_of(name)):
            odd = ", ".join(sorted(stages ^ made))
            lines.append(f"engine {name}: {odd} is not in both engine.toml and STAGES of its model")
        shared = "".join(path.read_text() for path in folder.parent.glob("shared/test_*.py"))
        if not any(folder.glob("test_*.py")) and f'"{name}"' not in shared:
            lines.append(f"engine {name}: no test engines/{name}/test_{name}.py")
    for name, row in ENGINES.items():
        if row.name not in OWN and not (root / "engines" / _adapter(row)).is_file():
            lines.append(f"engine {name}: no adapter engines/{_adapter(row)}")
        lines += [
            f"engine {name}: no suite {suite}"
            for suite in (*row.suites, *row.draws)
            if not any(one == suite or one.startswith(f"{suite}/") for one in shipped())
        ]
        if row.in_make_engines and "properties" not in row.suites:
            lines.append(f"engine {name}: its row does not name the suite properties")
        if row.name not in OWN and not (root / row.documented).is_file():
            lines.append(f"engine {name}: no page {row.documented}")
    return lines


def _stages_of(name: str) -> set[str]:
    """The stages that the model of an engine has; none where it has no model."""
    if not find_spec(f"{NAMESPACE}.{name}.model"):
        return set()
    return {*import_module(f"{NAMESPACE}.{name}.model").STAGES}


def _environments(root: Path) -> list[str]:
    """Of each engine that has one: what pins it, a page that is named, and planted faults."""
    mutants = Counter(ENGINES[fault.engine].environment for fault in faults().values())
    lines = []
    for name in sorted({row.environment for row in ENGINES.values() if row.environment}):
        locked = known(name).locked.relative_to(ROOT)
        if not (root / locked).is_file():
            lines.append(f"environment {name}: no {locked} - python scripts/lock.py {name}")
        if mutants[name] < 3:
            where = f"engines/{name}/worker_faults.py"
            lines.append(f"environment {name}: {mutants[name]} of 3 faults in {where}")
    return lines


def _adapter(row: Engine) -> str:
    file = row.command[1] if row.command else f"{row.worker}.py"
    return f"{row.folder}/{file}"


def test_every_sampler_and_every_engine_has_all_its_parts() -> None:
    lines = lacking(ROOT)
    assert not lines, "\n".join(lines)
