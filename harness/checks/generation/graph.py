"""Compare generation in the graph twice: with the CPU chain, and with the graph's specification.

The reference's CPU chain samples the same logits with the same uniform number at every step, after
it accepted the tokens of the graph. The stream leaves the CPU's if it selects another token. The
specification, reference/pipelines/graph_samplers.py, must explain every token of the graph."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.correct import fairly
from sampler_parity.harness.correct.bounds import of_sum, unit
from sampler_parity.harness.correct.softmax import softmax
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.sequences import Text
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference import Candidates, UndefinedInputError
from sampler_parity.reference.pipelines.graph_samplers import (
    WIDTH,
    GraphChain,
    Sampled,
    last_largest,
    may_select,
    select,
    soft_max,
)


@dataclass(frozen=True)
class SampledToken:
    """A token, and the logits that it was sampled from. handed_back: the output of the stages in
    the graph, if some ran there. forced: given, not sampled."""

    step: int
    row: NDArray[np.float32]
    token: int
    handed_back: Got | None = None
    forced: bool = False

    @property
    def in_graph(self) -> Got:
        assert self.handed_back is not None
        return self.handed_back


Event = SampledToken | Literal["reset", "cloned"]


def count_sampled(events: Sequence[Event], last: int | None = None) -> int:
    """Count the tokens that were sampled, not forced; last: up to this step."""
    tokens = [event for event in events if isinstance(event, SampledToken) and not event.forced]
    return sum(last is None or token.step <= last for token in tokens)


# Reasons for another token on the CPU. `position`: greedy gives a candidate's position. `outside`:
# the graph's token was cut. `candidates`: others were kept. `probabilities`: they have other p.
# `order`: with the same p, but dist walks them in another order. `rounding`: none of these.
Cause = Literal["position", "outside", "candidates", "probabilities", "order", "rounding"]


class UnexplainedError(Exception):
    """The graph differs from its specification: the name of the difference, and the two values."""

    def __init__(self, what: str, got: Any, expected: Any) -> None:
        super().__init__(what)
        self.what, self.values = what, {"got": got, "expected": expected}


@dataclass(frozen=True)
class GraphDistance:
    """The distance of the graph from its specification: largest differences, and whether the step
    needs rounding, or another order of the candidates, as an explanation."""

    logit: float
    p: float
    rounding: bool
    other_order: bool


def stated(backend: Backend) -> Arithmetic | None:
    """Return the arithmetic of a backend that is judged by the specification."""
    return backend.hello().arithmetic if fairly() else None


def compare_in_graph(
    request: p.GenerateRequest,
    reply: p.GenerateReply,
    rows: NDArray[np.float32],
    handed_back: list[Got],
    arithmetic: Arithmetic | None,
) -> tuple[BackendResult, int]:
    """Return the verdict on a generation, and how many of its tokens were compared."""
    text = Text(chain=request.chain, prompt=request.prompt)
    drawn = zip(rows, reply.tokens, handed_back, strict=True)
    events = [SampledToken(i, *values) for i, values in enumerate(drawn)]
    arguments = request.model, request.n_vocab, text, events, reply.in_graph
    result, n = events_in_graph(*arguments, arithmetic)
    return result.model_copy(update={"ns": reply.ns}), n


def events_in_graph(
    model: str,
    n_vocab: int,
    text: Text,
    events: Sequence[Event],
    in_graph: int,
    arithmetic: Arithmetic | None,
) -> tuple[BackendResult, int]:
    """Return the verdict on the events of a text, and how many of its tokens were compared.
    arithmetic: what the bounds of rounding follow from; None: they are WIDTH.

    identical: every token is the CPU chain's. boundary: some are not, all by rounding; correct, if
    so within derived bounds. explained: some are not for another reason, and the specification
    predicts them. diverged: it does not.
    """
    vocab = read_vocab(Path(model))
    cpu, twin = (build_chain(text.chain, n_vocab=n_vocab, vocab=vocab) for _ in range(2))
    graph = GraphChain(twin, in_graph)
    for token in text.prompt:
        cpu.accept(token)
        graph.accept(token)
    causes: list[Cause] = []
    explanations: list[GraphDistance] = []
    first: dict[str, Any] = {}
    for event in events:
        if event == "reset":
            cpu.reset()
            twin.reset()
            continue
        if event == "cloned":
            cpu, twin = cpu.clone(), twin.clone()
            graph = GraphChain(twin, in_graph)
            continue
        step, token = event.step, event.token
        want = Candidates.from_logits(event.row)
        try:
            cpu.apply(want)
            data = graph.apply(event.row, width_of(event.row, arithmetic))
            rest, explanation = explain(graph, data, event.in_graph, token)
        except UndefinedInputError as error:
            detail = f"the reference refuses the logits of step {step}: {error}"
            return BackendResult(verdict="rejected", detail=detail), len(explanations)
        except UnexplainedError as difference:
            result = BackendResult(
                verdict="diverged",
                step=step,
                stage="graph",
                what=difference.what,
                values=p.plain(difference.values),
            )
            return result, len(explanations) + 1
        explanations.append(explanation)
        if want.token != token:
            causes.append(cause_of(want, data, rest, token))
            values = {"got": token, "expected": want.token, "uniform": _uniform(data)}
            first = first or {"step": step, "stage": "token", "what": causes[0], "values": values}
        cpu.accept(token)
        graph.accept(token)
    by_rounding: Verdict = "boundary" if arithmetic is None else "correct"
    return _result(graph, causes, explanations, first, by_rounding), len(explanations)


def width_of(row: NDArray[np.float32], arithmetic: Arithmetic | None) -> float:
    """Return the largest error of a running sum of p that the arithmetic explains: those of p, of
    its normalizer, of the sum, and of u. WIDTH without one."""
    exact = np.asarray(row, np.float64)
    p = None if arithmetic is None else softmax(exact, exact, arithmetic)
    if p is None or not p.defined:
        return WIDTH
    return (
        p.total + p.common + of_sum(len(row), p.arithmetic) + 4 * unit(p.arithmetic.probabilities)
    )


def _result(
    graph: GraphChain,
    causes: list[Cause],
    explanations: list[GraphDistance],
    first: dict[str, Any],
    by_rounding: Verdict,
) -> BackendResult:
    verdict: Verdict = "identical"
    if causes:
        verdict = by_rounding if set(causes) == {"rounding"} else "explained"
    values = first.get("values", {}) | {
        "in_graph": [sampler.name for sampler in graph.in_graph],
        "on_cpu": [sampler.name for sampler in graph.on_cpu],
        "other_tokens": dict(Counter(causes)),
        "largest_logit_difference": max((e.logit for e in explanations), default=0.0),
        "largest_p_difference": max((e.p for e in explanations), default=0.0),
        "by_rounding": sum(e.rounding for e in explanations),
        "in_other_order": sum(e.other_order for e in explanations),
    }
    n = len(explanations)
    detail = f"{n}/{n} tokens as the graph's specification predicts, {len(causes)} not the CPU's"
    fields = first | {"values": p.plain(values)}
    return BackendResult(verdict=verdict, detail=detail, **fields)


def explain(
    graph: GraphChain, data: Sampled, got: Got, token: int
) -> tuple[Candidates | None, GraphDistance]:
    """Explain the graph's candidates and its token; return also the last candidates of the samplers
    on the CPU, if they selected it.

    data: the result of the specification on the same logits. Raises UnexplainedError,
    UndefinedInputError.
    """
    logit, p_error, cut = _check_candidates(data, got)
    rounding, rest = cut, None
    if data.token is None:
        rest = graph.rest(got.ids, got.logits)
        if rest.token != token:
            raise UnexplainedError("token", token, rest.token)
    elif data.uniform is not None:  # p was compared: the token follows from it exactly, on a CPU
        at = np.flatnonzero(got.ids == token)
        selected = select(got.p, data.uniform)
        if len(at) == 0 or not (
            at[0] == selected or may_select(got.p, data.uniform, int(at[0]), data.width)
        ):
            raise UnexplainedError("token", token, int(got.ids[selected]))
        rounding |= bool(at[0] != selected)
    else:
        largest = last_largest(got.logits)  # greedy: a position
        if not (0 <= token < len(got.logits) and got.logits[token] == got.logits[largest]):
            raise UnexplainedError("token", token, largest)
        rounding |= token != largest
    other_order = not np.array_equal(data.ids, got.ids)
    return rest, GraphDistance(logit, p_error, bool(rounding), other_order)


def _check_candidates(data: Sampled, got: Got) -> tuple[float, float, bool]:
    """Return the largest difference of a logit and of a p, and whether rounding moved the cut."""
    if len(data.ids) != len(got.ids):
        raise UnexplainedError("candidates", len(got.ids), len(data.ids))
    cut = _check_cut(data, got)
    _, mine, at = np.intersect1d(got.ids, data.ids, True, return_indices=True)
    both = np.isfinite(data.logits[at]) & np.isfinite(got.logits[mine])
    want_logits, got_logits = data.logits[at][both], got.logits[mine][both]
    error = abs(want_logits - got_logits)
    relative = error / np.maximum(1, abs(want_logits))
    _refuse(relative, data.width, "logit", got_logits, want_logits)
    logit = float(error.max(initial=0))
    if data.p is None:
        return logit, 0.0, cut
    # other survivors have another sum, so p then follows from the graph's own logits
    want_p, got_p = (soft_max(got.logits), got.p) if cut else (data.p[at], got.p[mine])
    error = np.nan_to_num(abs(want_p - got_p), nan=0.0)
    # a NaN on one side alone is never rounding
    error[np.isnan(want_p) != np.isnan(got_p)] = np.inf
    _refuse(error, data.width, "p", got_p, want_p)
    return logit, float(error.max(initial=0)), cut


def _check_cut(data: Sampled, got: Got) -> bool:
    """Return whether other candidates were kept; these must have been close to the cut."""
    survivors, mine = got.ids[got.logits > -np.inf], data.kept
    changed = np.setxor1d(survivors, mine, assume_unique=True)
    unexplained = np.setdiff1d(changed, list(data.near), assume_unique=True)
    if len(unexplained):
        token = int(unexplained[0])
        raise UnexplainedError(f"candidate {token}", token in survivors, token in mine)
    return len(changed) > 0


def _refuse(error: NDArray[Any], width: float, what: str, got: Any, expected: Any) -> None:
    if (error > width).any():
        worst = int(error.argmax())
        raise UnexplainedError(what, float(got[worst]), float(expected[worst]))


def cause_of(want: Candidates, data: Sampled, rest: Candidates | None, token: int) -> Cause:
    """Return the cause. want: the CPU chain's last candidates. rest: those of the samplers that did
    run there."""
    if rest is None:
        if data.uniform is None and not np.array_equal(data.ids, np.arange(len(data.ids))):
            return "position"
        if token not in data.kept:
            return "outside"
        ids, logits, mass = data.ids, data.logits, data.p
    else:
        ids, logits, mass = rest.ids, rest.logits, rest.p
    survives, stays = logits > -np.inf, want.logits > -np.inf
    ids, mine = ids[survives], want.ids[stays]
    if len(np.setxor1d(ids, mine, assume_unique=True)):
        return "candidates"
    if mass is not None:
        difference = _by_id(ids, mass[survives]) - _by_id(mine, want.p[stays])
        if np.abs(difference).max() > data.width:
            return "probabilities"
    return "rounding" if np.array_equal(ids, mine) else "order"


def _by_id(ids: NDArray[np.int32], values: NDArray[np.float32]) -> NDArray[np.float32]:
    return values[np.argsort(ids)]


def _uniform(data: Sampled) -> float | None:
    return None if data.uniform is None else float(data.uniform)
