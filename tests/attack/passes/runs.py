"""Ways to a false pass that change run.json: what was run, with what, when."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

from sampler_parity.harness.suite.file import find_suites, read_suite
from tests.attack.passes.forgery import TABLE, Forgery, Line
from tests.attack.passes.records import Way


def _without(line: Line, *names: str) -> Line:
    return {key: value for key, value in line.items() if key not in names}


def of_info() -> Iterator[Way]:
    """Yield runs whose claims contradict each other, this version or the policy. The verdicts are
    forged completely."""

    def way(name: str, change: Callable[[Forgery], None]) -> Way:
        def forge(forgery: Forgery) -> None:
            forgery.pass_all()
            change(forgery)

        return f"run: {name}", forge

    def suites(name: str, change: Callable[[Line], Line]) -> Way:
        return way(f"suites: {name}", lambda f: f.set_info(suites=change(f.info()["suites"])))

    for name, changes in TABLE["run"].items():
        yield way(name, partial(Forgery.set_info, **changes))
    for name, changes in TABLE["run, an entry more or changed"].items():
        yield way(name, partial(Forgery.merge_info, **changes))
    for name, changes in TABLE["run, its backend"].items():
        yield way(f"backend: {name}", partial(Forgery.backend, **changes))
    yield suites("one of two", lambda was: _without(was, "parity/logit_bias"))
    yield suites("other digests, all", lambda was: dict.fromkeys(was, "0" * 64))
    yield suites(
        "another name",
        lambda was: {"parity/own" if k == "parity/greedy" else k: v for k, v in was.items()},
    )
    yield way("suites: one of the attacker's, there", _own_suite)
    yield way("started tomorrow", lambda f: f.set_info(started=_days(2)))
    yield way("started too long ago", lambda f: f.set_info(started=_days(-31)))
    yield way("backend: another name", lambda f: f.set_info(backends={"other": _mine(f)}))
    yield way("backend: one more, unasked", lambda f: f.merge_info(backends={"more": _mine(f)}))


def _mine(forgery: Forgery) -> Line:
    return dict(forgery.info()["backends"]["mine"])


def _own_suite(forgery: Forgery) -> None:
    """Name the attacker's own suite, at its path, with the name of ours."""
    path = forgery.folder / "parity" / "greedy.toml"
    path.parent.mkdir()
    path.write_bytes(find_suites(["parity/greedy"])[0].read_bytes() + b"\n# mine\n")
    digest = read_suite(path).sha256
    forgery.merge_info(suites={"parity/greedy": digest}, paths={"parity/greedy": str(path)})


def _days(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def replayed() -> Iterator[Way]:
    """Yield bundles of the right sampler that are handed in for the wrong one. The policy names
    the digest of the wrong one, which is to be released."""

    def way(name: str, change: Callable[[Forgery], None]) -> Way:
        def forge(forgery: Forgery) -> None:
            for file in ("run.json", "results.jsonl", "digests"):
                (forgery.folder / file).write_bytes((forgery.right / file).read_bytes())
            forgery.forget_artifacts()
            change(forgery)

        return f"replayed: {name}", forge

    for name, changes in TABLE["replayed, its backend"].items():
        yield way(name, partial(Forgery.backend, **changes))
    yield way("as it is", lambda f: None)
    yield way("with another digest", lambda f: f.backend(digest=_wanted(f)))
    yield way("with the file's digest and its own", _with_both_digests)
    yield way("under another name", lambda f: f.set_info(backends={"right": _mine(f)}))
    yield way("a month old", lambda f: f.set_info(started=_days(-40)))
    yield way("with the wrong one's run.json", _with_own_run)


def _with_both_digests(forgery: Forgery) -> None:
    released = {"path": "/mine", "sha256": _wanted(forgery), "size": 1}
    forgery.backend(files=[*_mine(forgery).get("files", []), released])


def _wanted(forgery: Forgery) -> str:
    return forgery.policy.partition('sha256 = ["')[2].partition('"')[0]


def _with_own_run(forgery: Forgery) -> None:
    """Take the records of the right sampler, and claim the run of the wrong one."""
    own = forgery.right.parent / "wrong" / "run.json"
    (forgery.folder / "run.json").write_bytes(own.read_bytes())
