"""Name the rule that a backend breaks: the reading in readings.toml that explains its results.

A reading is a rule with some expressions replaced, computed in float64 on what the backend itself
had before the stage. It is named if it explains the stage that fails in every case whose result the
right rule does not explain, and every stage that is right. A rounded sum may decide either way.
"""

import tomllib
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from sampler_parity.harness.bundle.records import BackendResult, Known
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.own_random import has_own, steer
from sampler_parity.harness.checks.stages.prefixes import stages_by_prefixes
from sampler_parity.harness.checks.stages.prepared import as_it_is, prepare
from sampler_parity.harness.correct.bounds import unit
from sampler_parity.harness.correct.judges import judge_of
from sampler_parity.harness.correct.softmax import is_defined
from sampler_parity.harness.correct.stage import Held, Stage, Wrong, stated
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.reference import UndefinedInputError
from sampler_parity.reference.samplers.dry import suffix_repeats

READINGS = Path(__file__).with_suffix(".toml")
Judged = Sequence[tuple[Case, BackendResult]]
FEW = 2  # cases that a reading explains, at least
MOST = 2  # readings that are named
_ROUNDED = 1e-5  # or so many units of the stated format: another library's expf, another order
_UNITS = 32


# As it must be; if reset does nothing; if a clone shares that of its original; if it has none.
MEMORIES = ("memory", "never_reset", "shared", "emptied")


class Memory(NamedTuple):
    """What an instance of a chain went through. past: the accepted tokens. chosen: the probability
    of each token that the sampler selected, among the survivors and among all."""

    past: list[int]
    chosen: list[tuple[float, float]]

    def p_after(self) -> Any:
        return np.array([of for of, _ in self.chosen])

    def p_before(self) -> Any:
        return np.array([of for _, of in self.chosen])

    def surprises(self) -> Any:
        """Return them in bits."""
        return -np.log2(self.p_after())


class View(NamedTuple):
    """A stage of a run. memories: of each of MEMORIES. prompt: how many tokens of them are of the
    prompt. own_random: the numbers are not known. shows_order: the order is the backend's."""

    stage: Stage
    memories: list[Memory]
    prompt: int
    n_vocab: int
    own_random: bool
    shows_order: bool


class Evidence(NamedTuple):
    wrong: list[View]
    right: list[View]


def views(case: Case, backend: Backend, at: BackendResult) -> list[View]:
    """Return the stages of a case with the name of one that differs, up to that one, which is last;
    none if they cannot be followed. at: its place; if nothing differs, all are returned."""
    if not isinstance(case, StagesCase) or case.n_draws:
        return []
    last = len(case.plan()[0]) - 1 if at.step is None else at.step
    prepared, hello, own_random = prepare(case), backend.hello(), has_own(backend)
    shows_order = getattr(backend, "shows_order", True)  # a function that leaves a row does not
    instances = [_Instance(prepared.build(), case.past) for _ in range(prepared.instances)]
    steps, collected = prepared.steps[: last + 1], list[View]()
    ran = client.run(backend, prepared.setting, prepared.rows, steps, instances=len(instances))
    if "no_stages" in hello.capabilities:
        ran = stages_by_prefixes(prepared, ran, backend)
    for i, (step, stages, token) in enumerate(zip(steps, ran.stages, ran.tokens, strict=True)):
        for operation, index in step.before:
            if operation == "reset":
                instances[index].reset()
            else:
                instances.append(instances[index].clone())
        on = instances[step.instance]
        held = Held.of_row(prepared.rows[step.row])
        samplers = zip(on.chain.samplers, prepared.chain, stages, strict=False)
        for j, (sampler, chain, result) in enumerate(samplers):
            (parameters,), got = chain.values(), result.copy()
            if own_random:
                steer(sampler, held.candidates(), got, by_report=True)
            earlier, want = as_it_is(sampler), held.candidates()
            sampler.apply(want)
            stage = Stage(held, earlier, want, got, parameters, hello.arithmetic)
            if sampler.name == at.stage:
                memories = on.memories_of(j)
                about = len(case.prompt), prepared.setting.n_vocab, own_random, shows_order
                collected.append(View(stage, memories, *about))
                if 0 <= got.selected < len(got.ids):
                    chosen = stage.softmax.p[stage.at[got.selected]]
                    on.select(sampler.name, j, got.token, (float(got.p[got.selected]), chosen))
            if (i, j) == (at.step, at.stage_index):
                return collected if sampler.name == at.stage else []
            flag = want.sorted if got.sorted is None else got.sorted
            held = Held.left(got, flag, hello.arithmetic)
        accepted = token if step.accept == "selected" else step.accept
        if accepted is not None:
            on.accept(accepted)
    return collected if at.step is None else []


