"""Read the sentences of pages, docstrings and comments, and count what language rules forbid.

The rules are in tests/project/prose.toml. `python -m tests.support.prose PATH...` prints every
breach in these files or folders, as FILE:LINE: RULE: TEXT.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "tests" / "project" / "prose.toml"


@dataclass(frozen=True)
class Sentence:
    """A sentence with its place. kind: page, docstring, comment or message."""

    file: str
    line: int
    kind: str
    text: str


@dataclass(frozen=True)
class Breach:
    """A sentence or docstring that breaks a rule."""

    file: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        """Format the breach as FILE:LINE: RULE: TEXT."""
        return f"{self.file}:{self.line}: {self.rule}: {self.text[:160]}"


@cache
def rules() -> dict[str, Any]:
    return tomllib.loads(RULES.read_text(encoding="utf-8"))


def tracked(under: str = "") -> list[str]:
    """Return the files under git, relative to the root, without those that `skipped` names."""
    command = ["git", "ls-files", "-co", "--exclude-standard", *([under] if under else [])]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [
        name
        for name in names.splitlines()
        if (ROOT / name).is_file() and not any(Path(name).match(p) for p in rules()["skipped"])
    ]


# --- pages

_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_BLOCK = re.compile(r"^\s*([-*+]|\d+\.)\s+|^\s*#+\s+|^\s*>\s?")


def page_sentences(file: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a Markdown page; a heading, list item or table cell is a block."""
    for line, block in _page_blocks(text):
        yield from _sentences(file, line, "page", block)


def _page_blocks(text: str) -> Iterator[tuple[int, str]]:
    block: list[str] = []
    start, fenced, listed = 1, False, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if _FENCE.match(line):
            fenced = not fenced
            line = ""
        elif fenced:
            continue
        indented = line.startswith("    ") and not block and not listed
        begins = bool(_BLOCK.match(line)) or line.lstrip().startswith(("|", "<"))
        if not line.strip() or indented or begins:
            if block:
                yield start, " ".join(block)
            block = []
        if line.strip():
            listed = bool(re.match(r"\s*([-*+]|\d+\.)\s", line)) or (
                listed and line.startswith(" ")
            )
        if not line.strip() or indented or line.lstrip().startswith("<"):
            continue
        if line.lstrip().startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line):
                if cell.strip(" :-"):
                    yield number, cell.strip()
            continue
        if not block:
            start = number
        block.append(_BLOCK.sub("", line).strip())


# --- Python


def python_sentences(file: str, source: str) -> Iterator[Sentence]:
    """Yield the sentences of docstrings, comments and messages (strings of four words or more)."""
    docstrings, texts = set(), []
    for node in _nodes(source):
        if found := _docstring(node):
            docstrings.add(id(found[0]))
            for line, block in _doc_blocks(found[1]):
                yield from _sentences(file, found[0].lineno + line, "docstring", block)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append((node, node.value))
    yield from comment_sentences(file, _python_comments(source))
    for constant, text in texts:
        if id(constant) not in docstrings and _is_message(text):
            yield Sentence(file, constant.lineno, "message", text)


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_READ = {*_DOCUMENTED, ast.Constant, ast.JoinedStr}


@lru_cache(maxsize=4)
def _nodes(source: str) -> list[ast.AST]:
    """Return the nodes that are read, in the order of ast.walk, which takes twice as long."""
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:  # grows
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [one for one in value if isinstance(one, ast.AST)]
    return [node for node in nodes if type(node) in _READ]


def _docstring(node: ast.AST) -> tuple[ast.Constant, str] | None:
    first = node.body[0] if isinstance(node, _DOCUMENTED) and node.body else None
    value = first.value if isinstance(first, ast.Expr) else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value, value.value
    return None


def _is_message(text: str) -> bool:
    return len(re.findall(r"[A-Za-z]{2,} ", text)) >= 3 and "\n" not in text.strip()


_FIELD = re.compile(r"^\s*[\w, *`.\[\]]{1,40}:(\s|$)")


def _doc_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the blocks of a docstring: a `name: meaning` line begins one; formulas are left out."""
    block: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""]):
        if not line.strip() or _FIELD.match(line) or _BLOCK.match(line):
            if block:
                yield start, " ".join(block)
            block = []
        if line.strip():
            if not block:
                start = number
            block.append(_BLOCK.sub("", line).strip())


def _python_comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments: from a # that is outside of every string. A tokenizer takes longer."""
    lines = source.encode().splitlines()
    inside: dict[int, list[tuple[int, int]]] = {}
    for node in _nodes(source):
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
            if end_line == node.lineno and b"#" not in lines[end_line - 1]:
                continue
            for number in range(node.lineno, end_line + 1):
                first = node.col_offset if number == node.lineno else 0
                last = end if number == end_line else 1 << 30
                inside.setdefault(number, []).append((first, last))
    for number, line in enumerate(lines, 1):
        for found in re.finditer(b"#", line):
            at = found.start()
            if not any(first <= at < last for first, last in inside.get(number, [])):
                yield number, line[at:].decode()
                break


