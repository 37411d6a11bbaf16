"""Suites as tests: `pytest --sampler-backend "node my-adapter.js" suites/`. docs/ci-and-gate.md.

The configuration has the same settings: sampler_backend, sampler_suites. Without a backend nothing
is collected and nothing of the harness is imported.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sampler_parity.harness.bundle.info import BackendInfo
    from sampler_parity.harness.checks.case import Case
    from sampler_parity.harness.checks.distribution.block import Cell

_BACKENDS = pytest.StashKey[dict[str, "BackendInfo"]]()
_CELLS = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sampler-parity")
    group.addoption(
        "--sampler-backend",
        action="append",
        default=[],
        metavar="NAME|COMMAND|NAME=COMMAND",
        help="collect suites (*.toml) as tests and run them on this backend; may be repeated",
    )
    group.addoption(
        "--sampler-suite",
        action="append",
        default=[],
        metavar="SUITE",
        help="collect this suite, named as for `sampler-parity run`, and what else is named;"
        " may be repeated",
    )
    group.addoption(
        "--sampler-accept",
        choices=["identical", "tied", "correct", "close"],
        help="other verdicts that pass, as for `sampler-parity run --accept`",
    )
    group.addoption(
        "--sampler-profile", choices=["quick", "full"], default="quick", help="how many cases"
    )
    group.addoption(
        "--sampler-timeout", type=float, default=60.0, help="seconds for one request (60)"
    )
    parser.addini("sampler_backend", "as --sampler-backend, one a line", "linelist", [])
    parser.addini(
        "sampler_suites", "suites collected where no path is named, one a line", "linelist", []
    )
    parser.addini("sampler_accept", "as --sampler-accept", default="identical")


def pytest_configure(config: pytest.Config) -> None:
    names: list[str] = config.getoption("sampler_backend") or config.getini("sampler_backend")
    if not names:
        if config.getoption("sampler_suite"):
            raise pytest.UsageError("--sampler-suite: name a backend, too: --sampler-backend")
        return
    from sampler_parity.harness.backends.registry import about
    from sampler_parity.harness.errors import InputError
    from sampler_parity.harness.run.started import backend

    infos: dict[str, BackendInfo] = {}
    for name in names:
        try:
            infos[name] = about(name, backend(name, config.getoption("sampler_timeout")))
        except (InputError, ValueError) as error:
            raise pytest.UsageError(f"--sampler-backend: {error}") from None
        if infos[name].unavailable:
            why = infos[name].unavailable
            raise pytest.UsageError(f"--sampler-backend {name}: does not run here: {why}")
    config.stash[_BACKENDS] = infos
    _collect_suites(config)


def _collect_suites(config: pytest.Config) -> None:
    """Collect the suites of the option, next to the paths that are named; without it, those of the
    configuration."""
    from sampler_parity.harness.errors import InputError
    from sampler_parity.harness.suite.file import find_suites

    has_paths = config.args_source == pytest.Config.ArgsSource.ARGS
    suites: list[str] = config.getoption("sampler_suite")
    configured: list[str] = [] if suites or has_paths else config.getini("sampler_suites")
    try:
        paths = [str(path) for path in find_suites([*suites, *map(_below(config), configured)])]
    except InputError as error:
        raise pytest.UsageError(f"sampler suite {error}") from None
    before = [] if suites and not has_paths else config.args
    config.args = list(dict.fromkeys([*before, *paths]))


def _below(config: pytest.Config) -> Callable[[str], str]:
    """Return a function that resolves a path of the configuration from its folder."""
    return lambda name: str(config.rootpath / name) if name.endswith(".toml") else name


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [
        f"sampler backend: {name} {info.name} {info.version}".rstrip()
        for name, info in config.stash.get(_BACKENDS, {}).items()
    ]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SuiteTests | None":
    if file_path.suffix != ".toml" or _BACKENDS not in parent.config.stash:
        return None
    if not parent.session.isinitpath(file_path) and not _looks_like_suite(file_path):
        return None
    tests: SuiteTests = SuiteTests.from_parent(
        parent, path=file_path, nodeid=_id_elsewhere(file_path, parent.config.rootpath)
    )
    return tests


def _id_elsewhere(path: Path, root: Path) -> str | None:
    """Return the id of a suite outside the root, such as one of the package: pytest's would be
    ""."""
    from sampler_parity.harness.suite.ids import suite_id

    return None if path.is_relative_to(root) else f"{suite_id(path)}.toml"


def _looks_like_suite(path: Path) -> bool:
    """Return whether a file that nobody named is meant as a suite; so is a broken one in its
    folder."""
    from sampler_parity.harness.checks import tables

    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError:
        return True
    except (OSError, UnicodeDecodeError):
        return False
    return "name" in data and not data.keys().isdisjoint(["case", *tables()])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Share one error budget among the distribution tests of a session."""
    config.stash[_CELLS] = sum(isinstance(item, CellTest) for item in items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the result to the report, which pytest-xdist takes to the process of the summary."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, _Unmet):
        vars(report)["sampler_parity"] = call.excinfo.value.args[1]
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, None, None]:
    """Print a line for each group of failures, last: one mistake of a sampler fails many tests."""
    yield
    reports = terminalreporter.getreports("failed")
    failures = [
        vars(report)["sampler_parity"] for report in reports if "sampler_parity" in vars(report)
    ]
    if not failures:
        return
    from sampler_parity.harness.bundle.records import CaseResult
    from sampler_parity.harness.failures.groups import groups

    cases = [CaseResult.model_validate_json(text) for text in failures if text.startswith("{")]
    terminalreporter.section("sampler-parity: groups of failures")
    for group in groups(None, cases):
        terminalreporter.line(f"{group.text}   {group.backend}, such as {group.example.case}")
    for line, n in Counter(text for text in failures if not text.startswith("{")).items():
        terminalreporter.line(f"{n:,} {line}")


