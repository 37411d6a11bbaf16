"""harness/bundle/writer.py: `--resume` continues only the run that was begun."""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.bundle.writer import refuse_another
from sampler_parity.harness.errors import InputError
from tests.support.report_bundles import MACHINE, run_info

AGAIN = " - run again without --resume, to another -o"
FLAGS = ["avx2", "fma"]
HERE = MACHINE.model_copy(
    update={"code": "c0de", "suites": "5", "libm": "libm.so.6 sha256 a", "cpu_flags": FLAGS}
)
BACKEND = BackendInfo(
    command=["node", "mine.js"],
    name="mine",
    version="1.0",
    build="lib.so, sha256 a",
    device="cpu",
    capabilities=["run"],
    libraries={"libggml-cpu.so": "a" * 64},
)
BEGUN = run_info("a", suites={"parity/top_p": "abc"}).model_copy(
    update={
        "backends": {"mine": BACKEND},
        "machine": HERE,
        "options": {"timeout": "60", "rounds": "15"},
    }
)


def with_backend(**fields: Any) -> RunInfo:
    return BEGUN.model_copy(update={"backends": {"mine": BACKEND.model_copy(update=fields)}})


def on_machine(**fields: Any) -> RunInfo:
    return BEGUN.model_copy(update={"machine": HERE.model_copy(update=fields)})


def test_the_same_run_goes_on() -> None:
    refuse_another(Path("b"), BEGUN, BEGUN.model_copy(update={"started": "later", "command": []}))


def test_more_memory_another_kernel_and_other_suites_are_the_same_run() -> None:
    again = on_machine(memory_bytes=1, cores=99, system="Linux 7", suites="6")
    refuse_another(Path("b"), BEGUN, again)


def test_what_an_older_bundle_does_not_say_is_not_compared() -> None:
    before = {"mine": BACKEND.model_copy(update={"libraries": {}})}
    old = on_machine(code="", suites="", libm="")
    old = old.model_copy(update={"options": {}, "backends": before})
    refuse_another(Path("b"), old, BEGUN)


def begun(**fields: Any) -> RunInfo:
    return BEGUN.model_copy(update=fields)


@pytest.mark.parametrize(
    ("now", "line"),
    [
        (begun(version="0.2.0"), f"was made with another version: 0.1.0, and not 0.2.0{AGAIN}"),
        (begun(profile="full"), f"was made with another profile: quick, and not full{AGAIN}"),
        (begun(seed=1), f"was made with another seed: 0, and not 1{AGAIN}"),
        (begun(only=["x"]), f"was limited to other cases: to none{AGAIN}"),
        (
            begun(suites={"parity/top_p": "def"}),
            f"was made with other suites: parity/top_p changed{AGAIN}",
        ),
        (
            begun(suites={"parity/top_p": "abc", "parity/dry": "1"}),
            f"was made with other suites: parity/dry changed{AGAIN}",
        ),
        (
            begun(options={"timeout": "3", "rounds": "15"}),
            "was made with --timeout 60, and not 3 - use --timeout 60",
        ),
        (begun(backends={}), f"was made with backends mine{AGAIN}"),
        (with_backend(version="1.1"), f"mine has another version: 1.0 then, 1.1 now{AGAIN}"),
        (
            with_backend(build="lib.so, sha256 b"),
            f"mine has another build: lib.so, sha256 a then, lib.so, sha256 b now{AGAIN}",
        ),
        (with_backend(name="its"), f"mine has another name: mine then, its now{AGAIN}"),
        (with_backend(device="gpu"), f"mine has another device: cpu then, gpu now{AGAIN}"),
        (
            with_backend(capabilities=["run", "draws"]),
            f"mine has another capabilities: ['run'] then, ['run', 'draws'] now{AGAIN}",
        ),
        (
            with_backend(command=["node", "x.js"]),
            f"ran another command as mine: node mine.js{AGAIN}",
        ),
        (
            with_backend(libraries={"libggml-cpu.so": "b" * 64}),
            f"mine has another libggml-cpu.so: sha256 {'a' * 12} then, {'b' * 12} now{AGAIN}",
        ),
        (with_backend(sandbox=True), "ran mine without a sandbox - leave out --sandbox"),
        (with_backend(reference="b4753"), "judged mine by v0.5.0 - use --reference v0.5.0"),
        (
            with_backend(unavailable="no node"),
            "mine ran then, and does not run here now: no node - make it run",
        ),
        (on_machine(code="other"), f"was made with another code: c0de, and not other{AGAIN}"),
        (on_machine(cpu_flags=["avx2"]), f"was made with another cpu_flags: fma{AGAIN}"),
        (
            on_machine(packages={"numpy": "2.5"}),
            f"was made with another version of a package: numpy 2.4.6, and not 2.5{AGAIN}",
        ),
    ],
    ids=lambda value: value.partition(" - ")[0] if isinstance(value, str) else "now",
)
def test_another_run_backend_or_machine_is_refused_with_what_changed_and_the_fix(
    now: RunInfo, line: str
) -> None:
    with pytest.raises(InputError) as error:
        refuse_another(Path("b"), BEGUN, now)
    assert str(error.value) == f"b: {line}"


def test_a_backend_that_did_not_run_then_is_refused_where_it_now_does() -> None:
    with pytest.raises(InputError, match="mine did not run here then, and now does"):
        refuse_another(Path("b"), with_backend(unavailable="no node", version=""), BEGUN)
    absent = with_backend(unavailable="no node", version="")
    refuse_another(Path("b"), absent, with_backend(unavailable="no npm", version=""))


def test_a_python_of_ours_may_have_another_name() -> None:
    ours = ["-m", "sampler_parity.harness.backends.worker", "llama.cpp"]
    then, now = with_backend(command=["python", *ours]), with_backend(command=["python3", *ours])
    refuse_another(Path("b"), then, now)
