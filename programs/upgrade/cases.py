"""Make the cases of an upgrade: rows.toml with the user's chain, or the rows of a recording."""

from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import toml_of
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import first_mistake
from sampler_parity.harness.suite.file import SuiteFile, expand
from sampler_parity.harness.suite.model import SUITE
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.replay import numbers_of
from sampler_parity.programs.recording.tokens import RecordedToken, tokens_of
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.random import DEFAULT_SEED

_ROWS = Path(__file__).with_name("rows.toml")
_BUILT_IN = ("bpe", "spm")  # for a chain that reads a vocabulary, where the user names none
_TEXTS, _TOKENS, _VALUES = 16, 64, 4_000_000  # of a recording, at most; values of a text


def generated(
    path: Path, chain: ChainSpec, vocab: str = "", later: ChainSpec | None = None
) -> list[StagesCase]:
    """Return the cases of a chain. path: of the settings. later: the chain of the new version, if
    it differs; the cases suit both. Raises InputError."""
    try:
        suite = SUITE.model_validate(blocks_of(chain, vocab, later))
        cases = expand(SuiteFile(path, suite, ""), "full")
    except ValidationError as error:
        raise InputError(path, first_mistake(error)) from None
    begun = f"{path.stem}/"
    return [case.model_copy(update={"id": case.id.removeprefix(begun)}) for case in cases]


def blocks_of(chain: ChainSpec, vocab: str = "", later: ChainSpec | None = None) -> dict[str, Any]:
    """Return the tables of a suite with a chain. later: as of `generated`."""
    both = [*chain, *(later or [])]
    chains = {"own": seeded(chain)} | ({"other": seeded(chain, 1)} if is_seeded(both) else {})
    names = [vocab] if vocab else _BUILT_IN if _reads_vocab(both) else [""]
    parts = [_on_vocab(chains, name) for name in names]
    tables = ("matrix", "scripts")
    return parts[0] | {
        table: [block for part in parts for block in part[table]] for table in tables
    }


def _on_vocab(chains: dict[str, ChainSpec], vocab: str) -> dict[str, Any]:
    data: dict[str, Any] = toml_of(_ROWS, _ROWS.read_bytes())
    n = len(read_vocab(vocab_path(vocab))) if vocab else 0
    for block in [*data["matrix"], *data["scripts"]]:
        block["chains"] = {k: v for k, v in chains.items() if k in block.get("chains", ["own"])}
        block |= {"vocab": vocab} if vocab else {}
        block["id"] = f"{vocab}-{block['id']}" if vocab in _BUILT_IN else block["id"]
        sizes = [n if size == "V" else size for size in block.get("sizes", [])]
        block |= {"sizes": [size for size in sizes if 0 < size <= (n or size)]} if sizes else {}
    data["matrix"] = [block for block in data["matrix"] if block["sizes"]]
    return data


def recorded(folder: Path, vocab: str = "") -> list[StagesCase]:
    """Return the first tokens of each text of a recording as cases. Raises InputError."""
    texts = groupby(tokens_of(Recording(folder)), key=lambda token: token.text)
    candidates = (_of_text(folder, tokens, vocab) for _, tokens in islice(texts, _TEXTS))
    cases = [case for case in candidates if case is not None]
    if not cases:
        raise InputError(folder, "has no logits of whole rows", "record --detail survivors")
    return cases


def _of_text(folder: Path, tokens: Iterator[RecordedToken], vocab: str) -> StagesCase | None:
    rows: list[list[float]] = []
    text: list[int] = []
    chain, history, name = [], [], ""
    for token in islice(tokens, _TOKENS):
        before = token.applied.before
        if before is None or (len(rows) + 1) * len(before) > _VALUES:
            break
        if not rows:
            chain = [_stage(folder, stage.recorded) for stage in token.applied.stages]
            history, name = [*token.applied.use.tokens], token.life
        elif len(before) != len(rows[0]):
            break
        rows.append(before.logits[before.ids.argsort()].tolist())
        text.append(token.token)
    if not rows:
        return None
    if _reads_vocab(chain) and not vocab:
        raise InputError("--vocab", "the recorded chain reads a vocabulary", "give its GGUF file")
    return StagesCase(
        id=f"recording/{name}",
        description="a recorded text",
        why="sampled by a program",
        chain=seeded(chain),
        logits=LiteralRows(rows=rows),
        history=history,
        accept=text,
        steps=len(rows),
        vocab=vocab or None,
    )


def _stage(folder: Path, sampler: Any) -> dict[str, dict[str, Any]]:
    if sampler.name not in ALL_SAMPLERS:
        raise InputError(folder, f"{sampler.name} is the program's own sampler", "give --settings")
    parameters = _known(sampler.name).keys() - {"vocab", "n_vocab"}
    return {
        sampler.name: {k: numbers_of(v) for k, v in sampler.arguments.items() if k in parameters}
    }


def is_seeded(chain: ChainSpec) -> bool:
    """Return whether a stage draws with random numbers."""
    return any("seed" in _known(name) for stage in chain for name in stage)


def seeded(chain: ChainSpec, shift: int = 0) -> ChainSpec:
    """Return the chain with its seeds moved. A stage gets one if it would draw its own."""

    def seed(arguments: dict[str, Any]) -> dict[str, Any]:
        value = arguments.get("seed", DEFAULT_SEED)
        return arguments | {"seed": ((42 if value == DEFAULT_SEED else value) + shift) % 2**32}

    return [
        {
            name: seed(arguments) if "seed" in _known(name) else arguments
            for name, arguments in stage.items()
        }
        for stage in chain
    ]


def _reads_vocab(chain: ChainSpec) -> bool:
    stages = [pair for stage in chain for pair in stage.items()]
    reads = (arguments for name, arguments in stages if "vocab" in _known(name) and name != "dry")
    return any(True for _ in reads) or any(arguments.get("seq_breakers") for _, arguments in stages)


def _known(name: str) -> Any:
    return parameters_of(ALL_SAMPLERS[name]) if name in ALL_SAMPLERS else {}
