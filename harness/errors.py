"""What the harness tells a user in one line.

InputError: a suite, fixture, bundle, policy, option or backend name is wrong. The command line
prints the message and exits with 2. A backend that fails raises BackendFailure
(harness/protocol/process.py) and that is a verdict on one case, not the end of a run.
"""

from importlib.util import find_spec
from pathlib import Path

from sampler_parity.harness.sanitize.printable import one_line, visible

# What `pip install sampler-parity` leaves out: by extra, its modules. Extras of one engine (cuda,
# transformers, ...) are named where that is asked for.
EXTRAS = {
    "llama": ("llama_cpp",),
    "report": ("jinja2", "matplotlib"),
    "fuzz": ("hypothesis",),
}

LONGEST = 2_000  # characters; the names of all suites, the longest list that we give, take 1,300


class Unsupported(Exception):  # noqa: N818 - an answer, not a failure
    """A backend in Python lacks this sampler or request; the worker answers so."""


class InputError(Exception):
    """Bad input: names the file, the place in it and what to do."""

    def __init__(self, where: Path | str, problem: str, fix: str = "") -> None:
        super().__init__(str(where), problem, fix)  # all of args, so that it can be pickled

    def __str__(self) -> str:
        where, problem, fix = (visible(part) for part in self.args)
        return one_line(f"{where}: {problem}{f' - {fix}' if fix else ''}", LONGEST)


class Interrupted(Exception):  # noqa: N818 - somebody's wish
    """Somebody pressed Ctrl-C. Its text says how far it was, and how one goes on."""


def cannot_write(path: Path | str, error: OSError, fix: str = "") -> InputError:
    """A file or folder that the system does not let us write; its reason is part of the line."""
    return InputError(path, f"cannot write: {error.strerror}", fix)


def lacks(extra: str) -> bool:
    """Whether a module of the extra is not installed; none is loaded."""
    return any(find_spec(module) is None for module in EXTRAS[extra])


def lacking(extra: str) -> str:
    """What to say of an extra that is not installed, and what to do."""
    return f"needs the extra {extra} - pip install 'sampler-parity[{extra}]'"


def need(extra: str, what: str, other: str = "") -> None:
    """Raises InputError where the extra is not installed. what: needs it; other: works without."""
    if lacks(extra):
        raise InputError(what, lacking(extra) + (other and f", or {other}"))
