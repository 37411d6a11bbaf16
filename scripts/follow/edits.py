"""The edits that need no decision, made in the folders harness and reference of a tree.

A release is added to the lists, and the signatures and layouts of its llama.h to signatures.toml.
"""

import ctypes
import json
import re
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampler_parity.harness.llama_cpp.signatures import ARGUMENTS, TYPES
from sampler_parity.reference.chronology import SEEN
from scripts.follow.sources import Argument, Sources

CHRONOLOGY = "reference/chronology.py"
SIGNATURES = "harness/llama_cpp/signatures.toml"
PACKAGES = "harness/llama_cpp/packages.toml"
INIT = "llama_sampler_init_"
VALUES = "`_FIXED` of harness/llama_cpp/worker.py, or a parameter of the sampler"

# Names of llama.h for a type of signatures.toml.
_SAME = {
    "llama_vocab *": "void *",
    "llama_model *": "void *",
    "llama_token *": "int32_t *",
    "llama_token": "int32_t",
    "int": "int32_t",
}
Row = dict[str, Any]


@dataclass
class Edited:
    """What was done, a line each, and what nobody but a person can do."""

    done: list[str]
    left: list[str]


@dataclass(frozen=True)
class Step:
    """A release after `before`, the newest known one. version: of its package node-llama-cpp, or ""
    for another package. old, new: their sources, None if the package has none."""

    release: str
    before: str
    version: str
    old: Sources | None
    new: Sources | None


def edit(root: Path, step: Step) -> Edited:
    """Add a release to the lists of a tree."""
    made = Edited([], [])
    chronology = root / CHRONOLOGY
    text = chronology.read_text(encoding="utf-8")
    text = re.sub(r'^SEEN = ".*?"', f'SEEN = "{step.release}"', text, flags=re.MULTILINE)
    chronology.write_text(text, encoding="utf-8")
    made.done.append(f"{CHRONOLOGY}: SEEN is {step.release}")
    if step.release.startswith("v"):
        number = f"the build number of {step.release} (`llama-cli --version` of it)"
        made.left.append(f"{CHRONOLOGY}: BUILDS, {number}")
    if step.version:
        with (root / PACKAGES).open("a", encoding="utf-8") as file:
            file.write(f'"{step.release}" = "{step.version}"\n')
        made.done.append(f"{PACKAGES}: {step.release} is {step.version}")
        made.left.append("docs/background/builds.md: the table of packages, which a test compares")
    if step.new is not None:
        _edit_signatures(root / SIGNATURES, step, made)
    else:
        assumed = f"the package has no llama.h: signatures as in {step.before} are assumed"
        made.left.append(f"{SIGNATURES}: {assumed}")
    return made


def _edit_signatures(path: Path, step: Step, made: Edited) -> None:
    text = path.read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    for name, rows in tables["samplers"].items():
        if rows[-1].get("until", SEEN) == SEEN:
            changed = _rows(name, rows, step, made)
            text = text if changed is None else replaced(text, name, changed)
    layouts = _layouts(tables["model_layout"], step, made)
    path.write_text(layouts(text), encoding="utf-8")


def _rows(name: str, rows: list[Row], step: Step, made: Edited) -> list[Row] | None:
    """Return the rows of a sampler with the new release, None if they stay as they are."""
    assert step.new is not None
    symbol = INIT + rows[-1].get("symbol", name)
    now = step.new.prototypes.get(symbol)
    last = {**rows[-1], "until": SEEN}
    if now is None:
        made.done.append(f"{SIGNATURES}: {name} ends at {SEEN}, {step.release} lacks it")
        return [*rows[:-1], last]
    known = rows[-1]["arguments"]
    arguments = _named(known, step.old.prototypes.get(symbol) if step.old else None, now)
    if arguments == known and all(map(_is_typed, known, now)):
        return None
    if unknown := [one for one in now if _type(one) not in TYPES]:
        made.left.append(
            f"{SIGNATURES}: {name} takes `{unknown[0]}`, a type that TYPES of"
            " harness/llama_cpp/signatures.py lacks; its cases are not run"
        )
        return [*rows[:-1], last]
    pairs = zip(now, arguments, strict=True)
    if new := [one for one, n in pairs if n not in ARGUMENTS or not _is_typed(n, one)]:
        listed = ", ".join(f"`{argument}`" for argument in new)
        made.left.append(
            f"{SIGNATURES}: {name} takes {listed}: add a name of this type to [arguments], a row"
            f" since {step.release}, and a value: {VALUES}; its cases are not run"
        )
        return [*rows[:-1], last]
    made.done.append(f"{SIGNATURES}: {name}({', '.join(arguments)}) since {step.release}")
    row = {k: v for k, v in rows[-1].items() if k == "symbol"}
    return [*rows[:-1], last, row | {"since": step.release, "arguments": arguments}]


