"""Run a batch on the reference and on every backend: each row of each step, then the relations.

The reference keeps a chain for each live row. A row that draws its own seed is only a neighbour and
is not judged. A row that differs is asked once more alone, to find whether it is also wrong there
or only in the batch.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sampler_parity.harness.bundle.records import BackendResult, CaseResult, LiveRow
from sampler_parity.harness.checks.batch import relations
from sampler_parity.harness.checks.batch.block import BatchCase, seeded
from sampler_parity.harness.checks.outcome import outcome, samplers_at
from sampler_parity.harness.checks.stages.arrays import room, save
from sampler_parity.harness.checks.stages.classify import Difference, classify, identical
from sampler_parity.harness.checks.stages.correct import Judged, Memory, judge_sample, result_of
from sampler_parity.harness.checks.stages.own_random import has_own, stages_as
from sampler_parity.harness.checks.stages.prepared import rows_of
from sampler_parity.harness.correct import fairly
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS, build_chain
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.signatures import has
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.client import Got, Row
from sampler_parity.harness.protocol.client_serving import Batch, BatchRan, batch
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.verdicts import Verdict, worst
from sampler_parity.reference import Candidates, Chain, UndefinedInputError, Vocab
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.sampler import Sampler

NOT_TOGETHER = "rows asked one after the other"


@dataclass(frozen=True)
class PreparedBatch:
    """A case of a batch made concrete. samplers: those of a release, by name."""

    case: BatchCase
    request: Batch
    rows: list[Row]
    vocab: Vocab | None
    samplers: Mapping[str, Callable[..., Sampler]]

    def chain(self, sequence: p.BatchSequence) -> Chain:
        """Return the chain of a row as it joins."""
        chain = build_chain(
            sequence.chain, n_vocab=self.request.n_vocab, vocab=self.vocab, samplers=self.samplers
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
    prepared, start = prepare(case), time.perf_counter()
    reference = reference_batch(prepared)
    reference_s = time.perf_counter() - start
    judged = {
        backend.name: _judged(prepared, reference, backend, artifacts, releases.get(backend.name))
        for backend in backends
    }
    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=len(reference.tokens),
        reference_s=reference_s,
        refusal=reference.refusal,
        backends={name: result for name, (result, _) in judged.items()},
        required={name: required for name, (_, required) in judged.items()},
    )


def prepare(case: BatchCase) -> PreparedBatch:
    """Prepare a case. Raises InputError for a bad fixture."""
    n, path = case.logits.n, vocab_path(case.vocab) if case.vocab else None
    sequences = [
        sequence.model_copy(update={"chain": complete(sequence.chain, n)})
        for sequence in case.batch.sequences
    ]
    return PreparedBatch(
        case=case,
        request=Batch(sequences, case.batch.steps, n, str(path) if path else None, case.dtype),
        rows=rows_of(case.logits, case.dtype, case.batch.rows),
        vocab=read_vocab(path) if path else None,
        samplers=ALL_SAMPLERS,
    )


def reference_batch(prepared: PreparedBatch, own_random: BatchRan | None = None) -> ReferenceBatch:
    """Run the reference, without candidates if only tokens are compared, to save memory.
    own_random: the run of a backend with its own random numbers, which the reference follows."""
    with_stages = prepared.case.detail == "stages"
    live = Live(lambda s: prepared.chain(prepared.request.sequences[s]), Chain.clone, Chain.reset)
    reference = ReferenceBatch([], [])
    try:
        for number, step in enumerate(prepared.request.steps):
            live.do(step.before)
            sampled = [
                _sample(live.rows[sample.at], prepared.rows[sample.row], sample, shown)
                for sample, shown in zip(step.sample, _shown(own_random, number, step), strict=True)
            ]
            reference.tokens.append([stages[-1].token for stages in sampled])
            reference.stages.append([stages if with_stages else [] for stages in sampled])
    except UndefinedInputError as error:
        return replace(reference, refusal=str(error))
    return reference


# The token and the candidates of a backend with random numbers of its own, where one row samples.
_Shown = tuple[int | None, list[Got]]


def _shown(own_random: BatchRan | None, number: int, step: p.BatchStep) -> list[_Shown | None]:
    if own_random is None:
        return [None] * len(step.sample)
    return [*zip(own_random.tokens[number], own_random.stages[number], strict=True)]


def _sample(
    chain: Chain, row: Row, sample: p.BatchSample, own_random: _Shown | None = None
) -> list[Candidates]:
    """Return the candidates after each stage, and let the chain accept; no other row is changed."""
    fresh = Candidates.from_logits(row)
    if own_random is None:
        stages = [stage.candidates for stage in chain.trace(fresh)] or [fresh]
    else:
        stages = stages_as(chain, fresh, *own_random) or [fresh]
    accepted = stages[-1].token if sample.accept == "selected" else sample.accept
    if accepted is not None:
        chain.accept(accepted)
    return stages


def _judged(
    prepared: PreparedBatch,
    reference: ReferenceBatch,
    backend: Backend,
    artifacts: Path | None,
    release: str | None,
) -> tuple[BackendResult, list[Verdict]]:
    """Return the result and the verdicts that pass, with the samplers of the release."""
    required, names = prepared.case.required(backend.name), prepared.case.samplers
    if release in (None, NEWEST):
        return outcome(lambda: _on_backend(prepared, reference, backend, artifacts)), required
    if not all(has(name, str(release)) for name in names):
        required = ["unsupported"]

    def of_release() -> BackendResult:
        meant = replace(prepared, samplers=samplers_at(release, names))
        return _on_backend(meant, reference_batch(meant), backend, artifacts)

    return outcome(of_release), required


def _on_backend(
    prepared: PreparedBatch, reference: ReferenceBatch, backend: Backend, artifacts: Path | None
) -> BackendResult:
    request = replace(prepared.request, steps=prepared.request.steps[: len(reference.tokens)])
    ran = batch(backend, request, prepared.rows, prepared.case.detail)
    changed = relations.changed(ran)
    if changed is not None:
        return changed
    own_random = ran if has_own(backend) else None
    if own_random:
        reference = reference_batch(replace(prepared, request=request), own_random)
    places = (
        list(_differences(prepared, reference, ran, own_random))
        if prepared.case.batch.reference
        else []
    )
    if places and fairly() and prepared.case.detail == "token" and not ran.apart:
        staged = batch(
            backend, request, prepared.rows, "stages"
        )  # of the same tokens, or it diverges
        ran = staged if own_random else replace(ran, stages=staged.stages)
    if places and fairly() and _shows_stages(prepared, ran):
        steps, arithmetic = len(reference.tokens), backend.hello().arithmetic
        return fair_batch(prepared, steps, ran, arithmetic, own_random is not None)
    verdict = worst([mismatch.difference.verdict for mismatch in places])
    # rows that differ are reported by their stage, which locates more than a relation
    if verdict in ("identical", "close") and not ran.apart:
        broken = relations.first_broken(
            request, prepared.rows, ran, backend, prepared.case.batch.alone
        )
        if broken is not None:
            return broken
    if not places:
        return BackendResult(
            verdict="identical", ns=ran.ns, detail=NOT_TOGETHER if ran.apart else ""
        )
    first = next(mismatch for mismatch in places if mismatch.difference.verdict == verdict)
    folder = artifacts if artifacts and room(artifacts, backend.name, first.stage) else None
    if folder is not None and first.got is not None and first.want is not None:
        save(folder, prepared.case.id, backend.name, first.want, first.got)
    detail = NOT_TOGETHER if ran.apart else _alone(prepared, reference, first, backend)
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


def _shows_stages(prepared: PreparedBatch, ran: BatchRan) -> bool:
    """Return whether the backend shows all stages, not only the end of the chain."""
    lengths = {len(stages) for step in ran.stages for stages in step}
    return 0 not in lengths and lengths <= {
        len(sequence.chain) for sequence in prepared.request.sequences
    }


def fair_batch(
    prepared: PreparedBatch,
    steps: int,
    ran: BatchRan,
    arithmetic: Arithmetic,
    own_random: bool = False,
) -> BackendResult:
    """Judge each row by the specification. A clone first repeats what its original sampled."""
    all_paths, judged = relations.paths(prepared.request.steps[:steps]), Judged()
    # by identity: the path of a clone has the samples of its original
    places = {id(path.taken[at.nth][1]): at for path in all_paths for at in path.samples}
    for path in all_paths:
        sequence = prepared.request.sequences[path.sequence]
        if not seeded(sequence.chain):
            continue
        memory = Memory.of(prepared.chain(sequence))
        for resets, sample in path.taken:
            if resets:
                memory.reset()
            at = places[id(sample)]
            results, token = ran.stages[at.step][at.index], ran.tokens[at.step][at.index]
            row = prepared.rows[sample.row]
            wrong = judge_sample(
                memory, sequence.chain, row, results, token, arithmetic, judged, own_random
            )
            if wrong is not None:
                judged.wrong = replace(wrong, step=at.step)
                result = result_of(judged, ran.ns)
                return result.model_copy(update={"row": LiveRow(at=at.at, of=at.of)})
            memory.accept(token if sample.accept == "selected" else sample.accept)
    return result_of(judged, ran.ns)


@dataclass(frozen=True)
class Mismatch:
    """The first difference of a row. want, got: the arrays there, if it is a stage."""

    path: relations.Path
    where: relations.Where
    stage: str
    difference: Difference
    want: Candidates | None = None
    got: Got | None = None


def _differences(
    prepared: PreparedBatch, reference: ReferenceBatch, ran: BatchRan, own_random: BatchRan | None
) -> Iterator[Mismatch]:
    """Yield the differences of each judged row, in the order of the steps."""
    steps = prepared.request.steps[: len(reference.tokens)]
    every = relations.paths(steps)
    judged = [path for path in every if seeded(prepared.request.sequences[path.sequence].chain)]
    taken = {} if own_random is None else _shown_of(every, own_random)
    places = [
        mismatch for path in judged for mismatch in _of_row(prepared, reference, ran, path, taken)
    ]
    yield from sorted(places, key=lambda mismatch: (mismatch.where.step, mismatch.where.index))


def _shown_of(every: Sequence[relations.Path], own_random: BatchRan) -> dict[int, _Shown]:
    """Return what a backend showed of each sample, by the identity of the sample."""
    return {
        id(path.taken[at.nth][1]): (
            own_random.tokens[at.step][at.index],
            own_random.stages[at.step][at.index],
        )
        for path in every
        for at in path.samples
    }


def _of_row(
    prepared: PreparedBatch,
    reference: ReferenceBatch,
    ran: BatchRan,
    path: relations.Path,
    taken: Mapping[int, _Shown],
) -> Iterator[Mismatch]:
    """Yield the differences of a row: the first in the last digit, and the first of any other kind,
    after which nothing can be judged."""
    names = [name for stage in prepared.request.sequences[path.sequence].chain for name in stage]
    close = False
    for where in path.samples:
        got_stages = ran.stages[where.step][where.index]
        want_stages = reference.stages[where.step][where.index]
        for k, got in enumerate(got_stages):
            j = k if len(got_stages) == len(names) else len(names) - 1  # the end is all it shows
            if identical(want_stages[j], got):
                continue
            before = _before(prepared, path, where.nth, j, taken)
            difference = classify(want_stages[j], got, *before)
            if difference.verdict != "close" or not close:
                yield Mismatch(path, where, names[j], difference, want_stages[j], got)
            if difference.verdict != "close":
                return
            close = True
        token, expected = (result.tokens[where.step][where.index] for result in (ran, reference))
        if token != expected:
            values = {"got": token, "expected": expected}
            yield Mismatch(path, where, "token", Difference("diverged", "token", values))
            return


def _before(
    prepared: PreparedBatch, path: relations.Path, nth: int, stage: int, taken: Mapping[int, _Shown]
) -> tuple[Candidates, Sampler]:
    """Return the input of a stage when a row samples for the nth time, and its sampler at that
    time."""
    chain = prepared.chain(prepared.request.sequences[path.sequence])
    for i, (resets, sample) in enumerate(path.taken):
        if resets:
            chain.reset()
        if i == nth:
            break
        _sample(chain, prepared.rows[sample.row], sample, taken.get(id(sample)))
    cand = Candidates.from_logits(prepared.rows[sample.row])
    for sampler in chain.samplers[:stage]:
        sampler.apply(cand)
    return cand, chain.samplers[stage]


def _alone(
    prepared: PreparedBatch, reference: ReferenceBatch, mismatch: Mismatch, backend: Backend
) -> str:
    """Return a message: whether the row that differs is right when it is alone."""
    sequence = prepared.request.sequences[mismatch.path.sequence]
    steps = mismatch.path.alone()[: mismatch.where.nth + 1]
    isolated = replace(
        prepared, request=replace(prepared.request, sequences=[sequence], steps=steps)
    )
    ran = batch(backend, isolated.request, prepared.rows, prepared.case.detail)
    own_random = ran if has_own(backend) else None
    want = reference_batch(isolated, own_random)
    verdicts = {
        alone_mismatch.difference.verdict
        for alone_mismatch in _differences(isolated, want, ran, own_random)
    }
    right = mismatch.difference.verdict not in verdicts
    return "alone this row is right: its neighbours change it" if right else "alone it differs, too"
