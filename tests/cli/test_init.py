"""`init`: each template is a working adapter, and a right one once its sampler is filled in."""

import json
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.cli import init
from sampler_parity.harness.cli.init import COMPILED_TYPESCRIPT, TEMPLATES, Language
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.run.adapter_check import check_adapter
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.harness.verdicts import Verdict
from tests.support.command_line import cli, refused

TSAMPLER = engines_folder() / "tsampler"

COMPILERS = {Language.C: "cc", Language.RUST: "rustc"}


EDITS: dict[str, list[dict[str, str]]] = tomllib.loads(
    (Path(__file__).parent / "init_edits.toml").read_text(encoding="utf-8")
)


def each(*languages: Language) -> pytest.MarkDecorator:
    """Return the parameters: these languages in every run, all others at night."""
    nightly = pytest.mark.nightly
    every = [pytest.param(name, marks=[nightly][name in languages :]) for name in Language]
    return pytest.mark.parametrize("language", every)


@pytest.fixture
def written(
    language: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], list[str]]:
    """Write the template and return a function that runs its `compile` lines as printed.

    TypeScript's compiler is tsampler's. Skip if a compiler is missing.
    """
    program = COMPILERS.get(language, "node" if "script" in language else "python")
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if language is Language.TYPESCRIPT:
        if not (TSAMPLER / "node_modules").is_dir():
            pytest.skip("needs `make tsampler`, which installs the TypeScript compiler")
        (tmp_path / "node_modules").symlink_to(TSAMPLER / "node_modules")
    done = cli("init", "--lang", language, tmp_path / "my adapter")
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())

    def compiled() -> list[str]:
        for line in done.stdout.splitlines():
            if line.startswith("compile") and "npm install" not in line:
                command = shlex.split(line.removeprefix("compile"))
                made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
                assert (made.returncode, made.stdout) == (0, ""), made.stderr
                assert language not in COMPILERS or not made.stderr  # npm prints much
        command = shlex.split(lines["check"])
        assert command[:4] == ["sampler-parity", "adapter", "check", "--"]
        run = shlex.split(lines["run"])
        assert run[:-1] == ["sampler-parity", "run", "parity/temp", "-b"]
        assert shlex.split(run[-1].removeprefix("mine=")) == command[4:]
        return command[4:]

    return compiled


def edit(folder: Path, language: Language) -> None:
    source = folder / "my adapter" / TEMPLATES[language].source
    text = source.read_text(encoding="utf-8")
    for change in EDITS[language]:
        assert text.count(change["old"]) == 1, change["old"]
        text = text.replace(change["old"], change["new"])
    source.write_text(text, encoding="utf-8")


def verdicts(command: list[str]) -> list[tuple[Case, Verdict]]:
    """Return the verdicts of every sixth quick case of both suites with only temp and greedy."""
    cases = [
        c for path in find_suites(["parity/temp", "parity/greedy"]) for c in expand(path, "quick")
    ]
    cases = [c for c in cases if set(c.samplers) <= {"temp", "greedy"} and c.logits.n < 2000][::6]
    assert len(cases) > 20
    with closing(BackendProcess("mine", command)) as mine:
        return [(case, execute(case, [mine]).backends["mine"].verdict) for case in cases]


def is_cold(case: Case) -> bool:
    return any(
        stage.get("temp", {"temp": 1.0})["temp"] <= 0 for chain in case.chains for stage in chain
    )


@each(Language.PYTHON, Language.JAVASCRIPT, Language.C)
@pytest.mark.slow
def test_a_template_is_an_adapter_that_lacks_what_it_says(
    language: Language, written: Callable[[], list[str]]
) -> None:
    command = written()
    checks = {check.name: check.passed for check in check_adapter(command)}
    assert {name for name, passed in checks.items() if not passed} == {"batch", "draws", "time"}
    judged = [(is_cold(case), verdict) for case, verdict in verdicts(command)]
    assert {verdict for cold, verdict in judged if not cold} == {"identical"}
    # of one token, and next to -inf alone, nothing is amiss
    assert judged.count((True, "diverged")) > 5


@pytest.mark.slow
@each(Language.PYTHON, Language.C)
def test_a_template_that_was_filled_in_is_identical_and_remembers_what_it_accepts(
    language: Language, written: Callable[[], list[str]], tmp_path: Path
) -> None:
    edit(tmp_path, language)
    command = written()
    assert {verdict for _, verdict in verdicts(command)} == {"identical"}
    steps = [
        p.Step(row=0, accept="selected"),  # one of the history: 1, and then two
        p.Step(row=0, accept=None),
        p.Step(row=0, instance=1, before=[("clone", 0)], accept=3),
        p.Step(row=0, accept=None),
        p.Step(row=0, accept=None, before=[("reset", 0)]),
        p.Step(row=0, accept=None, instance=1),
    ]
    chain = [{"mirostat_v2": {"seed": 1, "tau": 5.0, "eta": 0.1}}]
    setting, row = client.Setting(chain, 4, None, [2]), np.zeros(4, np.float32)
    with closing(BackendProcess("mine", command)) as mine:
        ran = client.run(mine, setting, [row], steps, whole_chain=False)
    assert ran.tokens == [1, 2, 2, 2, 0, 3]


@pytest.mark.slow
@pytest.mark.parametrize(
    "language", [Language.C, pytest.param(Language.RUST, marks=pytest.mark.nightly)]
)
@pytest.mark.usefixtures("language")
def test_our_own_readers_of_json_know_every_escape(
    written: Callable[[], list[str]], tmp_path: Path
) -> None:
    """They have a parser of their own, and so each a way to be wrong."""
    scratch = tmp_path / 'a "b" é ü/ \U0001f600 \t'
    scratch.parent.mkdir()
    scratch.write_bytes(b"")
    command = written()
    hello = {"do": "hello", "protocol": 1, "more": [True, False, None, -1.5e3, {}, []]}
    for ascii in (True, False):
        line = json.dumps(hello | {"scratch": str(scratch)}, ensure_ascii=ascii).replace("/", "\\/")
        done = subprocess.run(
            command, input=f'{line}\n{{"do":"bye"}}\n', capture_output=True, encoding="utf-8"
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["samplers"] == ["greedy", "temp"]


@pytest.mark.parametrize("language", Language)
def test_nothing_is_written_over(
    language: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init, "strips_types", lambda: True)
    file = tmp_path / TEMPLATES[language].source
    file.write_text("mine")
    line = refused(cli("init", "--lang", language, tmp_path))
    assert line == f"sampler-parity: {file}: already exists - choose another folder"
    assert file.read_text() == "mine"


def test_nothing_is_written_over_by_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init, "strips_types", lambda: False)
    (tmp_path / COMPILED_TYPESCRIPT.binary).write_text("mine")
    line = refused(cli("init", "--lang", "typescript", tmp_path))
    assert line.endswith("adapter.mjs: already exists - choose another folder")
    assert [path.name for path in tmp_path.iterdir()] == ["adapter.mjs"]


def test_a_program_of_this_folder_is_not_looked_for_in_the_path() -> None:
    template = TEMPLATES[Language.C]
    assert init.placed(template.runs, template, Path()) == ["./adapter"]
    assert init.placed(template.runs, template, Path("a/b")) == ["a/b/adapter"]
