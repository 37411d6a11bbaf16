"""Each sampler and each engine has all that CONTRIBUTING.md asks for: what is missing is named."""

import tomllib
from collections import Counter
from pathlib import Path

from sampler_parity.harness.backends.engines import ENGINES, Engine
from sampler_parity.harness.backends.environments import ENVIRONMENTS
from sampler_parity.harness.mutants import MUTANTS
from sampler_parity.harness.mutants.engines import faults
from sampler_parity.reference.registry import ALL_ROWS, ROWS

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
        f"sampler {name}: {mutants[name]} of 3 mutants in harness/mutants/{name}.py"
        for name in sorted({*ALL_ROWS} - NO_MUTANTS)
        if mutants[name] < 3
    ]


def _engines(root: Path) -> list[str]:
    folder = root / "harness" / "backends"
    rows = {f"sampler_parity.harness.backends.{row.module}" for row in ENGINES.values()}
    lines = []
    for path in sorted(folder.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        has_worker = "\nclass Worker" in path.read_text()
        if has_worker and f"sampler_parity.{module}" not in rows | SHARED | NO_ENGINES:
            lines.append(f"{path.relative_to(root)}: no row in harness/backends/engines.py")
    rooms = (path for path in (root / "tests").iterdir() if path.name != "project")
    tests = "".join(path.read_text() for room in rooms for path in room.rglob("test_*.py"))
    for name, row in ENGINES.items():
        if not (folder / _adapter(row)).is_file():
            lines.append(f"engine {name}: no adapter harness/backends/{_adapter(row)}")
        lines += [
            f"engine {name}: no suite {suite}"
            for suite in (*row.suites, *row.draws)
            if not (root / "suites" / f"{suite}.toml").is_file()
            and not any((root / "suites" / suite).glob("*.toml"))
        ]
        if row.in_make_engines and "properties" not in row.suites:
            lines.append(f"engine {name}: its row does not name the suite properties")
        if f'"{name}"' not in tests:
            lines.append(f"engine {name}: no test below tests/ names it")
    return lines


def _environments(root: Path) -> list[str]:
    """Of each engine that has one: what pins it, a page that is named, and planted faults."""
    page = root / "docs" / "engines.md"
    named = page.read_text(encoding="utf-8") if page.is_file() else None
    mutants = Counter(ENGINES[fault.engine].environment for fault in faults().values())
    lines = []
    for name in sorted({row.environment for row in ENGINES.values() if row.environment}):
        locked = ENVIRONMENTS[name].locked.relative_to(ROOT)
        if not (root / locked).is_file():
            lines.append(f"environment {name}: no {locked} - python scripts/lock.py {name}")
        if named is not None and f"(engines/{name}.md)" not in named:
            lines.append(f"environment {name}: docs/engines.md does not name its page")
        if mutants[name] < 3:
            where = f"harness/mutants/engines/{name}.py"
            lines.append(f"environment {name}: {mutants[name]} of 3 faults in {where}")
    return lines


# Classes that several workers share, and no backend by themselves.
SHARED = {"sampler_parity.harness.backends.grammars.engine"}


# Workers that sample nothing.
NO_ENGINES = {
    "sampler_parity.harness.backends.llama_cpp.probe",
    "sampler_parity.harness.backends.mlx_lm.logits",  # it samples nothing
    "sampler_parity.harness.backends.platforms.worker",  # llama.cpp's, in a build for elsewhere
}


def _adapter(row: Engine) -> str:
    return row.command[1] if row.command else f"{row.module.replace('.', '/')}.py"


def test_every_sampler_and_every_engine_has_all_its_parts() -> None:
    lines = lacking(ROOT)
    assert not lines, "\n".join(lines)
