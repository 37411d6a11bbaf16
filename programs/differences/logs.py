"""Compare two logs of a server's answers: their first different token, and what their
log-probabilities show of the cause. Without logits no replay decides.

A line of a log is the JSON of an answer of llama-server, OpenAI's completions or chat, alone or
next to its request ({"request": ..., "response": ...}), or of a single token:
{"token": " a", "logprob": -0.1, "top_logprobs": [...]}. Single tokens are one text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of, shallow
from sampler_parity.programs.differences.causes import Decision
from sampler_parity.programs.differences.comparison import AROUND, Comparison, Text, pairs_of
from sampler_parity.programs.differences.moment import SEEDS, first_other
from sampler_parity.programs.differences.settings import Setting
from sampler_parity.programs.servers.answer import TokenProbability, TokenReport
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.read_answer import read_answer

# A batch moves a logit by up to 0.0072 (servers/concurrency.py), and a log-probability by that of
# its own logit and of all others.
_ROUNDING = 0.0144
_SCALED = 0.02  # a slope so far from 1 is another temperature, or scaled logits
_TEMPERATURES = ("temperature", "temp", "dynatemp_range")
_PROMPTS = ("prompt", "messages", "input")
_SILENT = {*_PROMPTS, "stream", "stream_options", "logprobs", "top_logprobs", "n_probs"}
_FIX = "write the JSON of an answer, or of a token with its logprob, on each line"


@dataclass(eq=False)
class LoggedText(Text):
    """A text of a log. tokens: ids, texts or characters. words: the text of each. reports: of each
    token; empty if the log has none. settings: of its request."""

    text: str = ""
    words: Sequence[str] = ()
    reports: Sequence[TokenReport] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def compare_logs(a: Path, b: Path) -> Comparison:
    """Compare two logs. Raises InputError for one that cannot be read, or has no text."""
    texts = texts_of_log(a), texts_of_log(b)
    pairs = pairs_of(*texts)
    parted = [_of_one_form(x, y) for x, y in pairs if x.tokens != y.tokens and x.text != y.text]
    comparison = Comparison((len(texts[0]), len(texts[1])), len(pairs) - len(parted))
    return _explained(comparison, *parted[0]) if parted else comparison


def texts_of_log(path: Path) -> list[LoggedText]:
    """Return the texts of a log, in their order. Raises InputError."""
    texts: list[LoggedText] = []
    single: list[Any] = []
    for n, line in enumerate(read_file(path, limits.RECORD).splitlines(), 1):
        try:
            data = shallow(json_of(line)) if line.strip() else None
            if data and "logprob" in data:
                single.append({**data, "top_logprobs": data.get("top_logprobs") or []})
                _of_answer({"content": "", "completion_probabilities": single[-1:]})
            elif data:
                texts += _of_line(data)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise InputError(f"{path}:{n}", f"is not a text or a token: {error}", _FIX) from None
    if single:
        texts += _of_answer({"content": "", "completion_probabilities": single})
    if not any(text.tokens for text in texts):
        raise InputError(path, "has no token", _FIX)
    return texts


def _of_line(data: Mapping[str, Any]) -> list[LoggedText]:
    """Return the texts of a line, with the prompt and the settings of its request."""
    request = data.get("request") or (data if "response" in data else {})
    prompt = next((request[name] for name in _PROMPTS if name in request), None)
    rest = {name: value for name, value in request.items() if name not in (*_SILENT, "response")}
    texts = _of_answer(data.get("response", data))
    return [replace(text, prompt=prompt, settings=rest) for text in texts]


def _of_answer(data: Mapping[str, Any]) -> list[LoggedText]:
    first = read_answer(DIALECTS["openai" if "choices" in data else "llama-server"], {}, data)
    texts = []
    for answer in (first, *first.siblings):
        chosen = [report.token for report in answer.reports]
        tokens: list[Any] = [token.name for token in chosen] or [*(answer.tokens or answer.text)]
        words = [token.text for token in chosen] or [*map(str, tokens)]
        text = answer.text or "".join(words)
        texts.append(LoggedText(None, tokens, [], text, words, answer.reports))
    return texts


def _of_one_form(a: LoggedText, b: LoggedText) -> tuple[LoggedText, LoggedText]:
    """Return two texts in tokens of one form: as they are, in words, or in characters."""
    in_a, in_b = ({type(token) for token in text.tokens} for text in (a, b))
    if in_a == in_b and bool(a.reports) == bool(b.reports):
        return a, b
    if a.reports and b.reports:
        return replace(a, tokens=[*a.words]), replace(b, tokens=[*b.words])
    x, y = (replace(one, tokens=[*one.text], words=one.text, reports=()) for one in (a, b))
    return x, y


def _explained(comparison: Comparison, a: LoggedText, b: LoggedText) -> Comparison:
    at = first_other(a.tokens, b.tokens) or 0
    ended = "A" if at >= len(a.tokens) else "B" if at >= len(b.tokens) else ""
    end = Decision(undecided=f"{ended}'s text ends there; no log has the reason")
    prompts = (a.prompt, b.prompt)
    equal = "equal" if a.prompt == b.prompt else "different"
    words = [repr(x.words[at]) if at < len(x.words) else "its end" for x in (a, b)]
    return replace(
        comparison,
        same=at,
        before="".join(a.words[max(0, at - AROUND) : at]),
        tokens=(words[0], words[1]),
        prompt="not logged" if None in prompts else equal,
        decision=end if ended else decide(a, b, at),
    )


def decide(a: LoggedText, b: LoggedText, at: int) -> Decision:
    """Return what the logs show of the cause. at: the first different token."""
    settings = tuple(_settings_of(a, b))
    if a.prompt != b.prompt and None not in (a.prompt, b.prompt):
        return Decision({"prompt": "the requests have other prompts"}, settings)
    if len(a.reports) <= at or len(b.reports) <= at:
        return Decision({}, settings, undecided="a log has no log-probabilities: ask for them")
    pairs = [_common(x, y) for x, y in zip(a.reports[: at + 1], b.reports, strict=False)]
    if sum(map(len, pairs)) < 2:
        return Decision({}, settings, undecided="the lists of likely tokens have none in common")
    return _by_probabilities(a.reports[at], b.reports[at], pairs, settings)


def _settings_of(a: LoggedText, b: LoggedText) -> Iterator[Setting]:
    for name in {**a.settings, **b.settings}:
        if a.settings.get(name) != b.settings.get(name):
            yield Setting(("request", 0), name, a.settings.get(name), b.settings.get(name))


def _listed(report: TokenReport) -> dict[int | str, float]:
    tokens = [token for token in (*report.top, report.token) if np.isfinite(token.logprob)]
    return {token.name: token.logprob for token in tokens}


def _common(x: TokenReport, y: TokenReport) -> NDArray[np.float64]:
    """Return the log-probabilities of tokens that both lists have: [n, 2]."""
    in_x, in_y = _listed(x), _listed(y)
    rows = [(in_x[name], in_y[name]) for name in in_x if name in in_y]
    return np.array(rows, np.float64).reshape(-1, 2)


def _by_probabilities(
    x: TokenReport,
    y: TokenReport,
    pairs: Sequence[NDArray[np.float64]],
    settings: tuple[Setting, ...],
) -> Decision:
    """Decide by the log-probabilities up to the first different token, and there."""
    both = np.concatenate(pairs)
    largest, slope = abs(both[:, 1] - both[:, 0]).max(), _slope(pairs)
    size = f"log-probabilities differ by up to {largest:.2g} (lists: {len(pairs):,})"
    if largest > _ROUNDING and abs(slope - 1) > _SCALED:
        line = f"B's log-probabilities are A's scaled by {slope:.3g}: another temperature"
        stated = any(setting.parameter in _TEMPERATURES for setting in settings)
        return Decision({"sampler" if stated else "logits": line}, settings)
    if largest > _ROUNDING:
        return Decision({"logits": f"{size}, more than rounding does"}, settings)
    gap = max(_gap(report, x.token, y.token) for report in (x, y))
    if gap <= 2 * largest and _is_likeliest(x) and _is_likeliest(y):
        line = f"{size}, as by rounding; both take their likeliest token, which are {gap:.2g} apart"
        return Decision({"logits": line}, settings)
    return _not_logits(settings, f"{size}, as by rounding")


def _not_logits(settings: tuple[Setting, ...], size: str) -> Decision:
    """Decide by the settings between the sampler and its random numbers."""
    of_seed = [str(s) for s in settings if s.parameter in SEEDS]
    of_sampler = [str(s) for s in settings if s.parameter not in (*SEEDS, "model")]
    if of_sampler and not of_seed:
        return Decision({"sampler": "; ".join(of_sampler)}, settings)
    if of_seed and not of_sampler:
        return Decision({"stream": "; ".join(of_seed)}, settings)
    why = f"{size}: not the model, but settings or random numbers; record both runs to decide"
    return Decision({}, settings, undecided=why)


def _slope(pairs: Sequence[NDArray[np.float64]]) -> float:
    """Return by what factor the distances between B's values are those between A's: least squares,
    with an own offset for each list. 1.0 if they show none."""
    centred = np.concatenate([rows - rows.mean(axis=0) for rows in pairs if len(rows)])
    square = float(centred[:, 0] @ centred[:, 0])
    slope = float(centred[:, 0] @ centred[:, 1]) / square if square else 1.0
    residual = abs(centred[:, 1] - slope * centred[:, 0]).max()
    return slope if residual <= _ROUNDING else 1.0


def _is_likeliest(report: TokenReport) -> bool:
    return report.token.logprob >= max(_listed(report).values(), default=np.inf)


def _gap(report: TokenReport, first: TokenProbability, second: TokenProbability) -> float:
    """Return how far two tokens are from each other; inf if one is not listed."""
    values = _listed(report)
    if first.name not in values or second.name not in values:
        return float("inf")
    return abs(values[first.name] - values[second.name])
