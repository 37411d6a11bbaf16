"""Mechanical mutants of a C++ file, all in one file: each is a switch that a number turns on.

A mutant changes one operator, constant, condition or statement inside a function. Its replacement
computes the same as before unless `native_mutant`, a variable of the library, holds its number;
mutants.h has the switches. Positions come from clang's syntax tree.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER = Path(__file__).parent / "mutants.h"

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
# The names of comparisons in mutants.h; the second mutant of each turns it round.
NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
ROUND = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
ARITHMETIC = {"+": ("-", "add"), "-": ("+", "sub"), "*": ("/", "mul"), "/": ("*", "div"),
              "+=": ("-=", "add_to"), "-=": ("+=", "sub_from"), "*=": ("/=", "mul_by"),
              "/=": ("*=", "div_by")}  # fmt: skip
LOGIC = {"&&": ("||", "mutant_and"), "||": ("&&", "mutant_or")}

# Statements that only name a tensor, reserve memory or give it back: dropped, nothing else differs.
WITHOUT_EFFECT = ("ggml_set_name", "ggml_format_name", "reserve(", "delete ")


@dataclass(frozen=True)
class Mutant:
    """name: function, text of the line and what is changed there, so that it stays when others come
    or go. first: of the mutants of one switch."""

    number: int
    line: int
    column: int
    function: str
    what: str
    name: str
    first: bool = True


class Program:
    """A source and its mutants."""

    def __init__(self, source: Path, includes: Iterable[str]) -> None:
        self.source = source
        self.code = source.read_bytes()
        self.lines = self.code.decode().splitlines()
        self.mutants: list[Mutant] = []
        self._named: Counter[str] = Counter()
        self.edits: list[tuple[int, int, str]] = []
        for function in _functions(_parse(source, includes), source):
            self.function = _name_of(function)
            self._walk(function)

    def text(self) -> bytes:
        """Return the source with every switch in it, and the header in front."""
        # at one place what closes comes before what opens; of two that open the outer comes first
        inserted = sorted(enumerate(self.edits), key=lambda e: (e[1][0], e[1][1], e[0]))
        head = f'extern "C" unsigned char native_reached[{len(self.mutants) + 2}] = {{0}};\n'
        head = f'#include "{HEADER}"\nint native_mutant = 0;\n{head}#line 1 "{self.source}"\n'
        out, at = [head.encode()], 0
        for _, (start, _, text) in inserted:
            end = start
            if text.startswith("\0"):  # an operator: the span is replaced, not kept
                length, _, text = text[1:].partition("\0")
                end = start + int(length)
            out += [self.code[at:start], text.encode()]
            at = end
        return b"".join([*out, self.code[at:]])

    def _walk(self, node: Any) -> None:
        kind = node.kind.name
        if kind == "CASE_STMT":
            for child in list(node.get_children())[1:]:
                self._walk(child)
            return
        if kind == "VAR_DECL" and _is_constant(node):
            return
        children = list(node.get_children())
        if kind == "COMPOUND_STMT":
            for child in children:
                self._drop(child)
        if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR") and len(children) == 2:
            self._operator(node, *children)
        elif kind == "UNARY_OPERATOR" and len(children) == 1:
            self._unary(node, children[0])
        elif kind in ("INTEGER_LITERAL", "FLOATING_LITERAL"):
            self._constant(node, kind)
        elif kind == "IF_STMT" and children:
            self._condition(children[0])
        for child in children:
            self._walk(child)

    def _operator(self, node: Any, left: Any, right: Any) -> None:
        middle = (left.extent.end.offset, right.extent.start.offset)
        operator = self.code[slice(*middle)].decode(errors="replace").strip()
        numbers = _arithmetic(left) and _arithmetic(right)
        start, end = node.extent.start.offset, node.extent.end.offset
        if not self._plain(node) or middle[0] > middle[1]:
            return
        if operator in COMPARISONS and numbers:
            whats = [f"`{operator}` to `{COMPARISONS[operator]}`"]
            whats += [f"`{operator}` to `{ROUND[operator]}`"] if operator in ROUND else []
            self._call(f"mutant_{NAMES[operator]}({self._new(node, whats)}, ", start, middle, end)
        elif operator in ARITHMETIC and numbers:
            other, name = ARITHMETIC[operator]
            first = self._new(node, [f"`{operator}` to `{other}`"])
            self._call(f"mutant_{name}({first}, ", start, middle, end)
        elif operator in LOGIC:
            other, name = LOGIC[operator]
            first = self._new(node, [f"`{operator}` to `{other}`"])
            self._call(f"{name.upper()}({first}, ", start, middle, end)

    def _unary(self, node: Any, operand: Any) -> None:
        start, inner = node.extent.start.offset, operand.extent.start.offset
        end = node.extent.end.offset
        operator = self.code[start:inner].decode(errors="replace").strip()
        if not self._plain(node) or not _arithmetic(operand):
            return
        if operator in ("-", "!"):
            first = self._new(node, [f"`{operator}` dropped"])
            name = "mutant_minus" if operator == "-" else "mutant_not"
            self._insert(start, end, f"{name}({first}, ", inner - start)
            self._insert(end, end, ")")

    def _constant(self, node: Any, kind: str) -> None:
        start, end = node.extent.start.offset, node.extent.end.offset
        text = self.code[start:end].decode(errors="replace")
        if not self._plain(node) or not text[:1].isdigit():
            return
        whole = kind == "INTEGER_LITERAL"
        whats = [f"`{text}` + 1", f"`{text}` - 1"] if whole else [f"`{text}` + 1", f"`{text}` / 2"]
        if text.startswith("0.0"):
            whats = whats[:1]  # half of it is it
        name = "mutant_whole" if whole else "mutant_number"
        self._insert(start, end, f"{name}({self._new(node, whats)}, ")
        self._insert(end, end, ")")

    def _condition(self, node: Any) -> None:
        """Mutate a condition that is no operator: a call, a pointer, a flag."""
        if node.kind.name not in (
            "CALL_EXPR",
            "UNEXPOSED_EXPR",
            "DECL_REF_EXPR",
            "MEMBER_REF_EXPR",
        ):
            return
        start, end = node.extent.start.offset, node.extent.end.offset
        operator = any(
            op in self.code[start:end].decode(errors="replace")
            for op in ("<", "==", "!=", "&&", "||", ">=")
        )
        if operator or not self._plain(node):
            return
        self._insert(start, end, f"MUTANT_TRUE({self._new(node, ['condition negated'])}, ")
        self._insert(end, end, ")")

    def _drop(self, node: Any) -> None:
        """Drop a statement of a block: an assignment, a call, a jump."""
        kinds = ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "CALL_EXPR", "UNARY_OPERATOR",
                 "BREAK_STMT", "CONTINUE_STMT")  # fmt: skip
        start, end = node.extent.start.offset, node.extent.end.offset
        if node.kind.name not in kinds or not self._plain(node):
            return
        text = self.code[start:end].decode(errors="replace")
        if self.code[end : end + 1] != b";" or any(name in text for name in WITHOUT_EFFECT):
            return
        first = self._new(node, ["statement dropped"])
        self._insert(start, end, f"if (!mutant_on({first})) {{ ")
        self._insert(end + 1, end + 1, " }")

    def _call(self, opening: str, start: int, middle: tuple[int, int], end: int) -> None:
        self._insert(start, end, opening)
        self._insert(middle[0], middle[1], ", ", middle[1] - middle[0])
        self._insert(end, end, ")")

    def _insert(self, at: int, until: int, text: str, replaced: int = 0) -> None:
        """Insert text. until: where the insertion's scope ends: at one place the widest opens
        first.
        """
        rank = -until if until > at else -1 << 40  # what closes comes first
        self.edits.append((at, rank, f"\0{replaced}\0{text}" if replaced else text))

    def _new(self, node: Any, whats: list[str]) -> int:
        """Return the number of the first of these mutants, which this adds."""
        line, column = node.extent.start.line, node.extent.start.column
        first = len(self.mutants) + 1
        text = self.lines[line - 1].strip()
        for i, what in enumerate(whats):
            name = f"{self.function}: {text}: {what}"
            self._named[name] += 1
            if self._named[name] > 1:
                name += f" ({self._named[name]})"
            mutant = Mutant(first + i, line, column, self.function, what, name, i == 0)
            self.mutants.append(mutant)
        return first

    def _plain(self, node: Any) -> bool:
        """Return whether a node is written where it stands, not by a macro."""
        start, end = node.extent.start, node.extent.end
        return (
            start.file is not None
            and start.file.name == str(self.source)
            and start.offset < end.offset
            and not any(
                m in self.lines[start.line - 1] for m in ("GGML_ASSERT", "LLAMA_LOG", "LOG_DBG")
            )
        )


def _parse(source: Path, includes: Iterable[str]) -> Any:
    from clang import cindex  # an extra

    arguments = ["-std=gnu++17", "-DNDEBUG", *includes, *_builtin()]
    unit = cindex.Index.create().parse(str(source), args=arguments)
    errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if errors:
        raise ValueError(f"clang cannot read {source.name}: {errors[0].spelling}")
    return unit.cursor


def _builtin() -> list[str]:
    """Return the compiler's own headers, which the package libclang does not bring."""
    import subprocess

    done = subprocess.run(
        ["g++", "-print-file-name=include"], capture_output=True, encoding="utf-8", check=True
    )
    return ["-isystem", done.stdout.strip()]