class _Instance:
    """A chain of the reference. memories: as in MEMORIES."""

    def __init__(self, chain: Any, past: Sequence[int]) -> None:
        self.chain = chain
        self.memories = [_Memories([*past]) for _ in MEMORIES]
        self.pending: dict[int, tuple[int | None, tuple[float, float]]] = {}  # by stage

    def memories_of(self, j: int) -> list[Memory]:
        return [Memory([*of.past], [*of.chosen.get(j, ())]) for of in self.memories]

    def select(self, name: str, j: int, token: int | None, p: tuple[float, float]) -> None:
        """Remember a selected token: adaptive_p learns once it is accepted, mirostat at once."""
        self.pending[j] = token, p
        if name != "adaptive_p":
            self._learn(token)

    def _learn(self, token: int | None) -> None:
        for j, (selected, p) in self.pending.items():
            for memories in self.memories if selected == token else ():
                memories.chosen.setdefault(j, []).append(p)
        self.pending = {}

    def accept(self, token: int) -> None:
        self.chain.accept(token)
        self._learn(token)
        for memories in self.memories:
            memories.past.append(token)

    def reset(self) -> None:
        self.chain.reset()
        self.pending = {}
        right, _, shared, emptied = self.memories
        for memories in (right, shared, emptied):
            memories.past.clear()
            memories.chosen.clear()

    def clone(self) -> "_Instance":
        twin = _Instance(self.chain.clone(), ())
        right, never_reset, shared, _ = self.memories
        twin.memories[:3] = right.copy(), never_reset.copy(), shared
        return twin


class _Memories:
    def __init__(self, past: list[int]) -> None:
        self.past = past
        self.chosen: dict[int, list[tuple[float, float]]] = {}  # by stage

    def copy(self) -> "_Memories":
        twin = _Memories([*self.past])
        twin.chosen = {j: [*values] for j, values in self.chosen.items()}
        return twin


def broken_rule(case: Case, backend: Backend, at: BackendResult) -> str:
    """Return the rule that the judge of a stage finds broken, or ""."""
    with suppress(BackendFailure, UndefinedInputError):
        for view in views(case, backend, at)[-1:]:
            wrong = _judged(view)
            return str(stated(wrong, view.stage).values.get("rule", "")) if wrong else ""
    return ""


def _judged(view: View) -> Wrong | None:
    """Return what the judge of a stage finds wrong; None if its sampler has no judge."""
    sampler, memory = view.stage.sampler, view.stage.memory
    if (judge := judge_of(sampler.name)) is None:
        return None
    names = {"mu": "mu", "weighted": "weighted_sum", "weight": "total_weight"}
    for name, attribute in names.items():
        if hasattr(sampler, attribute):
            value = float(getattr(sampler, attribute))
            memory[name] = view.stage.interval(value).widened(_ROUNDED)
    try:
        with np.errstate(all="ignore"):
            judge(view.stage)
    except Wrong as wrong:
        return wrong
    return None


def named(
    failing: Judged, otherwise: Judged, passing: Sequence[Case], backend: Backend
) -> list[Known]:
    """Return the readings that explain cases of one group, those that fail otherwise at its stage
    and those that pass; no more than MOST. None if fewer than FEW cases distinguish readings."""
    stage = failing[0][1].stage if failing else ""
    if stage not in _tables():
        return []
    table, collected = _tables()[stage], []
    at = BackendResult(verdict="identical", stage=stage)
    of_group = _evidence(table, failing, backend)
    others = _evidence(table, otherwise, backend)
    right = of_group.right + others.right
    right += _evidence(table, [(case, at) for case in passing], backend).right
    for name, reading in table["readings"].items():
        rule = table["rule"] | reading
        explained = [_explains(rule, view) for view in of_group.wrong]
        elsewhere = [_explains(rule, view) for view in others.wrong]
        n, few = explained.count(True), explained.count(True) + elsewhere.count(True) < FEW
        if n == 0 or few or False in (*explained, *elsewhere):
            continue
        if all(_explains(rule, view) is not False for view in right):
            collected.append(
                Known(name=f"{stage}/{name}", fault=reading["says"], explains=n, tried=n)
            )
    # of variants of one reading, the plainer one is named: `off` before `off-above-zero`
    plain = [f for f in collected if not any(f.name.startswith(f"{of.name}-") for of in collected)]
    return plain if len(plain) <= MOST else []


