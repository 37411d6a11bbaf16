"""Run a batch on the reference and on every backend: each row of each step, then the relations.

The reference keeps a chain for each live row. A row that draws its own seed is only a neighbour and
is not judged. A row that differs is asked once more alone, to find whether it is also wrong there
or only in the batch.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sampler_parity.harness.bundle.records.case import BackendResult, CaseResult, LiveRow
from sampler_parity.harness.checks.batch import paths, relations
from sampler_parity.harness.checks.batch.batched import seeded
from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.outcome import outcome, samplers_at
from sampler_parity.harness.checks.stages.arrays import room, save
from sampler_parity.harness.checks.stages.classify import Difference, classify, identical
from sampler_parity.harness.checks.stages.correct import Judged, Memory, judge_sample, result_of
from sampler_parity.harness.checks.stages.prepared import rows_of
from sampler_parity.harness.correct.accepting import fairly
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS, build_chain
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.signatures import has
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.client import Got, Row
from sampler_parity.harness.protocol.client_batch import Batch, BatchRan, batch
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.verdicts import Verdict, worst
from sampler_parity.reference import Candidates, Chain, UndefinedInputError, Vocab
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.sampler import Sampler

APART = "rows asked one after the other"


@dataclass(frozen=True)
class PreparedBatch:
    """A case of a batch made concrete. samplers: those of a release, by name."""

    case: BatchCase
    asked: Batch
    rows: list[Row]
    vocab: Vocab | None
    samplers: Mapping[str, Callable[..., Sampler]]

    def chain(self, sequence: p.BatchSequence) -> Chain:
        """Return the chain of a row as it joins."""
        chain = build_chain(
            sequence.chain, n_vocab=self.asked.n_vocab, vocab=self.vocab, samplers=self.samplers
        )
        for token in sequence.prompt:
            chain.accept_prompt(token)
        for token in sequence.output:
            chain.accept(token)
        return chain


@dataclass(frozen=True)
class ReferenceBatch:
    """The reference's result for each step and row: the token, and the candidates after each stage
    if stages are compared. refusal: why it stopped early."""

    tokens: list[list[int | None]]
    stages: list[list[list[Candidates]]]
    refusal: str = ""


def judge(
    case: BatchCase,
    backends: Sequence[Backend],
    artifacts: Path | None,
    releases: Mapping[str, str],
) -> CaseResult:
    ready, start = prepare(case), time.perf_counter()
    wanted = reference_batch(ready)
    reference_s = time.perf_counter() - start
    judged = {
        backend.name: _judged(ready, wanted, backend, artifacts, releases.get(backend.name))
        for backend in backends
    }
    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=len(wanted.tokens),
        reference_s=reference_s,
        refusal=wanted.refusal,
        backends={name: result for name, (result, _) in judged.items()},
        required={name: required for name, (_, required) in judged.items()},
    )


def prepare(case: BatchCase) -> PreparedBatch:
    """Prepare a case. Raises InputError for a bad fixture."""
    n, path = case.logits.n, vocab_path(case.vocab) if case.vocab else None
    sequences = [
        each.model_copy(update={"chain": complete(each.chain, n)}) for each in case.batch.sequences
    ]
    return PreparedBatch(
        case=case,
        asked=Batch(sequences, case.batch.steps, n, str(path) if path else None, case.dtype),
        rows=rows_of(case.logits, case.dtype, case.batch.rows),
        vocab=read_vocab(path) if path else None,
        samplers=ALL_SAMPLERS,
    )


def reference_batch(ready: PreparedBatch) -> ReferenceBatch:
    """Run the reference, without candidates if only tokens are compared, to save memory."""
    shown = ready.case.detail == "stages"
    live = Live(lambda s: ready.chain(ready.asked.sequences[s]), Chain.clone, Chain.reset)
    wanted = ReferenceBatch([], [])
    try:
        for step in ready.asked.steps:
            live.do(step.before)
            sampled = [_sample(live.rows[one.at], ready.rows[one.row], one) for one in step.sample]
            wanted.tokens.append([stages[-1].token for stages in sampled])
            wanted.stages.append([stages if shown else [] for stages in sampled])
    except UndefinedInputError as error:
        return replace(wanted, refusal=str(error))
    return wanted


def _sample(chain: Chain, row: Row, one: p.BatchSample) -> list[Candidates]:
    """Return the candidates after each stage, and let the chain accept; no other row is changed."""
    fresh = Candidates.from_logits(row)
    stages = [stage.candidates for stage in chain.trace(fresh)] or [fresh]
    accepted = stages[-1].token if one.accept == "selected" else one.accept
    if accepted is not None:
        chain.accept(accepted)
    return stages


def _judged(
    ready: PreparedBatch,
    wanted: ReferenceBatch,
    backend: Backend,
    artifacts: Path | None,
    release: str | None,
) -> tuple[BackendResult, list[Verdict]]:
    """Return the result and the verdicts that pass, with the samplers of the release."""
    required, names = ready.case.required(backend.name), ready.case.samplers
    if release in (None, NEWEST):
        return outcome(lambda: _on_backend(ready, wanted, backend, artifacts)), required
    if not all(has(name, str(release)) for name in names):
        required = ["unsupported"]

    def of_release() -> BackendResult:
        meant = replace(ready, samplers=samplers_at(release, names))
        return _on_backend(meant, reference_batch(meant), backend, artifacts)

    return outcome(of_release), required


def _on_backend(
    ready: PreparedBatch, wanted: ReferenceBatch, backend: Backend, artifacts: Path | None
) -> BackendResult:
    asked = replace(ready.asked, steps=ready.asked.steps[: len(wanted.tokens)])
    ran = batch(backend, asked, ready.rows, ready.case.detail)
    changed = relations.changed(ran)
    if changed is not None:
        return changed
    places = list(_differences(ready, wanted, ran)) if ready.case.batch.reference else []
    if places and fairly() and ready.case.detail == "token" and not ran.apart:
        shown = batch(backend, asked, ready.rows, "stages")  # of the same tokens, or it diverges
        ran = replace(ran, stages=shown.stages)
    if places and fairly() and _shows_stages(ready, ran):
        return fair_batch(ready, len(wanted.tokens), ran, backend.hello().arithmetic)
    verdict = worst([place.difference.verdict for place in places])
    if verdict in ("identical", "close") and not ran.apart:
        broken = relations.first_broken(asked, ready.rows, ran, backend, ready.case.batch.alone)
        if broken is not None:
            return broken
    if not places:
        return BackendResult(verdict="identical", ns=ran.ns, detail=APART if ran.apart else "")
    first = next(place for place in places if place.difference.verdict == verdict)
    folder = artifacts if artifacts and room(artifacts, backend.name, first.stage) else None
    if folder is not None and first.got is not None and first.want is not None:
        save(folder, ready.case.id, backend.name, first.want, first.got)
    detail = APART if ran.apart else _alone(ready, wanted, first, backend)
    where, difference = first.where, first.difference
    return BackendResult(
        verdict=verdict,
        ns=ran.ns,
        step=where.step,
        stage=first.stage,
        what=difference.what,
        values=p.plain(difference.values),
        detail=detail,
        ties=difference.ties and verdict != "tied",
        row=LiveRow(at=where.at, of=where.of),
    )


def _shows_stages(ready: PreparedBatch, ran: BatchRan) -> bool:
    """Return whether the backend shows all stages, not only the end of the chain."""
    lengths = {len(stages) for step in ran.stages for stages in step}
    return 0 not in lengths and lengths <= {len(each.chain) for each in ready.asked.sequences}


def fair_batch(
    ready: PreparedBatch, steps: int, ran: BatchRan, arithmetic: Arithmetic
) -> BackendResult:
    """Judge each row by the specification. A clone first repeats what its original sampled."""
    every, judged = paths.paths(ready.asked.steps[:steps]), Judged()
    places = {id(path.taken[at.nth][1]): at for path in every for at in path.own}
    for path in every:
        sequence = ready.asked.sequences[path.sequence]
        if not seeded(sequence.chain):
            continue
        memory = Memory.of(ready.chain(sequence))
        for resets, one in path.taken:
            if resets:
                memory.reset()
            at = places[id(one)]
            results, token = ran.stages[at.step][at.index], ran.tokens[at.step][at.index]
            row = ready.rows[one.row]
            wrong = judge_sample(memory, sequence.chain, row, results, token, arithmetic, judged)
            if wrong is not None:
                judged.wrong = replace(wrong, step=at.step)
                result = result_of(judged, ran.ns)
                return result.model_copy(update={"row": LiveRow(at=at.at, of=at.of)})
            memory.accept(token if one.accept == "selected" else one.accept)
    return result_of(judged, ran.ns)


@dataclass(frozen=True)
class Mismatch:
    """The first difference of a row. want, got: the arrays there, if it is a stage."""

    path: paths.Path
    where: paths.Where
    stage: str
    difference: Difference
    want: Candidates | None = None
    got: Got | None = None


def _differences(ready: PreparedBatch, wanted: ReferenceBatch, ran: BatchRan) -> Iterator[Mismatch]:
    """Yield the differences of each judged row, in the order of the steps."""
    steps = ready.asked.steps[: len(wanted.tokens)]
    judged = [
        path for path in paths.paths(steps) if seeded(ready.asked.sequences[path.sequence].chain)
    ]
    places = [place for path in judged for place in _of_row(ready, wanted, ran, path)]
    yield from sorted(places, key=lambda place: (place.where.step, place.where.index))


def _of_row(
    ready: PreparedBatch, wanted: ReferenceBatch, ran: BatchRan, path: paths.Path
) -> Iterator[Mismatch]:
    """Yield the differences of a row: the first in the last digit, and the first of any other kind,
    after which nothing can be judged."""
    names = [name for stage in ready.asked.sequences[path.sequence].chain for name in stage]
    close = False
    for where in path.own:
        got_stages = ran.stages[where.step][where.index]
        want_stages = wanted.stages[where.step][where.index]
        for k, got in enumerate(got_stages):
            j = k if len(got_stages) == len(names) else len(names) - 1  # the end is all it shows
            if identical(want_stages[j], got):
                continue
            difference = classify(want_stages[j], got, *_before(ready, path, where.nth, j))
            if difference.verdict != "close" or not close:
                yield Mismatch(path, where, names[j], difference, want_stages[j], got)
            if difference.verdict != "close":
                return
            close = True
        token, expected = (each.tokens[where.step][where.index] for each in (ran, wanted))
        if token != expected:
            values = {"got": token, "expected": expected}
            yield Mismatch(path, where, "token", Difference("diverged", "token", values))
            return


def _before(
    ready: PreparedBatch, path: paths.Path, nth: int, stage: int
) -> tuple[Candidates, Sampler]:
    """Return the input of a stage when a row samples for the nth time, and its sampler at that
    time."""
    chain = ready.chain(ready.asked.sequences[path.sequence])
    for i, (resets, one) in enumerate(path.taken):
        if resets:
            chain.reset()
        if i == nth:
            break
        _sample(chain, ready.rows[one.row], one)
    cand = Candidates.from_logits(ready.rows[one.row])
    for sampler in chain.samplers[:stage]:
        sampler.apply(cand)
    return cand, chain.samplers[stage]


def _alone(ready: PreparedBatch, wanted: ReferenceBatch, place: Mismatch, backend: Backend) -> str:
    """Return a message: whether the row that differs is right when it is alone."""
    sequence = ready.asked.sequences[place.path.sequence]
    steps = place.path.alone()[: place.where.nth + 1]
    apart = replace(ready, asked=replace(ready.asked, sequences=[sequence], steps=steps))
    ran = batch(backend, apart.asked, ready.rows, ready.case.detail)
    want = reference_batch(apart)
    found = {each.difference.verdict for each in _differences(apart, want, ran)}
    right = place.difference.verdict not in found
    return "alone this row is right: its neighbours change it" if right else "alone it differs, too"
