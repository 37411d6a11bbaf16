"""Ways to a false pass that change, remove, swap or invent records."""

import copy
import functools
import json
from collections.abc import Callable, Iterator

from tests.attack.passes.forgery import Forgery, Line, Seal, counted, failed

Way = tuple[str, Callable[[Forgery], None]]
SEALS: tuple[Seal, ...] = ("as it was", "footer", "all")
_BLANK: Line = {
    "stage": "",
    "stage_index": None,
    "step": None,
    "what": "",
    "values": {},
    "detail": "",
    "ties": False,
    "row": None,
}


def result(line: Line, **changes: object) -> Line:
    backends = {name: got | changes for name, got in line["backends"].items()}
    return line | {"backends": backends}


EDITS: dict[str, Callable[[Line], Line | None]] = {
    "verdict alone": lambda line: result(line, verdict="identical"),
    "verdict, and what differed": lambda line: result(line, verdict="identical", **_BLANK),
    "verdict close, accepted": lambda line: result(line, verdict="close") | {"accept": "close"},
    "verdict tied, accepted": lambda line: result(line, verdict="tied") | {"accept": "tied"},
    "verdict correct, accepted": lambda line: (
        result(line, verdict="correct", **_BLANK) | {"accept": "correct"}
    ),
    "verdict skipped": lambda line: result(line, verdict="skipped", detail="not claimed"),
    "verdict unsupported, required": lambda line: (
        result(line, verdict="unsupported") | {"required": {"mine": ["unsupported"]}}
    ),
    "its failure is required": lambda line: line | {"required": {"mine": ["diverged"]}},
    "its failure is required, too": lambda line: (
        line | {"required": {"mine": ["identical", "diverged"]}}
    ),
    "no sampler": lambda line: line | {"samplers": []},
    "another sampler": lambda line: line | {"samplers": ["temp"]},
    "steps below 0": lambda line: result(line, verdict="identical", **_BLANK) | {"steps": -1},
    "a thousand steps": lambda line: result(line, verdict="identical", **_BLANK) | {"steps": 1000},
    "asked 100 times, failed 99": lambda line: result(
        line, verdict="identical", asked={"identical": 1, "diverged": 99}, **_BLANK
    ),
    "asked 100 times, of a run that asks once": lambda line: result(
        line, verdict="identical", asked={"identical": 100}, **_BLANK
    ),
    "result of another backend": lambda line: (
        line
        | {"backends": {"ghost": line["backends"]["mine"] | {"verdict": "identical"}}}
        | {"required": {"ghost": ["identical"], "mine": ["identical"]}}
    ),
    "result of one more backend": lambda line: (
        result(line, verdict="identical", **_BLANK)
        | {"required": {"ghost": ["identical"], "mine": ["identical"]}}
        | {
            "backends": {
                "mine": line["backends"]["mine"] | {"verdict": "identical"} | _BLANK,
                "ghost": line["backends"]["mine"],
            }
        }
    ),
    "no result": lambda line: line | {"backends": {}},
    "no requirement": lambda line: line | {"required": {}, "backends": {}},
    "an unknown id": lambda line: (
        result(line, verdict="identical", **_BLANK) | {"id": f"{line['id']}-more"}
    ),
    "an unknown suite": lambda line: (
        result(line, verdict="identical", **_BLANK) | {"suite": "parity/none"}
    ),
    "another suite": lambda line: (
        result(line, verdict="identical", **_BLANK) | {"suite": "parity/top_k"}
    ),
    "no suite": lambda line: result(line, verdict="identical", **_BLANK) | {"suite": ""},
    "removed": lambda line: None,
}

# With all digests and without other traces of the failure, these are the complete
# forgery: it needs --replay or a signature (docs/ci-and-gate.md).
_CLEAN = {"verdict, and what differed"}


def edits() -> Iterator[Way]:
    """Yield each edit with each seal, and then without artifacts and counterexamples."""
    for name, edit in EDITS.items():
        for seal in SEALS:
            yield f"{name}; digests: {seal}", functools.partial(_edit, edit, seal)
        if name not in _CLEAN:
            yield f"{name}; without traces", functools.partial(_without_traces, edit)


def _edit(edit: Callable[[Line], Line | None], seal: Seal, forgery: Forgery) -> None:
    forgery.each(edit, seal)


def _without_traces(edit: Callable[[Line], Line | None], forgery: Forgery) -> None:
    forgery.forget_artifacts()
    forgery.write([line for line in forgery.lines() if line["kind"] != "counterexample"])
    forgery.each(edit)


def clean(line: Line) -> Line:
    return result(line, verdict="identical", **_BLANK)


def traces_left() -> Iterator[Way]:
    def counterexample_left(forgery: Forgery) -> None:
        forgery.forget_artifacts()
        forgery.each(clean)

    def artifacts_left(forgery: Forgery) -> None:
        forgery.write([line for line in forgery.lines() if line["kind"] != "counterexample"])
        forgery.each(clean)

    def one_artifact_left(forgery: Forgery) -> None:
        first, *_ = sorted((forgery.folder / "artifacts").iterdir())
        content = first.read_bytes()
        forgery.forget_artifacts()
        first.write_bytes(content)
        forgery.write([line for line in forgery.lines() if line["kind"] != "counterexample"])
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


def partial() -> Iterator[Way]:
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

    def of_footer(name: str, **changes: object) -> Way:
        def forge(forgery: Forgery) -> None:
            *lines, footer = forgery.lines()
            forgery.forget_artifacts()
            lines = [clean(x) if failed(x) else x for x in lines if x["kind"] != "counterexample"]
            fitting = footer | counted(lines)
            forgery.write([*lines, fitting], "all")
            *lines, sealed = forgery.lines()
            text = "".join(
                json.dumps(x, separators=(",", ":")) + "\n" for x in [*lines, sealed | changes]
            )
            forgery.results.write_text(text, encoding="utf-8")

        return f"footer: {name}", forge

    yield of_footer("no digests", sha256="", run_sha256="")
    yield of_footer("no digest of the records", sha256="")
    yield of_footer("no digest of run.json", run_sha256="")
    yield of_footer("digests of zeros", sha256="0" * 64, run_sha256="0" * 64)
    yield of_footer("one case less", cases=274)
    yield of_footer("one case more", cases=276)
    yield of_footer("no case", cases=0)
    yield of_footer("cases below 0", cases=-1)
    yield of_footer("other steps", steps=1)
    yield of_footer("steps below 0", steps=-804)
    yield of_footer("cells that are not there", cells=1)
    yield of_footer("skip ratios that are not there", skip_ratios=1)
    yield of_footer("no records", records={})
    yield of_footer("records of another kind", records={"case": 275, "server": 1})
    yield of_footer("time below 0", wall_s=-1.0)

    def of_digests(name: str, content: Callable[[bytes], bytes | None]) -> Way:
        def forge(forgery: Forgery) -> None:
            path = forgery.folder / "digests"
            was = path.read_bytes()
            forgery.forget_artifacts()
            kept = [x for x in forgery.lines() if x["kind"] != "counterexample"]
            forgery.write([clean(x) if failed(x) else x for x in kept], "footer")
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
