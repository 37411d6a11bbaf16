"""The CI workflows and the action: well formed, six configurations, commands that the CLI takes."""

import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from sampler_parity.harness.backends.environments import engines_folder
from sampler_parity.harness.backends.registry import command_of
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.inputs.cache_folder import cache_folder
from scripts import nightly_diff
from scripts.make_engines import chosen
from scripts.site.measured import SETS
from tests.support.command_line import check_command
from tests.support.makefiles import MAKEFILES, ROOT, targets

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
EXAMPLE = ROOT / "examples" / "workflow.yml"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
# by commit, for a tag can be moved; the version is a comment behind it
CURRENT = {
    "actions/checkout": "3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
    "actions/setup-python": "5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0",
    "actions/cache": "27d5ce7f107fe9357f9df03efb73ab90386fccae # v5.0.5",
    "actions/setup-node": "820762786026740c76f36085b0efc47a31fe5020 # v7.0.0",
    "actions/upload-artifact": "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0",
    "actions/download-artifact": "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
}

# Values of the scripts' variables, for the check of the commands.
VALUES = {
    '"${options[@]}"': "-b llama.cpp",
    '"${suites[@]}"': "parity",
    '"${asked[@]}"': "--policy .github/gate.toml --baseline bundles",
    '"$PROFILE"': "quick",
}


BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")  # as GitHub runs a step


def read(name: str) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load((FOLDER / name).read_text())
    return content


def matrix() -> list[dict[str, Any]]:
    strategy = read("parity.yml")["jobs"]["configurations"]["strategy"]
    configurations: list[dict[str, Any]] = strategy["matrix"]["include"]
    return configurations


def jobs() -> list[tuple[Path, dict[str, Any]]]:
    return [(path, job) for path in FILES for job in read(path.name)["jobs"].values()]


def steps() -> list[dict[str, Any]]:
    of_jobs = [step for _, job in jobs() for step in job.get("steps", [])]
    return of_jobs + list(ACTION["runs"]["steps"])


def commands(script: str) -> list[list[str]]:
    """The arguments of every call of sampler-parity in a script of bash."""
    joined = script.replace("\\\n", " ")
    for variable, words in VALUES.items():
        joined = joined.replace(variable, words)
    calls = re.findall(r"sampler-parity ([^\n]*)", joined)
    return [shlex.split(re.split(r"\s\|\||\s2>&1|\)|;", call)[0]) for call in calls]


ALL = [call for step in steps() for call in commands(step.get("run", ""))]


@pytest.mark.parametrize("arguments", ALL, ids=" ".join)
def test_every_command_of_the_workflows_is_one_of_the_cli(arguments: list[str]) -> None:
    check_command(arguments)


@pytest.mark.parametrize(
    "line",
    ["sampler-parity runs parity", "sampler-parity run parity --bundle x", "sampler-parity run pa"],
    ids=["command", "option", "suite"],
)
def test_a_command_that_the_cli_lacks_is_noticed(line: str) -> None:
    (arguments,) = commands(line)
    with pytest.raises(Exception, match=r"no command runs|[Nn]o such option|no such suite"):
        check_command(arguments)


def test_backends_of_the_matrix_are_builds_that_it_fetches() -> None:
    for entry in matrix():
        device = re.sub(r"@node-llama-cpp/linux-x64|node-llama-cpp|@[\d.]+$", "", entry["package"])
        for name in entry["backends"].split():
            short, _, build = name.partition("@")
            assert short == "llama.cpp"
            assert build.split(":")[0] in ("", f"v0.5.0{device}")
            if not build:
                command_of(name)


def test_matrix_hands_every_input_to_the_configuration() -> None:
    inputs = read("configuration.yml")[True]["workflow_call"]["inputs"]  # YAML reads `on` as true
    handed = read("parity.yml")["jobs"]["configurations"]["with"]
    assert set(handed) == set(inputs)
    keys = set(re.findall(r"matrix\.([a-z-]+)", json.dumps(handed)))
    assert keys == {key for entry in matrix() for key in entry}


