"""Replay a recorded process: the reference's samplers, by their address, do what the program did.

Every apply is compared stage by stage with what the program left. The next stage starts from there,
so one difference is one finding. What cannot be judged is followed and counted, with its reason.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sampler_parity.harness.checks.stages.classify import Difference, classify, identical
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS, build_chain
from sampler_parity.harness.protocol.client import Got
from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording import masks
from sampler_parity.programs.recording.contexts import Contexts
from sampler_parity.programs.recording.format import sum_of
from sampler_parity.programs.recording.misuse import Misuse
from sampler_parity.programs.recording.reader import REMOVED, Gone, Process
from sampler_parity.programs.recording.vocabularies import RecordedVocab, vocab_of
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError, Vocab
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.chronology import parted
from sampler_parity.reference.platforms import on, platform_of
from sampler_parity.reference.random import DEFAULT_SEED, Mt19937
from sampler_parity.reference.registry import REFERENCE_ROWS
from sampler_parity.reference.sampler import Sampler

# Samplers whose next result depends on how often they were applied, or on what they saw.
_MOVED_BY_APPLY = frozenset({"dist", "xtc", "mirostat", "mirostat_v2", "adaptive_p"})
_NAMES = {"grammar_lazy": "grammar_lazy_patterns"}
_AS_NUMBERS = frozenset({"nan", "inf", "-inf"})
DRAWN_BY = frozenset({"dist", "mirostat", "mirostat_v2", "adaptive_p"})
NULL = "0x0"
IN_GRAPH = -1  # event number of a token that the graph sampled, without an apply
DROPPED = "the checker could not follow"
TOO_SLOW = "the disk was too slow: the recorder dropped the candidates"
UNREPORTED = "libllama does not report the seed that it drew"
LOST = "its state is unknown: earlier candidates were not recorded"


@dataclass
class RecordedSampler:
    """A sampler of the program. sampler: the reference's in the same state; None: `why` it cannot
    be judged. members: of a chain. in_graph: llama_set_sampler took it."""

    address: str
    name: str
    sampler: Sampler | None = None
    why: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    members: "list[RecordedSampler] | None" = None
    in_graph: bool = False
    use: "ChainUse | None" = None

    @property
    def parts(self) -> "list[RecordedSampler]":
        """The members of a chain, or itself."""
        return [self] if self.members is None else self.members

    def clone(self, address: str) -> "RecordedSampler":
        sampler = None if self.sampler is None else self.sampler.clone()
        members = None if self.members is None else [member.clone("") for member in self.members]
        return RecordedSampler(address, self.name, sampler, self.why, self.arguments, members)

    def lose(self, why: str) -> None:
        self.sampler, self.why = None, why


@dataclass
class ChainUse:
    """The use of a chain, or of a sampler alone, from its construction or a reset to the next.
    address: of the sampler. misuses: by rule. aborted: the text of an abort in a call of it."""

    id: str
    names: list[str] = field(default_factory=list)
    steps: int = 0
    judged: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)
    tokens: list[int] = field(default_factory=list)
    first_difference: "Applied | None" = None
    unlike: Counter[str] = field(default_factory=Counter)
    ns: int = 0
    rec_ns: int = 0
    address: str = ""
    misuses: dict[str, Misuse] = field(default_factory=dict)
    aborted: str = ""


@dataclass
class StageOfApply:
    """A stage: what the reference leaves of the program's input, and how the program's differs.
    difference: None if identical. why: the reason if it could not be judged. after: the program's
    candidates, with which the next stage begins; None if unknown."""

    recorded: RecordedSampler
    before: Candidates | None = None
    want: Candidates | None = None
    earlier: Sampler | None = None
    difference: Difference | None = None
    why: str = ""
    after: Candidates | None = None


@dataclass
class Applied:
    """An apply of a chain: its number there, from 0, and its stages."""

    use: ChainUse
    event: e.Apply
    step: int
    before: Candidates | None
    stages: list[StageOfApply]

    @property
    def first(self) -> int | None:
        """The index of the first stage that differs."""
        return next((i for i, stage in enumerate(self.stages) if stage.difference), None)


class ReplayedProcess:
    """A process being replayed. target: release and platform, as `b4753/linux-arm64-gcc`."""

    def __init__(self, process: Process, target: str) -> None:
        self.process = process
        self.release, platform = parted(target)
        self.platform = platform_of(platform)
        self.samplers: dict[str, RecordedSampler] = {}
        self.uses: list[ChainUse] = []
        self.begun = 0  # uses so far
        self.vocabs: dict[str, Vocab | None] = {}
        self.models: dict[str, e.Vocabulary] = {}
        self.graph: dict[tuple[str, int], RecordedSampler] = {}  # by context and sequence
        self.sampled: dict[int, e.InGraph] = {}  # by thread
        self.contexts = Contexts()
        self.gone = ""  # why the first candidates of an apply that are not there are gone

    def run(self) -> Iterator[Applied]:
        """Yield every apply, after those of the processes that it was forked from. Raises
        InputError for a damaged recording."""
        with on(self.platform), np.errstate(all="ignore"):
            for event, is_own in self.events():
                if not isinstance(event, e.Apply):
                    self.follow(event)
                elif is_own:
                    yield self.apply(event)
                else:
                    self.apply(event)

    def events(self) -> Iterator[tuple[e.Event, bool]]:
        """Yield the events of the processes that it was forked from, then its own, each with
        whether it is its own."""
        for process, most in self.process.lineage:
            # Each process numbers its own chains; the states of samplers go on after a fork.
            self.process, self.uses, self.begun = process, [], 0
            for recorded in self.samplers.values():
                recorded.use = None
            for event in self.with_graph(process.events(most)):
                yield event, most is None

    def with_graph(self, events: Iterable[e.Event]) -> Iterator[e.Event]:
        """Yield the events, and before its acceptance each token that the graph sampled, as an
        apply whose candidates are not there."""
        for event in events:
            if sampled := self._of_graph(event):
                yield sampled
            yield event

    def _of_graph(self, event: e.Event) -> e.Apply | None:
        if isinstance(event, e.InGraph):
            self.sampled[event.th] = event
        elif isinstance(event, e.Apply):
            self.sampled.pop(event.th, None)
        elif isinstance(event, e.Accept) and self.sampler_at(event.s).in_graph:
            sampled = self.sampled.pop(event.th, None)
            if sampled is not None and sampled.token == event.token:
                n = max((model.n_vocab for model in self.models.values()), default=1)
                array = e.Array(n=n)
                return e.Apply(
                    t=event.t, th=event.th, q=IN_GRAPH, s=event.s, ctx=sampled.ctx, i=sampled.i,
                    before=array, after=array, token=event.token, p=sampled.p,
                )  # fmt: skip
        return None

    def drop(self, event: e.Apply) -> int:
        """Count an apply without judging it. Returns the number of its stages."""
        recorded = self.sampler_at(event.s)
        use = self.use_of(recorded)
        use.steps += 1
        for part in recorded.parts:
            use.unjudged[DROPPED] += 1
            if part.sampler is not None and part.name in _MOVED_BY_APPLY:
                part.lose(LOST)
        return len(recorded.parts)

    def follow(self, event: e.Event) -> None:
        """Follow an event other than an apply."""
        match event:
            case e.Vocabulary():
                self.models[event.m] = event
                self.vocabs.pop(event.m, None)
            case e.Init() if event.s != NULL:
                self.samplers[event.s] = self._constructed(event)
            case e.DrawnSeed():
                self._reseed(self.sampler_at(event.s), event.seed)
            case e.MadeChain():
                why = "a chain inside another chain is followed"
                self.samplers[event.s] = RecordedSampler(event.s, "chain", why=why, members=[])
            case e.Add() if event.s != NULL:
                self.sampler_at(event.c).parts.append(self.sampler_at(event.s, event.name))
            case e.Remove():
                if 0 <= event.i < len(self.sampler_at(event.c).parts):
                    self.sampler_at(event.c).parts.pop(event.i)
            case e.Clone():
                self._clone(event)
            case e.Copy():
                self._copy(self.sampler_at(event.origin), self.sampler_at(event.to))
            case e.Free():
                self.samplers.pop(event.s, None)
            case e.Reset():
                self._reset(self.sampler_at(event.s), event.d == 0)
            case e.Accept():
                self._accept(self.sampler_at(event.s), event.token)
            case e.Decode():
                self.contexts.take(event)
            case e.PromptTokens():
                self.contexts.prompts[event.s] = event.tokens
                for part in self.sampler_at(event.s).parts:
                    masks.take_in(part.sampler, event.tokens)
            case e.SamplerOfSequence():
                self._into_graph(event)

    def apply(self, event: e.Apply, judged: bool = True) -> Applied:
        """Judge an apply. judged: False only counts it, and leaves every state as it is."""
        recorded = self.sampler_at(event.s)
        use, self.gone = self.use_of(recorded), TOO_SLOW if event.dropped else ""
        before = self._candidates(event.before, None) if judged else None
        stages = list(self._stages(recorded, event, before)) if judged else []
        _require_survivor(stages[-1:], event)
        applied = Applied(use, event, use.steps, before, stages)
        use.steps += 1
        use.ns, use.rec_ns = use.ns + event.ns, use.rec_ns + event.rec_ns
        for stage in stages:
            if stage.why:
                use.unjudged[stage.why] += 1
            else:
                use.judged += 1
            if stage.difference:
                use.unlike[stage.difference.verdict] += 1
        if use.first_difference is None and applied.first is not None:
            use.first_difference = applied
        return applied

    def _into_graph(self, event: e.SamplerOfSequence) -> None:
        """Take a chain into the graph of a sequence, and the one before out of it."""
        before = self.graph.pop((event.ctx, event.seq), None)
        if before is not None:
            before.in_graph = False
            for part in before.parts:
                if part.name in _MOVED_BY_APPLY:
                    part.lose("its state moved on in the graph")
        if event.s not in (None, NULL):  # a null sampler only detaches the earlier one
            self.graph[event.ctx, event.seq] = recorded = self.sampler_at(event.s)
            recorded.in_graph = True

    def sampler_at(self, address: str, name: str = "") -> RecordedSampler:
        """Return the sampler at an address. One that libllama did not construct is unknown."""
        if address not in self.samplers:
            name = name or "unknown"
            self.samplers[address] = RecordedSampler(
                address, name, why=f"{name} is the program's own sampler"
            )
        return self.samplers[address]

    def _constructed(self, event: e.Init) -> RecordedSampler:
        if event.sampler is None:
            name = event.name or "unknown"
            return RecordedSampler(event.s, name, why=f"{name} is the program's own sampler")
        name = _NAMES.get(event.sampler, event.sampler)
        recorded = RecordedSampler(event.s, name, arguments=event.args)
        try:
            recorded.sampler = self.built(name, event.args)
        except (ChainError, UndefinedInputError) as error:
            recorded.lose(f"{name} is not modelled with these arguments: {error}")
        return recorded

    def built(self, name: str, arguments: dict[str, Any]) -> Sampler:
        """Return the reference's sampler. Raises ChainError and UndefinedInputError."""
        if name not in ALL_SAMPLERS:
            raise ChainError("no such sampler")
        if "wholes" in arguments:
            raise ChainError("the order of its arguments in this release is unknown")
        parameters = parameters_of(ALL_SAMPLERS[name])
        address = arguments.get("vocab") or arguments.get("model")
        vocab = self.vocab(address) if address else None
        if "vocab" in parameters and vocab is None and (name != "dry" or arguments["seq_breakers"]):
            raise ChainError("a recording with --no-text has no vocabulary")
        if name == "dry" and isinstance(vocab, RecordedVocab):
            breakers = [text for text in arguments["seq_breakers"] if text]
            if any(isinstance(text, str) for text in breakers):
                raise ChainError("breakers need the model's own file to be tokenized")
        values = {key: numbers_of(value) for key, value in arguments.items() if key in parameters}
        values.pop("vocab", None)
        n_vocab = arguments.get("n_vocab")
        chain = build_chain([{name: values}], n_vocab=n_vocab, vocab=vocab, release=self.release)
        return chain.samplers[0]

    def _reseed(self, recorded: RecordedSampler, seed: int) -> None:
        """Give a sampler the seed that it drew. xtc and adaptive_p report none."""
        if recorded.name not in REFERENCE_ROWS and recorded.sampler is not None:
            recorded.sampler = self.built(recorded.name, recorded.arguments | {"seed": seed})
        elif recorded.sampler is not None:
            recorded.sampler.rng = Mt19937(seed % 2**32)  # type: ignore[attr-defined]

    def vocab(self, address: str) -> Vocab | None:
        if address not in self.vocabs:
            model = self.models.get(address)
            self.vocabs[address] = vocab_of(self.process.folder, model) if model else None
        return self.vocabs[address]

    def _clone(self, event: e.Clone) -> None:
        """Take over a copy. The members of a chain were cloned, and added, before the chain."""
        origin, built = self.sampler_at(event.origin), self.samplers.get(event.s)
        members = None if built is None else built.members
        if members is not None and len(members) == len(origin.parts):
            return
        self.samplers[event.s] = origin.clone(event.s)

    def _copy(self, origin: RecordedSampler, to: RecordedSampler) -> None:
        """Copy a state. Those of a chain's members are copied one by one."""
        for mine, theirs in zip(to.parts, origin.parts, strict=False):
            if theirs.sampler is None or type(mine.sampler) is not type(theirs.sampler):
                mine.lose(theirs.why or "it was copied from another kind of sampler")
            else:
                vars(mine.sampler).update(vars(theirs.sampler.clone()))
                mine.arguments = theirs.arguments

    def _reset(self, recorded: RecordedSampler, outermost: bool) -> None:
        """Reset a sampler. One whose state was lost is as new, if its arguments are known."""
        for part in recorded.parts:
            if part.why == LOST:
                part.sampler, part.why = self.built(part.name, part.arguments), ""
            elif part.sampler is not None:
                part.sampler.reset()
        if outermost and recorded.use is not None and recorded.use.steps:
            recorded.use = None

    def _accept(self, recorded: RecordedSampler, token: int) -> None:
        use = self.use_of(recorded)
        use.tokens.append(token)
        for part in recorded.parts:
            awaiting = getattr(part.sampler, "awaiting", False)
            try:
                if part.sampler is not None:
                    part.sampler.accept(token)
            except UndefinedInputError as error:
                self.refused(use, part.name, token, str(error), awaiting)
                part.lose(f"{part.name} refuses what the program accepted: {error}")

    def rng_of(self, address: str) -> Mt19937 | None:
        """Return a copy of the random numbers of the member that draws, as they go on."""
        recorded = self.samplers.get(address)
        for part in reversed(recorded.parts if recorded is not None else []):
            if part.name in DRAWN_BY and part.sampler is not None:
                sampler: Any = getattr(part.sampler, "today", part.sampler)
                return sampler.rng.clone()  # type: ignore[no-any-return]
        return None

    def refused(self, use: ChainUse, name: str, token: int, why: str, awaiting: bool) -> None:
        """Take in a token that a sampler of the reference refuses to accept."""

    def use_of(self, recorded: RecordedSampler) -> ChainUse:
        if recorded.use is None:
            self.begun += 1
            use = ChainUse(f"{self.process.name}/{self.begun}", address=recorded.address)
            self.uses.append(use)
            recorded.use = use
        recorded.use.names = [part.name for part in recorded.parts]
        return recorded.use

    def _stages(
        self, recorded: RecordedSampler, event: e.Apply, before: Candidates | None
    ) -> Iterator[StageOfApply]:
        """Yield the stages of an apply, each begun with what the program left before it."""
        arrays = {stage.s: stage for stage in event.stages}
        now = before
        for part in recorded.parts:
            array: e.Array | None = (
                event.after if recorded.members is None else arrays.get(part.address)
            )
            # Cloned members have no address: their stages are matched by position.
            if array is None and part.address == "" and len(arrays) == len(recorded.parts):
                array = event.stages[recorded.parts.index(part)]
            if now is not None and array is not None and array.sorted is None:
                now = masks.given(now, part.name, event.before.n)
            stage = self._stage(part, recorded, now, array)
            now = stage.after
            yield stage

    def _stage(
        self,
        part: RecordedSampler,
        recorded: RecordedSampler,
        before: Candidates | None,
        array: e.Array | None,
    ) -> StageOfApply:
        """Judge one stage. array: what the program left; None if it was not applied."""
        stage = StageOfApply(part, before)
        if array is None:
            if recorded.in_graph or part.sampler is None:
                stage.why = part.why or "it is computed in the graph"
                stage.after = before  # the program's candidates are those that the graph left
            elif self.process.start.detail == "tokens":
                stage.why = "--detail tokens has no candidates"
            else:
                stage.difference = Difference("diverged", "stage", {"got": "not applied"})
                stage.after = before
            return stage
        if part.sampler is None or before is None:
            stage.why = part.why or self._why_gone()
            if before is None and part.name in _MOVED_BY_APPLY:
                part.lose(LOST)
            stage.after = self._candidates(array, before)
            return stage
        if len(before) > 1 and draws_unreported(part.name, part.arguments):
            stage.why = UNREPORTED
            stage.after = self._candidates(array, before)
            if part.name == "adaptive_p":  # its history has the token that it drew
                part.lose(UNREPORTED)
            return stage
        stage.earlier, stage.want = part.sampler.clone(), before.copy()
        try:
            part.sampler.apply(stage.want)
            if array.sorted is None:
                stage.want = masks.survivors(stage.want)
        except UndefinedInputError as error:
            part.lose(f"{part.name} has no defined result for this input: {error}")
            stage.why, stage.want = part.why, None
            stage.after = self._candidates(array, before)
            return stage
        self._compare(stage, array)
        return stage

    def _compare(self, stage: StageOfApply, array: e.Array) -> None:
        """Compare the reference's candidates with those that the program left."""
        want, before = stage.want, stage.before
        assert want is not None
        assert before is not None
        assert stage.earlier is not None
        if _fits(want, array):
            stage.difference = self._listed_otherwise(want, array)
            # The sum is equal, so the reference's candidates are the program's.
            stage.after = None if stage.difference else want.copy()
            return
        after = self._candidates(array, want)
        if after is None:
            values = {"survivors": {"got": array.n, "expected": len(want)}}
            otherwise = len(want) == array.n and self._listed_otherwise(want, array)
            stage.difference = otherwise or Difference("diverged", "candidates", values)
            return
        got = Got(after.ids, after.logits, after.p, after.sorted, after.selected)
        if not identical(want, got):
            stage.difference = classify(want, got, before, stage.earlier)
            if array.sorted is None and masks.keeps_all_equal(want, after):
                stage.difference = replace(stage.difference, verdict="tied", ties=True)
        stage.after = after

    def _listed_otherwise(self, want: Candidates, array: e.Array) -> Difference | None:
        """Return how the tokens that a long list names differ."""
        listed = self.process.some(array)
        if listed is None:
            return None
        for token, got in zip(listed.ids.tolist(), listed.logits, strict=True):
            expected = want.logits[token] if want.ids[token] == token else np.float32(np.nan)
            if got.tobytes() != expected.tobytes():
                values = {
                    "rank": token,
                    "id": token,
                    "got": got.item(),
                    "expected": expected.item(),
                }
                both = {"survivors": {"got": array.n, "expected": len(want)}}
                return Difference("diverged", "logits", values | both)
        return None

    def _candidates(self, array: e.Array, like: Candidates | None) -> Candidates | None:
        """Return recorded candidates; None if they are not there. like: has the p of those that
        were recorded without."""
        try:
            lists = self.process.lists(array)
        except Gone as gone:
            self.gone = self.gone or str(gone)
            return None
        if array.sorted is None:
            return masks.arranged(lists, array.selected, like)
        p = lists.p.copy()
        if array.form != "full" and like is not None:
            at = dict(zip(like.ids.tolist(), like.p.tolist(), strict=True))
            p = np.array([at.get(token, 0.0) for token in lists.ids.tolist()], np.float32)
        return Candidates(lists.ids.copy(), lists.logits.copy(), p, array.sorted, array.selected)

    def _why_gone(self) -> str:
        if self.process.start.detail == "tokens":
            return "--detail tokens has no candidates"
        if self.gone == REMOVED:
            return "the candidates before it are gone: --keep removed them"
        if self.gone == TOO_SLOW:
            return TOO_SLOW
        return "the candidates before it are not listed (--detail stages lists all)"


