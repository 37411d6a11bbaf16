"""A trait of a server: a question about its sampling that a few requests answer."""

from collections.abc import Callable
from dataclasses import dataclass

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.probe import SEEDS, Probe, TimeOver, Undetermined

UNDETERMINED = "undetermined"
REFUSED = "refused"
LENGTH = 12  # tokens of a text: few, for a large model gives 20 a second
TOLERANCE = 5e-3  # of logprobs: programs/servers/probabilities.py
# Draws show most after a prompt with many continuations; the last repeats itself, for penalties.
PROMPTS = (
    "The",
    "It is",
    "class",
    "Once upon a time there was a",
    "I think that",
    "import",
    "for line in file:\n    print(line)\nfor line in file:\n    print(",
)


@dataclass(frozen=True)
class Trait:
    """A value of a trait, and its evidence."""

    value: str
    evidence: str
    answer: Answer | None = None


TraitTest = Callable[[Probe], Trait]


class RequestRefused(Exception):  # noqa: N818 - an answer
    """Raised if an answer refuses the request."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.refusal)
        self.answer = answer


def probe_of(client: Client, until: float, undocumented: bool = False) -> Probe:
    """Return a probe with short texts of a prompt that repeats itself."""
    return Probe(client, PROMPTS[-1], LENGTH, SEEDS[0], until, undocumented=undocumented)


def trait_of(probe: Probe, test: TraitTest) -> Trait:
    """Run a test. A failure to answer gives the trait "undetermined"."""
    try:
        return test(probe)
    except RequestRefused as refused:
        return Trait(REFUSED, refused.answer.refusal, refused.answer)
    except Undetermined as why:
        return Trait(UNDETERMINED, str(why), why.answer)
    except ServerFailure as failure:
        return Trait(UNDETERMINED, failure.line)
    except TimeOver:
        return Trait(UNDETERMINED, "the time is over")


def accepted(answers: list[Answer]) -> list[Answer]:
    """Return the answers. Raises RequestRefused if the first one is a refusal."""
    if answers[0].refusal:
        raise RequestRefused(answers[0])
    return answers
