"""Read the settings of a user as the versions of an upgrade do: a chain as suites write it, or what
the command `settings` reads."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of, shallow
from sampler_parity.harness.strict import first_mistake, like
from sampler_parity.programs.settings.answer import SettingsAnswer, note_lines
from sampler_parity.programs.settings.chain import answer_of_llama, chain_spec
from sampler_parity.programs.upgrade.cases import seeded
from sampler_parity.reference.chronology import NEWEST, parted


@dataclass(frozen=True)
class UserSettings:
    """path: of the file. vocab: a GGUF file, for the tokens that ignore_eos bans; "" for ours."""

    path: Path
    vocab: str = ""
    answers: dict[str, SettingsAnswer] = field(default_factory=dict)  # by backend, when asked

    @cached_property
    def literal(self) -> ChainSpec | None:
        """Return the chain if the file has one as suites write it. Raises InputError."""
        data = _data(self.path)
        if isinstance(data, dict) and "chain" not in data:
            return None
        try:
            chain = data["chain"] if isinstance(data, dict) else data
            return TypeAdapter(ChainSpec).validate_python(chain)
        except ValidationError as error:
            fix = "write {sampler: {parameter: value}} for each stage"
            raise InputError(self.path, f"chain: {first_mistake(error)}", fix) from None

    def answer(self, name: str) -> SettingsAnswer:
        """Return what the release of a backend makes of the settings. Raises InputError."""
        if name not in self.answers:
            target = registry.references([name], "own")[name]
            release = parted(target)[0] if target else NEWEST
            self.answers[name] = answer_of_llama(self.path, release)
        return self.answers[name]

    def chain(self, name: str) -> ChainSpec:
        """Return the chain of a backend. Raises InputError."""
        if self.literal is not None:
            return self.literal
        return chain_spec(self.answer(name), read_vocab(vocab_path(self.vocab or "bpe")))

    def case_of(self, case: StagesCase, first: str, name: str) -> StagesCase:
        """Return a case of the backend `first` with the chain of another one."""
        shift = int(case.chain != seeded(self.chain(first)))
        return like(case, chain=seeded(self.chain(name), shift))

    def notes(self, *names: str) -> list[str]:
        """Return what a version does not read, or what has no effect there, a line each."""
        if self.literal is not None:
            return []
        notes = [note for name in names for note in self.answer(name).notes]
        return [*dict.fromkeys(note_lines(note for note in notes if note.kind != "changed"))]

    def mapping(self, old: str, new: str) -> list[str]:
        """Return how the chains of two versions differ: stages that do something, and values."""
        if self.literal is not None:
            return []
        before, after = (
            {stage.sampler: stage for stage in self.answer(name).stages if not stage.idle}
            for name in (old, new)
        )
        texts = [f"{name} only in the old chain" for name in before if name not in after]
        texts += [f"{name} only in the new chain" for name in after if name not in before]
        for name in [name for name in before if name in after]:
            pairs = [(v.name, v.value, after[name].at(v.name)) for v in before[name].values]
            texts += [f"{name}.{key} {a} -> {b}" for key, a, b in pairs if a != b]
        return texts


def _data(path: Path) -> Any:
    """Return the data of TOML or JSON; an empty table for settings of another form."""
    content = read_file(path, limits.TOML)
    if path.suffix == ".toml":
        return toml_of(path, content)
    try:
        return shallow(json_of(content)) if content.lstrip()[:1] in (b"{", b"[") else {}
    except ValueError as error:
        raise InputError(path, f"not readable: {error}", "correct the syntax there") from None
