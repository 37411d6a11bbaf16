"""check: right functions pass, wrong ones are caught by name, in each form that a function has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import sampler_parity
from sampler_parity import Report, check
from sampler_parity.functions.calling import among_others
from sampler_parity.functions.stage import SUPPORTED
from sampler_parity.functions.subject import LAWS
from sampler_parity.harness.errors import InputError
from tests.functions.right_functions import RIGHT, Row, descending, min_p, penalties, softmax, top_p
from tests.functions.wrong_functions import WORDS, WRONG

FEW = ["top_p/crossing*", "top_p/matrix/*V2-*", "top_p/exact-sums/*V2-*"]


@pytest.mark.parametrize("sampler", RIGHT)
def test_right_function_passes_whole(sampler: str) -> None:
    report = check(RIGHT[sampler], sampler)
    assert report.ok, report
    assert all(note.startswith("draws: 4,000 on ") for note in report.notes)
    assert bool(report.notes) == (sampler in LAWS)
    assert str(report).startswith(f"{sampler} as {sampler}: ")


@pytest.mark.parametrize("sampler", WRONG)
def test_wrong_function_is_caught_and_named(sampler: str) -> None:
    report = check(WRONG[sampler], sampler)
    assert not report.ok
    assert WORDS[sampler] in str(report)


def test_every_supported_sampler_but_dry_has_a_right_and_a_wrong_function() -> None:
    assert {*RIGHT} == {*WRONG} == {*SUPPORTED} - {"dry"}


def test_the_interface_has_at_most_ten_names() -> None:
    names = [name for name in sampler_parity.__all__ if not name.startswith("_")]
    assert len(names) <= 10
    assert all(hasattr(sampler_parity, name) for name in names)
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        sampler_parity.chek  # noqa: B018


def batch(logits: Row, p: float, min_keep: int = 0) -> Row:
    return np.stack([top_p(row, p, min_keep) for row in logits])


def mixed_batch(logits: Row, p: float, min_keep: int = 0) -> Row:
    """A row depends on the one before it."""
    return np.stack([top_p(row, p, min_keep) for row in np.roll(logits, 1, axis=0)])


def mask(logits: Row, p: float, min_keep: int = 0) -> Row:
    return np.asarray(top_p(logits, p, min_keep) > -np.inf)


def with_ids(logits: Row, p: float, min_keep: int = 0) -> tuple[Row, Row]:
    left = top_p(logits, p, min_keep)
    ids = np.flatnonzero(left > -np.inf)[::-1]
    return ids, left[ids]


def processor(input_ids: Row, scores: Row, p: float, min_keep: int = 0) -> Row:
    assert input_ids.shape[0] == scores.shape[0] == 3
    return batch(scores, p, min_keep)


def of_lists(logits: list[float], p: float, min_keep: int = 0) -> list[float]:
    assert isinstance(logits, list)
    return list(top_p(np.array(logits, np.float32), p, min_keep).tolist())


class Made:
    """An object from the parameters, which is called."""

    def __init__(self, p: float, min_keep: int = 0) -> None:
        self.parameters = p, min_keep

    def __call__(self, logits: Row) -> Row:
        return top_p(logits, *self.parameters)


class Tiny:
    """An array of another library, as torch or jax.numpy would give."""

    def __init__(self, values: Row) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Row:
        return self.values


def of_library(logits: Tiny, p: float, min_keep: int = 0) -> Tiny:
    assert isinstance(logits, Tiny)
    return Tiny(top_p(logits.values, p, min_keep))


FORMS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (batch, {"batch": True}),
    (mask, {}),
    (with_ids, {}),
    (processor, {}),
    (of_lists, {"library": list}),
    (of_library, {"library": Tiny}),
    (Made, {}),
    (lambda p, min_keep: lambda logits: top_p(logits, p, min_keep), {}),
]


@pytest.mark.parametrize(
    ("function", "options"), FORMS, ids=lambda form: getattr(form, "__name__", "options")
)
def test_each_form_of_a_function_is_judged(function: Callable[..., Any], options: Any) -> None:
    assert check(function, "top_p", cases=FEW, **options).ok


def test_a_batch_whose_rows_influence_each_other_is_wrong() -> None:
    assert not check(mixed_batch, "top_p", cases=FEW, batch=True).ok


def test_tokens_of_minus_infinity_are_no_survivors() -> None:
    """A stable sort of [-inf, 3, -inf] keeps another -inf than llama.cpp: no draw depends on it."""

    def masked(logits: Row, k: int) -> Row:
        stays = np.zeros(len(logits), bool)
        stays[descending(logits)[:k] if k > 0 else slice(None)] = True
        return stays

    assert check(masked, "top_k").ok


def test_a_removed_token_must_have_minus_infinity() -> None:
    report = check(
        lambda logits, k: np.where(RIGHT["top_k"](logits, k) > -np.inf, logits, -1e9), "top_k"
    )
    assert not report.ok
    assert "a filter changes no logit, and a removed token must be -inf" in str(report)


class Draws:
    """It gets its generator as it is made."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def apply(self, logits: Row) -> int:
        return int(self.generator.choice(len(logits), p=softmax(logits)))


