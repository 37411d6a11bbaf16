"""A backend judged by what its own release of llama.cpp meant, and which changes since matter.

The reference has the meaning of every release (reference/releases.py). Where it is identical to a
build with the old meanings of the build's release, some of these may not matter in a case: they are
taken out one by one while the reference stays identical. What is left explains the case.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.case import Case
from harness.errors import InputError
from harness.releases import has
from harness.results import BackendResult
from harness.verdicts import Verdict
from reference import ChainError, UndefinedInputError
from reference.releases import Change, changes_of

Run = Callable[[Sequence[Change], Path | None], BackendResult]


def judge_by_release(
    case: Case, backend: str, release: str, run: Run, artifacts: Path | None
) -> tuple[BackendResult, list[Verdict]]:
    """The result and the verdicts that it may have.

    run: the case on the backend and on the reference with these old meanings, with a folder for
    artifacts; it raises UndefinedInputError where the reference refuses. What is undefined in a
    release is not asked of its build. Where the two are identical, the result names the old
    meanings that the case needs: changes.
    """
    samplers = set(case.samplers)
    if not all(has(sampler, release) for sampler in samplers):
        return run([], artifacts), ["unsupported"]
    changes = [change for change in changes_of(release) if samplers & set(change.samplers)]
    try:
        result = run(changes, artifacts)
    except UndefinedInputError as error:
        detail = f"not asked, undefined in {release}: {error}"
        return BackendResult(verdict="rejected", detail=detail), ["rejected"]
    if result.verdict == "identical":
        why = [c.name for c in needed(changes, lambda some: _identical(run, some))]
        result = result.model_copy(update={"changes": why})
    return result, case.required(backend)


def _identical(run: Run, changes: Sequence[Change]) -> bool:
    try:
        return run(changes, None).verdict == "identical"
    except UndefinedInputError:
        return False


def needed(changes: Sequence[Change], enough: Callable[[Sequence[Change]], bool]) -> list[Change]:
    """A set of changes that is enough, and of which none can be left out."""
    if not changes or enough([]):
        return []
    left = list(changes)
    for change in changes:
        fewer = [other for other in left if other is not change]
        if enough(fewer):
            left = fewer
    return left


def known_release(release: str) -> str:
    """The release, if what it meant is known. Raises InputError."""
    try:
        changes_of(release)
    except ChainError as error:
        raise InputError(f"--reference {release}", str(error)) from None
    return release
