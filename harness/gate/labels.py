"""The outcome of the gate as text for a terminal and as Markdown."""

from collections import Counter
from collections.abc import Iterator

from sampler_parity.harness.gate.records import GateFinding, GateResult, RuleOutcome
from sampler_parity.harness.sanitize.printable import code

MOST_FINDINGS = 5  # findings of a rule; the JSON has all of them
_LONGEST = 1_000  # characters of a cell: of ours, a replay command with an adapter's has 300
_STATE = {"met": "met", "failed": "FAILED", "unjudged": "COULD NOT JUDGE"}
_EXIT = {0: "pass", 1: "FAILED", 2: "COULD NOT JUDGE"}


def terminal_lines(result: GateResult) -> Iterator[str]:
    """Yield the findings, then a line for every rule, then the verdict."""
    shown, left_out = _shown(result)
    for rules, finding in shown:
        yield from _finding(rules, finding)
    yield from (f"... and {n:,} more of {rules}" for rules, n in left_out.items())
    yield from (f"note     {note}" for note in result.notes)
    for rule in result.rules:
        yield f"rule     {rule.rule}   {_counts(rule)}   {_state(rule)}"
    yield verdict_line(result)


def _shown(result: GateResult) -> tuple[list[tuple[str, GateFinding]], Counter[str]]:
    """Return the first findings of every rule, and how many are left out. What several rules find
    of one subject is one finding, with the names of these rules."""
    together: dict[tuple[str, str, int], list[tuple[str, GateFinding]]] = {}
    first: dict[tuple[str, str, int], None] = {}
    for rule in result.rules:
        counted: Counter[tuple[str, str]] = Counter()
        for finding in _each_id_first(rule.findings):
            named = (finding.state, finding.subject)
            key = (*named, counted[named])
            counted[named] += 1
            together.setdefault(key, []).append((rule.rule, finding))
            if counted.total() <= MOST_FINDINGS:
                first[key] = None
    left_out = Counter(_rules(found) for key, found in together.items() if key not in first)
    return [(_rules(together[key]), _merged(together[key])) for key in first], left_out


def _each_id_first(findings: list[GateFinding]) -> list[GateFinding]:
    """Return them with the first of every id before the second of any, or the many hide the few."""
    nth: Counter[str] = Counter()
    places = []
    for finding in findings:
        nth[finding.id] += 1
        places.append(nth[finding.id])
    return [findings[i] for i in sorted(range(len(findings)), key=places.__getitem__)]


def _rules(found: list[tuple[str, GateFinding]]) -> str:
    return ", ".join(rule for rule, _ in found)


def _merged(found: list[tuple[str, GateFinding]]) -> GateFinding:
    texts = {
        field: dict.fromkeys(text for _, one in found if (text := getattr(one, field)))
        for field in ("figure", "limit", "mend")
    }
    update = {field: "; ".join(different) for field, different in texts.items()}
    return found[0][1].model_copy(update=update)


def verdict_line(result: GateResult) -> str:
    """Format "gate     FAILED   1 rule: parity.x (first: a case on x)   exit 1"."""
    parts = ["gate", _EXIT[result.exit_status]]
    for state, words in (("failed", "failed"), ("unjudged", "not judged")):
        rules = [rule for rule in result.rules if rule.state == state]
        if rules:
            names = ", ".join(rule.rule for rule in rules)
            parts.append(f"{len(rules)} {words}: {names} (first: {rules[0].findings[0].subject})")
    if not result.exit_status:
        parts.append(f"{len(result.rules)} rules, {sum(rule.met for rule in result.rules):,} met")
    return "   ".join([f"{parts[0]:<6}", *parts[1:], f"exit {result.exit_status}"])


def _state(rule: RuleOutcome) -> str:
    return _STATE[rule.state] if rule.judged or rule.findings else "nothing to judge"


def _counts(rule: RuleOutcome) -> str:
    allowed = f", {rule.allowed:,} known" if rule.allowed else ""
    skipped = f", {rule.skipped:,} skipped" if rule.skipped else ""
    return f"{rule.met:,}/{rule.judged:,} met{allowed}{skipped}"


def _finding(rules: str, finding: GateFinding) -> Iterator[str]:
    yield _line(f"{_STATE[finding.state]} {rules}   {finding.subject}")
    id = f"   id: {finding.id}" if finding.id else ""
    yield _line(f"  found: {finding.figure}   asked: {finding.limit}{id}")
    if finding.mend:
        yield _line(f"  fix: {finding.mend}")
    if finding.replay:
        yield _line(f"  replay: {finding.replay}")


def _line(text: str) -> str:
    """Replace unprintable characters: an adapter's text may hold anything."""
    return "".join(c if c.isprintable() else " " for c in text)


def markdown(result: GateResult) -> str:
    """Format a comment or a summary: the verdict, a table of rules, the findings."""
    lines = [
        f"## Gate: {_EXIT[result.exit_status]}",
        "",
        f"Policy: {_code(result.policy)}. Bundle: {_code(result.bundle)}."
        + (f" Baseline: {_code(result.baseline)}." if result.baseline else ""),
        "",
        "| rule | met | known | outcome |",
        "| --- | ---: | ---: | --- |",
        *(
            f"| {_code(rule.rule)} | {rule.met:,}/{rule.judged:,} | {rule.allowed:,}"
            f" | {_state(rule)} |"
            for rule in result.rules
        ),
    ]
    findings, left_out = _shown(result)
    if findings:
        lines += ["", "| rule | what | found | asked | replay |", "| --- | --- | --- | --- | --- |"]
        lines += [
            f"| {_code(rules)} | {_code(f.subject)} | {_code(f.figure)} | {_code(f.limit)}"
            f" | {_code(f.replay or f.mend)} |"
            for rules, f in findings
        ]
    if more := left_out.total():
        lines += ["", f"{more:,} more are in the JSON and on the terminal."]
    lines += ["", *(f"- {_code(note)}" for note in result.notes)] if result.notes else []
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return code(text, _LONGEST) if text else ""
