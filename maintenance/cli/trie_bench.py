"""The command `sampler-parity trie-bench`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sampler_parity.harness.cli.output import print_data, print_line
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.sanitize import limits

if TYPE_CHECKING:
    from sampler_parity.harness.protocol.measured import Measured

Mode = Literal["strict-guided", "strict-trie-ffi"]
Trie = Literal["python", "compiled"]


def trie_bench(
    mode: Annotated[Mode, typer.Option(help="measure the grammars alone, or with the trie")],
    model: Annotated[str, typer.Option(help="small, random-128256 or a GGUF file")] = "small",
    prompt: Annotated[
        Path | None, typer.Option(help="a text: prompts, with empty lines between them")
    ] = None,
    descriptor: Annotated[
        str,
        typer.Option(
            "--token-tree-descriptor", help="a JSON file, or actions, tools, json, enum:N"
        ),
    ] = "actions",
    grammar: Annotated[
        Path | None, typer.Option(help="GBNF in place of the one made of the leaves")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the JSON")] = None,
    rounds: Annotated[
        int, typer.Option(min=1, max=limits.ROUNDS, help="spans of each prompt, in each way")
    ] = 5,
    seed: Annotated[
        int, typer.Option(min=0, max=limits.WHOLE, help="seed of the order and the bootstrap")
    ] = 0,
    build: Annotated[str, typer.Option(help="build of llama.cpp: BUILD or BUILD:DEVICE")] = "",
    delay: Annotated[
        float,
        typer.Option(
            "--delay-ms", min=0, max=limits.DELAY_MS, help="milliseconds added to each forward pass"
        ),
    ] = 0.0,
    model_id: Annotated[str, typer.Option(help="default: the name of the file")] = "",
    trie: Annotated[
        Trie,
        typer.Option(help="the sampler in the chain; compiled needs a C++ compiler"),
    ] = "python",
) -> None:
    """Measure what a token trie saves against llama.cpp's grammar.

    Example:
      sampler-parity trie-bench --mode strict-trie-ffi --token-tree-descriptor enum:30

    Exit status: 0, or 2 for bad input.
    """
    import json

    from sampler_parity.harness.bundle.machine import describe
    from sampler_parity.harness.files import write_text
    from sampler_parity.harness.llama_cpp.builds import worker_arguments
    from sampler_parity.harness.llama_cpp.token_trie import Worker
    from sampler_parity.harness.protocol.messages import plain
    from sampler_parity.harness.trie.bench import Bench, run
    from sampler_parity.harness.trie.workloads import PROMPTS

    prompts = _prompts(prompt) if prompt is not None else PROMPTS
    gbnf = _read(grammar) if grammar is not None else ""
    compiled = trie == "compiled"
    if compiled and build:
        raise InputError("--trie compiled", "uses the installed llama.cpp", "omit --build")
    try:
        worker = Worker(*worker_arguments(build)) if build else None
        bench = Bench(model, descriptor, prompts, gbnf, model_id, worker, delay, compiled)
    except Unsupported as error:
        raise InputError(f"--build {build}", str(error), "use a build of v0.5.0") from None
    try:
        result = run(bench, mode, rounds, seed)
    finally:
        bench.close()
    written = {**result.model_dump(), "trie": trie, "machine": describe().model_dump()}
    text = json.dumps(plain(written), indent=2)
    if output is None:
        print_data(text)
        return
    write_text(output, text + "\n")
    print_line(_line(result))


def _line(result: "Measured") -> str:
    low, high = result.tokens_per_second_vs_grammar_ci95
    return (
        f"trie     {result.mode} {result.model} V={result.n_vocab:,}:"
        f" {result.tokens_per_second:.1f} tokens/s,"
        f" {result.tokens_per_second_vs_grammar:.2f} [{low:.2f}, {high:.2f}] of grammar first,"
        f" {result.forward_passes_saved}/{result.forward_passes_total} passes saved"
    )


def _prompts(path: Path) -> tuple[str, ...]:
    parts = [part.rstrip("\n") for part in _read(path).split("\n\n")]
    prompts = tuple(part for part in parts if part)
    if not prompts:
        raise InputError(path, "holds no prompt", "write one")
    return prompts


def _read(path: Path) -> str:
    from sampler_parity.harness.files import read_file

    try:
        return read_file(path, limits.TEXT).decode()
    except UnicodeDecodeError as error:
        raise InputError(path, f"is not UTF-8: {error}", "save it as UTF-8") from None
