"""What stands in a folder before the commands of a page of the docs are run there."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from sampler_parity.harness.inputs.vocabularies import cache_folder
from sampler_parity.harness.llama_cpp.libllama import default_folder
from tests.support.doc_commands import ROOT
from tests.support.gate_bundles import finished
from tests.support.report_bundles import case, got, run_info
from tests.support.several_bundles import bundle_on, two_that_differ

MADE = ("bundles", "report", "build", "dist", "out")  # by commands, in the folder itself
CACHE = ".cache"
TEMPLATE = ROOT / "harness" / "cli" / "templates" / "adapter.mjs"
POLICY = "schema_version = 1\n\n[[parity]]\nbackend = '*'\n"


def prepare(folder: Path, page: str) -> None:
    """A clone, by links; an adapter of one's own; what the page takes to be there already."""
    for path in ROOT.iterdir():
        if path.name not in MADE and path.name != ".git":
            (folder / path.name).symlink_to(path)
    shutil.copy(TEMPLATE, folder / "my-adapter.js")
    _cache(folder / CACHE)
    if page in BEFORE:
        BEFORE[page](folder)


def _cache(folder: Path) -> None:
    """The user's, by links, but without builds: those that a page registers are forgotten."""
    own = folder / "sampler-parity"
    own.mkdir(parents=True)
    for path in cache_folder().iterdir():
        if path.name != "builds":
            (own / path.name).symlink_to(path)


def _tour(folder: Path) -> None:
    bundles = folder / "bundles"
    two_that_differ(bundles)
    finished(bundles / "mine", [case("top_p/a", {"mine": got()})], run_info("mine"))
    (folder / "gate.toml").write_text(POLICY)
    shutil.copy(TEMPLATE, folder / "adapter.mjs")


def _read_results(folder: Path) -> None:
    bundles = folder / "bundles"
    for name, verdict, day in (("old", "diverged", "20"), ("new", "identical", "21")):
        started = f"2026-11-{day}T00:00:00+00:00"
        outcome = got(verdict, stage="temp") if verdict == "diverged" else got()
        bundle_on(bundles / name, {"temp/a": outcome}, backend="mine", started=started)


def _builds(folder: Path) -> None:
    (folder / "installed").symlink_to(default_folder())


def _golden(folder: Path) -> None:
    (folder / "prompts.txt").write_text("hello\n\nthe world\n")


def _releasing(folder: Path) -> None:
    (folder / "gate.toml").write_text(POLICY)


BEFORE: dict[str, Callable[[Path], None]] = {
    "docs/quick-start.md": _tour,
    "docs/check-llama-cpp.md": _builds,
    "docs/read-results.md": _read_results,
    "docs/background/golden.md": _golden,
    "docs/releasing.md": _releasing,
}


def fix(folder: Path) -> None:
    """Between two commands of docs/write-an-adapter.md: its second block of code takes the place of
    `apply` in the first."""
    text = (ROOT / "docs" / "write-an-adapter.md").read_text(encoding="utf-8")
    before, after = re.findall(r"^```js\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    wrong = re.search(r"^    apply\(c\) \{\n.*?^    \},\n", before, re.MULTILINE | re.DOTALL)
    adapter = folder / "adapter.mjs"
    source = adapter.read_text(encoding="utf-8")
    assert wrong is not None
    assert source.count(wrong[0]) == 1
    adapter.write_text(source.replace(wrong[0], after), encoding="utf-8")


BETWEEN = {'sampler-parity run parity/temp -b "mine=node adapter.mjs" -o bundles/mended': fix}
