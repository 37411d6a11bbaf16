"""Faults by construction: a sampler with one parameter taken otherwise, or one edit of its text.

Nobody wrote these faults down. A diagnosis tries them if no planted fault does as a backend did:
first other values of a parameter, then a stage that does nothing under a condition, then edits of
one expression or statement. The description of each is a sentence about the sampler.
"""

import ast
import functools
import inspect
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sampler_parity.harness.faults import FAMILIES, Mutant
from sampler_parity.harness.faults.patch import Patch
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.registry import REFERENCE_SAMPLERS

TABLES = tomllib.loads(FAMILIES.read_text(encoding="utf-8"))
_OPPOSITE = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}


def families(name: str) -> Iterator[Mutant]:
    """Yield the faults of a sampler, the simplest first; none for the stage of an engine."""
    if name in REFERENCE_SAMPLERS:
        yield from _of_parameters(name)
        yield from _of_text(name, _text(name))


def variants(fault: Mutant) -> Iterator[Mutant]:
    """Yield a planted fault of a sampler's text with one edit more."""
    of, fault_is = fault.of, fault.fault.strip().rstrip(".")
    if isinstance(of, Patch) and fault.sampler in REFERENCE_SAMPLERS and not (of.of or of.file):
        for variant in _of_text(fault.sampler, of.text()):
            _, condition, words = variant.text.rpartition(" if ")
            is_named = bool(condition) and not words.endswith("`")
            but = f"if {words}" if is_named else "everywhere"
            yield replace(variant, name=fault.name, text=f"{fault_is}, but not {but}")


def _of_parameters(name: str) -> Iterator[Mutant]:
    make = REFERENCE_SAMPLERS[name]
    default = {key: of.default for key, of in parameters_of(make).items() if key != "vocab"}

    def mutant(sentence: str, key: str, form: str) -> Mutant:
        code = compile(form, "families.toml", "eval")

        @functools.wraps(make)
        def changed(**parameters: Any) -> Any:
            value = parameters.get(key, default[key])
            if isinstance(value, int | float):
                # the names that expressions of families.toml use
                scope = {"q": value, "kind": type(value), "given": default | parameters}
                parameters = parameters | {key: eval(code, scope)}
            return make(**parameters)

        return Mutant(f"{name}/one-parameter", changed, text=sentence)

    for key, usual in default.items():
        for words, form in TABLES["numbers"].items():
            yield mutant(f"{key} is taken {words}", key, form)
        if isinstance(usual, int | float):
            yield mutant(f"{key} is always {usual}", key, repr(usual))
        for parameter in sorted(default.keys() - {key}):
            yield mutant(f"{parameter} is taken for {key}", key, f"given[{parameter!r}]")


def _text(name: str) -> str:
    return inspect.getsource(Patch("", f"{name}/one-edit", ()).module())


def _of_text(name: str, text: str) -> Iterator[Mutant]:
    """Yield the faults of one edit of a text of the sampler's module."""
    source, right = _Source(text), _text(name)
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef) or "'jit'" in str(
            [*map(ast.dump, function.decorator_list)]
        ):
            continue  # Numba compiles it
        for sentence, node, new in _Edits(name, function, source).all():
            edited = source.with_(node, new)
            if edited != text:
                lines = slice(node.lineno - 1, node.end_lineno)
                read = f"`{_line(text, lines)}` reads `{_line(edited, lines)}`"
                patch = Patch("a diagnosis", f"{name}/one-edit", ((right, edited),))
                yield Mutant(patch.name, patch, text=sentence or read)


class _Source:
    """A text by its nodes, whose columns count bytes."""

    def __init__(self, text: str) -> None:
        self.text, self.whole, self.starts = text, text.encode(), [0]
        for line in self.whole.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def __call__(self, node: Any) -> str:
        return self.whole[self._span(node)].decode()

    def _span(self, node: Any) -> slice:
        begin = self.starts[node.lineno - 1] + node.col_offset
        return slice(begin, self.starts[node.end_lineno - 1] + node.end_col_offset)

    def with_(self, node: Any, new: str) -> str:
        span = self._span(node)
        return (self.whole[: span.start] + new.encode() + self.whole[span.stop :]).decode()


def _line(text: str, lines: slice) -> str:
    return " ".join(" ".join(text.splitlines()[lines]).split()).rstrip(":")


