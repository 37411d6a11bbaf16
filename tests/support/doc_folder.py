"""Contents of a folder before the commands of a page of the docs are run there."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.llama_cpp.libllama import default_folder
from tests.support.doc_commands import ROOT
from tests.support.report_bundles import got
from tests.support.several_bundles import bundle_on

MADE = ("bundles", "report", "build", "dist", "out")  # by commands, in the folder itself
CACHE = ".cache"
TEMPLATE = ROOT / "harness" / "cli" / "templates" / "adapter.mjs"
POLICY = "schema_version = 1\n\n[[parity]]\nbackend = '*'\n"


def prepare(folder: Path, page: str) -> None:
    """Fill the folder: a clone, by links; an adapter; the files that the page assumes."""
    for path in ROOT.iterdir():
        if path.name not in MADE and path.name != ".git":
            (folder / path.name).symlink_to(path)
    shutil.copy(TEMPLATE, folder / "my-adapter.js")
    _cache(folder / CACHE)
    if page in BEFORE:
        BEFORE[page](folder)


def _cache(folder: Path) -> None:
    """Link the user's cache, but without builds: those that a page registers are forgotten."""
    own = folder / "sampler-parity"
    own.mkdir(parents=True)
    for path in cache_folder().iterdir():
        if path.name != "builds":
            (own / path.name).symlink_to(path)


def _first_block(folder: Path, page: str, name: str) -> None:
    """Write the first block of a page in a file's language into the folder, as that file."""
    text = (ROOT / page).read_text(encoding="utf-8")
    language = Path(name).suffix[1:]
    block = re.search(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    (folder / name).write_text(block[1], encoding="utf-8")


def _write_an_adapter(folder: Path) -> None:
    _first_block(folder, "docs/write-an-adapter.md", "gate.toml")


def _run_suites(folder: Path) -> None:
    _first_block(folder, "docs/run-suites.md", "my-suite.toml")


def _read_results(folder: Path) -> None:
    bundles = folder / "bundles"
    outcomes = {"old": got("diverged", stage="temp"), "new": got()}
    for day, (name, outcome) in enumerate(outcomes.items(), 20):
        started = f"2026-11-{day}T00:00:00+00:00"
        bundle_on(bundles / name, {"temp/a": outcome}, backend="mine", started=started)


def _builds(folder: Path) -> None:
    (folder / "installed").symlink_to(default_folder())


def _golden(folder: Path) -> None:
    (folder / "prompts.txt").write_text("hello\n\nthe world\n")


def _ci(folder: Path) -> None:
    (folder / "gate.toml").write_text(POLICY)


def _upgrade(folder: Path) -> None:
    _first_block(folder, "docs/before-you-upgrade.md", "request.json")


BEFORE: dict[str, Callable[[Path], None]] = {
    "docs/write-an-adapter.md": _write_an_adapter,
    "docs/run-suites.md": _run_suites,
    "docs/ci-and-gate.md": _ci,
    "docs/check-llama-cpp.md": _builds,
    "docs/before-you-upgrade.md": _upgrade,
    "docs/read-results.md": _read_results,
    "docs/background/golden.md": _golden,
}


def fix(folder: Path) -> None:
    """Replace `apply` in the adapter by the second JavaScript block of docs/write-an-adapter.md."""
    text = (ROOT / "docs" / "write-an-adapter.md").read_text(encoding="utf-8")
    before, after = re.findall(r"^```js\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    wrong = re.search(r"^    apply\(c\) \{\n.*?^    \},\n", before, re.MULTILINE | re.DOTALL)
    adapter = folder / "adapter.mjs"
    source = adapter.read_text(encoding="utf-8")
    assert wrong is not None
    assert source.count(wrong[0]) == 1
    adapter.write_text(source.replace(wrong[0], after), encoding="utf-8")


BETWEEN = {'sampler-parity run parity/temp -b "mine=node adapter.mjs" -o bundles/fixed': fix}
