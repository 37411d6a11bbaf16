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
    "programs.recording",
    "programs.settings",
    "programs.servers",
    "programs.differences",
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
    "harness.cli.list": 18_000,
    "harness.cli.report": 17_100,
    "harness.cli.run": 34_000,
    "programs.cli.check": 18_400,
    "programs.cli.diff": 15_800,
    "programs.cli.redact": 18_400,
    "programs.cli.server": 29_100,
    "programs.cli.settings": 5_300,
    "programs.cli.why": 15_400,
}
BESIDE = ("programs", "vectors", "functions", "maintenance")  # the core does not import them


def layer_of(module: str) -> int:
    """Return the number of the module's package. Raises ValueError for a module in none."""
    for number, package in enumerate(PACKAGES):
        if module == package or module.startswith(f"{package}."):
            return number
    raise ValueError(f"{module} is in no package: add it to PACKAGES")


def folder_of(module: str) -> str:
    return module.partition(".")[0]


def engine_of(module: str) -> str:
    """Return the name of the engine that has the module; empty for one of the core."""
    folder, _, rest = f"{module}.".partition(".")
    return rest.partition(".")[0] if folder == "engines" else ""


def is_upward(module: str, imported: str) -> bool:
    """Is what is imported in a package above?"""
    if "." not in module or "engines" in (folder_of(module), folder_of(imported)):
        return False
    return layer_of(imported) > layer_of(module)


def is_of_an_engine(module: str, imported: str) -> bool:
    """Is it an engine, imported by the core or by an engine of another maker?"""
    own = engine_of(module)
    allowed = {own, SHARED, *SAME_MAKER.get(own, ())} if own else set()
    return folder_of(imported) == "engines" and engine_of(imported) not in allowed


def is_beside(module: str, imported: str) -> bool:
    """Is it in a folder next to the core, imported by the core or by another such folder?"""
    return not engine_of(module) and folder_of(imported) in {*BESIDE} - {folder_of(module)}


def is_another_page(module: str, imported: str) -> bool:
    """Does one page of the reports import another? What two need belongs to reports/."""
    pages = [name.split(".") for name in (module, imported) if name.startswith("reports.pages.")]
    return len(pages) == 2 and pages[0][2] != pages[1][2]


Rule = Callable[[str, str], bool]
RULES: tuple[Rule, ...] = (is_upward, is_of_an_engine, is_beside, is_another_page)


def breaches(root: Path, rule: Rule) -> list[str]:
    """Return imports that break a rule, one line each: file, line, and what is imported."""
    known = modules(root)
    return [
        f"{line.path.relative_to(root)}:{line.line}: imports {line.module}"
        for module, path in known.items()
        for line in imports(path, known)
        if rule(module, line.module)
    ]


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


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_no_import_breaks_a_rule(rule: Rule) -> None:
    assert breaches(ROOT, rule) == []


@pytest.mark.slow
def test_no_command_imports_more_lines_than_its_budget() -> None:
    assert over_budget(ROOT, BUDGETS) == []


def test_planted_import_over_the_budget_is_named(tmp_path: Path) -> None:
    command = "def why():\n    from sampler_parity.harness.gate import gate"
    gate, report = "from sampler_parity.reports.write import x", "\n".join(["x = 1"] * 98)
    files = {"harness/cli/why": command, "harness/gate/gate": gate, "reports/write": report}
    write(tmp_path, {f"{name}.py": text for name, text in files.items()})
    assert over_budget(tmp_path, {"harness.cli.why": 101}) == []
    (line,) = over_budget(tmp_path, {"harness.cli.why": 100})
    assert line == "harness.cli.why: imports 101 lines, its budget is 100"


def test_the_picture_of_the_architecture_has_every_package_in_this_order() -> None:
    page = ROOT / "docs" / "background" / "architecture.md"
    picture = page.read_text(encoding="utf-8").split("```")[1]
    drawn = [name.rstrip("/") for name in re.findall(r"(?m)^(\w+)/? ", picture)]
    packages = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    shown = packages | {"lint", "reports", "reference", *BESIDE}
    listed = [name.removeprefix("harness.").partition(".")[0] for name in reversed(PACKAGES)]
    assert drawn == [name for name in dict.fromkeys(listed) if name in shown]
    assert packages - {*drawn} == set()


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
    write(tmp_path, {"tests/a.py": "import os\nif os:\n    from harness.run import x"})
    assert past_the_namespace(tmp_path) == [f"{tmp_path}/tests/a.py:     from harness.run import x"]


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")