def _evidence(table: Mapping[str, Any], cases: Judged, backend: Backend) -> "Evidence":
    """Return the last stages of cases that the right rule does not explain, and all it does."""
    evidence, defined = Evidence([], []), table.get("defined", "True")
    for case, result in cases:
        with suppress(BackendFailure, UndefinedInputError, Wrong):
            for view in filter(partial(_holds, defined), followed := views(case, backend, result)):
                said = _explains(table["rule"], view)
                if said:
                    evidence.right.append(view)
                elif said is False and view is followed[-1] and _judged(view):
                    evidence.wrong.append(view)
    return evidence


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(READINGS.read_text(encoding="utf-8"))


def _holds(defined: str, view: View) -> bool:
    return bool(is_defined(view.stage.before.logits) and eval(_compiled(defined), _names(view)))


def _explains(rule: Mapping[str, str], view: View) -> bool | None:
    """Return whether a rule gives what the backend left, whichever way a rounded sum decides; None
    if it does not, and several candidates are so near to a cut that any number may stay."""
    width = max(_ROUNDED, _UNITS * unit(view.stage.arithmetic.logits))
    counts = set()
    for changed in _undecided(view, width):
        names = _names(view) | changed
        with np.errstate(all="ignore"), suppress(ArithmeticError, IndexError, ValueError, Wrong):
            for name, expression in rule.items():
                names[name] = name == "says" or eval(_compiled(expression), names)
            counts.add((len(names.get("kept", ())), changed.get("uniform_float")))
            if _agrees(view, names, width):
                return True
    return None if len(counts) > len({uniform for _, uniform in counts}) else False


def _undecided(view: View, width: float) -> list[dict[str, Any]]:
    """Return what may stand for a rounded sum, and for the number of an xtc that draws its own."""
    rounded: list[dict[str, Any]] = [{"e": e} for e in (1.0, 1 - width, 1 + width)]
    if not view.own_random or view.stage.sampler.name != "xtc":
        return rounded
    return [e | {"uniform_float": of} for e in rounded for of in (_no_number, _largest_number)]


def _no_number() -> float:
    return 0.0


def _largest_number() -> float:
    return 1 - 2.0**-24


@cache
def _compiled(expression: str) -> Any:
    return compile(expression, str(READINGS), "eval")


_NUMPY = ("abs", "argmax", "argmin", "argsort", "clip", "concatenate", "cumsum", "exp", "isin",
    "log", "log10", "log2", "mean", "sqrt", "sum", "where", "inf")  # fmt: skip


