"""The layers: imports go down, no file or package imports itself, and no engine is imported.

PACKAGES lists the core, the lowest first. A file may import its own package and those below it.
Imports inside functions and those for types (`if TYPE_CHECKING`) count, too.
"""

import ast
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "sampler_parity."

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
    "maintenance.repro",
    "harness.timing",
    "maintenance.golden",
    "programs.servers",
    "harness.comparison",
    "harness.gate",
    "harness.faults",
    "harness.run",
    "programs.recording",
    "programs.upgrade",
    "harness.lint",
    "harness.pytest_plugin",
    "reports.rows",
    "reports.labels",
    "reports.summary",
    "reports.engine_order",
    "reports.pictures",
    "reports.document",
    "reports.parts",
    "reports.times",
    "reports.writers",
    "reports.page",
    "reports.pages",
    "reports.write",
    "harness.cli",
)


# An engine may import the core, itself, engines/shared, and these engines of the same maker.
SHARED = "shared"
SAME_MAKER: dict[str, set[str]] = {"webgpu": {"correct"}, "akunu": {"webgpu"}, "vllm_gpu": {"vllm"}}


class Import(NamedTuple):
    """A line that imports a module of ours."""

    path: Path
    line: int
    module: str


@functools.cache
def sources(root: Path, folder: str) -> list[Path]:
    """Return our Python files in a folder, without those of installed packages."""
    return sorted(p for p in (root / folder).rglob("*.py") if "node_modules" not in p.parts)


@functools.cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(root: Path) -> dict[str, Path]:
    """Return the modules of the product, by name without the namespace."""
    paths = {}
    for folder in ("reference", "harness", "reports", "engines"):
        for path in sources(root, folder):
            if path.name.startswith("test_"):  # of an engine, next to what it tests
                continue
            parts = path.relative_to(root).with_suffix("").parts
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def imports(path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """Yield every import of one of our modules in a file."""
    for node in _nodes(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            module = name.removeprefix(NAMESPACE)
            if name.startswith(NAMESPACE):
                module = module if module in known else module.rpartition(".")[0]
                yield Import(path, node.lineno, module)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield its statements: an import is one, and expressions have none."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        yield node
        yield from _nodes(node)


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
        if module not in ("harness", "reports", "engines") and not engine_of(module)
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


@pytest.mark.slow
def test_imports_go_down() -> None:
    assert upward(ROOT) == []


def test_the_picture_of_the_architecture_has_every_package_in_this_order() -> None:
    page = ROOT / "docs" / "background" / "architecture.md"
    picture = page.read_text(encoding="utf-8").split("```")[1]
    drawn = [name.rstrip("/") for name in re.findall(r"(?m)^(\w+)/? ", picture)]
    packages = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    shown = packages | {"lint", "reports", "reference"}
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
    r"(?m)^\s*(?:from|import) (?:harness|reference|reports|engines|suites|golden)\b.*"
)


def past_the_namespace(root: Path) -> list[str]:
    folders = ("reference", "harness", "reports", "engines", "studies", "tests", "examples")
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
