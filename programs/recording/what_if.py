"""Replay a recorded text with other settings: where would it have parted?"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sampler_parity.harness.engines.samplers import ALL_SAMPLERS, build_chain
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_table
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize.near import meant
from sampler_parity.harness.sanitize.printable import cut
from sampler_parity.harness.strict import STRICT
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.replay import DRAWN_BY, UNREPORTED, draws_unreported
from sampler_parity.programs.recording.tokens import RecordedToken, tokens_of
from sampler_parity.reference import Chain, ChainError, UndefinedInputError
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.sampler import Sampler

_SECONDARY = frozenset({"min_keep", "seed", "n_vocab", "vocab"})
Make = Callable[[RecordedToken], Chain]


class ChainFile(BaseModel):
    """A file with a chain, in the form of a suite."""

    model_config = STRICT
    chain: ChainSpec


@dataclass(frozen=True)
class Parting:
    """The first token that would differ. same: number of tokens before it. number: its number, None
    if the text is the same. token, instead: the recorded and the other token, as text."""

    same: int
    number: int | None = None
    token: str = ""
    instead: str = ""


def parting(recording: Recording, text: int, reference: str | None, make: Make) -> Parting:
    """Replay a text's recorded logits with the chain that `make` returns for its first token.
    Raises InputError."""
    chain, fed, same = None, 0, 0
    for token in tokens_of(recording, reference):
        if token.text != text:
            continue
        before, accepted = token.applied.before, token.applied.use.tokens
        if before is None:
            raise InputError(recording.folder, "has no logits there", "record --detail survivors")
        try:
            if chain is None:
                chain = make(token)
            for accepted_token in accepted[fed:] if same else []:
                chain.accept(accepted_token)
            candidates, fed = before.copy(), len(accepted)
            chain.apply(candidates)
            instead = candidates.token
        except (ChainError, UndefinedInputError) as error:
            raise InputError("the other chain", str(error)) from None
        if instead is None:
            raise InputError("the other chain", "selects no token", "end it with dist or greedy")
        if instead != token.token:
            names = (token.name_of(token.token), token.name_of(instead))
            return Parting(same, token.number, *names)
        same += 1
    return Parting(same)


def edited(edits: str) -> Make:
    """Return the recorded chain with edits: `temp=0.7,top_k.k=20`. Raises InputError."""
    values: dict[str, float] = {}
    for edit in edits.split(","):
        key, _, value = (part.strip() for part in edit.partition("="))
        try:
            # "e", "inf" and "nan" are spelled with these letters; all else must be an integer.
            values[key] = float(value) if set(value) & set(".einf") else int(value)
        except ValueError:
            problem = "is not a setting"
            raise InputError(cut(edit, 80), problem, "write temp=0.7 or top_k.k=20") from None

    def make(token: RecordedToken) -> Chain:
        chain: list[Sampler] = []
        names: dict[str, None] = {}
        for stage in token.applied.stages:
            name = stage.recorded.name
            changed: dict[str, float] = {}
            for parameter, keys in _keys_of(name).items():
                names |= dict.fromkeys(keys)
                for key in keys & values.keys():
                    changed[parameter] = values[key]
            arguments = stage.recorded.arguments | changed
            if draws_unreported(name, arguments):
                fix = f"choose one: {name}.seed=1"
                raise InputError(name, f"cannot be replayed: {UNREPORTED}", fix)
            if stage.earlier is None and stage.why != UNREPORTED:
                raise InputError(name, f"cannot be replayed: {stage.why}")
            if changed or stage.earlier is None:
                sampler = token.replayed.built(name, arguments)
                _take_over(sampler, token, "seed" in changed)
            else:
                sampler = stage.earlier.clone()
            chain.append(sampler)
        for key in values.keys() - names:
            full_names = [name for name in names if "." in name]
            only = f"it has only {', '.join(token.names)}"
            fix = meant(key, names, full_names) if full_names else only
            raise InputError(cut(key, 80), "is not a setting of the chain", fix)
        return Chain(chain)

    return make


def _keys_of(name: str) -> dict[str, set[str]]:
    """Return the names of each parameter of a sampler: `top_k.k`, `k`, and `top_k` for the only one
    that matters."""
    parameters = [key for key in parameters_of(ALL_SAMPLERS[name]) if key != "vocab"]
    main = [key for key in parameters if key not in _SECONDARY]
    return {key: {f"{name}.{key}", key, name if main == [key] else key} for key in parameters}


def of_file(path: Path) -> Make:
    """Return the chain of a file, as `of_chain` does. Raises InputError."""
    return of_chain(read_table(path, ChainFile).chain)


def of_chain(spec: ChainSpec) -> Make:
    """Return a chain. Stages without a seed go on with the recorded random numbers."""

    def make(token: RecordedToken) -> Chain:
        replayed, n = token.replayed, token.applied.event.before.n
        vocabs = [vocab for model in replayed.models if (vocab := replayed.vocab(model))]
        seeds = {name for name in ALL_SAMPLERS if "seed" in parameters_of(ALL_SAMPLERS[name])}
        seeded = [
            {
                name: ({"seed": 0} if name in seeds else {}) | arguments
                for name, arguments in stage.items()
            }
            for stage in spec
        ]
        vocab = vocabs[-1] if vocabs else None
        chain = build_chain(seeded, n_vocab=n, vocab=vocab, release=replayed.release)
        for sampler, stage in zip(chain.samplers, spec, strict=True):
            _take_over(sampler, token, any("seed" in arguments for arguments in stage.values()))
        return chain

    return make


def _take_over(sampler: Sampler, token: RecordedToken, seeded: bool) -> None:
    """Give a sampler the history of a text, and the recorded random numbers if it has no seed."""
    for accepted in token.applied.use.tokens:
        sampler.accept(accepted)
    stages = [stage for stage in token.applied.stages if stage.earlier is not None]
    same = [stage.earlier for stage in stages if stage.recorded.name == sampler.name]
    drawing = [stage.earlier for stage in stages if stage.recorded.name in DRAWN_BY]
    # The generator of the same sampler, else of any stage that draws.
    current: Any = getattr(sampler, "today", sampler)
    for earlier in [*same, *drawing][:1] if hasattr(current, "rng") and not seeded else []:
        current.rng = getattr(earlier, "today", earlier).rng.clone()  # type: ignore[union-attr]
