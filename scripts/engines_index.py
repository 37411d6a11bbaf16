"""Write the table of engines in docs/check-an-engine.md: `python -m scripts.engines_index`.

Everything in it is read from the folders of engines/ and from studies/findings/programs.toml. An
empty cell is a part that the engine lacks: the test of this script names it.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from sampler_parity.harness.backends.engines import ENGINES, OWN
from sampler_parity.harness.engines.engine_file import Engine, engine_file
from sampler_parity.maintenance.selftest.engine_faults import faults

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "check-an-engine.md"
BEGIN = "<!-- written by python -m scripts.engines_index -->"
END = "<!-- end of the table -->"
HEAD = ("engine", "package", "suites", "draws", "judged by", "timed", "faults", "findings")
KINDS = {"python": "Python", "node": "Node.js"}
# The library that programs of findings name, where an engine has no environment of its own.
PROGRAMS_RUN_ON = {"llama_cpp_python": "llama_cpp"}


def engines_of_others() -> list[Engine]:
    """Return the backends that run samplers of others."""
    rows = [row for row in ENGINES.values() if row.name not in OWN and not _ours(row)]
    return [row for row in rows if _has_environment(row) or row.name in PROGRAMS_RUN_ON]


def _ours(row: Engine) -> bool:
    return any(each.correct for each in engine_file(row.folder).backend)


def _has_environment(row: Engine) -> bool:
    return row.environment in {own.name for own in engine_file(row.folder).environment}


def cells(row: Engine, page: str) -> list[str]:
    """Return the cells of an engine; "" for a part that it lacks. page: its README.md as a line."""
    own = [suite for suite in row.suites if suite != "properties"]
    timed = re.search(rf"run (timing/\w+) [^`]*-b {row.name}\b", page)
    not_timed = "the same" if "Not timed apart" in page else ""
    return [
        _package(row),
        ", ".join(f"`{suite}`" for suite in own),
        ", ".join(f"`{suite}`" for suite in row.draws),
        _judged_by(row),
        f"`{timed[1]}`" if timed else not_timed,
        str(sum(fault.engine == row.name for fault in faults().values())),
        ", ".join(_findings(row)) or ("none" if "None was found" in page else ""),
    ]


def _package(row: Engine) -> str:
    for environment in engine_file(row.folder).environment:
        if environment.name == row.environment:
            return f"`{environment.needs[0]}`, {KINDS[environment.kind]}"
    return "installed with this project"


def _judged_by(row: Engine) -> str:
    if engine_file(row.folder).sampler:
        return "its own"
    return "llama.cpp's" if "parity" in row.suites else ""


def _findings(row: Engine) -> list[str]:
    """Return the findings that a program shows on this engine."""
    programs = tomllib.loads((ROOT / "studies/findings/programs.toml").read_text("utf-8"))
    on = PROGRAMS_RUN_ON.get(row.name, row.environment)
    return [
        number
        for number, of in programs["findings"].items()
        if "programs" in of and on in ([of["on"]] if isinstance(of["on"], str) else of["on"])
    ]


def readme_of(row: Engine) -> str:
    """Return the README of an engine as one line."""
    return " ".join((ROOT / row.documented).read_text(encoding="utf-8").split())


def lines() -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| {' | '.join(HEAD)} |"
    yield "| --- " * len(HEAD) + "|"
    for row in engines_of_others():
        link = f"[`{row.name}`](../{row.documented})"
        yield f"| {' | '.join([link, *cells(row, readme_of(row))])} |"


def with_table(text: str) -> str:
    """Return the page with the table of today between its two marks."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n" + "\n".join(lines()) + f"\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
