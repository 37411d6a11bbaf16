"""The answer of `sampler-parity why` as lines for a terminal of 60 columns and more."""

import json
from collections.abc import Iterable, Iterator

from sampler_parity.harness.sanitize.printable import cut, visible
from sampler_parity.programs.recording.what_if import Parting
from sampler_parity.programs.recording.why import StageEffect, TokenExplanation, distinct
from sampler_parity.reference.random import DEFAULT_SEED

_LABEL = 9  # columns
_LONGEST = 32  # characters of a token or a parameter
_MOST_NUMBERS = 20  # numbers of other tokens


def lines_of(explanation: TokenExplanation, width: int) -> Iterator[str]:
    """Yield the lines of an answer."""
    token, quoted = explanation.token, _short(explanation.token.name_of(explanation.token.token))
    label = f"{token.number:,} ({token.text}:{token.index}) {quoted}, id {token.token}"
    label += "" if token.at is None else f", at character {token.at:,}"
    yield from _wrapped("token", label.split(" "), width)
    if token.piece is not None and token.accepted:
        yield f"text     {_around(explanation, width - _LABEL)}"
    if token.model_p is not None:
        model = f"model    p {token.model_p:.4g}, rank {token.model_rank:,} of {token.before:,}"
        yield f"{model}, entropy {token.entropy:.4g} bits"
    names = max((len(stage.name) for stage in explanation.stages), default=0)
    count = len(f"{token.before:,}")
    if explanation.stages:
        yield f"{'':{names + 4}} {'candidates':<{2 * count + 4}} {'logit':>9} {'p':>9}"
    for number, stage in enumerate(explanation.stages, 1):
        logit, p = ("-" if x is None else f"{x:.4g}" for x in (stage.logit, stage.p))
        before, after = ("-" if n is None else f"{n:,}" for n in (stage.before, stage.after))
        counts = f"{before:>{count}} -> {after:<{count}}"
        yield f"{number:>2} {stage.name:<{names}}  {counts} {logit:>9} {p:>9}"
        yield from _wrapped("", _details(stage), width)
    if token.draw is not None:
        u, low, high = distinct(token.draw.u, token.draw.low, token.draw.high)
        yield f"random   {u}, in the interval {low} to {high}"
    if explanation.runner_up is not None:
        yield f"next     {_short(explanation.runner_up[0])} with p {explanation.runner_up[1]:.4g}"
    if explanation.elsewhere:
        numbers = ", ".join(str(number) for number in explanation.elsewhere[:_MOST_NUMBERS])
        more = len(explanation.elsewhere) - _MOST_NUMBERS
        also = f"tokens {numbers}{f' and {more:,} more' if more > 0 else ''}"
        yield from _wrapped("also", also.split(" "), width)
    yield from _wrapped("why", explanation.sentence.split(" "), width)


def parting_lines(parted: Parting, text: int, width: int) -> Iterator[str]:
    """Yield where a text would have parted."""
    if parted.number is None:
        same = f"text {text} is the same: all {parted.same:,} tokens"
        yield from _wrapped("what if", same.split(" "), width)
        return
    tokens = f"{parted.same:,} token{'s' if parted.same != 1 else ''}"
    where = f"text {text} is the same for {tokens}, and parts at token {parted.number:,}:"
    parts = [*where.split(" "), parted.instead, "in", "place", "of", parted.token]
    yield from _wrapped("what if", parts, width)
    only = "only this parting is certain: later logits belong to the recorded text"
    yield from _wrapped("note", only.split(" "), width)


def _details(stage: StageEffect) -> Iterator[str]:
    """Yield what a stage is and did, in parts that stay on one line."""
    for key, value in stage.parameters.items():
        text = f"{value:.4g}" if isinstance(value, float) else _short(json.dumps(value))
        yield f"{key}={'random' if (key, value) == ('seed', DEFAULT_SEED) else text};"
    gone = [f"{_short(name)} {logit:.4g}" for name, logit, after in stage.top if after is None]
    moved = [
        f"{_short(name)} {logit:.4g} -> {after:.4g}"
        for name, logit, after in stage.top
        if after is not None
    ]
    for what, n, top in (("removed", stage.removed, gone), ("changed", stage.changed, moved)):
        if n:
            yield f"{what} {n:,}:"
            yield from (f"{entry}," for entry in top[:-1])
            yield f"{top[-1]}{';' if n == len(top) else ', ...;'}"
    yield from f"{stage.verdict}{f': {cut(stage.detail, 200)}' if stage.detail else ''}".split(" ")


def _short(text: str) -> str:
    printable = str(visible(text))
    return printable if len(printable) <= _LONGEST else f"{printable[: _LONGEST - 3]}..."


def _around(explanation: TokenExplanation, width: int) -> str:
    """Return the text with the token marked, in so many columns."""
    label = _short(_inner(explanation.token.shown))
    room = max(0, width - len(label) - 4) // 2
    start, end = explanation.start[-room:] if room else "", explanation.end[:room]
    while len(_inner(start)) > room:
        start = start[1:]
    while len(_inner(end)) > room:
        end = end[:-1]
    return f"{_inner(start)}[[{label}]]{_inner(end)}"


def _inner(text: str) -> str:
    """Return a text on one line: with escapes."""
    return str(visible(json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')))


def _wrapped(label: str, parts: Iterable[str], width: int) -> Iterator[str]:
    """Yield lines of parts, each at most so wide unless a part is wider."""
    line = f"{label:<{_LABEL}}"
    for part in map(visible, parts):
        if line[_LABEL:] and len(line) + 1 + len(part) > width:
            yield line
            line = " " * _LABEL
        line += f" {part}" if line[_LABEL:] else part
    yield line
