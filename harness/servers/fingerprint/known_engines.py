"""Compare a server's statements with those of known engines.

A statement that cannot be told, of the server or of the engine, does not count.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sampler_parity.harness.servers.fingerprint.trait import CANNOT
from sampler_parity.harness.strict import Strict
from sampler_parity.reference.pipelines.common_chain import DEFAULT_ORDER

ENOUGH = 8  # statements that both tell
_LIKE = 0.8  # of them: less resembles nothing known


@dataclass(frozen=True)
class KnownEngine:
    """Hold an engine's statements. observed: a server of it was asked, else its source read."""

    name: str
    observed: bool
    says: Mapping[str, str]


class Likeness(Strict):
    """Count the statements that a server shares with an engine. seen: whether the engine's were
    observed; else they are of its source. differs: statements with what the engine's are."""

    engine: str
    seen: bool
    equal: int
    told: int
    differs: list[str]


def likenesses(says: Mapping[str, str]) -> list[Likeness]:
    """Compare with every known engine; the most alike comes first."""
    rows = [_likeness(engine, says) for engine in ENGINES]
    return sorted(rows, key=lambda row: (-row.equal / max(row.told, 1), -row.told))


def _likeness(engine: KnownEngine, says: Mapping[str, str]) -> Likeness:
    both = [name for name in engine.says if says.get(name, CANNOT) != CANNOT]
    differs = [name for name in both if says[name] != engine.says[name]]
    return Likeness(
        engine=engine.name,
        seen=engine.observed,
        equal=len(both) - len(differs),
        told=len(both),
        differs=[f"{name}: {says[name]}, there {engine.says[name]}" for name in differs],
    )


def alike(rows: list[Likeness]) -> list[str]:
    """Return the engines that a server resembles most: several where nothing tells them apart."""
    if not rows:
        return []
    best = rows[0]
    if best.told < ENOUGH or best.equal < _LIKE * best.told:
        return []
    share = best.equal / best.told
    return [row.engine for row in rows if row.told >= ENOUGH and row.equal / row.told == share]


def release(says: Mapping[str, str]) -> tuple[str, str]:
    """Return a range of releases of llama.cpp, and the statements that bound it. The samplers'
    names and meanings are from reference/releases.py and signatures.py of the llama.cpp backend."""
    oldest, newest, why = "", "", []
    for name, answer, since, until in _RELEASES:
        if says.get(name) == answer:
            why.append(f"{name}: {answer}")
            oldest, newest = since or oldest, until or newest
    if not (oldest or newest):
        return CANNOT, "no statement that changed between releases is told"
    words = [f"{oldest} or later" if oldest else "", f"{newest} or earlier" if newest else ""]
    return ", ".join(word for word in words if word), "; ".join(why)


# Of each statement the releases that it allows; the oldest bound last, the newest first.
_RELEASES = (
    ("top_n_sigma", "has an effect", "b4753", ""),
    ("typical_p 0", "one token", "b5590", ""),
    ("adaptive_target", "has an effect", "b7836", ""),
    ("dry_penalty_last_n -1", "off", "b10361", ""),
    ("dry_penalty_last_n -1", "refused", "b10361", ""),  # the context was documented before
    ("dry_penalty_last_n -1", "all of the context", "", "b10068"),
    ("adaptive_target", "has no effect", "", "b6673"),
    ("typical_p 0", "more than one token", "", "b4980"),
)

# Each value of a statement, with the letters of the engines below that have it. Sources: vLLM's
# v1/sample/sampler.py, sampling_params.py and logprobs_mode; Ollama's sample/samplers.go and
# docs/modelfile.md. Of MLX LM no penalties are told: a prompt that is asked again has none
# (docs/findings.md).
_STATEMENTS: dict[str, dict[str, str]] = {
    "temperature 0": {"one text": "LPMVO"},
    "penalties and temperature": {"penalties first": "LPV"},
    "penalties and top_k": {"penalties first": "LPV"},
    "logit_bias and top_k": {"logit_bias first": "LPMV"},
    "temperature and top_p": {"top_p first": "LPM", "temperature first": "VO"},
    "temperature and min_p": {"min_p first": "LPM", "temperature first": "VO"},
    "top_k and top_p": {"top_k first": "LPVO", "top_p first": "M"},
    "min_p and top_p": {"top_p first": "LPMO", "min_p first": "V"},
    "the token that crosses top_p": {"kept": "LPMV"},
    "frequency_penalty": {"per occurrence": "LPV"},
    "presence_penalty": {"once per token": "LPV"},
    "repetition penalty": {"once per token": "LPV"},
    "logit_bias and repetition penalty": {"logit_bias first": "LPV"},
    "seed": {"repeats": "LPMVO"},
    "seed -1": {"another text each time": "LPVO"},
    "unknown names": {"taken in silence": "LPMV"},
    "top_k 0": {"everything": "LPMV"},
    "top_p 0": {"one token": "LP", "everything": "M", "refused": "V"},
    "logprobs and temperature": {"before": "LPMV"},
    "logprobs and top_k": {"before": "LPMV"},
    "logprobs and logit_bias": {"before": "LPV", "after": "M"},
    "default temperature": {"0.8": "LPO", "0": "M", "1": "V"},
    "default top_k": {"40": "LPO", "0": "MV"},
    "default top_p": {"0.95": "LP", "1": "MV", "0.9": "O"},
    "default min_p": {"0.05": "LP", "0": "MVO"},
    "prompt, for frequency_penalty": {"counts": "L", "does not count": "PV"},
    "prompt, for the repetition penalty": {"counts": "LV", "does not count": "P"},
    "order of samplers": {", ".join(DEFAULT_ORDER): "L"},
    "temperature -1": {"one text": "LO", "draws": "P", "refused": "MV"},
    "top_k -1": {"everything": "LV", "refused": "M"},
    "typical_p 0": {"one token": "L"},
    "min_keep": {"keeps more": "L"},
    "dry_penalty_last_n -1": {"refused": "L"},
    "top_n_sigma": {"has an effect": "L"},
    "adaptive_target": {"has an effect": "L"},
    "default repeat": {"1": "LMV", "1.1": "PO"},
}


def _engine(letter: str, name: str, observed: bool = True) -> KnownEngine:
    says = {
        statement: value
        for statement, values in _STATEMENTS.items()
        for value, letters in values.items()
        if letter in letters
    }
    return KnownEngine(name, observed, says)


ENGINES = (
    _engine("L", "llama-server (b11549)"),
    _engine("P", "llama-cpp-python's server 0.3.36"),
    _engine("M", "MLX LM's server 0.32.2"),
    _engine("V", "vLLM 0.32.0"),
    _engine("O", "Ollama", observed=False),
)
