"""The files of its own that a script loads, found in its text; nothing is run.

JavaScript and TypeScript: every quoted path that begins with ./ or ../ and leads to a file, and the
package.json next to the script. Python: every module that an import names and that lies next to the
script, on PYTHONPATH, or (of `-m`) in the current folder; of a package all its files.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_LARGEST = 8 << 20  # bytes of a script that is searched
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
_QUOTED = re.compile(r"""["'`](\.{1,2}/[^"'`\n]{1,400})["'`]""")
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w., \t]*)", re.MULTILINE)
_ENDS = ("", *_JAVASCRIPT, ".json", ".node", *(f"/index{end}" for end in _JAVASCRIPT))


def loaded_by(script: Path, paths: list[Path]) -> Iterator[Path]:
    """Yield the files and the packages, which are folders, that a script loads, over others as
    well; not the script. paths: where Python looks behind the script's folder."""
    yielded = {script}
    pending = [script]
    while pending:
        for path in _named_in(pending.pop(), [script.parent, *paths]):
            if path not in yielded:
                yielded.add(path)
                yield path
                pending += path.rglob("*.py") if path.is_dir() else [path]


def module_in(name: str, paths: list[Path]) -> Path | None:
    """Return the file or the folder of a module's first part, in the first folder that has it."""
    first = name.partition(".")[0]
    for folder in paths:
        package = folder / first
        loaded = (package / "__init__.py").is_file() or first not in sys.stdlib_module_names
        if first and package.is_dir() and loaded:
            return package.resolve()
        files = [folder / f"{first}.py", *sorted(folder.glob(f"{first}.*.so"))]
        for file in files:
            if first and file.is_file():
                return file.resolve()
    return None


def _named_in(script: Path, paths: list[Path]) -> Iterator[Path]:
    try:
        if script.suffix not in (".py", *_JAVASCRIPT) or script.stat().st_size > _LARGEST:
            return
        text = script.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if script.suffix == ".py":
        for line in _IMPORT.findall(text):
            for name in line.partition(" import ")[0].split(","):
                if name.split() and (module := module_in(name.split()[0], paths)):
                    yield module
        return
    for name in ["./package.json", *_QUOTED.findall(text)]:
        for end in _ENDS:
            path = Path(os.path.normpath(script.parent / f"{name}{end}"))
            if path.is_file():
                yield path.resolve()
                break
