"""A libllama of patched sources."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from sampler_parity.harness.errors import InputError
from studies.native import sources
from studies.patches.table import Patch

BOTH = (sources.SAMPLER, sources.GRAMMAR)


def patched(patches: Iterable[Patch], folder: Path) -> Path:
    """Return llama.cpp's source tree with the patches applied: links, and copies of what changes.
    Raises InputError if a patch does not apply without fuzz."""
    patches, tree = list(patches), sources.sources()
    touched = {file for patch in patches for file in patch.files()}
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    for path in (*tree.iterdir(), *(tree / "src").iterdir()):
        place = path.relative_to(tree)
        if place.as_posix() in touched:
            shutil.copy(path, folder / place)
        elif place.as_posix() != "src":
            (folder / place).symlink_to(path)
    for patch in patches:
        command = ["patch", "--strip=1", "--fuzz=0", "--no-backup-if-mismatch"]
        command += [f"--directory={folder}", f"--input={patch.path}"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            raise InputError(patch.path, f"does not apply: {done.stdout.strip()[-200:]}")
    return folder


def library(patches: Iterable[Patch], folder: Path) -> Path:
    """Compile the sampler file, and the grammar's if it changes or nothing does; return the
    library's folder. The sampler file calls the grammar of its own library, so it is always
    compiled. The tree is kept in FOLDER/tree. Raises InputError."""
    patches = list(patches)
    tree = patched(patches, folder / "tree")
    touched = {file for patch in patches for file in patch.files()}
    grammar = not touched or any("grammar" in file for file in touched)
    files = [tree / file for file in (BOTH if grammar else BOTH[:1])]
    try:
        return sources.build(folder, files, ["-O3"], tree)
    except subprocess.CalledProcessError as error:
        raise InputError(folder, f"cannot be compiled: {str(error.stderr)[-300:]}") from None
