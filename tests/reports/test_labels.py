"""Words of reports: numbers, places of a difference, commands, untrusted text."""

import pytest

from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.replay import command as command_of_replay
from sampler_parity.harness.failures.format_difference import (
    number,
    other_values,
    place,
    side_by_side,
)
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.reports.labels import device_label, duration, lines_of, tail
from sampler_parity.reports.pages.parity.parity_model import ParityDifference


def difference(**fields: object) -> ParityDifference:
    defaults: dict[str, object] = {
        "case": "a",
        "suite": "parity/top_p",
        "samplers": ["penalties", "top_k", "top_p", "temp", "dist"],
        "backend": "native",
        "verdict": "diverged",
        "required": ["identical"],
        "met": False,
        "step": 0,
        "steps": 2,
        "draws": 0,
        "stage": "top_p",
        "stage_index": 2,
        "row": None,
        "what": "p",
        "values": {},
        "detail": "",
        "replay": "",
    }
    return ParityDifference.model_validate(defaults | fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "stage 3 of 5 (top_p), step 1 of 2"),
        ({"stage": "chain", "stage_index": 5, "step": 1}, "the whole chain, step 2 of 2"),
        ({"stage": "token", "stage_index": 5}, "token, step 1 of 2"),
        ({"stage": "relation", "stage_index": None}, "relation, step 1 of 2"),
        ({"draws": 50, "step": 9}, "stage 3 of 5 (top_p), draw 10 of 50"),
        ({"stage": "", "stage_index": None, "step": None}, ""),
    ],
    ids=["stage", "chain", "token", "relation", "draw", "crash"],
)
def test_place_counts_from_one(fields: dict[str, object], expected: str) -> None:
    assert place(difference(**fields)) == expected


def test_side_by_side_shows_survivors_and_the_first_value_that_differs() -> None:
    values = {
        "survivors": {"got": 10395, "expected": 10458},
        "rank": 7,
        "id": 4711,
        "got": 0.25,
        "expected": "nan",
        "margin": 0.125,
    }
    shown = difference(values=values)
    assert side_by_side(shown) == [
        ("survivors", "10395", "10458"),
        ("p at rank 7 (id 4711)", "0.25", "nan"),
    ]
    assert other_values(shown) == [("margin", "0.12 of the cut")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.10000000149011612, "0.100000001"),
        (0.10000000894069672, "0.100000009"),  # the next float32
        (-0.0, "-0"),
        (4711, "4711"),
        (None, "none"),
        (True, "true"),
        ("inf", "inf"),
        ([1, 2], "[1, 2]"),
    ],
)
def test_number_tells_neighbouring_float32_apart(value: object, expected: str) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(
    ("ns", "expected"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1500, "1.5 µs"),
        (2e6, "2 ms"),
        (3.5e9, "3.5 s"),
        (5e12, "5,000 s"),
    ],
)
def test_duration_has_a_unit(ns: float, expected: str) -> None:
    assert duration(ns) == expected


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (45, "slowest of 45: 3 µs"),
        (99, "slowest of 99: 3 µs"),
        (100, "p99 2 µs, slowest of 100: 3 µs"),
        (999, "p99 2 µs, slowest of 999: 3 µs"),
        (1000, "p99 2 µs, p99.9 3 µs"),
    ],
)
def test_tail_says_no_more_than_the_sample_allows(samples: int, expected: str) -> None:
    assert tail(2000, 3000, samples) == expected


def test_visible_escapes_what_does_not_print_and_keeps_line_ends() -> None:
    raw = {"a\x00": ["\x1b[31mred", "right\u202eleft", "\ud800", "line\nline", 3, float("inf")]}
    assert visible(raw) == {
        "a\\x00": ["\\x1b[31mred", "right\\u202eleft", "\\ud800", "line\nline", 3, "inf"]
    }


def test_one_line_says_how_much_it_cut() -> None:
    assert one_line("a \n b" + "c" * 10, 5) == "a bcc... (8 more characters)"


def test_replay_quotes_and_names_an_untrusted_adapter_with_its_command() -> None:
    adapter = BackendInfo(command=["my-adapter", "--fast mode"])
    built_in = BackendInfo(
        command=["python", "-m", "sampler_parity.harness.backends.worker", "null"]
    )
    assert command_of_replay("parity/x", "x/$a", 0, {"mine": adapter, "null": built_in}) == (
        "sampler-parity run parity/x --case 'x/$a'"
        """ -b 'mine=my-adapter '"'"'--fast mode'"'"'' -b null"""
    )


def test_lines_of_a_counterexample_put_rows_on_lines_of_their_own() -> None:
    data = {"why": "", "steps": 1, "chain": [{"temp": {"temp": 0.5}}, {"dist": {"seed": 1}}]}
    assert lines_of(data) == (
        'steps: 1\nchain:\n  {"temp": {"temp": 0.5}}\n  {"dist": {"seed": 1}}'
    )


EPYC = (
    "CPU (AMD EPYC) | CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 1 | AVX2 = 1 | FMA = 1 | AVX512 = 1 | "
    "AVX512_VBMI = 1 | LLAMAFILE = 1 | OPENMP = 1 | REPACK = 1 | "
)


@pytest.mark.parametrize(
    ("device", "label"),
    [
        (EPYC, "AMD EPYC, AVX-512"),
        (EPYC.replace("AVX512 = 1", "AVX512 = 0"), "AMD EPYC, AVX2"),
        ("CPU (Xeon(R) CPU) | CPU : SSE3 = 1 | AVX = 1 | ", "Xeon(R) CPU, AVX"),
        ("CUDA0 (NVIDIA H200), CPU (AMD EPYC) | CUDA : ARCHS = 900 | CPU : AVX2 = 1 | ",
         "CUDA0 (NVIDIA H200), AMD EPYC, AVX2"),
        ("CPU (Apple M2) | CPU : NEON = 1 | ", "Apple M2, NEON"),
        ("CPU (VIA) | CPU : OPENMP = 1 | ", "VIA"),
        ("cpu | native", "cpu | native"),
        ("NVIDIA H200", "NVIDIA H200"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_device_is_its_name_and_its_widest_vector_unit(device: str, label: str) -> None:
    assert device_label(device) == label
