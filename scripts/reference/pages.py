"""Make every page of docs/reference that has generated parts, and find what they lack."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.bundle import result_types
from sampler_parity.harness.bundle.info import Footer, Header, RunInfo
from sampler_parity.harness.checks.batch.block import BatchCase, Batched
from sampler_parity.harness.checks.devices import DeviceCase
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.invariance import InvarianceCase
from sampler_parity.harness.checks.logits import LogitsCase
from sampler_parity.harness.checks.logprobs import LogprobsCase
from sampler_parity.harness.checks.sequences.block import SequencesCase
from sampler_parity.harness.gate.policy import policy_model
from sampler_parity.harness.inputs.logits import Computed, Crowded, DecodedLogits, Together
from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.protocol.messages import ErrorReply, Reply, Request
from sampler_parity.harness.suite.model import SUITE
from scripts.reference import cuts, markers, pictures, samplers
from scripts.reference.commands import commands
from scripts.reference.examples import example_of
from scripts.reference.models import Common, common, common_table, fields, has_fields, names, within
from scripts.reference.type_names import of_protocol

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path("docs", "reference")
# The types of each page: every model that they are made of has a heading with its name.
DESCRIBED: Mapping[str, Sequence[Any]] = {
    "protocol": (Request, Reply, ErrorReply),
    "suite-toml": (SUITE,),
    "policy": (policy_model(),),
    "bundle-records": (RunInfo, Header, *result_types(), Footer),
}
# Models without a heading: the JSON Schema has them, or programs make them, for a counterexample.
APART: set[type] = {
    *within(Measured),
    *(BatchCase, Batched, GenerationCase, SequencesCase, DeviceCase, LogitsCase, LogprobsCase),
    *(InvarianceCase, DecodedLogits, Computed, Together, Crowded),
}


def files(root: Path) -> dict[str, str]:
    """Return the text of every page and picture, by its path from the root."""
    made = {f"{FOLDER / name}.md": _page(root, name) for name in (*DESCRIBED, "command-line")}
    made[f"{FOLDER / 'samplers'}.md"] = samplers.index()
    for name in samplers.names():
        made[f"{FOLDER / 'samplers' / name}.md"] = samplers.page(name)
        made[f"{FOLDER / 'samplers' / name}.svg"] = pictures.picture(name, example_of(name))
    for name, picture in cuts.files().items():
        made[f"docs/background/correct-verdicts-{name}.svg"] = picture
    return made


def _page(root: Path, name: str) -> str:
    """Return a page with its generated parts made again."""
    written = (root / FOLDER / f"{name}.md").read_text(encoding="utf-8")
    shared = common(name, [rest for first, *rest in markers.parts(written) if first == "fields"])
    return markers.replaced(written, lambda words: _part(name, words, shared))


def _part(page: str, words: Sequence[str], shared: Common) -> str:
    match words:
        case ["commands"]:
            return commands()
        case ["common", "fields"]:
            return common_table(page, shared)
        case ["fields", *rest]:
            return fields(page, rest, shared)
        case ["names", *rest]:
            return names(page, rest)
    raise LookupError(f"{page}.md: nothing generates {' '.join(words)!r}")


def differing(root: Path) -> list[str]:
    """Return one line for each page that differs, is not made any more, or lacks a model."""
    try:
        made = files(root)
    except LookupError as error:  # a field without a meaning, a docstring without a part
        return [str(error)]
    stale = [path for path, text in made.items() if _read(root / path) != text]
    folder = root / FOLDER / "samplers"
    extra = {path.relative_to(root).as_posix() for path in folder.iterdir()} - made.keys()
    return [
        *(f"{path}: differs; run python -m scripts.reference" for path in stale),
        *(f"{path}: has no sampler; remove it" for path in sorted(extra)),
        *_without_heading(root),
    ]


def _without_heading(root: Path) -> Iterator[str]:
    for name, kinds in DESCRIBED.items():
        path = FOLDER / f"{name}.md"
        headings = set(re.findall(r"^#+ (\w+)$", _read(root / path), re.MULTILINE))
        models = {model for kind in kinds for model in within(kind)} - APART
        models = {model for model in models if has_fields(name, model)}
        own = {one.__name__ for one in models if name == "protocol" or not of_protocol(one)}
        for model in sorted(own - headings):
            yield f"{path.as_posix()}: has no heading {model}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def write(root: Path) -> None:
    """Write every page that differs."""
    for path, text in files(root).items():
        if _read(root / path) != text:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