MODULES = (
    *("reference/chain", "harness/bundle/bundle", "harness/run/judging", "reports/write"),
    *("reports/pages/accuracy", "reports/pages/parity/parity_model", "programs/servers/run"),
    *("engines/rwkv/__init__", "engines/rwkv/model", "engines/rwkv/worker", "engines/shared/row"),
    *("engines/webgpu/model", "engines/correct/row"),
)
OF_THE_SERVERS = "def f():\n    import sampler_parity.programs.servers.run"
AN_ENGINE = {  # by what it imports: an import of an engine
    "engines.rwkv": "from typing import X\nfrom sampler_parity.engines import rwkv",
    "engines.rwkv.worker": "import os\nimport sampler_parity.engines.rwkv.worker",
    "engines.rwkv.model": "if TYPE_CHECKING:\n    from sampler_parity.engines.rwkv import model",
}


@pytest.mark.parametrize(
    ("rule", "file", "text", "imported"),
    [
        (is_upward, "harness/bundle/bundle.py",
         "import os\nfrom sampler_parity.harness.run import judging", "harness.run.judging"),
        (is_upward, "harness/bundle/bundle.py",
         "def f():\n    from sampler_parity.reports.write import write_report", "reports.write"),
        *[(is_beside, file, OF_THE_SERVERS, "programs.servers.run")
          for file in ("harness/run/run.py", "reports/write.py", "maintenance/rows.py")],
        (is_another_page, "reports/pages/parity/parity_page.py",
         "from sampler_parity.reports.pages.parity import parity_model\n"
         "import sampler_parity.reports.pages.accuracy", "reports.pages.accuracy"),
        (is_another_page, "reports/pages/accuracy.py",
         "import os\nfrom sampler_parity.reports.pages.parity.parity_model import Report",
         "reports.pages.parity.parity_model"),
        *[(is_of_an_engine, file, text, imported) for imported, text in AN_ENGINE.items()
          for file in ("reference/chain.py", "harness/run/run.py", "reports/write.py")],
    ],
)  # fmt: skip
def test_planted_import_that_breaks_a_rule_is_named_with_file_and_line(
    tmp_path: Path, rule: Rule, file: str, text: str, imported: str
) -> None:
    write(tmp_path, {f"{name}.py": "" for name in MODULES} | {file: text})
    assert breaches(tmp_path, rule) == [f"{file}:2: imports {imported}"]


def test_an_engine_may_import_the_core_what_is_shared_and_those_of_its_maker(
    tmp_path: Path,
) -> None:
    assert "correct" in SAME_MAKER["webgpu"]
    names = ("engines.shared.row", "engines.webgpu.model", "engines.correct.row", "reference.chain")
    lines = [f"import sampler_parity.{name}" for name in (*names, "engines.rwkv.model")]
    file = "engines/webgpu/worker.py"
    write(tmp_path, {f"{name}.py": "" for name in MODULES} | {file: "\n".join(lines)})
    assert breaches(tmp_path, is_of_an_engine) == [f"{file}:5: imports engines.rwkv.model"]
    assert breaches(tmp_path, is_upward) == []


@pytest.mark.parametrize(
    "line",
    ["{}", "def f():\n    {}", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}"],
    ids=["of the module", "inside a function", "for types"],
)
def test_planted_cycle_is_named(tmp_path: Path, line: str) -> None:
    for name, other in ("gate", "rules"), ("rules", "words"), ("words", "gate"):
        text = line.format(f"from sampler_parity.harness.gate.{other} import x")
        write(tmp_path, {f"harness/gate/{name}.py": text})
    names = ("gate", "rules", "words", "gate")
    assert cycles(tmp_path) == [" -> ".join(f"harness.gate.{name}" for name in names)]


def test_planted_cycle_of_packages_is_named(tmp_path: Path) -> None:
    imports_of = {"bundle/bundle": "checks.record", "checks/context": "bundle.bundle"}
    for name, other in imports_of.items():
        write(tmp_path, {f"harness/{name}.py": f"import sampler_parity.harness.{other}"})
    write(tmp_path, {"harness/checks/record.py": ""})
    assert cycles(tmp_path) == []
    assert cycles(tmp_path, package_of) == ["harness.bundle -> harness.checks -> harness.bundle"]
