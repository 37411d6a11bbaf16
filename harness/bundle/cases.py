"""The cases of a bundle in columns: a million of them in 300 MB, where as many models take 4 GB.

Most cases differ in their id and times alone. A record without its id, its chain and its times is a
template, which is kept once, as a line; each case is made of its template when it is asked for. A
line that differs from an earlier one only in those parts is not parsed again.
"""

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any

from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.protocol.messages import to_line
from sampler_parity.harness.sanitize.limits import json_of
from sampler_parity.harness.sanitize.printable import escaped, visible
from sampler_parity.harness.strict import like

_INT = rb"(?:0|-?[1-9]\d{0,17})"
_FLOAT = rb"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:e[+-]?\d+)?"
_NAME = rb'"[\w./:@+-]*"'
_LINE = re.compile(
    rb'\{"kind":"case","id":"([ !#-\[\]-~]*)"(,"suite":.*?),'
    rb'("samplers":\[(?:%b(?:,%b)*)?\],"steps":%b,"draws":%b),"reference_s":(%b)(,"refusal":.*)\n'
    % (_NAME, _NAME, _INT, _INT, _FLOAT)
)
_TIMES = re.compile(rb'"ns":(%b),"wall_s":(%b),' % (_INT, _FLOAT))
_MODELS = 4096  # templates that are kept as models

Chain = tuple[list[str], int, int]  # samplers, steps, draws


