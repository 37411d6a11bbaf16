"""Ways to a false pass that change, remove, swap or invent records."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial

from tests.attack.passes.forgery import BLANK, TABLE, Forgery, Line, Seal, clean, failed, result

Way = tuple[str, Callable[[Forgery], None]]
SEALS: tuple[Seal, ...] = ("as it was", "footer", "all")


def _edited(line: Line, row: Line) -> Line:
    blank = BLANK if "blank" in row else {}
    edited: Line = result(line, **blank | row.get("got", {})) | row.get("line", {})
    return edited


def _of_another(line: Line) -> Line:
    ghost = line["backends"]["mine"] | {"verdict": "identical"}
    required = {"ghost": ["identical"], "mine": ["identical"]}
    return line | {"backends": {"ghost": ghost}, "required": required}


def _of_one_more(line: Line) -> Line:
    backends = clean(line)["backends"] | {"ghost": line["backends"]["mine"]}
    return _of_another(line) | {"backends": backends}


EDITS: dict[str, Callable[[Line], Line | None]] = {
    **{name: partial(_edited, row=row) for name, row in TABLE["edits"].items()},
    "result of another backend": _of_another,
    "result of one more backend": _of_one_more,
    "an unknown id": lambda line: clean(line) | {"id": f"{line['id']}-more"},
    "removed": lambda line: None,
}

# With all digests and without other traces of the failure, these are the complete
# forgery: it needs --replay or a signature (docs/ci-and-gate.md).
_CLEAN = {"verdict, and what differed"}


def edits() -> Iterator[Way]:
    """Yield each edit with each seal, and then without artifacts and counterexamples."""
    for name, edit in EDITS.items():
        for seal in SEALS:
            yield f"{name}; digests: {seal}", partial(_edit, edit, seal)
        if name not in _CLEAN:
            yield f"{name}; without traces", partial(_without_traces, edit)


def _edit(edit: Callable[[Line], Line | None], seal: Seal, forgery: Forgery) -> None:
    forgery.each(edit, seal)


def _without_traces(edit: Callable[[Line], Line | None], forgery: Forgery) -> None:
    forgery.forget_artifacts()
    forgery.forget_counterexamples()
    forgery.each(edit)


def traces_left() -> Iterator[Way]:
    def counterexample_left(forgery: Forgery) -> None:
        forgery.forget_artifacts()
        forgery.each(clean)

    def artifacts_left(forgery: Forgery) -> None:
        forgery.forget_counterexamples()
        forgery.each(clean)

    def one_artifact_left(forgery: Forgery) -> None:
        first, *_ = sorted((forgery.folder / "artifacts").iterdir())
        content = first.read_bytes()
        forgery.forget_artifacts()
        first.write_bytes(content)
        forgery.forget_counterexamples()
        forgery.each(clean)

    yield "all clean but the counterexample", counterexample_left
    yield "all clean but the artifacts", artifacts_left
    yield "all clean but one artifact", one_artifact_left


def kept(name: str, keep: Callable[[list[Line]], list[Line]], seal: Seal) -> Way:
    def forge(forgery: Forgery) -> None:
        header, *lines, footer = forgery.lines()
        forgery.forget_artifacts()
        forgery.write([header, *keep([x for x in lines if x["kind"] == "case"]), footer], seal)

    return f"keeps {name}; digests: {seal}", forge


def incomplete() -> Iterator[Way]:
    """Yield bundles that lack records."""
    keeps: dict[str, Callable[[list[Line]], list[Line]]] = {
        "no case": lambda cases: [],
        "one case": lambda cases: [x for x in cases if not failed(x)][:1],
        "ten cases": lambda cases: [x for x in cases if not failed(x)][:10],
        "what passed": lambda cases: [x for x in cases if not failed(x)],
        "one suite": lambda cases: [x for x in cases if x["suite"] == "parity/logit_bias"],
        "what comes before the first failure": lambda cases: cases[
            : next(i for i, line in enumerate(cases) if failed(line))
        ],
        "what passed, each twice": lambda cases: [x for x in cases if not failed(x)] * 2,
        "what passed, failures under its ids": lambda cases: _ids_of_others(cases),
        "what passed, and others in place of failures": lambda cases: _others(cases),
    }
    for name, keep in keeps.items():
        for seal in SEALS:
            yield kept(name, keep, seal)


def _ids_of_others(cases: list[Line]) -> list[Line]:
    right = next(line for line in cases if not failed(line))
    return [copy.deepcopy(right) | {"id": line["id"]} if failed(line) else line for line in cases]


def _others(cases: list[Line]) -> list[Line]:
    right = next(line for line in cases if not failed(line))
    return [
        copy.deepcopy(right) | {"id": f"greedy/more-{i}"} if failed(line) else line
        for i, line in enumerate(cases)
    ]


def footers() -> Iterator[Way]:
    """Yield bundles whose footer or `digests` do not fit the records."""

    def of_footer(name: str, changes: Line) -> Way:
        def forge(forgery: Forgery) -> None:
            forgery.pass_all()
            *lines, footer = forgery.lines()
            forgery.write([*lines, footer | changes], "as it was", recount=False)

        return f"footer: {name}", forge

    for name, changes in TABLE["footer"].items():
        yield of_footer(name, changes)

    def of_digests(name: str, content: Callable[[bytes], bytes | None]) -> Way:
        def forge(forgery: Forgery) -> None:
            path = forgery.folder / "digests"
            was = path.read_bytes()
            forgery.pass_all("footer")
            now = content(was)
            path.unlink()
            if now is not None:
                path.write_bytes(now)

        return f"digests: {name}", forge

    yield of_digests("those of the run", lambda was: was)
    yield of_digests("missing", lambda was: None)
    yield of_digests("empty", lambda was: b"")
    yield of_digests("that of run.json alone", lambda was: was[:17])
    yield of_digests("half of them", lambda was: was[: len(was) // 34 * 17])
    yield of_digests("of zeros", lambda was: b"0" * 16 + b"\n" + b"0" * 16 + b"\n")
    yield of_digests("in another order", lambda was: b"".join(reversed(was.splitlines(True))))
    yield of_digests("no text", lambda was: bytes(range(256)))


def frames() -> Iterator[Way]:
    """Yield bundles whose lines are cut, doubled, merged or in another order."""

    def lines(name: str, change: Callable[[Forgery, list[Line]], list[Line]]) -> Iterator[Way]:
        for seal in SEALS:

            def forge(forgery: Forgery, seal: Seal = seal) -> None:
                forgery.write(change(forgery, forgery.lines()), seal)

            yield f"lines: {name}; digests: {seal}", forge

    def right(forgery: Forgery) -> list[Line]:
        text = (forgery.right / "results.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    yield from lines("those of the right sampler", lambda f, own: right(f))
    yield from lines("first its own, then the right ones", lambda f, own: own + right(f))
    yield from lines("first the right ones, then its own", lambda f, own: right(f) + own)
    yield from lines(
        "the right ones in place of failures",
        lambda f, own: [
            next(x for x in right(f) if x.get("id") == line["id"]) if failed(line) else line
            for line in own
        ],
    )
    yield from lines("no footer", lambda f, own: own[:-1])
    yield from lines("the footer before the failures", lambda f, own: _footer_first(own))
    yield from lines("no header", lambda f, own: own[1:])
    yield from lines("nothing", lambda f, own: [])
    yield from lines("failures last", lambda f, own: sorted(own[:-1], key=failed) + own[-1:])

    def torn(forgery: Forgery) -> None:
        content = forgery.results.read_bytes()
        first = next(i for i, line in enumerate(forgery.lines()) if failed(line))
        kept_lines = content.splitlines(keepends=True)[:first]
        forgery.results.write_bytes(b"".join(kept_lines) + b'{"kind":"case","id":"gre')

    yield "lines: cut off before the first failure", torn


def _footer_first(lines: list[Line]) -> list[Line]:
    right = [line for line in lines[:-1] if not failed(line)]
    return [*right, lines[-1], *(line for line in lines if failed(line))]
