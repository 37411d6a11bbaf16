"""`init`: each template is a working adapter, and a right one once its sampler is filled in."""

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Edits:
    """Edits that an author makes to a template. temp: the lines that are missing. counter: a
    sampler under the name of mirostat_v2 that selects as many as it accepted.
    """

    temp: tuple[str, str]
    counter: tuple[tuple[str, str], ...]


_JAVASCRIPT = Edits(
    (
        "if (t !== 0) c.logits = c.logits.map((x) => f32(x / t));",
        """const best = c.logits.reduce((b, x, i) => (x > c.logits[b] ? i : b), 0);
      c.logits = c.logits.map((x, i) => (t > 0 ? f32(x / t) : i === best ? x : -Infinity));""",
    ),
    (
        ("{ greedy, temp };", "{ greedy, temp, mirostat_v2: () => counter(0) };"),
        (
            "class Unsupported",
            """const counter = (n) => ({
  apply(c) { c.selected = n; }, accept() { n++; }, reset() { n = 0; }, clone: () => counter(n),
});
class Unsupported""",
        ),
    ),
)
EDITS = {
    Language.PYTHON: Edits(
        (
            "if self.temp != 0:\n",
            """best = c.logits.index(max(c.logits))
        if self.temp <= 0:
            c.logits = [x if i == best else float("-inf") for i, x in enumerate(c.logits)]
        else:
""",
        ),
        (
            ('"temp": Temp}', '"temp": Temp, "mirostat_v2": lambda **_: Counter()}'),
            (
                "SAMPLERS: dict",
                """class Counter(Sampler):
    n = 0
    def apply(self, c):
        c.selected = self.n
    def accept(self, token):
        self.n += 1
    def reset(self):
        self.n = 0

SAMPLERS: dict""",
            ),
        ),
    ),
    Language.JAVASCRIPT: _JAVASCRIPT,
    Language.TYPESCRIPT: Edits(
        _JAVASCRIPT.temp,
        (
            _JAVASCRIPT.counter[0],
            (
                "class Unsupported",
                _JAVASCRIPT.counter[1][1].replace("(n) =>", "(n: number): Sampler =>"),
            ),
        ),
    ),
    Language.RUST: Edits(
        (
            "if self.temp != 0.0 {",
            """if self.temp <= 0.0 {
            Greedy.apply(c);
            let best = c.selected.take().unwrap();
            for (i, x) in c.logits.iter_mut().enumerate() {
                if i != best { *x = f32::NEG_INFINITY; }
            }
        } else {""",
        ),
        (
            ("Make); 2]", "Make); 3]"),
            ('("greedy", |_|', '("mirostat_v2", |_| Box::new(Counter(0))),\n    ("greedy", |_|'),
            (
                "type Make",
                """#[derive(Clone)]
struct Counter(usize);
impl Sampler for Counter {
    fn apply(&mut self, c: &mut Candidates) { c.selected = Some(self.0); }
    fn accept(&mut self, _token: i32) { self.0 += 1; }
    fn reset(&mut self) { self.0 = 0; }
    fn copy(&self) -> Box<dyn Sampler> { Box::new(self.clone()) }
}
type Make""",
            ),
        ),
    ),
    Language.C: Edits(
        (
            "if (s->temp != 0)\n",
            """int32_t best = 0;
    for (int32_t i = 1; i < c->n; i++)
        if (c->logits[i] > c->logits[best]) best = i;
    for (int32_t i = 0; i < c->n && s->temp <= 0; i++)
        if (i != best) c->logits[i] = -INFINITY;
    if (s->temp > 0)
""",
        ),
        (
            ('{"temp", make_temp}', '{"temp", make_temp}, {"mirostat_v2", make_counter}'),
            ("    float temp;\n", "    float temp;\n    int n;\n"),
            (
                "static const struct {",
                """static void count(sampler *s, candidates *c) { c->selected = s->n; }
static void one_more(sampler *s, int32_t token) { (void)token; s->n++; }
static void none(sampler *s) { s->n = 0; }
static void make_counter(sampler *s, const json *given) {
    (void)given;
    s->apply = count, s->accept = one_more, s->reset = none;
}
static const struct {""",
            ),
        ),
    ),
}


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


def edit(folder: Path, language: Language, *edits: tuple[str, str]) -> None:
    source = folder / "my adapter" / TEMPLATES[language].source
    text = source.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    source.write_text(text, encoding="utf-8")


def verdicts(command: list[str]) -> list[tuple[Case, Verdict]]:
    """Return the verdicts of every sixth quick case of both suites with only temp and greedy."""
    cases = [
        c for path in find_suites(["parity/temp", "parity/greedy"]) for c in expand(path, "quick")
    ]
    cases = [c for c in cases if set(c.samplers) <= {"temp", "greedy"} and c.logits.n < 2000][::6]
    assert len(cases) > 20
    backend = BackendProcess("mine", command)
    try:
        return [(case, execute(case, [backend]).backends["mine"].verdict) for case in cases]
    finally:
        backend.close()


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
    edits = EDITS[language]
    edit(tmp_path, language, edits.temp, *edits.counter)
    command = written()
    assert {verdict for _, verdict in verdicts(command)} == {"identical"}
    backend = BackendProcess("mine", command)
    steps = [
        p.Step(row=0, accept="selected"),  # one of the history: 1, and then two
        p.Step(row=0, accept=None),
        p.Step(row=0, instance=1, before=[("clone", 0)], accept=3),
        p.Step(row=0, accept=None),
        p.Step(row=0, accept=None, before=[("reset", 0)]),
        p.Step(row=0, accept=None, instance=1),
    ]
    chain = [{"mirostat_v2": {"seed": 1, "tau": 5.0, "eta": 0.1}}]
    try:
        row = np.zeros(4, np.float32)
        ran = client.run(
            backend, client.Setting(chain, 4, None, [2]), [row], steps, whole_chain=False
        )
    finally:
        backend.close()
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


def test_a_program_of_this_folder_is_not_looked_for_in_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = TEMPLATES[Language.C]
    assert init.placed(template.runs, template, Path()) == ["./adapter"]
    assert init.placed(template.runs, template, Path("a/b")) == ["a/b/adapter"]