OWN = np.random.default_rng(5)
DRAWS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (lambda logits, rng=None: RIGHT["dist"](logits, rng), {}),
    (lambda *, seed, logits: RIGHT["dist"](logits, np.random.default_rng(seed)), {}),
    (Draws, {}),
    (lambda logits: RIGHT["dist"](logits, OWN), {"own_random": True}),
]


@pytest.mark.parametrize(("function", "options"), DRAWS)
def test_random_numbers_come_by_any_kind_of_argument(
    function: Callable[..., Any], options: Any
) -> None:
    report = check(function, "dist", cases="dist/matrix/*V2*", **options)
    assert report.ok, report
    assert len(report.notes) == 3


def test_an_xtc_that_always_acts_is_wrong() -> None:
    class Zero:
        def random(self) -> float:
            return 0.0

    def always(logits: Row, rng: Any, p: float, t: float, min_keep: int = 0) -> Row:
        return RIGHT["xtc"](logits, Zero(), p, t, min_keep)

    report = check(always, "xtc")
    assert not report.ok
    assert report.headline.endswith("draws of another distribution")


@pytest.mark.parametrize("rolled", [False, True])
def test_rows_of_a_batch_in_another_order_are_wrong(rolled: bool) -> None:
    def of_rows(logits: Row, p: float, min_keep: int = 0) -> Row:
        rows = [top_p(row, p, min_keep) > -np.inf for row in logits]
        return np.stack([*rows[1:], rows[0]] if rolled else rows[::-1])

    assert not check(of_rows, "top_p", batch=True).ok


class Penalties:
    def __init__(self, penalty_last_n: int, **values: float) -> None:
        self.last_n, self.values, self.past = penalty_last_n, values, list[int]()

    def accept(self, token: int) -> None:
        self.past.append(token)

    def reset(self) -> None:
        self.past.clear()

    def clone(self) -> "Penalties":
        twin = type(self)(self.last_n, **self.values)
        twin.past = [*self.past]
        return twin

    def apply(self, logits: Row) -> Row:
        return penalties(logits, np.array(self.past, np.int64), self.last_n, **self.values)


class WithoutReset(Penalties):
    def reset(self) -> None:
        pass


class SharedClone(Penalties):
    def clone(self) -> "Penalties":
        twin = type(self)(self.last_n, **self.values)
        twin.past = self.past
        return twin


def test_an_object_with_state_is_judged() -> None:
    assert check(Penalties, "penalties").ok
    assert "reset keeps the accepted tokens" in str(check(WithoutReset, "penalties"))
    assert "share the accepted tokens" in str(check(SharedClone, "penalties"))


def test_a_parameter_that_a_function_lacks_skips_the_cases_that_set_it() -> None:
    report = check(lambda logits, p: min_p(logits, p), "min_p")
    assert report.ok
    assert report.notes == ["404 more are skipped: it takes no min_keep"]


def test_the_smallest_input_sets_no_parameter_that_a_function_lacks() -> None:
    """With another one, it would differ for a reason that is no mistake of the function."""

    def whole_history(logits: Row, tokens: Row, penalty_last_n: int, penalty_repeat: float) -> Row:
        return penalties(logits, tokens, len(tokens), penalty_repeat)

    report = check(whole_history, "penalties")
    assert "penalties/whole-history" in str(report)
    shown = report.findings[0].lines[0]
    assert "penalty_freq=0 penalty_present=0" in shown or "penalty_freq" not in shown


