"""Ways to a false pass with a policy, a clock or a baseline. The bundle is that of the run."""

import json
import re
import shutil
from collections.abc import Callable, Iterator

from tests.attack.passes.forgery import Forgery
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

    def rule(name: str, rules: str) -> Way:
        return text(name, lambda was: was.replace("[[parity]]", rules))

    yield rule("no rule", "")
    yield rule("a rule for another backend", '[[parity]]\nbackend = "other"')
    yield rule("a rule for another sampler", '[[parity]]\nsampler = "top_k"')
    yield rule("a rule for another case", '[[parity]]\ncase = "top_k/*"')
    yield rule("a rule for no case, which none needs", '[[parity]]\ncase = "none"\nat_least = 0')
    yield rule("a rule for what passes", '[[parity]]\ncase = "logit_bias/*"')
    yield rule(
        "a rule about no backend, which none needs", '[[parity]]\nbackend = ""\nat_least = 0'
    )
    yield rule("rules below 0", "[[parity]]\nat_least = -1")
    yield rule("30,000 rules", '[[parity]]\ncase = "none"\nat_least = 0\n' * 30_000)
    yield text("an expired allowance", lambda was: was + _ALLOW.format(expires="2020-01-01"))
    yield text(
        "an expired allowance, the clock set back",
        lambda was: was + _ALLOW.format(expires="2020-01-01"),
        today="2019-12-31",
    )
    yield text(
        "the clock set back by a day",
        lambda was: was + _ALLOW.format(expires="2026-01-01"),
        today="2025-12-31",
    )
    yield text("the clock set on by a hundred years", lambda was: was, today="2126-01-01")
    yield text("skipped cases pass", lambda was: 'skipped = "allow"\n' + was)
    yield text("unused allowances pass", lambda was: 'unused_allowances = "say"\n' + was)
    yield text("partial runs pass", lambda was: "partial = true\n" + was)
    yield text("any backend may be missing", lambda was: 'optional_backends = ["*"]\n' + was)
    yield text("other suites", lambda was: was.replace("parity/logit_bias", "parity/*"))
    yield text("suites that were not run", lambda was: was.replace("parity/logit_bias", "none/*"))
    yield text("a full run", lambda was: 'profile = "full"\n' + was)
    yield text("no policy", lambda was: "")
    yield text("two subjects", lambda was: was + '\n[subject]\nname = "x"\n')
    yield text(
        "an empty subject", lambda was: re.sub(r"(?s)\[subject\].*?\n\n", "[subject]\n\n", was)
    )
    yield text(
        "a subject without backends",
        lambda was: was.replace('backends = ["mine"]', "backends = []"),
    )
    yield text(
        "a subject with another backend",
        lambda was: was.replace('backends = ["mine"]', 'backends = ["other"]'),
    )
    yield text(
        "a subject of any backend",
        lambda was: was.replace('backends = ["mine"]', 'backends = ["*"]'),
    )
    yield text("a subject of no name", lambda was: was.replace('name = "mine 1.2.0"', 'name = ""'))
    yield text("a subject without an age", lambda was: was.replace("max_age_days = 30\n", ""))
    yield text("a subject with an age below 0", lambda was: was.replace("= 30\n", "= -1\n"))


def baselines() -> Iterator[Way]:
    """Yield baselines that were as wrong, or lack what fails."""

    def way(
        name: str,
        change: Callable[[list[dict[str, object]]], None] = lambda lines: None,
        policy: str = "",
    ) -> Way:
        def forge(forgery: Forgery) -> None:
            forgery.baseline = forgery.folder.parent / "baseline"
            shutil.rmtree(forgery.baseline, ignore_errors=True)
            shutil.copytree(forgery.folder, forgery.baseline)
            last = Forgery(forgery.baseline, forgery.right, "")
            lines = last.lines()
            change(lines)
            last.write(lines)
            if policy:
                forgery.policy = forgery.policy.replace("[[parity]]", policy)

        return f"baseline: {name}", forge

    def without_mine(lines: list[dict[str, object]]) -> None:
        text = json.dumps(lines).replace('"mine"', '"other"')
        lines[:] = json.loads(text)

    yield way("itself")
    yield way("of another backend", without_mine)
    yield way("without a case", lambda lines: lines.__setitem__(slice(1, -1), []))
    yield way(
        "of another backend, and no parity rule", without_mine, '[[not_worse]]\nbackend = "mine"'
    )
    yield way(
        "without a case, and no parity rule", lambda lines: lines.__setitem__(slice(1, -1), []), ""
    )
