"""English text from the running Python: its help topics and its docstrings.

Both are read in sorted order, so the text depends on nothing but the Python
version.  Docstrings are read out of the source with ``ast``; nothing is
imported, so no module's side effects run.
"""

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# Folders that some distributions leave out or that hold other people's text.
SKIPPED = frozenset(
    {
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "idlelib",
        "turtledemo",
        "pydoc_data",
        "__pycache__",
    }
)


# A help topic longer than this is cut into several documents, between
# paragraphs: the longest are a hundred times the shortest, and a split by
# whole topics would leave next to nothing on one side.
PART = 2500


def parts_of(text: str) -> list[str]:
    """Cut a text between paragraphs into parts of at least ``PART``."""
    parts = [""]
    for paragraph in text.split("\n\n"):
        if len(parts[-1]) >= PART:
            parts.append("")
        parts[-1] += ("\n\n" if parts[-1] else "") + paragraph
    return parts


def topic_documents() -> Iterator[tuple[str, str]]:
    """Yield (name and part, text) of every help topic."""
    for name in sorted(topics):
        for place, part in enumerate(parts_of(topics[name].strip())):
            yield f"topic:{name}:{place}", part


def header(node: Definition) -> str:
    """Write the ``class`` or ``def`` line of a definition."""
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        return f"class {node.name}({bases}):" if bases else f"class {node.name}:"
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word} {node.name}({ast.unparse(node.args)}):"


def documented(node: Definition, depth: int) -> list[str]:
    """Return a definition's header and docstring, then those of its methods."""
    indent = "    " * depth
    own = ast.get_docstring(node)
    parts: list[str] = []
    if own:
        quoted = f'"""{own}"""' if "\n" not in own else f'"""{own}\n"""'
        body = "\n".join(f"{indent}    {line}".rstrip() for line in quoted.split("\n"))
        parts.append(f"{indent}{header(node)}\n{body}")
    if isinstance(node, ast.ClassDef):
        for child in node.body:
            if isinstance(child, Definition):
                parts += documented(child, depth + 1)
    if parts and not own:
        parts.insert(0, f"{indent}{header(node)}")
    return parts


def docstring_documents() -> Iterator[tuple[str, str]]:
    """Yield (module path, text) for each module docstring and definition.

    One document per top-level definition.  The name is the module's, so that
    a module is held out as a whole.
    """
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
        relative = path.relative_to(root)
        if SKIPPED.intersection(relative.parts):
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue  # a few files are broken on purpose
        name = f"module:{relative.as_posix()}"
        own = ast.get_docstring(tree)
        if own:
            yield name, own
        for node in tree.body:
            if isinstance(node, Definition):
                parts = documented(node, 0)
                if parts:
                    yield name, "\n\n".join(parts)