class _Edits:
    """The edits of one function: a sentence or "", a part of it, and the text in its place."""

    def __init__(self, name: str, function: ast.FunctionDef, source: _Source) -> None:
        self.name, self.function, self.source = name, function, source
        parameters = {argument.arg for argument in function.args.args}
        self.of_self = sorted(
            {
                node.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and self.source(node.value) == "self"
            }
        )
        self.inserted = TABLES["inserted"] if "cand" in parameters else {}
        self.where = {
            condition: words
            for condition, words in TABLES["where"].items()
            if ("token" if "token" in condition else "cand") in parameters
        }
        if "cand" in parameters:
            keys = parameters_of(REFERENCE_SAMPLERS[name])
            names = {f"self.{key}": key for key in keys if key in self.of_self}
            names |= {key: key for key in keys if key in parameters}
            self.where |= {
                f"{q} {c}": f"{key} {t}"
                for q, key in names.items()
                for c, t in TABLES["parameter"].items()
            }

    def all(self) -> Iterator[tuple[str, Any, str]]:
        """Yield first what concerns the whole function, then statements, then expressions."""
        # `doc` is used as an index: True, which is 1, skips the docstring.
        doc = isinstance(self.function.body[0], ast.Expr) and len(self.function.body) > 1
        statements = self.function.body[doc and ast.get_docstring(self.function) is not None :]
        first, last = statements[0], statements[-1]
        for condition, words in self.where.items():
            new = f"if {condition}: return\n{' ' * first.col_offset}{self.source(first)}"
            yield f"{self.name} does nothing in `{self.function.name}` if {words}", first, new
        inner = [node for top in statements for node in ast.walk(top)]
        for node in inner:
            if isinstance(node, ast.stmt):
                yield from self._of_statement(node, node is last)
        for node in inner:
            yield from (("", node, new) for new in self._instead(node))

    def _of_statement(self, node: Any, is_last: bool) -> Iterator[tuple[str, Any, str]]:
        text, indent = self.source(node), " " * node.col_offset
        line = _line(text, slice(0, 1))
        yield f"`{line}` is left out in `{self.function.name}`", node, "pass"
        for condition, words in self.where.items():
            new = f"if not ({condition}):\n{indent}    " + text.replace("\n", "\n    ")
            yield f"`{line}` is left out if {words}", node, new
        for added, words in self.inserted.items():
            yield f"{self.name} {words} before `{line}`", node, f"{added}\n{indent}{text}"
            if is_last:
                yield f"{self.name} {words} at its end", node, f"{text}\n{indent}{added}"
        if isinstance(node, ast.Assign):
            value = self.source(node.value)
            for form in TABLES["instead"]["value"]:
                yield "", node.value, form.format(value)
            if isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
                targets = map(self.source, node.targets[0].elts)
                pairs = [*zip(targets, map(self.source, node.value.elts), strict=True)]
                for left_out in pairs:
                    assignments = (f"{t} = {v}" for t, v in pairs if (t, v) != left_out)
                    yield "", node, "; ".join(assignments)

    def _instead(self, node: Any) -> Iterator[str]:
        """Yield what replaces an expression."""
        source = self.source
        match node:
            case ast.Compare(comparators=[right]):
                yield from (
                    f"({source(node.left)} {op} {source(right)})"
                    for op in TABLES["instead"]["comparison"]
                )
            case ast.Constant(value=bool(value)):
                yield str(not value)
            case ast.Constant(value=int() | float()):
                yield from (form.format(node.value) for form in TABLES["instead"]["number"])
            case ast.BoolOp():
                yield from map(source, node.values)
            case ast.UnaryOp():
                yield source(node.operand)
            case ast.BinOp():
                before, after = f"({source(node.left)}", f"{source(node.right)})"
                yield from (f"{before})", f"({after}")
                if type(node.op) in _OPPOSITE:
                    yield f"{before} {_OPPOSITE[type(node.op)]} {after}"
            case ast.Call():
                yield from self._instead_of_call(source(node.func), [*map(source, node.args)])
            case ast.Attribute() if source(node) == "cand.logits.dtype.type":
                yield "np.float64"
            case ast.Attribute(attr="p" | "logits", ctx=ast.Load()) if source(node) != "self.p":
                yield f"{source(node.value)}.{'logits' if node.attr == 'p' else 'p'}"
            case ast.Attribute(ctx=ast.Load()) if source(node.value) == "self":
                yield from (
                    f"self.{attribute}" for attribute in self.of_self if attribute != node.attr
                )
            case ast.Continue():
                yield "break"

    def _instead_of_call(self, called: str, arguments: list[str]) -> Iterator[str]:
        yield from arguments
        if not arguments and "." in called:
            yield called.rpartition(".")[0]
        if (called, arguments) == ("len", ["cand"]):
            yield from TABLES["instead"]["number_of_candidates"]
        if called in ("min", "max"):
            yield f"{'max' if called == 'min' else 'min'}({', '.join(arguments)})"
        if called in ("int", "floats.to_int32"):
            yield from (
                f"{called}({rounding}({arguments[0]}))" for rounding in ("np.rint", "np.ceil")
            )
        if called in ("kind", "float32", "np.float32") and arguments:
            yield f"np.float64({arguments[-1]})"
        if called == "floats.largest":
            yield "cand.max_logit()"
