"""Contents of a folder before the commands of a page of the docs are run there."""

import re
import shutil
from pathlib import Path

from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.llama_cpp.libllama import default_folder
from tests.support.doc_commands import ROOT
from tests.support.report_bundles import got
from tests.support.several_bundles import bundle_on

# By commands, in the folder itself; the last two by the README.
MADE = ("bundles", "report", "build", "dist", "out", ".try", "my-sampler")
CACHE = ".cache"
TEMPLATE = ROOT / "harness" / "cli" / "templates" / "adapter.mjs"
# By page: a file whose text is the page's first block of code in the file's language.
OF_A_BLOCK = {
    "docs/write-an-adapter.md": "gate.toml",
    "docs/run-suites.md": "my-suite.toml",
    "docs/before-you-upgrade.md": "request.json",
}
# By page: a file and its text.
FILES = {
    "docs/ci-and-gate.md": ("gate.toml", "schema_version = 1\n\n[[parity]]\nbackend = '*'\n"),
    "docs/background/golden.md": ("prompts.txt", "hello\n\nthe world\n"),
}


def prepare(folder: Path, page: str) -> None:
    """Fill the folder: a clone, by links; an adapter; the files that the page assumes."""
    for path in ROOT.iterdir():
        if path.name not in MADE and path.name != ".git":
            (folder / path.name).symlink_to(path)
    shutil.copy(TEMPLATE, folder / "my-adapter.js")
    _cache(folder / CACHE)
    if page in OF_A_BLOCK:
        _first_block(folder, page, OF_A_BLOCK[page])
    if page in FILES:
        name, text = FILES[page]
        (folder / name).write_text(text)
    if page == "docs/check-llama-cpp.md":
        (folder / "installed").symlink_to(default_folder())
    if page == "docs/read-results.md":
        _old_and_new(folder / "bundles")


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


def _old_and_new(bundles: Path) -> None:
    outcomes = {"old": got("diverged", stage="temp"), "new": got()}
    for day, (name, outcome) in enumerate(outcomes.items(), 20):
        started = f"2026-11-{day}T00:00:00+00:00"
        bundle_on(bundles / name, {"temp/a": outcome}, backend="mine", started=started)


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
