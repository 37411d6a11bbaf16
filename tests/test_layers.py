"""The layers: imports go down, no file or package imports itself, and no engine is imported.

PACKAGES lists the core, the lowest first. A file may import its own package and those below it.
Imports inside functions and those for types (`if TYPE_CHECKING`) count, too.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.import_graph import FOLDERS, closure, imports, lines_of, modules, sources

ROOT = Path(__file__).resolve().parent.parent

PACKAGES = (
    "reference",
    "harness.sanitize",
    "harness.errors",
    "harness.verdicts",
    "harness.strict",
    "harness.files",
    "harness.rows",
    "harness.engines",
    "harness.processes",
    "harness.statistics",
    "harness.protocol",
    "harness.bundle",
    "harness.correct",
    "harness.inputs",
    "harness.llama_cpp",
    "harness.backends",
    "harness.trie",
    "harness.checks",
    "harness.suite",
    "harness.failures",
    "harness.timing",
    "harness.comparison",
    "harness.gate",
    "harness.faults",
    "harness.run",
    "harness.lint",
    "harness.pytest_plugin",
    "reports.rows",
    "reports.labels",
    "reports.pictures",
    "reports.document",
    "reports.parts",
    "reports.writers",
    "reports.page",
    "reports.pages",
    "reports.write",
    "harness.cli",
    "maintenance.repro",
    "maintenance.golden",
    "maintenance.calibration",
    "maintenance.selftest",
    "maintenance.pages",
    "maintenance.cli",
    "maintenance.rows",
    "programs.servers",
    "programs.recording",
    "programs.upgrade",
    "programs.pages",
    "programs.cli",
    "programs.rows",
    "functions",
    "vectors",
)


# An engine may import the core, itself, engines/shared, and these engines of the same maker.
SHARED = "shared"
SAME_MAKER: dict[str, set[str]] = {"webgpu": {"correct"}, "akunu": {"webgpu"}, "vllm_gpu": {"vllm"}}


# Lines of all modules that the module of a command imports, by way of others or not. A budget goes
# down freely, and up only in a commit of its own with the reason.
BUDGETS = {
    "harness.cli.gate": 34_500,
    "harness.cli.list": 18_500,
    "harness.cli.report": 17_500,
    "harness.cli.run": 34_000,
    "programs.cli.check": 18_000,
    "programs.cli.redact": 18_000,
    "programs.cli.server": 27_000,
    "programs.cli.why": 14_000,
}
BESIDE = (
    "programs",
    "vectors",
    "functions",
    "maintenance",
)  # folders that the core does not import


def layer_of(module: str) -> int:
    """Return the number of the module's package. Raises ValueError for a module in none."""
    for number, package in enumerate(PACKAGES):
        if module == package or module.startswith(f"{package}."):
            return number
    raise ValueError(f"{module} is in no package: add it to PACKAGES")


def engine_of(module: str) -> str:
    """Return the name of the engine that has the module; empty for one of the core."""
    folder, _, rest = f"{module}.".partition(".")
    return rest.partition(".")[0] if folder == "engines" else ""


def upward(root: Path) -> list[str]:
    """Return imports from a package above, one line each: file, line, and what is imported."""
    known = modules(root)
    return [
        f"{line.path.relative_to(root)}:{line.line}: imports {line.module}, which is above it"
        for module, path in known.items()
        if "." in module and not engine_of(module)
        for line in imports(path, known)
        if not line.module.startswith("engines") and layer_of(line.module) > layer_of(module)
    ]


def of_engines(root: Path) -> list[str]:
    """Return imports of an engine by the core, or by an engine of another maker."""
    known = modules(root)
    problems = []
    for module, path in known.items():
        own = engine_of(module)
        allowed = {own, SHARED, *SAME_MAKER.get(own, ())} if own else set()
        problems += [
            f"{path.relative_to(root)}:{line.line}: imports an engine: {line.module}"
            for line in imports(path, known)
            if line.module.startswith("engines") and engine_of(line.module) not in allowed
        ]
    return problems


def package_of(module: str) -> str:
    """Return the package: of the harness and of the reports those within, and each engine."""
    return ".".join(module.split(".")[: 1 if module.startswith("reference") else 2])


def cycles(root: Path, named: Callable[[str], str] = str) -> list[str]:
    """Return files that import each other, by way of others or not: the shortest cycles. named:
    `package_of` for packages."""
    known = modules(root)
    graph: dict[str, set[str]] = {}
    for module, path in known.items():
        own, imported = named(module), {named(i.module) for i in imports(path, known)}
        graph[own] = graph.get(own, set()) | imported - {own}
    rounds = set()
    for start in graph:
        ways = [[start]]
        seen = {start}
        while ways:
            way = ways.pop(0)
            for module in sorted(graph.get(way[-1], ())):
                if module == start:
                    turn = way.index(min(way))
                    rounds.add(" -> ".join([*way[turn:], *way[:turn], way[turn]]))
                    ways = []
                    break
                if module not in seen:
                    seen.add(module)
                    ways.append([*way, module])
    return sorted(rounds)