def _functions(unit: Any, source: Path) -> Iterator[Any]:
    """Yield every function of the file that has a body, in order; those inside classes, too."""
    for node in unit.get_children():
        if node.location.file is None or node.location.file.name != str(source):
            continue
        yield from _bodies(node)


def _bodies(node: Any) -> Iterator[Any]:
    kind = node.kind.name
    if kind in ("FUNCTION_DECL", "CXX_METHOD", "CONSTRUCTOR", "FUNCTION_TEMPLATE"):
        if any(child.kind.name == "COMPOUND_STMT" for child in node.get_children()):
            yield node
    elif kind in ("STRUCT_DECL", "CLASS_DECL", "CLASS_TEMPLATE", "NAMESPACE", "LINKAGE_SPEC"):
        for child in node.get_children():
            yield from _bodies(child)


def _name_of(function: Any) -> str:
    parent = function.semantic_parent
    is_member = parent is not None and parent.kind.name in (
        "STRUCT_DECL",
        "CLASS_DECL",
        "CLASS_TEMPLATE",
    )
    return f"{parent.spelling}::{function.spelling}" if is_member else str(function.spelling)


def _arithmetic(node: Any) -> bool:
    from clang import cindex

    kinds = cindex.TypeKind
    kind = node.type.get_canonical().kind
    numbers = (
        "BOOL CHAR_S SCHAR UCHAR SHORT USHORT INT UINT LONG ULONG LONGLONG ULONGLONG FLOAT DOUBLE"
    )
    return kind in [getattr(kinds, name) for name in numbers.split()]


def _is_constant(node: Any) -> bool:
    """Return whether a value is fixed at compile time, or once: constexpr, static, array."""
    from clang import cindex

    if node.storage_class == cindex.StorageClass.STATIC:
        return True
    tokens = [token.spelling for token in node.get_tokens()][:2]
    array = "array<" in node.type.spelling or node.type.kind == cindex.TypeKind.CONSTANTARRAY
    return "constexpr" in tokens or array