def hash_comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the whole-line # comments of TOML, YAML, a Makefile or a shell script."""
    for number, line in enumerate(source.splitlines(), 1):
        if re.match(r"\s*#( |$)", line):
            yield number, line.strip()


def comment_sentences(file: str, comments: Iterator[tuple[int, str]]) -> Iterator[Sentence]:
    """Yield the sentences of comments; those on successive lines are one text."""
    block: list[str] = []
    start, last = 0, -1
    for line, comment in [*comments, (10**9, "")]:
        text = comment.lstrip("#").strip()
        if line != last + 1 or not text:
            if block:
                yield from _sentences(file, start, "comment", " ".join(block))
            block, start = [], line
        if text and not re.match(r"(noqa|type:|pragma|!|fmt:)", text):
            block.append(text)
        last = line


# --- sentences

_CODE = re.compile(r"(`+).+?\1")
_LINK = re.compile(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])")
_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z`\d])")
_SHORT = re.compile(r"\b(e\.g|i\.e|etc|cf|vs|Fig|No|approx|resp)\.$")


def _sentences(file: str, line: int, kind: str, text: str) -> Iterator[Sentence]:
    plain = _LINK.sub(r"\1", _CODE.sub("`x`", text))
    held = ""
    for part in _END.split(plain):
        held = f"{held} {part}".strip()
        if not _SHORT.search(held):
            if held:
                yield Sentence(file, line, kind, held)
            held = ""
    if held:
        yield Sentence(file, line, kind, held)


def words_in(text: str) -> int:
    """Count the words of a sentence; a span of code is one."""
    return len(re.findall(r"[A-Za-z0-9`][\w`'./:-]*", text))


# --- rules


def sentences_of(file: str, source: str) -> list[Sentence]:
    """Return the sentences of a file by its kind; none of a kind that is not read."""
    suffix = Path(file).suffix
    if suffix == ".md":
        return list(page_sentences(file, source))
    if suffix == ".py":
        return list(python_sentences(file, source))
    if suffix in (".toml", ".yml", ".yaml", ".mk") or Path(file).name == "Makefile":
        return list(comment_sentences(file, hash_comments(source)))
    return []


def inverted(sentence: Sentence) -> bool:
    """Return whether a sentence begins with a word that turns its order around."""
    first = re.match(r"[\"'(*_]*([A-Za-z]+)", sentence.text)
    return first is not None and first[1] in rules()["inverting"]


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = "|".join(rules()["replaced"])
    allowed = "|".join(map(re.escape, rules()["allowed"]))
    return (
        re.compile(rf"(?<![\w-])({words})(?![\w-])", re.IGNORECASE),
        re.compile(allowed, re.IGNORECASE),
    )


def breaches(file: str, source: str) -> Iterator[Breach]:
    """Yield every breach of a file: words, lengths, openings of sentences, verbs of docstrings."""
    yield from breaches_of(file, source, sentences_of(file, source))


def breaches_of(file: str, source: str, sentences: list[Sentence]) -> Iterator[Breach]:
    """Yield every breach of a file whose sentences are known."""
    replaced, longest = rules()["replaced"], rules()["longest"]
    pattern, allowed = _patterns()
    for sentence in sentences:
        text = allowed.sub("", _CODE.sub("`x`", sentence.text))
        for found in pattern.finditer(text):
            better = next(b for w, b in replaced.items() if re.fullmatch(w, found[0].lower()))
            yield Breach(file, sentence.line, f"'{found[0]}', better {better}", sentence.text)
        if sentence.kind == "message":
            continue
        if words_in(sentence.text) > longest:
            count = words_in(sentence.text)
            yield Breach(file, sentence.line, f"{count} words", sentence.text)
        if inverted(sentence):
            yield Breach(file, sentence.line, "begins with", sentence.text)
    if file.endswith(".py") and not Path(file).name.startswith("test_"):
        yield from verbless(file, source)


def verbless(file: str, source: str) -> Iterator[Breach]:
    """Yield the docstrings of functions that do not begin with a verb.

    A property has a noun, as a field has.
    """
    verbs = set(" ".join(rules()["verbs"]).split())
    for node in _nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(ast.unparse(d) for d in node.decorator_list)
            found = _docstring(node)
            if not found or "property" in decorators or not found[1].strip():
                continue
            first = re.match(r"\W*([\w-]+)", found[1])
            if not first or first[1] not in verbs:
                yield Breach(file, found[0].lineno, "no verb", " ".join(found[1].split()))


def main(paths: list[str]) -> int:
    """Print the breaches in files and folders, and how many sentences are inverted."""
    count = 0
    for path in paths or [""]:
        for name in tracked(path):
            if Path(name).suffix in (".md", ".py", ".toml", ".yml", ".yaml"):
                for breach in breaches(name, (ROOT / name).read_text(encoding="utf-8")):
                    count += 1
                    print(breach)
    print(f"{count} breaches")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
