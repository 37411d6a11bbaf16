"""Errors that a user gets as one line.

InputError: a suite, fixture, bundle, policy, option or backend name is wrong. The command line
prints the message and exits with 2. A backend that fails raises BackendFailure
(harness/protocol/process.py) and that is a verdict on one case, not the end of a run.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sampler_parity.harness.sanitize.printable import one_line, visible

# Modules that `pip install sampler-parity` leaves out, by extra. Extras of one engine
# (transformers, ...) are named where they are needed.
EXTRAS = {
    "llama": ("llama_cpp",),
    "report": ("jinja2", "matplotlib"),
    "fuzz": ("hypothesis",),
    "attest": ("in_toto_attestation",),
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


class ChangedFilesError(InputError):
    """A backend is no longer made of the files that its run began with. records: of the items that
    ended before that was noticed."""

    def __init__(self, where: Path | str, problem: str, fix: str = "") -> None:
        super().__init__(where, problem, fix)
        self.records: list[Any] = []


class Interrupted(Exception):  # noqa: N818 - somebody's wish
    """The user pressed Ctrl-C. The text has the progress of the run, and how to resume it."""


def cannot_write(path: Path | str, error: OSError, fix: str = "") -> InputError:
    """Return the error for a file or folder that cannot be written, with the system's reason."""
    return InputError(path, f"cannot write: {error.strerror}", fix)


def lacks(extra: str) -> bool:
    """Return whether a module of the extra is not installed; loads none."""
    return any(find_spec(module) is None for module in EXTRAS[extra])


def lacking(extra: str) -> str:
    """Format the message for an extra that is not installed, with the fix."""
    return f"needs the extra {extra} - pip install 'sampler-parity[{extra}]'"


def need(extra: str, what: str, alternative: str = "") -> None:
    """Raise InputError if the extra is not installed. what: needs it; alternative: does not."""
    if lacks(extra):
        raise InputError(what, lacking(extra) + (alternative and f", or {alternative}"))
