"""Ways to a false pass with a policy, a clock or a baseline. The bundle is that of the run."""

import json
import re
import shutil
from collections.abc import Callable, Iterator

from tests.attack.passes.forgery import TABLE, Forgery, Line
from tests.attack.passes.records import Way

_ALLOW = """
[[allow]]
case = "*"
backend = "*"
outcomes = ["diverged"]
reason = "known"
issue = "#1"
expires = {expires}
"""


def of_policies() -> Iterator[Way]:
    def text(name: str, change: Callable[[str], str], today: str = "") -> Way:
        def forge(forgery: Forgery) -> None:
            forgery.policy = change(forgery.policy)
            forgery.today = today

        return f"policy: {name}", forge

    def replaced(name: str, old: str, new: str) -> Way:
        return text(name, lambda was: was.replace(old, new))

    def allowing(name: str, expires: str, today: str = "") -> Way:
        return text(name, lambda was: was + _ALLOW.format(expires=expires), today)

    for name, rules in TABLE["policy, in place of [[parity]]"].items():
        yield replaced(name, "[[parity]]", rules)
    many = '[[parity]]\ncase = "none"\nat_least = 0\n' * 30_000
    yield replaced("30,000 rules", "[[parity]]", many)
    for name, (old, new) in TABLE["policy, old and new text"].items():
        yield replaced(name, old, new)
    yield allowing("an expired allowance", "2020-01-01")
    yield allowing("an expired allowance, the clock set back", "2020-01-01", "2019-12-31")
    yield allowing("the clock set back by a day", "2026-01-01", "2025-12-31")
    yield text("the clock set on by a hundred years", lambda was: was, today="2126-01-01")
    yield text("no policy", lambda was: "")
    yield text(
        "an empty subject", lambda was: re.sub(r"(?s)\[subject\].*?\n\n", "[subject]\n\n", was)
    )


def baselines() -> Iterator[Way]:
    """Yield baselines that were as wrong, or lack what fails."""

    def way(
        name: str,
        change: Callable[[list[Line]], list[Line]] = lambda lines: lines,
        policy: str = "",
    ) -> Way:
        def forge(forgery: Forgery) -> None:
            forgery.baseline = forgery.folder.parent / "baseline"
            shutil.rmtree(forgery.baseline, ignore_errors=True)
            shutil.copytree(forgery.folder, forgery.baseline)
            last = Forgery(forgery.baseline, forgery.right, "")
            last.write(change(last.lines()))
            if policy:
                forgery.policy = forgery.policy.replace("[[parity]]", policy)

        return f"baseline: {name}", forge

    def without_mine(lines: list[Line]) -> list[Line]:
        return list(json.loads(json.dumps(lines).replace('"mine"', '"other"')))

    def without_a_case(lines: list[Line]) -> list[Line]:
        return [lines[0], lines[-1]]

    yield way("itself")
    yield way("of another backend", without_mine)
    yield way("without a case", without_a_case)
    yield way(
        "of another backend, and no parity rule", without_mine, '[[not_worse]]\nbackend = "mine"'
    )
