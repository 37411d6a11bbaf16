"""Define options that several commands share: one name, one maximum, one help."""

from typing import Annotated

import typer

from sampler_parity.harness.cli import complete
from sampler_parity.harness.sanitize import limits

Backends = Annotated[
    list[str] | None,
    typer.Option(
        "--backend", "-b", help="a name or NAME=COMMAND", autocompletion=complete.backends
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=0, max=limits.JOBS, help="processes; 0: one a core")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="print nothing: only set the exit status")
]
Timeout = Annotated[
    float, typer.Option(min=0.1, max=limits.SECONDS, help="seconds for one request")
]
Executor = Annotated[str, typer.Option("--executor", help="local, or dask:ADDRESS of a scheduler")]
Labels = Annotated[
    list[str] | None, typer.Option(help="only workers of the cluster with this resource")
]
