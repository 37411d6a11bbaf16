"""Contexts of runs, for tests."""

from collections.abc import Iterable
from typing import Any

from sampler_parity.harness.bundle.writer import BundleWriter
from sampler_parity.harness.checks.context import ProgressCallback, Ready, RunContext, Terms, silent


def context_of(
    writer: BundleWriter,
    backends: Iterable[str],
    executor: Any = None,
    progress: ProgressCallback = silent,
    **terms: Any,
) -> RunContext:
    return RunContext(Terms(dict.fromkeys(backends), **terms), writer, executor, progress)


def ready(*backends: Any, artifacts: Any = None) -> Ready:
    """Return backends of tests, on the default terms of a run."""
    return Ready(backends, artifacts, Terms({}))
