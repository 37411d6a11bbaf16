"""Make a page for each sampler of reference/samplers from the docstring of its file."""

import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.reference import examples, pictures
from scripts.reference.tables import code, table

FOLDER = Path(__file__).resolve().parent.parent.parent / "reference" / "samplers"
SECTIONS = ("Parameters", "Activation", "Ties", "Edges", "Source", "Suite")
NEEDED = {*SECTIONS} - {"Activation"}
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):[ \n]", re.MULTILINE)
_ENTRY = re.compile(r"^    (`[^ ].*?)  +(.*)$")


class Docstring(NamedTuple):
    """The parts of a sampler's docstring. body: its blocks of lines before the sections."""

    title: str
    summary: str
    body: list[str]
    sections: dict[str, str]


def names() -> list[str]:
    """Return the names of all samplers."""
    return sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


def docstring_of(name: str) -> Docstring:
    """Return the parts of the docstring of reference/samplers/NAME.py. Raises LookupError if it
    lacks one."""
    module = importlib.import_module(f"sampler_parity.reference.samplers.{name}")
    first, *found = _SECTION.split(inspect.cleandoc(module.__doc__ or ""))
    head, *body = first.strip().split("\n\n")
    title, _, summary = head.partition(": ")
    sections = dict(zip(found[::2], found[1::2], strict=True))
    lacking = [f"`{name}: EFFECT.`"] if not summary else sorted(NEEDED - sections.keys())
    if lacking:
        problem = f"its docstring lacks {', '.join(lacking)}"
        raise LookupError(f"reference/samplers/{name}.py: {problem}")
    return Docstring(title, summary, body, sections)


def page(name: str) -> str:
    """Return the page of a sampler."""
    return "\n\n".join(_blocks(name, docstring_of(name))) + "\n"


def _blocks(name: str, text: Docstring) -> Iterator[str]:
    example = examples.example_of(name)
    yield f"# {text.title}"
    yield text.summary[0].upper() + text.summary[1:]
    yield from map(_block, text.body)
    yield f"![{pictures.title(name, example)}]({name}.svg)"
    yield f"The stage of the picture{_after(example)}:"
    stage = json.dumps({name: example.parameters})
    yield "\n".join(["```json", *textwrap.wrap(stage, 118), "```"])
    yield from _parameters(text.sections["Parameters"])
    for section in ("Activation", "Ties", "Edges"):
        if section in text.sections:
            yield f"## {section}"
            yield _sentence(text.sections[section])
    yield "## Source and suite"
    suite = text.sections["Suite"].strip()
    source = f"[code](../../../reference/samplers/{name}.py)"
    yield f"{_sentence(text.sections['Source'])}\n\nIts {source} and its [cases](../../../{suite})."


def _after(example: examples.Example) -> str:
    """Return the history in words; nothing where there is none."""
    tokens = [example.texts[i].strip() if example.texts else str(i) for i in example.history]
    return f", after the tokens {', '.join(map(code, tokens))}" if tokens else ""


def _block(text: str) -> str:
    """Return a block of the docstring; a formula is indented there, and code on the page."""
    return f"```text\n{inspect.cleandoc(text)}\n```" if text.startswith("    ") else text


def _sentence(text: str) -> str:
    lines = inspect.cleandoc(text.strip())
    return lines[0].upper() + lines[1:]


def _parameters(text: str) -> Iterator[str]:
    """Yield a table of the entries, and the lines that are none."""
    yield "## Parameters"
    rows: list[list[str]] = []
    rest: list[str] = []
    for line in text.rstrip().split("\n"):
        if entry := _ENTRY.match(line):
            rows.append([entry[1], entry[2]])
        elif line.startswith("     ") and rows:
            rows[-1][1] += f" {line.strip()}"
        elif line.strip():
            rest.append(line.strip())
    if rows:
        yield table(("parameter", "meaning"), rows)
    if rest:
        yield _sentence(" ".join(rest))


_INDEX = """\
# Samplers

Each page has the formula, parameters, ties, edge cases, source and a picture of a sampler. The
pages are made from the docstrings in [reference/samplers](../../reference/samplers) with
`.venv/bin/python -m scripts.reference`.
"""


def index() -> str:
    """Return the page over all samplers."""
    links = {name: f"[{name}](samplers/{name}.md)" for name in names()}
    rows = [[link, _sentence(docstring_of(name).summary)] for name, link in links.items()]
    return f"{_INDEX}\n{table(('sampler', 'what it does'), rows)}\n"
