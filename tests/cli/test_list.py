"""`list`: names that other commands take, and suggestions for an unknown name."""

import pytest

from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.cli import complete
from sampler_parity.harness.suite.ids import shipped
from sampler_parity.reference.registry import ROWS
from tests.support.command_line import ROOT, cli, refused


def listed(*arguments: str) -> list[str]:
    done = cli("list", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_suites_are_those_of_the_folder_and_of_the_engines() -> None:
    files = [*ROOT.glob("suites/*/*.toml"), *ROOT.glob("engines/*/suites/*/*.toml")]
    assert listed("suites") == sorted(f"{path.parent.name}/{path.stem}" for path in files)


def test_suites_are_chosen_by_patterns_and_folders_and_say_what_they_are() -> None:
    assert listed("suites", "distribution", "*/top_p", "-v")[-1].startswith("parity/top_p  ")
    assert "distribution/tail" in listed("suites", "distribution")


@pytest.mark.slow
def test_cases_are_listed_as_case_takes_them() -> None:
    (name,) = listed("cases", "greedy/first-of-eq*")
    plan = cli("run", "--case", name, "--plan", "-b", "null").stdout
    assert "suite    parity/greedy: stages 1" in plan


def test_cases_of_a_suite_are_all_kinds() -> None:
    assert listed("cases", "distribution/tail")[0].startswith("tail/")
    assert listed("cases", "timing/off-top_k/V4096") == ["timing/off-top_k/V4096"]


def test_samplers_are_listed_with_their_parameters() -> None:
    assert listed("samplers") == [*ROWS]
    assert listed("samplers", "top_p", "-v") == ["top_p                     p, min_keep"]


def test_backends_are_every_engine() -> None:
    assert listed("backends")[: len(ENGINES)] == [*ENGINES]
    assert listed("backends", "llama.cpp/*") == ["llama.cpp/graph"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["list", "samplers", "topp"], "did you mean top_p"),
        (["list", "backends", "lama.cpp"], "did you mean llama.cpp"),
        (["list", "cases", "topp/*"], "did you mean parity/top_p"),
        (["list", "cases", "top_p"], "did you mean parity/top_p"),
        (["list", "samplers", "zzz"], "`sampler-parity list samplers` lists all"),
        (["run", "parity/topp"], "did you mean parity/top_p"),
        (["run", "top_p"], "did you mean parity/top_p"),
        (["run", "zzz"], f"there are: {min(shipped()).partition('/')[0]}, "),
        (["run", "parity/greedy", "--case", "greedy/first-of-equal"], "greedy/first-of-equals"),
        (["run", "parity/greedy", "-b", "lama.cpp"], "did you mean llama.cpp"),
        (["selftest", "top_p/crossing-token-droped"], "top_p/crossing-token-dropped"),
        (["run", "parity/greedy", "-b", "zzz"], "use llama.cpp, llama.cpp/graph, "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_names_nothing_is_refused_with_what_was_meant(
    arguments: list[str], meant: str
) -> None:
    assert meant in refused(cli(*arguments))


def test_a_shell_is_offered_names() -> None:
    begun = [name for name in shipped() if name.startswith("parity/top_")]
    assert {"parity/top_k", "parity/top_n_sigma", "parity/top_p"} <= {*begun}
    assert complete.suites("parity/top_") == begun
    assert "parity" in complete.suites("par")
    assert complete.backends("akunu/") == ["akunu/cpu", "akunu/gumbel", "akunu/webgpu"]