def draws_unreported(name: str, arguments: dict[str, Any]) -> bool:
    """Return whether a sampler draws among several candidates by a seed that libllama does not
    report. An xtc with p = 0 or t above 0.5 is off; one with p = 1 acts whatever it draws."""
    if arguments.get("seed") != DEFAULT_SEED or name not in ("xtc", "adaptive_p"):
        return False
    p, t = (numbers_of(arguments.get(key, 0)) for key in ("p", "t"))
    return name != "xtc" or bool(0 < p < 1 and not t > 0.5)


def _fits(want: Candidates, array: e.Array) -> bool:
    """Return whether candidates have the number, the flags and the sum of a recorded array."""
    if array.sorted is None:
        want = masks.by_id(want)
    return (
        array.form != "full"  # has p, which the sum does not cover
        and len(want) == array.n
        and array.sorted in (None, want.sorted)
        and want.selected == array.selected
        and array.sum == sum_of(want.ids, want.logits, array.stride, array.offset)
    )


def _require_survivor(stages: list[StageOfApply], event: e.Apply) -> None:
    """Let the last stage of a mask differ if the sampled token is none that it left."""
    for stage in stages:
        after, there = stage.after, event.stages and event.stages[-1].sorted is None
        if there and after is not None and not stage.difference and event.token not in after.ids:
            values = {"got": event.token, "expected": None}
            stage.difference = Difference("diverged", "selected", values)


def numbers_of(value: Any) -> Any:
    """Return an argument with what JSON cannot hold as numbers."""
    if isinstance(value, str):
        return float(value) if value in _AS_NUMBERS else value
    if isinstance(value, list):
        return [numbers_of(item) for item in value]
    return value
