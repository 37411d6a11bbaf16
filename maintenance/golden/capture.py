"""Capture: the logits of any model after the prompts of a file, as a fixture.

The model runs in the worker of llama.cpp (maintenance/golden/job.py asks it), because a model file
can make libllama abort.
"""

import os
from dataclasses import asdict
from datetime import date
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import open_file, read_file, sha256_of
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.fixtures import LogitsEntry, register
from sampler_parity.harness.processes import shell
from sampler_parity.harness.sanitize import limits
from sampler_parity.maintenance.golden.configuration import FixtureConfiguration, configuration
from sampler_parity.maintenance.golden.job import Job, Prompt, run


def capture(
    model: Path,
    prompts: Path,
    out: Path,
    dtype: str = "float32",
    max_rows: int | None = None,
    threads: int = 1,
) -> None:
    """Write the fixture `out`, with progress; list it in the manifest next to it if there is one.

    max_rows: take this many rows, evenly spaced; None takes all. Raises InputError for a bad
    option, prompt file or model, or if the model kills llama.cpp.
    """
    if dtype not in ("float32", "float16"):
        raise InputError(f"--dtype {dtype}", "unknown", "use float32 or float16")
    if max_rows is not None and max_rows < 1:
        raise InputError(f"--max-rows {max_rows}", "must be at least 1")
    if threads < 1:
        raise InputError(f"--threads {threads}", "must be at least 1")
    _refuse_unreadable(model)  # before the output: it is named first
    if out.suffix != ".gguf" or not out.parent.is_dir():
        raise InputError(
            out, "no fixture can be written there", "name a .gguf file in an existing folder"
        )
    read = read_prompts(prompts)
    command = ["sampler-parity", "capture", "--model", str(model), "--prompts", str(prompts)]
    command += ["--dtype", dtype] + (["--max-rows", str(max_rows)] if max_rows else [])
    command += ["--threads", str(threads)] if threads != 1 else []
    configured = configuration()
    job = Job(
        model=model,
        model_sha256=digest_of_model(model),
        prompts=read,
        prompts_sha256=sha256_of(prompts),
        out=out,
        dtype=dtype,  # type: ignore[arg-type]
        max_rows=max_rows,
        threads=threads,
        command=shell.join([*command, "-o", str(out)]),
        llama_cpp=configured.llama_cpp,
    )
    run(job)
    if (out.parent / "manifest.toml").exists():
        register(out.parent, out.stem, entry_of(job, prompts, configured))


def entry_of(job: Job, prompts: Path, made_on: FixtureConfiguration) -> LogitsEntry:
    """Return the manifest's entry for the fixture that the job wrote."""
    rows, n_vocab = fixtures.read_logits(job.out).shape
    return LogitsEntry(
        kind="logits",
        file=job.out.name,
        sha256=sha256_of(job.out),
        rows=rows,
        n_vocab=n_vocab,
        dtype=job.dtype,
        command=job.command,
        model=relative(job.model, job.out.parent),
        model_sha256=job.model_sha256,
        prompts=relative(prompts, job.out.parent),
        prompts_sha256=job.prompts_sha256,
        max_rows=job.max_rows,
        threads=job.threads,
        date=date.today(),
        **asdict(made_on),
    )


def relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def read_prompts(path: Path) -> list[Prompt]:
    """Read prompts of a .jsonl file ({"id": ..., "text": ...} a line) or a .txt file (one a line).
    Lines without text are skipped in .txt. Raises InputError naming the line at fault."""
    if path.suffix not in (".jsonl", ".txt"):
        raise InputError(path, "is neither .jsonl nor .txt", "see docs/background/golden.md")
    lines = read_file(path, limits.PROMPTS).split(b"\n")
    prompts: list[Prompt] = []
    first_uses: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        prompt = _prompt(path, number, line.removesuffix(b"\r"))
        if prompt.id in first_uses:
            problem = f"line {first_uses[prompt.id]} has the id {prompt.id!r}, too"
            raise InputError(f"{path}:{number}", problem, "give each prompt its own")
        first_uses[prompt.id] = number
        prompts.append(prompt)
    if not prompts:
        raise InputError(path, "holds no prompts", "write one a line")
    return prompts


def _prompt(path: Path, number: int, line: bytes) -> Prompt:
    where = f"{path}:{number}"
    try:
        text = line.decode()
        if path.suffix == ".txt":
            return Prompt(id=f"line-{number}", text=text)
        prompt = Prompt.model_validate_json(text)
    except UnicodeDecodeError:
        raise InputError(where, "not UTF-8", "save the file as UTF-8") from None
    except ValueError:
        fix = 'write {"id": "a-name", "text": "the prompt"}'
        raise InputError(where, "not a prompt", fix) from None
    if not prompt.text or not prompt.id:
        raise InputError(where, "id or text is empty", "give every prompt both")
    return prompt


def _refuse_unreadable(model: Path) -> None:
    """Raise InputError for a model that cannot be read, or a pipe, on which `digest_of_model` would
    wait."""
    try:
        open_file(model).close()
    except OSError as error:
        raise _unreadable(model, error) from None


def digest_of_model(model: Path) -> str:
    try:
        return sha256_of(model)
    except OSError as error:
        raise _unreadable(model, error) from None


def _unreadable(model: Path, error: OSError) -> InputError:
    return InputError(model, f"cannot be read: {error.strerror}", "name a GGUF model")