def test_tokens_of_the_other_rows_of_a_batch_are_in_the_vocabulary() -> None:
    """A processor that looks up the logit of each token would raise an exception."""
    logits, tokens = np.arange(4, dtype=np.float32), np.array([3, 0, 3])
    _, histories = among_others(logits, tokens, 1)
    assert histories.tolist() == [[0, 1, 0], [3, 0, 3], [0, 0, 0]]


def test_an_exception_is_reported_with_its_place() -> None:
    report = check(lambda logits, p, min_keep: 1 / 0, "top_p", cases="top_p/crossing*")
    assert not report.ok
    assert "ZeroDivisionError: division by zero (" in str(report)
    assert f"{Path(__file__).name}:" in str(report)


WRONG_RESULTS: list[tuple[Callable[..., Any], str]] = [
    (lambda logits, p, min_keep: logits[:-1], "it returned shape (1,) for 2 logits"),
    (lambda logits, p, min_keep: "text", "it returned str, and not an array of numbers"),
    (lambda logits, p, min_keep: None, "it returned None: return the array"),
    (lambda logits, p, min_keep: [1, 0], "it returned int64: return bool for a mask"),
    (lambda logits, p, min_keep: 3, "it selected 3 of 2 logits"),
    (lambda logits, p, min_keep: 1, "it returned the token 1, and top_p selects none"),
    (lambda logits, p, min_keep: ([0, 0], [1.0, 1.0]), "it returned an id twice"),
    (lambda logits, p, min_keep: ([7], [1.0]), "it returned an id outside of 0..1"),
    (
        lambda logits, p, min_keep: ([1], [1.0, 2.0]),
        "it returned ids of shape (1,), logits of shape (2,)",
    ),
]


@pytest.mark.parametrize(("function", "problem"), WRONG_RESULTS)
def test_a_result_that_cannot_be_read_is_described(
    function: Callable[..., Any], problem: str
) -> None:
    report = check(function, "top_p", cases="top_p/exact-sums/equal-V2-p0.50000006")
    assert not report.ok
    assert problem in str(report)


INPUTS: list[tuple[Callable[..., Any], str, str, str]] = [
    (
        top_p, "topp", "*",
        "topp: no function can be checked as this sampler - did you mean top_p or top_k?",
    ),
    (top_p, "top_p", "no/*", "cases=['no/*']: no case of parity/top_p has such an id"),
    (
        lambda logits: logits, "top_p", "*",
        "<lambda>: takes no p - wrap it: lambda logits, p, min_keep: ...",
    ),
    (
        lambda logits, q: logits, "top_p", "*",
        "<lambda>: the sampler has no parameter 'q' - wrap it: lambda logits, p, min_keep: ...",
    ),
    (dict, "top_p", "*", "dict: its arguments are unknown - wrap it in a lambda"),
    (cast(Any, 3), "top_p", "*", "int: is no function: 3 - pass a function or a class"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "sampler", "cases", "problem"), INPUTS)
def test_what_cannot_be_checked_is_refused_in_one_line(
    function: Callable[..., Any], sampler: str, cases: str, problem: str
) -> None:
    with pytest.raises(InputError) as error:
        check(function, sampler, cases=cases)
    assert str(error.value) == problem


def test_a_report_is_text_and_html_and_a_truth_value() -> None:
    report = check(WRONG["top_p"], "top_p", cases=FEW)
    assert isinstance(report, Report)
    assert not report
    assert repr(report) == str(report)
    page = report._repr_html_()
    assert page.startswith("<p><b>top_p as top_p: ")
    assert page.count("<pre>") == len(report.findings)
    finding = report.findings[0]
    assert finding.id == "top_p/fewer"
    assert finding.lines[-1].startswith('replay: check(top_p, "top_p", cases="top_p/')
    assert "top_p/crossing-token-is-kept" in finding.cases


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"accept": "near"}, "accept='near': no such level - use identical, tied, correct, close"),
        ({"cases": None}, "cases=None: are no patterns of ids - pass a text or a list"),
        ({"library": "torch"}, "library='torch': is no module - pass torch, not its name"),
        ({"arithmetic": {"x": 1}}, "arithmetic={'x': 1}: is none - its fields: logits, "),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(options: Any, problem: str) -> None:
    with pytest.raises(InputError) as error:
        check(top_p, "top_p", **options)
    assert str(error.value).startswith(problem)