def over_budget(root: Path, budgets: dict[str, int]) -> list[str]:
    """Return a line for each command that imports more lines than its budget."""
    known = modules(root)
    lines = {
        name: sum(lines_of(known[module]) for module in closure(name, known)) for name in budgets
    }
    return [
        f"{name}: imports {lines[name]:,} lines, its budget is {budget:,}"
        for name, budget in budgets.items()
        if lines[name] > budget
    ]


def of_beside(root: Path) -> list[str]:
    """Return imports of a folder next to the core by the core, or by another such folder."""
    known = modules(root)
    return [
        f"{line.path.relative_to(root)}:{line.line}: imports {line.module}"
        for module, path in known.items()
        if not engine_of(module)
        for line in imports(path, known)
        if line.module.partition(".")[0] in {*BESIDE} - {module.partition(".")[0]}
    ]


@pytest.mark.slow
def test_imports_go_down() -> None:
    assert upward(ROOT) == []


@pytest.mark.slow
def test_no_command_imports_more_lines_than_its_budget() -> None:
    assert over_budget(ROOT, BUDGETS) == []


def test_planted_import_over_the_budget_is_named(tmp_path: Path) -> None:
    for name, text in {
        "harness/cli/why.py": "def why():\n    from sampler_parity.harness.gate import gate\n",
        "harness/gate/gate.py": "from sampler_parity.reports.write import x\n",
        "reports/write.py": "x = 1\n" * 98,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert over_budget(tmp_path, {"harness.cli.why": 101}) == []
    (line,) = over_budget(tmp_path, {"harness.cli.why": 100})
    assert line == "harness.cli.why: imports 101 lines, its budget is 100"


@pytest.mark.slow
def test_neither_the_core_nor_another_folder_imports_a_folder_beside_the_core() -> None:
    assert of_beside(ROOT) == []


@pytest.mark.parametrize("file", ["harness/run/run.py", "reports/write.py", "maintenance/rows.py"])
def test_planted_import_of_a_folder_beside_the_core_is_named(tmp_path: Path, file: str) -> None:
    for name in ("programs/servers/run.py", file):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / file).write_text("def f():\n    import sampler_parity.programs.servers.run\n")
    assert of_beside(tmp_path) == [f"{file}:2: imports programs.servers.run"]


def test_the_picture_of_the_architecture_has_every_package_in_this_order() -> None:
    page = ROOT / "docs" / "background" / "architecture.md"
    picture = page.read_text(encoding="utf-8").split("```")[1]
    drawn = [name.rstrip("/") for name in re.findall(r"(?m)^(\w+)/? ", picture)]
    packages = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    shown = packages | {"lint", "reports", "reference", *BESIDE}
    listed = [name.removeprefix("harness.").partition(".")[0] for name in reversed(PACKAGES)]
    assert drawn == [name for name in dict.fromkeys(listed) if name in shown]
    assert packages - {*drawn} == set()


def other_pages(root: Path) -> list[str]:
    """Return imports of one report page by another: what two need belongs to reports/."""
    known = modules(root)
    return [
        f"{line.path.relative_to(root)}:{line.line}: imports {line.module}, another page"
        for module, path in known.items()
        if module.startswith("reports.pages.")
        for line in imports(path, known)
        if line.module.startswith("reports.pages.")
        and line.module.split(".")[2] != module.split(".")[2]
    ]


@pytest.mark.slow
def test_the_core_imports_no_engine_and_no_engine_that_of_another_maker() -> None:
    assert of_engines(ROOT) == []


@pytest.mark.slow
def test_no_page_of_the_reports_imports_another() -> None:
    assert other_pages(ROOT) == []


