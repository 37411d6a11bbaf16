"""An installation without extras judges adapters; a feature that needs an extra names it in one
line.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.backends import worker
from sampler_parity.harness.errors import EXTRAS, InputError
from sampler_parity.harness.llama_cpp import libllama
from sampler_parity.harness.protocol import serve
from sampler_parity.harness.suite import file
from tests.support.command_line import ROOT, cli, refused
from tests.support.import_graph import PACKAGES, sources
from tests.support.report_bundles import case, got, run_info, write_bundle

PIP = "needs the extra {0} - pip install 'sampler-parity[{0}]'"

# Modules of the extras, and MarkupSafe, which comes with Jinja.
OF_EXTRAS = {module for modules in EXTRAS.values() for module in modules} | {"markupsafe"}
# Loaded by `fuzz` and by the block [[fuzz]] alone, and by these in functions.
OF_FUZZ = "harness/checks/stages/blocks/fuzz_cases.py"


@pytest.fixture(params=EXTRAS)
def absent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """An extra that is not installed."""
    monkeypatch.setitem(EXTRAS, request.param, ("sampler_parity_has_no_such_module",))
    return str(request.param)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "bundle", run_info("mine"), [case("top_p/a", {"mine": got()})])


def loaded_at_once(source: str) -> Iterator[str]:
    """Yield the packages that a module loads when it is imported, outside of functions."""
    return (match[1] for match in re.finditer(r"^(?:import|from) (\w+)", source, re.MULTILINE))


def test_no_module_loads_a_package_of_an_extra_as_it_is_imported() -> None:
    wrong = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in sources(ROOT, package)
        if OF_EXTRAS & {*loaded_at_once(path.read_text(encoding="utf-8"))}
    }
    assert wrong == {OF_FUZZ, "functions/strategies.py"}


def test_the_base_needs_no_package_of_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split("[<>=]", one)[0] for one in requirements}

    of_extras = {
        name for extra in EXTRAS for name in names(project["optional-dependencies"][extra])
    }
    parts = {"llama-cpp-python", "jinja2", "matplotlib", "hypothesis", "in-toto-attestation"}
    assert of_extras == parts
    assert not of_extras & names(project["dependencies"])


@pytest.mark.parametrize("absent", ["report"], indirect=True)
def test_html_says_which_extra_it_lacks_and_writes_nothing(
    absent: str, bundle: Path, tmp_path: Path
) -> None:
    message = f"sampler-parity: HTML: {PIP.format(absent)}"
    report = tmp_path / "report"
    asked = f"{message}, or write -f md -f json -f junit"
    assert refused(cli("report", bundle, "-o", report)) == asked
    assert refused(cli("compare", bundle, bundle, "-o", report)) == message
    database = tmp_path / "history.sqlite"
    assert cli("history", "add", bundle, "-d", database).returncode == 0
    assert refused(cli("history", "show", "-d", database, "-o", report)) == message
    assert not report.exists()


@pytest.mark.parametrize("absent", ["report"], indirect=True)
def test_every_other_format_needs_no_extra(absent: str, bundle: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    done = cli("report", bundle, "-o", report, "-f", "md", "-f", "json", "-f", "junit")
    assert (done.returncode, done.stderr) == (0, "")
    assert (report / "parity.md").is_file()


@pytest.mark.parametrize("absent", ["fuzz"], indirect=True)
def test_fuzzing_says_which_extra_it_lacks(absent: str) -> None:
    message = PIP.format(absent)
    assert refused(cli("fuzz", "--for", "1s")) == f"sampler-parity: fuzz: {message}"
    named = refused(cli("run", "parity/fuzz", "-b", "reference", "--plan"))
    assert named.endswith(f"suites/parity/fuzz.toml: fuzz 'hypothesis': {message}")


@pytest.mark.parametrize("absent", ["fuzz"], indirect=True)
def test_a_folder_of_suites_leaves_the_fuzzed_one_out_and_says_so(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = [path for name in ("parity/fuzz", "parity/greedy") for path in file.find_suites([name])]
    monkeypatch.setattr(file, "find_suites", lambda _: two)
    lines = cli("run", "parity", "-b", "reference", "--plan").stdout.splitlines()
    suite, left_out = (line for line in lines if line.startswith(("suite", "left")))
    assert suite.startswith("suite    parity/greedy: stages ")
    assert left_out == f"left out parity/fuzz: {PIP.format(absent)}"


def test_llama_cpp_says_which_extra_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libllama, "find_spec", lambda _: None)
    with pytest.raises(InputError) as error:
        libllama.default_folder()
    assert str(error.value) == f"llama.cpp: {PIP.format('llama')}"


def test_a_worker_that_cannot_begin_says_why_in_its_last_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: object) -> None:
        raise InputError("llama.cpp", "is not here", "fetch it")

    monkeypatch.setattr(serve, "run_worker", refuse)
    with pytest.raises(SystemExit, match=r"^llama\.cpp: is not here - fetch it$"):
        worker.main()
