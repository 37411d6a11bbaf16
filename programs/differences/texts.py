"""The texts of two recordings in pairs, and their first different token."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.phase import phase
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.tokens import RecordedToken, tokens_of


@dataclass(eq=False)
class Text:
    """A text of a chain. A reset in the middle does not end it. prompt: None if it is not recorded.
    numbers: of its tokens in the recording."""

    prompt: list[int] | None
    tokens: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


def read_by(token: RecordedToken) -> list[int] | None:
    """Return the tokens that the model had read before the newest token; None if they are not
    recorded."""
    contexts, event = token.replayed.contexts, token.applied.event
    prompt = contexts.prompts.get(event.s)
    return [*prompt, *token.applied.use.tokens] if prompt else contexts.tokens(event.ctx, event.i)


def texts_of(recording: Recording) -> list[Text]:
    """Return the texts of a recording, in their order. Raises InputError."""
    texts: dict[int, Text] = {}
    newest: dict[tuple[str, str], Text] = {}  # by process and chain
    with phase(f"reading {recording.folder}"):
        for token in tokens_of(recording, judged=False):
            chain = token.process, token.applied.event.s
            if token.text not in texts:
                text, earlier = Text(read_by(token)), newest.get(chain)
                if earlier and earlier.prompt and text.prompt == earlier.prompt + earlier.tokens:
                    text = earlier
                texts[token.text] = newest[chain] = text
            if token.accepted:
                texts[token.text].tokens.append(token.token)
                texts[token.text].numbers.append(token.number)
    if not texts:
        raise InputError(recording.folder, "has no token", "record a program that samples")
    return [*dict.fromkeys(text for text in texts.values() if text.tokens)]


def pairs_of(a: Sequence[Text], b: Sequence[Text]) -> list[tuple[Text, Text]]:
    """Pair the texts of two recordings in order: those of one prompt, and those without another of
    their prompt."""
    rest, prompts, pairs = list(b), [text.prompt for text in a], []
    for text in a:
        same = [other for other in rest if other.prompt == text.prompt]
        for partner in (same or [other for other in rest if other.prompt not in prompts])[:1]:
            rest.remove(partner)
            pairs.append((text, partner))
    return pairs


def first_other(a: Sequence[object] | None, b: Sequence[object] | None) -> int | None:
    """Return the index of the first different token, or of the end of one text; None if they are
    equal, or one is not recorded."""
    if a is None or b is None or a == b:
        return None
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))