class SuiteTests(pytest.File):
    """A suite file: a test for every case, or distribution test, and backend."""

    def collect(self) -> Iterator[pytest.Item]:

        from sampler_parity.harness.checks import KINDS
        from sampler_parity.harness.errors import InputError
        from sampler_parity.harness.suite.file import expand, expand_kind, read_suite

        try:
            suite = read_suite(self.path)
            profile = self.config.getoption("sampler_profile")
            cases, cells = expand(suite, profile), expand_kind("distribution", suite, profile)
            cases = [case for case in cases if KINDS[case.check].record.kind == "case"]
        except InputError as error:
            raise self.CollectError(str(error)) from None
        for name in self.config.stash[_BACKENDS]:
            for case in cases:
                yield CaseTest.from_parent(self, name=_test_name(case.id, name), case=case, on=name)
            for cell in cells:
                yield CellTest.from_parent(self, name=_test_name(cell.id, name), cell=cell, on=name)


def _test_name(case: str, backend: str) -> str:
    """Return "crossing-token-is-kept[mine]" for top_p/crossing-token-is-kept: the file has the
    rest."""
    return f"{case.partition('/')[2]}[{_short(backend)}]"


def _short(backend: str) -> str:
    """Return the name of NAME=COMMAND; a backend without a name is its own."""
    return backend.partition("=")[0]


class _Unmet(Exception):  # noqa: N818 - what a test found
    """The lines to show, and the result for the summary: a record as JSON, or a line."""


class _SuiteTest(pytest.Item):
    def __init__(self, *, on: str, **options: Any) -> None:
        super().__init__(**options)
        self.on = on

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show what differs and how to run it again, in place of a traceback through the
        harness."""
        if isinstance(excinfo.value, _Unmet):
            return "\n".join(excinfo.value.args[0])
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name

    @property
    def backend_info(self) -> "BackendInfo":
        return self.config.stash[_BACKENDS][self.on]

    def replay(self, case: str) -> str:
        from sampler_parity.harness.bundle.replay import command
        from sampler_parity.harness.suite.file import is_shipped, suite_id

        suite = suite_id(self.path) if is_shipped(self.path) else str(self.path)
        return f"  replay: {command(suite, case, 0, {_short(self.on): self.backend_info})}"


class CaseTest(_SuiteTest):
    """A case on a backend: it fails if `run` would report it as not met."""

    def __init__(self, *, case: "Case", **options: Any) -> None:
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        from sampler_parity.harness.checks.execute import execute
        from sampler_parity.harness.correct import accepting
        from sampler_parity.harness.failures.explain import difference_lines
        from sampler_parity.harness.run.started import backend

        process = backend(self.on, self.config.getoption("sampler_timeout"))
        accept = self.config.getoption("sampler_accept") or self.config.getini("sampler_accept")
        with accepting(accept):
            result = execute(self.case, [process]).model_copy(update={"accept": accept})
        if result.skipped(process.name):
            pytest.skip(f"not claimed: {result.backends[process.name].detail}")
        if result.met(process.name):
            return
        got = result.backends[process.name]
        lines = [*difference_lines(result, process.name, self.backend_info.version, got)]
        if result.refusal:
            lines.append(f"  the reference stopped: {result.refusal}")
        if result.unmet:
            lines.append(f"  the reference misses the published result: {result.unmet}")
        lines.append(f"  required: {' or '.join(result.passing(process.name))}")
        raise _Unmet([*lines, self.replay(self.case.id)], result.model_dump_json())


class CellTest(_SuiteTest):
    """A distribution test on a backend."""

    def __init__(self, *, cell: "Cell", **options: Any) -> None:
        super().__init__(**options)
        self.cell = cell

    def runtest(self) -> None:
        from sampler_parity.harness.checks.distribution.run import execute_cell
        from sampler_parity.harness.run.started import backend
        from sampler_parity.harness.statistics.plan import Budget

        process = backend(self.on, self.config.getoption("sampler_timeout"))
        errors = Budget(tests=self.config.stash[_CELLS]).each
        result = execute_cell(self.cell, [process], errors, 0)
        got = result.backends[process.name]
        required = result.required[process.name]
        if got.decision == "skipped":
            pytest.skip(f"not claimed: {got.detail}")
        if got.decision not in required:
            head = f"{got.decision.upper()} {self.cell.id}   {process.name}"
            bounds = f"  estimate {got.estimate}, in [{got.low}, {got.high}], {got.draws:,} draws"
            lines = [head, bounds, f"  {got.detail}", f"  required: {' or '.join(required)}"]
            group = f"distribution tests: {got.decision}   {process.name}"
            raise _Unmet(
                [*(line for line in lines if line.strip()), self.replay(self.cell.id)], group
            )