def test_our_tests_run_on_every_python_that_we_support() -> None:
    job = read("tests.yml")["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert oldest == f">={job['strategy']['matrix']['python'][0]}"
    allow = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    assert [step["run"] for step in job["steps"] if "run" in step] == [allow, "make test"]


def test_where_the_sandbox_is_tested_namespaces_are_allowed_first() -> None:
    for job in ("extras", "commands", "attack"):
        steps = read("nightly.yml")["jobs"][job]["steps"]
        first, *_ = [step["run"] for step in steps if "run" in step]
        assert first == "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"


LEFT_OUT = {
    *("attack", "commands", "coverage", "drift", "engines", "fuzz", "fuzz-inputs", "laws"),
    *("native-mutants", "nightly", "parity", "patches", "platforms", "portable", "sanitize"),
    *("selfcheck", "servers", "trie"),
}


def test_every_night_runs_all_that_a_commit_leaves_out() -> None:
    runs = [s.get("run", "") for job in read("nightly.yml")["jobs"].values() for s in job["steps"]]
    named = {name for run in runs for name in re.findall(r"make ([a-z-]+)", run)}
    assert named == LEFT_OUT | {"setup", "site"}
    assert "selftest witness" in (ROOT / "scripts" / "slow.mk").read_text()  # of `make nightly`


def test_every_bundle_of_the_night_is_kept_and_compared_with_the_night_before() -> None:
    nightly = read("nightly.yml")["jobs"]
    kept = {
        name: step["with"]["name"]
        for name, job in nightly.items()
        for step in job["steps"]
        if step.get("with", {}).get("path") == "bundles/"
    }
    assert kept == {name: f"night-{name}" for name in kept}
    assert {*kept} == {*nightly["changes"]["needs"]}
    assert {one.name for one in SETS} <= {*kept}
    steps = {
        step.get("name", step.get("uses", "")[:13]): step for step in nightly["changes"]["steps"]
    }
    cache = steps["actions/cache"]["with"]
    assert cache["key"].startswith(cache["restore-keys"])
    said = steps["Changes since the night before"]["run"]
    assert f"-m {nightly_diff.__name__} {cache['path']}/last bundles" in said
    keep = [line.strip() for line in steps["Add to the history, and keep for the next night"]["run"]
            .splitlines()]  # fmt: skip
    assert keep[-2:] == ["rm -rf nights/last", "cp -r bundles nights/last"]


@pytest.mark.slow
@pytest.mark.parametrize(("status", "code", "worse"), [(0, 0, "0"), (1, 0, "1"), (2, 1, None)])
def test_a_worse_night_fails_after_it_was_kept_and_a_torn_one_at_once(
    tmp_path: Path, status: int, code: int, worse: str | None
) -> None:
    steps = read("nightly.yml")["jobs"]["changes"]["steps"]
    script = next(step["run"] for step in steps if step.get("id") == "compare")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/bash\necho '# What changed' > bundles/night.md\nexit {status}\n")
    python.chmod(0o755)
    (tmp_path / "bundles").mkdir()
    files = {"GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "out"}
    environment = {**os.environ, **files}
    done = subprocess.run([*BASH, script], cwd=tmp_path, env=environment, timeout=30)
    assert done.returncode == code
    out = tmp_path / "out"
    assert (out.read_text() if out.exists() else None) == (worse and f"worse={worse}\n")
    last = read("nightly.yml")["jobs"]["worse"]["steps"][0]
    for value, expected in (("0", 0), ("1", 1), ("", 1)):
        env = {**os.environ, "WORSE": value}
        assert subprocess.run(["bash", "-c", last["run"]], env=env).returncode == expected


def test_every_commit_runs_three_engines_of_others_from_a_cache_and_every_night_all() -> None:
    both = [read(name)["jobs"]["engines"]["steps"] for name in ("tests.yml", "nightly.yml")]
    for steps in both:
        used = {step.get("uses", "").partition("@")[0]: step for step in steps}
        cache = used["actions/cache"]["with"]
        assert cache["path"].endswith(str(engines_folder().relative_to(cache_folder().parent)))
        assert "hashFiles('engines/*/locked/**')" in cache["key"]
    some, every = (next(s["run"] for s in steps if "make" in s.get("run", "")) for steps in both)
    names = re.fullmatch(r'make engines ENGINES="(.*)"', some)
    assert names is not None
    assert len({row.environment for row in chosen(names[1].split())}) == 3
    assert every == "make engines"


def test_every_target_of_make_that_a_workflow_names_is_one() -> None:
    named = {
        name for step in steps() for name in re.findall(r"make ([a-z-]+)", step.get("run", ""))
    }
    assert {"setup", "test", "nightly"} <= named <= {*targets(*MAKEFILES)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_workflow_may_only_read_and_knows_no_secrets(path: Path) -> None:
    text = path.read_text()
    content = yaml.safe_load(text)
    assert content["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in content["jobs"].values())
    assert "secrets" not in text
    assert "token" not in text.lower()


def test_every_job_ends_in_time_and_checks_out_without_credentials() -> None:
    for path, job in jobs():
        most = 150 if path.name == "nightly.yml" else 60
        assert "steps" not in job or 0 < job["timeout-minutes"] <= most
    outs = [step for step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert len(outs) == 22
    assert all(step["with"]["persist-credentials"] is False for step in outs)


def test_no_job_that_compiles_nothing_fills_the_cache_of_the_compiled_llama_cpp() -> None:
    """The first job of a key that ends writes its cache; later jobs never do."""
    for _, job in jobs():
        of_job = job.get("steps", [])
        caches = [step["with"] for step in of_job if "setup-python" in step.get("uses", "")]
        scripts = "\n".join(step.get("run", "") for step in of_job)
        compiles = re.search(r"make (?!docs|release)|scripts/install\.py", scripts)
        for cache in caches:
            assert (cache["cache-dependency-path"] == "locked.txt") == bool(compiles)
            assert (ROOT / cache["cache-dependency-path"]).is_file()


def actions_of(text: str) -> list[tuple[str, str]]:
    """Return every third-party action in a workflow: its name, and its version after the @."""
    return [
        (name, at) for name, at in re.findall(r"uses: ([\w/-]+)@(.*)", text) if "OWNER" not in name
    ]


def test_actions_are_official_and_pinned_by_commit() -> None:
    pages = (ROOT / "action.yml", ROOT / "docs" / "ci-and-gate.md", EXAMPLE)
    texts = [path.read_text() for path in (*FILES, *pages)]
    used = [action for text in texts for action in actions_of(text)]
    assert dict(used) == CURRENT
    assert [action for action in used if action[1] != CURRENT[action[0]]] == []


def test_an_action_pinned_by_tag_is_another() -> None:
    ((name, at),) = actions_of("      - uses: actions/checkout@v7\n")
    assert at != CURRENT[name]


def test_scripts_take_no_expression_that_another_could_write() -> None:
    """A ${{ }} inside a script is inserted as text; values come by env instead."""
    assert [step["run"] for step in steps() if "${{" in step.get("run", "")] == []


def test_gate_of_the_workflows_reads_its_policy() -> None:
    policy = read_policy(ROOT / ".github" / "gate.toml").policy
    assert policy.optional_backends == ["llama.cpp@*"]
    assert [rule.name for rule in policy.rules("parity")] == ["parity"]


def test_action_uses_every_input_and_only_those() -> None:
    used = set(re.findall(r"inputs\.([a-z-]+)", json.dumps(ACTION["runs"])))
    assert used == set(ACTION["inputs"])
    assert all("description" in entry and "default" in entry for entry in ACTION["inputs"].values())
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"] if "run" in step)


def test_the_example_of_a_workflow_names_inputs_of_the_action() -> None:
    (job,) = yaml.safe_load(EXAMPLE.read_text())["jobs"].values()
    (use,) = [s for s in job["steps"] if s.get("uses", "").startswith("OWNER/")]
    assert use["with"].keys() <= ACTION["inputs"].keys()
    assert [s["run"] for s in job["steps"] if "${{" in s.get("run", "")] == []


STUB = """#!/bin/bash
if [ "$1" = gate ]; then echo gated >> report/gate.md; fi
printf '%s\\n' "$*" >> calls
if [ "$1" = report ] && [ "$FAILING" != report ]; then
  for page in index $PAGES; do echo "# $page" > report/$page.md; done
fi
if [ "$1" = "$FAILING" ]; then exit "$STATUS"; fi
"""


def run_step(folder: Path, name: str, **env: str) -> tuple[int, list[str]]:
    """A step of the action, with a sampler-parity that writes down how it was called."""
    (folder / "bin").mkdir()
    stub = folder / "bin" / "sampler-parity"
    stub.write_text(STUB)
    stub.chmod(0o755)
    script = next(s["run"] for s in ACTION["runs"]["steps"] if s.get("name") == name)
    environment = {"FAILING": "", "STATUS": "0", "BUNDLE": "b", "REPORT": "report"} | env
    environment["RUNNER_TEMP"] = str(folder)
    files = {"GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_OUTPUT": str(folder / "out")}
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [*BASH, script],
        cwd=folder,
        env=environment | files | {"PATH": path},
        check=False,
        timeout=30,
    )
    return done.returncode, (folder / "calls").read_text().splitlines()


PYTHON = """#!/bin/bash
mkdir -p "$3/bin"
for name in python sampler-parity; do
  printf '#!/bin/bash\necho "$0" "$@" >> calls\n' > "$3/bin/$name"; chmod +x "$3/bin/$name"
done
"""


def test_action_leaves_the_python_of_the_job_first_on_the_path(tmp_path: Path) -> None:
    (python := tmp_path / "python3.11").write_text(PYTHON)
    python.chmod(0o755)
    code, calls = run_step(
        tmp_path, "Install", PYTHON=str(python), BACKENDS="mine=python my.py",
        GITHUB_PATH=str(tmp_path / "path"), GITHUB_ACTION_PATH="/action",
    )  # fmt: skip
    (added,) = (tmp_path / "path").read_text().splitlines()
    assert (code, [path.name for path in Path(added).iterdir()]) == (0, ["sampler-parity"])
    installed = f"{tmp_path}/sampler-parity/bin/python /action/scripts/install.py"
    assert calls == [f"{installed} --for mine=python my.py"]


@pytest.mark.parametrize(("status", "expected"), [("0", 0), ("1", 0), ("2", 1)])
def test_run_of_the_action_leaves_unmet_cases_to_the_gate(
    tmp_path: Path, status: str, expected: int
) -> None:
    code, calls = run_step(
        tmp_path, "Run", BACKENDS="llama.cpp\nmine=node my-adapter.js\n",
        SUITES="parity timing/engines", PROFILE="quick", OPTIONS="--jobs 2 --timeout 10",
        FAILING="run", STATUS=status,
    )  # fmt: skip
    assert code == expected
    wanted = "run parity timing/engines -b llama.cpp -b mine=node my-adapter.js"
    assert calls == [f"{wanted} --jobs 2 --timeout 10 --profile quick -o b"]


@pytest.mark.slow
@pytest.mark.parametrize("pages", ["parity compare", "throughput", ""], ids=lambda pages: pages)
@pytest.mark.parametrize("status", ["0", "1", "2"])
def test_gate_of_the_action_decides_and_writes_the_summary(
    tmp_path: Path, status: str, pages: str
) -> None:
    code, calls = run_step(
        tmp_path, "Gate", POLICY="gate.toml", BASELINE="", FAILING="gate", STATUS=status,
        PAGES=pages,
    )  # fmt: skip
    assert code == int(status)
    assert calls[0].startswith("gate b --policy gate.toml --json report/gate.json --md ")
    assert calls[1] == "report b -o report"
    written = "".join(f"# {page}\n" for page in ["index", *sorted(pages.split())])
    assert (tmp_path / "summary").read_text() == f"gated\n{written}"
    assert (tmp_path / "out").read_text() == f"status={status}\n"


def test_gate_of_the_action_has_its_status_where_no_report_can_be_made(tmp_path: Path) -> None:
    code, _ = run_step(
        tmp_path, "Gate", POLICY="", BASELINE="", FAILING="report", STATUS="2", PAGES=""
    )
    assert code == 2
    assert (tmp_path / "out").read_text() == "status=0\n"


def test_bundles_and_report_are_uploaded_after_failures_too() -> None:
    uploads = [s for s in steps() if s.get("uses", "").startswith("actions/upload-artifact@")]
    assert {step["if"] for step in uploads} == {"${{ !cancelled() }}"}
    assert read("parity.yml")["jobs"]["report"]["if"] == "${{ !cancelled() }}"
