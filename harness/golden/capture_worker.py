"""`python -m sampler_parity.harness.golden.capture_worker`: decodes prompts with a model and writes
the fixture.

A row is the logits after one distinct token prefix of the prompts. One token is decoded at a time,
by one thread unless asked otherwise, in a fresh context for each prompt, because the last bits of
the logits depend on how they are computed. Measured with golden/model/small.gguf: a whole prompt in
one batch gives other logits in 156/320 rows, by up to 0.004; two threads gave the same.
"""

import ctypes
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from sampler_parity.harness.backends.llama_cpp.decode import Context, Model
from sampler_parity.harness.backends.llama_cpp.libllama import Libllama, default_folder
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.strict import STRICT

DType = Literal["float32", "float16"]
_F16_MAX = 65504.0


class Prompt(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: str
    text: str


class Job(BaseModel):
    """What the child is asked for. command and llama_cpp are only recorded."""

    model_config = STRICT

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
class Plan:
    """Which rows are taken: prompt_of[i] and position_of[i] of row i, in the order of decoding."""

    tokens: list[list[int]]
    prompt_of: list[int]
    position_of: list[int]

    @property
    def decodes(self) -> int:
        last = dict(zip(self.prompt_of, self.position_of, strict=True))
        return sum(position + 1 for position in last.values())


def rows_path(out: Path) -> Path:
    """Where the rows are kept while they come."""
    return out.with_name(out.name + ".rows")


def plan_rows(tokens: list[list[int]], max_rows: int | None) -> Plan:
    """A row for each distinct prefix, in order; of those max_rows, evenly spaced."""
    seen: set[tuple[int, ...]] = set()
    places: list[tuple[int, int]] = []
    for prompt, sequence in enumerate(tokens):
        for position in range(len(sequence)):
            prefix = tuple(sequence[: position + 1])
            if prefix not in seen:
                seen.add(prefix)
                places.append((prompt, position))
    if max_rows is not None and max_rows < len(places):
        places = [places[i * len(places) // max_rows] for i in range(max_rows)]
    return Plan(tokens, [prompt for prompt, _ in places], [position for _, position in places])


def _work(job: Job, say: Callable[..., None]) -> None:
    library = Libllama(default_folder())
    model = Model(library, job.model)
    if model.n_vocab < 1:
        raise InputError(job.model, "has no vocabulary", "name a model that generates text")
    vocab = library.llama_model_get_vocab(model.model)
    tokens = [_tokenize(library, vocab, job.model, prompt) for prompt in job.prompts]
    _refuse_long(model, job, tokens)
    plan = plan_rows(tokens, job.max_rows)
    say(total=plan.decodes, completed=0)
    with rows_path(job.out).open("wb") as file:
        for prompt, position, row in _decode(model, job, plan, say):
            file.write(_checked(row, job, prompt, position).tobytes())
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
            rows_path(job.out), job.dtype, "r", shape=(len(plan.prompt_of), model.n_vocab)
        ),
        "prompt": np.array(plan.prompt_of, np.int32),
        "position": np.array(plan.position_of, np.int32),
        "tokens": np.concatenate([np.array(sequence, np.int32) for sequence in tokens]),
        "prompt_tokens": np.array([len(sequence) for sequence in tokens], np.int32),
    }
    fixtures.write(job.out, facts, tensors)


def _tokenize(library: Libllama, vocab: int, model: Path, prompt: Prompt) -> list[int]:
    """The token ids of a prompt, special tokens parsed, begin-of-text added as the model says."""
    text = prompt.text.encode()
    room = len(text) + 8
    buffer = (ctypes.c_int32 * room)()
    n = library.llama_tokenize(vocab, text, len(text), buffer, room, True, True)
    if n < 1:
        raise InputError(model, f"makes no tokens of prompt {prompt.id!r}", "leave that prompt out")
    return list(buffer[:n])


def _refuse_long(model: Model, job: Job, tokens: list[list[int]]) -> None:
    trained = model.n_context
    for prompt, sequence in zip(job.prompts, tokens, strict=True):
        if len(sequence) > trained > 0:
            raise InputError(
                job.model,
                f"prompt {prompt.id!r} has {len(sequence)} tokens, the model's context {trained}",
                "shorten the prompt",
            )


def _decode(
    model: Model, job: Job, plan: Plan, say: Callable[..., None]
) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
    """Prompt, position and logits (a view) of each planned row."""
    wanted: dict[int, set[int]] = {}
    for prompt, position in zip(plan.prompt_of, plan.position_of, strict=True):
        wanted.setdefault(prompt, set()).add(position)
    longest = max(len(sequence) for sequence in plan.tokens)
    decoded = 0
    for prompt, positions in wanted.items():
        context = Context(model, longest, job.threads)
        for position in range(max(positions) + 1):
            row = context.decode([plan.tokens[prompt][position]])
            decoded += 1
            say(completed=decoded)
            if position in positions:
                yield prompt, position, row
        context.close()


def _checked(row: NDArray[np.float32], job: Job, prompt: int, position: int) -> NDArray[Any]:
    place = f"prompt {job.prompts[prompt].id!r}, position {position}"
    bad = np.flatnonzero(np.isnan(row))
    if len(bad):
        raise InputError(job.model, f"gives NaN for token {bad[0]} at {place}")
    if job.dtype == "float16":
        large = np.flatnonzero(np.isfinite(row) & (abs(row) > _F16_MAX))
        if len(large):
            problem = f"gives a logit of {row[large[0]]:g} at {place}, too large for float16"
            raise InputError(job.model, problem, "use --dtype float32")
    return row.astype(job.dtype)


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**message: Any) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    job = Job.model_validate_json(sys.stdin.read())
    try:
        _work(job, say)
        say(finished=True)
    except InputError as error:
        say(error=str(error))
    except OSError as error:
        say(error=str(cannot_write(job.out, error)))
    finally:
        rows_path(job.out).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
