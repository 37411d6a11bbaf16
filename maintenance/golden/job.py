"""A job of capturing: llama.cpp's worker decodes prompts with a model, we write the fixture.

A row is the logits after one distinct token prefix of the prompts. One token is decoded at a time,
by one thread unless asked otherwise, in a fresh context for each prompt, because the last bits of
the logits depend on these. Measured with golden/model/small.gguf: a whole prompt in one
batch gives other logits in 156/320 rows, by up to 0.004; two threads gave the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sampler_parity.harness.backends import registry
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend, BackendFailure

# A prompt of thousands of tokens, by one thread with a large model, takes hours.
_TIMEOUT_S = 86_400.0

DType = Literal["float32", "float16"]
_F16_MAX = 65504.0


class Prompt(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: str
    text: str


@dataclass(frozen=True)
class Job:
    """Describe what to capture. command and llama_cpp are only recorded."""

    model: Path
    model_sha256: str
    prompts: list[Prompt]
    prompts_sha256: str
    out: Path
    dtype: DType
    max_rows: int | None
    threads: int
    command: str
    llama_cpp: str


@dataclass(frozen=True)
class RowPlan:
    """List the rows to take: prompt_of[i] and position_of[i] of row i, in the order of decoding."""

    tokens: list[list[int]]
    prompt_of: list[int]
    position_of: list[int]

    @property
    def decodes(self) -> int:
        last = dict(zip(self.prompt_of, self.position_of, strict=True))
        return sum(position + 1 for position in last.values())


def rows_path(out: Path) -> Path:
    """Return the file of the rows while they are captured."""
    return out.with_name(out.name + ".rows")


def plan_rows(tokens: list[list[int]], max_rows: int | None) -> RowPlan:
    """Plan a row for each distinct prefix, in order; with max_rows, that many, evenly spaced."""
    prefixes: set[tuple[int, ...]] = set()
    places: list[tuple[int, int]] = []
    for prompt, sequence in enumerate(tokens):
        for position in range(len(sequence)):
            prefix = tuple(sequence[: position + 1])
            if prefix not in prefixes:
                prefixes.add(prefix)
                places.append((prompt, position))
    if max_rows is not None and max_rows < len(places):
        places = [places[i * len(places) // max_rows] for i in range(max_rows)]
    return RowPlan(tokens, [prompt for prompt, _ in places], [position for _, position in places])


def run(job: Job) -> None:
    """Do a job, showing its progress on stderr. Raises InputError."""
    backend = registry.start("llama.cpp", _TIMEOUT_S)
    try:
        with _progress() as progress:
            _capture(job, backend, progress)
    except BackendFailure as failure:
        raise _refusal(job.model, failure) from None
    except OSError as error:
        raise cannot_write(job.out, error) from None
    finally:
        backend.close()
        rows_path(job.out).unlink(missing_ok=True)


def _capture(job: Job, backend: Backend, progress: Progress) -> None:
    task = progress.add_task(f"loading {job.model.name}", total=None)
    model = client.tokenize(backend, str(job.model), [prompt.text for prompt in job.prompts])
    _refuse_empty_and_long(job, model)
    plan = plan_rows(model.tokens, job.max_rows)
    about = f"decoding with {job.model.name}"
    progress.update(task, description=about, total=plan.decodes, completed=0)
    with rows_path(job.out).open("wb") as file:
        for prompt, positions, rows in _decode(backend, job, plan, model.n_vocab):
            for position, row in zip(positions, rows, strict=True):
                file.write(_checked(row, job, prompt, position).tobytes())
            progress.advance(task, positions[-1] + 1)
    _write(job, plan, model.n_vocab)


def _refuse_empty_and_long(job: Job, model: p.TokenizeReply) -> None:
    for prompt, tokens in zip(job.prompts, model.tokens, strict=True):
        if not tokens:
            problem = f"has no token for prompt {prompt.id!r}"
            raise InputError(job.model, problem, "leave that prompt out")
    for prompt, tokens in zip(job.prompts, model.tokens, strict=True):
        if len(tokens) > model.n_context > 0:
            raise InputError(
                job.model,
                f"prompt {prompt.id!r} has {len(tokens)} tokens, the model's context"
                f" {model.n_context}",
                "shorten the prompt",
            )


def _decode(
    backend: Backend, job: Job, plan: RowPlan, n_vocab: int
) -> Iterator[tuple[int, list[int], NDArray[np.float32]]]:
    """Yield, for each prompt with planned rows, its number, their positions and logits (a view)."""
    positions_of: dict[int, list[int]] = {}
    for prompt, position in zip(plan.prompt_of, plan.position_of, strict=True):
        positions_of.setdefault(prompt, []).append(position)
    longest = max(len(tokens) for tokens in plan.tokens)
    for prompt, positions in positions_of.items():
        request = p.CaptureRequest(
            model=str(job.model),
            n_vocab=n_vocab,
            tokens=plan.tokens[prompt],
            positions=positions,
            n_context=longest,
            threads=job.threads,
            out=0,
        )
        yield prompt, positions, client.capture(backend, request)


def _checked(row: NDArray[np.float32], job: Job, prompt: int, position: int) -> NDArray[Any]:
    where = f"prompt {job.prompts[prompt].id!r}, position {position}"
    bad = np.flatnonzero(np.isnan(row))
    if len(bad):
        raise InputError(job.model, f"gives NaN for token {bad[0]} at {where}")
    if job.dtype == "float16":
        large = np.flatnonzero(np.isfinite(row) & (abs(row) > _F16_MAX))
        if len(large):
            problem = f"gives a logit of {row[large[0]]:g} at {where}, too large for float16"
            raise InputError(job.model, problem, "use --dtype float32")
    return row.astype(job.dtype)


def _write(job: Job, plan: RowPlan, n_vocab: int) -> None:
    facts = {
        "kind": "logits",
        "model_sha256": job.model_sha256,
        "prompts_sha256": job.prompts_sha256,
        "llama_cpp": job.llama_cpp,
        "command": job.command,
        "threads": job.threads,
        "prompt_ids": [prompt.id for prompt in job.prompts],
    }
    tensors = {
        "logits": np.memmap(
            rows_path(job.out), job.dtype, "r", shape=(len(plan.prompt_of), n_vocab)
        ),
        "prompt": np.array(plan.prompt_of, np.int32),
        "position": np.array(plan.position_of, np.int32),
        "tokens": np.concatenate([np.array(tokens, np.int32) for tokens in plan.tokens]),
        "prompt_tokens": np.array([len(tokens) for tokens in plan.tokens], np.int32),
    }
    fixtures.write(job.out, facts, tensors)


def _progress() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tokens"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True))


def _refusal(model: Path, failure: BackendFailure) -> InputError:
    """Return the user's error: the reason for llama.cpp's refusal or death."""
    if failure.verdict == "rejected":
        where, _, problem = str(failure).partition(": ")
        return InputError(where, problem)
    how = f"the capture process failed with {failure}"
    if str(failure).startswith("signal "):
        how = f"llama.cpp crashed on this model with {str(failure).removeprefix('signal ')}"
    return InputError(model, how, "check that the file is complete")
