"""Ways to a false pass that change run.json: what was run, with what, when."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from sampler_parity.harness.suite.file import find_suites, read_suite
from tests.attack.passes.forgery import Forgery, Line, failed
from tests.attack.passes.records import Way, clean


def _pass(forgery: Forgery) -> None:
    """Change every verdict completely, so that only the claims about the run can be refused."""
    forgery.forget_artifacts()
    kept = [line for line in forgery.lines() if line["kind"] != "counterexample"]
    forgery.write([clean(line) if failed(line) else line for line in kept])


def _without(line: Line, *names: str) -> Line:
    return {key: value for key, value in line.items() if key not in names}


def of_info() -> Iterator[Way]:
    """Yield runs whose claims contradict each other, this version or the policy. The verdicts are
    forged completely."""

    def way(name: str, change: Callable[[Forgery], None]) -> Way:
        def forge(forgery: Forgery) -> None:
            _pass(forgery)
            change(forgery)

        return f"run: {name}", forge

    def suites(name: str, change: Callable[[Line], Line]) -> Way:
        return way(f"suites: {name}", lambda f: f.set_info(suites=change(f.info()["suites"])))

    zeros = "0" * 64
    yield suites("none", lambda was: {})
    yield suites("one of two", lambda was: _without(was, "parity/logit_bias"))
    yield suites("one that was not run", lambda was: was | {"parity/top_k": zeros})
    yield suites("one that does not exist", lambda was: was | {"parity/none": zeros})
    yield suites("another digest", lambda was: was | {"parity/greedy": zeros})
    yield suites("no digest", lambda was: was | {"parity/greedy": ""})
    yield suites("other digests, all", lambda was: dict.fromkeys(was, zeros))
    yield suites(
        "another name",
        lambda was: {"parity/own" if k == "parity/greedy" else k: v for k, v in was.items()},
    )
    yield way(
        "suites: one of the attacker's, elsewhere",
        lambda f: f.set_info(
            suites=f.info()["suites"] | {"parity/greedy": zeros},
            paths={"parity/greedy": "/none.toml"},
        ),
    )
    yield way("suites: one of the attacker's, there", _own_suite)
    yield way(
        "suites: changed, and another code",
        lambda f: f.set_info(
            suites=f.info()["suites"] | {"parity/greedy": zeros},
            machine=f.info()["machine"] | {"code": zeros},
        ),
    )
    yield way("code: another", lambda f: f.machine(code=zeros))
    yield way("code: none", lambda f: f.machine(code=""))
    yield way("profile full", lambda f: f.set_info(profile="full"))
    yield way("profile unknown", lambda f: f.set_info(profile="tiny"))
    yield way("limited to one case", lambda f: f.set_info(only=["greedy/all-masked"]))
    yield way("limited to what does not exist", lambda f: f.set_info(only=["greedy/none"]))
    yield way("limited to all", lambda f: f.set_info(only=["*"]))
    yield way("started in 2106", lambda f: f.set_info(started="2106-02-07T06:28:15+00:00"))
    yield way("started in 1970", lambda f: f.set_info(started="1970-01-01T00:00:00+00:00"))
    yield way("started tomorrow", lambda f: f.set_info(started=_days(2)))
    yield way("started too long ago", lambda f: f.set_info(started=_days(-31)))
    yield way("started at no time", lambda f: f.set_info(started="now"))
    yield way("started at no time, empty", lambda f: f.set_info(started=""))
    yield way("an older version", lambda f: f.set_info(version="0.0.1"))
    yield way("format 2", lambda f: f.set_info(format=2))
    yield way("accepts correct", lambda f: f.set_info(options={"accept": "correct"}))
    yield way(
        "repeats ten times", lambda f: f.set_info(options=f.info()["options"] | {"repeat": "10"})
    )
    yield way("no options", lambda f: f.set_info(options={}))
    yield way("no machine", lambda f: f.set_info(machine={}))
    yield way("backend: judged by an older release", lambda f: f.backend(reference="b3889"))
    yield way("backend: did not run", lambda f: f.backend(unavailable="no GPU"))
    yield way("backend: without digest", lambda f: f.backend(digest="", files=[]))
    yield way("backend: digest of zeros", lambda f: f.backend(digest=zeros))
    yield way(
        "backend: files, and not their digest",
        lambda f: f.backend(files=[{"path": "/x", "sha256": zeros, "size": 1}]),
    )
    yield way("backend: none", lambda f: f.set_info(backends={}))
    yield way(
        "backend: another name",
        lambda f: f.set_info(backends={"other": f.info()["backends"]["mine"]}),
    )
    yield way(
        "backend: one more, unasked",
        lambda f: f.set_info(
            backends=f.info()["backends"] | {"more": f.info()["backends"]["mine"]}
        ),
    )


def _own_suite(forgery: Forgery) -> None:
    """Name the attacker's own suite, at its path, with the name of ours."""
    path = forgery.folder / "parity" / "greedy.toml"
    path.parent.mkdir()
    path.write_bytes(find_suites(["parity/greedy"])[0].read_bytes() + b"\n# mine\n")
    digest = read_suite(path).sha256
    forgery.set_info(
        suites=forgery.info()["suites"] | {"parity/greedy": digest},
        paths={"parity/greedy": str(path)},
    )


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

    yield way("as it is", lambda f: None)
    yield way("with another command", lambda f: f.backend(command=["node", "wrong.mjs"]))
    yield way("with another version", lambda f: f.backend(version="1.2.0"))
    yield way("with another digest", lambda f: f.backend(digest=_wanted(f)))
    yield way("without digest", lambda f: f.backend(digest="", files=[]))
    yield way(
        "with the file's digest and its own",
        lambda f: f.backend(
            files=[
                *f.info()["backends"]["mine"].get("files", []),
                {"path": "/mine", "sha256": _wanted(f), "size": 1},
            ]
        ),
    )
    yield way(
        "under another name", lambda f: f.set_info(backends={"right": f.info()["backends"]["mine"]})
    )
    yield way("a month old", lambda f: f.set_info(started=_days(-40)))
    yield way("with the wrong one's run.json", _with_own_run)


def _wanted(forgery: Forgery) -> str:
    return forgery.policy.partition('sha256 = ["')[2].partition('"')[0]


def _with_own_run(forgery: Forgery) -> None:
    """Take the records of the right sampler, and claim the run of the wrong one."""
    own = forgery.right.parent / "wrong" / "run.json"
    (forgery.folder / "run.json").write_bytes(own.read_bytes())