class Cases(Sequence[CaseResult]):
    """Cases in the order in which they were added, or sorted. A case is made anew for each use, so
    keep ids or counts rather than cases. `where` and `alike` visit less than every case."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._order: Sequence[int] = range(0)
        self._shape, self._chain = array("I"), array("I")
        self._reference_s, self._wall_s = array("d"), array("d")
        self._ns, self._first = array("q"), array("Q")  # the first time of each case
        self._templates: list[bytes | CaseResult] = []
        self._suites: list[str] = []  # of the templates
        self._chains: list[Chain] = []
        self._known: dict[bytes, int] = {}  # templates by their text, and by that of lines
        self._chain_at: dict[bytes, int] = {}
        self._made: dict[int, CaseResult] = {}
        self._alike: list[list[int]] = []  # the first of them, and their number
        self._firsts: list[tuple[CaseResult, int]] = []  # the same as cases, if they are few
        self._escaped = False

    def add_line(self, line: bytes) -> str | None:
        """Add the case of a line of a known form and return its id; None for any other line."""
        parts = _parts(line)
        shape = parts and self._known.get(parts[0])
        if parts is None or shape is None:
            return None
        _, id, chain, reference_s, ns, wall_s = parts
        self._append(shape, chain, id.decode(), reference_s, map(int, ns), map(float, wall_s))
        return self._ids[-1]

    def add(self, case: CaseResult, line: bytes) -> None:
        """Add the case of a line, which was validated."""
        results = {name: like(got, ns=0, wall_s=0.0) for name, got in case.backends.items()}
        blank = like(case, id="", samplers=[], steps=0, draws=0, reference_s=0.0, backends=results)
        text = to_line(blank).encode()
        is_template = text in self._known
        shape = self._known.setdefault(text, len(self._templates))
        if not is_template:
            same = CaseResult.model_validate(json_of(text)).model_dump() == blank.model_dump()
            self._templates.append(text if same else blank)  # not with NaN in its values
            self._suites.append(case.suite)
        ns = [got.ns for got in case.backends.values()]
        parts = is_template and _parts(line)  # of a second line of its form: there may be more
        if parts and [*map(int, parts[4])] == ns and to_line(case).encode() + b"\n" == line:
            self._known[parts[0]] = shape
        chain = {"samplers": case.samplers, "steps": case.steps, "draws": case.draws}
        chain_text = json.dumps(chain, separators=(",", ":"))[1:-1].encode()
        wall_s = [got.wall_s for got in case.backends.values()]
        self._append(shape, chain_text, case.id, case.reference_s, ns, wall_s)

    def _append(
        self,
        shape: int,
        chain: bytes,
        id: str,
        reference_s: float,
        ns: Iterable[int],
        wall_s: Iterable[float],
    ) -> None:
        at = self._chain_at.get(chain)
        if at is None:
            at = self._chain_at[chain] = len(self._chains)
            samplers, steps, draws = json.loads(b"{%b}" % chain).values()
            self._chains.append((samplers, steps, draws))
        self._ids.append(id)
        self._shape.append(shape)
        self._chain.append(at)
        self._reference_s.append(reference_s)
        self._first.append(len(self._ns))
        self._ns.extend(ns)
        self._wall_s.extend(wall_s)
        self._order, self._alike = range(len(self._ids)), []

    def sort(self) -> None:
        """Put the cases in the order of their suites and ids."""
        rank = {suite: i for i, suite in enumerate(sorted(set(self._suites)))}
        ranks = [rank[suite] for suite in self._suites]
        order = sorted(self._order, key=self._ids.__getitem__)
        order.sort(key=lambda i: ranks[self._shape[i]])
        self._order, self._alike = array("I", order), []

    def escaped(self) -> "Cases":
        """Return the same cases as `visible` makes them. It shares the columns."""
        cases = copy(self)
        cases._made, cases._alike, cases._escaped = {}, [], True
        cases._ids = [visible(id) for id in self._ids]
        cases._chains = [(visible(samplers), *rest) for samplers, *rest in self._chains]
        return cases

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, at: Any) -> Any:
        rows = self._order[at]
        return self._case(rows) if isinstance(rows, int) else [*map(self._case, rows)]

    def __iter__(self) -> Iterator[CaseResult]:
        return map(self._case, self._order)

    def ids(self) -> Iterator[str]:
        return (self._ids[i] for i in self._order)

    def where(self, condition: Callable[[CaseResult], bool]) -> Iterator[CaseResult]:
        """Yield the cases that meet a condition, which must not depend on ids and times."""
        results: dict[tuple[int, int], bool] = {}
        for i in self._order:
            at = self._shape[i], self._chain[i]
            if at not in results:
                results[at] = condition(self._case(i))
            if results[at]:
                yield self._case(i)

    def alike(self) -> Iterator[tuple[CaseResult, int]]:
        """Yield the first of all cases that differ in id and times alone, and their number."""
        if not self._alike:
            counted: dict[tuple[int, int], list[int]] = {}
            for i in self._order:
                counted.setdefault((self._shape[i], self._chain[i]), [i, 0])[1] += 1
            self._alike = [*counted.values()]
            few = self._alike if len(self._alike) <= _MODELS else []
            self._firsts = [(self._case(first), n) for first, n in few]
        return iter(self._firsts or ((self._case(first), n) for first, n in self._alike))

    def _case(self, i: int) -> CaseResult:
        template = self._made.get(self._shape[i]) or self._template(self._shape[i])
        samplers, steps, draws = self._chains[self._chain[i]]
        first = self._first[i]
        results = {
            name: like(got, ns=self._ns[at], wall_s=self._wall_s[at])
            for at, (name, got) in enumerate(template.backends.items(), first)
        }
        case: CaseResult = like(
            template,
            id=self._ids[i],
            samplers=samplers,
            steps=steps,
            draws=draws,
            reference_s=self._reference_s[i],
            backends=results,
        )
        return case

    def _template(self, shape: int) -> CaseResult:
        text = self._templates[shape]
        case = CaseResult.model_validate(json_of(text)) if isinstance(text, bytes) else text
        if self._escaped:
            case = escaped(case)
        if len(self._made) == _MODELS:
            self._made.clear()
        self._made[shape] = case
        return case


def where(
    cases: Iterable[CaseResult], condition: Callable[[CaseResult], bool]
) -> Iterator[CaseResult]:
    """Yield the cases that meet a condition, in order. It must not depend on ids and times."""
    return cases.where(condition) if isinstance(cases, Cases) else filter(condition, cases)


def alike(cases: Iterable[CaseResult]) -> Iterator[tuple[CaseResult, int]]:
    """Yield cases and how many each stands for: those that differ in id and times alone."""
    return cases.alike() if isinstance(cases, Cases) else ((case, 1) for case in cases)


def _parts(line: bytes) -> tuple[bytes, bytes, bytes, float, list[bytes], list[bytes]] | None:
    """Return a line in parts: its text without the others, id, chain, reference_s, ns, wall_s.
    None if it is in no form that this version writes."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    id, suite, chain, reference_s, rest = match.groups()
    times = _TIMES.split(rest)
    return b"\0".join((suite, *times[::3])), id, chain, float(reference_s), times[1::3], times[2::3]
