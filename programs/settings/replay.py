"""Replay a recorded text with the chain of a file of settings."""

from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.programs.recording.tokens import RecordedToken
from sampler_parity.programs.recording.what_if import Make, of_chain
from sampler_parity.programs.settings.answer import note_lines
from sampler_parity.programs.settings.chain import answer_of_llama, chain_spec
from sampler_parity.reference.random import DEFAULT_SEED


def of_settings(path: Path, token: RecordedToken) -> tuple[Make, list[str]]:
    """Return the chain that the recorded release makes of a file, and lines about settings without
    effect or unread. Stages with a random seed go on with the recorded random numbers. Raises
    InputError."""
    replayed = token.replayed
    vocabs = [vocab for model in replayed.models if (vocab := replayed.vocab(model))]
    answer = answer_of_llama(path, replayed.release)
    if not vocabs and any(stage.at("bans") for stage in answer.stages):
        raise InputError(path, "ignore_eos: the recording has no vocabulary", "leave it out")
    spec = chain_spec(answer, vocabs[-1] if vocabs else read_vocab(vocab_path("bpe")))
    for stage in spec:
        for arguments in stage.values():
            if arguments.get("seed") == DEFAULT_SEED:
                del arguments["seed"]
    return of_chain(spec), [*note_lines(note for note in answer.notes if note.kind != "changed")]