@np.errstate(all="ignore")
def _names(view: View) -> dict[str, Any]:
    """Return the names that expressions use, apart from those of the rule."""
    stage, sampler = view.stage, cast(Any, view.stage.sampler)
    logits, ids = stage.before.low, stage.before.ids
    numbers = {k: v for k, v in vars(sampler).items() if isinstance(v, int | float | np.floating)}
    names: dict[str, Any] = {name: getattr(np, name) for name in _NUMPY}
    names |= {k: float(v) if isinstance(v, np.floating) else v for k, v in numbers.items()}
    names |= {
        "logits": logits, "size": len(ids), "everything": np.arange(len(ids)),
        "probs": stage.softmax.p, "shown": stage.before.p,
        "earlier": stage.before.p if stage.before.p.any() else stage.softmax.p,
        "order": np.argsort(-logits, kind="stable"),
        "history": [*getattr(sampler, "history", ())], "past": view.memories[0].past,
        "prompt": view.memories[0].past[: view.prompt],
        "logit_bias": stage.parameters.get("logit_bias"),
        "n_vocab": view.n_vocab, **dict(zip(MEMORIES, view.memories, strict=True)),
        "counts": lambda tokens: named_values(ids, [(token, 1) for token in tokens]),
        "named": partial(named_values, ids),
        "place_of": partial(named_values, np.arange(len(ids))),
        "first": lambda mask: int(np.argmax(mask)) if np.any(mask) else len(mask),
        "only": lambda place: np.where(np.arange(len(ids)) == place, logits, -np.inf),
        "applied": partial(_applied, stage), "slope": partial(_slope, stage),
        "breakers": getattr(sampler, "breakers", {}), "limit": getattr(sampler, "_limit", None),
        "decayed": _decayed, "repetitions": partial(_repetitions, sampler),
        "penalty": lambda length: sampler._penalty(length, np.float64),
    }  # fmt: skip
    if hasattr(sampler, "rng"):
        rng = sampler.rng.clone()
        names |= {"uniform_double": rng.uniform_double, "uniform_float": rng.uniform_float}
    return names


def named_values(ids: Any, pairs: Sequence[tuple[int, Any]]) -> Any:
    """Return the sum of the values of each candidate: float64[n]."""
    values, places = np.zeros(len(ids)), {token: i for i, token in enumerate(ids.tolist())}
    for token, value in pairs:
        if token in places:
            values[places[token]] += float(value)
    return values


def _applied(stage: Stage, **changed: Any) -> Any:
    """Return the logits of the sampler in float64, with some attributes changed."""
    sampler, cand = stage.sampler.clone(), stage.before.candidates()
    cand.logits = stage.before.low.copy()
    for name, value in changed.items():
        setattr(sampler, name, deque(value) if name == "history" else value)
    sampler.apply(cand)
    return cand.logits


def _slope(stage: Stage, mu: float, **changed: Any) -> int:
    """Return the k of mirostat in float64, with some attributes changed."""
    sampler = stage.sampler.clone()
    for name, value in (changed | {"mu": mu}).items():
        setattr(sampler, name, value)
    k = float(sampler._k(np.sort(stage.softmax.p)[::-1]))
    return int(k) if abs(k) < 2**31 else 1


def _decayed(values: Sequence[float], decay: float, first: float) -> float:
    """Return the sum of values, each of which shrinks at every later one."""
    for value in values:
        first = value + decay * first
    return first


def _repetitions(sampler: Any) -> dict[int, list[int]]:
    """Return the lengths that dry finds behind each token, those of the latest copy first."""
    latest_first, found = [*sampler.history][::-1], dict[int, list[int]]()
    repeats = suffix_repeats(latest_first, sampler._limit(latest_first)) if latest_first else []
    for token, length in zip(latest_first, repeats[1:], strict=False):
        if length >= sampler.dry_allowed_length and () not in sampler.breakers.get(token, ()):
            found.setdefault(token, []).append(length)
    return found


def _agrees(view: View, names: Mapping[str, Any], width: float) -> bool:
    """Return whether this is what the backend left. Equal logits may stand for each other."""
    before, got, at = view.stage.before, view.stage.got, view.stage.at
    kept = names.get("kept", names["everything"])
    if not np.array_equal(np.sort(before.logits[kept]), np.sort(before.logits[at])):
        return False
    key = names["key"][at] if "key" in names else np.zeros(1)
    if view.shows_order and (np.diff(key) < -width * (1 + abs(key[1:]))).any():
        return False
    logits, old = names.get("becomes", before.low)[at], before.low[at]
    logits = np.where(abs(logits) > np.finfo(np.float32).max, np.sign(logits) * np.inf, logits)
    if not _near(got.logits, logits, width * (abs(logits) + abs(old) + (got.logits != old))):
        return False
    if (shares := names.get("shares")) is not None and not _near(
        got.p, shares[at], 64 * width * shares[at] + 1e-30
    ):
        return False
    selected = names.get("selected")
    return selected is None or got.token == before.ids[selected]


def _near(got: Any, expected: Any, allowed: Any) -> bool:
    near = (got == expected) | ((abs(got - expected) <= allowed) & np.isfinite(expected))
    return bool(near.all())