def test_planted_import_of_another_page_is_named(tmp_path: Path) -> None:
    pages = tmp_path / "reports/pages"
    (pages / "parity").mkdir(parents=True)
    (pages / "parity/parity_model.py").write_text("")
    (pages / "parity/parity_page.py").write_text(
        "from sampler_parity.reports.pages.parity import parity_model\n"
        "import sampler_parity.reports.pages.accuracy\n"
    )
    line = "from sampler_parity.reports.pages.parity.parity_model import Report\n"
    (pages / "accuracy.py").write_text(line)
    assert sorted(other_pages(tmp_path)) == [
        "reports/pages/accuracy.py:1: imports reports.pages.parity.parity_model, another page",
        "reports/pages/parity/parity_page.py:2: imports reports.pages.accuracy, another page",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("named", [str, package_of], ids=["file", "package"])
def test_none_imports_itself_by_way_of_others(named: Callable[[str], str]) -> None:
    assert cycles(ROOT, named) == []


def test_harness_has_at_most_six_modules_next_to_its_packages() -> None:
    names = [p.name for p in (ROOT / "harness").glob("*.py") if p.name != "__init__.py"]
    assert len(names) <= 6, names


PAST = re.compile(
    r"(?m)^\s*(?:from|import) "
    r"(?:harness|reference|reports|programs|maintenance|engines|suites|golden)\b.*"
)


def past_the_namespace(root: Path) -> list[str]:
    folders = (*FOLDERS, "studies", "tests", "examples")
    paths = [path for folder in folders for path in sources(root, folder)]
    return [f"{path}: {n}" for path in paths for n in PAST.findall(path.read_text("utf-8"))]


def test_no_import_goes_past_the_namespace(tmp_path: Path) -> None:
    assert past_the_namespace(ROOT) == []
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").write_text("import os\nif os:\n    from harness.run import x\n")
    assert past_the_namespace(tmp_path) == [f"{tmp_path}/tests/a.py:     from harness.run import x"]


@pytest.mark.parametrize(
    ("line", "imported"),
    [
        ("from sampler_parity.harness.run import judging", "harness.run.judging"),
        ("def f():\n    from sampler_parity.reports.write import write_report", "reports.write"),
    ],
    ids=["of the module", "inside a function"],
)
def test_planted_upward_import_is_named_with_file_and_line(
    tmp_path: Path, line: str, imported: str
) -> None:
    for name in ("harness/bundle/bundle.py", "harness/run/judging.py", "reports/write.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "harness/bundle/bundle.py").write_text(f"import os\n{line}\n")
    (problem,) = upward(tmp_path)
    assert problem.startswith("harness/bundle/bundle.py:")
    assert f"imports {imported}, which is above it" in problem


@pytest.mark.parametrize(
    "line",
    ["{}", "def f():\n    {}", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}"],
    ids=["of the module", "inside a function", "for types"],
)
def test_planted_cycle_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "harness/gate").mkdir(parents=True)
    for name, other in ("gate", "rules"), ("rules", "words"), ("words", "gate"):
        text = line.format(f"from sampler_parity.harness.gate.{other} import x\n")
        (tmp_path / f"harness/gate/{name}.py").write_text(text)
    (cycle,) = cycles(tmp_path)
    assert cycle.split(" -> ") == [
        *("harness.gate.gate", "harness.gate.rules", "harness.gate.words", "harness.gate.gate"),
    ]


def test_planted_cycle_of_packages_is_named(tmp_path: Path) -> None:
    for name in ("harness/bundle/bundle", "harness/checks/record", "harness/checks/context"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text("")
    for name, other in ("bundle.bundle", "checks.record"), ("checks.context", "bundle.bundle"):
        line = f"import sampler_parity.harness.{other}\n"
        (tmp_path / f"harness/{name.replace('.', '/')}.py").write_text(line)
    assert cycles(tmp_path) == []
    assert cycles(tmp_path, package_of) == ["harness.bundle -> harness.checks -> harness.bundle"]


@pytest.mark.parametrize("file", ["reference/chain.py", "harness/run/run.py", "reports/write.py"])
@pytest.mark.parametrize(
    "line",
    [
        "from sampler_parity.engines.rwkv.model import X",
        "from sampler_parity.engines import rwkv",
        "import sampler_parity.engines.rwkv.worker",
        "if TYPE_CHECKING:\n    from sampler_parity.engines.rwkv import model",
    ],
)
def test_planted_import_of_an_engine_by_the_core_is_named(
    tmp_path: Path, file: str, line: str
) -> None:
    plant(tmp_path, file, line)
    (problem,) = of_engines(tmp_path)
    assert problem.startswith(f"{file}:")
    assert "imports an engine: engines.rwkv" in problem
    assert upward(tmp_path) == []


def test_planted_import_of_another_engine_is_named_and_what_is_shared_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SAME_MAKER, "lloyal", {"lloyal_node"})
    allowed = ("engines.shared.row", "engines.lloyal.model", "engines.lloyal_node.row")
    core = ("reference.chain", "harness.errors")
    names = (*allowed, *core, "engines.rwkv.model")
    plant(
        tmp_path, "engines/lloyal/worker.py", "\n".join(f"import sampler_parity.{n}" for n in names)
    )
    assert of_engines(tmp_path) == [
        "engines/lloyal/worker.py:6: imports an engine: engines.rwkv.model"
    ]


def plant(root: Path, file: str, text: str) -> None:
    """Write a file, next to the modules of two engines."""
    for name in ("rwkv/__init__", "rwkv/model", "rwkv/worker", "shared/row", "lloyal/model"):
        (root / f"engines/{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (root / f"engines/{name}.py").write_text("")
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(f"{text}\n")
