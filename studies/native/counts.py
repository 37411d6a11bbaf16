"""The counts of gcov: how often each line ran, and how often each way out of it was taken.

Ways that only an exception takes are left out: gcc makes one of every call. A line that several
functions hold (templates) has the sum of them.
"""

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError


@dataclass(frozen=True)
class Line:
    """function: as in the source, without arguments. text: the source's, stripped."""

    file: str
    number: int
    function: str
    text: str
    count: int
    branches: tuple[int, ...]


Counts = dict[str, dict[str, list[Line]]]  # file -> part of the run -> its lines


def read(folder: Path, source: Path) -> list[Line]:
    """Read the lines of one source that hold code, from the counts in a folder. Raises OSError."""
    data = folder / f"{source.stem}.gcda"
    command = ["gcov", "--json-format", "--branch-probabilities", "--stdout", data.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=True)
    report = json.loads(done.stdout)
    (file,) = (file for file in report["files"] if Path(file["file"]).name == source.name)
    names = _names(file["functions"])
    texts = source.read_text(encoding="utf-8").splitlines()
    lines: dict[int, Line] = {}
    for entry in file["lines"]:
        number = entry["line_number"]
        line = Line(
            file=source.name,
            number=number,
            function=names.get(entry.get("function_name", ""), ""),
            text=texts[number - 1].strip(),
            count=entry["count"],
            branches=tuple(b["count"] for b in entry["branches"] if not b["throw"]),
        )
        lines[number] = _joined(lines[number], line) if number in lines else line
    return [lines[number] for number in sorted(lines)]


def save(path: Path, counted: Counts, failed: list[str]) -> None:
    lines = {
        file: {part: [asdict(line) for line in of_part] for part, of_part in parts.items()}
        for file, parts in counted.items()
    }
    path.write_text(json.dumps({"failed": failed, "lines": lines}), encoding="utf-8")


def load(path: Path) -> tuple[Counts, list[str]]:
    """Load counts. Raises InputError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(path, f"holds no counts: {error}", "count first") from None
    counted = {
        file: {part: [_line(line) for line in of_part] for part, of_part in parts.items()}
        for file, parts in data["lines"].items()
    }
    return counted, data["failed"]


def _line(data: dict[str, Any]) -> Line:
    return Line(**data | {"branches": tuple(data["branches"])})


def _names(functions: list[dict[str, Any]]) -> dict[str, str]:
    """Return short names by mangled name; equal ones get a rank by the line where each begins."""
    starts: dict[str, set[int]] = defaultdict(set)
    for function in functions:
        starts[_short(function["demangled_name"])].add(function["start_line"])
    names = {}
    for function in functions:
        short = _short(function["demangled_name"])
        rank = sorted(starts[short]).index(function["start_line"]) + 1
        lone = len(starts[short]) == 1 or short.endswith("(lambda)")
        names[function["name"]] = short if lone else f"{short} #{rank}"
    return names


def _short(demangled: str) -> str:
    """Shorten "llama_sampler_dist_apply(llama_sampler*, ...)" to llama_sampler_dist_apply."""
    name = re.sub(r"\[abi:\w+\]", "", demangled).partition("(")[0]
    while (without := re.sub(r"<[^<>]*>", "", name)) != name:
        name = without
    name = name.split(" ")[-1]
    return f"{name} (lambda)" if "{lambda" in demangled else name


def _joined(a: Line, b: Line) -> Line:
    """Join two instances of a template: the branches that either took, if they are as many."""
    branches = a.branches + b.branches
    if len(a.branches) == len(b.branches):
        branches = tuple(x + y for x, y in zip(a.branches, b.branches, strict=True))
    return Line(a.file, a.number, a.function, a.text, a.count + b.count, branches)


def added(parts: Iterable[list[Line]]) -> list[Line]:
    """Add up the counts of several runs of one build."""
    total: dict[int, Line] = {}
    for lines in parts:
        for line in lines:
            number = line.number
            total[number] = _joined(total[number], line) if number in total else line
    return [total[number] for number in sorted(total)]


def sampler_of(function: str) -> str:
    """Return the sampler of a function (top_p of llama_sampler_top_p_apply), "" for several."""
    for pattern, sampler in _WHOSE:
        if re.search(pattern, function):
            return sampler
    return ""


# Their names in functions are not always llama.cpp's own names of the samplers.
_WHOSE = [
    (r"reasoning_budget|token_matcher", "reasoning_budget"),
    (r"common_sampler", "common_sampler"),
    (r"llama_grammar|grammar|decode_utf8|parse_(hex|space|name|char|int|token)", "grammar"),
    (r"is_(digit|word)_char|print_(rule|grammar)|is_end_of_sequence", "grammar"),
    (r"mirostat_v2", "mirostat_v2"),
    (r"mirostat", "mirostat"),
    (r"top_n_sigma", "top_n_sigma"),
    (r"top_k", "top_k"),
    (r"top_p", "top_p"),
    (r"min_p", "min_p"),
    (r"typical", "typical_p"),
    (r"temp_ext", "temp_ext"),
    (r"temp(_|$)|temp_sampling", "temp"),
    (r"xtc", "xtc"),
    (r"penalties", "penalties"),
    (r"dry|get_overlapping", "dry"),
    (r"adaptive_p", "adaptive_p"),
    (r"logit_bias", "logit_bias"),
    (r"infill", "infill"),
    (r"greedy", "greedy"),
    (r"dist(_|$|::)", "dist"),
    (r"chain", "chain"),
]
