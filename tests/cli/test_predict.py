"""The command `predict`."""

import json

import pytest

from tests.support.command_line import cli

CASE = "mirostat_v2/no-draw-for-one"


def test_a_case_that_parts_names_place_values_and_operation() -> None:
    done = cli("predict", CASE, "--platform", "macos-arm64")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0] == f"{CASE}  macos-arm64: other tokens than on linux-x64-gcc"
    assert lines[1] == "  first at step 1, stage 1 (mirostat_v2): token"
    assert lines[2] == "    linux-x64-gcc 2, macos-arm64 5"
    assert lines[3] == "    mirostat_v2: the draws of libc++"
    assert lines[4:] == ["  not known: the last bit of Apple's expf, logf, log2f, powf"]


def test_a_case_that_repeats_ends_with_0_and_says_it_as_data() -> None:
    done = cli("predict", CASE, "--platform", "linux-arm64-gcc", "--json", "-")
    (answer,) = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer["platform"] == "linux-arm64-gcc"
    assert (answer["bits"], answer["tokens"], answer["first"]) == (True, True, None)
    assert done.stderr.strip() == f"{CASE}  linux-arm64-gcc: as on linux-x64-gcc to the bit"


@pytest.mark.slow
def test_several_cases_make_a_table_with_the_operations_that_part_them() -> None:
    others = ("mirostat_v2/surprise-above-mu", "mirostat_v2/starts-at-two-tau")
    done = cli("predict", "top_k/exactly-k-of-ties", *others, CASE, "--platform", "wasm")
    header, total, *rest = done.stdout.splitlines()
    assert header == "wasm: of 4 cases as on linux-x64-gcc"
    assert total.split()[0] == "all"
    assert total.endswith("tokens")
    assert any("by mirostat_v2: the draws of libc++" in line for line in rest)
    assert any("by top_k: the order that libc++ leaves of equals" in line for line in rest)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CASE, "--platform", "amiga"), "unknown platform 'amiga'; known: linux-x64-gcc, "),
        (("no/such-case",), "no/such-case"),
    ],
)
def test_what_is_unknown_is_refused_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = cli("predict", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