def _named(
    known: list[str], before: tuple[Argument, ...] | None, now: tuple[Argument, ...]
) -> list[str]:
    """Return our names of arguments: those that llama.h named before keep theirs."""
    if before is None:  # only the types can be compared
        return known if len(known) == len(now) else [one.name for one in now]
    ours = dict(zip((one.name for one in before), known, strict=False))
    return [ours.get(one.name, one.name) for one in now]


def _type(argument: Argument) -> str:
    return _SAME.get(argument.type, argument.type)


def _is_typed(name: str, argument: Argument) -> bool:
    return ARGUMENTS[name] is TYPES.get(_type(argument))


def replaced(text: str, name: str, rows: list[Row]) -> str:
    """Return signatures.toml with other rows of a sampler."""
    inline = re.compile(rf"^{name} = \[(?:\{{[^\n]*\}}\]\n|\n.*?^\]\n)", re.MULTILINE | re.DOTALL)
    block = re.compile(rf"^\[\[samplers\.{name}\]\]\n.*?(?=^\[|^#|\Z)", re.MULTILINE | re.DOTALL)
    text = block.sub("", inline.sub("", text))
    made = "".join(f"[[samplers.{name}]]\n{''.join(map(_line, row.items()))}\n" for row in rows)
    return text.replace("[[model_layout]]\n", f"{made}[[model_layout]]\n", 1)


def _line(item: tuple[str, Any]) -> str:
    name, value = item
    written = f"{name} = {json.dumps(value)}\n"
    if len(written) <= 100:
        return written
    inside = textwrap.fill(json.dumps(value)[1:-1], 96, initial_indent="    ",
        subsequent_indent="    ")  # fmt: skip
    return f"{name} = [\n{inside},\n]\n"


def _layouts(rows: list[Row], step: Step, made: Edited) -> Any:
    """Return a function that adds the layout of llama_model_params to signatures.toml, if it is
    another one."""
    assert step.new is not None
    found = layout(step.new.structures.get("llama_model_params", ()))
    known = {name: rows[-1][name] for name in ("n_gpu_layers", "vocab_only")}
    if found == known:
        return lambda text: text
    # without a row no model is loaded on a guess: its fields would be written elsewhere
    ended = rows[-1] | {"until": SEEN}
    new = [] if found is None else [{"since": step.release, **found}]
    if found is None:
        made.left.append(
            f"{SIGNATURES}: the layout of llama_model_params, which has an unknown type"
        )
    else:
        shown = ", ".join(f"{name} at {at}" for name, at in found.items())
        made.done.append(f"{SIGNATURES}: llama_model_params has {shown} since {step.release}")

    return lambda text: layout_rows(text, [*rows[:-1], ended, *new])


def layout_rows(text: str, rows: list[Row]) -> str:
    """Return signatures.toml with other rows of llama_model_params, which stand last."""
    written = (f"[[model_layout]]\n{''.join(map(_line, row.items()))}" for row in rows)
    return text[: text.index("[[model_layout]]")] + "\n".join(written)


def layout(fields: tuple[Argument, ...]) -> dict[str, int] | None:
    """Return the offsets of the fields of llama_model_params that are set; None for a field of a
    type of unknown size, or without these fields."""
    types = [(one.name, _field(one)) for one in fields]
    if any(kind is None for _, kind in types):
        return None
    laid = type("Laid", (ctypes.Structure,), {"_fields_": types})
    if not all(hasattr(laid, name) for name in ("n_gpu_layers", "vocab_only")):
        return None
    return {name: getattr(laid, name).offset for name in ("n_gpu_layers", "vocab_only")}


def _field(one: Argument) -> Any:
    if "*" in one.type or one.type.endswith("_callback"):
        return ctypes.c_void_p
    return ctypes.c_int32 if one.type.startswith("enum ") else TYPES.get(one.type)


def known_symbols(root: Path) -> set[str]:
    """Return the initializers that signatures.toml has, of any release."""
    tables = tomllib.loads((root / SIGNATURES).read_text(encoding="utf-8"))
    rows = [(n, r) for n, every in tables["samplers"].items() for r in every]
    return {INIT + row.get("symbol", name) for name, row in rows} | {INIT + "grammar_lazy"}


def exported(library: Path) -> set[str]:
    """Return the initializers of samplers that a libllama names."""
    content = library.read_bytes()
    return {name.decode() for name in re.findall(rb"\0(llama_sampler_init_\w+)(?=\0)", content)}
