"""Work that tests do once: in a process, or in all processes of a session."""

import json
import os
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.lock import waiting_for
from sampler_parity.harness.suite.expansion_cache import Expansions


def once_of(make: Callable[..., str], root: Callable[[], Path]) -> Callable[..., str]:
    """Return a function that makes each value once for the root of now, and anew for another."""
    kept, ours = cache(make), root()

    def made(*folders: str) -> str:
        return (kept if root() == ours else make)(*folders)

    return made


def checked_once(check: Callable[[Expansions, str], None]) -> Callable[[Expansions, str], None]:
    """Return a spot check that does not repeat itself: a run of one suite draws that suite."""
    passed: set[tuple[Path, str]] = set()

    @wraps(check)
    def spot_check(kept: Expansions, seed: str) -> None:
        suites = {(kept.cache.path, read.suite) for read in kept._read}
        if len(suites) != 1:
            check(kept, seed)
        elif not suites <= passed:
            check(kept, seed)
            passed.update(suites)

    return spot_check


def once_of_all(folders: pytest.TempPathFactory, name: str, make: Callable[[], Any]) -> Any:
    """Return a value of JSON that the first process makes, and the others of this session read."""
    own = folders.getbasetemp()  # below the folder of all, in a process of pytest-xdist
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    path = folder / f"{name}.json"
    with waiting_for(folder / f"{name}.lock"):
        if not path.exists():
            path.write_text(json.dumps(make()), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))
